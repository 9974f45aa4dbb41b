-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of dka-resolution: one row per candidate time of the first insulin, and the row `unresolved`.
with adm as materialized (
  select
    hadm_id, admittime, coalesce(edregtime, admittime) as arrival,
    coalesce(edouttime, admittime) as ed_left, least(dischtime, deathtime) as left_at
  from admissions
  where subject_id = $subject_id and hadm_id = $hadm_id
),

-- laboratory: by patient and draw time, never by encounter ---------------------------------------
results as materialized (
  select
    l.itemid, l.charttime, l.specimen_id, l.labevent_id, l.row_ref,
    coalesce(nullif(trim(l.value), '___'), l.comments) as written,
    (lab_bounded(l.valuenum, l.value, l.comments)
      * case
          when l.itemid in (50931, 50809) and lower(l.valueuom) = 'mmol/l' then 18.016
          when l.itemid = 51567 and lower(l.valueuom) = 'mg/dl' then 1 / 10.4
          else 1
        end)::decimal(12, 3) as number
  from labevents l, adm
  where l.subject_id = $subject_id
    and l.itemid in (50931, 50809, 50983, 50902, 50882, 50820, 51484, 50857, 51567, 50813, 50981,
      50912)
    and l.charttime >= adm.arrival - interval 12 hour
    and l.charttime <= coalesce(adm.left_at, timestamp '2999-12-31') + interval 1 hour
),
bases as materialized (  -- one panel for each time at which bicarbonate was drawn
  select
    charttime as drawn, min(specimen_id) as specimen_id,
    arg_min(number, (specimen_id, labevent_id)) as hco3,
    arg_min(row_ref, (specimen_id, labevent_id)) as hco3_ref
  from results where itemid = 50882 and number is not null
  group by charttime
),
mates as materialized (  -- the other analytes: of the same specimen, else drawn within 15 minutes
  select
    b.drawn, if(r.itemid = 50809, 50931, r.itemid) as item,
    arg_min({number: r.number, row_ref: r.row_ref},
      (r.itemid = 50809, coalesce(r.specimen_id <> b.specimen_id, true),
       abs(epoch(r.charttime) - epoch(b.drawn)), r.labevent_id)) as best
  from bases b join results r
    on r.itemid in (50931, 50809, 50983, 50902) and r.number is not null
    and (r.specimen_id = b.specimen_id
      or abs(epoch(r.charttime) - epoch(b.drawn)) <= 15 * 60)
  group by 1, 2
),
acidity as materialized (  -- arterial or venous pH nearest to the panel
  select
    b.drawn, arg_min({number: r.number, row_ref: r.row_ref},
      (abs(epoch(r.charttime) - epoch(b.drawn)), r.charttime, r.labevent_id)) as best
  from bases b join results r
    on r.itemid = 50820 and r.number between 6 and 8.5
    and abs(epoch(r.charttime) - epoch(b.drawn)) <= 2 * 3600
  group by 1
),
complete as materialized (
  select
    b.drawn, b.hco3, g.best.number as glucose, c.best.number as cl,
    s.best.number - (c.best.number + b.hco3) as gap, a.best.number as ph,
    [g.best.row_ref, s.best.row_ref, c.best.row_ref, b.hco3_ref]
      || if(a.best is null, [], [a.best.row_ref]) as rows
  from bases b
  join mates g on g.drawn = b.drawn and g.item = 50931
  join mates s on s.drawn = b.drawn and s.item = 50983
  join mates c on c.drawn = b.drawn and c.item = 50902
  left join acidity a on a.drawn = b.drawn
),

