-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of overdose-disposition: one row; the stay from arrival in the ED to discharge.
with adm as materialized (
  select
    a.hadm_id, a.row_ref, a.admittime, a.dischtime, a.discharge_location,
    coalesce(a.hospital_expire_flag, 0) = 1 or a.deathtime is not null
      or coalesce(a.discharge_location, '') in ('DIED', 'HOSPICE') as gone,
    coalesce(
      (select min(e.intime) from edstays e where e.hadm_id = a.hadm_id), a.edregtime, a.admittime)
      as arrival
  from admissions a
  where a.subject_id = $subject_id and a.hadm_id = $hadm_id
),
ed as materialized (
  select e.stay_id, e.row_ref, upper(coalesce(e.disposition, '')) = 'ELOPED' as eloped
  from edstays e join adm using (hadm_id)
),
summaries as materialized (
  select d.row_ref
  from discharge d join adm using (hadm_id)
  where d.note_type = 'DS' and trim(coalesce(d.text, '')) <> ''
),
told as materialized (  -- what this admission's summary says; a larger rank is asked first
  select
    n.*,
    case n.section
      when 'hospital_course' then 4 when 'discharge_diagnosis' then 3 when 'hpi' then 2 else 1
    end as rank
  from noted n join adm using (hadm_id)
  where n.note_table = 'discharge'
),

-- the overdose: codes --------------------------------------------------------------------------------
codes as materialized (
  select
    d.icd_code, d.icd_version, d.row_ref,
    case d.icd_version  -- the class of the agent; codes of cause name it less exactly
      when 10 then left(d.icd_code, 4)
      when 9 then if(starts_with(d.icd_code, 'E'), null, left(d.icd_code, 4))
    end as agent,
    case d.icd_version
      when 9 then d.icd_code in ('9651', '9654') when 10 then regexp_matches(d.icd_code, '^T39[01]')
    end as analgesic,
    case d.icd_version
      when 9 then starts_with(d.icd_code, '9654') when 10 then starts_with(d.icd_code, 'T391')
    end as acetaminophen,
    case d.icd_version
      when 9 then starts_with(d.icd_code, '9651') when 10 then starts_with(d.icd_code, 'T390')
    end as salicylate,
    case d.icd_version
      when 9 then starts_with(d.icd_code, '9779') when 10 then starts_with(d.icd_code, 'T509')
    end as unnamed,
    case d.icd_version  -- methadone; tricyclics
      when 9 then regexp_matches(d.icd_code, '^(?:96502|96905)')
      when 10 then regexp_matches(d.icd_code, '^T(?:403X|4301)')
    end as long_acting,
    case d.icd_version
      when 9 then regexp_matches(d.icd_code, '^E950[0-5]')
      when 10 then regexp_matches(d.icd_code, '^.{5}2')
    end as self_harm
  from diagnoses_icd d join adm using (hadm_id)
  where (d.icd_version = 9 and regexp_matches(d.icd_code, '^(?:9[67]|E85[0-8]|E950[0-5]|E980[0-5])'))
    or (d.icd_version = 10 and regexp_matches(d.icd_code, '^T(?:3[6-9]|4\d|50).{2}[124]'))
),
-- … and what the summary says of it
intents as materialized (select * from told where reading = 'overdose_intent'),
meant as materialized (  -- course, diagnosis, history, complaint; of one section what is told last
  select value, row_ref from intents
  where value in ('intentional', 'accidental', 'undetermined')
  order by rank desc, line_from desc, value
  limit 1
),
support as materialized (
  select
    case
      when not exists (from summaries) then true
      when exists (from intents where rank >= 3 and value <> 'not_overdose') then true
      -- an intent that the history tells outlives a withdrawal, or alcohol, in the course
      when exists (from intents where rank >= 3) then exists (from meant)
      else exists (from intents where value <> 'not_overdose')
    end as value,
    (select coalesce(list(distinct row_ref), []) from intents) as rows
),
stance as materialized (select coalesce((select value from meant), 'undetermined') as intent),

