-- A death with a time of day inside the admission is its deathtime. Newer exports tell insurance,
-- language, marital status and race at the time of admission.
with said as (
    select subject_id, time as admittime,
        max(nullif(part[2], 'UNK')) filter (kind = 'INSURANCE') as insurance,
        max(nullif(part[2], 'UNK')) filter (kind = 'LANGUAGE') as language,
        max(nullif(part[2], 'UNK')) filter (kind = 'MARITAL_STATUS') as marital_status,
        max(nullif(part[2], 'UNK')) filter (kind = 'RACE') as race
    from meds_event where kind in ('INSURANCE', 'LANGUAGE', 'MARITAL_STATUS', 'RACE') group by all),
death as (
    select subject_id, max(time) as time from meds_event where kind = 'MEDS_DEATH' group by all)
select a.subject_id, a.hadm_id, a.admittime, a.dischtime,
    if(d.time between a.admittime and a.dischtime + interval 1 day
        and d.time <> date_trunc('day', d.time), d.time, null) as deathtime,
    a.admission_type, a.admission_location, a.discharge_location,
    s.insurance, s.language, s.marital_status, s.race,
    e.edregtime, e.edouttime,
    (a.discharge_location is not distinct from 'DIED')::smallint as hospital_expire_flag
from meds_admission a left join meds_ed e using (hadm_id)
left join death d on d.subject_id = a.subject_id
left join said s on s.subject_id = a.subject_id and s.admittime = a.admittime
