-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Formulas that scenarios share. Temporary macros on the engine's own connection.

-- Age in a year of the shifted calendar: MIMIC gives an age at an anchor year.
create or replace temp macro age_at(anchor_age, anchor_year, at_time) as
  anchor_age + year(at_time) - anchor_year;

-- CKD-EPI 2021, race-free: mL/min/1.73 m2 from mg/dL, to one decimal.
create or replace temp macro ckd_epi_2021(creatinine, age, is_female) as
  round(
    142.0
    * pow(least(creatinine / if(is_female, 0.7, 0.9), 1), if(is_female, -0.241, -0.302))
    * pow(greatest(creatinine / if(is_female, 0.7, 0.9), 1), -1.200)
    * pow(0.9938, age)
    * if(is_female, 1.012, 1), 1)::decimal(7, 1);

-- MDRD, four variables without the term for race: eGFR from creatinine in mg/dL, not rounded.
create or replace temp macro mdrd_egfr(creatinine, age, is_female) as
  186.0 * pow(creatinine, -1.154) * pow(age, -0.203) * if(is_female, 0.742, 1);

-- The same solved for creatinine: mg/dL at an assumed eGFR, to 0.01.
create or replace temp macro mdrd_creatinine(egfr, age, is_female) as
  round(pow(egfr / (186.0 * pow(age, -0.203) * if(is_female, 0.742, 1)), -1 / 1.154), 2)
  ::decimal(9, 2);

-- A laboratory result as a number: its own, else one written in its text (`1.2`, `1.2 mg/dL`).
create or replace temp macro lab_number(valuenum, value) as
  coalesce(valuenum, try_cast(regexp_extract(value, '^\s*(\d+(\.\d+)?)\s*(mg/dL)?\s*$', 1, 'i') as double));

-- KDIGO category of an eGFR as an index: 1 is G1, 3 is G3a, 6 is G5.
create or replace temp macro kdigo_g(egfr) as
  case when egfr >= 90 then 1 when egfr >= 60 then 2 when egfr >= 45 then 3
       when egfr >= 30 then 4 when egfr >= 15 then 5 else 6 end;

-- A time of day as notes write it: `14:32`, `14:32:05`, `2:32 pm`, `02:32PM`, `2 p.m.`, `1432`, `noon`,
-- `2:32 in the afternoon`, `7 this morning`.
create or replace temp macro with_day_half(written) as
  regexp_replace(regexp_replace(written, '\s*(in the|this)\s+(early\s+)?morning$', 'am', 'i'),
                 '\s*(in the|this)\s+(early\s+)?(afternoon|evening)$', 'pm', 'i');
create or replace temp macro clock_time(written) as
  coalesce(
    try_strptime(upper(regexp_replace(with_day_half(written), '[\s.]', '', 'g')), ['%I:%M%p', '%I:%M:%S%p', '%I%p']),
    try_strptime(regexp_replace(with_day_half(written), '\s*(h|hrs?|hours|[ap]\.?m\.?)?$', '', 'i'), ['%H:%M', '%H:%M:%S', '%H%M']),
    try_strptime(case lower(written) when 'noon' then '12:00' when 'midnight' then '00:00' end, '%H:%M'))::time;

-- The moment that a note writes: with its date, else the clock on the day that comes nearest to another.
create or replace temp macro written_moment(written, near) as
  coalesce(
    try_strptime(regexp_replace(written, '[, ]+(at )?', ' '), ['%Y-%m-%d %H:%M', '%Y-%m-%d %H:%M:%S']),
    list_first(list_sort([
      {apart: abs(epoch(near::date + d::integer + clock_time(written)) - epoch(near)),
       moment: near::date + d::integer + clock_time(written)}
      for d in [-1, 0, 1] if clock_time(written) is not null])).moment);

-- Whether an eMAR event says that the drug was given. Confirmations and rate changes show a running
-- infusion, never a start; holds, refusals and removals are no administration.
create or replace temp macro administered(event) as event in (
  'Administered', 'Partial Administered', 'Delayed Administered', 'Administered in Other Location',
  'Administered Bolus from IV Drip', 'Started', 'Delayed Started', 'Started in Other Location',
  'Restarted', 'Restarted in Other Location', 'Delayed Restarted', 'Applied',
  'Applied in Other Location', 'Delayed Applied', 'Partial', 'Removed Existing / Applied New',
  'Removed Existing / Applied New in Other Location');

-- A number in a result's text that may only bound it: `>150`, `<10`, `GREATER THAN 10000`, `10-40`
-- (its lower end). What lies below a bound counts as just below it.
create or replace temp macro bounded_number(written) as
  try_cast(replace(regexp_extract(written,
      '^\s*(?:[<>]=?|(?:greater|less|more) than)?\s*(\d[\d,]*(?:\.\d+)?)\s*(?:-\s*\d[\d.,]*)?\s*[%a-z/]*\s*(?:feu|ddu)?\s*\.?\s*$',
      1, 'i'), ',', '') as double)
  - if(regexp_matches(written, '^\s*(?:<[^=]|less than)', 'i'), 0.001, 0);
create or replace temp macro lab_bounded(valuenum, value, comments) as
  coalesce(valuenum, bounded_number(value), bounded_number(comments));

-- A height in cm as notes write it: `172 cm`, `1.75 m`, `65 inches`, `5'8"`, `5 feet 8 inches`; of a
-- bare number what it can be: inches up to 90, cm from 120.
create or replace temp macro written_height(written) as
  case
    when regexp_matches(written, '^\d ?(?:''|’|f)') then
      30.48 * regexp_extract(written, '^(\d)', 1)::double
      + 2.54 * coalesce(try_cast(regexp_extract(written, '^\d[^0-9]+(\d+(?:\.\d+)?)', 1) as double), 0)
    when regexp_matches(written, '^\d[.,]\d+ ?m') then
      100 * replace(regexp_extract(written, '^(\d[.,]\d+)', 1), ',', '.')::double
    when regexp_matches(written, '^\d+(?:\.\d+)? ?(?:"|”|''''|in)')
      or try_cast(written as double) <= 90 then
      2.54 * regexp_extract(written, '^(\d+(?:\.\d+)?)', 1)::double
    when regexp_matches(written, '^\d+(?:\.\d+)? ?c') or try_cast(written as double) >= 120 then
      regexp_extract(written, '^(\d+(?:\.\d+)?)', 1)::double
  end;

-- Heparin of a line, a pump or a machine, by its name: no dose for the patient.
create or replace temp macro line_heparin(name) as regexp_matches(name,
  'flush|lock|dwell|crrt|dialysis|impella|lvad|iabp|peritoneal|for ip use|topical|side port|clot directed|line patency|sheath|a-line|arterial line|transducer', 'i');
