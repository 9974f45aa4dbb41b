-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of apap-nac: one row. Times run from the ingestion, as the summary tells it.
with adm as materialized (
  select
    a.hadm_id, a.row_ref,
    coalesce(
      (select min(e.intime) from edstays e where e.hadm_id = a.hadm_id), a.edregtime, a.admittime)
      as arrival,
    coalesce(a.dischtime, timestamp '2999-12-31') as dischtime
  from admissions a
  where a.subject_id = $subject_id and a.hadm_id = $hadm_id
),
told as materialized (  -- what this admission's summary says
  select n.* from noted n join adm using (hadm_id) where n.note_table = 'discharge'
),

-- levels: mcg/mL, by patient and draw time, never by encounter --------------------------------
levels as materialized (
  select
    l.charttime as drawn, coalesce(l.storetime, l.charttime + interval 1 hour) as stored,
    l.labevent_id, l.row_ref,
    (case
      when regexp_matches(coalesce(nullif(trim(l.value), '___'), l.comments, ''), '^\s*(<|neg|none|not det|undet)', 'i')
        then 0
      else lab_bounded(l.valuenum, l.value, l.comments)
    end / if(lower(l.valueuom) = 'umol/l', 6.62, 1))::decimal(12, 3) as mcg_ml
  from labevents l, adm
  where l.subject_id = $subject_id and l.itemid = 50856
    and l.charttime >= adm.arrival - interval 24 hour
    and l.charttime < adm.arrival + interval 24 hour
),
read as materialized (  -- those that can be those of this visit, in order
  select l.*, row_number() over (order by l.drawn, l.labevent_id) as n
  from levels l, adm
  where l.mcg_ml is not null and l.drawn >= adm.arrival - interval 6 hour
),

-- the ingestion ----------------------------------------------------------------------------------
exposure as materialized (
  select
    bool_or(value = 'repeated') as repeated,
    bool_or(value in ('acute', 'repeated', 'taken')) as yes,
    list(distinct row_ref order by row_ref) as rows
  from told where reading = 'acetaminophen_exposure' having count(*) > 0
),
numbers as materialized (
  select * from (values ('half an', 0.5), ('half a', 0.5), ('an', 1), ('one', 1), ('two', 2),
    ('three', 3), ('four', 4), ('five', 5), ('six', 6), ('seven', 7), ('eight', 8), ('nine', 9),
    ('ten', 10), ('eleven', 11), ('twelve', 12), ('fifteen', 15), ('sixteen', 16), ('eighteen', 18),
    ('twenty', 20), ('twenty four', 24), ('twenty-four', 24), ('thirty', 30), ('forty', 40),
    ('fifty', 50), ('sixty', 60), ('seventy', 70), ('eighty', 80), ('ninety', 90),
    ('a hundred', 100), ('one hundred', 100)) as t(word, number)
),
times as materialized (  -- what is told of the time, its ends as words
  select
    t.row_ref, t.line_from, t.value, t.by_clock,
    case when t.value like '%min%' then 1 / 60.0 when t.value like '%day%' then 24 else 1 end as hours,
    regexp_extract(t.value, '([ap])\.?m', 1) as half,
    unnest(regexp_extract_all(t.value,
      if(t.by_clock, '\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|\d{4}|\d{1,2}|noon|midnight',
        '\d+(?:\.\d+)?|\b(?:half an?|twenty(?:[- ]four)?|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|eighteen)\b'))) as word
  from (
    select *, regexp_matches(value, '\d:\d|[ap]\.?m\b|noon|midnight|^\d{4}$') as by_clock
    from told where reading = 'ingestion_time' and value not in ('vague', 'unknown')
  ) t
),
moments as materialized (  -- each end as a moment; a clock is the last one before arrival
  select
    t.row_ref, t.line_from, t.value,
    if(t.by_clock,
      adm.arrival::date + t.clock - if(adm.arrival::date + t.clock > adm.arrival, interval 1 day, interval 0 day),
      adm.arrival - to_minutes(round(60 * t.hours * t.number)::bigint)) as moment
  from (
    select
      t.*, coalesce(try_cast(t.word as double), n.number) as number,
      clock_time(if(regexp_matches(t.word, '^\d{1,2}$'), t.word || t.half || 'm', t.word)) as clock
    from times t left join numbers n on n.word = t.word
  ) t, adm
),
ends as materialized (
  select row_ref, line_from, value, list(moment) as moments, bool_and(moment is not null) as whole
  from moments group by 1, 2, 3
),
taken as materialized (  -- one time goes before a range; of several, the one told first
  select
    list_min(moments) as earliest, list_max(moments) as latest, row_ref
  from ends
  where whole
  order by list_min(moments) <> list_max(moments), line_from, value
  limit 1
),
known as materialized (  -- a time that serves: told, not uncertain by more than four hours, not of days
  select t.* from taken t
  where t.latest - t.earliest <= interval 4 hour
    and not coalesce((select repeated from exposure), false)
),
modified as materialized (
  select list(distinct row_ref) as rows from told
  where reading = 'absorption_modifier' and value = 'stated' having count(*) > 0
),
amounts as materialized (  -- ten grams, or 200 mg for each kilogram
  select
    row_ref,
    case
      when value like '%mg/kg%' then arg_max(number, k) >= 200
      when regexp_matches(value, '\d ?(g|gm|gms|grams?)$') then arg_max(number, k) >= 10
      when count(*) = 1 then any_value(number) >= 10000
      else arg_min(number, k) * arg_max(number, k) >= 10000
    end as much
  from (
    select t.row_ref, t.value, t.k, coalesce(try_cast(t.word as double), n.number) as number
    from (
      select row_ref, value, unnest(words) as word, generate_subscripts(words, 1) as k
      from (
        select row_ref, value, regexp_extract_all(replace(value, ',', ''),
          '\d+(?:\.\d+)?|\b(?:(?:a|one) hundred|ten|twelve|fifteen|sixteen|eighteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)\b')
          as words
        from told where reading = 'ingested_amount')
    ) t left join numbers n on n.word = t.word
  ) group by row_ref, value
),

