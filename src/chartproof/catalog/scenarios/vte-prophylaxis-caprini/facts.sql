-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of vte-prophylaxis-caprini: one row; D0 is the date of the first qualifying operation.
with adm as materialized (
  select
    a.hadm_id, a.admittime, a.dischtime, a.deathtime, a.row_ref, p.row_ref as patient_ref,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age, p.gender
  from admissions a join patients p using (subject_id)
  where a.hadm_id = $hadm_id
),
told as materialized (
  select n.* from noted n join adm on n.hadm_id = adm.hadm_id where n.note_table = 'discharge'
),
summaries as materialized (
  select d.row_ref from discharge d join adm on d.hadm_id = adm.hadm_id
),

-- the operation ----------------------------------------------------------------------------------
major as materialized (  -- resections, bypasses and explorations of belly and pelvis, open or by laparoscope
  select p.hadm_id, p.chartdate, p.seq_num, p.row_ref
  from procedures_icd p
  where p.subject_id = $subject_id and case p.icd_version
    when 9 then regexp_matches(p.icd_code,
      '^(173[1-9]|415|43[5-9]\d?|4431|4438|4439|456[1-3]|457[1-9]|458[123]?|46[01]\d?|48[456]\d?|5022|503|504|5122|525[1-9]|526|527|5411|5412|5419|544|554|555\d?|576|577\d?|65[3-6]\d?|68[3-8]\d?)$')
    when 10 then
      -- section, body system, operation, part, approach, device, qualifier
      (regexp_matches(p.icd_code, '^0([DFTU][BT1]|DV).[04].[^X]$')
        -- gallbladder and appendix by laparoscope have no counterpart in the older codes
        and not regexp_matches(p.icd_code, '^(0FB44|0FT44|0DBJ|0DTJ)'))
      or regexp_matches(p.icd_code, '^07TP[04]') or p.icd_code = '0WJG0ZZ'
    end
),
index_op as materialized (
  select m.chartdate as d0, m.row_ref from major m join adm on m.hadm_id = adm.hadm_id
  order by m.chartdate, m.seq_num limit 1
),
w as materialized (
  select d0::timestamp as d0, d0::timestamp + interval 2 day as due from index_op where d0 is not null
),

-- what was given -----------------------------------------------------------------------------------
prophylaxis_told as materialized (
  select value, row_ref from told where reading = 'postop_prophylaxis'
),
charted as materialized (
  select e.charttime, e.row_ref from emar e join adm on e.hadm_id = adm.hadm_id, w
  where e.charttime >= w.d0 and e.charttime < w.due
),
doses as materialized (
  select e.charttime as given, e.row_ref
  from emar e join adm on e.hadm_id = adm.hadm_id join drug_name n on n.name = e.medication, w
  where e.charttime >= w.d0 and e.charttime < w.due and administered(e.event_txt)
    and n.class = 'anticoagulant' and not line_heparin(e.medication)
    -- a few hundred units by vein keep a line open
    and not (n.ingredient = 'heparin' and coalesce((
      select bool_or(try_cast(p.dose_val_rx as double) < 500 and upper(p.route) like 'IV%')
      from prescriptions p where p.pharmacy_id = e.pharmacy_id), false))
  union all  -- the ICU's pumps and syringes may stand here alone
  select i.starttime, i.row_ref
  from inputevents i join adm on i.hadm_id = adm.hadm_id, w
  where i.itemid in (225152, 225975, 225906, 225908, 225147, 225148)
    and i.statusdescription is distinct from 'Rewritten'
    and (coalesce(i.amount, 0) > 0 or coalesce(i.rate, 0) > 0)
    and i.starttime >= w.d0 and i.starttime < w.due
),
given as materialized (
  select
    count(*) as n, min(given) as first_dose, coalesce(list(row_ref order by given, row_ref), []) as rows,
    -- the operation has no clock: a single dose of that morning is taken as one before incision
    count(*) = 1 and min(given) < any_value(w.d0) + interval 12 hour as single_morning
  from doses, w
),
was_given as materialized (
  select
    case
      when g.n = 0 then not exists (from charted) and exists (from prophylaxis_told where value = 'given')
      when g.single_morning then exists (from prophylaxis_told where value = 'given')
      else true
    end as value,
    g.rows || if(g.n = 0 or g.single_morning,
      (select coalesce(list(distinct row_ref order by row_ref), []) from prophylaxis_told
       where value = 'given'), []) as rows
  from given g
),

