-- So are the groups for billing.
select e.subject_id, a.hadm_id, part[2] as drg_type, part[3] as drg_code,
    nullif(array_to_string(part[4:], '//'), 'UNK') as description
from meds_event e left join (
    select subject_id, dischtime, any_value(hadm_id) as hadm_id
    from meds_admission group by all having count(*) = 1) a
    on a.subject_id = e.subject_id and a.dischtime = e.time
where kind = 'DRG'