-- the nomogram ------------------------------------------------------------------------------------
plotted as materialized (  -- a draw that can be plotted at both ends of the time that is told
  select
    r.*, (epoch(r.drawn) - epoch(k.latest)) / 3600 as t_low,
    (epoch(r.drawn) - epoch(k.earliest)) / 3600 as t_high,
    150 * pow(2, -((epoch(r.drawn) - epoch(k.latest)) / 3600 - 4) / 4) as line_high,
    150 * pow(2, -((epoch(r.drawn) - epoch(k.earliest)) / 3600 - 4) / 4) as line_low
  from read r, known k
  where epoch(r.drawn) - epoch(k.latest) >= 4 * 3600
    and epoch(r.drawn) - epoch(k.earliest) <= 24 * 3600
),
first_plotted as materialized (select * from plotted order by n limit 1),
second_below as materialized (  -- four to six hours after the first
  select p.row_ref from plotted p, first_plotted f
  where p.drawn >= f.drawn + interval 4 hour and p.drawn <= f.drawn + interval 6 hour
    and p.mcg_ml < p.line_low
),
second as materialized (
  select p.row_ref from plotted p, first_plotted f
  where p.drawn >= f.drawn + interval 4 hour and p.drawn <= f.drawn + interval 6 hour
),
by_line as materialized (
  select
    case
      when count(*) = 0 then null
      when bool_or(p.mcg_ml >= p.line_high - 1e-9) then true
      when bool_or(p.mcg_ml >= p.line_low - 1e-9) then null
      when not exists (from modified) or (select mcg_ml <= 10 from first_plotted)
        or exists (from second_below) then false
    end as value
  from plotted p
),

