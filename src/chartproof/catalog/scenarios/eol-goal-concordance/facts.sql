-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of eol-goal-concordance: one row. Charted values, orders and the summary tell the decisions;
-- each invasive act is judged by what each of them said at its time. A limitation has three parts:
-- `cpr` (no resuscitation), `tube` (no intubation), `organ` (comfort alone: nothing that supports an organ).
with grace as (select interval 1 hour as after),
stay as materialized (
  select
    a.admittime, coalesce(a.dischtime, timestamp '2999-12-31') as dischtime, a.row_ref,
    coalesce(a.deathtime, if(a.hospital_expire_flag = 1, a.dischtime, null)) as died
  from admissions a where a.hadm_id = $hadm_id
),
told as materialized (select * from noted where note_table = 'discharge' and hadm_id = $hadm_id),

-- decisions ----------------------------------------------------------------------------------------
said as materialized (
  select 'chart' as source, c.charttime as moment, null::timestamp as ended, lower(c.value) as words, c.row_ref
  from chartevents c
  where c.hadm_id = $hadm_id and c.itemid in (223758, 228687, 229784) and c.value is not null
  union all
  select 'order', p.ordertime, e.ordertime, lower(d.field_value), p.row_ref
  from poe p
  join poe_detail d on d.poe_id = p.poe_id and d.field_name = 'Code status'
  left join poe e on e.poe_id = p.discontinued_by_poe_id
  where p.hadm_id = $hadm_id and p.order_type = 'General Care' and p.transaction_type is distinct from 'D/C'
    and d.field_value is not null
),
known as materialized (  -- what is charted or ordered in one moment counts together
  select
    source, moment, max(ended) as ended,
    bool_or(regexp_matches(words, '\bdnr\b|\bdnar\b|not (attempt )?resus|comfort|\bcmo\b')) as cpr,
    bool_or(regexp_matches(words, '\bdni\b|not intubate|comfort|\bcmo\b')) as tube,
    bool_or(regexp_matches(words, 'comfort|\bcmo\b')) as organ,
    list(row_ref order by row_ref) as rows
  from said
  where regexp_matches(words, '\bdnr\b|\bdnar\b|\bdni\b|not (attempt )?resus|not intubate|comfort|\bcmo\b|full|resuscitat')
  group by source, moment
),
parts as materialized (
  select k.source, k.moment, k.ended, k.rows, x.part, x.has
  from known k, lateral (values ('cpr', k.cpr), ('tube', k.tube), ('organ', k.organ)) as x (part, has)
  -- orders have no value for comfort measures: one that limits anything takes no other part back
  where k.source = 'chart' or x.has or not (k.cpr or k.tube or k.organ)
),
points as materialized (
  -- an old value charted once more within a day of a row that agrees with the change is no reversal,
  -- unless an order took the limitation back in between
  select p.* from parts p
  where not (
    p.source = 'chart' and not p.has
    and exists (from parts b where b.source = 'chart' and b.part = p.part and b.has and b.moment < p.moment)
    and exists (from parts n where n.source = 'chart' and n.part = p.part and n.has and n.moment > p.moment
      and n.moment <= p.moment + interval 24 hour)
    and not exists (from parts o where o.source = 'order' and o.part = p.part and not o.has
      and o.moment <= p.moment + interval 24 hour
      and o.moment > (select min(b.moment) from parts b
        where b.source = 'chart' and b.part = p.part and b.has and b.moment < p.moment)))
),
limits as materialized (  -- what the summary limits, without a time
  select distinct x.part, t.row_ref
  from told t join (
    values ('cmo', 'cpr'), ('cmo', 'tube'), ('cmo', 'organ'), ('dnr_dni', 'cpr'), ('dnr_dni', 'tube'),
      ('dnr', 'cpr'), ('dni', 'tube')
  ) as x (value, part) on t.value = x.value
  where t.reading = 'goals_of_care'
),
words as materialized (
  select
    coalesce(list(distinct row_ref order by row_ref) filter (reading = 'goal_change' and value = 'unclear'), []) as unclear,
    coalesce(list(distinct row_ref order by row_ref) filter (reading = 'goal_change' and value = 'lifted'), []) as lifted,
    coalesce(list(distinct row_ref order by row_ref) filter (reading = 'care_after_goal'), []) as followed,
    coalesce(list(distinct row_ref order by row_ref) filter (reading = 'goals_of_care' and value = 'vague'), []) as vague,
    coalesce(list(distinct row_ref order by row_ref), []) as rows
  from told
),

