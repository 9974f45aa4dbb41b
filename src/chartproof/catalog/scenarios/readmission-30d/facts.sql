-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of readmission-30d: one row, about the index stay and the first inpatient encounter after it.
with recursive

-- admissions, each with its principal diagnosis -----------------------------------------------------
principal as (
  select
    hadm_id, icd_code as code, row_ref,
    icd_version as version,
    case icd_version
      when 9 then regexp_matches(icd_code, '^(?:V580|V581)')
      else regexp_matches(icd_code, '^(?:Z510|Z511)')
    end as antineoplastic,
    case icd_version
      when 9 then starts_with(icd_code, 'V57') else icd_code = 'Z5189'
    end as rehabilitation,
    -- dementia, delirium and substance use are other classes of the measure
    case icd_version
      when 9 then regexp_matches(icd_code, '^(?:29[5-9]|30[0-26-9]|31[1-6]|V6284)')
      else regexp_matches(icd_code, '^(?:R45851|F[2-689])')
    end as psychiatric,
    case icd_version  -- malignant, in situ or of uncertain behaviour; neither benign nor history
      when 9 then regexp_matches(icd_code, '^(?:1[4-9]\d|20[0-8]|23[0-9])')
      else regexp_matches(icd_code, '^(?:C|D0|D3[7-9]|D4)')
    end as neoplasm,
    case icd_version
      when 9 then regexp_matches(icd_code,
        -- infections
        '^(?:0030|0031|004|0084|009|036|038|0545|1125|320|321|322|323|421|420|422|46'
        || '|480|481|482|483|484|485|486|487|488|507|510|513|590|5950|5990|681|682'
        || '|683|7110|7280|72886|7300|7907|99591|99592'
        -- heart and vessels
        || '|410|411|415|4275|4274|428|40201|40211|40291|430|431|432|43301|43311'
        || '|43401|43411|43491|435|436|4410|4411|4413|4415|444|4534'
        -- lungs
        || '|49121|49122|49301|49302|49311|49312|49321|49322|49391|49392|512|5184'
        || '|5185|51881|51882|51884'
        -- abdomen
        || '|5310|5311|5312|5314|5320|5321|5322|5324|540|541|5570|560|56201|56202'
        || '|56203|56211|56212|56213|567|56983|570|5722|5724|5740|5743|5750|5761'
        || '|5770|578|4560'
        -- kidneys, metabolism, blood, nervous system, substances
        || '|584|2501|2502|2503|2510|276|2851|2866|28262|28242|28264|28269|2880|345'
        || '|3484|3485|291|2920|29281|293|3030'
        -- symptoms that lead to the emergency department
        || '|78001|78009|7802|7803|7806|78097|7847|7855|78605|7863|7865|7870|7890'
        || '|7991'
        -- injury, poisoning, complications of care
        || '|[89]\d|7331)'
      )
      else regexp_matches(icd_code,
        -- infections
        '^(?:A0|A39|A40|A41|A48|A49|A87|B377|G00|G03|G04|G06|I30|I33|I40|J0|J1|J20'
        || '|J21|J22|J69|J85|J86|L02|L03|L04|M00|M726|M860|M861|N10|N151|N300|N390'
        || '|R652|R7881'
        -- heart and vessels
        || '|I110|I130|I132|I16|I200|I21|I22|I24|I26|I46|I490|I50|I60|I61|I62|I63|G45'
        || '|I710|I711|I713|I715|I718|I74|I824|I826'
        -- lungs
        || '|J440|J441|J4521|J4522|J4531|J4532|J4541|J4542|J4551|J4552|J45901|J45902'
        || '|J80|J810|J93|J960|J962'
        -- abdomen
        || '|K250|K251|K252|K254|K260|K261|K262|K264|K35|K550|K56|K570|K572|K5711'
        || '|K5731|K5732|K5733|K631|K65|K720|K729|K767|K7682|K800|K803|K804|K810'
        || '|K830|K85|K920|K921|K922|I8501|I8511'
        -- kidneys, metabolism, blood, nervous system, substances
        || '|N17|E0801|E0810|E0901|E0910|E101|E110|E111|E130|E131|E1064|E1164|E15'
        || '|E162|E86|E87|D62|D65|D570|D5721|D5741|D5781|D70|G40|G41|G935|G936|F05'
        || '|F1012|F1022|F1023|F1123|F1323'
        -- symptoms that lead to the emergency department
        || '|R04|R060|R07|R10|R11|R402|R4182|R50|R55|R56|R57'
        -- injury, poisoning, complications of care
        || '|S|T|I97|J95|K91|N99|M96|M844|M80)'
      )
    end as acute
  from diagnoses_icd
  where subject_id = $subject_id and seq_num = 1
  qualify row_number() over (partition by hadm_id order by row_ref) = 1
),
adm as (
  select
    a.hadm_id, a.admittime, a.dischtime, a.admission_type, a.discharge_location, a.row_ref,
    coalesce(a.hospital_expire_flag, 0) = 1 or a.deathtime is not null as died,
    coalesce(a.admission_type, '') not in
      ('EU OBSERVATION', 'DIRECT OBSERVATION', 'AMBULATORY OBSERVATION') as inpatient,
    coalesce(a.admission_type, '') in ('ELECTIVE', 'SURGICAL SAME DAY ADMISSION') as elective,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age,
    d.code, d.version, d.row_ref as code_ref,
    coalesce(d.neoplasm, false) as neoplasm, coalesce(d.acute, false) as acute,
    coalesce(d.antineoplastic or d.rehabilitation, false) as always_planned,
    coalesce(d.antineoplastic or d.rehabilitation or d.psychiatric, false) as excluded
  from admissions a
  join patients p using (subject_id)
  left join principal d using (hadm_id)
  where a.subject_id = $subject_id
),

