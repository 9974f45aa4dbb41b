-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of stroke-thrombolysis: one row; `t0` is the bolus of systemic alteplase.
with adm as materialized (
  select
    a.hadm_id, a.row_ref, a.deathtime, a.discharge_location, coalesce(a.dischtime, timestamp '2999-12-31') as dischtime,
    least(coalesce((select min(e.intime) from edstays e where e.hadm_id = a.hadm_id), a.admittime),
      coalesce(a.edregtime, a.admittime), a.admittime) as arrival
  from admissions a where a.hadm_id = $hadm_id
),
told as materialized (
  select n.* from noted n join adm on n.hadm_id = adm.hadm_id where n.note_table = 'discharge'
),
stroke as materialized (
  select d.row_ref from diagnoses_icd d join adm on d.hadm_id = adm.hadm_id
  where (d.icd_version = 9 and regexp_matches(d.icd_code, '^43[34]\d1$'))
     or (d.icd_version = 10 and d.icd_code like 'I63%')
),

-- systemic alteplase ---------------------------------------------------------------------------
doses as materialized (  -- what the eMAR says of the dose goes before the order's
  select
    e.charttime as given, e.row_ref,
    coalesce(
      (select sum(try_cast(d.dose_given as double)) from emar_detail d
       where d.emar_id = e.emar_id and lower(coalesce(d.dose_given_unit, 'mg')) = 'mg'),
      (select max(try_cast(p.dose_val_rx as double)) from prescriptions p
       where p.pharmacy_id = e.pharmacy_id and lower(coalesce(p.dose_unit_rx, 'mg')) = 'mg')) as mg
  from emar e, adm
  where e.subject_id = $subject_id and coalesce(e.hadm_id, $hadm_id) = $hadm_id
    and e.charttime >= adm.arrival - interval 6 hour and e.charttime < adm.dischtime
    and administered(e.event_txt)
    and e.medication in (select name from drug_name where ingredient = 'alteplase')
    -- products for catheters, pleura and ventricles
    and not regexp_matches(e.medication,
      'clear|cath|flush|lock|dwell|ventric|pleur|perit|(^|[^\d.])[12]\s?mg', 'i')
  union all
  select i.starttime, i.row_ref, i.amount::double
  from inputevents i, adm
  where i.subject_id = $subject_id and i.itemid = 221319
    and i.statusdescription is distinct from 'Rewritten' and lower(i.amountuom) = 'mg'
    and i.starttime >= adm.arrival - interval 6 hour and i.starttime < adm.dischtime
),
full_dose as materialized (select * from doses where coalesce(mg, 20) >= 20),
first_full as materialized (select min(given) as given from full_dose),
run as materialized (  -- the bolus may stand as a row of its own before the infusion
  select d.given, d.row_ref from doses d, first_full f
  where d.given >= f.given - interval 90 minute and d.given <= f.given + interval 90 minute
    and coalesce(d.mg, 20) >= 4
),
said as materialized (  -- a list of procedures may repeat the codes, which prove nothing
  select value, row_ref, line_from from told where reading = 'thrombolysis' and section <> 'procedures'
),
near as materialized (
  select coalesce((select min(given) from run), adm.arrival) as moment from adm
),
clocked as materialized (
  select written_moment(s.value, near.moment) as given, s.row_ref
  from said s, near where s.value not in ('aborted', 'given', 'withheld')
  order by s.line_from limit 1
),
lysis as materialized (
  select
    not exists (from said where value = 'aborted')
      and ((exists (from run) and exists (from stroke))
        or exists (from said where value not in ('aborted', 'withheld'))) as value,
    (select coalesce(list(row_ref order by given, row_ref), []) from run)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from said)
      || (select coalesce(list(row_ref order by row_ref), []) from stroke) as rows
),
bolus as materialized (  -- a clock before arrival goes before rows of what ran on here
  select
    case
      when not l.value then null
      when r.given is not null and not coalesce(c.given < adm.arrival, false) then r.given
      else c.given
    end as t0,
    if(r.given is not null and not coalesce(c.given < adm.arrival, false), r.rows,
      if(c.row_ref is null, [], [c.row_ref])) as rows
  from adm, lysis l,
    (select min(given) as given, list(row_ref order by given, row_ref) as rows from run) r
    left join clocked c on true
),
w as materialized (
  select t0, t0 + interval 24 hour as t24, t0 + interval 36 hour as t36 from bolus where t0 is not null
),

