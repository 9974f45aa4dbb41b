-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of sepsis-sep1: one row. Time zero is the first moment by which a suspicion of infection, two
-- signs of SIRS and one organ dysfunction have come together within six hours.
with stay as materialized (
  select
    a.admittime, coalesce(a.dischtime, timestamp '2999-12-31') as dischtime, a.deathtime,
    coalesce(a.edregtime, a.admittime) as arrival, a.edregtime, a.edouttime, a.admission_location,
    age_at(p.anchor_age, p.anchor_year, a.admittime) as age, a.row_ref, p.row_ref as patient_ref
  from admissions a join patients p using (subject_id)
  where a.hadm_id = $hadm_id
),
told as materialized (select * from noted where note_table = 'discharge' and hadm_id = $hadm_id),
kit as materialized (
  select distinct name from drug_name where class = 'antibiotic'
),

-- suspicion of infection ---------------------------------------------------------------------------
cultures as materialized (  -- one blood culture a specimen; growth does not matter
  select
    m.micro_specimen_id, min(m.charttime) as drawn, min(m.chartdate) as day,
    list(m.row_ref order by m.row_ref) as rows
  from microbiologyevents m, stay s
  where m.subject_id = $subject_id and (m.spec_type_desc = 'BLOOD CULTURE' or (m.spec_type_desc is null and m.spec_itemid = 70012))
    and coalesce(m.charttime, m.chartdate) >= s.arrival - interval 3 day
    and coalesce(m.charttime, m.chartdate) < s.dischtime
  group by m.micro_specimen_id
),
orders as materialized (  -- intravenous; a single day of a surgical agent on a day of a procedure is prophylaxis
  select r.starttime, r.drug, r.row_ref
  from prescriptions r, stay s
  where r.subject_id = $subject_id and r.route like 'IV%' and r.drug in (select name from kit)
    and r.starttime >= s.arrival - interval 24 hour and r.starttime < s.dischtime
    and not (
      r.stoptime <= r.starttime + interval 24 hour
      and regexp_matches(r.drug, 'cefazolin|ancef|cefoxitin|cefotetan|cefuroxime', 'i')
      and exists (
        from procedures_icd p where p.subject_id = $subject_id and p.chartdate = r.starttime::date))
),
suspicion as materialized (
  select drawn as moment, rows from cultures, stay s
  where drawn >= s.arrival - interval 24 hour
  union all
  select starttime, [row_ref] from orders
),

-- SIRS ------------------------------------------------------------------------------------------------
visits as materialized (
  select e.stay_id, e.intime from edstays e where e.subject_id = $subject_id and e.hadm_id = $hadm_id
),
signs as materialized (  -- every measured sign with its time; degrees Fahrenheit become Celsius
  select v.intime as moment, kind, value, t.row_ref
  from triage t join visits v using (stay_id),
    lateral (values ('temp', t.temperature), ('hr', t.heartrate), ('rr', t.resprate), ('sbp', t.sbp))
      as x (kind, value)
  union all
  select g.charttime, kind, value, g.row_ref
  from vitalsign g join visits v using (stay_id),
    lateral (values ('temp', g.temperature), ('hr', g.heartrate), ('rr', g.resprate), ('sbp', g.sbp::double))
      as x (kind, value)
  union all
  select
    c.charttime,
    case
      when c.itemid in (223761, 223762) then 'temp' when c.itemid = 220045 then 'hr'
      when c.itemid = 220210 then 'rr' when c.itemid in (220052, 220181, 225312) then 'map' else 'sbp'
    end, c.valuenum, c.row_ref
  from chartevents c
  where c.subject_id = $subject_id
    and c.itemid in (223761, 223762, 220045, 220210, 220052, 220181, 225312, 220050, 220179, 225309,
      224167, 227243)
),
measured as materialized (
  select
    moment, kind, signs.row_ref,
    if(kind = 'temp' and value between 86 and 113, round((value - 32) / 1.8, 2), value)::decimal(9, 2)
      as value
  from signs, stay s
  where moment >= s.arrival - interval 6 hour and moment < s.dischtime
    and case kind
      when 'temp' then value between 30 and 45 or value between 86 and 113
      when 'hr' then value between 20 and 300 when 'rr' then value > 0 and value <= 80
      when 'map' then value between 20 and 200 else value between 30 and 300 end
),
labs as materialized (
  select
    l.itemid, l.charttime as moment, l.specimen_id, l.row_ref,
    lab_bounded(l.valuenum, l.value, l.comments)::decimal(12, 3) as value,
    -- a drawn specimen has a result, be it a word
    l.valuenum is not null or regexp_matches(l.value, '[A-Za-z0-9]') as resulted
  from labevents l, stay s
  where l.subject_id = $subject_id
    and l.itemid in (50813, 51301, 51144, 50912, 50885, 51265, 51237, 51275)
    and l.charttime >= s.arrival - interval 366 day and l.charttime < s.dischtime
),
sirs as materialized (
  select moment, kind, row_ref from measured
  where case kind
    when 'temp' then value > 38.3 or value < 36.0 when 'hr' then value > 90
    when 'rr' then value > 20 else false end
  union all
  select moment, 'white', l.row_ref from labs l, stay s
  where moment >= s.arrival - interval 6 hour
    and ((itemid = 51301 and (value > 12 or value < 4)) or (itemid = 51144 and value > 10))
),

