-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Home, last 24 h and discharge, drug by drug. Drugs are compared by ingredient and counted by
-- product (a combination is one drug); what a name means stands in rules/drugs.yaml.
with
stay as (
  select hadm_id, admittime, dischtime, row_ref,
         coalesce(hospital_expire_flag, 0) = 0 and deathtime is null as alive
  from admissions where hadm_id = $hadm_id
),
ed as (
  select stay_id, row_ref from edstays where hadm_id = $hadm_id
),
summary as (              -- the latest summary of the admission
  select note_id, row_ref from discharge
  where hadm_id = $hadm_id and coalesce(note_type, 'DS') = 'DS'
  order by charttime desc nulls last, note_seq desc nulls last, note_id desc limit 1
),
read as (                 -- lists and intents give JSON, the other readings a word
  select n.reading, n.value, n.line_from, n.row_ref,
         case when n.reading in ('home_medications', 'discharge_medications') then n.value end as item,
         case when n.reading = 'medication_intent' then n.value end as statement
  from noted n join summary using (note_id)
),

-- The lists ------------------------------------------------------------------------------------
recon as (                -- one drug may have several rows, one per therapeutic class
  select m.name, m.row_ref, regexp_matches(m.name, '^\W*(none|no (home )?med\w*)\W*$', 'i') as says_none
  from medrecon m semi join ed using (stay_id)
  where m.name is not null and not regexp_matches(m.name, '^[\s_]*$')
),
line as (
  select reading, line_from, row_ref,
         from_json(item, '{"drug": "VARCHAR", "product": "VARCHAR", "group": "VARCHAR", "name": "VARCHAR",
           "dose": "DOUBLE", "dimension": "VARCHAR", "route": "VARCHAR", "per_day": "DOUBLE",
           "prn": "BOOLEAN", "release": "BOOLEAN", "ends": "BOOLEAN", "held": "BOOLEAN",
           "heading": "VARCHAR", "reason": "VARCHAR", "copied": "BOOLEAN", "none": "BOOLEAN"}') as item
  from read where reading in ('home_medications', 'discharge_medications')
),
home_line as (            -- a list copied from an older text gives way to the one taken at arrival
  select * from line
  where reading = 'home_medications' and item.heading is distinct from 'transfer'
    and not (item.copied and exists (from recon where not says_none))
),
discharge_line as (
  select *, coalesce(item.heading in ('stopped', 'held', 'transfer'), false) or item.held as off
  from line where reading = 'discharge_medications'
),
home_row as (
  select d.ingredient, d.product, d.class, 'recon' as source, r.row_ref, false as scheduled
  from recon r join drug_name d using (name) where not r.says_none
  union all
  select item.drug, item.product, item.group, 'note', row_ref, not item.prn and item.per_day is not null
  from home_line where item.drug is not null
),
home as (
  select ingredient, max(product) as product, any_value(class) as class, list(distinct row_ref) as rows,
         bool_or(source = 'recon') as in_recon, bool_or(source = 'note') as in_note, bool_or(scheduled) as scheduled
  from home_row group by ingredient
),
both_lists as (
  select count(distinct source) = 2 as value from home_row
),
leaving as (
  select item.drug as ingredient, max(item.product) as product, any_value(item.group) as class,
         list(distinct row_ref) as rows, bool_or(not item.prn and item.per_day is not null) as scheduled,
         bool_or(item.reason is not null) as reasoned, bool_or(item.heading = 'new') as listed_new,
         bool_or(item.heading = 'changed') as listed_changed
  from discharge_line where not off and item.drug is not null group by item.drug
),
given_row as (
  select d.ingredient, d.class, e.row_ref,
         e.charttime between s.dischtime - interval 24 hour and s.dischtime as last_day
  from emar e join drug_name d on d.name = e.medication, stay s
  where e.hadm_id = $hadm_id and administered(e.event_txt)
),

