-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Was a CT or an MRI performed within one ICU stay? Orders, reports and ICU events of the patient
-- are laid side by side; each report confirms at most one order.
with recursive
stay as (                 -- the anchor's window; without both its ends nothing lies in it
  select count(*) = 1 and coalesce(bool_and(outtime >= intime), false) as usable,
         if(usable, any_value(intime), null) as intime, if(usable, any_value(outtime), null) as outtime,
         coalesce(list(row_ref), []) as rows
  from icustays where stay_id = $stay_id
),
stays as (
  select stay_id, intime, outtime, row_ref from icustays where hadm_id = $hadm_id
),

-- Reports: what they examined, and when ------------------------------------------------------
exam as (
  select note_id, list(distinct value) filter (reading = 'exam_modality') as named,
         coalesce(list(distinct value) filter (reading = 'imaging_guidance'), []) as guided,
         bool_or(reading = 'outside_reread') as reread,
         any_value(value) filter (reading = 'study_time') as written
  from noted where note_table = 'radiology' group by note_id having named is not null
),
report as (
  select r.note_id, r.row_ref, e.named, e.guided,
         coalesce(written_moment(e.written, r.charttime), r.charttime) as studied,
         case when e.reread or list_contains(e.named, 'outside') then 'outside'
              when list_has_any(e.named, ['ct', 'cta', 'ct_guided', 'ct_needle']) then 'CT'
              when list_has_any(e.named, ['mr', 'mra', 'mr_guided']) then 'MR'
              when list_has_any(e.named, ['pet_ct', 'spect_ct']) then 'open'
              when not list_has_any(e.named, ['procedure', 'unknown']) then 'other'
              when list_contains(e.guided, 'ct') then 'CT'
              when list_contains(e.guided, 'mr') then 'MR'
              when len(e.guided) > 0 then 'other'
              else 'open' end as modality,
         list_has_any(e.named, ['ct_guided', 'ct_needle', 'mr_guided', 'procedure', 'unknown']) as intervention
  from radiology r join exam e using (note_id)
),
cross_sectional as (
  select * from report where modality in ('CT', 'MR')
),

-- Orders: class orders, and orders whose subtype leaves the modality open ------------------------
ordered as (
  select p.poe_id, min(p.ordertime) as ordertime, arg_min(p.row_ref, p.ordertime) as row_ref,
         any_value(p.hadm_id) as hadm_id, any_value(p.order_subtype) as subtype,
         case when any_value(p.order_subtype) in ('CT Scan', 'MRI', 'Cross-Sectional Interventional Radiology') then 'class'
              when any_value(p.order_subtype) is null then 'open'
              when any_value(p.order_subtype) in ('Interventional Radiology', 'Interventional Neuro', 'Angio') then 'open_procedure'
              when any_value(p.order_subtype) in ('Nuclear Med') or any_value(p.order_subtype) ilike '%PET%' then 'open_nuclear'
         end as kind,
         bool_or(p.discontinued_by_poe_id is not null)
           or exists (from poe d where d.discontinue_of_poe_id = p.poe_id) as discontinued,
         (select min(d.ordertime) from poe d where d.discontinue_of_poe_id = p.poe_id
             or d.poe_id in (select x.discontinued_by_poe_id from poe x where x.poe_id = p.poe_id)) as discontinued_at
  from poe p
  where p.order_type = 'Radiology' and p.transaction_type is distinct from 'D/C'
  group by p.poe_id
),
candidate as (            -- a discontinuation after the study is clean-up, one before it is not
  select o.poe_id, r.note_id, abs(epoch(r.studied) - epoch(o.ordertime)) as apart, o.ordertime,
         case when o.kind <> 'class' then 2
              when o.subtype = 'CT Scan' then if(r.modality = 'CT', 0, 1)
              when o.subtype = 'MRI' then if(r.modality = 'MR', 0, 1)
              else if(r.intervention, 0, 1) end as misfit
  from ordered o join cross_sectional r
    on r.studied between o.ordertime - interval 1 hour and o.ordertime + interval 72 hour
  where (o.discontinued_at is null or o.discontinued_at >= r.studied)
    and (o.kind = 'class'
         or (not o.discontinued and (o.kind = 'open' or (o.kind = 'open_procedure' and r.intervention))))
),
queue as (
  select poe_id, note_id, row_number() over (order by misfit, apart, ordertime, poe_id, note_id) as n
  from candidate
),
matching(n, poe_ids, note_ids) as (   -- the nearest pair first; order and report are then taken
  select 0::bigint, []::varchar[], []::varchar[]
  union all
  select q.n, if(taken, m.poe_ids, list_append(m.poe_ids, q.poe_id)),
         if(taken, m.note_ids, list_append(m.note_ids, q.note_id))
  from (select m.*, q.poe_id as next_poe, list_contains(m.poe_ids, q.poe_id)
               or list_contains(m.note_ids, q.note_id) as taken
        from matching m join queue q on q.n = m.n + 1) m
  join queue q on q.n = m.n + 1
),
pairing as (
  select unnest(poe_ids) as poe_id, unnest(note_ids) as note_id
  from (select poe_ids, note_ids from matching order by n desc limit 1)
),