-- organ dysfunction, and what may explain it from before -------------------------------------------------
codes as materialized (
  select
    list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code in ('5856', 'V4511'))
      or (icd_version = 10 and icd_code in ('N186', 'Z992'))) as esrd,
    list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code in ('5854', '5855'))
      or (icd_version = 10 and icd_code in ('N184', 'N185'))) as ckd,
    list(row_ref order by row_ref) filter ((icd_version = 9 and icd_code like '571%')
      or (icd_version = 10 and regexp_matches(icd_code, '^K7[0-4]'))) as liver,
    list(row_ref order by row_ref) filter ((icd_version = 9
        and (icd_code like '571%' or regexp_matches(icd_code, '^20[0-8]')))
      or (icd_version = 10 and regexp_matches(icd_code, '^(K703|K74|C8[1-9]|C9[0-6])'))) as platelets
  from diagnoses_icd where hadm_id = $hadm_id
),
history as materialized (
  select
    coalesce(list(distinct row_ref order by row_ref) filter (reading = 'esrd' and value = 'stated'), [])
      as dialysis,
    coalesce(list(distinct row_ref order by row_ref)
      filter (reading = 'severe_liver_disease' and value in ('cirrhosis', 'failure')), []) as cirrhosis,
    coalesce(list(distinct row_ref order by row_ref) filter (
      (reading = 'warfarin_intake' and value = 'taking')
      or (reading = 'home_medications' and regexp_matches(lower(value),
        'warfarin|coumadin|jantoven|apixaban|eliquis|rivaroxaban|xarelto|dabigatran|pradaxa|edoxaban|savaysa|enoxaparin|lovenox|fondaparinux|dalteparin'))),
      []) as thinned,
    coalesce(list(distinct row_ref order by row_ref)
      filter (reading = 'warfarin_intake' and value = 'unclear'), []) as perhaps
  from told
),
failing as materialized (  -- each value that passes its threshold
  select moment, kind, null::integer as itemid, measured.row_ref from measured
  where (kind = 'sbp' and value < 90) or (kind = 'map' and value < 65)
  union all
  select moment, 'lab', itemid, l.row_ref from labs l, stay s
  where moment >= s.arrival - interval 6 hour
    and ((itemid = 50912 and value > 2) or (itemid = 50885 and value > 2)
      or (itemid = 51265 and value < 100) or (itemid = 51237 and value > 1.5)
      or (itemid = 51275 and value > 60) or (itemid = 50813 and value > 2))
  union all
  select p.starttime, 'ventilation', p.itemid, p.row_ref from procedureevents p, stay s
  where p.subject_id = $subject_id and p.itemid in (225792, 225794)
    and p.statusdescription is distinct from 'Rewritten'
    and p.starttime >= s.arrival - interval 6 hour and p.starttime < s.dischtime
),
judged as materialized (  -- `explained` is left out, `possible` may be old
  select
    f.moment, f.row_ref,
    case
      when f.itemid = 50912 and (len(coalesce(c.esrd, [])) > 0 or len(h.dialysis) > 0) then 'explained'
      when f.itemid in (50885, 51237) and (len(coalesce(c.liver, [])) > 0 or len(h.cirrhosis) > 0)
        then 'explained'
      when f.itemid in (51237, 51275) and len(h.thinned) > 0 then 'explained'
      when (f.itemid = 50912 and len(coalesce(c.ckd, [])) > 0)
        or (f.itemid = 51265 and (len(coalesce(c.platelets, [])) > 0 or len(h.cirrhosis) > 0))
        or (f.itemid = 51237 and len(h.perhaps) > 0)
        then case
          when b.value is null then 'possible'
          when (f.itemid = 50912 and b.value > 2) or (f.itemid = 51265 and b.value < 100)
            or (f.itemid = 51237 and b.value > 1.5) then 'explained'
          else 'firm' end
      else 'firm'
    end as weight,
    list_filter([b.row_ref], lambda r: r is not null)
      || case f.itemid
        when 50912 then coalesce(c.esrd, c.ckd, h.dialysis)
        when 51265 then coalesce(c.platelets, h.cirrhosis)
        when 50885 then coalesce(c.liver, h.cirrhosis)
        when 51237 then coalesce(c.liver, []) || h.thinned || h.perhaps
        when 51275 then h.thinned else [] end as grounds
  from codes c, history h, failing f
  left join lateral (  -- the last earlier value decides whether it is new
    select l.value, l.row_ref from labs l
    where l.itemid = f.itemid and l.value is not null
      and l.moment >= f.moment - interval 365 day and l.moment < f.moment - interval 24 hour
    order by l.moment desc, l.row_ref desc limit 1
  ) b on true
),