-- the ketoacidosis -----------------------------------------------------------------------------
noticed as materialized (  -- what this admission's summary says
  select n.* from noted n join adm using (hadm_id) where n.note_table = 'discharge'
),
at_arrival as materialized (
  select r.* from results r, adm where r.charttime <= adm.arrival + interval 12 hour
),
sweet as materialized (
  select charttime, row_ref from at_arrival where itemid in (50931, 50809) and number > 250
),
sour as materialized (
  select charttime, row_ref from at_arrival
  where (itemid = 50820 and number between 6 and 7.30) or (itemid = 50882 and number <= 18)
),
ketone_tests as materialized (
  select
    charttime, row_ref, number is not null or written is not null as measured,
    coalesce(
      case itemid
        when 51484 then number >= 40 or regexp_matches(written, '^\s*(lge|large|mod)', 'i')
        when 50857 then number > 0
          or regexp_matches(written, '^\s*(pos|lge|large|mod|sm|\d+ ?: ?\d|[1-4]\+)', 'i')
        when 51567 then number >= 3
      end, false) as positive
  from at_arrival where itemid in (51484, 50857, 51567)
),
ketotic as materialized (
  select charttime, row_ref from ketone_tests where positive
  union all  -- the gap stands in where no ketone was looked for
  select c.drawn, unnest(c.rows) from complete c, adm
  where c.gap > 12 and c.drawn <= adm.arrival + interval 12 hour
    and not exists (from ketone_tests where measured)
),
normal_sugar as materialized (
  select row_ref from noticed where reading = 'euglycemic_dka' and value = 'stated'
),
dka as (
  select (exists (from sweet) or exists (from normal_sugar))
    and exists (from sour) and exists (from ketotic) as value
),
qualifying as materialized (  -- the earliest of the results that make the diagnosis
  select min(charttime) as since
  from (select charttime from sweet union all select charttime from sour
        union all select charttime from ketotic)
),

-- insulin ----------------------------------------------------------------------------------------
given as materialized (
  select e.starttime as moment, e.row_ref
  from inputevents e join adm using (hadm_id)
  where e.itemid in (223257, 223258, 223259, 223260, 223261, 223262, 229299, 229619)
    and e.amount > 0 and e.statusdescription is distinct from 'Rewritten'
  union all
  select e.charttime, e.row_ref
  from emar e join adm using (hadm_id)
  where administered(e.event_txt)
    and e.medication in (
      select name from drug_name where class in ('insulin_rapid', 'insulin_long', 'insulin_nph'))
),
recorded as materialized (
  select min(g.moment) as moment, arg_min(g.row_ref, (g.moment, g.row_ref)) as row_ref
  from given g, qualifying q where g.moment >= q.since
  having min(g.moment) is not null
),
told as materialized (  -- insulin of the ED, the ambulance or another hospital, as the summary tells it
  select
    n.row_ref, n.value = 'untimed' as untimed,
    if(n.value = 'untimed', null, written_moment(n.value, adm.arrival)) as moment,
    regexp_matches(n.text,
      '\b(osh|outside|transfer\w*|referring|ems|ambulance|paramedics?|urgent care|clinic|en route)\b',
      'i') as elsewhere
  from noticed n, adm where n.reading = 'early_insulin'
),
told_time as materialized (  -- a stated clock goes before the first recorded dose
  select min(t.moment) as moment, arg_min(t.row_ref, t.moment) as row_ref
  from told t
  where t.moment is not null
    and t.moment < coalesce((select moment from recorded), timestamp '2999-12-31')
  having min(t.moment) is not null
),
told_untimed as materialized (  -- of the ED, where the record itself has a dose in the ED, is that dose
  select list(t.row_ref) as rows
  from told t, adm, recorded r
  where t.untimed and (t.elsewhere or r.moment >= adm.ed_left) and r.moment > adm.arrival
    and not exists (from told_time)
  having count(*) > 0
),
infusion as materialized (  -- eMAR events of a running insulin; only infusions have such events
  select e.charttime as moment, not regexp_matches(e.event_txt, 'Stopped') as running
  from emar e join adm using (hadm_id)
  where e.medication in (
      select name from drug_name where class in ('insulin_rapid', 'insulin_long', 'insulin_nph'))
    and regexp_matches(e.event_txt,
      '^(Delayed )?(Started|Restarted|Confirmed|Rate Change|Infusion Reconciliation|Stopped)')
    and e.event_txt not like '%Not Done%'
),
sets as materialized (
  select
    row_number() over (order by c.drawn) as n, c.*,
    c.glucose < 200
      and (c.hco3 >= 15)::int + coalesce(c.ph > 7.30, false)::int + (c.gap <= 12)::int >= 2
      as resolved,
    c.glucose < 200 and c.gap <= 12 and c.cl >= 110 and c.hco3 < 15
      and coalesce(c.ph <= 7.30, true) as chloride,
    exists (
      from inputevents e, adm
      where e.hadm_id = adm.hadm_id and e.itemid = 223258 and e.rate > 0
        and e.statusdescription is distinct from 'Rewritten'
        and e.starttime <= c.drawn and c.drawn < e.endtime)
      or coalesce((select arg_max(i.running, i.moment) from infusion i where i.moment <= c.drawn), false)
      as infusing
  from complete c
),

