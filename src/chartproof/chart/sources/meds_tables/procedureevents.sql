select r.subject_id, p.hadm_id, p.stay_id, r.since as starttime, r.until as endtime,
    r.item::integer as itemid
from meds_run r left join meds_place p on p.subject_id = r.subject_id and p.time = r.since
where r.what = 'procedure'