-- in hospital, alive and not on comfort care until the deadline ------------------------------------
gone as materialized (
  select a.row_ref from adm a, w where a.dischtime < w.due or a.deathtime < w.due
  union all
  select c.row_ref from chartevents c, w, adm
  where c.subject_id = $subject_id and c.itemid = 223758 and c.value = 'Comfort measures only'
    and c.charttime >= adm.admittime and c.charttime < w.due
  union all  -- the first day of a stay, and of an operation, both lie before its deadline
  select t.row_ref from told t, w
  where t.reading = 'comfort_first_day' and t.value in ('immediate', 'first_day')
),

-- Caprini -------------------------------------------------------------------------------------------
codes as materialized (  -- of this and earlier admissions, never of later ones
  select
    d.icd_code as code, d.icd_version as version, d.row_ref, d.hadm_id = $hadm_id as here,
    a.dischtime >= w.d0 - interval 30 day and a.dischtime <= adm.admittime as lately
  from diagnoses_icd d join admissions a on a.hadm_id = d.hadm_id, adm, w
  where d.subject_id = $subject_id and a.admittime <= adm.admittime
),
marked as materialized (
  select *,
    case version
      when 9 then case
        when regexp_matches(code, '^(1[4-9]\d|20[0-8]|209[0-3])') and code not like '173%'
          or code like 'V10%' and code <> 'V1083' then 'malignancy'
        when code = 'V1251' then 'own'
        when code = '28981' then 'thrombophilia'
        when code = '28984' then 'hit'
        when regexp_matches(code, '^49[0-6]') then 'lung'
        when code like '428%' then 'heart'
        when regexp_matches(code, '^55[56]') then 'bowel'
        when code like '454%' then 'varicose'
        when regexp_matches(code, '^(2780[0-3]?|V852|V853|V854)') then 'weight'
        when regexp_matches(code, '^(V22|V23|V24|63|64|65|66|67)') then 'pregnancy'
        when regexp_matches(code, '^(038|9959[12]|78552)') then 'sepsis'
        when regexp_matches(code, '^48[0-6]') then 'pneumonia'
        when code like '410%' then 'infarct'
        when regexp_matches(code, '^(430|431|43[34]\d1)') then 'stroke'
        when regexp_matches(code, '^(808|82[0-4])') then 'fracture'
        when regexp_matches(code, '^(806|952)') then 'cord'
      end
      else case
        when regexp_matches(code, '^(C[0-8]|C9[0-6])') and code not like 'C44%'
          or code like 'Z85%' and code <> 'Z85828' then 'malignancy'
        when code like 'Z8671%' then 'own'
        when regexp_matches(code, '^D68[56]') then 'thrombophilia'
        when code like 'D7582%' then 'hit'
        when regexp_matches(code, '^J4[0-7]') then 'lung'
        when code like 'I50%' then 'heart'
        when regexp_matches(code, '^K5[01]') then 'bowel'
        when code like 'I83%' then 'varicose'
        when regexp_matches(code, '^(E66|Z682[5-9]|Z68[34])') then 'weight'
        when regexp_matches(code, '^(O|Z33|Z34|Z39)') then 'pregnancy'
        when regexp_matches(code, '^(A40|A41|R652)') then 'sepsis'
        when regexp_matches(code, '^J1[2-8]') then 'pneumonia'
        when regexp_matches(code, '^I2[12]') then 'infarct'
        when regexp_matches(code, '^I6[0-3]') then 'stroke'
        when regexp_matches(code, '^S(32[1-8]|72|82)') then 'fracture'
        when regexp_matches(code, '^S[123]4') then 'cord'
      end
    end as item
  from codes
),
bmi as materialized (
  select try_cast(o.result_value as double) as value, o.row_ref
  from omr o, w
  where o.subject_id = $subject_id and o.result_name in ('BMI (kg/m2)', 'BMI')
    and o.chartdate >= w.d0 - interval 365 day and o.chartdate < w.d0
    and try_cast(o.result_value as double) between 10 and 100
  order by o.chartdate desc, o.seq_num desc limit 1
),
home as materialized (
  select drug, row_ref, from_list from (
    select n.ingredient as drug, m.row_ref, true as from_list
    from medrecon m join edstays e using (stay_id) join adm on e.hadm_id = adm.hadm_id
      join drug_name n on n.name = m.name
    union all
    select item->>'drug', row_ref, true from (
      -- nothing else that was told is JSON
      select case when reading = 'home_medications' then value::json end as item, row_ref from told)
    where item is not null)
),
clots as materialized (select value, row_ref from told where reading = 'clot_history'),
denied as materialized (
  select
    coalesce(bool_or(value = 'none') and not bool_or(value = 'own'), false) as own,
    coalesce(bool_or(value = 'family_none') and not bool_or(value = 'family'), false) as family
  from clots
),
established as materialized (  -- each item once, with its points
  select item, max(points)::integer as points, list(distinct row_ref order by row_ref) as rows
  from (
    select 'age' as item, case when age >= 75 then 3 when age >= 61 then 2 when age >= 41 then 1 else 0 end
      as points, patient_ref as row_ref
    from adm
    union all  -- more than 45 minutes are assumed for these operations
    select 'operation', 2, row_ref from index_op
    union all
    select 'weight', 1, row_ref from bmi where value > 25
    union all
    select 'weight', 1, row_ref from marked where item = 'weight' and not exists (from bmi)
    union all
    select m.item, p.points, m.row_ref
    from marked m join (
      values ('malignancy', 2), ('own', 3), ('thrombophilia', 3), ('hit', 3), ('lung', 1), ('heart', 1),
        ('bowel', 1), ('varicose', 1), ('pregnancy', 1)) p(item, points) using (item), denied d
    where (m.item <> 'own' or not d.own) and (m.item <> 'pregnancy' or m.here)
    union all  -- a stay that ended in the month before gives its acute illness a time
    select m.item, p.points, m.row_ref
    from marked m join (
      values ('sepsis', 1), ('pneumonia', 1), ('infarct', 1), ('stroke', 5), ('fracture', 5), ('cord', 5)
    ) p(item, points) using (item)
    where m.lately and not m.here
    union all
    select 'earlier operation', 1, m.row_ref from major m, index_op i
    where m.chartdate >= i.d0 - interval 30 day and m.chartdate < i.d0
    union all
    select 'central line', 2, p.row_ref from procedures_icd p, index_op i
    where p.subject_id = $subject_id and p.chartdate >= i.d0 - interval 30 day and p.chartdate < i.d0
      and (p.icd_code in ('3893', '3895', '3897', '02HV33Z') or p.icd_code like '05H%33Z')
    union all
    select 'central line', 2, p.row_ref from procedureevents p, w
    where p.subject_id = $subject_id and p.itemid in (224263, 224270)
      and p.statusdescription is distinct from 'Rewritten'
      and p.starttime >= w.d0 - interval 30 day and p.starttime < w.d0
    union all
    select 'hormones', 1, row_ref from home
    where drug in ('estradiol', 'conjugated estrogens', 'ethinyl estradiol', 'norethindrone', 'norgestimate',
      'drospirenone', 'levonorgestrel', 'medroxyprogesterone', 'progesterone')
    union all
    select value, 3, row_ref from clots where value in ('own', 'family', 'thrombophilia')
  )
  group by item
),
opened as materialized (  -- neither established nor closed
  select item, points from (
    select 'own' as item, 3 as points from denied where not own
    union all
    select 'family', 3 from denied where not family
    union all  -- whoever denies a clot would have told of a known tendency
    select 'thrombophilia', 3 from denied where not own
    union all
    select 'hormones', 1 where not exists (from home)
    union all
    select 'pregnancy', 1 from adm where gender = 'F' and age between 15 and 50
    union all
    select 'weight', 1 where not exists (from bmi)
    union all  -- coded for this stay, without a time against the operation
    select m.item, p.points from marked m join (
      values ('sepsis', 1), ('pneumonia', 1), ('infarct', 1), ('stroke', 5), ('fracture', 5), ('cord', 5)
    ) p(item, points) using (item)
    where m.here
    union all
    select 'central line', 2 from procedures_icd p, index_op i
    where p.hadm_id = $hadm_id and p.chartdate = i.d0
      and (p.icd_code in ('3893', '3895', '3897', '02HV33Z') or p.icd_code like '05H%33Z')
    union all  -- what an examination or a history would show is closed by a summary that is silent
    select unnest(['varicose', 'swollen legs', 'bed rest', 'lung']), unnest([1, 1, 2, 1])
    where not exists (from summaries)
  )
  where item not in (select item from established)
  group by all
),
score as materialized (
  select sum(points)::integer as value, flatten(list(rows order by item)) as rows from established
),

