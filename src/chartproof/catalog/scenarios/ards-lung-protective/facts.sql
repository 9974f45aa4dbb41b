-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of ards-lung-protective: one row. Everything turns on the onset.
with stay as (
  select
    i.hadm_id, i.stay_id, i.intime, coalesce(i.outtime, timestamp '2999-12-31') as outtime,
    p.gender
  from icustays i join patients p using (subject_id)
  where i.subject_id = $subject_id and i.stay_id = $stay_id
  limit 1
),
charted as (  -- the few items of the stay that matter, as numbers
  select c.itemid, c.charttime, c.row_ref, c.value, c.valuenum::decimal(18, 3) as number
  from chartevents c, stay
  where c.stay_id = stay.stay_id
    and c.itemid in (224684, 224685, 224696, 224695, 220339, 223835, 223849, 229314)
),

-- invasive ventilation: pieces that lie close together are one -----------------------------------
moded as (
  select
    charttime, row_ref,
    regexp_matches(value, '(?i)CMV|PRVC|\bA/?C\b|ASSIST|SIMV|PCV|VOL|APV|APRV|CONTROL') as mandatory
  from charted where itemid in (223849, 229314) and value is not null
),
pieces as (
  select
    greatest(e.starttime, stay.intime) as begins, least(e.endtime, stay.outtime) as ends, e.row_ref,
    interval 4 hour as gap
  from procedureevents e, stay
  where e.stay_id = stay.stay_id and e.itemid = 225792
    and e.statusdescription is distinct from 'Rewritten'
    and e.starttime < stay.outtime and e.endtime > stay.intime
  union all  -- without such an event, mandatory modes, charted about every four hours
  select charttime, charttime, row_ref, interval 8 hour
  from moded
  where mandatory and not exists (
    from procedureevents e, stay where e.stay_id = stay.stay_id and e.itemid = 225792)
),
numbered as (
  select *, sum(fresh) over (order by begins, ends, row_ref) as episode
  from (
    select
      *,
      if(begins <= max(ends) over (order by begins, ends, row_ref rows between unbounded preceding and 1 preceding) + gap,
        0, 1) as fresh
    from pieces)
),
ventilated as (
  select min(begins) as begins, max(ends) as ends, list(row_ref order by begins, row_ref) as rows
  from numbered group by episode
  having max(ends) - min(begins) >= interval 24 hour
),

-- arterial gases with FiO2 and PEEP ----------------------------------------------------------------
gases as (
  select l.charttime, l.specimen_id, l.labevent_id, l.row_ref,
    lab_bounded(l.valuenum, l.value, l.comments)::decimal(18, 3) as po2, v.begins, v.ends, v.rows
  from labevents l join ventilated v on l.charttime >= v.begins and l.charttime <= v.ends
  where l.subject_id = $subject_id and l.itemid = 50821
    and lab_bounded(l.valuenum, l.value, l.comments) > 0
    and not exists (
      from labevents s
      where s.subject_id = l.subject_id and s.specimen_id = l.specimen_id and s.itemid = 52033
        and regexp_matches(s.value, '(?i)\b(?:ven|mix|cap)'))
),
inspired as (  -- in percent
  select charttime, row_ref, if(number <= 1, number * 100, number) as fio2
  from charted where itemid = 223835 and number > 0
),
pairs as (
  select
    g.charttime as drawn, g.begins, g.ends, g.po2, g.row_ref, g.labevent_id,
    coalesce(f.last.fio2, own.fio2) as fio2, p.last.number as peep,
    list_filter([g.row_ref, coalesce(f.last.row_ref, own.row_ref), p.last.row_ref], lambda x: x is not null)
      || g.rows as rows
  from gases g,
    lateral (
      select arg_max({fio2: i.fio2, row_ref: i.row_ref}, i.charttime) as last from inspired i
      where i.charttime >= g.charttime - interval 2 hour and i.charttime <= g.charttime
        and i.fio2 >= 21 and i.fio2 <= 100) f,
    lateral (
      select arg_max({number: c.number, row_ref: c.row_ref}, c.charttime) as last from charted c
      where c.itemid = 220339 and c.number is not null
        and c.charttime >= g.charttime - interval 2 hour and c.charttime <= g.charttime) p,
    lateral (
      select
        any_value(if(l.valuenum <= 1, l.valuenum * 100, l.valuenum))::decimal(18, 3) as fio2,
        any_value(l.row_ref) as row_ref
      from labevents l
      where l.subject_id = $subject_id and l.itemid = 50816 and l.specimen_id = g.specimen_id
        and (l.valuenum between 0.21 and 1 or l.valuenum between 21 and 100)) own
  where coalesce(f.last.fio2, own.fio2) is not null and p.last is not null
),
rated as (
  select *, round(po2 * 100 / fio2)::integer as ratio, round(po2 * 100 / fio2) <= 300 and peep >= 5 as meets
  from pairs
),

