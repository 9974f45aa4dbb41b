-- The rate stands at the beginning, the amount at the end.
with weight as (
    select subject_id, time, any_value(num) as num
    from meds_event where kind = 'SUBJECT_WEIGHT_AT_INFUSION'
    group by all having count(distinct num) = 1)
select r.subject_id, p.hadm_id, p.stay_id, r.since as starttime, r.until as endtime,
    r.item::integer as itemid, r.at_end as amount, r.at_begin as rate, w.num as patientweight
from meds_run r
left join meds_place p on p.subject_id = r.subject_id and p.time = r.since
left join weight w on w.subject_id = r.subject_id and w.time = r.since
where r.what = 'infusion'
