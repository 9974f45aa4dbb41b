-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of renal-trajectory: one row, about all admissions of a patient.
with adm as (
  select
    a.hadm_id, a.admittime, a.deathtime, a.row_ref,
    a.dischtime,
    coalesce(
      a.dischtime, a.deathtime, lead(a.admittime) over (order by a.admittime, a.hadm_id),
      timestamp '2999-12-31') as ends,
    row_number() over (order by a.admittime, a.hadm_id) as n,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age, p.gender = 'F' as is_female
  from admissions a join patients p using (subject_id)
  where a.subject_id = $subject_id
),

-- replacement of kidney function ---------------------------------------------------------------
krt as (  -- standing kidney failure or transplant, by admission: code or summary
  select
    a.n, d.row_ref,
    (d.icd_version = 9 and d.icd_code in ('5856', 'V4511', 'V4512'))
      or (d.icd_version = 10 and d.icd_code in ('N186', 'Z992', 'Z9115')) as is_esrd
  from diagnoses_icd d join adm a using (hadm_id)
  where (d.icd_version = 9 and d.icd_code in ('5856', 'V4511', 'V4512', 'V420'))
     or (d.icd_version = 10 and d.icd_code in ('N186', 'Z992', 'Z9115', 'Z940'))
  union all
  select a.n, t.row_ref, t.reading = 'esrd'
  from noted t join adm a using (hadm_id)
  where t.note_table = 'discharge' and t.value = 'stated'
    and (t.reading = 'kidney_transplant'
      or (t.reading = 'esrd' and t.section in ('pmh', 'hospital_course')))
),
esrd_first as (
  select coalesce(list(distinct row_ref), []) as rows from krt where n = 1 and is_esrd
),
krt_later as (  -- the first admission that bears any of it, if that is not the first of all
  select list(distinct row_ref) as rows
  from krt where n = (select min(n) from krt) group by n having n > 1
),
dialysis as (
  select a.n, a.admittime, a.hadm_id, p.chartdate::timestamp as since, p.row_ref
  from procedures_icd p join adm a using (hadm_id)
  where (p.icd_version = 9 and p.icd_code in ('3995', '5498'))
     or (p.icd_version = 10 and p.icd_code like '5A1D%')
),
replaced as (  -- dialysis or transplantation as a procedure
  select n, admittime, row_ref from dialysis
  union all
  select a.n, a.admittime, p.row_ref
  from procedures_icd p join adm a using (hadm_id)
  where (p.icd_version = 9 and p.icd_code = '5569')
     or (p.icd_version = 10 and (p.icd_code like '0TY0%' or p.icd_code like '0TY1%'))
),
replaced_apart as (  -- in two admissions at least 90 days apart
  select list(row_ref order by n, row_ref) as rows
  from replaced having max(admittime) - min(admittime) >= interval 90 day
),
krt_onset as (
  select rows from krt_later
  union all
  select rows from replaced_apart
),

-- creatinine by admission --------------------------------------------------------------------------
off_until as (  -- from here on the values of an admission are those of a machine
  select hadm_id, min(since) as since
  from (
    select hadm_id, since from dialysis
    union all
    select e.hadm_id, e.starttime
    from procedureevents e
    where e.itemid in (225441, 225802, 225803, 225805, 225809, 225955)
      and e.statusdescription is distinct from 'Rewritten'
  ) group by hadm_id
),
creatinine as (
  select
    hadm_id, charttime, labevent_id, row_ref,
    round(lab_number(valuenum, value), 2)::decimal(9, 2) as mg_dl
  from labevents
  where subject_id = $subject_id and itemid = 50912 and charttime is not null
    and lab_number(valuenum, value) > 0 and lab_number(valuenum, value) <= 150
    and coalesce(lower(valueuom), 'mg/dl') in ('mg/dl', '')
),
inside as (
  select a.n, c.*
  from adm a
  join creatinine c
    on c.charttime >= a.admittime - interval 24 hour and c.charttime <= a.ends
    and (c.hadm_id is null or c.hadm_id = a.hadm_id)
  left join off_until o on o.hadm_id = a.hadm_id
  where o.since is null or c.charttime < o.since
),
usable as (
  select
    n, any_value(a.admittime) as admittime, any_value(a.ends) as ends,
    any_value(a.deathtime) as deathtime,
    min(c.mg_dl) as baseline,
    arg_min(c.row_ref, (c.mg_dl, c.charttime, c.labevent_id)) as baseline_ref,
    arg_max(c.mg_dl, (c.charttime, c.labevent_id)) as final,
    arg_max(c.row_ref, (c.charttime, c.labevent_id)) as final_ref,
    max(c.charttime) as final_time,
    ckd_epi_2021(min(c.mg_dl), any_value(a.age), any_value(a.is_female)) as egfr
  from inside c join adm a using (n)
  group by n having count(distinct c.charttime) >= 2
),
trend as (
  select
    coalesce(list(egfr order by n), []) as egfr,
    coalesce(list(kdigo_g(egfr) order by n), []) as gcat,
    coalesce(list(baseline_ref order by n), []) as rows,
    list(admittime order by n) as begins, list(ends order by n) as ends,
    coalesce(floor(epoch(max(admittime) - min(admittime)) / 86400)::integer, 0) as span_days
  from usable
),
unresolved as (  -- the last usable admission closes in an injury that nothing later resolves
  select u.final_ref, u.baseline_ref
  from usable u
  where u.n = (select max(n) from usable)
    and (u.final >= 1.5 * u.baseline
      or (u.deathtime is not null
        and u.final >= 1.5 * (select min(e.baseline) from usable e where e.n < u.n)))
    and not exists (from creatinine c where c.charttime > u.final_time)
),