-- candidate times ----------------------------------------------------------------------------------
breakpoints as (  -- the verdict as a function of t0 can change only here
  select s.drawn - unnest([interval 0 hour, interval 16 hour, interval 24 hour]) as moment
  from sets s
  union all
  select s.drawn - interval 957 minute from sets s  -- hours are compared at one decimal
  union all
  select left_at - interval 24 hour from adm
),
candidates as materialized (
  select moment as t0, [row_ref] as rows, 0 as preference from told_time
  union all
  select r.moment, [r.row_ref], 0 from recorded r where not exists (from told_time)
  union all
  select distinct moments.t0, u.rows, 1
  from told_untimed u, adm, recorded r, (
    select arrival as t0 from adm
    union all
    select moment + unnest([interval (-1) second, interval 0 second, interval 1 second])
    from breakpoints
  ) moments
  where moments.t0 >= adm.arrival and moments.t0 < r.moment
),
reading as materialized (
  select t0, rows, preference, 'insulin at ' || strftime(t0, '%Y-%m-%d %H:%M:%S') as name
  from candidates
  union all
  select null, [], 2, 'unresolved'
),
inside as materialized (
  select r.name, r.t0, s.* from reading r
  join sets s on s.drawn > r.t0 and s.drawn <= r.t0 + interval 24 hour
),
counted as materialized (
  select name, count(*) as n_sets, list(rows[4] order by drawn) as rows,
    bool_or(chloride) as chloride,
    coalesce(first(rows order by drawn) filter (where chloride), []) as chloride_rows,
    arg_max(drawn, drawn) as last_drawn, arg_max(rows, drawn) as last_rows,
    arg_max(gap, drawn) as last_gap
  from inside group by name
),
relapse as materialized (  -- resolved once, and failing again with the infusion off
  select f.name, f.drawn, f.rows from inside f
  where not f.resolved and not f.infusing
    and exists (from inside i where i.name = f.name and i.resolved and i.drawn < f.drawn)
),
rebounds as (select name, first(rows order by drawn) as rows from relapse group by name),
resolution as materialized (
  select i.name, min(i.drawn) as drawn, arg_min(i.rows, i.drawn) as rows,
    arg_min(i.gap, i.drawn) as gap
  from inside i
  where i.resolved
    and not exists (from relapse f where f.name = i.name and f.drawn > i.drawn)
  group by i.name
),

-- what makes acid-base values uninterpretable -----------------------------------------------------
bicarbonate as materialized (
  select e.starttime as since, coalesce(e.endtime, e.starttime) as until, e.row_ref
  from inputevents e join adm using (hadm_id)
  where e.itemid in (220995, 221211, 227533) and e.amount > 0
    and e.statusdescription is distinct from 'Rewritten'
  union all
  select e.charttime, e.charttime, e.row_ref
  from emar e join adm using (hadm_id)
  where administered(e.event_txt)
    and e.medication in (select name from drug_name where ingredient = 'sodium bicarbonate')
    and coalesce(
      (select any_value(p.route) from pharmacy p where p.pharmacy_id = e.pharmacy_id),
      (select any_value(d.route) from emar_detail d where d.emar_id = e.emar_id),
      if(regexp_matches(e.medication, '8\.4|amp|drip|inj|syringe|\bIV\b|D5W', 'i'), 'IV', ''))
      ilike 'IV%'
),
esrd as materialized (
  select d.row_ref
  from diagnoses_icd d join adm using (hadm_id)
  where (d.icd_version = 9 and d.icd_code in ('5856', 'V4511'))
     or (d.icd_version = 10 and d.icd_code in ('N186', 'Z992'))
  union all
  select row_ref from noticed where reading = 'esrd' and value = 'stated'
),
nearby as materialized (  -- lactate and creatinine nearest to the last set
  select
    c.name, r.itemid, arg_min({number: r.number, row_ref: r.row_ref},
      (abs(epoch(r.charttime) - epoch(c.last_drawn)), r.charttime, r.labevent_id)) as best
  from counted c join results r
    on r.itemid in (50813, 50912) and r.number is not null
    and abs(epoch(r.charttime) - epoch(c.last_drawn)) <= 4 * 3600
  group by 1, 2
),
measured as (
  select name, list(best.row_ref order by itemid) as rows from nearby
  where best.number < 4 and name not in (select name from resolution)
  group by name
),
confounders as (
  select c.name, e.row_ref from counted c, esrd e
  union all
  select name, best.row_ref from nearby where best.number >= 4
  union all
  select c.name, r.row_ref from counted c join results r
    on r.itemid = 50981 and r.number >= 30 and r.charttime <= c.last_drawn
  union all
  select c.name, n.row_ref from counted c, noticed n
  where n.reading = 'toxic_alcohol' and n.value = 'stated'
  union all
  select c.name, b.row_ref from counted c join bicarbonate b
    on b.since <= c.last_drawn and b.until >= c.last_drawn - interval 4 hour
),
confounded as (
  select name, list(distinct row_ref order by row_ref) as rows from confounders
  where name not in (select name from resolution)
  group by name
),
charted as materialized (  -- an ICU charts every dialysis: in its hours the note adds nothing
  select s.name, list(i.row_ref order by i.row_ref) as rows
  from resolution s, icustays i, adm
  where i.hadm_id = adm.hadm_id and i.outtime >= s.drawn
    and i.intime <= greatest(s.drawn - interval 6 hour, adm.admittime + interval 2 hour)
  group by s.name
),
imitators as (  -- bicarbonate or dialysis that can make a set look resolved
  select s.name, b.row_ref from resolution s join bicarbonate b
    on b.since <= s.drawn and b.until >= s.drawn - interval 6 hour
  union all
  select s.name, e.row_ref from resolution s, procedureevents e, adm
  where e.hadm_id = adm.hadm_id and e.itemid in (225441, 225802, 225803, 225809, 225955)
    and e.statusdescription is distinct from 'Rewritten'
    and e.starttime <= s.drawn
    and coalesce(e.endtime, e.starttime) >= s.drawn - interval 6 hour
  union all
  select s.name, n.row_ref from resolution s, noticed n
  where n.reading = 'dialysis_during_dka' and n.value = 'early'
    and s.name not in (select name from charted)
),
imitated as (
  select name, list(distinct row_ref order by row_ref) as rows from imitators group by name
)

