-- The k-th discharge transfer belongs to the k-th admission; any other transfer to the one admission
-- from whose emergency registration to whose discharge transfer it falls. A transfer ends where the
-- next of its admission begins.
with moved as (
    select subject_id, time as intime, part[2] as eventtype, nullif(part[3], 'UNK') as careunit,
        71000000 + row_number() over (order by subject_id, time, code) as transfer_id,
        row_number() over (partition by subject_id, part[2] order by time, code) as k,
        count(*) over (partition by subject_id, part[2]) as n
    from meds_event where kind = 'TRANSFER_TO'),
admission as (select *, count(*) over (partition by subject_id) as n from meds_admission),
out as (
    select m.transfer_id, a.hadm_id, m.intime from moved m join admission a
        on a.subject_id = m.subject_id and a.k = m.k and a.n = m.n
    where m.eventtype = 'discharge'),
inside as (
    select m.transfer_id, any_value(s.hadm_id) as hadm_id
    from moved m join meds_span s on s.subject_id = m.subject_id
    left join out on out.hadm_id = s.hadm_id
    where m.eventtype <> 'discharge' and m.intime >= s.since
        and m.intime <= greatest(s.until, coalesce(out.intime, s.until))
    group by all having count(*) = 1),
placed as (
    select m.*, coalesce(out.hadm_id, inside.hadm_id) as hadm_id
    from moved m left join out using (transfer_id) left join inside using (transfer_id))
select subject_id, hadm_id, transfer_id, eventtype, careunit, intime,
    if(hadm_id is null or eventtype = 'discharge', null,
        lead(intime) over (partition by subject_id, hadm_id order by intime, transfer_id)) as outtime
from placed
