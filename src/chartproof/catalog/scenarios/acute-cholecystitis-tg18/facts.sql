-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of acute-cholecystitis-tg18: one row. The presentation is the arrival in the ED, else the admission.
with stay as materialized (
  select
    coalesce((select min(e.intime) from edstays e where e.hadm_id = $hadm_id), a.admittime) as t,
    coalesce((select min(p.chartdate) from procedures_icd p  -- operation or drainage; its day alone is known
      where p.hadm_id = $hadm_id
        and ((p.icd_version = 9 and p.icd_code in ('5122', '5123', '5101', '5102'))
          or (p.icd_version = 10 and (p.icd_code like '0FT4%' or p.icd_code = '0F9430Z')))),
      date '2999-12-31') as treated,
    a.row_ref
  from admissions a where a.hadm_id = $hadm_id
),
ends as materialized (
  select t, least(t + interval 24 hour, treated::timestamp + interval 1 day) as until, row_ref from stay
),

-- notes ----------------------------------------------------------------------------------------------
summaries as materialized (
  select
    d.note_id, d.row_ref, d.text,
    -- from which line on the examination is that of the discharge
    nullif(coalesce(list_position(
      list_transform(string_split(d.text, chr(10)), lambda line: regexp_matches(line,
        '^\W*(?:(?:discharge|d/c)\s+(?:physical|exam|pe\b)|(?:physical exam\w*|exam)\s+(?:on|at|upon)\s+discharge|(?:on|at|upon)\s+discharge\b|discharge:?\s*$)',
        'i')), true), 0), 0) as discharge_line,
    -- what stands before laboratory and course
    regexp_extract(d.text,
      '^(.*?)(?:\n\s*(?:pertinent results|(?:brief |___ )?hospital course|brief ___ course)|$)', 1, 'is')
      as presentation,
    regexp_extract(d.text, '(?:discharge|final|primary) diagnos[ei]s:?\s*\n\W*(?:primary[^\n]{0,20}\n\W*)?([^\n]+)', 1, 'i')
      as first_diagnosis
  from discharge d where d.hadm_id = $hadm_id
),
told as materialized (
  select n.* from noted n join summaries s using (note_id)
  where n.note_table = 'discharge'
    and (n.section <> 'physical_exam' or s.discharge_line is null or n.line_from < s.discharge_line)
),
reports as materialized (  -- of the days of presentation; one that leaves the gallbladder out is none
  select r.note_id, r.charttime, r.row_ref
  from radiology r, ends
  where r.subject_id = $subject_id
    and r.charttime >= ends.t - interval 48 hour and r.charttime < ends.t + interval 48 hour
    and regexp_matches(
      coalesce(regexp_extract(r.text, 'EXAM[^\n]*', 0, 'i'), '') || ' '
        || coalesce((select string_agg(d.field_value, ' ') from radiology_detail d
          where d.note_id = r.note_id and d.field_name = 'exam_name'), '') || ' '
        || coalesce(regexp_extract(r.text, '(?:FINDINGS|IMPRESSION|REPORT).*', 0, 'is'), ''),
      '\b(gall-?bladder|gb|cholecyst\w+|hepatobiliary|hida)\b', 'i')
    and not regexp_matches(r.text, '(status post|s/p|prior|post) cholecystectomy|gallbladder (is |has been )?(surgically )?(absent|removed)', 'i')
),
spoken as materialized (  -- the impression of a report, and without one its findings
  select n.note_id, n.value, n.row_ref
  from noted n join reports using (note_id)
  where n.reading = 'gallbladder_imaging'
    and (n.section = 'impression' or n.value in ('complicated', 'nonvisualised', 'murphy')
      or not exists (from noted o where o.note_id = n.note_id and o.reading = n.reading
        and o.section = 'impression'))
),
read_ as materialized (
  select
    note_id, any_value(row_ref) as row_ref,
    case
      when bool_or(value in ('complicated', 'nonvisualised', 'murphy')) then 'positive'
      when bool_or(value = 'indeterminate') then 'indeterminate'
      when bool_or(value = 'positive') then 'positive' else 'normal' end as value
  from spoken group by note_id
),
imaging as materialized (  -- positive beats indeterminate beats normal
  select
    coalesce(case
      when bool_or(value = 'positive') then 'positive'
      when bool_or(value = 'indeterminate') then 'indeterminate'
      when bool_or(value = 'normal') then 'normal' end, 'indeterminate') as value,
    coalesce(list(row_ref order by row_ref), []) as rows
  from read_
),
hida as materialized (
  select distinct row_ref from spoken where value = 'nonvisualised'
),
other_cause as materialized (
  select row_ref from told where reading = 'gallbladder_diagnosis' and value = 'other'
    and not exists (from told where reading = 'gallbladder_diagnosis' and value = 'cholecystitis'
      and section = 'discharge_diagnosis')
  union
  select row_ref from summaries
  where regexp_matches(first_diagnosis,
      '\b(pancreatitis|hepatitis|heart failure|chf|cirrhosis|ascites)\b', 'i')
    and not regexp_matches(first_diagnosis, 'cholecystitis', 'i')
),
local_sign as materialized (
  select row_ref from told where reading = 'biliary_sign' and value in ('present', 'mass')
  union
  select row_ref from spoken where value = 'murphy'
  union
  select g.row_ref from triage g join edstays e using (stay_id)
  where e.hadm_id = $hadm_id
    and regexp_matches(g.chiefcomplaint, '\b(ruq|r upper|right upper|epigastric|upper quadrant)\b', 'i')
),

