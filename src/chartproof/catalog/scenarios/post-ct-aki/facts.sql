-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of post-ct-aki: one row per candidate time of the index CT, and the row `unresolved`.
with adm as (
  select
    a.hadm_id, a.admittime, coalesce(a.dischtime, timestamp '2999-12-31') as dischtime,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age, p.gender = 'F' as is_female
  from admissions a join patients p using (subject_id)
  where a.subject_id = $subject_id and a.hadm_id = $hadm_id
),

-- CT studies with a clock ----------------------------------------------------------------------
reports as (  -- a report whose exam is a CT; a study time in its text governs over charttime
  select
    coalesce(
      (select written_moment(any_value(t.value), r.charttime)
       from noted t where t.reading = 'study_time' and t.note_id = r.note_id),
      r.charttime) as performed,
    r.row_ref
  from radiology r, adm
  where r.note_id in (
      select note_id from noted
      where reading = 'exam_modality' and value in ('ct', 'cta', 'ct_guided'))
    and r.charttime >= adm.admittime - interval 6 hour and r.charttime < adm.dischtime
    and (r.hadm_id is null or r.hadm_id = adm.hadm_id)
),
events as (  -- ICU procedure events; one within two hours of a report is that report's study
  select e.starttime as performed, e.row_ref
  from procedureevents e join adm using (hadm_id)
  where e.itemid in (221214, 229582) and e.statusdescription is distinct from 'Rewritten'
    and e.starttime is not null
),
timed as (
  select performed, [row_ref] as rows from reports
  union all
  select performed, [row_ref] from events
  where not exists (
    from reports r where abs(epoch(r.performed) - epoch(events.performed)) <= 2 * 3600)
),
first_timed as (
  select min(performed) as performed from timed having min(performed) is not null
),

-- CT studies without a clock -------------------------------------------------------------------
coded as (
  select p.chartdate, p.row_ref
  from procedures_icd p join adm using (hadm_id)
  where (p.icd_version = 9 and p.icd_code in ('8703', '8741', '8771', '8801', '8838'))
     or (p.icd_version = 10 and p.icd_code like 'B_2%')
),
ordered as (
  select o.row_ref
  from poe o join adm using (hadm_id)
  where o.order_type = 'Radiology' and o.order_subtype = 'CT Scan'
    and o.transaction_type is distinct from 'D/C' and o.discontinued_by_poe_id is null
),
earlier_day as (  -- a code dated before the first timed CT: that CT may have been at any minute
  select
    greatest(min(c.chartdate)::timestamp, any_value(adm.admittime) - interval 6 hour) as begins,
    (min(c.chartdate) + interval 1 day)::timestamp as ends,
    list(c.row_ref order by c.chartdate, c.row_ref) as rows
  from coded c, first_timed f, adm
  where c.chartdate < f.performed::date
    and c.chartdate >= (adm.admittime - interval 6 hour)::date
  having count(*) > 0
),

-- creatinine: serum, mg/dL, by patient and draw time, never by encounter ----------------------
main_cr as (
  select
    charttime, labevent_id, row_ref,
    round(lab_number(valuenum, value), 2)::decimal(9, 2) as mg_dl
  from labevents
  where subject_id = $subject_id and itemid = 50912 and charttime is not null
    and lab_number(valuenum, value) > 0 and lab_number(valuenum, value) <= 150
    and coalesce(lower(valueuom), 'mg/dl') in ('mg/dl', '')
),
all_cr as (
  select * from main_cr
  union all
  select
    charttime, labevent_id, row_ref, round(lab_number(valuenum, value), 2)::decimal(9, 2)
  from labevents
  where subject_id = $subject_id and itemid = 52546 and charttime is not null
    and lab_number(valuenum, value) > 0 and lab_number(valuenum, value) <= 150
    and coalesce(lower(valueuom), 'mg/dl') in ('mg/dl', '')
    and charttime not in (select charttime from main_cr)
),
tier1 as (
  select
    coalesce(list(mg_dl order by mg_dl, charttime, labevent_id), []) as value,
    coalesce(list(row_ref order by mg_dl, charttime, labevent_id), []) as rows
  from all_cr, adm
  where charttime >= admittime - interval 365 day and charttime <= admittime - interval 90 day
),