-- blood pressure ---------------------------------------------------------------------------------
pairs as materialized (
  select s.charttime, s.source <= 2 as arterial, s.sbp, s.dbp, s.rows
  from (
    select charttime,
      case when itemid in (220050, 220051) then 1 when itemid in (225309, 225310) then 2
        when itemid in (220179, 220180) then 3 when itemid in (224167, 224643) then 4 else 5 end as source,
      max(valuenum) filter (itemid in (220050, 225309, 220179, 224167, 227243)) as sbp,
      max(valuenum) filter (itemid in (220051, 225310, 220180, 224643, 227242)) as dbp,
      list(row_ref order by itemid) as rows
    from chartevents, w
    where subject_id = $subject_id and charttime >= w.t0 and charttime <= w.t24
      and ((itemid in (220050, 225309, 220179, 224167, 227243) and valuenum between 20 and 300)
        or (itemid in (220051, 225310, 220180, 224643, 227242) and valuenum between 10 and 200))
    group by all
  ) s
  where s.sbp is not null and s.dbp is not null
  union all
  select v.charttime, false, v.sbp, v.dbp, [v.row_ref]
  from vitalsign v, w
  where v.subject_id = $subject_id and v.charttime >= w.t0 and v.charttime <= w.t24
    and v.sbp between 20 and 300 and v.dbp between 10 and 200
),
readings as materialized (  -- an artery's reading goes before a cuff's of the same five minutes
  select
    p.charttime, bool_or(p.sbp > 180 or p.dbp > 105) as high,
    flatten(list(p.rows order by p.rows[1])) as rows
  from pairs p
  where p.arterial or not exists (
    from pairs a where a.arterial and abs(epoch(a.charttime) - epoch(p.charttime)) <= 300)
  group by p.charttime
),
gaps as materialized (
  select charttime, high, rows,
    lag(charttime) over (order by charttime) as before, lag(high) over (order by charttime) as before_high
  from readings
),
ended as materialized (
  select min(moment) as moment, list(row_ref order by moment, row_ref) as rows
  from (
    select a.deathtime as moment, a.row_ref from adm a, w where a.deathtime < w.t24
    union all
    select c.charttime, c.row_ref from chartevents c, w, adm
    where c.subject_id = $subject_id and c.itemid = 223758 and c.value = 'Comfort measures only'
      and c.charttime >= adm.arrival and c.charttime < w.t24
    union all
    select w.t24, t.row_ref from told t, w
    where t.reading = 'comfort_first_day' and t.value in ('immediate', 'first_day')
  )
),
cover as materialized (
  select
    count(*) as n, max(date_diff('minute', before, charttime)) as gap_min, max(charttime) as latest,
    coalesce(list(rows[1] order by charttime), []) as rows
  from gaps
),

