-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of hit-4ts: one row. Days are calendar days from the first heparin that counts.
with stay as (
  select hadm_id, admittime, coalesce(dischtime, timestamp '2999-12-31') as dischtime, row_ref
  from admissions where subject_id = $subject_id and hadm_id = $hadm_id
  limit 1
),

-- heparin that was given: by patient and time, never by encounter or order ----------------------
heparin as (
  select e.charttime as given, e.row_ref, administered(e.event_txt) as begins
  from emar e join drug_name d on d.name = e.medication
  where e.subject_id = $subject_id and d.ingredient in ('heparin', 'heparin flush', 'enoxaparin', 'dalteparin')
    -- a confirmation or a change of rate shows a running infusion, never its start
    and (administered(e.event_txt)
      or regexp_matches(e.event_txt, '^(Delayed )?(Confirmed|Rate Change)'))
  union all
  select i.starttime, i.row_ref, true
  from inputevents i
  where i.subject_id = $subject_id and i.itemid in (225152, 225975, 225906, 229597, 230044)
    and i.amount > 0 and i.statusdescription is distinct from 'Rewritten'
  union all  -- the circuit of a dialysis
  select c.charttime, c.row_ref, true
  from chartevents c
  where c.subject_id = $subject_id and c.itemid in (224145, 225958) and c.valuenum > 0
),
operation as (  -- dated by the day; heart, lung, bowel, great vessels, joints, fixation of fractures
  select min(p.chartdate)::date as day, arg_min(p.row_ref, p.chartdate) as row_ref
  from procedures_icd p, stay
  where p.hadm_id = stay.hadm_id and p.chartdate::date >= stay.admittime::date
    and ((p.icd_version = 9 and regexp_matches(p.icd_code, '^(35[12]|361|3961|392|32[45]|45[78]|815|793)'))
      or (p.icd_version = 10 and regexp_matches(p.icd_code, '^(021|02R|5A1221|041|031|0BT|0DT|0SR|0QS.0)')))
),
here as (
  select h.* from heparin h, stay
  where h.begins and h.given >= stay.admittime - interval 24 hour and h.given <= stay.dischtime
),
start as (  -- the first; after an operation the first that follows it
  select coalesce(
    (select min(given) from here, operation where here.given::date >= operation.day),
    (select min(given) from here)) as t
),

-- platelets ------------------------------------------------------------------------------------
counts as (
  select l.charttime, min(l.row_ref) as row_ref,
    any_value(lab_bounded(l.valuenum, l.value, l.comments))::decimal(18, 3) as n
  from labevents l
  where l.subject_id = $subject_id and l.itemid = 51265
    and lab_bounded(l.valuenum, l.value, l.comments) >= 0
    and not regexp_matches(coalesce(l.comments, ''), '\bclump', 'i')
    and not exists (
      from labevents c
      where c.subject_id = l.subject_id and c.specimen_id = l.specimen_id and c.itemid = 51264
        and not regexp_matches(coalesce(c.value, 'present'), '^\s*(?:neg|none|no\b|absent|0)', 'i'))
  group by l.charttime, l.specimen_id  -- a specimen counts once
),
begun as (select coalesce((select t from start), (select admittime from stay)) as t),
before as (  -- where heparin came first: the last count of the three days before, else the first of the stay
  select coalesce(
    (select arg_max({n: c.n, charttime: c.charttime, row_ref: c.row_ref}, c.charttime) from counts c, begun
     where charttime < begun.t::date and charttime >= begun.t - interval 72 hour),
    (select arg_min({n: c.n, charttime: c.charttime, row_ref: c.row_ref}, c.charttime) from counts c, begun, stay
     where charttime < begun.t::date and charttime >= stay.admittime - interval 24 hour)) as c
),
series as (
  select c.*, max(c.n) over (order by c.charttime rows unbounded preceding) as top
  from counts c, begun, stay
  where c.charttime >= begun.t::date and c.charttime <= stay.dischtime
),
measured as (  -- against which count a fall is seen: the highest so far, or the one before
  select s.*,
    case when before.c.n is not null and s.top < 0.7 * before.c.n then before.c.n else s.top end as base
  from series s, before
),