-- coded stages ----------------------------------------------------------------------------------------
staged as (
  select
    a.n, d.row_ref,
    case when icd_code in ('5856', 'N186') then 5
         when icd_version = 9 then right(icd_code, 1)::integer
         else substr(icd_code, 4, 1)::integer end as stage,
    icd_code in ('5856', 'N186') as is_esrd
  from diagnoses_icd d join adm a using (hadm_id)
  where (d.icd_version = 9
      and d.icd_code in ('5851', '5852', '5853', '5854', '5855', '5856'))
     or (d.icd_version = 10
      and d.icd_code in ('N181', 'N182', 'N183', 'N1830', 'N1831', 'N1832', 'N184', 'N185', 'N186'))
),
highest as (
  select n, max(stage) as stage, list(row_ref order by row_ref) as rows from staged group by n
),
stage_rise as (
  select f.rows || flatten(list(l.rows order by l.n)) as rows
  from highest f join highest l on l.n > f.n and l.stage > f.stage
  where f.n = (select min(n) from highest)
  group by f.n, f.rows
),
stage_new3 as (
  select list(row_ref order by row_ref) as rows
  from staged where stage >= 3 and not is_esrd
    and n = (select min(n) from staged where stage >= 3 and not is_esrd)
  group by n having n > 1
),
last_stage as (select stage, rows from highest where n = (select max(n) from highest)),

-- frailty -----------------------------------------------------------------------------------------------
weighed as (  -- kg; outpatient weights in pounds first, else those of the ICU
  select
    1 as source, chartdate as day, seq_num as within_day, row_ref,
    (try_cast(regexp_extract(result_value, '\d+(\.\d+)?') as decimal(9, 2)) * 0.4536)
      ::decimal(12, 6) as kg
  from omr where subject_id = $subject_id and result_name = 'Weight (Lbs)'
  union all
  select 2, charttime::date, epoch(charttime), row_ref, round(valuenum, 2)::decimal(12, 6)
  from chartevents
  where subject_id = $subject_id and itemid in (226512, 224639) and valuenum < 1000
),
weight as (
  select
    source, arg_min(kg, (day, within_day)) as first_kg, arg_max(kg, (day, within_day)) as last_kg,
    [arg_min(row_ref, (day, within_day)), arg_max(row_ref, (day, within_day))] as rows
  from weighed where kg between 25 and 350
  group by source having count(distinct day) >= 2
),
weight_loss as (
  select rows from weight
  where source = (select min(source) from weight) and last_kg <= 0.9 * first_kg
),
stays as (  -- overlaps counted once
  select
    n, row_ref, dischtime,
    greatest(
      admittime,
      coalesce(max(dischtime) over (order by n rows between unbounded preceding and 1 preceding),
        admittime)) as begins
  from adm
),
inpatient as (
  select coalesce(sum(greatest(0, epoch(dischtime - begins))), 0) >= 30 * 86400 as is_long from stays
),
old as (
  select age >= 65 as is_old, row_ref from adm where n = (select max(n) from adm)
),

-- for counterfactuals: the middle of the longest time between two admissions ------------------------------
gap as (
  select arg_max(ends + (following - ends) / 2, following - ends) as middle
  from (select ends, lead(admittime) over (order by n) as following from adm)
  where following - ends >= interval 30 day
)

select
  t.begins[1] as anchor_first_usable,
  t.ends[1] as anchor_first_usable_end,
  t.begins[-2] as anchor_second_last_usable,
  t.begins[-1] as anchor_last_usable,
  (select middle from gap) as anchor_gap_middle,
  (select {value: count(*), rows: coalesce(list(row_ref order by n), [])} from adm) as n_adm,
  {value: len(e.rows) > 0, rows: e.rows} as esrd_first,
  {
    value: len(e.rows) = 0 and exists (from krt_onset),
    rows: if(len(e.rows) = 0,
      (select coalesce(list_distinct(flatten(list(rows))), []) from krt_onset), [])
  } as krt_onset,
  {value: t.egfr, rows: t.rows} as egfr,
  {value: t.gcat, rows: t.rows} as gcat,
  {value: t.span_days, rows: t.rows} as span_days,
  {
    value: exists (from unresolved),
    rows: (select coalesce(flatten(list([baseline_ref, final_ref])), []) from unresolved)
  } as unresolved_last,
  {
    value: exists (from stage_rise),
    rows: (select coalesce(flatten(list(rows)), []) from stage_rise)
  } as code_stage_rise,
  {
    value: exists (from stage_new3),
    rows: (select coalesce(flatten(list(rows)), []) from stage_new3)
  } as code_stage_new3,
  {
    value: coalesce((
      select case s.stage when 1 then true when 2 then t.egfr[-1] < 90 when 3 then t.egfr[-1] < 60
                          when 4 then t.egfr[-1] < 30 else t.egfr[-1] < 15 end
      from last_stage s where len(t.egfr) > 0), false),
    rows: (select coalesce(flatten(list(rows)), []) from last_stage)
  } as code_concordant,
  {
    value: exists (from old where is_old) or exists (from weight_loss)
      or (select is_long from inpatient),
    rows: (select coalesce(list(row_ref), []) from old where is_old)
      || (select coalesce(flatten(list(rows)), []) from weight_loss)
      || if((select is_long from inpatient), (select list(row_ref order by n) from adm), [])
  } as frail
from trend t, esrd_first e