-- acts ---------------------------------------------------------------------------------------------
procedures as materialized (
  select p.itemid, p.starttime, coalesce(p.endtime, p.starttime) as endtime, p.row_ref
  from procedureevents p
  where p.hadm_id = $hadm_id and p.statusdescription is distinct from 'Rewritten'
),
runs as materialized (  -- begun anew where nothing of its kind ran in the hours before
  select
    p.starttime, p.endtime, p.row_ref,
    case when p.itemid = 225792 then 'tube' else 'organ' end as part,
    case when p.itemid in (225802, 225803, 225809, 225955) then 'continuous' else p.itemid::varchar end as kind,
    if(p.itemid = 225792, interval 60 minute, interval 6 hour) as gap
  from procedures p
  where p.itemid in (225792, 225441, 225802, 225803, 225805, 225809, 225955, 224270, 225752, 224263)
  union all
  select i.starttime, i.endtime, i.row_ref, 'organ', i.itemid::varchar, interval 6 hour
  from inputevents i
  where i.hadm_id = $hadm_id and i.statusdescription is distinct from 'Rewritten'
    and ((i.itemid in (221906, 222315, 221749, 229630, 229632, 221289, 229617, 221662, 229709, 229764)
        and coalesce(i.rate, 0) > 0)
      or (i.itemid = 225168 and coalesce(i.amount, 0) > 0))
),
codes as materialized (
  select
    if(c.icd_code in ('9960', '9963', '5A12012'), 'cpr', 'tube') as part, c.chartdate::date as day, c.row_ref
  from procedures_icd c
  where c.hadm_id = $hadm_id
    and ((c.icd_version = 9 and c.icd_code in ('9960', '9963', '9604'))
      or (c.icd_version = 10 and c.icd_code in ('5A12012', '0BH17EZ')))
),
acts as materialized (
  select row_number() over (order by moment, part, row_ref) as act, * from (
    select 'tube' as part, starttime as moment, row_ref, true as timed from procedures where itemid = 224385
    union all
    select r.part, r.starttime, r.row_ref, true from runs r
    where not exists (from runs b where b.kind = r.kind and b.row_ref <> r.row_ref
      and (b.starttime < r.starttime or (b.starttime = r.starttime and b.row_ref < r.row_ref))
      and b.endtime >= r.starttime - r.gap)
    union all
    -- a shock counts at an arrest; a rhythm with a pulse may be shocked by appointment
    select 'cpr', p.starttime, p.row_ref, true from procedures p
    where p.itemid = 225464
      and (exists (from procedures a where a.itemid = 225466
          and a.starttime between p.starttime - interval 60 minute and p.starttime + interval 60 minute)
        or exists (from codes c where c.part = 'cpr' and c.day = p.starttime::date))
    union all
    -- the entry of an arrest never proves resuscitation, but it tells the hour of one that is coded
    select c.part, coalesce(min(a.starttime), c.day::timestamp), c.row_ref, min(a.starttime) is not null
    from codes c left join procedures a on a.itemid = 225466 and a.starttime::date = c.day
    where c.part = 'cpr'
    group by c.part, c.day, c.row_ref
    union all
    select c.part, c.day::timestamp, c.row_ref, false from codes c
    where c.part = 'tube' and not exists (from procedures p
      where p.itemid in (224385, 225792) and abs(p.starttime::date - c.day) <= 1)
  )
),

