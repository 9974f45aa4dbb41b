-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of pneumonia-curb65: one row; the presentation is the visit to the emergency department.
with visit as materialized (
  select
    e.stay_id, coalesce(e.hadm_id, $hadm_id) as hadm_id, e.intime,
    age_at(p.anchor_age, p.anchor_year, e.intime) as age, e.row_ref, p.row_ref as patient_ref
  from edstays e join patients p using (subject_id)
  where e.subject_id = $subject_id and e.stay_id = $stay_id
),
stay as materialized (
  select coalesce(a.dischtime, timestamp '2999-12-31') as dischtime
  from admissions a join visit v on a.hadm_id = v.hadm_id
),

-- notes ----------------------------------------------------------------------------------------
summaries as materialized (
  select
    d.note_id, d.text, d.row_ref,
    -- from which line on examination and laboratory are those of the discharge
    nullif(coalesce(list_position(
      list_transform(string_split(d.text, chr(10)), lambda line: regexp_matches(line,
        '^\W*(?:(?:discharge|d/c)\s+(?:physical|exam|labs?\b|laborator|pe\b)|(?:physical exam\w*|exam|labs)\s+(?:on|at|upon)\s+discharge|(?:on|at|upon)\s+discharge\b|discharge:?\s*$)',
        'i')), true), 0), 0) as discharge_line,
    regexp_extract(d.text,
      '(?:discharge|final|primary) diagnos[ei]s:?\s*\n(.*?)(?:\n\s*discharge condition|$)', 1, 'is')
      as diagnosis
  from discharge d join visit v on d.hadm_id = v.hadm_id
),
told as materialized (  -- what the summary says of this visit, without its discharge part
  select n.* from noted n join summaries s using (note_id)
  where n.note_table = 'discharge'
    and (n.section not in ('physical_exam', 'results') or n.line_from < s.discharge_line
      or s.discharge_line is null)
),
chest as materialized (
  select r.note_id, r.row_ref
  from radiology r, visit v
  where r.subject_id = $subject_id
    and r.charttime >= v.intime - interval 48 hour and r.charttime <= v.intime + interval 48 hour
    and (regexp_matches(left(r.text, 300), '\b(chest|cxr|thora\w+|torso|pulmonary|lungs?)\b', 'i')
      or exists (
        from radiology_detail d
        where d.note_id = r.note_id and d.field_name = 'exam_name'
          and regexp_matches(d.field_value, '\b(chest|cxr|thora\w+|torso|pulmonary|lungs?)\b', 'i')))
),
images as materialized (
  select n.value, n.row_ref from noted n join chest c using (note_id)
  where n.reading = 'lung_infiltrate'
),

-- is it a pneumonia of the community? ----------------------------------------------------------
course as materialized (select value, row_ref from told where reading = 'pneumonia_course'),
earlier as materialized (  -- a stay of two days or more that ended within a fortnight before
  select a.row_ref from admissions a, visit v
  where a.subject_id = $subject_id and a.hadm_id is distinct from v.hadm_id
    and a.dischtime >= v.intime - interval 14 day and a.dischtime < v.intime
    and a.dischtime - a.admittime >= interval 48 hour
),
antibiotics as materialized (
  select min(e.charttime) as begins, max(e.charttime) as ends,
    [arg_min(e.row_ref, e.charttime), arg_max(e.row_ref, e.charttime)] as rows
  from emar e, visit v
  where e.hadm_id = v.hadm_id and administered(e.event_txt)
    and e.medication in (select name from drug_name where class = 'antibiotic')
  having count(*) > 0
),
coded as materialized (  -- a code counts only with antibiotics given, never alone
  select d.row_ref, a.rows
  from diagnoses_icd d join visit v on d.hadm_id = v.hadm_id, antibiotics a
  where a.begins <= v.intime + interval 48 hour and a.ends > a.begins
    and ((d.icd_version = 9 and (d.icd_code between '480' and '4869' or d.icd_code = '4870'))
      or (d.icd_version = 10 and (d.icd_code = 'J09X1' or d.icd_code like 'J100%'
        or d.icd_code like 'J110%' or d.icd_code between 'J12' and 'J189')))
),
stopped as materialized (  -- within 72 h, and more than a day before the patient left
  select a.rows from antibiotics a, stay s, visit v
  where a.ends - a.begins <= interval 72 hour and s.dischtime - a.ends > interval 24 hour
    and a.begins <= v.intime + interval 48 hour
),
another as materialized (  -- the discharge diagnosis names something, and no pneumonia
  select row_ref from summaries
  where regexp_matches(diagnosis, '[A-Za-z]{3}')
    and not regexp_matches(diagnosis, '\b(\w*pneumoni\w*|pna|cap|hcap)\b', 'i')
),
contested as materialized (
  select exists (from images where value = 'versus')
    and not exists (from images where value = 'pneumonia')
    and (exists (from course where value = 'retracted') or exists (from stopped)
      or exists (from another)) as value
),

