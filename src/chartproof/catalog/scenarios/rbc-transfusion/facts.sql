-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of rbc-transfusion: one row. Everything turns on the start of the first unit, t_tx.
with stay as (
  select i.hadm_id, i.stay_id, i.intime, coalesce(i.outtime, timestamp '2999-12-31') as outtime
  from icustays i
  where i.subject_id = $subject_id and i.stay_id = $stay_id
  limit 1
),
units as (  -- rows of one order are one unit
  select min(e.starttime) as given, arg_min(e.row_ref, (e.starttime, e.row_ref)) as row_ref
  from inputevents e, stay
  where e.hadm_id = stay.hadm_id and e.itemid = 225168 and e.amount > 0
    and e.statusdescription is distinct from 'Rewritten' and e.starttime is not null
    and e.starttime >= stay.intime and e.starttime <= stay.outtime
  group by coalesce(e.orderid::varchar, e.row_ref)
),
tx as (
  select min(given) as t, arg_min(row_ref, (given, row_ref)) as row_ref from units
),
others as (  -- totals without a time
  select e.row_ref from inputevents e, stay
  where e.stay_id = stay.stay_id and e.itemid in (226368, 227070)
),
told as (
  select n.* from noted n, stay where n.note_table = 'discharge' and n.hadm_id = stay.hadm_id
),

-- haemoglobin: by patient and draw time, never by encounter -------------------------------------
hb as (
  select
    l.itemid, l.charttime, l.labevent_id, l.row_ref,
    case
      when lower(l.valueuom) = 'g/l' or lab_bounded(l.valuenum, l.value, l.comments) > 30
      then lab_bounded(l.valuenum, l.value, l.comments) / 10
      else lab_bounded(l.valuenum, l.value, l.comments)
    end::decimal(6, 2) as number
  from labevents l, tx
  where l.subject_id = $subject_id and l.itemid in (51222, 50811)
    and l.charttime >= tx.t - interval 36 hour and l.charttime <= tx.t + interval 6 hour
    and lab_bounded(l.valuenum, l.value, l.comments) > 0
),
last_hb as (
  select
    arg_min(
      {number: hb.number, drawn: hb.charttime, row_ref: hb.row_ref},
      (if(hb.itemid = 51222, 0, 1), -epoch(hb.charttime), hb.number, hb.labevent_id)) as last
  from hb, tx
  where hb.charttime >= tx.t - interval 24 hour and hb.charttime <= tx.t
),
fall as (  -- by 2 g/dL within 24 h, the end of it around the transfusion
  select [a.row_ref, b.row_ref] as rows
  from hb a join hb b
    on a.itemid = b.itemid and a.charttime < b.charttime
    and b.charttime <= a.charttime + interval 24 hour and a.number - b.number >= 2
  join tx on b.charttime >= tx.t - interval 12 hour
  where a.itemid = 51222 or not exists (from hb where itemid = 51222)
  order by a.number - b.number desc, b.charttime
  limit 1
),

-- bleeding ---------------------------------------------------------------------------------------
bled as (
  select row_ref from told where reading = 'overt_bleeding' and value = 'active'
  union all
  select unnest(f.rows || [t.row_ref])
  from fall f, told t where t.reading = 'overt_bleeding' and t.value = 'source'
  union all
  select unnest(rows) from (  -- three units within 6 h, and the 6 h touch the window
    select list(v.row_ref) as rows
    from units u, units v, tx
    where u.given <= tx.t + interval 6 hour
      and v.given >= u.given and v.given <= u.given + interval 6 hour
    group by u.given, u.row_ref
    having count(*) >= 3)
  union all
  select p.row_ref
  from procedureevents p, stay, tx
  where p.hadm_id = stay.hadm_id and p.itemid = 229620
    and p.statusdescription is distinct from 'Rewritten'
    and p.starttime >= tx.t - interval 12 hour and p.starttime <= tx.t + interval 6 hour
),

-- circulation ------------------------------------------------------------------------------------
low as (
  select c.charttime, c.row_ref
  from chartevents c, stay, tx
  where c.stay_id = stay.stay_id
    and c.charttime >= tx.t - interval 6 hour and c.charttime <= tx.t
    and c.valuenum >= 20 and c.valuenum <= 300
    and ((c.itemid in (220050, 220179, 225309, 224167, 227243) and c.valuenum < 90)
      or (c.itemid in (220052, 220181, 225312) and c.valuenum < 65))
),
pressor as (  -- items of one drug in several strengths are one drug
  select
    case when e.itemid in (229630, 229632) then 221749 when e.itemid = 229617 then 221289
      else e.itemid end as drug,
    e.starttime, coalesce(e.endtime, e.starttime) as endtime, e.rate::decimal(18, 6) as rate,
    e.rateuom, e.row_ref
  from inputevents e, stay, tx
  where e.hadm_id = stay.hadm_id
    and e.itemid in (221906, 222315, 221749, 229630, 229632, 221289, 229617, 221662)
    and e.rate > 0 and e.statusdescription is distinct from 'Rewritten'
    and e.starttime <= tx.t
),
running as (  -- 6 h before the transfusion
  select p.drug, p.rateuom, max(p.rate) as rate
  from pressor p, tx
  where p.starttime < tx.t - interval 6 hour and p.endtime > tx.t - interval 6 hour
  group by p.drug, p.rateuom
),
raised as (
  select p.row_ref
  from pressor p, tx
  where p.starttime >= tx.t - interval 6 hour
    and (p.drug not in (select drug from running)
      or exists (
        from running r
        where r.drug = p.drug and r.rateuom is not distinct from p.rateuom
          and p.rate >= 1.5 * r.rate))
),
shaken as (
  select row_ref from low
  where (select max(charttime) - min(charttime) from low) >= interval 15 minute
  union all
  select row_ref from raised
),

