-- Events with their codes taken apart, and the encounters that MEDS no longer names.
-- Reads the view meds_raw(subject_id, time, code, num, txt).

create or replace temp table meds_event as
select subject_id, time, code, split_part(code, '//', 1) as kind, string_split(code, '//') as part,
    num, coalesce(txt, case when num = trunc(num) and abs(num) < 1e15 then num::bigint::varchar
        else num::varchar end) as txt
from meds_raw;

-- The k-th admission of a patient ends with the k-th discharge, where there are as many of both
-- and none would end before it begins; else with the first discharge before the next admission.
create or replace temp table meds_admission as
with begun as (
    select *, row_number() over (partition by subject_id order by time, code) as k,
        count(*) over (partition by subject_id) as n,
        lead(time) over (partition by subject_id order by time, code) as next
    from meds_event where kind = 'HOSPITAL_ADMISSION'),
ended as (
    select *, row_number() over (partition by subject_id order by time, code) as k,
        count(*) over (partition by subject_id) as n
    from meds_event where kind = 'HOSPITAL_DISCHARGE'),
paired as (
    select b.subject_id, bool_and(b.n = e.n and e.time >= b.time) as by_rank
    from begun b left join ended e using (subject_id, k) group by all),
closed as (
    select b.*, e.time as ending, e.part as leaving
    from begun b join paired p using (subject_id) left join ended e on e.subject_id = b.subject_id
        and case when p.by_rank then e.k = b.k
            else e.time >= b.time and (b.next is null or e.time <= b.next) end
    qualify row_number() over (partition by b.subject_id, b.k order by e.time) = 1)
select subject_id, k, 80000000 + row_number() over (order by subject_id, k) as hadm_id,
    time as admittime, ending as dischtime,
    nullif(part[2], 'UNK') as admission_type, nullif(part[3], 'UNK') as admission_location,
    nullif(leaving[2], 'UNK') as discharge_location
from closed;

-- An emergency registration belongs to the first admission that ends after it, if it is the only
-- one that claims this admission.
create or replace temp table meds_ed as
with reg as (
    select subject_id, time, row_number() over (partition by subject_id order by time) as k,
        count(*) over (partition by subject_id) as n
    from meds_event where kind = 'ED_REGISTRATION'),
gone as (
    select subject_id, time, row_number() over (partition by subject_id order by time) as k,
        count(*) over (partition by subject_id) as n
    from meds_event where kind = 'ED_OUT'),
visit as (
    select r.subject_id, r.time as edregtime, g.time as edouttime
    from reg r join gone g on g.subject_id = r.subject_id and g.k = r.k and g.n = r.n
        and g.time >= r.time),
claimed as (
    select v.*, a.hadm_id, a.admittime from visit v join meds_admission a using (subject_id)
    where a.dischtime >= v.edregtime and a.admittime >= v.edregtime - interval 1 day
    qualify row_number() over (
        partition by v.subject_id, v.edregtime, v.edouttime order by a.admittime, a.hadm_id) = 1)
select * from claimed
qualify count(*) over (partition by hadm_id) = 1;

-- The span of an encounter runs from the emergency registration to the discharge.
create or replace temp table meds_span as
select a.subject_id, a.hadm_id, least(a.admittime, coalesce(e.edregtime, a.admittime)) as since,
    a.dischtime as until, a.admittime, a.dischtime
from meds_admission a left join meds_ed e using (hadm_id);

-- A stay belongs to the admission with which it shares most time.
create or replace temp table meds_stay as
with begun as (
    select *, row_number() over (partition by subject_id order by time, code) as k
    from meds_event where kind = 'ICU_ADMISSION'),
ended as (
    select *, row_number() over (partition by subject_id order by time, code) as k
    from meds_event where kind = 'ICU_DISCHARGE'),
stay as (
    select b.subject_id, 70000000 + row_number() over (order by b.subject_id, b.time, k) as stay_id,
        nullif(b.part[2], 'UNK') as first_careunit, nullif(e.part[2], 'UNK') as last_careunit,
        b.time as intime, case when e.time >= b.time then e.time end as outtime
    from begun b left join ended e using (subject_id, k)),
