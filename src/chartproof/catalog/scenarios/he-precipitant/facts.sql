-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of he-precipitant: one row. Windows run from admission; fluids and blood go by patient and time.
with stay as (
  select hadm_id, admittime, coalesce(dischtime, timestamp '2999-12-31') as dischtime, row_ref
  from admissions where subject_id = $subject_id and hadm_id = $hadm_id
  limit 1
),
told as (
  select n.* from noted n, stay where n.note_table = 'discharge' and n.hadm_id = stay.hadm_id
),
imaged as (
  select n.* from noted n, stay
  where n.note_table = 'radiology' and n.charttime >= stay.admittime - interval 24 hour and n.charttime <= stay.dischtime
),

-- cirrhosis with overt encephalopathy ------------------------------------------------------------
cirrhosis as (
  select row_ref from told where reading = 'severe_liver_disease' and value in ('cirrhosis', 'failure')
),
coded as (
  select d.row_ref from diagnoses_icd d join admissions a on a.hadm_id = d.hadm_id, stay
  where d.subject_id = $subject_id and a.admittime <= stay.admittime
    and ((d.icd_version = 9 and d.icd_code in ('5712', '5715', '5716'))
      or (d.icd_version = 10 and regexp_matches(d.icd_code, '^(K703|K746)')))
),
lactulose as (
  select e.row_ref from emar e join drug_name n on n.name = e.medication, stay
  where e.hadm_id = stay.hadm_id and administered(e.event_txt) and n.ingredient = 'lactulose'
    and e.charttime >= stay.admittime - interval 12 hour and e.charttime <= stay.admittime + interval 24 hour
),
denied_liver as (select count(*) > 0 as value from told where reading = 'severe_liver_disease' and value = 'denied'),
confused as (select value, row_ref from told where reading = 'hepatic_encephalopathy'),
coded_he as (
  select d.row_ref from diagnoses_icd d, stay
  where d.hadm_id = stay.hadm_id and (d.icd_code = '5722' or regexp_matches(d.icd_code, '^(K729|K7682)'))
),
escalated as (  -- coded in this admission, and lactulose given more often than three times in a day
  select row_ref from (from coded_he union all from lactulose) where (select count(*) from lactulose) >= 4
),
cirrhotic as (
  select row_ref from cirrhosis
  union all
  -- a code that the summary does not take back
  select c.row_ref from coded c, denied_liver d where not d.value
),

-- ascites and its fluid --------------------------------------------------------------------------
tapped as (
  select p.row_ref from procedures_icd p, stay
  where p.hadm_id = stay.hadm_id and p.icd_code in ('5491', '0W9G3ZZ', '0W9G3ZX')
  union all
  select e.row_ref from procedureevents e, stay
  where e.hadm_id = stay.hadm_id and e.itemid = 225445 and e.statusdescription is distinct from 'Rewritten'
),
seen as (  -- within three days, else it came later
  select i.value, i.row_ref from imaged i, stay
  where i.reading = 'ascites' and i.charttime <= stay.admittime + interval 72 hour
),
described as (select value, row_ref from told where reading = 'ascites'),
belly as (
  select
    case
      when exists (from seen) then exists (from seen where value = 'present')
      else exists (from described where value = 'present')
    end or exists (from tapped) as value
),
fluid as (
  select l.specimen_id, l.itemid, l.row_ref, lab_bounded(l.valuenum, l.value, l.comments)::decimal(12, 2) as n
  from labevents l, stay
  where l.subject_id = $subject_id and l.itemid in (52065, 51125, 51127)
    and l.charttime >= stay.admittime - interval 24 hour and l.charttime <= stay.admittime + interval 72 hour
    and lab_bounded(l.valuenum, l.value, l.comments) is not null
),
counted as (  -- cells and differential of one specimen; a bloody tap gives back one cell in 250
  select t.row_ref, p.row_ref as polys_ref,
    t.n * p.n / 100 - case when coalesce(r.n, 0) >= 10000 then r.n / 250 else 0 end as pmn
  from fluid t
  join fluid p on p.specimen_id = t.specimen_id and p.itemid = 51125
  left join fluid r on r.specimen_id = t.specimen_id and r.itemid = 51127
  where t.itemid = 52065
),
quoted as (select value, row_ref from told where reading = 'ascitic_fluid'),
treated as (  -- days on which a drug against peritonitis was given
  select distinct e.charttime::date as day, min(e.row_ref) as row_ref
  from emar e join drug_name d on d.name = e.medication, stay
  where e.hadm_id = stay.hadm_id and administered(e.event_txt)
    and d.ingredient in ('ceftriaxone', 'cefotaxime')
  group by 1
),

