select e.subject_id, d.hadm_id, time::date as chartdate, part[4] as icd_code,
    try_cast(part[3] as smallint) as icd_version
from meds_event e left join meds_day d on d.subject_id = e.subject_id and d.day = e.time::date
where kind = 'PROCEDURE' and part[2] = 'ICD'