-- chest images ----------------------------------------------------------------------------------------
chest as (
  select r.note_id, r.charttime, r.row_ref
  from radiology r
  where r.subject_id = $subject_id and coalesce(r.note_type, 'RR') = 'RR'
    and coalesce(
      (select bool_or(regexp_matches(d.field_value, '(?i)\b(?:chest|cxr|thora(?:x|cic))\b')
          and not regexp_matches(d.field_value, '(?i)spine'))
       from radiology_detail d where d.note_id = r.note_id and d.field_name = 'exam_name'),
      regexp_matches(left(r.text, 300), '(?i)\b(?:chest|cxr)\b'))
),
imaged as (
  select
    r.*, exists (from chest c where c.charttime >= r.drawn - interval 24 hour
      and c.charttime <= r.drawn + interval 24 hour) as seen
  from rated r
),
-- the gas in question: of those that meet the criteria, and of those with an image, the first
candidate as (
  select arg_min(i, (if(meets, 0, 1), if(seen, 0, 1), drawn, labevent_id)) as c from imaged i
),
onset as (
  select
    if(c.meets and c.seen, c.drawn, null) as t,
    if(c.meets and c.seen, c.ratio, null) as ratio,
    least(c.drawn + interval 24 hour, c.ends, stay.outtime) as until
  from candidate, stay
),
around as (
  select h.* from chest h, candidate
  where h.charttime >= c.drawn - interval 24 hour and h.charttime <= c.drawn + interval 24 hour
),
said as (  -- of a report its impression, where that speaks of the lungs at all
  select n.note_id, a.charttime, n.value, n.row_ref
  from noted n join around a using (note_id)
  where n.reading = 'chest_opacities'
    and (n.section = 'impression' or not exists (
      from noted m where m.reading = 'chest_opacities' and m.note_id = n.note_id and m.section = 'impression'))
),
reports as (
  select
    note_id, any_value(charttime) as charttime, list(distinct row_ref) as rows,
    case
      when bool_or(value = 'bilateral') then 'bilateral' when bool_or(value = 'edema') then 'edema'
      when bool_or(value = 'equivocal') then 'equivocal' else 'none' end as value
  from said group by note_id
),
imaging as (
  select
    case
      when count(*) = 0 then 'equivocal'
      when bool_or(value in ('bilateral', 'edema'))
        then if(coalesce(max(charttime) filter (value = 'none')
            > max(charttime) filter (value in ('bilateral', 'edema')), false), 'equivocal', 'bilateral')
      when bool_or(value = 'equivocal') then 'equivocal'
      else 'none' end as value,
    coalesce(bool_or(value = 'edema') and not bool_or(value = 'bilateral'), false) as as_edema
  from reports
),

-- the heart --------------------------------------------------------------------------------------------
told as (
  select n.* from noted n, stay where n.note_table = 'discharge' and n.hadm_id = stay.hadm_id
),
cause as (
  select *, section <> 'hpi' as settled from told where reading = 'respiratory_failure_cause'
),
heart as (
  select row_ref from cause
  where value = 'cardiac'
    and (settled or not exists (from cause where settled and value = 'insult'))
  union all
  select unnest(r.rows)
  from reports r, imaging
  where r.value = 'edema' and imaging.as_edema
    and not exists (from cause where value = 'insult')
    and not exists (  -- an insult that the lungs answer to
      from diagnoses_icd d, stay
      where d.hadm_id = stay.hadm_id
        and ((d.icd_version = 9 and regexp_matches(d.icd_code, '^(038|9959[12]|78552|48[0-7]|5070|5770)'))
          or (d.icd_version = 10 and regexp_matches(d.icd_code, '^(A40|A41|R652|J1[0-8]|J690|K85)'))))
),

