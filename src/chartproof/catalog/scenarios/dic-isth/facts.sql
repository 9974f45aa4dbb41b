-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of dic-isth: one row. A set stands behind each PT of the stay.
with stay as (
  select
    i.hadm_id, i.stay_id, i.intime, coalesce(i.outtime, timestamp '2999-12-31') as outtime,
    a.admittime
  from icustays i left join admissions a on a.hadm_id = i.hadm_id
  where i.subject_id = $subject_id and i.stay_id = $stay_id
  limit 1
),

-- results: by patient and draw time, never by encounter ----------------------------------------
results as (
  select
    l.itemid, l.charttime, l.labevent_id, l.row_ref,
    (lab_bounded(l.valuenum, l.value, l.comments)
      * if(l.itemid = 51214 and lower(l.valueuom) = 'g/l', 100, 1))::decimal(18, 3) as number,
    l.ref_range_upper::decimal(18, 3) as upper, lower(coalesce(l.valueuom, '')) as unit
  from labevents l, stay
  where l.subject_id = $subject_id
    and l.itemid in (51274, 51265, 51214, 51196, 50915, 51213)
    and l.charttime >= stay.intime - interval 12 hour
    and l.charttime <= stay.outtime + interval 12 hour
    and lab_bounded(l.valuenum, l.value, l.comments) >= 0
    -- what the laboratory itself calls unusable
    and not regexp_matches(coalesce(l.comments, ''),
      '\b(?:contaminat|clott?ed (?:specimen|sample)|(?:specimen|sample) (?:was |is )?clott?ed)', 'i')
    and (l.itemid <> 51265 or not (
      regexp_matches(coalesce(l.comments, ''), '\bclump', 'i')
      or exists (
        from labevents c
        where c.subject_id = l.subject_id and c.specimen_id = l.specimen_id and c.itemid = 51264
          and not regexp_matches(coalesce(c.value, 'present'), '^\s*(?:neg|none|no\b|absent|0)', 'i'))))
),
pt as (
  select
    row_number() over (order by r.charttime, r.labevent_id) as n, r.charttime, r.row_ref,
    r.number - coalesce(r.upper, 12.5) as excess
  from results r, stay
  where r.itemid = 51274 and r.charttime >= stay.intime and r.charttime <= stay.outtime
),
near as (  -- of each marker the result nearest to the PT; of two equally near the earlier
  select
    p.n, r.kind,
    arg_min({number: r.number, upper: r.upper, unit: r.unit, row_ref: r.row_ref},
      (abs(epoch(r.charttime) - epoch(p.charttime)), r.charttime, r.labevent_id)) as best
  from pt p
  join (
    select
      *,
      case itemid when 51265 then 'plt' when 51214 then 'fib' when 51213 then 'fdp' else 'dimer' end as kind
    from results where itemid <> 51274 and unit not like '%ddu%'
  ) r on abs(epoch(r.charttime) - epoch(p.charttime)) <= 12 * 3600
  group by p.n, r.kind
),
pointed as (  -- NULL is a marker that the set lacks
  select
    p.n, p.charttime, case when p.excess < 3 then 0 when p.excess < 6 then 1 else 2 end as pt_pts,
    case when plt.best.number >= 100 then 0 when plt.best.number >= 50 then 1
         when plt.best.number < 50 then 2 end as plt_pts,
    case when fib.best.number > 100 then 0 when fib.best.number <= 100 then 1 end as fib_pts,
    case when dim.best.number <= dim.top then 0 when dim.best.number < 10 * dim.top then 2
         when dim.best.number >= 10 * dim.top then 3 else fdp.pts end as dim_pts,
    -- the other published grading
    case when dim.best.number < 2 * dim.top then 0 when dim.best.number <= 4 * dim.top then 2
         when dim.best.number > 4 * dim.top then 3 else fdp.pts end as dim_pts_2,
    list_filter(
      [p.row_ref, plt.best.row_ref, fib.best.row_ref, coalesce(dim.best.row_ref, fdp.best.row_ref)],
      lambda x: x is not null) as rows
  from pt p
  left join (from near where kind = 'plt') plt using (n)
  left join (from near where kind = 'fib') fib using (n)
  left join (
    select *, coalesce(best.upper, if(best.unit like 'ug/ml%', 0.5, 500)) as top
    from near where kind = 'dimer') dim using (n)
  left join (
    select *, case when best.number < 10 then 0 when best.number < 40 then 2 else 3 end as pts
    from near where kind = 'fdp') fdp using (n)
),

