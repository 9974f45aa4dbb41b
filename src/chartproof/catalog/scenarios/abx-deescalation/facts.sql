-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of abx-deescalation: one row. The clock begins with the first broad dose that another follows.
with stay as materialized (
  select a.admittime, a.dischtime, a.deathtime, a.row_ref
  from admissions a where a.hadm_id = $hadm_id
),
told as materialized (select * from noted where note_table = 'discharge' and hadm_id = $hadm_id),
broad as materialized (
  select * from (values ('vancomycin', 'anti_mrsa'), ('linezolid', 'anti_mrsa'), ('daptomycin', 'anti_mrsa'),
    ('piperacillin', 'antipseudomonal'), ('tazobactam', 'antipseudomonal'), ('cefepime', 'antipseudomonal'),
    ('ceftazidime', 'antipseudomonal'), ('meropenem', 'antipseudomonal'), ('imipenem', 'antipseudomonal'),
    ('aztreonam', 'antipseudomonal')) as x (ingredient, kind)
),

-- doses ------------------------------------------------------------------------------------------------
given_ as materialized (  -- a dose whose route no order tells counts as intravenous, by its name
  select
    e.emar_id, e.charttime as moment, e.medication, e.row_ref,
    coalesce(
      (select any_value(r.route) from prescriptions r where r.pharmacy_id = e.pharmacy_id),
      (select any_value(r.route) from prescriptions r where r.poe_id = e.poe_id),
      (select any_value(d.route) from emar_detail d where d.emar_id = e.emar_id and d.route is not null),
      if(regexp_matches(e.medication, 'oral|tablet|capsule|enema|liquid|ophth|inhal', 'i'), 'PO', 'IV')) as route
  from emar e
  where e.hadm_id = $hadm_id and administered(e.event_txt) and e.charttime is not null
    and e.medication in (select name from drug_name where class = 'antibiotic')
),
charted as materialized (
  select g.moment, g.row_ref, b.kind, min(b.ingredient) as ingredient, g.route like 'IV%' as intravenous
  from given_ g join drug_name d on d.name = g.medication join broad b using (ingredient)
  where g.route like 'IV%' or b.ingredient = 'linezolid'
  group by all
),
doses as materialized (
  select * from charted
  union all
  select i.starttime, i.row_ref, k.kind, k.ingredient, true
  from inputevents i join (
    values (225798, 'vancomycin', 'anti_mrsa'), (225863, 'daptomycin', 'anti_mrsa'),
      (225881, 'linezolid', 'anti_mrsa'), (225847, 'aztreonam', 'antipseudomonal'),
      (225851, 'cefepime', 'antipseudomonal'), (225853, 'ceftazidime', 'antipseudomonal'),
      (225876, 'imipenem', 'antipseudomonal'), (225883, 'meropenem', 'antipseudomonal'),
      (225893, 'piperacillin', 'antipseudomonal')
  ) as k (itemid, ingredient, kind) using (itemid)
  where i.hadm_id = $hadm_id and i.amount > 0 and i.statusdescription is distinct from 'Rewritten'
    and not exists (  -- charted in both streams within an hour is one dose
      from charted c where c.kind = k.kind and c.ingredient = k.ingredient
        and c.moment between i.starttime - interval 1 hour and i.starttime + interval 1 hour)
),
streams as materialized (
  select
    (select list(row_ref order by row_ref)[:3] from emar where hadm_id = $hadm_id) as emar,
    (select list(row_ref order by row_ref)[:3] from inputevents where hadm_id = $hadm_id
      and itemid in (225798, 225847, 225851, 225853, 225863, 225876, 225881, 225883, 225893)) as icu
),
begin_ as materialized (
  select min(d.moment) as t0, arg_min(d.row_ref, d.moment) as row_ref from doses d
  where d.intravenous and exists (
    from doses o where o.row_ref <> d.row_ref and o.moment >= d.moment
      and o.moment <= d.moment + interval 72 hour)
),

-- how long the patient was observed -------------------------------------------------------------------------
comfort as materialized (
  select min(c.charttime) as moment, list(c.row_ref order by c.row_ref) as rows
  from chartevents c, begin_ b
  where c.hadm_id = $hadm_id and c.itemid = 223758 and lower(c.value) = 'comfort measures only'
    and c.charttime < b.t0 + interval 72 hour
),
comfort_told as materialized (  -- by the third day at the latest; an undated one counts as later
  select list(distinct row_ref order by row_ref) as rows from told
  where reading = 'comfort_care' and value in ('arrival', 'early')
),
ending as materialized (
  select
    least(coalesce(s.dischtime, s.deathtime, timestamp '2999-12-31'), coalesce(s.deathtime, timestamp '2999-12-31'),
      coalesce(c.moment, timestamp '2999-12-31')) as moment,
    coalesce(s.dischtime, s.deathtime, timestamp '2999-12-31') > b.t0 + interval 72 hour
      and coalesce(s.deathtime > b.t0 + interval 72 hour, true)
      and c.moment is null and t.rows is null as followed,
    [s.row_ref] || coalesce(c.rows, []) || coalesce(t.rows, []) as rows
  from stay s, begin_ b, comfort c, comfort_told t
),