-- what each source said at the time of each act ----------------------------------------------------------
before as materialized (
  select
    a.act, a.part, a.moment as t, p.source, p.moment, p.has, p.rows,
    max(p.moment) filter (p.has) over w as last_have, max(p.moment) filter (not p.has) over w as last_lack
  from acts a join points p on p.part = a.part and p.moment <= a.moment
    and (p.ended is null or p.ended > a.moment)
  window w as (partition by a.act, p.source)
),
state as materialized (
  select
    act, part, t, source, max(moment) as last, last_have, last_lack,
    coalesce(last_have > coalesce(last_lack, timestamp '1000-01-01'), false) as is_on,
    max(moment) filter (not has and moment < last_have) as lack_before,
    min(moment) filter (not has and moment > last_have) as changed,
    list_sort(list_distinct(flatten(list(rows)))) as rows
  from before group by act, part, t, source, last_have, last_lack
),
onsets as materialized (
  select
    s.*, (select min(b.moment) from before b where b.act = s.act and b.source = s.source and b.has
      and b.moment > coalesce(s.lack_before, timestamp '1000-01-01')) as onset,
    exists (from points p where p.source = s.source and p.part = s.part and p.has and p.moment > s.t) as later_has,
    exists (from points p where p.source = s.source and p.part = s.part and not p.has and p.moment > s.t) as later_lacks
  from state s
),
pairs as materialized (
  select
    a.act, a.part, a.moment, a.timed, a.row_ref,
    c.is_on as chart_on, o.is_on as order_on, c.onset as chart_onset, o.onset as order_onset,
    c.last as chart_last, o.last as order_last, c.changed as chart_changed, c.later_has, c.later_lacks,
    -- a new order is an act, whatever it was before; charting may only copy
    (select min(b.moment) from before b where b.act = a.act and b.source = 'order' and not b.has
      and b.moment > c.onset) as order_changed,
    exists (from points p where p.part = a.part and not p.has and p.moment >= a.moment) as free_after,
    coalesce(c.rows, []) || coalesce(o.rows, []) as rows
  from acts a
  left join onsets c on c.act = a.act and c.source = 'chart'
  left join onsets o on o.act = a.act and o.source = 'order'
),
ruled as materialized (  -- by the tables alone
  select
    *,
    case when chart_on and order_on then least(chart_onset, order_onset)
      when chart_on then chart_onset when order_on then order_onset
      else least(chart_onset, order_onset) end as onset,
    case
      when chart_on and (order_on is null or order_on) then 'held'
      when order_on and chart_on is null then 'held'
      when chart_on and order_changed is null then 'held'
      when chart_on then if(chart_last > order_changed and not later_lacks, 'conflict', 'reversed')
      when order_on and chart_last <= order_onset then 'held'
      when order_on and coalesce(chart_changed > order_onset, false)
        then if(order_last > chart_changed, 'conflict', 'reversed')
      when order_on then if(later_has, 'held', 'conflict')
      when chart_onset is not null or order_onset is not null then 'reversed'
    end as said
  from pairs
),
judged as materialized (  -- with the words of the summary; NULL is out of scope
  select
    r.*,
    if(onset is null or moment <= onset + g.after, null,
      case when said = 'held' and len(w.lifted) > 0 then if(free_after, 'reversed', 'conflict') else said end)
      as outcome
  from ruled r, words w, grace g
),
spoken as materialized (  -- acts of which the summary itself tells the order
  select
    t.value, t.row_ref,
    case
      when len(w.unclear) > 0 then 'conflict'
      when len(w.lifted) > 0 then 'reversed'
      when exists (from points p where p.source = 'chart')
        and not exists (from points p where p.part = x.part and p.has) then 'conflict'
      else 'held' end as outcome
  from told t
  join (values ('cpr', 'cpr'), ('intubation', 'tube'), ('other', 'organ')) as x (value, part) on t.value = x.value
  cross join words w
  where t.reading = 'care_after_goal'
    and (exists (from limits l where l.part = x.part) or exists (from points p where p.part = x.part and p.has))
),
scope as materialized (
  select outcome, [row_ref] || rows as rows from judged where outcome is not null
  union all
  select outcome, [row_ref] from spoken
),
reached as materialized (
  select
    count(*) > 0 as any_, coalesce(bool_and(outcome = 'reversed'), false) as undone,
    coalesce(bool_or(outcome = 'conflict'), false) as disputed,
    coalesce(bool_or(outcome <> 'reversed'), false) as stands,
    coalesce(list_sort(list_distinct(flatten(list(rows)))), []) as rows
  from scope
),

