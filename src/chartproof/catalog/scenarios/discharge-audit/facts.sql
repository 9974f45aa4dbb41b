-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of discharge-audit: one row; the summary of the admission against the tables.
with adm as materialized (
  select
    a.hadm_id, a.row_ref, a.admittime, a.dischtime, a.discharge_location as location,
    coalesce(a.hospital_expire_flag, 0) = 1 or a.deathtime is not null as died,
    case
      when coalesce(a.hospital_expire_flag, 0) = 1 or a.deathtime is not null
        or a.discharge_location = 'DIED' then 'expired'
      when a.discharge_location in ('HOME', 'HOME HEALTH CARE') then 'home'
      when a.discharge_location = 'HOSPICE' then 'hospice'
      when a.discharge_location = 'AGAINST ADVICE' then 'ama'
      when a.discharge_location in ('SKILLED NURSING FACILITY', 'REHAB', 'CHRONIC/LONG TERM ACUTE CARE',
        'ASSISTED LIVING', 'PSYCH FACILITY', 'ACUTE HOSPITAL') then 'facility'
    end as place,
    a.discharge_location in ('OTHER FACILITY', 'HEALTHCARE FACILITY') as generic
  from admissions a
  where a.subject_id = $subject_id and a.hadm_id = $hadm_id
),
ds as materialized (  -- the last summary, and the addenda that are read with it
  select d.note_id, d.row_ref, d.text
  from discharge d join adm using (hadm_id)
  where d.note_type = 'DS' and trim(coalesce(d.text, '')) <> ''
  order by d.charttime desc, d.note_seq desc, d.note_id desc
  limit 1
),
page as materialized (
  select
    s.row_ref,
    chr(10) || s.text || chr(10) || coalesce((
      select string_agg(a.text, chr(10)) from discharge a join adm using (hadm_id)
      where a.note_type = 'AD' and a.text is not null), '') as text
  from ds s
),
told as materialized (
  select n.* from noted n join adm using (hadm_id)
  where n.note_table = 'discharge' and n.note_id in (select note_id from ds)
),

-- elements: what stands under which heading ---------------------------------------------------------
headings as materialized (
  select * from (values
    ('reason', 'chief complaint|cc|c/c|reason for admission|(?:history|hx|___) of (?:the )?(?:present|presenting) illness|hpi'),
    ('course', 'pertinent results[^\n:]*|(?:brief |concise )?(?:hospital|___) course[^\n:]*'),
    ('procedures', 'major (?:surgical or invasive |surgical )?procedures?'),
    ('instructions', 'discharge instructions?'),
    ('medications', 'discharge medications?|medications (?:on|at) discharge'),
    ('allergies', 'allergies[^\n:]*'))
    as t(element, heads)
),
parts as materialized (
  select
    h.element,
    list_transform(
      regexp_extract_all(p.text,
        '(?is)\n[ \t]*(?:' || h.heads || ')[ \t]*(?::|\n)(.*?)(?:\n[ \t]*(?:allergies|attending|chief complaint|cc'
        || '|major (?:surgical or invasive |surgical )?procedures?|history of present illness|hpi|review of systems'
        || '|past medical history|pmh|social history|family history|(?:admission |discharge )?(?:physical )?exam(?:ination)?'
        || '|pertinent results|(?:brief )?hospital course|transitional issues|(?:medications|meds) on admission'
        || '|discharge medications|discharge disposition|facility|discharge diagnos[ei]s|discharge condition'
        || '|discharge instructions|follow-?up instructions)[^\n:]{0,20}(?::|\n)|$)', 1),
      lambda part: regexp_replace(part, '_+', '', 'g')) as contents
  from headings h, page p
),
filled as materialized (
  select element, len(list_filter(contents, lambda part: regexp_matches(part, '[a-zA-Z0-9]'))) > 0 as value
  from parts
),
absent as materialized (
  select element from (
    select 'E1' as element, (select value from filled where element = 'reason') as there, false as of_the_living
    union all
    select 'E2', (select value from filled where element = 'course'), false
    union all
    select 'E3', (select bool_or(value) from filled where element in ('procedures', 'course')), false
    union all
    select 'E4', exists (from told where reading = 'discharge_state'), false
    union all
    select 'E5', (select value from filled where element = 'instructions'), true
    union all
    select 'E6', exists (from told where reading = 'follow_up_told'), true
    union all
    select 'E7', (select value from filled where element = 'medications'), true
  ), adm
  where not there and not (of_the_living and adm.died) and exists (from page)
),

-- C1 and the summary's own contradiction: where the patient went ------------------------------------------
places as materialized (
  select value as place, section, row_ref from told where reading = 'discharge_disposition'
),
named as materialized (  -- in the section of its own
  select place, row_ref from places where section = 'disposition' order by place limit 1
),
other_place as materialized (
  select p.place, p.row_ref
  from places p, named n, adm
  where p.section <> 'disposition' and p.place <> n.place and adm.place in (p.place, n.place)
),