-- systemic signs ----------------------------------------------------------------------------------------
warmth as materialized (
  select g.temperature as raw, g.row_ref from triage g join edstays e using (stay_id)
  where e.hadm_id = $hadm_id
  union all
  select v.temperature, v.row_ref from vitalsign v join edstays e using (stay_id), ends
  where e.hadm_id = $hadm_id and v.charttime >= ends.t - interval 6 hour and v.charttime < ends.until
),
fever as materialized (
  select
    case when raw between 30 and 45 then raw when raw between 86 and 113 then (raw - 32) / 1.8 end
      ::decimal(9, 2) as celsius, row_ref
  from warmth where raw between 30 and 45 or raw between 86 and 113
),
labs as materialized (
  select
    l.itemid, l.charttime, l.specimen_id, l.row_ref, l.valueuom,
    lab_bounded(l.valuenum, l.value, l.comments)::decimal(12, 3) as value,
    l.charttime >= ends.t - interval 6 hour and l.charttime < ends.until as now,
    l.charttime >= ends.t - interval 365 day and l.charttime < ends.t - interval 7 day as before
  from labevents l, ends
  where l.subject_id = $subject_id
    and l.itemid in (51301, 50889, 50912, 51237, 51265, 50821, 50816)
    and l.charttime >= ends.t - interval 365 day and l.charttime < ends.t + interval 24 hour
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
    and not (l.itemid = 51265 and (
      coalesce(regexp_matches(l.comments, 'clump', 'i'), false)
      or exists (from labevents c where c.subject_id = $subject_id and c.itemid = 51264
        and c.specimen_id = l.specimen_id)))
),
systemic as materialized (  -- CRP stands in mg/L here, the criterion in mg/dL
  select celsius > 38.0 as met, row_ref from fever
  union all
  select
    case when itemid = 51301 then value > 10
      else value >= if(lower(valueuom) = 'mg/dl', 3, 30) end, row_ref
  from labs where now and itemid in (51301, 50889)
),

