-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of anticoag-reversal: one row; `t_rec` is when the bleed was recognised.
with adm as materialized (
  select
    a.hadm_id, a.row_ref, a.deathtime, a.discharge_location,
    coalesce(a.dischtime, timestamp '2999-12-31') as dischtime,
    least(coalesce((select min(e.intime) from edstays e where e.hadm_id = a.hadm_id), a.admittime),
      coalesce(a.edregtime, a.admittime), a.admittime) as arrival,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age, p.gender,
    -- the earliest real year that the shifted calendar leaves open
    coalesce(try_cast(left(trim(p.anchor_year_group), 4) as integer)
      + year(a.admittime) - p.anchor_year, 2014) as year_from
  from admissions a join patients p using (subject_id)
  where a.hadm_id = $hadm_id
),
told as materialized (
  select n.* from noted n join adm on n.hadm_id = adm.hadm_id where n.note_table = 'discharge'
),
-- plasma and three factors were all there was before April 2013
era as materialized (select year_from <= 2013 as early from adm),

-- the bleed and its recognition -----------------------------------------------------------------
images as materialized (
  select
    coalesce(
      (select written_moment(any_value(t.value), r.charttime)
       from noted t where t.reading = 'study_time' and t.note_id = r.note_id),
      r.charttime) as performed,
    n.value as site, r.row_ref
  from noted n join radiology r on r.note_id = n.note_id, adm
  where n.reading = 'critical_bleed' and n.value in ('intracranial', 'other')
    and r.charttime >= adm.arrival - interval 24 hour and r.charttime < adm.dischtime
),
coded as materialized (
  select d.row_ref,
    if(case d.icd_version when 9 then regexp_matches(d.icd_code, '^(43[012]|852|853)')
      else regexp_matches(d.icd_code, '^(I6[0-2]|S06[3-6])') end, 'intracranial', 'other') as site
  from diagnoses_icd d join adm on d.hadm_id = adm.hadm_id
  where case d.icd_version
    when 9 then regexp_matches(d.icd_code, '^(43[012]|852|853|56881|4230|5118|7191|3361)')
    else regexp_matches(d.icd_code, '^(I6[0-2]|S06[3-6]|K661|I312|J942|M250|R58)') end
),
elsewhere as materialized (
  select value, row_ref from told where reading = 'bleed_elsewhere' order by value = 'untimed', line_from limit 1
),
overt as materialized (
  select row_ref from told where reading = 'overt_bleeding' and value = 'active' and section = 'hpi'
),
low as materialized (  -- pressure of the first day
  select v.charttime, v.row_ref from vitalsign v, adm
  where v.subject_id = $subject_id and v.sbp between 30 and 89
    and v.charttime >= adm.arrival and v.charttime <= adm.arrival + interval 24 hour
  union all
  select c.charttime, c.row_ref from chartevents c, adm
  where c.subject_id = $subject_id and c.charttime >= adm.arrival
    and c.charttime <= adm.arrival + interval 24 hour
    and ((c.itemid in (220050, 220179, 225309, 224167, 227243) and c.valuenum between 30 and 89)
      or (c.itemid in (220052, 220181, 225312) and c.valuenum between 20 and 64))
),
recognised as materialized (
  select moment, site, rows from (
    select 1 as n, adm.arrival as moment,
      coalesce((select arg_min(site, performed) from images), (select min(site) from coded)) as site,
      [e.row_ref] || (select coalesce(list(distinct row_ref order by row_ref), []) from images)
        || (select coalesce(list(distinct row_ref order by row_ref), []) from coded) as rows
    from elsewhere e, adm where exists (from images) or exists (from coded)
    union all
    select 2, min(performed), arg_min(site, performed), list(distinct row_ref order by row_ref) from images
    having count(*) > 0
    union all
    select 3, min(charttime), 'other', [arg_min(row_ref, charttime)]
      || (select list(distinct row_ref order by row_ref) from overt)
    from low having count(*) > 0 and exists (from overt)
  ) order by n limit 1
),
outside_clock as materialized (  -- a clock of another hospital lies before arrival
  select if(m.moment > m.arrival, m.moment - interval 1 day, m.moment) as moment
  from (
    select written_moment(e.value, adm.arrival) as moment, adm.arrival
    from elsewhere e, adm where e.value <> 'untimed') m
  where m.moment is not null
),
w as materialized (
  select coalesce((select moment from outside_clock), r.moment) as t_rec, r.site, r.rows from recognised r
),