-- C2: major procedures, and the words by which a summary names them ----------------------------------------
major as materialized (
  select
    p.row_ref, p.icd_code,
    case
      when p.icd_version = 9 then case
        when regexp_matches(p.icd_code, '^3[567]') or p.icd_code = '0066' then 'heart'
        when regexp_matches(p.icd_code, '^3[89]') then 'vessels'
        when regexp_matches(p.icd_code, '^3[234]') then 'chest'
        when regexp_matches(p.icd_code, '^5[12]') then 'biliary'
        when regexp_matches(p.icd_code, '^(?:4|50|53|54)') then 'abdomen'
        when regexp_matches(p.icd_code, '^(?:5[5-9]|6[0-4])') then 'urinary'
        when regexp_matches(p.icd_code, '^(?:6[5-9]|7[0-5])') then 'pelvis'
        when regexp_matches(p.icd_code, '^(?:7[6-9]|8[0-4])') then 'bone'
        when regexp_matches(p.icd_code, '^8[56]') then 'skin'
        else 'head' end
      when regexp_matches(p.icd_code, '^02') then 'heart'
      when regexp_matches(p.icd_code, '^0[3-6]') then 'vessels'
      when regexp_matches(p.icd_code, '^0[BW]') then 'chest'
      when regexp_matches(p.icd_code, '^0F') then 'biliary'
      when regexp_matches(p.icd_code, '^0[D7]') then 'abdomen'
      when regexp_matches(p.icd_code, '^0[TV]') then 'urinary'
      when regexp_matches(p.icd_code, '^0U') then 'pelvis'
      when regexp_matches(p.icd_code, '^0[KLMNPQRSXY]') then 'bone'
      when regexp_matches(p.icd_code, '^0[HJ]') then 'skin'
      else 'head'
    end as family
  from procedures_icd p join adm using (hadm_id)
  where (p.icd_version = 9
      and (regexp_matches(p.icd_code, '^(?:360|0066$|3794)')
        or (regexp_matches(p.icd_code, '^(?:0[1-9]|[1-7]\d|8[0-6])')
          and not regexp_matches(p.icd_code,
            '^(?:0331|31[01]|314|332|3404|3491|372|389|3995|4311|441[34]|451[1-6]|452[1-5]|454[23]|4632|5011'
            || '|511[0-4]|518[4-8]|521[34]|5293|5491|5498|579[45]|819[12]|86[01]|862[0-8]|8659)'))))
    or (p.icd_version = 10
      and (regexp_matches(p.icd_code, '^(?:027..3|02RF3)')
        or (regexp_matches(p.icd_code, '^0...[04]') and not regexp_matches(p.icd_code, '^0.J|^0W9|^0B11'))))
),
words as materialized (
  select * from (values
    ('heart', 'bypass|cabg|valve (?:replac|repair)|[am]vr\b|tavr|stent|\bpci\b|angioplast|pacemaker|defibrillator|\bicd (?:plac|impl)|sternotom|ablation|lvad|transplant|pericardi\w+ectom|cardiac surgery'),
    ('vessels', 'bypass|endarterectom|aneurysm repair|evar\b|stent|angioplast|graft|fistula|emboli[sz]ation|emboli?ectom|thrombectom|vascular surgery'),
    ('chest', 'lobectom|wedge resection|\bvats\b|thoracoscop|thoracotom|pleurodesis|decorticat|pneumonectom|thoracic surgery|lung (?:resection|biopsy|transplant)'),
    ('biliary', 'cholecystectom|lap chole|\bccy\b|(?:removal|resection) of (?:the |your |her |his )?gallbladder|gallbladder (?:removal|surgery|was removed)|hepatectom|pancrea\w*ectom|whipple|transplant|biliary (?:bypass|reconstruct)|hepaticojejun'),
    ('abdomen', 'colectom|resection|ostomy|laparo|appendectom|hernia (?:repair|surgery)|herniorrhaph|anastomos|gastrectom|esophagectom|fundoplicat|splenectom|hepatectom|lysis of adhesion|bowel surgery'),
    ('urinary', 'nephrectom|transplant|prostatectom|cystectom|turp\b|turbt|ureter\w+ (?:stent|reimplant)|nephrostom|pyeloplast|orchi\w+'),
    ('pelvis', 'hysterectom|oophorectom|salping|cesarean|c-section|myomectom|vaginectom'),
    ('bone', '\borif\b|fixation|arthroplast|(?:knee|hip|shoulder|joint) (?:replacement|repair|surgery)|\b[th][kh][ar]\b|fusion|laminectom|discectom|amputat|\b[ab]ka\b|intramedullary|nailing|debridement|orthop\w+ surgery|washout'),
    ('skin', 'mastectom|lumpectom|debridement|graft|flap|excision|incision and drainage|\bi ?& ?d\b'),
    ('head', 'craniotom|craniectom|burr|shunt|\bevd\b|evacuat|resection|decompress|laminectom|thyroidectom|parathyroidectom|adrenalectom|vitrectom|cataract|sinus surgery|tonsillectom|laryng\w+|parotidectom|neurosurg'))
    as t(family, named)
),
unnamed as materialized (
  select m.row_ref
  from major m join words w using (family), page p
  where not regexp_matches(p.text, w.named, 'i')
),
another_name as materialized (  -- the list of procedures holds an operation, by whatever name
  select exists (
    from parts
    where element = 'procedures' and regexp_matches(array_to_string(contents, ' '),
      '\w(?:ectomy|otomy|ostomy|plasty|rrhaphy|pexy)\b|surgery|operation|\brepair|bypass|graft', 'i')) as value
),

