select e.subject_id, p.hadm_id, p.stay_id, time as charttime, part[2]::integer as itemid,
    num as value, nullif(array_to_string(part[3:], '//'), 'UNK') as valueuom
from meds_event e left join meds_place p using (subject_id, time)
where kind = 'SUBJECT_FLUID_OUTPUT'
