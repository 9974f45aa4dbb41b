-- Where every event went: kind, events, table (none: kept aside), why.
with entry as (
with run as (
    select what, count(*) filter (known) as whole, count(*) as begun from meds_run group by all),
edge as (select what, count(*) as events from meds_edge group by all),
weight as (
    select count(*) filter (taken) as taken, count(*) filter (not taken) as aside
    from (
        select subject_id, time, count(distinct num) over (partition by subject_id, time) = 1
            and (subject_id, time) in (
                select (subject_id, since) from meds_run where what = 'infusion') as taken
        from meds_event where kind = 'SUBJECT_WEIGHT_AT_INFUSION')),
said as (
    select e.kind, e.part, o.result_name is not null as is_omr, try_cast(part[2] as integer) as itemid,
        (subject_id, time) in (select (subject_id, admittime) from meds_admission) as at_admission
    from meds_event e left join omr_names o on o.result_name = e.kind),
told as (
    select kind, case
        when kind in ('MEDS_BIRTH', 'MEDS_DEATH', 'GENDER') then 'patients'
        when kind in ('HOSPITAL_ADMISSION', 'HOSPITAL_DISCHARGE') then 'admissions'
        when kind in ('RACE', 'INSURANCE', 'LANGUAGE', 'MARITAL_STATUS') and at_admission
            then 'admissions'
        when kind in ('ICU_ADMISSION', 'ICU_DISCHARGE') then 'icustays'
        when kind = 'TRANSFER_TO' then 'transfers'
        when kind = 'DIAGNOSIS' then 'diagnoses_icd'
        when kind = 'DRG' then 'drgcodes'
        when kind = 'HCPCS' then 'hcpcsevents'
        when kind = 'LAB' and itemid < 200000 then 'labevents'
        when kind = 'LAB' and itemid >= 200000 then 'chartevents'
        when kind = 'SUBJECT_FLUID_OUTPUT' then 'outputevents'
        when kind = 'PROCEDURE' and part[2] = 'ICD' then 'procedures_icd'
        when kind = 'MEDICATION' and len(part) >= 3 and part[2] not in ('START', 'STOP') then 'emar'
        when is_omr then 'omr'
        else '' end as "table"
    from said
    where kind not in ('ED_REGISTRATION', 'ED_OUT', 'INFUSION_START', 'INFUSION_END',
            'SUBJECT_WEIGHT_AT_INFUSION')
        and not (kind = 'PROCEDURE' and part[2] in ('START', 'END'))
        and not (kind = 'MEDICATION' and len(part) >= 3 and part[2] in ('START', 'STOP')))
select kind, count(*) as events, nullif("table", '') as "table",
    if("table" = '', 'No table takes this kind of code.', '') as why
from told group by all
union all
select kind, (select count(*) from meds_ed), 'admissions',
    'edregtime and edouttime of the admission that follows'
from meds_event where kind in ('ED_REGISTRATION', 'ED_OUT') group by kind
union all
select kind, count(*) - (select count(*) from meds_ed), null,
    'No single admission follows this visit.'
from meds_event where kind in ('ED_REGISTRATION', 'ED_OUT') group by kind
union all
select 'INFUSION_START', begun, 'inputevents', 'starttime and rate' from run where what = 'infusion'
union all
select 'INFUSION_END', whole, 'inputevents', 'endtime and amount, paired in order of time'
from run where what = 'infusion'
union all
select 'PROCEDURE//START', begun, 'procedureevents', 'starttime' from run where what = 'procedure'
union all
select 'PROCEDURE//END', whole, 'procedureevents', 'endtime, paired in order of time'
from run where what = 'procedure'
union all
select 'MEDICATION//START', begun, 'pharmacy', 'starttime' from run where what = 'order'
union all
select 'MEDICATION//STOP', whole, 'pharmacy', 'stoptime, where one order alone could have ended'
from run where what = 'order'
union all
select case what when 'infusion' then 'INFUSION_END' when 'procedure' then 'PROCEDURE//END'
        else 'MEDICATION//STOP' end, edge.events - begun - whole, null,
    'It cannot be told which beginning it ends.'
from run join edge using (what) where edge.events > begun + whole
union all
select 'SUBJECT_WEIGHT_AT_INFUSION', taken, 'inputevents', 'patientweight of infusions begun then'
from weight where taken > 0
union all
select 'SUBJECT_WEIGHT_AT_INFUSION', aside, null, 'No infusion begins at that time, or weights differ.'
from weight where aside > 0
)
select kind, events, "table", why from entry where events > 0 order by kind, "table" nulls last
