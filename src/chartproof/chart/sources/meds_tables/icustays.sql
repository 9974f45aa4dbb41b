select s.subject_id, b.hadm_id, s.stay_id, s.first_careunit, s.last_careunit, s.intime, s.outtime,
    epoch(s.outtime - s.intime) / 86400 as los
from meds_stay s
left join (
    -- The admission in which the stay begins; at a shared border, the one that goes on.
    select s.stay_id, max_by(p.hadm_id, p.since) as hadm_id
    from meds_stay s join meds_span p
        on p.subject_id = s.subject_id and s.intime between p.since and p.until
    group by all) b using (stay_id)