-- the anticoagulant -------------------------------------------------------------------------------
agents as materialized (
  select if(n.ingredient in ('warfarin', 'dabigatran'), n.ingredient, 'xa') as agent, e.row_ref,
    'emar' as source, e.charttime as taken
  from emar e join drug_name n on n.name = e.medication, w
  where e.hadm_id = $hadm_id and administered(e.event_txt)
    and n.ingredient in ('warfarin', 'dabigatran', 'rivaroxaban', 'apixaban', 'edoxaban')
    and e.charttime >= w.t_rec - interval 48 hour and e.charttime < w.t_rec
  union all
  select if(n.ingredient in ('warfarin', 'dabigatran'), n.ingredient, 'xa'), m.row_ref, 'list', null
  from medrecon m join edstays e using (stay_id) join adm on e.hadm_id = adm.hadm_id
    join drug_name n on n.name = m.name
  where n.ingredient in ('warfarin', 'dabigatran', 'rivaroxaban', 'apixaban', 'edoxaban')
  union all
  select if(drug in ('warfarin', 'dabigatran'), drug, 'xa'), row_ref, 'list', null
  from (
    select item->>'drug' as drug, row_ref from (
      -- nothing else that was told is JSON
      select case when reading = 'home_medications' then value::json end as item, row_ref from told)
    where item is not null and (item->>'held')::boolean is distinct from true
      and coalesce(item->>'heading', '') not in ('transfer', 'stopped', 'held'))
  where drug in ('warfarin', 'dabigatran', 'rivaroxaban', 'apixaban', 'edoxaban')
  union all
  select value, row_ref, 'told', null from told
  where reading = 'oral_anticoagulant' and value in ('warfarin', 'dabigatran', 'xa')
),
last_dose as materialized (
  select value, row_ref from told where reading = 'last_anticoagulant_dose'
),
stopped as materialized (
  select row_ref from told where reading = 'oral_anticoagulant' and value = 'stopped'
  union all
  select row_ref from last_dose where value = 'old'
),
in_use as materialized (
  select
    exists (from agents)
      and (exists (from agents where source = 'emar')
        or exists (from last_dose where value in ('recent', 'between'))
        or not exists (from told where reading = 'oral_anticoagulant' and value = 'stopped')) as value
),

-- reversal ----------------------------------------------------------------------------------------
reversal as materialized (select value, row_ref from told where reading = 'reversal_told'),
given as materialized (
  select e.charttime as moment, n.ingredient as what, e.row_ref,
    n.ingredient <> 'phytonadione' or coalesce((
      select bool_or(upper(p.route) like 'IV%') from prescriptions p
      where p.pharmacy_id = e.pharmacy_id or (e.poe_id is not null and p.poe_id = e.poe_id)),
      regexp_matches(e.medication, '\bIV\b', 'i')) as counts
  from emar e join drug_name n on n.name = e.medication, adm
  where e.subject_id = $subject_id and coalesce(e.hadm_id, $hadm_id) = $hadm_id
    and administered(e.event_txt) and e.charttime >= adm.arrival - interval 24 hour
    and (n.class = 'reversal_agent' or n.ingredient = 'phytonadione')
  union all
  select i.starttime,
    case i.itemid when 220970 then 'plasma' when 225915 then 'factor ix complex' else 'phytonadione' end,
    i.row_ref, true
  from inputevents i, adm
  where i.subject_id = $subject_id and i.itemid in (220970, 225915, 227535) and i.amount > 0
    and i.statusdescription is distinct from 'Rewritten'
    and i.starttime >= adm.arrival - interval 24 hour and i.starttime < adm.dischtime
),
timely as materialized (
  select g.* from given g, w
  where g.counts and g.moment >= w.t_rec - interval 1 hour and g.moment <= w.t_rec + interval 4 hour
),
-- what was given before arrival makes every INR here one after reversal
before_arrival as materialized (
  select exists (from elsewhere)
    and exists (from reversal where value in ('pcc', 'plasma', 'vitamin_k')) as value
),