-- kidney disease, dialysis ----------------------------------------------------------------------
summary as (  -- what this admission's summary, or a report of its stay, says
  select n.* from noted n, adm
  where (n.note_table = 'discharge' and n.hadm_id = adm.hadm_id)
     or (n.note_table = 'radiology' and (n.hadm_id = adm.hadm_id or n.hadm_id is null)
         and n.charttime >= adm.admittime - interval 6 hour and n.charttime < adm.dischtime)
),
ended as (  -- the note takes a dialysis code back: coded in error, or dialysis for AKI that ended
  select exists (from summary where reading = 'dialysis_ended')
     and not exists (from summary where reading = 'esrd' and value = 'stated') as value
),
esrd as (
  select d.row_ref
  from diagnoses_icd d join adm using (hadm_id)
  where ((d.icd_version = 9 and d.icd_code in ('5856', 'V4511'))
      or (d.icd_version = 10 and d.icd_code in ('N186', 'Z992')))
    and not (select value from ended)
  union all
  select row_ref from summary where reading = 'esrd' and value = 'stated'
),
dialysis as (  -- with the time from which it counts
  select e.starttime as since, e.row_ref
  from procedureevents e join adm using (hadm_id)
  where e.itemid in (225441, 225802, 225803, 225805, 225809, 225955)
    and e.statusdescription is distinct from 'Rewritten'
  union all
  select p.chartdate::timestamp, p.row_ref
  from procedures_icd p join adm using (hadm_id)
  where (p.icd_version = 9 and p.icd_code in ('3995', '5498'))
     or (p.icd_version = 10 and (p.icd_code like '5A1D%' or p.icd_code = '3E1M39Z'))
  union all
  select o.ordertime, o.row_ref
  from poe o join adm using (hadm_id)
  where o.order_type = 'Hemodialysis'
),
ckd as (
  select d.row_ref
  from diagnoses_icd d join adm using (hadm_id)
  where (d.icd_version = 9 and d.icd_code like '585%')
     or (d.icd_version = 10 and d.icd_code like 'N18%')
  union all
  select row_ref from summary
  where note_table = 'discharge' and reading = 'ckd' and value = 'stated'
),
ckd4 as (
  select d.row_ref
  from diagnoses_icd d join adm using (hadm_id)
  where (d.icd_version = 9 and d.icd_code in ('5854', '5855'))
     or (d.icd_version = 10 and d.icd_code in ('N184', 'N185'))
  union all
  select row_ref from summary
  where note_table = 'discharge' and reading = 'ckd_stage' and value in ('4', '5')
),

-- candidate times of the index CT ---------------------------------------------------------------
breakpoints as (  -- the verdict as a function of the scan time can change only here
  select unnest([charttime, charttime - interval 2 hour, charttime - interval 48 hour]) as moment
  from all_cr
  union all
  select since - interval 48 hour from dialysis
),
candidates as (
  select f.performed as t_ct, flatten(list(t.rows)) as rows, 0 as preference
  from first_timed f join timed t using (performed) group by f.performed
  union all
  select distinct t_ct, e.rows, 1
  from earlier_day e, (
    select unnest([begins, ends - interval 1 second]) as t_ct from earlier_day
    union all
    select moment + unnest([interval (-1) second, interval 0 second, interval 1 second])
    from breakpoints
  )
  where t_ct >= e.begins and t_ct < e.ends
),
reading as (
  select t_ct, rows, preference, 'scan at ' || strftime(t_ct, '%Y-%m-%d %H:%M:%S') as name
  from candidates
  union all
  select null, [], 2, 'unresolved'
),

