-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of icu-sedation-padis: one row, about the first 48 h of continuous sedation on the ventilator.
with
stay as (
  select hadm_id, stay_id, intime, coalesce(outtime, timestamp '2999-12-31') as outtime, row_ref
  from icustays where stay_id = $stay_id
),
vent as (  -- without an interval of ventilation there is none: settings do not stand for it
  select e.starttime, coalesce(e.endtime, s.outtime) as endtime, e.row_ref
  from procedureevents e join stay s using (stay_id)
  where e.itemid = 225792 and e.statusdescription is distinct from 'Rewritten'
),
infusion as (  -- continuous, running; single doses are none
  select
    i.itemid, i.starttime, i.endtime, i.row_ref,
    i.itemid in (222168, 221668, 221385, 225150, 229420) as sedates,
    i.itemid in (221668, 221385) as is_benzodiazepine
  from inputevents i join stay s using (stay_id)
  where i.itemid in (222168, 221668, 221385, 225150, 229420, 221555, 222062, 229233)
    and i.ordercategorydescription = 'Continuous Med' and i.rate > 0
    and i.statusdescription is distinct from 'Rewritten'
),
start as (
  select i.starttime as t0, i.row_ref, v.endtime as vent_end, v.row_ref as vent_ref
  from infusion i, vent v, stay s
  where i.sedates and i.starttime >= v.starttime and i.starttime < v.endtime
    and i.starttime >= s.intime and i.starttime < s.outtime
  qualify row_number() over (order by i.starttime, i.row_ref, v.starttime, v.row_ref) = 1
),
span as (
  select
    b.t0, b.row_ref, b.vent_ref,
    least(
      b.t0 + interval 48 hour, b.vent_end, s.outtime,
      coalesce((select min(e.starttime) from procedureevents e
        where e.stay_id = s.stay_id and e.itemid = 227194 and e.starttime > b.t0
          and e.statusdescription is distinct from 'Rewritten'), timestamp '2999-12-31')) as until
  from start b, stay s
),

-- scores of the window, one a time -----------------------------------------------------------------
charted as (
  select c.itemid, c.charttime, c.row_ref, c.value,
    coalesce(c.valuenum, try_cast(regexp_extract(c.value, '^\s*([-+]?\d+)', 1) as double)) as number
  from chartevents c join stay s using (stay_id), span w
  where c.charttime >= w.t0 and c.charttime <= w.until
    and c.itemid in (228096, 223753, 228299, 224106, 227627, 228300, 228301, 228302, 228303, 228334,
      228335, 228336, 228337, 229324, 229325, 229326, 228332)
),
either as (
  select itemid, charttime, number, row_ref from charted
  where (itemid = 228096 and number between -5 and 4) or (itemid = 223753 and number between 1 and 7)
  qualify row_number() over (partition by itemid, charttime order by row_ref) = 1
),
scale as (  -- Riker-SAS where RASS is hardly charted
  select if(
    count(*) filter (itemid = 228096) < 4 and count(*) filter (itemid = 223753) >= 4,
    223753, 228096) as itemid
  from either
),
score as (
  select
    charttime, row_ref,
    if(itemid = 228096, number between -2 and 1, number in (3, 4)) as is_light,
    if(itemid = 228096, number >= -3, number >= 3) as is_assessable
  from either semi join scale using (itemid)
),
depth as (
  select
    count(*) as n, count(*) filter (is_light) as light,
    coalesce(list(row_ref order by charttime, row_ref), []) as rows
  from score
),
pause as (  -- from the start to the first score, between scores, from the last to the end
  select max(epoch(ends) - epoch(begins)) / 3600.0 as longest
  from (
    select lag(at_time) over (order by at_time) as begins, at_time as ends
    from (select charttime as at_time from score
      union all select t0 from span union all select until from span))
),
block as (
  select t0 as begins, least(t0 + interval 24 hour, until) as ends, false as is_last from span
  union all
  select t0 + interval 24 hour, until, true from span where until > t0 + interval 24 hour
),
screened as (  -- blocks in which the patient could be assessed, with what screened for delirium
  select
    b.begins,
    (select list(c.row_ref order by c.charttime, c.row_ref) from charted c
     where c.itemid not in (228096, 223753, 228299, 224106, 227627) and c.value is not null
       and c.charttime >= b.begins and (c.charttime < b.ends or (b.is_last and c.charttime = b.ends))
    ) as rows
  from block b
  where exists (
    from score s where s.is_assessable
      and s.charttime >= b.begins and (s.charttime < b.ends or (b.is_last and s.charttime = b.ends)))
),

-- drugs by hours in the window ------------------------------------------------------------------------
run as (
  select
    i.*, greatest(i.starttime, w.t0) as since, least(coalesce(i.endtime, i.starttime), w.until) as till
  from infusion i, span w
  where i.starttime < w.until and coalesce(i.endtime, i.starttime) > w.t0
),
sedation as (  -- agents that run together add up
  select
    coalesce(sum(epoch(till) - epoch(since)), 0) as total,
    coalesce(sum(epoch(till) - epoch(since)) filter (is_benzodiazepine), 0) as benzodiazepine,
    coalesce(list(row_ref order by since, row_ref), []) as rows
  from run where sedates
),
blocked as (  -- neuromuscular blockade, what overlaps counted once
  select
    row_ref, epoch(till) - greatest(epoch(since), coalesce(max(epoch(till)) over (
      order by since, row_ref rows between unbounded preceding and 1 preceding), 0)) as seconds
  from run where not sedates
),
paralysed as (
  select list(b.row_ref order by b.row_ref) as rows
  from blocked b, span w
  having coalesce(sum(greatest(b.seconds, 0)), 0) * 2 >= any_value(epoch(w.until) - epoch(w.t0))
    and count(*) > 0
),