-- reasons against -----------------------------------------------------------------------------------
labs as materialized (
  select l.itemid, l.charttime, l.labevent_id, l.row_ref,
    lab_bounded(l.valuenum, l.value, l.comments)::decimal(9, 2) as value
  from labevents l, w
  where l.subject_id = $subject_id and l.itemid in (51265, 51237, 51222)
    and l.charttime >= w.d0 - interval 2 day and l.charttime < w.due
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
    and not regexp_matches(coalesce(l.comments, ''), 'clump', 'i')
    and (l.itemid <> 51265 or l.specimen_id is null or l.specimen_id not in (
      select c.specimen_id from labevents c
      where c.subject_id = $subject_id and c.itemid = 51264 and c.specimen_id is not null))
),
hgb as materialized (  -- those of the window, and the last one before it
  select charttime, value, row_ref from labs, w where itemid = 51222 and charttime >= w.d0
  union all
  (select charttime, value, row_ref from labs, w where itemid = 51222 and charttime < w.d0
   order by charttime desc, labevent_id desc limit 1)
),
units as materialized (
  select list(i.row_ref order by i.starttime, i.row_ref) as rows
  from inputevents i, w
  where i.subject_id = $subject_id and i.itemid in (225168, 226368, 227070) and i.amount > 0
    and i.statusdescription is distinct from 'Rewritten'
    and i.starttime >= w.d0 and i.starttime < w.due
  having count(distinct coalesce(i.orderid::varchar, i.row_ref)) >= 2
),
oral as materialized (
  select row_ref from home where drug in ('warfarin', 'apixaban', 'rivaroxaban', 'dabigatran', 'edoxaban')
  union all
  select e.row_ref from emar e join adm on e.hadm_id = adm.hadm_id join drug_name n on n.name = e.medication
  where administered(e.event_txt)
    and n.ingredient in ('warfarin', 'apixaban', 'rivaroxaban', 'dabigatran', 'edoxaban')
),
suspect as materialized (
  select l.row_ref from labs l, w where l.itemid = 51265 and l.charttime >= w.d0 and l.value < 50
  union
  select l.row_ref from labs l, w
  where l.itemid = 51237 and l.charttime >= w.d0 and l.value > 1.5 and not exists (from oral)
  union
  select unnest([e.row_ref, l.row_ref]) from hgb e join hgb l on l.charttime > e.charttime
  where e.value - l.value >= 2
  union
  select unnest(rows) from units
),
against as materialized (
  select row_ref from prophylaxis_told where value = 'contraindicated'
)