-- confusion --------------------------------------------------------------------------------------
mental as materialized (
  select value, row_ref from told where reading = 'mental_status'
  union all
  select 'confused', t.row_ref from triage t join visit v using (stay_id)
  where regexp_matches(t.chiefcomplaint,
    '\b(confus\w*|disorient\w*|alter\w* (mental|ms)\w*|ams|delirium|mental status)\b', 'i')
  union all  -- a verbal response of 4 is confused speech; a tube gives 1 and says nothing
  select 'confused', c.row_ref from chartevents c, visit v
  where c.subject_id = $subject_id and c.itemid = 223900 and c.valuenum <= 4
    and c.value is distinct from 'No Response-ETT'
    and c.charttime >= v.intime and c.charttime <= v.intime + interval 6 hour
),
confusion as materialized (
  select
    case
      when bool_or(value = 'contested')
        or (bool_or(value = 'confused') and bool_or(value = 'oriented')) then 'contested'
      when bool_or(value = 'confused') then 'yes'
      when bool_or(value = 'oriented') then 'no'
      else 'unknown'
    end as value,
    coalesce(list(distinct row_ref order by row_ref), []) as rows
  from mental
),

-- urea, breaths, pressure --------------------------------------------------------------------------
urea as materialized (
  select
    (lab_bounded(l.valuenum, l.value, l.comments)
      * if(lower(l.valueuom) = 'mmol/l', 2.8, 1))::decimal(9, 2) as mg_dl,
    l.row_ref
  from labevents l, visit v
  where l.subject_id = $subject_id and l.itemid in (51006, 52647)
    and l.charttime >= v.intime and l.charttime <= v.intime + interval 12 hour
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
  order by l.itemid, l.charttime, l.labevent_id limit 1
),
urea_told as materialized (  -- counts where the laboratory has none
  select
    (regexp_extract(value, '^[\d.]+')::double * if(value like '%mmol/l', 2.8, 1))::decimal(9, 2)
      as mg_dl,
    row_ref
  from told where reading = 'presentation_bun' order by line_from limit 1
),
signs as materialized (
  select t.resprate, t.sbp, t.dbp, t.row_ref from triage t join visit v using (stay_id)
  union all
  select s.resprate, s.sbp, s.dbp, s.row_ref
  from vitalsign s join visit v using (stay_id)
  where s.charttime >= v.intime and s.charttime <= v.intime + interval 6 hour
),
breaths as materialized (
  select max(resprate)::decimal(9, 2) as value, arg_max(row_ref, resprate) as row_ref from signs
  where resprate > 0 and resprate <= 80
),
breaths_told as materialized (
  select max(value::decimal(9, 2)) as value, arg_max(row_ref, value::int) as row_ref
  from told where reading = 'ed_respiratory_rate'
),
systolic as materialized (
  select min(sbp)::decimal(9, 2) as value, arg_min(row_ref, sbp) as row_ref from signs
  where sbp between 40 and 300
),
diastolic as materialized (
  select min(dbp)::decimal(9, 2) as value, arg_min(row_ref, dbp) as row_ref from signs
  where dbp between 20 and 150 and (sbp is null or dbp < sbp)
),
pressure_told as materialized (
  select
    min(split_part(value, '/', 1)::decimal(9, 2)) as sbp,
    min(split_part(value, '/', 2)::decimal(9, 2)) as dbp, any_value(row_ref) as row_ref
  from told where reading = 'ed_blood_pressure'
)

select
  {
    value: (exists (from course) or exists (from coded))
      and not exists (from course where value = 'hospital_onset')
      and exists (from images where value in ('pneumonia', 'versus'))
      and not exists (from earlier),
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from course)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from images)
      || (select coalesce(list(row_ref), []) || coalesce(any_value(rows), []) from coded)
      || (select coalesce(list(row_ref), []) from earlier)
  } as cap_premise,
  {
    value: c.value,
    rows: if(c.value,
      (select coalesce(list(distinct row_ref order by row_ref), []) from images)
        || (select coalesce(list(distinct row_ref), []) from course where value = 'retracted')
        || (select coalesce(flatten(list(rows)), []) from stopped)
        || (select coalesce(list(row_ref), []) from another),
      (select coalesce(list(distinct row_ref order by row_ref), []) from images
       where value = 'pneumonia'))
  } as pna_contested,
  {value: m.value, rows: m.rows} as confusion,
  {
    value: coalesce((select mg_dl from urea), (select mg_dl from urea_told)),
    rows: coalesce((select list(row_ref) from urea), (select list(row_ref) from urea_told), [])
  } as bun,
  {
    value: coalesce(b.value, bt.value),
    rows: list_filter([if(b.value is null, bt.row_ref, b.row_ref)], lambda r: r is not null)
  } as rr,
  {
    value: coalesce(s.value, pt.sbp),
    rows: list_filter([if(s.value is null, pt.row_ref, s.row_ref)], lambda r: r is not null)
  } as sbp,
  {
    value: coalesce(d.value, pt.dbp),
    rows: list_filter([if(d.value is null, pt.row_ref, d.row_ref)], lambda r: r is not null)
  } as dbp,
  {value: v.age, rows: [v.patient_ref, v.row_ref]} as age
from visit v, contested c, confusion m, breaths b, breaths_told bt, systolic s, diastolic d,
  pressure_told pt
