-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of hf-gdmt: one row.
with stay as (
  select hadm_id, admittime, dischtime, discharge_location, row_ref,
         coalesce(hospital_expire_flag, 0) = 1 or deathtime is not null as died
  from admissions where subject_id = $subject_id and hadm_id = $hadm_id
  limit 1
),
summary as (              -- the latest summary of the admission
  select d.note_id, d.row_ref from discharge d, stay
  where d.hadm_id = stay.hadm_id and coalesce(d.note_type, 'DS') = 'DS'
  order by d.charttime desc nulls last, d.note_seq desc nulls last, d.note_id desc limit 1
),
told as (
  select n.* from noted n join summary using (note_id) where n.note_table = 'discharge'
),

-- whether it is a heart-failure admission whose discharge the question fits --------------------
coded as (
  select d.row_ref from diagnoses_icd d, stay
  where d.hadm_id = stay.hadm_id and d.seq_num <= 3
    and ((d.icd_version = 9 and d.icd_code like '428%')
      or (d.icd_version = 10 and (d.icd_code like 'I50%' or d.icd_code in ('I110', 'I130', 'I132'))))
),
failing as (
  select value, section, row_ref from told where reading = 'heart_failure_course'
),
premise as (
  select
    not stay.died
      and coalesce(stay.discharge_location, '') not in ('DIED', 'HOSPICE', 'AGAINST ADVICE', 'ACUTE HOSPITAL')
      and not exists (from failing where value = 'excluded')
      and (exists (from failing where value = 'stated' and section = 'discharge_diagnosis')
        or (exists (from coded)
          and (exists (from failing where value = 'stated') or not exists (from summary)))) as value
  from stay
),

-- the ejection fraction: that of this admission before what the history repeats ----------------
written as (
  select
    t.value, t.row_ref, t.line_from,
    case t.section when 'results' then 1 when 'findings' then 1 when 'impression' then 1 when 'hospital_course' then 2 when 'discharge_diagnosis' then 2
      when 'procedures' then 2 when 'transitional' then 3 when 'hpi' then 4 when 'chief_complaint' then 4
      when 'pmh' then 5 else 6 end as place,
    try_cast(regexp_extract(t.value, '^(\d+(?:\.\d+)?) ?%?$', 1) as double) as single,
    try_cast(regexp_extract(t.value, '^(\d+(?:\.\d)?) ?%? ?(?:-|–|to) ?(\d+)', 1) as double) as low,
    try_cast(regexp_extract(t.value, '^(\d+(?:\.\d)?) ?%? ?(?:-|–|to) ?(\d+)', 2) as double) as high
  from told t where t.reading = 'lvef'
),
fraction as (
  select *,
    case when single is not null then if(single < 1, single * 100, single)
         when low is not null then (low + high) / 2
         when value = 'severe' then 40 when value = 'normal' then 55 end::decimal(5, 1) as percent
  from written
),
current as (select * from fraction where place <= 3),
chosen as (
  select arg_min(percent, (place, line_from)) as percent, arg_min(row_ref, (place, line_from)) as row_ref
  from fraction where percent is not null
),
unsure as (
  select
    exists (from fraction where value = 'recovered')
    or exists (from fraction where low <= 40 and high > 40)
    -- two estimates of this admission on both sides
    or (exists (from current where coalesce(single, low) is not null and percent <= 40)
      and exists (from current where coalesce(single, low) is not null and percent > 40))
    -- what the history has, at 40 or below, and this admission no longer
    or (coalesce((select percent from chosen) > 40, false)
      and exists (from fraction where place > 3 and coalesce(single, low) is not null and percent <= 40)) as value
),

-- the discharge list ----------------------------------------------------------------------------
line as (
  select row_ref, from_json(case when reading = 'discharge_medications' then value end, '{"drug": "VARCHAR", "group": "VARCHAR", "name": "VARCHAR", "per_day": "DOUBLE",
      "release": "BOOLEAN", "held": "BOOLEAN", "heading": "VARCHAR", "none": "BOOLEAN"}') as item
  from told where reading = 'discharge_medications'
),
leaving as (
  select item.drug as drug, item."group" as class, lower(coalesce(item.name, '')) as name, item.per_day as per_day,
    coalesce(item.release, false) as release, row_ref
  from line
  where item.drug is not null and not coalesce(item.heading in ('stopped', 'held', 'transfer'), false)
    and not coalesce(item.held, false)
),
blocker as (
  select row_ref,
    case when drug in ('carvedilol', 'bisoprolol') then 2
         when regexp_matches(name, 'succ|\btoprol|\bxl\b|\ber\b|extended|dutoprol') or release then 2
         -- a tartrate by name, or by being taken twice a day
         when regexp_matches(name, 'tart|lopressor') or coalesce(per_day, 0) >= 2 then 0
         else 1 end as counts
  from leaving where drug in ('carvedilol', 'bisoprolol', 'metoprolol')
),
inhibitor as (
  select row_ref from leaving where class in ('ace_inhibitor', 'arb') and drug <> 'enalaprilat'
),
reason as (select value, row_ref from told where reading = 'therapy_reason'),
vasodilators as (         -- they stand in only where a reason is told
  select l.row_ref from leaving l
  where l.drug in ('hydralazine', 'isosorbide dinitrate', 'isosorbide mononitrate')
    and exists (from leaving where drug = 'hydralazine')
    and exists (from leaving where drug like 'isosorbide%')
    and exists (from reason where value in ('rasi', 'both'))
),
on_list as (
  select coalesce((select max(counts) from blocker), 0) as blocker,
    exists (from inhibitor) or exists (from vasodilators) as inhibitor
),
missing as (
  select unnest(list_filter([if(blocker = 2, null, 'bb'), if(inhibitor, null, 'rasi')], lambda c: c is not null)) as class
  from on_list
),
documented as (
  select m.class, r.row_ref from missing m join reason r on r.value in (m.class, 'both')
),