-- reasons ----------------------------------------------------------------------------------------------
tied as (  -- by the summary
  select n.row_ref,
    case when n.reading = 'benzodiazepine_reason' then ['agent']
         when n.value = 'deep' then ['light', 'delirium'] else ['assess'] end as covers
  from noted n join stay s using (hadm_id)
  where n.note_table = 'discharge'
    and n.reading in ('sedation_exception', 'benzodiazepine_reason')
),
excused as (
  select row_ref, covers from tied
  union all
  select unnest(rows), ['light', 'delirium'] from paralysed
),
oxygen as (  -- arterial PaO2 with the FiO2 charted last in the two hours before
  select
    l.row_ref, l.valuenum as pao2,
    (select arg_max(c.valuenum, (c.charttime, c.row_ref)) from chartevents c
     where c.stay_id = s.stay_id and c.itemid = 223835 and c.valuenum > 0
       and c.charttime > l.charttime - interval 2 hour and c.charttime <= l.charttime) as fio2
  from labevents l, stay s, span w
  where l.subject_id = $subject_id and l.itemid = 50821 and l.valuenum > 0
    and l.charttime >= w.t0 and l.charttime <= w.until
    and not exists (
      from labevents t where t.specimen_id = l.specimen_id and t.itemid = 52033
        and regexp_matches(lower(coalesce(t.value, t.comments, '')), 'ven|mix|cent'))
),
plausible as (
  select d.row_ref,
    case when regexp_matches(d.icd_version || ':' || d.icd_code,
           '^(?:9:(?:3452|3453|3457)|10:G40[0-9AB][01]1$)') then ['light', 'delirium', 'agent']
         when regexp_matches(d.icd_version || ':' || d.icd_code,
           '^(?:9:(?:2910|29181)$|10:F1[03]23)') then ['agent']
         else ['light', 'delirium'] end as covers
  from diagnoses_icd d join stay s using (hadm_id)
  where regexp_matches(d.icd_version || ':' || d.icd_code,
    '^(?:9:(?:3452|3453|3457|(?:2910|29181|3484|3485)$)|10:(?:G40[0-9AB][01]1$|F1[03]23|G93[56]$))')
  union all
  select e.row_ref, ['light', 'delirium']  -- pressure in the skull, cooling by catheter
  from procedureevents e join stay s using (stay_id), span w
  where e.itemid in (226124, 226474, 229518, 229519, 229520, 229521, 229517)
    and e.statusdescription is distinct from 'Rewritten'
    and e.starttime <= w.until and coalesce(e.endtime, e.starttime) >= w.t0
  union all
  select c.row_ref, ['light', 'delirium'] from charted c
  where (c.itemid in (224106, 227627) and c.value is not null)
     or (c.itemid = 228299 and c.number in (-4, -5))
  union all
  select row_ref, ['light', 'delirium'] from oxygen
  where pao2 / if(fio2 > 1, fio2 / 100, fio2) < 150
),
covered as (select coalesce(list_sort(list_distinct(flatten(list(covers)))), []) as names from excused),
guessed as (
  select list_filter(coalesce(list_sort(list_distinct(flatten(list(p.covers)))), []),
    lambda x: not list_contains(any_value(c.names), x)) as names
  from covered c left join plausible p on true
),
stream as (
  select min(c.row_ref) as row_ref
  from chartevents c join stay s using (stay_id), span w
  where c.charttime >= w.t0 and c.charttime <= w.until
  having count(*) > 0
),
premise as (
  select coalesce((select until - t0 >= interval 24 hour from span), false) as holds
)

select
  w.t0 as anchor_t0,
  w.until as anchor_window_end,
  {
    value: p.holds,
    rows: if(w.t0 is null, (select coalesce(list(row_ref order by row_ref), []) from vent),
      [w.row_ref, w.vent_ref])
  } as premise,
  {
    value: not p.holds or exists (from stream),
    rows: (select coalesce(list(row_ref), []) from stream)
  } as chart_stream,
  {value: d.n > 0 and coalesce(g.longest <= 8, false), rows: d.rows} as e_assess,
  {value: if(d.n = 0, 0, d.light / d.n)::decimal(9, 4), rows: d.rows} as light_share,
  {
    value: not exists (from screened where rows is null),
    rows: (select coalesce(flatten(list(rows order by begins)), []) from screened)
  } as e_delirium,
  {
    value: if(i.total = 0, 0, i.benzodiazepine / i.total)::decimal(9, 4),
    rows: i.rows
  } as benzo_share,
  {value: c.names, rows: (select coalesce(list(distinct row_ref), []) from excused)} as explicit,
  {value: q.names, rows: (select coalesce(list(distinct row_ref), []) from plausible)} as possible
from premise p left join span w on true, depth d, pause g, sedation i, covered c, guessed q