-- What the summary says ---------------------------------------------------------------------------
told as (
  select statement ->> 'intent' as intent, statement ->> 'drug' as ingredient, statement ->> 'class' as class,
         (statement ->> 'at')::integer as place, row_ref
  from read where reading = 'medication_intent'
),
past as (
  select coalesce(list(distinct value), []) as events from read where reading = 'vascular_history'
),
named_drug as (
  select ingredient, class, product from home
  union select ingredient, class, product from leaving
),
said as (                 -- by name or by class; of holding and stopping, the last word counts
  select d.ingredient,
         coalesce(arg_max(t.intent, t.place) filter (t.intent in ('stopped', 'held', 'hold_planned', 'restarted')), '') as last_word,
         coalesce(bool_or(t.intent = 'changed'), false) as changed,
         coalesce(bool_or(t.intent = 'held'), false) as held,
         coalesce(bool_or(t.intent = 'restart_planned'), false) as restart_planned,
         coalesce(bool_or(t.intent in ('restart_planned', 'restart_open')), false) as restart_ahead,
         coalesce(bool_or(t.intent = 'new'), false) as started,
         coalesce(bool_or(t.intent in ('treated', 'indicated')), false) as indicated,
         coalesce(bool_or(t.intent = 'end'), false) as ended,
         coalesce(list(distinct t.row_ref), []) as rows
  from (select distinct ingredient, class from named_drug) d
  join told t on t.ingredient = d.ingredient or t.class = d.class
  group by d.ingredient
),
weight as (               -- high, moderate or trivial; NULL where the table does not know the drug
  select n.ingredient, any_value(n.product) as product, any_value(n.class) as class,
         coalesce(any_value(c.interchange), false) as interchange, any_value(c.course) as course,
         case when any_value(c.class) is null then null
              when any_value(c.significance) = 'high' or list_has_any(any_value(c.high_after), any_value(p.events)) then 'high'
              when any_value(c.otc) and not coalesce(bool_or(h.scheduled or l.scheduled), false) then 'trivial'
              else any_value(c.significance) end as weighs
  from named_drug n cross join past p left join drug_class c using (class)
  left join home h on h.ingredient = n.ingredient left join leaving l on l.ingredient = n.ingredient
  group by n.ingredient
),

-- Differences -------------------------------------------------------------------------------------
given as (                -- in the last 24 h, the drug or what the formulary gives for it
  select h.ingredient, list(distinct g.row_ref) as rows
  from home h join weight w using (ingredient)
  join given_row g on g.last_day
    and (g.ingredient = h.ingredient
         or (w.interchange and g.class = h.class and g.ingredient not in (select ingredient from home)))
  group by h.ingredient
),
omitted as (
  select h.ingredient, h.product, w.weighs, h.rows || coalesce(g.rows, []) || coalesce(s.rows, []) as rows,
         g.ingredient is not null as given,
         (select value from both_lists) and not (h.in_recon and h.in_note) as disputed,
         coalesce(s.last_word in ('stopped', 'hold_planned') or s.changed
                  or (s.held and s.restart_ahead), false) as documented,
         coalesce(s.last_word = 'held' and not s.restart_ahead, false) as left_held
  from home h join weight w using (ingredient)
  left join said s using (ingredient) left join given g using (ingredient)
  where h.ingredient not in (select ingredient from leaving)
    and not (w.interchange and exists (
      from leaving l where l.class = h.class and l.ingredient not in (select ingredient from home)))
),
regimen as (              -- a regimen can be compared where each list has it once
  select reading, item.drug as ingredient, any_value(item.dose) as dose, any_value(item.dimension) as dimension,
         any_value(item.per_day) as per_day, any_value(item.route) as route, any_value(item.prn) as prn,
         any_value(item.release) as release
  from (select * from home_line where item.drug is not null
        union all select * exclude (off) from discharge_line where not off and item.drug is not null)
  group by reading, item.drug having count(*) = 1
),
compared as (
  select a.ingredient,
         coalesce(a.dimension = b.dimension and abs(a.dose - b.dose) > 0.001, false) as dose,
         coalesce(abs(a.per_day - b.per_day) > 0.001, false) or (a.per_day is not null and b.per_day is not null and a.prn <> b.prn) as frequency,
         coalesce(a.route <> b.route, false) as route,
         a.release <> b.release and coalesce(a.dimension = b.dimension and abs(a.dose * a.per_day - b.dose * b.per_day) < 0.001, false) as reformulated
  from regimen a join regimen b on a.ingredient = b.ingredient
  where a.reading = 'home_medications' and b.reading = 'discharge_medications'
),
altered as (              -- another release form at the same daily dose is the same regimen
  select c.ingredient, w.product, w.weighs, h.rows || l.rows || coalesce(s.rows, []) as rows,
         l.listed_changed or l.listed_new
           or coalesce(s.changed or s.started, false) as documented
  from compared c join home h using (ingredient) join leaving l using (ingredient)
  join weight w using (ingredient) left join said s using (ingredient)
  where (c.route or ((c.dose or c.frequency) and not c.reformulated))
),
added as (
  select l.ingredient, l.product, w.weighs, l.rows || coalesce(s.rows, []) as rows,
         l.reasoned or l.listed_new
           or coalesce(s.started or s.indicated or s.changed or s.restart_planned or s.last_word = 'restarted', false) as documented
  from leaving l join weight w using (ingredient) left join said s using (ingredient)
  where l.ingredient not in (select ingredient from home)
    and not (w.interchange and exists (
      from home h where h.class = l.class and h.ingredient not in (select ingredient from leaving)))
),
chronic as (
  select coalesce(list(distinct value), []) as courses from read where reading = 'chronic_indication'
),
endless as (              -- a time-limited course that nothing ends; at home before, a drug is chronic
  select d.line_from, max(d.item.product) as product, list(distinct d.row_ref) as rows
  from discharge_line d join weight w on w.ingredient = d.item.drug, chronic c
  where not d.off and w.course is not null and not list_contains(c.courses, w.course)
    and not (w.course <> 'antibiotic' and d.item.drug in (select ingredient from home))
    and not exists (from discharge_line x where x.item.drug = d.item.drug and x.item.ends)
    and not exists (from said s where s.ingredient = d.item.drug and s.ended)
  group by d.line_from
),