-- without a time, or over days --------------------------------------------------------------------
enzymes as materialized (
  select
    l.itemid, lab_bounded(l.valuenum, l.value, l.comments) > l.ref_range_upper as raised, l.row_ref
  from labevents l
  where l.subject_id = $subject_id and l.itemid in (50861, 50878)
    and lab_bounded(l.valuenum, l.value, l.comments) is not null and l.ref_range_upper is not null
    and exists (
      from read r where abs(epoch(r.drawn) - epoch(l.charttime)) <= 24 * 3600)
),
liver as materialized (
  select
    coalesce(bool_or(raised), false) as raised,
    coalesce(count(distinct itemid) = 2 and not bool_or(raised), false) as normal,
    (exists (from told where reading = 'enzymes_explained' and value = 'chronic')
      and not exists (from told where reading = 'enzymes_explained' and value = 'injury'))
      as explained,
    coalesce(list(row_ref order by row_ref) filter (where raised), list(row_ref order by row_ref), [])
      as rows
  from enzymes
),
open_time as materialized (  -- rule (b): over days, at no known time, or drawn more than a day after
  select
    case when coalesce((select repeated from exposure), false) then 'repeated'
      when not exists (from known) then 'unknown'
      when exists (from read) and not exists (
        from read r, known k where epoch(r.drawn) - epoch(k.latest) <= 24 * 3600) then 'unknown'
    end as kind
),
by_level as materialized (
  select
    o.kind,
    case o.kind when 'repeated' then coalesce(max(r.mcg_ml) > 20, false)
      when 'unknown' then coalesce(max(r.mcg_ml) >= 10, false) end as value
  from open_time o left join read r on true group by o.kind
),
by_rule_b as materialized (
  select
    case
      when b.kind is null or not exists (from read) then null
      when b.value then true
      when l.raised and not l.explained then true
      when l.normal then false
    end as value
  from by_level b, liver l
),
by_amount as materialized (  -- rule (c): much was taken, and no result by the eighth hour
  select true as value, list(distinct a.row_ref) as rows
  from amounts a, known k
  where a.much
    and not exists (from read r where r.stored <= k.earliest + interval 8 hour)
  having count(*) > 0
),
indication as materialized (
  select
    case
      when l.value or b.value or exists (from by_amount) then true
      when not l.value or not b.value then false
    end as value
  from by_line l, by_rule_b b
),
ambiguity as materialized (
  select
    -- absorption may be late, and no second level settles it
    (exists (from modified) and coalesce((select mcg_ml > 10 and mcg_ml < line_low from first_plotted), false)
      and not exists (from second) and not coalesce((select value from by_line), false))
    -- near the line, at a time that is known to some hours only
    or (coalesce((select latest - earliest >= interval 2 hour from taken), false)
      and not coalesce((select repeated from exposure), false)
      and exists (
        from read r, taken t
        where epoch(r.drawn) - epoch(t.latest) >= 4 * 3600
          and epoch(r.drawn) - epoch(t.earliest) <= 24 * 3600
          and r.mcg_ml <= 1.1 * 150 * pow(2, -((epoch(r.drawn) - epoch(t.latest)) / 3600 - 4) / 4) + 1e-9
          and r.mcg_ml >= 0.9 * 150 * pow(2, -((epoch(r.drawn) - epoch(t.earliest)) / 3600 - 4) / 4) - 1e-9))
    -- only the enzymes speak for treatment, and they are those of an old disease
    or coalesce((select b.kind is not null and not b.value and l.raised and l.explained
        from by_level b, liver l), false)
    as value
),
deciding as materialized (  -- the level by which the decision has to be judged
  select d.* from (
    select p.row_ref, p.drawn, p.stored, p.mcg_ml, p.t_high as t, p.line_low as line,
      if(p.mcg_ml >= p.line_high, 0, 1) as rank, p.n
    from plotted p
    union all
    select r.row_ref, r.drawn, r.stored, r.mcg_ml, null, null, 2, r.n from read r
  ) d order by rank, n limit 1
),