-- the evaluation ---------------------------------------------------------------------------------------
evaluations as materialized (  -- the place to which the patient went is none
  select value, line_from, row_ref from told
  where reading = 'suicide_risk_evaluation' and section not in ('disposition', 'facility')
),
leaving as materialized (select * from told where reading = 'discharge_disposition'),
to_psychiatry as materialized (
  select row_ref from adm where discharge_location = 'PSYCH FACILITY'
  union all
  select row_ref from told
  where reading = 'suicide_risk_evaluation' and section in ('disposition', 'facility') and value = 'high'
),
risk as materialized (
  select
    case
      when exists (from evaluations where value in ('low', 'high')) then
        (select arg_max(value, (line_from, value)) from evaluations where value in ('low', 'high'))
      when exists (from evaluations where value = 'seen') and exists (from to_psychiatry) then 'high'
      when exists (from evaluations where value = 'not_done') and not exists (from to_psychiatry)
        then 'stated_not_done'
      else 'none_recorded'
    end as value,
    (select coalesce(list(distinct row_ref), []) from evaluations) as rows
),

-- intent that cannot be reconciled, and leaving early ----------------------------------------------------
early as materialized (
  select row_ref from adm where discharge_location = 'AGAINST ADVICE'
  union all
  select row_ref from ed where eloped
  union all
  select row_ref from leaving where value = 'ama'
),
unreconciled as materialized (
  select row_ref from intents
  where value in ('intentional', 'accidental')
    and (select count(distinct value) from intents where value in ('intentional', 'accidental')) = 2
    and not exists (from evaluations where value <> 'not_done')
  union all
  select c.row_ref from codes c, stance s
  where c.self_harm and s.intent = 'accidental'
    and not exists (from evaluations where value <> 'not_done')
),

-- screening ----------------------------------------------------------------------------------------------
levels as materialized (  -- by patient and time, never by encounter; any result
  select l.itemid, l.row_ref
  from labevents l, adm
  where l.subject_id = $subject_id and l.itemid in (50856, 50981)
    and l.charttime >= adm.arrival - interval 1 hour
    and l.charttime < adm.arrival + interval 12 hour
    and (l.valuenum is not null
      or (regexp_matches(coalesce(l.value, '') || coalesce(l.comments, ''), '[a-z0-9]', 'i')
        and not regexp_matches(coalesce(l.value, '') || coalesce(l.comments, ''),
          'cancel|not done|hold|unable to (?:perform|report)|disregard', 'i')))
),
quoted as materialized (select row_ref from told where reading = 'screening_levels'),
took as materialized (  -- acetaminophen, as the summary tells it
  select row_ref from told
  where reading = 'acetaminophen_exposure' and value in ('acute', 'repeated', 'taken')
),
several as materialized (
  select row_ref from told where reading = 'overdose_agent' and value = 'several'
),
screening as materialized (
  select
    s.intent = 'accidental' and not exists (from several)
      and (select count(distinct agent) from codes) <= 1 and not exists (from codes where unnamed)
      as one_agent,
    exists (from codes where acetaminophen) or exists (from took) as holds_acetaminophen,
    exists (from codes where salicylate) as holds_salicylate,
    exists (from quoted) as told_both
  from stance s
),
s1 as materialized (
  select
    if(told_both
      or ((exists (from levels where itemid = 50856) or (one_agent and not holds_acetaminophen))
        and (exists (from levels where itemid = 50981) or (one_agent and not holds_salicylate))),
      'ok', 'fail') as value
  from screening
),

-- observation --------------------------------------------------------------------------------------------
lasting as materialized (
  select row_ref from told where reading = 'overdose_agent' and value = 'long_acting'
  union all
  select row_ref from codes where long_acting
),
s2 as materialized (
  select
    case
      when adm.dischtime is null then
        if(exists (
            from transfers t
            where t.hadm_id = adm.hadm_id and t.intime >= adm.arrival + interval 24 hour),
          'ok', 'fail')
      when adm.dischtime - adm.arrival
        >= if(exists (from lasting), interval 24 hour, interval 6 hour) then 'ok'
      else 'fail'
    end as value,
    round((epoch(adm.dischtime) - epoch(adm.arrival)) / 3600, 1) as hours
  from adm
),