select
  {
    value: exists (from w),
    rows: (select coalesce(list(row_ref), []) from index_op)
  } as operation,
  {
    value: not exists (from gone),
    rows: if(exists (from gone), (select list(distinct row_ref order by row_ref) from gone), [a.row_ref])
  } as premise,
  {
    value: exists (from charted) or exists (from prophylaxis_told),
    rows: (select coalesce(list(row_ref order by charttime, row_ref)[:3], []) from charted)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from prophylaxis_told)
  } as emar_window,
  {value: coalesce(s.value, 0), rows: coalesce(s.rows, [])} as smin,
  {
    value: coalesce(s.value, 0) + (select coalesce(sum(points), 0)::integer from opened),
    rows: coalesce(s.rows, [])
      || (select coalesce(list(distinct row_ref order by row_ref), []) from clots)
  } as smax,
  {value: coalesce(g.value, false), rows: coalesce(g.rows, [])} as given,
  {
    value: exists (from against),
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from against)
  } as contra_doc,
  {
    value: exists (from suspect),
    rows: (select coalesce(list(row_ref order by row_ref), []) from suspect)
  } as contra_lab,
  w.d0 as anchor_d0,
  w.due as anchor_due,
  (select first_dose from given) as anchor_t_dose
from adm a, score s
left join w on true
left join was_given g on true