-- time zero: the last of the first triple ------------------------------------------------------------------
moments as materialized (
  select moment from suspicion union select moment from sirs union select moment from judged
),
met as materialized (
  select
    m.moment,
    (select count(distinct kind) from sirs x where x.moment <= m.moment and x.moment >= m.moment - interval 6 hour) as kinds,
    (select count(*) from suspicion x where x.moment <= m.moment and x.moment >= m.moment - interval 6 hour) as suspected,
    (select count(*) from judged x where x.weight = 'firm' and x.moment <= m.moment
      and x.moment >= m.moment - interval 6 hour) as firm,
    (select count(*) from judged x where x.weight = 'possible' and x.moment <= m.moment
      and x.moment >= m.moment - interval 6 hour) as possible
  from moments m
),
zero as materialized (
  select
    (select min(moment) from met where kinds >= 2 and suspected > 0 and firm > 0) as firm,
    (select min(moment) from met where kinds >= 2 and suspected > 0 and firm + possible > 0) as any_
),
clock as materialized (select coalesce(firm, any_) as t0, firm is null and any_ is not null as confounded from zero),
triple as materialized (
  select list(distinct row_ref order by row_ref) as rows from (
    select unnest(rows) as row_ref from suspicion, clock where moment <= t0 and moment >= t0 - interval 6 hour
    union all
    select row_ref from sirs, clock where moment <= t0 and moment >= t0 - interval 6 hour
    union all
    select row_ref from judged, clock
    where weight <> 'explained' and moment <= t0 and moment >= t0 - interval 6 hour
  )
),
doubtful as materialized (
  select
    coalesce(list(distinct row_ref order by row_ref), [])
      || coalesce(list_sort(list_distinct(flatten(list(grounds)))), []) as rows
  from judged, clock where weight <> 'firm' or moment between t0 - interval 6 hour and t0
),