-- the last vital signs -------------------------------------------------------------------------------------
vitals as materialized (
  select v.charttime, k.kind, k.value, v.row_ref
  from vitalsign v join ed using (stay_id), adm,
    lateral (values ('sbp', v.sbp::double), ('hr', v.heartrate::double), ('rr', v.resprate::double),
      ('sat', v.o2sat::double)) as k(kind, value)
  union all
  select
    c.charttime,
    case
      when c.itemid = 220045 then 'hr' when c.itemid = 220210 then 'rr' when c.itemid = 220277 then 'sat'
      else 'sbp'
    end,
    c.valuenum, c.row_ref
  from chartevents c join adm using (hadm_id)
  where c.itemid in (220045, 220210, 220277, 220050, 220179, 225309, 224167, 227243)
),
last_vitals as materialized (
  select v.kind, v.value, v.row_ref
  from vitals v, adm
  where v.charttime >= adm.dischtime - interval 12 hour and v.charttime <= adm.dischtime
    and v.value > case v.kind when 'sat' then 20 else 0 end
    and v.value <= case v.kind when 'sat' then 100 when 'rr' then 80 else 300 end
  qualify row_number() over (partition by v.kind order by v.charttime desc, v.row_ref desc) = 1
),
judged as materialized (
  select
    kind, row_ref,
    case kind
      when 'sbp' then value >= 90 when 'hr' then value between 50 and 120
      when 'rr' then value between 10 and 24 else value >= 92
    end as within_limits
  from last_vitals
),
mental as materialized (  -- the condition at discharge, else the examination, else the course
  select value, row_ref from told
  where reading = 'discharge_state' and value in ('clear', 'abnormal')
  order by case section when 'discharge_condition' then 1 when 'hospital_course' then 3 else 2 end,
    value, line_from
  limit 1
),
examined as materialized (  -- the summary is asked where tables lack one of the four
  select value, row_ref from told
  where reading = 'discharge_vitals' and (select count(*) from judged) < 4
  order by value, line_from
  limit 1
),
s3 as materialized (
  select
    case
      when exists (from judged where not within_limits) then 'fail'
      when exists (from examined where value = 'abnormal') then 'fail'
      when exists (from mental where value = 'abnormal') then 'fail'
      when exists (from mental) and ((select count(*) from judged) = 4 or exists (from examined))
        then 'ok'
      else 'not_recorded'
    end as value,
    (select coalesce(list(row_ref order by kind), []) from judged)
      || (select coalesce(list(row_ref), []) from examined)
      || (select coalesce(list(row_ref), []) from mental) as rows
)

select
  {
    value: not adm.gone and exists (from codes) and (select value from support),
    rows: [adm.row_ref] || (select coalesce(list(row_ref order by row_ref), []) from codes)
      || (select rows from support)
  } as premise,
  {
    value: exists (from summaries),
    rows: (select coalesce(list(row_ref order by row_ref), []) from summaries)
  } as summary,
  {
    value: exists (from early) or exists (from unreconciled),
    rows: (select coalesce(list(distinct row_ref), []) from early)
      || (select coalesce(list(distinct row_ref), []) from unreconciled)
  } as ama_or_intent_conflict,
  {
    value: (select intent from stance),
    rows: (select coalesce(list(row_ref), []) from meant)
  } as intent,
  {
    value: coalesce(adm.discharge_location in ('HOME', 'HOME HEALTH CARE'),
      exists (from leaving where value = 'home' and section = 'disposition')),
    rows: [adm.row_ref] || if(adm.discharge_location is null,
      (select coalesce(list(distinct row_ref), []) from leaving where section = 'disposition'), [])
  } as home,
  {
    value: (select value from risk),
    rows: (select rows from risk) || (select coalesce(list(distinct row_ref), []) from to_psychiatry)
  } as risk_eval,
  {
    value: (select value from s1),
    rows: (select coalesce(list(row_ref order by row_ref), []) from levels)
      || (select coalesce(list(distinct row_ref), []) from quoted)
      || if((select one_agent from screening),
        (select coalesce(list(row_ref order by row_ref), []) from codes), [])
  } as s1,
  {
    value: (select value from s2),
    rows: [adm.row_ref] || (select coalesce(list(row_ref order by row_ref), []) from ed)
      || (select coalesce(list(distinct row_ref), []) from lasting)
  } as s2,
  {value: (select value from s3), rows: (select rows from s3)} as s3,
  {
    value: (select hours from s2),
    rows: [adm.row_ref] || (select coalesce(list(row_ref order by row_ref), []) from ed)
  } as observed_h
from adm