-- the index, with what continues it on the day of discharge ----------------------------------------
chain as (
  select 1 as n, hadm_id, admittime, dischtime, code, version, row_ref from adm
  where hadm_id = $hadm_id
  union all
  select n, hadm_id, admittime, dischtime, code, version, row_ref
  from (
    select c.n + 1 as n, x.hadm_id, x.admittime, x.dischtime, x.code, x.version, x.row_ref
    from chain c join adm x
      on x.inpatient and x.admittime >= c.dischtime and x.admittime > c.admittime
      and x.admittime::date = c.dischtime::date and x.code = c.code and x.version = c.version
    qualify row_number() over (order by x.admittime, x.hadm_id) = 1
  )
),
last_part as (select * from chain where n = (select max(n) from chain)),
index_stay as (
  select
    f.hadm_id, l.dischtime,
    (select list(row_ref order by n) from chain) as rows,
    f.inpatient and f.age >= 18 and not a.died and l.dischtime is not null
      and coalesce(a.discharge_location, '') not in ('ACUTE HOSPITAL', 'AGAINST ADVICE', 'DIED')
      as stay_ok,
    f.code_ref, f.excluded, f.neoplasm
  from adm f, last_part l join adm a on a.hadm_id = l.hadm_id
  where f.hadm_id = $hadm_id
),
operated as (  -- a cancer that was operated on is no medical treatment of it
  select row_ref
  from procedures_icd
  where hadm_id in (select hadm_id from chain) and case icd_version
      when 9 then regexp_matches(icd_code,
        '^(?:0159|06|303|304|323|324|325|326|403|404|405|424|435|436|437|438|439|456'
        || '|457|458|484|485|486|502|503|512|525|526|527|553|554|555|576|577|603|604'
        || '|605|606|653|654|656|683|684|685|686|687|688|689|852|853|854)')
      -- bypass, excision, replacement, resection or transplantation, open or by endoscope; with the
      -- seventh character X it is diagnostic
      else regexp_matches(icd_code, '^0.[1BRTY].[04].[^X]$')
    end
),
excluded as (
  select code_ref
  from index_stay
  where excluded or (neoplasm and not exists (from operated))
),