-- disease and operation --------------------------------------------------------------------------
coded as (
  select d.icd_code as code, d.icd_version as version, d.row_ref
  from diagnoses_icd d, stay where d.hadm_id = stay.hadm_id
),
acs as (
  select row_ref from told where reading = 'acs_this_stay' and value = 'stated'
  union all
  select row_ref from coded
  where not exists (from discharge n, stay where n.hadm_id = stay.hadm_id)
    and ((version = 9 and (regexp_matches(code, '^410.[01]$') or code = '4111'))
      or (version = 10 and regexp_matches(code, '^(I21[0-4]|I219|I200|I240)')))
),
disease_code as (
  select row_ref from coded
  where (version = 9 and regexp_matches(code, '^(414|412|428|4402|4439|433.1|434.1|V4581|V4582|V1254)'))
     or (version = 10 and regexp_matches(code, '^(I25|I50|I702|I739|I63|Z951|Z955)'))
),
operated as (
  select
    p.row_ref,
    case
      when (p.icd_version = 9 and regexp_matches(p.icd_code, '^(35[1235678]|361|3961)'))
        or (p.icd_version = 10 and (p.icd_code = '5A1221Z'
          or regexp_matches(p.icd_code, '^02[1QR].[04]'))) then 'cardiac'
      when (p.icd_version = 9 and regexp_matches(p.icd_code, '^(78|79[1-6]|80[013-9]|81[0-8])'))
        or (p.icd_version = 10 and regexp_matches(p.icd_code, '^0[QSPR][^9J].[04]')) then 'orthopaedic'
    end as kind
  from procedures_icd p, stay, tx
  where p.hadm_id = stay.hadm_id and p.chartdate <= tx.t::date
),
status as (  -- each as [lowest, highest] answer that codes and summary leave
  select
    exists (from told where reading = 'cardiovascular_disease' and value = 'stated') as cvd_stated,
    exists (from told where reading = 'cardiovascular_disease' and value = 'denied') as cvd_denied,
    exists (from disease_code) as cvd_coded,
    exists (from told where reading = 'surgery_this_stay' and value = 'cardiac') as heart_stated,
    exists (from told where reading = 'surgery_this_stay' and value = 'orthopaedic') as bone_stated,
    exists (from told where reading = 'surgery_this_stay' and value = 'denied') as op_denied,
    exists (from operated where kind = 'cardiac') as heart_coded,
    exists (from operated where kind = 'orthopaedic') as bone_coded
),
answers as (
  select
    if(cvd_coded and cvd_denied and not cvd_stated, [false, true], [cvd_coded or cvd_stated]) as cvd,
    if(heart_coded and op_denied and not heart_stated, [false, true], [heart_coded or heart_stated]) as heart,
    if(bone_coded and op_denied and not bone_stated, [false, true], [bone_coded or bone_stated]) as bone
  from status
),
thresholds as (
  select distinct case when h then 7.5 when b or c then 8.0 else 7.0 end::decimal(3, 1) as thr
  from (select unnest(heart) as h, bone, cvd from answers),
    lateral (select unnest(bone) as b), lateral (select unnest(cvd) as c)
),
threshold as (  -- between the lowest and the highest nothing is settled
  select
    case when min(thr) = max(thr) then min(thr)
      when l.last.number < min(thr) then min(thr)
      when l.last.number >= max(thr) then max(thr) end as thr
  from thresholds, last_hb l
  group by l.last
)

select
  tx.t as anchor_t_tx,
  l.last.drawn as anchor_t_hb,
  {
    value: tx.t is not null,
    rows: if(tx.t is null, (select coalesce(list(row_ref), []) from others), [tx.row_ref])
  } as tx_timed,
  {
    value: exists (from bled), rows: (select coalesce(list(distinct row_ref order by row_ref), []) from bled)
  } as bleeding,
  {
    value: exists (from shaken),
    rows: (select coalesce(list(distinct row_ref order by row_ref), []) from shaken)
  } as unstable,
  {value: exists (from acs), rows: (select coalesce(list(distinct row_ref), []) from acs)} as acs,
  {value: l.last.number, rows: if(l.last is null, [], [l.last.row_ref])} as hb_pre,
  {
    value: t.thr,
    rows: (select coalesce(list(row_ref), []) from operated where kind is not null)
      || (select coalesce(list(row_ref), []) from disease_code)
      || (select coalesce(list(distinct row_ref), []) from told
          where reading in ('cardiovascular_disease', 'surgery_this_stay'))
  } as thr
from tx, last_hb l, threshold t
