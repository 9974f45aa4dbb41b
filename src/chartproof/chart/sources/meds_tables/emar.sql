select e.subject_id, p.hadm_id, time as charttime,
    nullif(array_to_string(part[2:-2], '//'), 'UNK') as medication, nullif(part[-1], 'UNK') as event_txt,
    9000000 + row_number() over (partition by e.subject_id order by time, code) as emar_seq,
    e.subject_id || '-' || emar_seq as emar_id
from meds_event e left join meds_place p using (subject_id, time)
where kind = 'MEDICATION' and len(part) >= 3 and part[2] not in ('START', 'STOP')