-- what else explains the values ------------------------------------------------------------------
told as (
  select n.* from noted n, stay where n.note_table = 'discharge' and n.hadm_id = stay.hadm_id
),
coded as (
  select d.icd_code as code, d.icd_version as version, d.row_ref
  from diagnoses_icd d, stay where d.hadm_id = stay.hadm_id
),
taken_back as (  -- the summary denies a kind of disorder and states none of it
  select
    bool_or(reading = 'sepsis' and value = 'denied')
      and not bool_or(reading = 'sepsis' and value = 'stated') as sepsis,
    bool_or(reading = 'severe_liver_disease' and value = 'denied')
      and not bool_or(reading = 'severe_liver_disease' and value <> 'denied') as liver,
    bool_or(reading = 'dic_disorder' and value = 'denied')
      and not bool_or(reading = 'dic_disorder' and value = 'stated') as other
  from told
),
liver as (
  select row_ref from coded, taken_back
  where not coalesce(taken_back.liver, false)
    and ((version = 9 and code in ('5712', '5715', '5716', '570', '5722'))
      or (version = 10 and regexp_matches(code, '^(K703|K704|K711|K72|K74[3-6])')))
  union all
  select row_ref from told where reading = 'severe_liver_disease' and value in ('cirrhosis', 'failure')
),
marrow as (
  select row_ref from coded
  where (version = 9 and (code like '284%' or code = 'V5811'))
     or (version = 10 and (code like 'D61%' or code = 'Z5111'))
  union all
  select row_ref from told where reading = 'low_platelet_cause' and value in ('marrow', 'hit')
),
home as (
  select case when reading = 'home_medications' then value::json end as item, row_ref
  from told where reading = 'home_medications'
),
anticoagulant as (  -- from when it was last known to be taken
  select e.charttime as taken, e.row_ref
  from emar e join drug_name d on d.name = e.medication, stay
  where e.hadm_id = stay.hadm_id and administered(e.event_txt)
    and d.ingredient in ('warfarin', 'dabigatran', 'rivaroxaban', 'apixaban', 'edoxaban')
  union all  -- a home drug was taken up to admission
  select stay.admittime, h.row_ref
  from home h, stay
  where h.item->>'drug' in ('warfarin', 'dabigatran', 'rivaroxaban', 'apixaban', 'edoxaban')
    and (h.item->>'held')::boolean is distinct from true
    and coalesce(h.item->>'heading', '') not in ('transfer', 'stopped', 'held')
),
unit as (
  select min(e.starttime) as given, min(e.row_ref) as row_ref
  from inputevents e, stay
  where e.hadm_id = stay.hadm_id and e.itemid = 225168 and e.amount > 0
    and e.statusdescription is distinct from 'Rewritten'
  group by coalesce(e.orderid::varchar, e.row_ref)
),
explained as (
  select
    p.*, s.liver, w.rows as warfarin, m.rows as massive, s.marrow
  from pointed p,
    (select
       (select coalesce(list(row_ref), []) from liver) as liver,
       (select coalesce(list(row_ref), []) from marrow) as marrow) s,
    lateral (
      select coalesce(list(row_ref), []) as rows from anticoagulant a
      where a.taken <= p.charttime and a.taken >= p.charttime - interval 72 hour) w,
    lateral (
      select if(count(*) >= 10, list(row_ref), []) as rows from unit u
      where u.given <= p.charttime and u.given > p.charttime - interval 24 hour) m
),
scored as (
  select
    *,
    coalesce(plt_pts, 0) + pt_pts + coalesce(fib_pts, 0) + coalesce(dim_pts, 0) as lo,
    coalesce(plt_pts, 2) + pt_pts + coalesce(fib_pts, 1) + coalesce(dim_pts, 3) as hi,
    coalesce(plt_pts, 0) + pt_pts + coalesce(fib_pts, 0) + coalesce(dim_pts_2, 0) as lo_2,
    if(len(liver) + len(warfarin) + len(massive) > 0, pt_pts, 0)
      + if(len(liver) + len(massive) + len(marrow) > 0, coalesce(plt_pts, 0), 0)
      + if(len(liver) > 0, coalesce(fib_pts, 0), 0) as explained,
    list_distinct(
      if(pt_pts > 0, liver || warfarin || massive, []::varchar[])
      || if(plt_pts > 0, liver || massive || marrow, []::varchar[])
      || if(fib_pts > 0, liver, []::varchar[])) as why
  from explained
),
best as (select arg_max(s, (lo, -n)) as s from scored s),