-- what depends on the scan time -------------------------------------------------------------------
before_ct as (
  select
    r.name, arg_min(c.mg_dl, (c.charttime, c.labevent_id)) as mg_dl,
    arg_min(c.row_ref, (c.charttime, c.labevent_id)) as row_ref
  from reading r, adm, main_cr c
  where c.charttime >= adm.admittime - interval 24 hour
    and c.charttime <= adm.admittime + interval 24 hour and c.charttime < r.t_ct
  group by r.name
),
just_after_ct as (
  select
    r.name, arg_min(c.mg_dl, (c.charttime, c.labevent_id)) as mg_dl,
    arg_min(c.row_ref, (c.charttime, c.labevent_id)) as row_ref
  from reading r, adm, main_cr c
  where c.charttime >= r.t_ct and c.charttime <= r.t_ct + interval 2 hour
    and c.charttime >= adm.admittime - interval 24 hour
    and c.charttime <= adm.admittime + interval 24 hour
  group by r.name
),
admission_cr as (  -- Tier 2, with the row that then leaves the window because it is the baseline
  select
    r.*, coalesce(b.mg_dl, j.mg_dl) as mg_dl, coalesce(b.row_ref, j.row_ref) as cr_ref,
    case when b.mg_dl is null and len(t.value) = 0 then j.row_ref end as spent
  from reading r
  left join before_ct b using (name)
  left join just_after_ct j using (name), tier1 t
),
post as (
  select
    r.name, list(c.mg_dl order by c.charttime, c.labevent_id) as value,
    list(c.row_ref order by c.charttime, c.labevent_id) as rows
  from admission_cr r, all_cr c
  where c.charttime > r.t_ct and c.charttime <= r.t_ct + interval 48 hour
    and c.row_ref is distinct from r.spent
  group by r.name
),
dialysed as (  -- by 48 h after the scan, or in the whole admission where its time is unknown
  select r.name, list(d.row_ref) as rows
  from reading r, adm, dialysis d
  where d.since <= coalesce(r.t_ct + interval 48 hour, adm.dischtime)
  group by r.name
),
estimate as (
  select mdrd_creatinine(75, age, is_female) as mg_dl from adm where exists (from ckd)
),
based as (
  select
    r.*, e.mg_dl as mdrd, list_min(t.value) as lowest,
    coalesce(list_min(t.value), r.mg_dl, e.mg_dl) as baseline
  from admission_cr r left join estimate e on true, tier1 t
)

select
  b.name as reading,
  b.t_ct as anchor_t_ct,
  {
    value: exists (from timed) or exists (from coded) or exists (from ordered),
    rows: (select coalesce(flatten(list(rows)), []) from timed)
      || (select coalesce(list(row_ref), []) from coded)
      || (select coalesce(list(row_ref), []) from ordered)
  } as ct_found,
  {value: b.t_ct is not null, rows: b.rows} as ct_time_known,
  {
    value: exists (from esrd) or d.rows is not null,
    rows: (select coalesce(list(row_ref), []) from esrd) || coalesce(d.rows, [])
  } as rrt_or_esrd,
  {value: t.value, rows: t.rows} as tier1,
  -- rows only of the tier that serves: the others decide nothing
  {
    value: b.mg_dl,
    rows: if(b.cr_ref is null or b.lowest is not null, [], [b.cr_ref])
  } as adm_cr,
  {
    value: b.mdrd,
    rows: if(coalesce(b.lowest, b.mg_dl) is null,
      (select coalesce(list(row_ref), []) from ckd), [])
  } as mdrd,
  {value: coalesce(p.value, []), rows: coalesce(p.rows, [])} as post,
  {
    value: exists (from ckd4)
      or coalesce(round(mdrd_egfr(b.baseline, adm.age, adm.is_female)) < 30, false),
    rows: (select coalesce(list(row_ref), []) from ckd4)
      || case
           when coalesce(round(mdrd_egfr(b.baseline, adm.age, adm.is_female)) >= 30, true) then []
           when b.lowest is not null then t.rows[:1]
           when b.mg_dl is not null then [b.cr_ref]
           else []
         end
  } as ckd4
from based b
left join post p using (name)
left join dialysed d using (name), tier1 t, adm
order by b.preference, b.t_ct