-- Counts --------------------------------------------------------------------------------------------
omission as (
  select ingredient, product, rows, given,
         case when documented then 'documented'
              when weighs is null then 'unknown'
              when weighs = 'trivial' then 'trivial'
              when weighs = 'high' and (left_held or (given and not disputed)) then 'unintended'
              else 'unclear' end as finding
  from omitted
),
found as (
  select product, rows, finding from omission
  union all
  select product, rows,
         case when documented then 'documented' when weighs is null then 'unknown'
              when weighs = 'trivial' then 'trivial' when weighs = 'high' then 'unintended' else 'unclear' end
  from altered
  union all
  select product, rows,
         case when documented then 'documented' when weighs is null then 'unknown'
              when weighs = 'trivial' then 'trivial' else 'unclear' end
  from added
  union all
  select product, rows, 'unintended' from endless
),
unintended as (
  select count(distinct product)::integer as n, coalesce(list_distinct(flatten(list(rows))), []) as rows
  from found where finding = 'unintended'
),
unclear as (
  select count(distinct product)::integer as n, coalesce(list_distinct(flatten(list(rows))), []) as rows
  from found where finding = 'unclear'
    and product not in (select product from found where finding = 'unintended')
),
unknown as (
  select list_sort(list(distinct product)) as names from found where finding = 'unknown'
),
candidate as (            -- what the words of the summary could turn into a finding, or out of one
  select product from omitted where weighs is distinct from 'trivial'
  union all select product from altered where weighs is distinct from 'trivial'
  union all select product from added where weighs is distinct from 'trivial'
  union all
  select d.item.product from discharge_line d join weight w on w.ingredient = d.item.drug
  where not d.off and w.course is not null
    and not (w.course <> 'antibiotic' and d.item.drug in (select ingredient from home))
    and not exists (from discharge_line x where x.item.drug = d.item.drug and x.item.ends)
),
alike as (                -- where there is none, the lists themselves show that nothing differs
  select case when exists (from candidate) then []
              else (select coalesce(list(distinct r), []) from (select unnest(rows) as r from home
                                                                union all select unnest(rows) from leaving)) end as rows
),
listed as (
  select (select count(*) from ed) > 0 as arrived,
         (select count(*) from recon where not says_none) as recon_named,
         (select count(*) from recon where says_none) as recon_none,
         (select count(*) from home_line where item.drug is not null) as note_named,
         (select count(*) from home_line where item.none) as note_none
),
home_fact as (            -- a list that says `none` counts unless the other source names a drug
  select arrived and (recon_named + note_named + recon_none + note_none > 0)
           and not (recon_none > 0 and recon_named + note_named > 0)
           and not (note_none > 0 and recon_named > 0 and note_named = 0) as value
  from listed
),
leaving_fact as (
  select coalesce((select alive from stay), false)
         and exists (from discharge_line where item.drug is not null or item.none) as value
),
emar_fact as (
  select count(*) > 0 as value, if(count(*) > 0, [any_value(row_ref)], []) as rows from emar where hadm_id = $hadm_id
)
select
  {value: home_fact.value,
   rows: (select coalesce(list(row_ref), []) from ed) || (select coalesce(list(row_ref), []) from recon)
         || (select coalesce(list(distinct row_ref), []) from home_line)} as home_list,
  {value: leaving_fact.value,
   rows: (select coalesce(list(row_ref), []) from stay)
         || (select coalesce(list(distinct row_ref), []) from discharge_line)} as dc_list,
  {value: emar_fact.value, rows: emar_fact.rows} as emar_present,
  {value: unintended.n, rows: unintended.rows || alike.rows} as unintended_high,
  {value: unclear.n, rows: unclear.rows || alike.rows} as unclear_nontrivial,
  (select {value: if(count(distinct product) = 1, min(ingredient), null), rows: []::varchar[]}
   from omission where finding = 'unintended' and given) as omitted_drug,
  case when home_fact.value and leaving_fact.value and emar_fact.value and unintended.n = 0 and unknown.names is not null
       then 'The table of drugs does not know ' || array_to_string(unknown.names, ', ')
            || ', which differs between the lists.' end as pending
from home_fact, leaving_fact, emar_fact, unintended, unclear, unknown, alike