-- antibiotics that were given ---------------------------------------------------------------------------
dispensed as materialized (  -- a dose without an order that tells its route counts as intravenous
  select
    e.charttime as moment, e.medication, e.row_ref,
    coalesce(
      (select any_value(r.route) from prescriptions r where r.pharmacy_id = e.pharmacy_id),
      (select any_value(r.route) from prescriptions r where r.poe_id = e.poe_id),
      (select any_value(d.route) from emar_detail d where d.emar_id = e.emar_id and d.route is not null),
      if(regexp_matches(e.medication, 'oral|tablet|capsule|enema|liquid|ophth|inhal|susp|cream|ointment', 'i'),
        'PO', 'IV')) as route
  from emar e, stay s
  where e.subject_id = $subject_id and administered(e.event_txt) and e.medication in (select name from kit)
    and e.charttime >= s.arrival - interval 3 day and e.charttime < s.dischtime + interval 1 day
),
doses as materialized (
  select x.moment, x.row_ref, d.ingredient, d.product
  from dispensed x join drug_name d on d.name = x.medication and d.class = 'antibiotic'
  where x.route like 'IV%'
  union all
  select i.starttime, i.row_ref, k.ingredient, k.ingredient
  from inputevents i join (
    values (225798, 'vancomycin'), (225840, 'amikacin'), (225842, 'ampicillin'), (225843, 'sulbactam'),
      (225845, 'azithromycin'), (225847, 'aztreonam'), (225850, 'cefazolin'), (225851, 'cefepime'),
      (225853, 'ceftazidime'), (225855, 'ceftriaxone'), (225859, 'ciprofloxacin'), (225860, 'clindamycin'),
      (225862, 'colistin'), (225863, 'daptomycin'), (225865, 'doxycycline'), (225866, 'erythromycin'),
      (225876, 'imipenem'), (225879, 'levofloxacin'), (225881, 'linezolid'), (225883, 'meropenem'),
      (225884, 'metronidazole'), (225886, 'moxifloxacin'), (225889, 'oxacillin'), (225890, 'penicillin'),
      (225892, 'piperacillin'), (225893, 'tazobactam'), (225902, 'tobramycin'), (229061, 'ertapenem'),
      (229587, 'ceftaroline')
  ) as k (itemid, ingredient) using (itemid), stay s
  where i.subject_id = $subject_id and i.amount > 0 and i.statusdescription is distinct from 'Rewritten'
    and i.starttime >= s.arrival - interval 3 day and i.starttime < s.dischtime
),
window_doses as materialized (
  select d.* from doses d, clock
  where d.moment >= t0 - interval 24 hour and d.moment <= t0 + interval 3 hour
),
spoken as materialized (  -- the clock of the first dose as the summary writes it
  select written_moment(n.value, c.t0) as moment, n.row_ref
  from told n, clock c
  where n.reading = 'first_antibiotic' and n.value not in ('untimed', 'none') and c.t0 is not null
),
spoken_in as materialized (
  select min(moment) as moment, list(distinct row_ref order by row_ref) as rows
  from spoken, clock where moment >= t0 - interval 24 hour and moment <= t0 + interval 3 hour
),
first_dose as materialized (
  select
    least((select min(moment) from window_doses), (select moment from spoken_in)) as moment,
    coalesce((select list(distinct row_ref order by row_ref) from window_doses w
      where w.moment = (select min(moment) from window_doses)), []) as rows
),
broad as materialized (
  select row_ref, moment from window_doses
  where ingredient in ('tazobactam', 'cefepime', 'ceftazidime', 'ceftriaxone', 'cefotaxime', 'meropenem',
      'imipenem', 'ertapenem', 'doripenem', 'sulbactam', 'levofloxacin', 'moxifloxacin', 'ceftaroline')
  union all
  select a.row_ref, greatest(a.moment, b.moment) from window_doses a, window_doses b
  where a.ingredient in ('aztreonam', 'ciprofloxacin', 'gentamicin', 'tobramycin', 'amikacin')
    and b.ingredient in ('vancomycin', 'clindamycin', 'daptomycin', 'linezolid')
),
broad_ordered as materialized (  -- what makes a dose of which only the clock is told a broad one
  select distinct r.row_ref from orders r, clock c
  where regexp_matches(r.drug,
      'zosyn|tazobactam|cefepime|ceftazidime|ceftriaxone|cefotaxime|meropenem|imipenem|ertapenem|doripenem|unasyn|sulbactam|levofloxacin|moxifloxacin|ceftaroline',
      'i')
    and r.starttime >= c.t0 - interval 24 hour and r.starttime <= c.t0 + interval 3 hour
),
-- could a dose have been seen, had it been given?
emergency as materialized (
  select
    s.edregtime is not null
      and s.edregtime <= c.t0 + interval 3 hour
      and coalesce(s.edouttime, s.admittime) >= c.t0 - interval 24 hour as overlaps,
    (select list(e.row_ref order by e.row_ref)[:5] from emar e
      where e.subject_id = $subject_id and e.charttime >= s.edregtime
        and e.charttime <= coalesce(s.edouttime, s.admittime)) as charted,
    (select list(distinct n.row_ref) from told n
      where n.reading = 'first_antibiotic' and n.value = 'untimed') as untimed,
    (select list(row_ref order by row_ref)[:5] from (
      select e.row_ref from emar e
      where e.subject_id = $subject_id and e.charttime >= c.t0 - interval 24 hour
        and e.charttime <= c.t0 + interval 3 hour
      union all
      select i.row_ref from inputevents i
      where i.subject_id = $subject_id and i.starttime >= c.t0 - interval 24 hour
        and i.starttime <= c.t0 + interval 3 hour)) as streamed
  from stay s, clock c
),
seen as materialized (
  select
    c.t0 is null
      or exists (from window_doses)
      or exists (from spoken)
      or (not e.overlaps and len(coalesce(e.streamed, [])) > 0)
      or (e.overlaps and len(coalesce(e.charted, [])) > 0 and len(coalesce(e.untimed, [])) = 0) as value
  from clock c, emergency e
),