-- Where each time lies among the stays of the admission ---------------------------------------
evidence as (
  select poe_id as id, 'order' as what, ordertime as tm, row_ref from ordered
  union all
  select note_id, 'report', studied, row_ref from cross_sectional
),
placed as (
  select e.id, e.what, e.tm, e.row_ref,
         count(s.stay_id) filter (e.tm between s.intime and s.outtime) as inside,
         coalesce(bool_or(s.stay_id = $stay_id and e.tm between s.intime and s.outtime), false) as here,
         max(s.outtime) filter (s.outtime < e.tm) as after_stay,
         min(s.intime) filter (s.intime > e.tm) as before_stay,
         inside = 0 and after_stay is not null and before_stay is not null as in_gap
  from evidence e left join stays s on true
  group by all
),
mine as (                 -- class orders of this stay, with the study that confirms them
  select o.*, p.note_id, r.studied, r.row_ref as report_ref,
         (select count(*) > 1 from stays)
           and (ordered_at.inside > 1 or coalesce(studied_at.in_gap or studied_at.inside > 1, false)) as unattributable
  from ordered o
  join stay s on o.hadm_id = $hadm_id and o.ordertime between s.intime and s.outtime
  left join pairing p using (poe_id)
  left join cross_sectional r using (note_id)
  join placed ordered_at on ordered_at.id = o.poe_id and ordered_at.what = 'order'
  left join placed studied_at on studied_at.id = p.note_id and studied_at.what = 'report'
),
by_ultrasound as (        -- cross-sectional interventions that were done under ultrasound
  select m.poe_id from mine m
  where m.subtype = 'Cross-Sectional Interventional Radiology' and m.note_id is null and not m.discontinued
    and exists (from report r where r.studied between m.ordertime - interval 1 hour and m.ordertime + interval 72 hour
                and (list_contains(r.named, 'us_guided') or (r.intervention and list_contains(r.guided, 'ultrasound')))
                and r.modality = 'other')
),
class_order as (
  select m.*, case when m.unattributable then 'unattrib'
                   when m.note_id is not null and m.studied between s.intime and s.outtime then 'report_in'
                   when m.note_id is not null then 'report_out'
                   when m.discontinued then 'dc'
                   else 'noreport' end as label
  from mine m, stay s
  where (m.kind = 'class' or m.note_id is not null) and m.poe_id not in (from by_ultrasound)
),
open_order as (           -- with each report that could settle them and does not
  select m.poe_id, m.row_ref, r.row_ref as report_ref
  from mine m join report r
    on r.studied between m.ordertime - interval 1 hour and m.ordertime + interval 72 hour and r.modality = 'open'
  where not m.discontinued and m.note_id is null
    and case when m.kind = 'open' then true
             when m.kind = 'open_nuclear' then list_has_any(r.named, ['pet_ct', 'spect_ct', 'unknown'])
             when m.kind = 'open_procedure' then r.intervention
             else m.poe_id in (from by_ultrasound) and r.intervention end
),
unordered as (            -- CT or MRI reports of this stay that confirm none of its orders
  select r.* from cross_sectional r, stay s
  where r.studied between s.intime and s.outtime
    and not exists (from class_order c where c.note_id = r.note_id)
),
earlier as (              -- orders before the stay that fit such a report and are not used up
  select distinct o.poe_id, o.row_ref
  from ordered o join stay s
    on o.hadm_id = $hadm_id and o.kind = 'class'
   and o.ordertime >= s.intime - interval 24 hour and o.ordertime < s.intime
  join unordered u
    on (case o.subtype when 'CT Scan' then u.modality = 'CT' when 'MRI' then u.modality = 'MR' else true end)
   and (o.discontinued_at is null or o.discontinued_at >= u.studied)
   and (not o.discontinued or o.discontinued_at is not null)
  where not exists (from pairing p join cross_sectional r using (note_id)
                    where p.poe_id = o.poe_id and r.studied < s.intime)
),
about_stay as (           -- what could concern this stay: inside it, next to it in a gap, or timeless
  select p.row_ref, p.here and p.inside = 1 as attributable
  from placed p, stay s
  where (p.what = 'report' and exists (
           from radiology r where r.note_id = p.id and (r.hadm_id = $hadm_id or (r.hadm_id is null and r.charttime is not null)))
         or exists (from ordered o where o.poe_id = p.id and o.kind = 'class' and o.hadm_id = $hadm_id
                    and not exists (from pairing x where x.poe_id = o.poe_id)))
    and (p.tm is null or p.here or (p.in_gap and (p.after_stay = s.outtime or p.before_stay = s.intime)))
),
imaging_order as (
  select p.row_ref from poe p, stay s
  where p.order_type = 'Radiology' and p.hadm_id = $hadm_id and p.ordertime between s.intime and s.outtime
),
any_order as (            -- the first and the last order stand for the stream
  select count(*) as n, [arg_min(p.row_ref, p.ordertime), arg_max(p.row_ref, p.ordertime)] as rows
  from poe p, stay s where p.hadm_id = $hadm_id and p.ordertime between s.intime and s.outtime
),
icu_event as (
  select p.row_ref from procedureevents p, stay s
  where p.stay_id = $stay_id and p.itemid in (221214, 229582, 223253)
    and p.starttime between s.intime and s.outtime and p.statusdescription is distinct from 'Rewritten'
)
select
  {value: stay.usable, rows: stay.rows} as stay_window,
  (select {value: count(*)::integer, rows: coalesce(list(row_ref order by intime), [])} from stays) as n_stays,
  (select {value: coalesce(list(label order by ordertime, poe_id), []),
           rows: coalesce(list(row_ref order by ordertime, poe_id), [])
                 || coalesce(list(report_ref order by ordertime, poe_id) filter (report_ref is not null), [])}
   from class_order) as orders,
  (select {value: count(*) > 0,
           rows: coalesce(list(distinct row_ref), []) || coalesce(list(distinct report_ref), [])}
   from open_order) as ambig_subtype,
  (select {value: count(*) > 0, rows: coalesce(list(row_ref order by studied), [])}
   from unordered) as report_no_order,
  (select {value: count(*) > 0, rows: coalesce(list(row_ref), [])} from icu_event) as icu_ct_event,
  (select {value: count(*) > 0, rows: coalesce(list(row_ref), [])} from earlier) as prior_order,
  (select {value: (select count(*) > 1 from stays) and count(*) > 0 and not coalesce(bool_or(attributable), false),
           rows: coalesce(list(row_ref), [])} from about_stay) as multi_unattrib,
  (select {value: count(*) > 0, rows: coalesce(list(row_ref), [])} from imaging_order) as any_rad_order,
  (select {value: n > 0, rows: if(n > 0, list_distinct(rows), [])} from any_order) as stream_present,
  (select min(studied) from class_order where label = 'report_in') as anchor_studied,
  (select min(ordertime) from class_order) as anchor_ordered
from stay