select
  r.name as reading,
  r.t0 as anchor_t0,
  s.drawn as anchor_t_resolved,
  c.last_drawn as anchor_t_last,
  {
    value: d.value,
    rows: (select coalesce(list(row_ref order by charttime)[:1], []) from sweet)
      || if(exists (from sweet), [], (select coalesce(list(row_ref), []) from normal_sugar))
      || (select coalesce(list(row_ref order by charttime)[:1], []) from sour)
      || if(exists (from sour) and not exists (from ketotic),
           (select coalesce(list(row_ref order by charttime), []) from ketone_tests),
           (select coalesce(list(row_ref order by charttime)[:4], []) from ketotic))
  } as dka_labs,
  {value: r.t0 is not null, rows: r.rows} as t0,
  {value: coalesce(c.n_sets, 0), rows: coalesce(c.rows, [])} as n_sets,
  {
    value: coalesce(adm.left_at < r.t0 + interval 24 hour, false),
    rows: (select list(row_ref) from admissions where hadm_id = $hadm_id)
  } as left_early,
  {value: s.name is not null, rows: coalesce(s.rows, c.last_rows, [])} as resolved_sustained,
  {
    value: f.name is not null,
    rows: coalesce(f.rows, m.rows, [])  -- where nothing confounds, what was measured and does not
  } as confounded,
  {value: i.name is not null, rows: coalesce(i.rows, h.rows, [])} as conf_false_yes,
  {value: coalesce(c.chloride, false), rows: coalesce(c.chloride_rows, [])} as hyperchloraemic,
  {
    value: coalesce(round((epoch(c.last_drawn) - epoch(r.t0)) / 3600, 1), 0),
    rows: coalesce(c.last_rows, [])
  } as last_set_h,
  {value: b.name is not null, rows: coalesce(b.rows, [])} as rebound,
  {value: coalesce(s.gap, c.last_gap), rows: coalesce(s.rows, c.last_rows, [])} as decisive_gap,
  {
    value: round((epoch(coalesce(s.drawn, c.last_drawn)) - epoch(r.t0)) / 3600, 1),
    rows: coalesce(s.rows, c.last_rows, [])
  } as decisive_h
from reading r
left join counted c using (name)
left join resolution s using (name)
left join confounded f using (name)
left join imitated i using (name)
left join measured m using (name)
left join charted h using (name)
left join rebounds b using (name), dka d, adm
order by r.preference, r.t0