-- the disorder itself ----------------------------------------------------------------------------
disorder as (
  select row_ref from coded, taken_back
  where not coalesce(taken_back.sepsis, false)
    and ((version = 9 and (code like '038%' or code in ('99591', '99592', '78552')))
      or (version = 10 and regexp_matches(code, '^(A40|A41|R652)')))
  union all
  select row_ref from coded, taken_back
  where not coalesce(taken_back.liver, false)
    and ((version = 9 and code in ('570', '5722'))
      or (version = 10 and regexp_matches(code, '^(K72|K704|K711)')))
  union all
  select row_ref from coded, taken_back
  where not coalesce(taken_back.other, false)
    and case version
      when 9 then
        -- injuries without sprains, contusions, foreign bodies and late effects
        regexp_matches(code, '^(8[0-3]|85[0-4]|86|87|88|89|90[0-4]|92[5-9]|94|95[089])')
        -- malignancies without those of the skin that stay where they are
        or regexp_matches(code, '^(1[4-9]|20[0-8])') and code not like '173%'
        or regexp_matches(code, '^(6412|6731|5770|4410|4411|4413|4415|4416|9895|9998)')
      when 10 then
        regexp_matches(code, '^(S.[124-9]|T07|T[12]\d|T3[0-4])')
          and not (len(code) = 7 and right(code, 1) = 'S')
        or regexp_matches(code, '^(C[0-8]|C9[0-6])') and code not like 'C44%'
        or regexp_matches(code, '^(O45|O881|K85|I710|I711|I713|I715|I718|T630|T803|Q273)')
    end
  union all
  select row_ref from told
  where (reading in ('sepsis', 'dic_disorder') and value = 'stated')
     or (reading = 'severe_liver_disease' and value = 'failure')
)

select
  best.s.charttime as anchor_t_set,
  {
    value: exists (from pt) and exists (
      from results r, stay
      where r.itemid = 51265 and r.charttime >= stay.intime and r.charttime <= stay.outtime),
    rows: (select coalesce(list(row_ref order by n), []) from pt)
      || (select coalesce(list(r.row_ref order by r.charttime), []) from results r, stay
          where r.itemid = 51265 and r.charttime >= stay.intime and r.charttime <= stay.outtime)
  } as pt_plt,
  {
    value: exists (from disorder),
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from disorder)
  } as underlying,
  {
    value: (select coalesce(list([lo, hi]::integer[] order by n), []) from scored),
    rows: (select coalesce(flatten(list(rows order by n)), []) from scored)
  } as sets,
  {
    value: (select coalesce(max(lo) - max(lo - explained), 0)::integer from scored),
    rows: (select coalesce(flatten(list(why)), []) from scored where lo >= 5 or lo = best.s.lo)
  } as confound_points,
  {
    value: exists (from scored where (lo >= 5) <> (lo_2 >= 5))
      and not exists (from scored where lo >= 5 and lo_2 >= 5),
    rows: (select coalesce(flatten(list(rows order by n)), []) from scored where (lo >= 5) <> (lo_2 >= 5))
  } as grading_dependent
from best