-- suspicion ------------------------------------------------------------------------------------
told as (
  select n.* from noted n, stay where n.note_table = 'discharge' and n.hadm_id = stay.hadm_id
),
test as (
  select l.charttime, l.row_ref from labevents l, stay
  where l.subject_id = $subject_id and l.itemid in (52131, 52132)
    and l.charttime >= stay.admittime - interval 24 hour and l.charttime <= stay.dischtime
),
thought as (select row_ref from told where reading = 'hit_suspicion' and value = 'suspected'),
instead as (  -- bivalirudin and fondaparinux have other uses: they count where HIT was thought of
  select g.given as charttime, g.row_ref
  from (
    select e.charttime as given, e.row_ref, d.ingredient as drug
    from emar e join drug_name d on d.name = e.medication
    where e.subject_id = $subject_id and administered(e.event_txt)
      and d.ingredient in ('argatroban', 'bivalirudin', 'fondaparinux')
    union all
    select i.starttime, i.row_ref,
      case i.itemid when 225147 then 'argatroban' when 225908 then 'fondaparinux' else 'bivalirudin' end
    from inputevents i
    where i.subject_id = $subject_id and i.itemid in (225147, 225148, 229781, 225908)
      and i.amount > 0 and i.statusdescription is distinct from 'Rewritten') g, stay
  where g.given >= stay.admittime and g.given <= stay.dischtime
    and (g.drug = 'argatroban' or exists (from thought) or exists (from test))
),
first_fall as (
  select min(m.charttime) as t from measured m, begun where m.n <= 0.7 * m.base and m.charttime >= begun.t::date
),
suspected as (
  select
    coalesce(
      (select min(charttime) from (select charttime from test union all select charttime from instead)),
      (select t from first_fall),
      (select max(charttime) from series),
      (select dischtime from stay)) as t
),

-- the fall: what is still low when HIT was suspected ---------------------------------------------
seen as (
  select m.*, max(m.base) over () as baseline
  from measured m, suspected
  where m.charttime < suspected.t::date + interval 1 day
),
basis as (
  select max(baseline) as n,
    coalesce(
      (select arg_min(row_ref, charttime) from seen where n = baseline),
      (select c.row_ref from before where c.n = (select max(baseline) from seen))) as row_ref,
    coalesce(
      (select min(charttime) from seen where n = baseline),
      (select c.charttime from before where c.n = (select max(baseline) from seen))) as t
  from seen
),
whole as (  -- the last count that was not (or no longer) 30 % below; before it is nothing of this fall
  select max(seen.charttime) as t from seen where seen.n > 0.7 * seen.baseline
),
low as (
  select seen.* from seen, whole, basis
  where seen.n <= 0.7 * seen.baseline and (whole.t is null or seen.charttime > whole.t) and seen.charttime > basis.t
),
deepest as (
  select
    (select min(n) from low) as low_n,
    coalesce((select min(n) from low),
      -- no fall in question: the lowest since the count was whole again
      (select min(seen.n) from seen, whole where seen.charttime >= whole.t and seen.charttime > (select t from basis))) as n,
    coalesce((select arg_min(row_ref, n) from low),
      (select arg_min(seen.row_ref, seen.n) from seen, whole
       where seen.charttime >= whole.t and seen.charttime > (select t from basis))) as row_ref
),
fell as (
  select (select min(charttime) from low) as onset, (select row_ref from low order by charttime limit 1) as row_ref,
    coalesce(
      (select max(seen.charttime) from seen where seen.charttime < (select min(charttime) from low)),
      (select t from basis)) as last_whole
),
enough as (
  select
    (select t from start) is not null and (select n from basis) is not null
      and (select count(*) from seen, start, suspected
           where seen.charttime >= start.t and seen.charttime <= suspected.t) >= 2 as value
),