-- limitations and acts whose order nobody tells -----------------------------------------------------------
untold as materialized (
  select a.row_ref, l.row_ref as limit_ref
  from acts a join limits l on l.part = a.part, words w
  where len(w.followed) = 0
    and not exists (from points p where p.part = a.part and p.has)
    and not exists (from points p where p.part = a.part and not p.has and p.moment >= a.moment)
  union all
  select a.row_ref, p.rows[1]
  from acts a join points p on p.part = a.part and p.has and p.moment::date = a.moment::date
  where not a.timed and not exists (from judged j where j.act = a.act and j.outcome is not null)
    and not exists (from points b where b.part = a.part and b.has and b.moment < a.moment)
),
undecided as materialized (
  select
    count(*) > 0 as value,
    coalesce(list_sort(list_distinct(list(row_ref) || list(limit_ref))), []) as rows,
    -- rows tell of each act whether it came before or after, whatever the summary says
    not exists (from acts a
      where not exists (from points p where p.part = a.part and p.has)
        and not exists (from points p where p.part = a.part and not p.has and p.moment >= a.moment)) as settled
  from untold
),
compared as materialized (  -- chart and orders both spoke, and agreed
  select
    coalesce(bool_and(coalesce(
      if(chart_on, order_on or exists (from known k where k.source = 'order' and (k.cpr or k.tube)
        and k.moment <= j.moment and (k.ended is null or k.ended > j.moment)), not order_on), false)), false) as agree
  from judged j where outcome is not null
),
observed as materialized (  -- the ICU charted the code status, and what it did
  select
    coalesce((select list_sort(list_distinct(flatten(list(rows)))) from known where source = 'chart'), []) as charted,
    coalesce((select list(row_ref order by row_ref) from acts), []) as done
),

-- the last two days -----------------------------------------------------------------------------------------
last_days as materialized (
  select list(a.row_ref order by a.row_ref) as rows
  from acts a, stay s
  where a.timed and a.moment >= s.died - interval 48 hour and a.moment < s.died
),
decided as materialized (
  select
    coalesce((select list_sort(list_distinct(flatten(list(rows)))) from known), []) as rows,
    coalesce((select list_sort(list_distinct(flatten(list(rows)))) from known where cpr or tube), []) as limiting,
    coalesce((select list(distinct row_ref order by row_ref) from limits), []) as written,
    (select min(moment) from known where cpr or tube) as first
),
found as materialized (
  select
    (select min(onset) from judged where outcome is not null) as t_goal,
    (select min(moment) from judged where outcome is not null and timed) as t_act,
    (select if(bool_and(timed), round(max(epoch(moment - onset)) / 3600, 1)::decimal(9, 1), null) from judged
      where outcome = 'held') as hours
)

select
  {value: len(d.rows) > 0 or len(w.rows) > 0, rows: d.rows || w.rows} as any_goal,
  {
    value: u.value and not r.stands,
    rows: if(u.value, u.rows, if(u.settled, [s.row_ref] || d.rows || o.done, []))
  } as timing_decisive_missing,
  {
    value: r.disputed or len(w.unclear) > 0,
    rows: if(r.disputed or c.agree, r.rows, []) || w.unclear || if(r.disputed, w.lifted, [])
  } as conflict,
  {value: r.any_, rows: if(r.any_, r.rows, if(len(o.charted) > 0, o.charted || o.done, []))} as inscope_intervention,
  {value: not r.undone, rows: r.rows || if(r.undone, w.lifted, [])} as in_force,
  {
    value: len(w.vague) > 0 and len(d.limiting) = 0 and len(d.written) = 0 and len(w.unclear) = 0
      and len(w.lifted) = 0 and len(w.followed) = 0,
    rows: w.vague || d.limiting || d.written
  } as vague_only,
  {value: len(coalesce(l.rows, [])) > 0, rows: coalesce(l.rows, [])} as escalation48,
  {value: if(exists (from spoken), null, f.hours), rows: if(f.hours is null, [], r.rows)} as latest_act_h,
  coalesce(f.t_goal, d.first) as anchor_t_goal,
  f.t_act as anchor_t_act
from stay s, words w, decided d, reached r, undecided u, last_days l, found f, compared c, observed o