-- excursions -------------------------------------------------------------------------------------
begun as materialized (  -- a run of high readings no more than an hour apart begins here
  select charttime, rows,
    sum(if(before_high and charttime - before <= interval 60 minute, 0, 1)) over (order by charttime) as n
  from gaps where high
),
runs as materialized (
  select min(charttime) as since, max(charttime) as until, flatten(list(rows order by charttime)) as rows
  from begun group by n having count(*) >= 2
),
lowering as materialized (
  select e.charttime as given, e.row_ref
  from emar e, w
  where e.subject_id = $subject_id and administered(e.event_txt)
    and e.charttime >= w.t0 and e.charttime <= w.t24 + interval 30 minute
    and e.medication in (
      select name from drug_name
      where ingredient in ('labetalol', 'nicardipine', 'clevidipine', 'hydralazine', 'enalaprilat'))
  union all
  select i.starttime, i.row_ref
  from inputevents i, w
  where i.subject_id = $subject_id and i.itemid in (225153, 222042, 229624, 229234, 221828)
    and i.statusdescription is distinct from 'Rewritten'
    and (coalesce(i.amount, 0) > 0 or coalesce(i.rate, 0) > 0)
    and i.starttime >= w.t0 and i.starttime <= w.t24 + interval 30 minute
),
thrombectomy as materialized (
  select p.chartdate, p.row_ref from procedures_icd p join adm on p.hadm_id = adm.hadm_id
  where (p.icd_version = 9 and p.icd_code = '3974')
     or (p.icd_version = 10 and regexp_matches(p.icd_code, '^03C[GHJKLPQ]'))
),
goal as materialized (
  select row_ref from told where reading = 'stroke_pressure_target' and value = 'other'
),
judged as materialized (
  select
    r.since, r.rows,
    coalesce((select list(l.row_ref order by l.given, l.row_ref) from lowering l
      where l.given >= r.since and l.given <= r.since + interval 30 minute), []) as drugs,
    exists (from readings x where not x.high
      and x.charttime > r.since and x.charttime <= r.since + interval 60 minute) as back,
    -- the code has a date alone: that of the excursion, or of two hours before
    coalesce((select list(t.row_ref order by t.row_ref) from thrombectomy t
      where t.chartdate in (r.since::date, (r.since - interval 2 hour)::date)), []) as procedure
  from runs r
),
uncorrected as materialized (
  select since,
    if(len(procedure) > 0 and exists (from goal), 'excused', 'unexcused') as label,
    rows || drugs
      || if(len(procedure) > 0 and exists (from goal), procedure || (select list(row_ref) from goal), [])
      as rows
  from judged where not (len(drugs) > 0 and back)
),
corrected as materialized (
  select coalesce(flatten(list(rows || drugs)), []) as rows from judged where len(drugs) > 0 and back
),

