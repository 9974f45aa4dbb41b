-- Diagnoses are coded at the very time of a discharge.
select e.subject_id, a.hadm_id, part[4] as icd_code, try_cast(part[3] as smallint) as icd_version
from meds_event e left join (
    select subject_id, dischtime, any_value(hadm_id) as hadm_id
    from meds_admission group by all having count(*) = 1) a
    on a.subject_id = e.subject_id and a.dischtime = e.time
where kind = 'DIAGNOSIS'