-- the results of the first days --------------------------------------------------------------------
result as (
  select l.itemid, l.charttime, l.row_ref, lab_bounded(l.valuenum, l.value, l.comments)::decimal(12, 2) as n
  from labevents l, stay
  where l.subject_id = $subject_id
    and l.itemid in (50971, 50983, 50882, 50912, 51222, 51301, 51006, 50931, 50809, 51484)
    and l.charttime >= stay.admittime - interval 24 hour and l.charttime <= stay.admittime + interval 72 hour
),
arrival as (
  select r.itemid, arg_min(r.n, r.charttime) as n, arg_min(r.row_ref, r.charttime) as row_ref
  from result r, stay
  where r.n is not null and r.charttime < stay.admittime + interval 12 hour
  group by r.itemid
),
baseline as (
  select min(lab_bounded(l.valuenum, l.value, l.comments))::decimal(12, 2) as n, arg_min(l.row_ref, l.valuenum) as row_ref
  from labevents l, stay
  where l.subject_id = $subject_id and l.itemid = 50912 and l.valuenum > 0
    and l.charttime >= stay.admittime - interval 365 day and l.charttime < stay.admittime - interval 7 day
),
salts as (
  select a.row_ref from arrival a left join baseline b on true
  where (a.itemid = 50971 and a.n < 3.0) or (a.itemid = 50983 and a.n < 125) or (a.itemid = 50882 and a.n > 35)
     or (a.itemid = 50912 and ((b.n is not null and a.n >= 1.5 * b.n) or (b.n is null and a.n >= 2.0)))
),
near_salts as (
  select row_ref from arrival
  where (itemid = 50971 and n >= 3.0 and n < 3.5) or (itemid = 50983 and n >= 125 and n < 130)
),
culture as (
  select m.spec_type_desc as specimen, lower(coalesce(m.org_name, '')) as organism, m.micro_specimen_id as id, m.row_ref
  from microbiologyevents m, stay
  where m.subject_id = $subject_id
    and coalesce(m.charttime, m.chartdate) >= stay.admittime - interval 24 hour
    and coalesce(m.charttime, m.chartdate) <= stay.admittime + interval 72 hour
),
skin as (  -- flora of the skin
  select *, regexp_matches(organism, 'coag(ulase)? ?neg|epidermidis|corynebacter|propionibact|cutibact|micrococc|bacillus') as flora
  from culture where specimen ilike 'blood culture%' and organism not in ('', 'cancelled')
),
grown as (
  select row_ref from skin where not flora
  union all
  select row_ref from skin where flora and (select count(distinct id) from skin where flora) >= 2
),
contaminant as (select row_ref from skin where flora and (select count(distinct id) from skin where flora) = 1),
urine as (select row_ref from culture where specimen ilike 'urine%' and organism not in ('', 'cancelled')),

-- what is established ------------------------------------------------------------------------------
named as (select value, row_ref from told where reading = 'he_precipitant'),
cause as (
  select 'sbp' as label, row_ref from counted where pmn > 250
  union all select 'sbp', row_ref from quoted where value = 'sbp'
  union all select 'infection', row_ref from grown
  union all select 'electrolyte', row_ref from salts
  union all select 'told', row_ref from named where value = 'found'
),
contested as (
  select row_ref from near_salts
  union all select row_ref from contaminant
  union all select row_ref from urine
  union all select row_ref from counted where pmn between 200 and 250
  union all select row_ref from named where value = 'possible'
),
other as (
  select i.row_ref from imaged i, stay
  where i.reading = 'confusion_cause' and i.value = 'competing' and i.charttime <= stay.admittime + interval 72 hour
  union all
  select row_ref from told where reading = 'confusion_cause' and value = 'competing'
  union all
  select row_ref from arrival where (itemid = 51006 and n > 100) or (itemid in (50931, 50809) and n < 50)
),

-- the rest of the work-up ---------------------------------------------------------------------------
chest as (
  select r.row_ref from radiology r
  join radiology_detail d on d.note_id = r.note_id and d.field_name = 'exam_name', stay
  where r.subject_id = $subject_id and regexp_matches(d.field_value, 'CHEST|THORAX|\bCXR\b', 'i')
    and r.charttime >= stay.admittime - interval 24 hour and r.charttime <= stay.admittime + interval 72 hour
),
screens as (
  select (exists (from culture where specimen ilike 'urine%') or exists (from result where itemid = 51484))::integer
    + exists (from culture where specimen ilike 'blood culture%')::integer
    + exists (from chest)::integer as n
),
medicines as (
  select m.row_ref from medrecon m join edstays e using (stay_id), stay where e.hadm_id = stay.hadm_id
  union all
  select row_ref from told where reading = 'home_medications'
),
done as (
  select
    exists (from result where itemid in (51301, 51222) and n is not null)
    and exists (from result where itemid = 50971 and n is not null)
    and exists (from result where itemid = 50912 and n is not null)
    and (select n from screens) >= 2
    and exists (from medicines) as value
)

select
  {
    value: exists (from cirrhotic)
      and (exists (from confused where value = 'overt')
        or (exists (from coded_he) and exists (from escalated) and not exists (from confused where value = 'denied'))),
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from cirrhotic union all select row_ref from confused union all select row_ref from escalated))
  } as premise,
  {
    value: belly.value,
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from seen union all select row_ref from tapped union all select row_ref from described))
  } as ascites,
  {
    value: exists (from counted) or exists (from quoted where value in ('sbp', 'counted')),
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from counted union all select polys_ref from counted
       union all select row_ref from quoted where value in ('sbp', 'counted')))
  } as para_done,
  {
    value: exists (from quoted where value = 'failed') and (select count(*) from treated) >= 5,
    rows: (select coalesce(list(distinct row_ref), []) from
      (select row_ref from quoted where value = 'failed' union all select row_ref from treated))
  } as failed_tap_treated,
  {
    value: exists (from other),
    rows: (select coalesce(list(distinct row_ref), []) from other)
  } as competing,
  {
    value: (select coalesce(list(distinct label order by label), []) from cause),
    -- where nothing is found, what was measured and shows none stands behind it
    rows: (select coalesce(list(distinct row_ref), []) from cause)
      || if(exists (from cause), []::varchar[],
           (select coalesce(list(row_ref), []) from counted) || (select coalesce(list(row_ref), []) from arrival))
  } as precipitants,
  {
    value: not exists (from cause) and exists (from contested),
    rows: (select coalesce(list(distinct row_ref), []) from contested)
  } as borderline,
  {
    value: done.value,
    rows: (select coalesce(list(row_ref), []) from (from result order by charttime limit 12))
      || (select coalesce(list(row_ref), []) from culture) || (select coalesce(list(row_ref), []) from chest)
      || (select coalesce(list(distinct row_ref), []) from medicines)
  } as workup_other_complete
from belly, done