-- follow-up image and antithrombotics ------------------------------------------------------------
images as materialized (
  select
    coalesce(
      (select written_moment(any_value(t.value), r.charttime)
       from noted t where t.reading = 'study_time' and t.note_id = r.note_id),
      r.charttime) as performed,
    r.row_ref
  from radiology r, w
  where r.subject_id = $subject_id and r.charttime >= w.t0 and r.charttime <= w.t36 + interval 12 hour
    and exists (
      from noted n where n.note_id = r.note_id and n.reading = 'exam_modality'
        and (n.value in ('ct', 'mr')
          -- vessels and perfusion count where the brain was read
          or (n.value in ('cta', 'mra')
            and regexp_matches(r.text, '(infarct|h(a)?emorrhag|parenchym|\bbrain\b)', 'i'))))
    and (regexp_matches(left(r.text, 300), '\b(head|brain|neuro\w*|cerebral|crani\w*|stroke)\b', 'i')
      or exists (
        from radiology_detail d
        where d.note_id = r.note_id and d.field_name = 'exam_name'
          and regexp_matches(d.field_value, '\b(head|brain|neuro\w*|cerebral|crani\w*|stroke)\b', 'i')))
),
follow_up as materialized (
  select min(i.performed) as moment, arg_min(i.row_ref, i.performed) as row_ref
  from images i, w
  where i.performed >= w.t0 + interval 18 hour and i.performed <= w.t36
),
given as materialized (
  select e.charttime as moment, n.ingredient as drug, e.row_ref,
    -- under the skin against clots of the leg: no stent asks for it
    n.ingredient in ('heparin', 'enoxaparin', 'dalteparin', 'fondaparinux') and coalesce((
      select bool_or(upper(p.route) in ('SC', 'SUBCUT', 'SQ')) from prescriptions p
      where p.pharmacy_id = e.pharmacy_id), true) as prophylactic
  from emar e join drug_name n on n.name = e.medication, w
  where e.subject_id = $subject_id and administered(e.event_txt)
    and e.charttime > w.t0 and e.charttime <= w.t36
    and (n.class = 'anticoagulant' or n.ingredient in ('aspirin', 'clopidogrel', 'prasugrel', 'ticagrelor'))
    and not line_heparin(e.medication)
  union all
  select i.starttime,
    case i.itemid when 225906 then 'enoxaparin' when 225908 then 'fondaparinux'
      when 225147 then 'argatroban' when 225148 then 'bivalirudin' else 'heparin' end,
    i.row_ref, i.itemid in (225975, 225906, 225908)
  from inputevents i, w
  where i.subject_id = $subject_id and i.itemid in (225152, 225975, 225906, 225908, 225147, 225148)
    and i.statusdescription is distinct from 'Rewritten'
    and (coalesce(i.amount, 0) > 0 or coalesce(i.rate, 0) > 0)
    and i.starttime > w.t0 and i.starttime <= w.t36
),
watched as materialized (  -- the eMAR was kept in these hours: what it lacks was not given
  select coalesce(list(e.row_ref order by e.charttime, e.row_ref)[:5], []) as rows
  from emar e, w
  where e.subject_id = $subject_id and e.charttime > w.t0 and e.charttime <= w.t36
),
reason as materialized (
  select value, row_ref from told
  where reading = 'antithrombotic_after_lysis' and value in ('indicated', 'early')
),
early as materialized (
  select g.drug, min(g.moment) as moment,
    if(exists (from reason where value = 'indicated') and not bool_or(g.prophylactic),
      'excused', 'unexcused') as label,
    list(g.row_ref order by g.moment, g.row_ref)
      || (select coalesce(list(distinct row_ref order by row_ref), []) from reason
          where value = 'indicated') as rows
  from given g, w, follow_up f
  where g.moment < coalesce(f.moment, w.t36)
  group by g.drug
  union all  -- no eMAR at all: what the summary says plainly
  select 'told', w.t0, if(bool_or(r.value = 'indicated'), 'excused', 'unexcused'),
    list(distinct r.row_ref order by r.row_ref)
  from reason r, w
  where not exists (
    from emar e where e.subject_id = $subject_id and e.charttime >= w.t0 and e.charttime <= w.t36)
    and not exists (from given)
  group by w.t0
)

select
  {value: l.value, rows: l.rows} as tpa,
  {value: b.t0 is not null, rows: b.rows} as t0_known,
  {
    value: coalesce(
      c.n >= 12 and c.gap_min <= 120
        and c.latest >= least(w.t24, coalesce(e.moment, w.t24)) - interval 2 hour, false),
    rows: c.rows
  } as adequate_bp,
  {  -- who went home alive was not on comfort care on the first day
    value: e.moment is not null,
    rows: coalesce(e.rows, (select list(row_ref) from adm
      where deathtime is null and discharge_location not in ('DIED', 'HOSPICE')), [])
  } as early_end,
  {
    value: (select coalesce(list(label order by since), []) from uncorrected),
    rows: (select coalesce(flatten(list(rows order by since)), []) from uncorrected)
      || (select rows from corrected) || if(exists (from uncorrected), [], c.rows)
  } as excursions,
  {
    value: (select coalesce(list(label order by moment, drug), []) from early),
    rows: (select coalesce(flatten(list(rows order by moment, drug)), []) from early)
      || if(exists (from early), [], (select rows from watched))
  } as early_at,
  {
    value: f.moment is not null,
    rows: if(f.moment is null, (select coalesce(list(row_ref order by performed), []) from images),
      [f.row_ref])
  } as fu_in_band,
  {value: coalesce(c.n, 0), rows: c.rows} as n_bp,
  {value: c.gap_min, rows: c.rows} as gap_min,
  b.t0 as anchor_t0,
  f.moment as anchor_t_image,
  (select min(moment) from given where moment < coalesce(f.moment, w.t36)) as anchor_t_antithrombotic,
  coalesce((select min(since) from uncorrected), (select min(since) from judged)) as anchor_t_high
from lysis l, bolus b, cover c, ended e, follow_up f
left join w on true