-- height ------------------------------------------------------------------------------------------------
heights as (
  select 1 as source, c.charttime, c.valuenum as cm, c.row_ref
  from chartevents c where c.subject_id = $subject_id and c.itemid = 226730
  union all
  select 2, c.charttime, c.valuenum * 2.54, c.row_ref
  from chartevents c where c.subject_id = $subject_id and c.itemid = 226707
  union all
  select 3, o.chartdate::timestamp, try_cast(o.result_value as double) * 2.54, o.row_ref
  from omr o where o.subject_id = $subject_id and o.result_name = 'Height (Inches)'
  union all
  select 4, t.charttime, written_height(t.value), t.row_ref
  from told t where t.reading = 'height'
),
body as (
  select arg_min(h, (h.source, abs(epoch(h.charttime) - epoch(stay.intime)), h.row_ref)) as h
  from heights h, stay
  where h.cm >= 120 and h.cm <= 230 and stay.gender in ('M', 'F')
),
weight as (
  select
    h is not null as known, h.row_ref as row_ref,
    (if(stay.gender = 'M', 50, 45.5) + 0.91 * (h.cm - 152.4))::decimal(9, 3) as pbw
  from body, stay
),

-- the ventilator in the window --------------------------------------------------------------------------
window_values as (
  select c.itemid, c.charttime, min(c.number) as number, min(c.row_ref) as row_ref
  from charted c, onset
  where c.charttime >= onset.t and c.charttime <= onset.until
    and (
      (c.itemid in (224684, 224685) and c.number > 0 and c.number <= 2000)
      or (c.itemid = 224696 and c.number > 0 and c.number <= 80)
      or (c.itemid = 224695 and c.number > 0 and c.number <= 100))
  group by c.itemid, c.charttime
),
volumes as (  -- set ones; else observed ones under a mandatory mode of the 4 h before
  select number, row_ref, charttime from window_values where itemid = 224684
  union all
  select w.number, w.row_ref, w.charttime
  from window_values w
  where w.itemid = 224685 and not exists (from window_values where itemid = 224684)
    and (select arg_max(m.mandatory, m.charttime) from moded m
         where m.charttime <= w.charttime and m.charttime >= w.charttime - interval 4 hour)
),
volume as (
  select count(*)::integer as n, median(number) as ml, coalesce(list(row_ref order by charttime), []) as rows
  from volumes
),
plateau as (
  select median(number) as value, coalesce(list(row_ref order by charttime), []) as rows
  from window_values where itemid = 224696
),
peak as (
  select median(number) as value, coalesce(list(row_ref order by charttime), []) as rows
  from window_values where itemid = 224695
)

select
  o.t as anchor_t_onset,
  {
    value: coalesce(c.seen, false),
    rows: (select coalesce(flatten(list(rows)), []) from ventilated) || coalesce(c.rows, [])
      || (select coalesce(list(row_ref order by charttime), []) from around)
  } as assessable,
  {value: o.t is not null, rows: coalesce(c.rows, [])} as oxygenation,
  {value: i.value, rows: (select coalesce(flatten(list(rows)), []) from reports)} as imaging,
  {
    value: exists (from heart), rows: (select coalesce(list(distinct row_ref), []) from heart)
  } as cardiac,
  {value: w.known, rows: if(w.known, [w.row_ref], [])} as height,
  {value: v.n, rows: v.rows} as n_vt,
  {value: round(v.ml / w.pbw, 1)::decimal(6, 1), rows: v.rows || if(w.known, [w.row_ref], [])} as vt_ml_kg,
  {value: round(p.value, 1)::decimal(6, 1), rows: p.rows} as pplat,
  {value: round(k.value, 1)::decimal(6, 1), rows: if(p.value is null, k.rows, [])} as ppeak,
  {value: round(w.pbw, 1)::decimal(6, 1), rows: if(w.known, [w.row_ref], [])} as pbw,
  {value: o.ratio, rows: if(o.t is null, [], coalesce(c.rows, []))} as pf_onset
from onset o, candidate, imaging i, weight w, volume v, plateau p, peak k