shared as (
    select s.stay_id, max_by(p.hadm_id, least(coalesce(s.outtime, s.intime), p.until)
        - greatest(s.intime, p.since)) as hadm_id
    from stay s join meds_span p on p.subject_id = s.subject_id
        and p.since <= coalesce(s.outtime, s.intime) and p.until >= s.intime
    group by all)
select stay.*, shared.hadm_id from stay left join shared using (stay_id);

-- Which encounter holds a time: only where exactly one does. In an ICU stay its admission does.
create or replace temp table meds_place as
with moment as (
    select distinct subject_id, time from meds_event where time is not null),
stay as (
    select m.subject_id, m.time, any_value(s.stay_id) as stay_id, any_value(s.hadm_id) as hadm_id
    from moment m join meds_stay s
        on s.subject_id = m.subject_id and m.time between s.intime and s.outtime
    group by all having count(*) = 1),
span as (
    select m.subject_id, m.time, any_value(s.hadm_id) as hadm_id
    from moment m join meds_span s
        on s.subject_id = m.subject_id and m.time between s.since and s.until
    group by all having count(*) = 1)
select m.subject_id, m.time, coalesce(stay.hadm_id, span.hadm_id) as hadm_id, stay.stay_id
from moment m left join span using (subject_id, time) left join stay using (subject_id, time);

-- The same for events that have a date only.
create or replace temp table meds_day as
with day as (
    select distinct subject_id, time::date as day from meds_event where time is not null)
select d.subject_id, d.day, any_value(s.hadm_id) as hadm_id
from day d join meds_span s
    on s.subject_id = d.subject_id and d.day between s.admittime::date and s.dischtime::date
group by all having count(*) = 1;

-- Beginnings and ends of what lasts: infusions, ICU procedures, orders of the pharmacy.
create or replace temp table meds_edge as
select subject_id, time, num,
    case when kind like 'INFUSION%' then 'infusion' when kind = 'PROCEDURE' then 'procedure'
        else 'order' end as what,
    array_to_string(part[if(kind like 'INFUSION%', 2, 3):], '//') as item,
    if(kind = 'INFUSION_START' or part[2] = 'START', 'begin', 'end') as edge
from meds_event
where kind in ('INFUSION_START', 'INFUSION_END')
    or (kind = 'PROCEDURE' and part[2] in ('START', 'END'))
    or (kind = 'MEDICATION' and part[2] in ('START', 'STOP') and len(part) >= 3);

-- The k-th beginning of an item with its k-th end, where the patient has as many of both and no end
-- precedes its beginning. An order whose neighbours overlap it could have ended with either: its
-- end stays unknown. Infusions need their end, since it carries the amount.
create or replace temp table meds_run as
with edge as (
    select *, row_number() over (partition by what, subject_id, item, edge order by time, num) as k,
        lead(time) over (partition by what, subject_id, item, edge order by time, num) as next
    from meds_edge),
pair as (
    select b.what, b.subject_id, b.item, b.k, b.time as since, b.num as at_begin, b.next,
        e.time as until, e.num as at_end,
        lag(e.time) over (partition by b.what, b.subject_id, b.item order by b.k) as before
    from (select * from edge where edge = 'begin') b
    left join (select * from edge where edge = 'end') e using (what, subject_id, item, k)),
sound as (
    select what, subject_id, item, bool_and(coalesce(until >= since, false)) as sound
    from pair group by all),
counted as (
    select what, subject_id, item, count(*) filter (edge = 'begin') = count(*) filter (edge = 'end')
        as even
    from meds_edge group by all)
select p.what, p.subject_id, p.item, p.since, p.at_begin, p.known, if(p.known, p.until, null) as until,
    if(p.known, p.at_end, null) as at_end
from (
    select pair.*, sound.sound and counted.even and (pair.what <> 'order'
        or (coalesce(until <= next, true) and coalesce(before <= since, true))) as known
    from pair join sound using (what, subject_id, item) join counted using (what, subject_id, item)) p;