-- the first inpatient encounter of the window --------------------------------------------------------
following as (
  select a.*
  from adm a, index_stay i
  where a.inpatient and a.hadm_id not in (select hadm_id from chain) and a.admittime >= i.dischtime
    and date_diff('day', i.dischtime::date, a.admittime::date) <= 30
  qualify row_number() over (order by a.admittime, a.hadm_id) = 1
),
done as (  -- procedures of that encounter
  select
    p.row_ref,
    case p.icd_version  -- blood stem cells included, the cornea not
      when 9 then regexp_matches(p.icd_code, '^(?:335|336|3751|410|4697|505|528|556)')
      else regexp_matches(p.icd_code, '^(?:0[27BDFTWX]Y|302[34][03][GXY])')
    end as transplant
  from procedures_icd p join following using (hadm_id)
),
antineoplastic as (  -- of any rank among its codes
  select d.row_ref
  from diagnoses_icd d join following f using (hadm_id)
  where case d.icd_version
      when 9 then regexp_matches(d.icd_code, '^(?:V580|V581)')
      else regexp_matches(d.icd_code, '^(?:Z510|Z511)')
    end
),
announced as (
  select n.row_ref
  from noted n
  where n.reading = 'planned_return' and n.note_table = 'discharge'
    and n.hadm_id in (select hadm_id from chain)
    and (exists (from done) or exists (from antineoplastic)
      or (select coalesce(bool_or(neoplasm), false) from following))
),
judged as (
  select
    case
      when f.always_planned or exists (from done where transplant) then 'planned'
      when f.elective and f.code is not null and not f.acute
        and exists (from done) then 'planned'
      when f.elective and (f.code is null or f.acute) then 'unclear'
      when exists (from announced) then 'unclear'
      else 'unplanned'
    end as value,
    [f.row_ref] || if(f.code_ref is null, [], [f.code_ref])
      || (select coalesce(list(row_ref order by row_ref), []) from done)
      || (select coalesce(list(row_ref order by row_ref), []) from announced) as rows
  from following f
),

-- whether a readmission would have been seen ------------------------------------------------------------
later as (  -- any record more than 30 days after discharge
  select a.row_ref, a.admittime as seen_at from admissions a where a.subject_id = $subject_id
  union all
  select e.row_ref, e.intime from edstays e where e.subject_id = $subject_id
  union all
  select t.row_ref, t.intime from transfers t where t.subject_id = $subject_id
  union all
  select l.row_ref, l.charttime from labevents l where l.subject_id = $subject_id
  union all
  select o.row_ref, o.chartdate::timestamp from omr o where o.subject_id = $subject_id
),
seen_later as (
  select arg_min(l.row_ref, (l.seen_at, l.row_ref)) as row_ref
  from later l, index_stay i
  where date_diff('day', i.dischtime::date, l.seen_at::date) > 30
  having count(*) > 0
),
capture as (
  select
    p.row_ref,
    p.dod is null
      and coalesce(try_cast(right(trim(p.anchor_year_group), 4) as integer)
        + year(i.dischtime) - p.anchor_year >= 2022, false) as may_end
  from patients p, index_stay i
  where p.subject_id = $subject_id
)

select
  i.dischtime as anchor_dischtime,
  (select admittime from following) as anchor_t_next,
  {
    value: i.stay_ok and not exists (from excluded),
    rows: i.rows || if(i.code_ref is null, [], [i.code_ref])
      || if(i.neoplasm, (select coalesce(list(row_ref order by row_ref), []) from operated), [])
  } as index_ok,
  {
    value: not (c.may_end and not exists (from seen_later)),
    rows: [c.row_ref] || if(c.may_end, (select coalesce(list(row_ref), []) from seen_later), [])
  } as followup_observable,
  {
    value: (select value from judged),  -- that nobody came back is told by the stays themselves
    rows: if(exists (from judged), (select coalesce(flatten(list(rows)), []) from judged), i.rows)
  } as first
from index_stay i, capture c
