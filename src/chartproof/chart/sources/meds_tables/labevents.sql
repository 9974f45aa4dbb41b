-- Items of the laboratory are numbered from 50,000, those of the ICU from 220,000.
select e.subject_id, p.hadm_id, time as charttime, part[2]::integer as itemid,
    txt as value, num as valuenum, nullif(array_to_string(part[3:], '//'), 'UNK') as valueuom,
    1500000000 + row_number() over (order by e.subject_id, time, code, num, txt) as labevent_id
from meds_event e left join meds_place p using (subject_id, time)
where kind = 'LAB' and part[2]::integer < 200000