-- acetylcysteine ----------------------------------------------------------------------------------
given as materialized (
  select e.charttime as begins, e.charttime as ends, e.row_ref
  from emar e join adm using (hadm_id)
  left join lateral (
    select any_value(p.route) as route,
      max(try_cast(p.dose_val_rx as double) / if(lower(p.dose_unit_rx) like 'mg%', 1000, 1)) as grams
    from prescriptions p where p.pharmacy_id = e.pharmacy_id and p.drug_type = 'MAIN'
  ) p on true
  left join lateral (
    select any_value(d.route) as route,
      max(try_cast(d.dose_given as double) / if(lower(d.dose_given_unit) like 'mg%', 1000, 1)) as grams
    from emar_detail d where d.emar_id = e.emar_id and d.dose_given is not null
  ) d on true
  where administered(e.event_txt) and e.charttime >= adm.arrival
    and e.medication in (select name from drug_name where ingredient like 'acetylcysteine%')
    and not regexp_matches(e.medication, 'inhal|neb|10 ?%', 'i')
    and (coalesce(p.route, d.route, '') ilike 'IV%'
      or regexp_matches(e.medication, '\(IV\)|acetadote', 'i')
      or (regexp_matches(coalesce(p.route, d.route, ''), '^(PO|NG|ORAL|PO/NG)', 'i')
        and coalesce(p.grams, d.grams) >= 4))
  union all
  select i.starttime, coalesce(i.endtime, i.starttime), i.row_ref
  from inputevents i join adm using (hadm_id)
  where i.itemid = 229057 and i.amount > 0 and i.statusdescription is distinct from 'Rewritten'
),
clocked as materialized (  -- a first dose that the summary times
  select
    min(case when written_moment(n.value, adm.arrival + interval 3 hour) < adm.arrival - interval 12 hour
      then written_moment(n.value, adm.arrival + interval 3 hour) + interval 1 day
      else written_moment(n.value, adm.arrival + interval 3 hour) end) as begins,
    list(distinct n.row_ref) as rows
  from told n, adm
  where n.reading = 'nac_course' and n.value not in ('given', 'not_given', 'outside', 'reasoned')
  having count(*) > 0
),
doses as materialized (
  select
    least((select min(begins) from given), (select begins from clocked)) as begins,
    (select max(ends) from given) as ends,
    (select coalesce(list(row_ref order by begins, row_ref), []) from given)
      || coalesce((select rows from clocked), [])
      as rows,
    exists (from told where reading = 'nac_course' and value in ('given', 'reasoned')) as told_given,
    exists (from told where reading = 'nac_course' and value = 'reasoned') as reasoned
),
observed as materialized (
  select
    (exists (
        from emar e, adm
        where e.hadm_id = adm.hadm_id and e.charttime >= adm.arrival
          and e.charttime < adm.arrival + interval 24 hour)
      or exists (
        from inputevents i, adm
        where i.hadm_id = adm.hadm_id and i.starttime >= adm.arrival
          and i.starttime < adm.arrival + interval 24 hour)
      or exists (from told where reading = 'nac_course'))
    and not (exists (from told where reading = 'nac_course' and value = 'outside')
      and not exists (from clocked)) as value
),
decision as materialized (
  select
    case
      when d.begins is null and not d.told_given then 'none'
      when d.begins is not null and d.ends is not null
        and d.ends <= (select stored + interval 2 hour from deciding) then 'stopped_early'
      when d.begins is null then 'partial'
      when i.value then
        case
          when d.begins <= (select earliest + interval 8 hour from known) then 'timely'
          when ((select adm.arrival > k.earliest + interval 6 hour from known k, adm)
              or not exists (from known))
            and d.begins <= (select stored + interval 3 hour from read order by n limit 1)
            then 'timely'
          else 'late'
        end
      when not i.value then
        if(coalesce(d.ends - d.begins >= interval 12 hour, false) and not d.reasoned,
          'full_unneeded', 'partial')
      else 'partial'
    end as value,
    d.rows
  from doses d, indication i
)

select
  (select earliest from known) as anchor_t_ingestion,
  (select drawn from deciding) as anchor_t_level,
  (select stored from deciding) as anchor_t_result,
  (select begins from doses) as anchor_t_nac,
  {
    value: exists (from levels where mcg_ml > 0) or coalesce((select yes from exposure), false),
    rows: (select coalesce(list(row_ref order by drawn, row_ref), []) from levels)
      || coalesce((select rows from exposure), [])
  } as exposed,
  {
    value: exists (from read) and o.value,
    rows: (select coalesce(list(row_ref order by n)[:1], []) from read)
      || (select coalesce(list(distinct row_ref), []) from told where reading = 'nac_course')
  } as level_and_nac_observable,
  {
    value: a.value,
    rows: coalesce((select rows from modified), []) || (select coalesce(list(row_ref), []) from taken)
      || (select coalesce(list(row_ref), []) from deciding)
      || if(l.raised, l.rows, [])
  } as ambiguous_pattern,
  {
    value: i.value,
    rows: (select coalesce(list(row_ref), []) from deciding)
      || (select coalesce(list(row_ref), []) from taken)
      || coalesce((select rows from exposure), [])
      || if((select kind from open_time) is null, [], l.rows)
      || coalesce((select rows from by_amount), [])
  } as indicated,
  {value: d.value, rows: d.rows
    || (select coalesce(list(distinct row_ref), []) from told where reading = 'nac_course')} as nac,
  {
    value: (select mcg_ml from deciding),
    rows: (select coalesce(list(row_ref), []) from deciding)
  } as level,
  {
    value: round((select t from deciding), 1),
    rows: (select coalesce(list(row_ref), []) from deciding)
  } as level_h,
  {
    value: round((select line from deciding), 1),
    rows: (select coalesce(list(row_ref), []) from deciding)
  } as line
from observed o, ambiguity a, indication i, decision d, liver l