-- organs: the worst value of the presentation, and what explains it from before ---------------------------
worst as materialized (
  select
    max(value) filter (itemid = 50912) as creatinine, max(value) filter (itemid = 51237) as inr,
    min(value) filter (itemid = 51265) as platelets, max(value) filter (itemid = 51301) as white,
    list(distinct row_ref order by row_ref) filter (itemid in (50912, 51237, 51265, 51301)) as rows
  from labs where now
),
base as materialized (
  select
    min(value) filter (itemid = 50912) as creatinine, min(value) filter (itemid = 51265) as platelets,
    coalesce(list(distinct row_ref order by row_ref) filter (itemid in (50912, 51265)), []) as rows
  from labs where before
),
gases as materialized (  -- oxygen fraction in percent or as a fraction
  select min(p.value / if(f.value <= 1, f.value, f.value / 100)) as ratio,
    arg_min(p.row_ref, p.value / if(f.value <= 1, f.value, f.value / 100)) as row_ref
  from labs p join labs f on f.specimen_id = p.specimen_id and f.itemid = 50816
  where p.now and p.itemid = 50821 and f.value > 0
),
codes as materialized (
  select
    coalesce(list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code in ('5856', 'V4511'))
      or (icd_version = 10 and icd_code in ('N186', 'Z992'))), []) as esrd,
    coalesce(list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code in ('5712', '5715', '5716'))
      or (icd_version = 10 and (icd_code like 'K703%' or icd_code like 'K746%'))), []) as cirrhosis,
    coalesce(list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code like '287%')
      or (icd_version = 10 and regexp_matches(icd_code, '^D69[3-6]'))), []) as low_platelets,
    coalesce(list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code = 'V462')
      or (icd_version = 10 and icd_code = 'Z9981')), []) as oxygen
  from diagnoses_icd where hadm_id = $hadm_id
),
history as materialized (
  select
    coalesce(list(distinct row_ref) filter (reading = 'esrd' and value = 'stated'), []) as esrd,
    coalesce(list(distinct row_ref) filter (reading = 'severe_liver_disease' and value = 'cirrhosis'), [])
      as cirrhosis,
    coalesce(list(distinct row_ref) filter ((reading = 'warfarin_intake' and value = 'taking')
      or (reading = 'home_medications' and regexp_matches(lower(value), 'warfarin|coumadin|jantoven'))), [])
      as warfarin
  from told
),
pressors as materialized (
  select i.row_ref from inputevents i, ends
  where i.subject_id = $subject_id and i.statusdescription is distinct from 'Rewritten'
    and ((i.itemid = 221906 and i.rate > 0) or (i.itemid = 221662 and i.rate >= 5))
    and i.starttime >= ends.t - interval 6 hour and i.starttime < ends.until
),
spans as materialized (
  select value, row_ref,
    regexp_matches(text, 'pain|abd|ruq|epigastr|quadrant|colic|belly|stomach', 'i') as of_pain
  from told where reading = 'symptom_duration'
),
durations as materialized (  -- how long the pain lasted goes before how long anything else did
  select value, row_ref from spans where of_pain or not exists (from spans where of_pain)
),
items as materialized (  -- one row an item that is met: is it old?
  select 'pressor' as item, false as old, list(row_ref order by row_ref) as rows from pressors having count(*) > 0
  union all
  select 'consciousness', false, list(distinct row_ref) from told
  where reading = 'mental_status' and value = 'confused' having count(*) > 0
  union all
  select 'oxygen', len(c.oxygen) > 0, [g.row_ref] || c.oxygen from gases g, codes c where g.ratio < 300
  union all
  select 'creatinine',
    coalesce(w.creatinine <= 1.5 * b.creatinine, false) or len(c.esrd || h.esrd) > 0,
    w.rows || b.rows || c.esrd || h.esrd
  from worst w, base b, codes c, history h where w.creatinine > 2
  union all
  select 'inr', len(c.cirrhosis || h.cirrhosis || h.warfarin) > 0,
    w.rows || c.cirrhosis || h.cirrhosis || h.warfarin
  from worst w, codes c, history h where w.inr > 1.5
  union all
  select 'platelets',
    coalesce(b.platelets < 100, false) or len(c.low_platelets || c.cirrhosis || h.cirrhosis) > 0,
    w.rows || b.rows || c.low_platelets || c.cirrhosis || h.cirrhosis
  from worst w, base b, codes c, history h where w.platelets < 100
  union all
  select 'white', false, rows from worst where white > 18
  union all
  select 'mass', false, list(distinct row_ref) from told
  where reading = 'biliary_sign' and value = 'mass' having count(*) > 0
  union all
  select 'duration', false, list(distinct row_ref) from durations where value = 'over_72h' having count(*) > 0
  union all
  select 'local', false, list(distinct row_ref) from spoken where value = 'complicated' having count(*) > 0
),
measured as materialized (
  select
    (count(distinct itemid) filter (itemid in (51301, 50912, 51265))) = 3 as labs_done,
    coalesce(list(distinct row_ref order by row_ref) filter (itemid in (51301, 50912, 51265)), []) as rows
  from labs where now
),
lasted as materialized (select distinct row_ref from durations)

select
  {
    value: exists (from reports) and exists (from summaries where regexp_matches(presentation,
      '\b(abd\w*|epigastr\w*|ruq|quadrant|murphy\w*|belly|stomach|nt/?nd|flank)\b', 'i')),
    rows: coalesce((select list(row_ref order by row_ref) from reports), [])
      || coalesce((select list(row_ref) from summaries), [])
  } as assessable,
  {
    value: i.value <> 'positive' and not exists (from hida) and exists (from other_cause),
    rows: coalesce((select list(row_ref order by row_ref) from other_cause), []) || i.rows
  } as contested,
  {
    value: exists (from local_sign),
    rows: coalesce((select list(row_ref order by row_ref) from local_sign),
      (select list(distinct row_ref) from told where reading = 'biliary_sign'), [])
  } as a_sign,
  {
    value: (select bool_or(met) from systemic),
    rows: coalesce((select list(distinct row_ref order by row_ref) from systemic where met),
      (select list(distinct row_ref order by row_ref) from systemic), [])
  } as b_sign,
  {value: i.value, rows: i.rows} as imaging,
  {
    value: exists (from hida),
    rows: coalesce((select list(row_ref order by row_ref) from hida), (select list(row_ref order by row_ref) from reports), [])
  } as hida_pos,
  {
    value: (select count(*) from items where not old),
    rows: coalesce((select list_sort(list_distinct(flatten(list(rows)))) from items where not old),
      (select rows from worst), [])
  } as acute_items,
  {
    value: (select count(*) from items where old),
    rows: coalesce((select list_sort(list_distinct(flatten(list(rows)))) from items where old),
      (select rows from worst), [])
  } as chronic_items,
  {
    value: m.labs_done and exists (from lasted),
    rows: m.rows || coalesce((select list(row_ref order by row_ref) from lasted), [])
  } as all_measured,
  ends.t as anchor_t_pres
from ends, imaging i, measured m