-- on board? ---------------------------------------------------------------------------------------
inrs as materialized (
  select l.charttime, l.labevent_id, l.row_ref,
    round(lab_bounded(l.valuenum, l.value, l.comments), 1)::decimal(9, 1) as value
  from labevents l, w, before_arrival b
  where l.subject_id = $subject_id and l.itemid = 51237 and not b.value
    and l.charttime >= w.t_rec - interval 24 hour and l.charttime < w.t_rec + interval 4 hour
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
    and l.charttime <= coalesce((select min(moment) from given), timestamp '2999-12-31')
),
inr as materialized (
  select value, row_ref from (
    (select value, row_ref, 1 as n from inrs order by charttime desc, labevent_id desc limit 1)
    union all
    (select round(bounded_number(value), 1)::decimal(9, 1), row_ref, 2 from told
     where reading = 'presenting_inr' and bounded_number(value) is not null order by line_from limit 1))
  order by n limit 1
),
chosen as materialized (
  select case
      when exists (from agents where source = 'emar')
        then (select arg_max(agent, taken) from agents where source = 'emar')
      when (select count(distinct agent) from agents) = 1 then (select any_value(agent) from agents)
      when (select count(distinct agent) from agents where source = 'told') = 1
        then (select any_value(agent) from agents where source = 'told')
      when not exists (from agents) then 'warfarin'
      when coalesce((select value from inr) >= 2, false) then 'warfarin'
      else coalesce((select min(agent) from agents where agent <> 'warfarin'), 'warfarin')
    end as agent
),
tests as materialized (  -- those that tell of this agent
  select l.itemid, l.row_ref,
    coalesce(lab_bounded(l.valuenum, l.value, l.comments) > l.ref_range_upper, l.flag = 'abnormal', false)
      as high,
    case c.agent when 'dabigatran' then l.itemid in (51275, 51297)
      when 'xa' then l.itemid in (51228, 51229) else false end as telling
  from labevents l, w, chosen c
  where l.subject_id = $subject_id and l.itemid in (51275, 51297, 51228, 51229)
    and l.charttime >= w.t_rec - interval 24 hour and l.charttime < w.t_rec + interval 4 hour
),
clearance as materialized (  -- Cockcroft-Gault, mL/min
  select (140 - adm.age) * kg.kg * if(adm.gender = 'F', 0.85, 1) / (72 * cr.mg_dl) as ml_min
  from adm, w,
    lateral (select arg_max(valuenum, charttime) as mg_dl from labevents
      where subject_id = $subject_id and itemid = 50912 and valuenum > 0
        and charttime >= w.t_rec - interval 72 hour and charttime < w.t_rec + interval 4 hour) cr,
    lateral (select arg_min(valuenum, charttime) as kg from chartevents
      where subject_id = $subject_id and itemid in (226512, 224639) and valuenum between 30 and 300) kg
),
on_board as materialized (
  select case
      when c.agent = 'warfarin' then case
        when (select value from inr) is null then 'yes'
        when (select value from inr) >= if(w.site = 'intracranial', 1.4, 1.5) then 'yes'
        when (select value from inr) >= 1.3 then 'borderline'
        else 'no' end
      when exists (from agents where source = 'emar') or exists (from last_dose where value = 'recent') then 'yes'
      when exists (from last_dose where value = 'between') then
        if(c.agent = 'dabigatran' and coalesce((select ml_min from clearance) < 50, false), 'yes', 'borderline')
      when exists (from last_dose where value = 'old') then 'no'
      when exists (from tests where telling and high) then 'yes'
      when exists (from tests) then 'borderline'
      else 'yes'
    end as value
  from chosen c left join w on true
),
established as materialized (
  select
    if(c.agent = 'warfarin', exists (from inr),
      exists (from agents where source = 'emar') or exists (from last_dose where value <> 'unknown')
        or exists (from tests)) as intake,
    exists (from emar e, w where e.subject_id = $subject_id
        and e.charttime >= w.t_rec - interval 1 hour and e.charttime < w.t_rec + interval 4 hour)
      or exists (from inputevents i, w where i.subject_id = $subject_id
        and i.starttime >= w.t_rec - interval 1 hour and i.starttime < w.t_rec + interval 4 hour)
      or exists (from reversal) as observable,
    not exists (from elsewhere) or exists (from outside_clock) or exists (from reversal) as timed
  from chosen c
),
watched as materialized (
  select coalesce(list(row_ref order by charttime, row_ref)[:3], []) as rows from (
    select e.charttime, e.row_ref from emar e, w where e.subject_id = $subject_id
      and e.charttime >= w.t_rec - interval 1 hour and e.charttime < w.t_rec + interval 4 hour
    union all
    select i.starttime, i.row_ref from inputevents i, w where i.subject_id = $subject_id
      and i.starttime >= w.t_rec - interval 1 hour and i.starttime < w.t_rec + interval 4 hour)
),
contrary as materialized (
  select row_ref from reversal where value = 'withheld'
  union all
  select row_ref from told where reading = 'comfort_first_day' and value = 'immediate'
  union all
  select c.row_ref from chartevents c, w
  where c.subject_id = $subject_id and c.itemid = 223758 and c.value = 'Comfort measures only'
    and c.charttime >= w.t_rec and c.charttime <= w.t_rec + interval 4 hour
)