-- which classes went on ---------------------------------------------------------------------------------
spaced as materialized (
  select d.*, d.moment - lag(d.moment) over (partition by d.kind order by d.moment, d.row_ref) as since
  from doses d, begin_ b, stay s where d.moment >= b.t0 and d.moment <= coalesce(s.dischtime, timestamp '2999-12-31')
),
courses as materialized (
  select *, count(*) filter (since > interval 72 hour)
    over (partition by kind order by moment, row_ref rows unbounded preceding) as course
  from spaced
),
last_ as materialized (  -- of the course that began with the class's first dose
  select kind, max(moment) as moment, arg_max(row_ref, moment) as row_ref, arg_max(ingredient, moment) as ingredient
  from courses where course = 0 group by kind
),
levels as materialized (
  select l.charttime as moment, l.row_ref from labevents l where l.subject_id = $subject_id and l.itemid = 51009
),
narrower as materialized (
  select g.moment, g.row_ref from given_ g
  where not exists (from drug_name d join broad using (ingredient) where d.name = g.medication)
),
continued as materialized (
  select
    l.kind, l.row_ref,
    case when e.followed then l.moment > b.t0 + interval 84 hour
      else l.moment >= e.moment - if(l.ingredient = 'daptomycin' or (l.ingredient = 'vancomycin' and exists (
            from levels v where v.moment between l.moment - interval 36 hour and l.moment)),
          interval 24 hour, interval 12 hour)
        and not exists (from narrower n where n.moment > l.moment and n.moment <= e.moment)
    end as value
  from last_ l, begin_ b, ending e
),

-- cultures ------------------------------------------------------------------------------------------------
cultures as materialized (  -- clinical ones; screens, serology, toxins and cancelled specimens are none
  select m.* from microbiologyevents m, begin_ b
  where m.subject_id = $subject_id
    and ((m.charttime >= b.t0 - interval 72 hour and m.charttime <= b.t0 + interval 72 hour)
      or (m.charttime is null and m.chartdate >= (b.t0 - interval 72 hour)::date
        and m.chartdate <= (b.t0 + interval 72 hour)::date))
    and not regexp_matches(concat_ws(' ', m.spec_type_desc, m.test_name),
      'SCREEN|SURVEILLANCE|PREOP|VRE|DIFFICILE|SEROLOGY|ANTIBODY|ANTIGEN|TOXIN|VIRAL LOAD', 'i')
    and not (m.org_name is null and coalesce(regexp_matches(m.comments, 'cancel|not processed', 'i'), false))
),
growth as materialized (
  select
    micro_specimen_id, row_ref, coalesce(charttime, chartdate) as moment, spec_type_desc,
    upper(coalesce(org_name, '')) as org, upper(coalesce(ab_name, '')) as ab, interpretation,
    upper(coalesce(comments, '')) as words
  from cultures
),
needing as materialized (  -- an organism that needs the class
  select 'anti_mrsa' as kind, row_ref from growth
  where (org like 'STAPH%AUREUS%' and ab = 'OXACILLIN' and interpretation in ('R', 'I'))
    or (org like 'ENTEROCOCC%' and ab = 'AMPICILLIN' and interpretation in ('R', 'I'))
    or (org like '%STREPTOCOCC%' and ab in ('PENICILLIN G', 'PENICILLIN', 'CEFTRIAXONE') and interpretation = 'R')
  union
  select 'antipseudomonal', row_ref from growth
  where org like 'PSEUDOMONAS%' or regexp_matches(words || ' ' || ab, 'ESBL|EXTENDED[- ]SPECTRUM|AMPC')
    or (ab = 'CEFTRIAXONE' and interpretation in ('R', 'I')
      and not regexp_matches(org, 'STAPH|STREP|ENTEROCOCC'))
),
advised as materialized (
  select distinct
    unnest(if(value = 'both', ['anti_mrsa', 'antipseudomonal'], [value])) as kind, row_ref
  from told where reading = 'id_advice'
),
justified as materialized (
  select c.kind, exists (from needing n where n.kind = c.kind) or exists (from advised a where a.kind = c.kind)
    as value
  from continued c where c.value
),
skin as materialized (  -- one set alone, of those drawn on a day or on days that follow
  select g.row_ref from growth g
  where g.spec_type_desc = 'BLOOD CULTURE' and regexp_matches(g.org, 'COAGULASE NEGATIVE|COAG NEG|EPIDERMIDIS')
    and not exists (from growth o
      where o.micro_specimen_id <> g.micro_specimen_id and o.org = g.org
        and o.spec_type_desc = 'BLOOD CULTURE'
        and abs(date_diff('day', o.moment::date, g.moment::date)) <= 1)
),
flora as materialized (
  select row_ref from growth
  where org like '%YEAST%'
    or (regexp_matches(coalesce(spec_type_desc, ''), 'SPUTUM|BRONCH|BAL', 'i')
      and regexp_matches(org || ' ' || words, 'MIXED|OROPHARYNGEAL|COMMENSAL|NORMAL FLORA'))
),
doubtful as materialized (
  select 'anti_mrsa' as kind, row_ref from skin
  union select 'anti_mrsa', row_ref from flora
  union select 'antipseudomonal', row_ref from flora
),