-- C3 to C6 --------------------------------------------------------------------------------------------------
icu as materialized (
  select i.row_ref
  from icustays i join adm using (hadm_id), page p
  where i.outtime - i.intime >= interval 24 hour
    and not regexp_matches(p.text, '\b(?:[a-z]{0,4}icu|ccu|csru|intensive|critical care|the unit|unit (?:stay|course))\b', 'i')
),
allergens as materialized (
  select distinct unnest(regexp_extract_all(lower(array_to_string(contents, ' ')), '[a-z]{5,}')) as word
  from parts where element = 'allergies'
),
listed as materialized (
  select distinct unnest(regexp_extract_all(lower(array_to_string(contents, ' ')), '[a-z]{5,}')) as word
  from parts where element = 'medications'
),
allergic as materialized (  -- words that are names of drugs in this chart
  select any_value(p.row_ref) as row_ref
  from allergens a join listed l using (word)
  join prescriptions p on p.subject_id = $subject_id and contains(lower(p.drug), a.word)
  where a.word not in ('sodium', 'potassium', 'chloride', 'calcium', 'tablet', 'capsule', 'release', 'drugs', 'adverse')
  having count(*) > 0
),
grown as materialized (
  select
    m.row_ref, lower(m.org_name) as organism,
    count(distinct m.micro_specimen_id) over (partition by lower(m.org_name)) as bottles
  from microbiologyevents m, adm
  where m.subject_id = $subject_id and m.spec_type_desc ilike 'BLOOD CULTURE%'
    and coalesce(m.charttime, m.chartdate) >= adm.admittime - interval 24 hour
    and coalesce(m.charttime, m.chartdate) < coalesce(adm.dischtime, timestamp '2999-12-31')
    and m.org_name is not null and m.org_name not ilike '%cancelled%'
),
untold as materialized (
  select g.row_ref
  from grown g, page p
  where not (g.bottles = 1 and regexp_matches(g.organism,
      'coagulase|corynebact|diphther|^bacillus|micrococc|cutibact|propionibact'))
    and not contains(lower(p.text), regexp_extract(g.organism, '^[a-z]+'))
    and not regexp_matches(p.text,
      'bacter[ae]+mi|fung[ae]+mia|candid[ae]+mia|blood (?:cultures?|cx)[^.]{0,80}(?:positive|grew|growing|\bpos\b|\+)|\b(?:mssa|mrsa|vre|gpcs?|gnrs?)\b', 'i')
),
sexes as materialized (select value, row_ref from told where reading = 'stated_sex'),
wrong_sex as materialized (  -- the summary speaks of the other sex, and never of the right one
  select s.row_ref from sexes s join patients p on p.subject_id = $subject_id
  where s.value <> if(p.gender = 'F', 'female', 'male')
    and not exists (
      from sexes t join patients q on q.subject_id = $subject_id
      where t.value = if(q.gender = 'F', 'female', 'male'))
),
conflicts as materialized (
  select 'C1' as conflict, n.row_ref, adm.row_ref as other
  from named n, adm
  where adm.place is not null and n.place <> adm.place
  union all
  select 'C2', p.row_ref, u.row_ref from unnamed u, page p where not (select value from another_name)
  union all
  select 'C3', p.row_ref, i.row_ref from icu i, page p
  union all
  select 'C4', p.row_ref, a.row_ref from allergic a, page p
  union all
  select 'C5', p.row_ref, u.row_ref from untold u, page p
  union all
  select 'C6', w.row_ref, w.row_ref from wrong_sex w
),
open_question as materialized (
  select n.row_ref, adm.row_ref as other
  from named n, adm where adm.generic and n.place <> 'facility'
  union all
  select p.row_ref, u.row_ref from unnamed u, page p where (select value from another_name)
)

select
  {
    value: exists (from ds),
    rows: (select coalesce(list(row_ref), []) from ds)
  } as summary,
  {
    value: (select count(*) from absent)::integer,
    rows: (select coalesce(list(row_ref), []) from ds)
      || (select coalesce(list(distinct row_ref), []) from told where reading in ('discharge_state', 'follow_up_told'))
  } as missing_elements,
  {
    value: exists (from open_question),
    rows: (select coalesce(list(distinct row_ref), []) || coalesce(list(distinct other), []) from open_question)
  } as undecidable_conflict,
  {
    value: (select count(distinct conflict) from conflicts)::integer,
    rows: [adm.row_ref] || (select coalesce(list(row_ref), []) from ds)
      || (select coalesce(list(distinct other), []) from conflicts)
  } as material_conflict,
  {
    value: exists (from other_place),
    rows: (select coalesce(list(distinct row_ref), []) from other_place)
      || if(exists (from other_place), [adm.row_ref], [])
  } as self_contradiction
from adm