-- cultures of the window ---------------------------------------------------------------------------------
window_cultures as materialized (
  select u.* from cultures u, clock c
  where (u.drawn >= c.t0 - interval 48 hour and u.drawn <= c.t0 + interval 3 hour)
    or (u.drawn is null and u.day >= (c.t0 - interval 48 hour)::date
      and u.day <= (c.t0 + interval 3 hour)::date)
),
order_ as materialized (
  select
    count(*) > 0 as collected,
    bool_or(u.drawn is not null and (f.moment is null or u.drawn <= f.moment))
      or bool_or(u.drawn is null and (f.moment is null or u.day::date < f.moment::date)) as surely_before,
    bool_and(u.drawn is null) and not bool_or(f.moment is null or u.day::date < f.moment::date)
      and bool_or(u.day::date = f.moment::date) as same_day,
    coalesce(flatten(list(u.rows)), []) as rows
  from window_cultures u, first_dose f
),

-- lactate -------------------------------------------------------------------------------------------------
lactates as materialized (
  select l.* from labs l where l.itemid = 50813 and l.resulted
),
initial as materialized (
  select l.* from lactates l, clock c
  where l.moment >= c.t0 - interval 6 hour and l.moment <= c.t0 + interval 3 hour
  order by l.moment, l.row_ref limit 1
),
again as materialized (
  select l.row_ref from lactates l, initial i, clock c
  where l.moment > i.moment and l.moment <= c.t0 + interval 6 hour
    and (l.specimen_id is distinct from i.specimen_id or l.specimen_id is null)
),
elements as materialized (
  select
    exists (from initial) as e1,
    exists (from broad) or ((select moment from spoken_in) is not null and exists (from broad_ordered)) as e3,
    coalesce((select value > 2 from initial), false) as gt2, exists (from again) as again
),

-- outside the measure -----------------------------------------------------------------------------------
comfort as materialized (
  select c.row_ref from chartevents c, clock k
  where c.subject_id = $subject_id and c.itemid = 223758 and lower(c.value) = 'comfort measures only'
    and c.charttime < k.t0 + interval 6 hour
  union all
  select n.row_ref from told n, clock k, stay s
  where n.reading = 'comfort_care'
    and (n.value = 'arrival'
      or (n.value = 'early' and s.arrival::date + 3 <= (k.t0 + interval 6 hour)::date))
    and k.t0 is not null
),
earlier_doses as materialized (
  select d.row_ref from doses d, clock c, stay s
  where d.moment < c.t0 - interval 24 hour and d.moment >= s.arrival - interval 24 hour
  order by d.moment limit 3
),
out as materialized (
  select
    s.age < 18 or coalesce(s.admission_location = 'TRANSFER FROM HOSPITAL', false)
      or s.dischtime - s.admittime > interval 120 day and s.dischtime < timestamp '2999-01-01'
      or exists (from told where reading = 'transfer_in' and value = 'stated')
      or (c.t0 is not null and (
        exists (from comfort)
        or coalesce(s.deathtime < c.t0 + interval 6 hour, false)
        or s.dischtime < c.t0 + interval 6 hour
        or exists (from told where reading = 'bundle_refused')
        or exists (from earlier_doses))) as value,
    [s.row_ref]
      || coalesce((select list(distinct row_ref order by row_ref) from told
          where (reading = 'transfer_in' and value = 'stated')
            or (reading = 'bundle_refused' and c.t0 is not null)), [])
      || coalesce((select list(distinct row_ref order by row_ref) from comfort), [])
      || coalesce((select list(row_ref order by row_ref) from earlier_doses), []) as rows
  from stay s, clock c
),