-- is it defensible? -----------------------------------------------------------------------------------------
counts as materialized (
  select l.itemid, l.specimen_id, l.charttime as moment, l.row_ref,
    lab_bounded(l.valuenum, l.value, l.comments)::decimal(12, 3) as value
  from labevents l, begin_ b
  where l.subject_id = $subject_id and l.itemid in (52075, 51301, 51256, 51144)
    and l.charttime >= b.t0 + interval 48 hour and l.charttime <= b.t0 + interval 72 hour
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
),
neutrophils as materialized (  -- the absolute count goes before what white cells and percents give
  select value, row_ref from (
    select value, row_ref, moment, 1 as source from counts where itemid = 52075
    union all
    select w.value * (n.value + coalesce(b.value, 0)) / 100, n.row_ref, w.moment, 2
    from counts w join counts n on n.specimen_id = w.specimen_id and n.itemid = 51256
    left join counts b on b.specimen_id = w.specimen_id and b.itemid = 51144
    where w.itemid = 51301
  ) order by source, moment desc, row_ref limit 1
),
pressors as materialized (
  select i.row_ref from inputevents i, begin_ b
  where i.subject_id = $subject_id
    and i.itemid in (221906, 222315, 221749, 229630, 229632, 221289, 229617) and i.rate > 0
    and i.statusdescription is distinct from 'Rewritten'
    and i.starttime <= b.t0 + interval 72 hour and i.endtime > b.t0 + interval 72 hour
),
reasons as materialized (select distinct row_ref from told where reading = 'continuation_reason'),
tally as materialized (
  select
    (select count(*) from continued where value) as n,
    (select count(*) from justified where value) as m
)

select
  {
    value: b.t0 is not null,
    rows: list_filter([b.row_ref], lambda r: r is not null) || coalesce(x.emar, []) || coalesce(x.icu, [])
  } as admin_observable,
  {value: coalesce(e.followed, true), rows: coalesce(e.rows, [])} as followup72,
  {
    value: exists (from cultures),
    rows: coalesce((select list(distinct row_ref order by row_ref) from cultures), [])
  } as cultures,
  {
    value: t.n,
    rows: coalesce((select list(row_ref order by row_ref) from continued), [])
  } as classes_continued,
  {
    value: t.m,
    rows: coalesce((select list(distinct n.row_ref order by n.row_ref) from needing n
        where n.kind in (select kind from justified)), [])
      || coalesce((select list(distinct a.row_ref order by a.row_ref) from advised a
        where a.kind in (select kind from justified)), [])
      || if(t.m > 0, [], coalesce((select list(distinct row_ref order by row_ref) from cultures), []))
  } as classes_justified,
  {
    value: coalesce((select value < 0.5 from neutrophils), false) or exists (from pressors)
      or exists (from reasons),
    rows: coalesce((select [row_ref] from neutrophils), [])
      || coalesce((select list(row_ref order by row_ref) from pressors), [])
      || coalesce((select list(row_ref order by row_ref) from reasons), [])
  } as defensible,
  {
    value: t.m < t.n
      and not exists (from justified j where not j.value
        and not exists (from doubtful d where d.kind = j.kind))
      and not exists (from told where reading = 'isolate_significance' and value = 'infection'),
    rows: coalesce((select list(distinct row_ref order by row_ref) from doubtful),
        (select list(distinct row_ref order by row_ref) from cultures), [])
  } as uncertain_growth_only,
  b.t0 as anchor_t0
from begin_ b, streams x, ending e, tally t