-- the last day -----------------------------------------------------------------------------------
result as (
  select l.itemid, l.charttime, l.row_ref, lab_bounded(l.valuenum, l.value, l.comments)::decimal(9, 2) as number
  from labevents l, stay
  where l.subject_id = $subject_id and l.itemid in (50971, 50912)
    and l.charttime >= stay.admittime - interval 24 hour and l.charttime <= stay.dischtime
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
    and not (l.itemid = 50971 and regexp_matches(coalesce(l.comments, ''), 'h(a)?emoly', 'i'))
),
last_lab as (
  select r.itemid, arg_max(r.number, r.charttime) as number, arg_max(r.row_ref, r.charttime) as row_ref
  from result r, stay where r.charttime >= stay.dischtime - interval 24 hour group by r.itemid
),
first_creatinine as (
  select arg_min(r.number, r.charttime) as number, arg_min(r.row_ref, r.charttime) as row_ref
  from result r, stay where r.itemid = 50912 and r.charttime <= stay.admittime + interval 24 hour
),
sign as (
  select if(c.itemid = 220045, 'hr', 'sbp') as kind, arg_max(c.valuenum, c.charttime) as number,
    arg_max(c.row_ref, c.charttime) as row_ref
  from chartevents c, stay
  where c.subject_id = $subject_id and c.itemid in (220045, 220050, 220179, 225309, 224167, 227243)
    and c.charttime >= stay.dischtime - interval 24 hour and c.charttime <= stay.dischtime and c.valuenum > 0
  group by 1
),
inotrope as (
  select e.row_ref from emar e join drug_name d on d.name = e.medication, stay
  where e.subject_id = $subject_id and administered(e.event_txt) and d.ingredient in ('milrinone', 'dobutamine', 'dopamine')
    and e.charttime >= stay.dischtime - interval 24 hour and e.charttime <= stay.dischtime
  union all
  select i.row_ref from inputevents i, stay
  where i.subject_id = $subject_id and i.itemid in (221986, 221653, 221662) and i.amount > 0
    and i.statusdescription is distinct from 'Rewritten'
    and coalesce(i.endtime, i.starttime) >= stay.dischtime - interval 24 hour and i.starttime <= stay.dischtime
),
measured as (
  select 'rasi' as class, row_ref from last_lab where itemid = 50971 and number > 5.5
  union all
  select 'rasi', row_ref from last_lab where itemid = 50912 and number > 3.0
  union all
  select 'rasi', l.row_ref from last_lab l, first_creatinine f where l.itemid = 50912 and l.number >= 1.5 * f.number
  union all
  select c.class, s.row_ref from sign s, (values ('rasi'), ('bb')) c(class) where s.kind = 'sbp' and s.number < 90
  union all
  select 'bb', row_ref from sign where kind = 'hr' and number < 55
  union all
  select 'bb', row_ref from inotrope
),
by_number as (
  select m.class, n.row_ref from missing m join measured n using (class)
  where m.class not in (select class from documented)
)

select
  {
    value: premise.value,
    rows: [stay.row_ref] || (select coalesce(list(row_ref), []) from coded)
      || (select coalesce(list(distinct row_ref), []) from failing)
  } as premise,
  {
    value: exists (from fraction),
    rows: (select coalesce(list(distinct row_ref), []) from fraction)
  } as lvef_known,
  {
    value: exists (from line where item.drug is not null or item.none),
    rows: (select coalesce(list(distinct row_ref), []) from line)
  } as dc_list,
  {
    value: unsure.value,
    rows: (select coalesce(list(distinct row_ref), []) from fraction)
  } as lvef_conflict,
  {
    value: coalesce(chosen.percent, 0)::decimal(5, 1),
    rows: list_filter([chosen.row_ref], lambda x: x is not null)
  } as lvef,
  {
    value: case on_list.blocker when 2 then 'yes' when 1 then 'unknown_salt' else 'no' end,
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from blocker union all select row_ref from line))
  } as bb,
  {
    value: on_list.inhibitor,
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from inhibitor union all select row_ref from vasodilators union all select row_ref from line))
  } as rasi,
  {
    value: (select coalesce(list(distinct class order by class), []) from documented),
    rows: (select coalesce(list(distinct row_ref), []) from documented)
  } as doc_reason,
  {
    value: (select coalesce(list(distinct class order by class), []) from by_number),
    rows: (select coalesce(list(distinct row_ref), []) from by_number)
      || (select coalesce(list(row_ref), []) from last_lab)
      || (select coalesce(list(row_ref), []) from sign)
  } as lab_reason
from stay, premise, chosen, unsure, on_list