select
  {
    value: u.value,
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from agents)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from stopped)
  } as oac,
  {value: exists (from w), rows: (select coalesce(any_value(rows), []) from w)} as qualifying_bleed,
  {
    value: not u.value or not exists (from w) or (e.intake and e.observable and e.timed),
    rows: (select coalesce(list(row_ref), []) from inr) || a.rows
      || (select coalesce(list(distinct row_ref order by row_ref), []) from tests)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from last_dose)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from reversal)
  } as agent_established,
  {
    value: exists (from contrary),
    rows: if(exists (from contrary), (select list(distinct row_ref order by row_ref) from contrary),
      -- who went home alive was not on comfort care from the first hours on
      (select coalesce(list(row_ref), []) from adm
       where deathtime is null and discharge_location not in ('DIED', 'HOSPICE')))
  } as competing,
  {
    value: o.value,
    rows: if(c.agent = 'warfarin', (select coalesce(list(row_ref), []) from inr),
      (select coalesce(list(distinct row_ref order by row_ref), []) from agents where source = 'emar')
        || (select coalesce(list(distinct row_ref order by row_ref), []) from last_dose)
        || (select coalesce(list(distinct row_ref order by row_ref), []) from tests))
  } as on_board,
  {
    value: c.agent,
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from agents)
  } as agent,
  {
    value: c.agent = 'warfarin' and (exists (from timely where what = 'phytonadione')
      or exists (from reversal where value = 'vitamin_k')),
    rows: (select coalesce(list(row_ref order by moment, row_ref), []) from given where what = 'phytonadione')
      || (select coalesce(list(distinct row_ref order by row_ref), []) from reversal where value = 'vitamin_k')
      || a.rows
  } as vitk_iv_4h,
  {
    value: c.agent = 'warfarin' and (
      exists (from timely where what in ('prothrombin complex', 'plasma'))
      or (era.early and exists (from timely where what = 'factor ix complex'))
      or exists (from reversal where value in ('pcc', 'plasma'))),
    rows: (select coalesce(list(row_ref order by moment, row_ref), []) from given
        where what in ('prothrombin complex', 'plasma', 'factor ix complex'))
      || (select coalesce(list(distinct row_ref order by row_ref), []) from reversal
          where value in ('pcc', 'plasma'))
      || a.rows
  } as factor_4h,
  {
    value: c.agent <> 'warfarin' and (
      exists (from timely where what in ('prothrombin complex', 'activated prothrombin complex'))
      or exists (from timely where what = if(c.agent = 'dabigatran', 'idarucizumab', 'andexanet alfa'))
      or exists (from reversal where value in ('pcc', 'specific'))
      or (era.early and (exists (from timely where what in ('plasma', 'factor ix complex'))
        or exists (from reversal where value = 'plasma')))),
    rows: (select coalesce(list(row_ref order by moment, row_ref), []) from given where what <> 'phytonadione')
      || (select coalesce(list(distinct row_ref order by row_ref), []) from reversal
          where value in ('pcc', 'specific', 'plasma'))
      || a.rows
  } as specific_4h,
  {
    value: (select value from inr), rows: (select coalesce(list(row_ref), []) from inr)
  } as inr,
  (select t_rec from w) as anchor_t_rec,
  (select min(moment) from given where counts) as anchor_t_reversal
from in_use u, chosen c, on_board o, established e, watched a, era