-- points ---------------------------------------------------------------------------------------
counted as (
  select
    case
      when basis.n is null or deepest.n is null then
        case when deepest.n < 10 then [0, 0] else [0, 2] end
      when deepest.n < 10 then [0, 0]
      when (basis.n - deepest.n) > 0.5 * basis.n and deepest.n >= 20 then [2, 2]
      when (basis.n - deepest.n) > 0.5 * basis.n then [1, 1]
      when not enough.value then [0, 2]
      when (basis.n - deepest.n) >= 0.3 * basis.n then [1, 1]
      else [0, 0]
    end::integer[] as pts
  from basis, deepest, enough
),
exposed as (  -- earlier heparin, by how long before the first of this stay
  select
    exists (from heparin h, begun, stay
      where h.given < stay.admittime - interval 24 hour and h.given >= begun.t - interval 30 day)
    or exists (from told where reading = 'heparin_exposure' and value = 'recent') as recent,
    exists (from heparin h, begun, stay
      where h.given < stay.admittime - interval 24 hour and h.given >= begun.t - interval 100 day
        and h.given < begun.t - interval 30 day)
    or exists (from told where reading = 'heparin_exposure' and value = 'earlier') as earlier
),
day as (  -- every day on which the fall may have begun
  select unnest(generate_series(
      least(date_diff('day', begun.t::date, fell.last_whole::date) + 1, date_diff('day', begun.t::date, fell.onset::date)),
      date_diff('day', begun.t::date, fell.onset::date))) as d
  from fell, begun where fell.onset is not null and fell.last_whole is not null
  union all
  select unnest(generate_series(0, greatest(date_diff('day', begun.t::date, fell.onset::date), 0)))
  from fell, begun where fell.onset is not null and fell.last_whole is null
),
timed as (
  select day.d,
    case
      when day.d between 5 and 10 then 2
      when day.d > 10 then 1
      when day.d <= 1 and exposed.recent then 2
      when day.d <= 1 and exposed.earlier then 1
      when exposed.recent then 1  -- days 2 to 4: neither the one nor the other
      else 0
    end as pts
  from day, exposed
),
began as (
  select
    case
      when not enough.value then
        coalesce((select [min(pts), max(pts)] from timed having count(*) > 0), [0, 2])
      when fell.onset is null then [0, 0]
      when (select bool_or(d between 5 and 10) and not bool_and(d between 5 and 10) from timed) then [1, 1]
      else (select [arg_max(pts, d), arg_max(pts, d)] from timed)
    end::integer[] as pts
  from enough, fell
),

-- thrombosis -----------------------------------------------------------------------------------
report as (
  select n.value, n.row_ref, n.charttime < begun.t as old, n.charttime >= suspected.t::date + interval 1 day as late
  from noted n, begun, suspected, stay
  where n.note_table = 'radiology' and n.reading = 'thrombosis_this_stay'
    and n.charttime >= stay.admittime - interval 24 hour and n.charttime <= stay.dischtime
),
current as (select value, row_ref from report where not old and not late),
said as (  -- what a report shows before heparin, or after the suspicion, is not what this counts
  select t.value, t.row_ref from told t
  where t.reading = 'thrombosis_this_stay'
    and not (t.value = 'new' and t.section in ('hpi', 'chief_complaint'))
    and not (t.value = 'new' and exists (from report r where r.value = 'new' and (r.old or r.late)))
),
clotted as (
  select
    case
      when exists (from current where value = 'new') or exists (from said where value = 'new') then [2, 2]
      when exists (from current where value in ('progressive', 'suspected'))
        or exists (from said where value = 'progressive') then [1, 1]
      when exists (from current where value = 'denied') then [0, 0]
      when exists (from said where value = 'suspected') then [0, 2]
      when exists (from discharge d, stay where d.hadm_id = stay.hadm_id) or exists (from current) then [0, 0]
      else [0, 2]
    end::integer[] as pts
),

