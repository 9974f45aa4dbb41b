-- Birth is coded as the first day of anchor_year - anchor_age. The anchor year is lost; ages are
-- anchored in the year of the first admission, or of the first event without one.
select e.subject_id,
    max(nullif(part[2], 'UNK')) filter (kind = 'GENDER') as gender,
    coalesce(year(any_value(a.admittime)), year(min(time) filter (kind <> 'MEDS_BIRTH')))
        - year(min(time) filter (kind = 'MEDS_BIRTH')) as anchor_age,
    coalesce(year(any_value(a.admittime)), year(min(time) filter (kind <> 'MEDS_BIRTH')))
        as anchor_year,
    max(time) filter (kind = 'MEDS_DEATH')::date as dod
from meds_event e
left join (select subject_id, min(admittime) as admittime from meds_admission group by all) a
    using (subject_id)
group by e.subject_id
