select e.subject_id, d.hadm_id, time::date as chartdate,
    nullif(array_to_string(part[2:], '//'), 'UNK') as short_description
from meds_event e left join meds_day d on d.subject_id = e.subject_id and d.day = e.time::date
where kind = 'HCPCS'