-- was it an infection? ------------------------------------------------------------------------------------
pathogens as materialized (
  select m.row_ref from microbiologyevents m, clock c
  where m.subject_id = $subject_id and m.org_name is not null
    and not regexp_matches(coalesce(m.spec_type_desc, '') || ' ' || coalesce(m.test_name, ''), 'SCREEN', 'i')
    and not regexp_matches(m.org_name,
      'COAGULASE NEGATIVE|COAG NEG|EPIDERMIDIS|CORYNEBACTER|DIPHTHEROID|PROPIONI|CUTIBACTER|MICROCOCC|BACILLUS SPECIES|CANCELLED', 'i')
    and coalesce(m.charttime, m.chartdate) >= c.t0 - interval 48 hour
    and coalesce(m.charttime, m.chartdate) < c.t0 + interval 72 hour
),
last_dose as materialized (
  select max(d.moment) as moment, arg_max(d.row_ref, d.moment) as row_ref from doses d, clock c
  where d.moment >= c.t0 - interval 24 hour
),
diagnosis as materialized (  -- the list names a cause that is no infection, and no infection
  select row_ref from (
    select row_ref, regexp_extract(text,
      '(?:discharge|final|primary) diagnos[ei]s:?\s*\n(.*?)(?:\n\s*discharge condition|$)', 1, 'is') as words
    from discharge where hadm_id = $hadm_id)
  where regexp_matches(words,
      '\b(pancreatitis|embol\w+|cardiogenic|dehydration|hypovol\w+|drug (reaction|fever)|anaphyla\w+|adrenal)\b', 'i')
    and not regexp_matches(words,
      '\b(sep\w+|urosepsis|infect\w*|pneumoni\w+|pyelo\w+|uti|bacter\w+|cellulitis|cholangitis|cholecystitis|abscess|mening\w+|endocarditis|osteomyelitis|colitis|diverticulitis|appendicitis|peritonitis|influenza|covid\w*)\b', 'i')
),
blamed as materialized (
  select distinct row_ref from told
  where reading = 'sepsis' and value = 'denied'
  union
  select row_ref from diagnosis
),
contested as materialized (
  select
    c.t0 is not null and exists (from blamed) and not exists (from pathogens)
      and coalesce(l.moment <= c.t0 + interval 48 hour, false) as value,
    if(coalesce(l.moment > c.t0 + interval 48 hour, false), [l.row_ref], [])
      || coalesce((select list(row_ref order by row_ref) from pathogens), []) as against,
    (select coalesce(list(row_ref order by row_ref), []) from blamed)
      || list_filter([l.row_ref], lambda r: r is not null) as for_
  from clock c, last_dose l
)

select
  {value: o.value, rows: o.rows} as excluded,
  {
    value: c.t0 is not null,
    rows: coalesce(t.rows, (select list(distinct row_ref order by row_ref) from (
      select row_ref from sirs union all select row_ref from judged)), [])
  } as t0,
  {value: c.confounded, rows: coalesce(d.rows, [])} as t0_needs_confounded,
  {
    value: v.value,
    rows: [s.row_ref] || coalesce((select list(distinct row_ref order by row_ref) from window_doses), [])
      || coalesce((select list(distinct row_ref order by row_ref) from spoken), [])
      || coalesce(if(e.overlaps, e.charted, e.streamed), []) || coalesce(e.untimed, [])
  } as abx_admin_observable,
  {
    value: coalesce(u.collected and u.same_day and x.e1 and x.e3 and (not x.gt2 or x.again), false),
    rows: u.rows || f.rows
  } as culture_time_decisive_missing,
  {value: x.e1, rows: coalesce((select [row_ref] from initial), [])} as e1,
  {value: u.collected, rows: u.rows} as culture_on_time,
  {
    value: u.collected and coalesce(u.surely_before
      or (u.same_day and not (x.e1 and x.e3 and (not x.gt2 or x.again))), false),
    rows: u.rows || f.rows || coalesce((select rows from spoken_in), [])
  } as culture_before_abx,
  {
    value: exists (from told where reading = 'culture_delay_reason' and value = 'excused'),
    rows: coalesce((select list(distinct row_ref order by row_ref) from told
      where reading = 'culture_delay_reason'), [])
  } as late_order_excused,
  {
    value: x.e3,
    rows: coalesce((select list(distinct row_ref order by row_ref) from broad), [])
      || if(exists (from broad), [],
        coalesce((select rows from spoken_in), [])
          || coalesce((select list(row_ref order by row_ref) from broad_ordered), []))
      || if(x.e3, [], coalesce((select list(distinct row_ref order by row_ref) from window_doses), []))
  } as e3,
  {value: x.gt2, rows: coalesce((select [row_ref] from initial), [])} as first_lactate_gt2,
  {
    value: not x.gt2 or x.again,
    rows: coalesce((select list(row_ref order by row_ref) from again), (select [row_ref] from initial), [])
  } as repeat_ok,
  {value: k.value, rows: if(k.value, k.for_, k.against)} as infection_contested,
  c.t0 as anchor_t0
from stay s, clock c, out o, triple t, doubtful d, seen v, emergency e, order_ u, first_dose f, elements x,
  contested k