-- other causes ---------------------------------------------------------------------------------
unit as (
  select min(i.starttime) as given, min(i.row_ref) as row_ref
  from inputevents i
  where i.subject_id = $subject_id and i.itemid in (225168, 226368, 227070) and i.amount > 0
    and i.statusdescription is distinct from 'Rewritten'
  group by coalesce(i.orderid::varchar, i.row_ref)
),
event as (select coalesce((select onset from fell), (select t from suspected)) as t),
massive as (  -- ten units within a day, in the three days before the fall
  select u.row_ref from unit u, event
  where u.given <= event.t and u.given > event.t - interval 72 hour
    and (select count(*) from unit w where w.given <= event.t and abs(epoch(w.given) - epoch(u.given)) <= 24 * 3600
         and w.given <= u.given) >= 10
),
bypass as (
  select p.row_ref from procedures_icd p, stay, event
  where p.hadm_id = stay.hadm_id and p.icd_code in ('3961', '5A1221Z')
    and p.chartdate::date <= event.t::date and p.chartdate::date > event.t::date - 3
),
present as (  -- coded, so without time and weight
  select d.row_ref from diagnoses_icd d, stay
  where d.hadm_id = stay.hadm_id
    and ((d.icd_version = 9 and regexp_matches(d.icd_code,
        '^(038|9959[12]|78552|2866|V581[12]|284|5712|5715|5716|2873|2875?[^0-9]$)'))
      or (d.icd_version = 10 and regexp_matches(d.icd_code, '^(A40|A41|R652|D65|Z511[12]|D61|K703|K74[3-6]|D693)')))
  union all
  select row_ref from told where reading = 'severe_liver_disease' and value in ('cirrhosis', 'failure')
),
cause as (select value, row_ref from told where reading = 'platelet_fall_cause'),
other as (
  select
    case
      when not exists (from discharge d, stay where d.hadm_id = stay.hadm_id) then [0, 2]
      when (exists (from massive) or exists (from bypass) or exists (from cause where value = 'definite'))
        and exists (from cause where value = 'none') then [0, 2]
      when exists (from massive) or exists (from bypass) then [0, 0]
      when exists (from cause where value = 'definite') and exists (from cause where value = 'possible') then [0, 1]
      when exists (from cause where value = 'definite') then [0, 0]
      when exists (from cause where value = 'possible') and exists (from cause where value = 'none') then [1, 2]
      when exists (from cause where value = 'possible') then [1, 1]
      when exists (from cause where value = 'none') then [2, 2]
      when exists (from present) then [0, 1]
      else [2, 2]
    end::integer[] as pts
),
reached as (  -- heparin in the hundred days before the fall
  select h.row_ref, h.given from heparin h, event
  where h.given <= event.t and h.given >= event.t - interval 100 day
),
refused as (  -- doses that the eMAR shows, and that were not given
  select e.row_ref, e.charttime as given
  from emar e join drug_name d on d.name = e.medication, stay
  where e.hadm_id = stay.hadm_id and d.ingredient in ('heparin', 'heparin flush', 'enoxaparin', 'dalteparin')
    and regexp_matches(e.event_txt, '^(Delayed )?(Not |Hold)') and not exists (from reached)
),
spoken as (select row_ref from told where reading = 'heparin_exposure' and value in ('recent', 'earlier', 'inhouse'))

select
  (select t from start) as anchor_heparin_start,
  suspected.t as anchor_t_susp,
  {
    value: exists (from reached) or exists (from spoken),
    rows: (select coalesce(list(row_ref order by given), []) from (from reached order by given limit 20))
      || (select coalesce(list(distinct row_ref), []) from spoken)
      || (select coalesce(list(row_ref order by given), []) from refused)
  } as exposure,
  {
    value: fell.onset is not null or exists (from test) or exists (from instead) or exists (from thought),
    rows: list_filter([basis.row_ref, fell.row_ref], lambda x: x is not null)
      || (select coalesce(list(row_ref), []) from test)
      || (select coalesce(list(row_ref order by charttime), []) from (from instead order by charttime limit 3))
      || (select coalesce(list(distinct row_ref), []) from thought)
  } as fall_or_suspicion,
  {
    value: enough.value,
    rows: (select coalesce(list(row_ref order by charttime), []) from seen)
  } as counts_ok,
  {
    value: counted.pts,
    rows: list_filter([basis.row_ref, deepest.row_ref], lambda x: x is not null)
  } as t1,
  {
    value: began.pts,
    rows: list_filter([fell.row_ref, basis.row_ref, (select row_ref from operation)], lambda x: x is not null)
      || (select coalesce(list(row_ref order by given), []) from (from here order by given limit 1))
      || (select coalesce(list(row_ref), []) from (
            select h.row_ref from heparin h, begun, stay
            where h.given < stay.admittime - interval 24 hour and h.given >= begun.t - interval 100 day
            order by h.given desc limit 1))
      || (select coalesce(list(distinct row_ref), []) from told
          where reading = 'heparin_exposure' and value in ('recent', 'earlier'))
  } as t2,
  {
    value: clotted.pts,
    rows: (select coalesce(list(distinct row_ref), []) from (from current union all from said))
  } as t3,
  {
    value: other.pts,
    rows: (select coalesce(list(distinct row_ref), []) from (
      select row_ref from massive union all select row_ref from bypass
      union all select row_ref from cause union all select row_ref from present))
  } as t4
from suspected, fell, basis, enough, deepest, counted, began, clotted, other
