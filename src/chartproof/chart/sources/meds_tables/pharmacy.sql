select r.subject_id, p.hadm_id, r.since as starttime, r.until as stoptime,
    nullif(r.item, 'UNK') as medication,
    1000000000 + row_number() over (order by r.subject_id, r.since, r.item, r.until) as pharmacy_id
from meds_run r left join meds_place p on p.subject_id = r.subject_id and p.time = r.since
where r.what = 'order'
