-- canary-of-the-catalogue-6f0b2c94d1e84b57
-- Facts of frequent-admitter: one row, about all admissions of a patient.
with

-- admissions with their principal diagnosis and what it means -------------------------------------
principal as (
  select
    hadm_id, row_ref, icd_version || ':' || icd_code as code
  from diagnoses_icd
  where subject_id = $subject_id and seq_num = 1
  qualify row_number() over (partition by hadm_id order by row_ref) = 1
),
adm as materialized (
  select
    a.hadm_id, a.admittime, greatest(a.admittime, coalesce(a.dischtime, a.admittime)) as dischtime,
    a.row_ref, d.row_ref as code_ref,
    case  -- the groups of the governing definition; NULL is `other`
      when regexp_matches(d.code, '^(?:9:(?:428|39891|402[019]1|404[019][13])|10:(?:I50|I110|I130|I132))')
        then 'heart_failure'
      when regexp_matches(d.code, '^(?:9:49[0-6]|10:J4[0-7])') then 'copd_asthma'
      when regexp_matches(d.code, '^(?:9:(?:5856|2766|403[019]1)|10:(?:N186|E877|I120))')
        then 'esrd_volume'
      when regexp_matches(d.code, '^(?:9:(?:57[12]|456[012]|56723)|10:(?:K7[0-4]|K76[67]|K7682|K652|I85[01]1))')
        then 'cirrhosis'
      when regexp_matches(d.code, '^(?:9:(?:2826|2824)|10:D57)') then 'sickle_cell'
      when regexp_matches(d.code, '^(?:9:250|10:E(?:08|09|1[013]))') then 'diabetes'
      when regexp_matches(d.code, '^(?:9:(?:29[12]|30[34]|305[02-9])|10:F1[0-689])')
        then 'alcohol_substance'
      when regexp_matches(d.code, '^(?:9:(?:1[4-9]\d|20[0-8]|23\d|3383|51181)|10:(?:C|D0|D3[7-9]|D4|G893|J910))')
        then 'cancer'
      when regexp_matches(d.code, '^(?:9:(?:41[01]|4273)|10:(?:I2[0124]|I48))') then 'af_acs'
      when regexp_matches(d.code,
        '^(?:9:(?:29[5-9]|30[0-26-9]|311|9[67]\d|V6284)|10:(?:F[2-6]|R45851|T(?:3[6-9]|4\d|50)..[1-4]))')
        then 'psychiatric_overdose'
      when regexp_matches(d.code, '^(?:9:(?:7890|577)|10:(?:R10|K85|K86[01]))')
        then 'abdominal_pancreatitis'
      when regexp_matches(d.code, '^(?:9:(?:345|7803)|10:(?:G4[01]|R56))') then 'seizure'
      when regexp_matches(d.code, '^(?:9:(?:V1588|E88[0-8])|10:(?:R296|W[01]))') then 'falls'
      when regexp_matches(d.code, '^(?:9:(?:578|53[1-4][0246]|5693|562[01][23])|10:(?:K92[0-2]|K2[5-8][0246]|K57[1359]1|K625))')
        then 'gi_bleed'
      when regexp_matches(d.code, '^(?:9:43[0-6]|10:(?:I6[0-3]|G45))') then 'stroke'
      when regexp_matches(d.code,
        '^(?:9:(?:038|7907|9959[12]|48[0-8]|590|5990|68[12]|730[0-2])|10:(?:A4[01]|R652|R7881|J09|J1[0-8]|N10|N390|L03|M86))')
        then 'infection'
    end as code_group,
    case
      -- maintenance chemotherapy or radiotherapy, dialysis, rehabilitation
      when regexp_matches(d.code, '^(?:9:(?:V58[01]|V56|V57)|10:(?:Z51[01]|Z49|Z5189))') then 'planned'
      when a.admission_type in ('EW EMER.', 'URGENT', 'DIRECT EMER.', 'OBSERVATION ADMIT')
        then 'unplanned'
      when a.admission_type in ('ELECTIVE', 'SURGICAL SAME DAY ADMISSION') then 'planned'
      else 'observation'  -- a type that is missing or unclear stands with them
    end as kind,
    a.admission_type in ('EU OBSERVATION', 'DIRECT OBSERVATION', 'AMBULATORY OBSERVATION') as observed
  from admissions a left join principal d using (hadm_id)
  where a.subject_id = $subject_id
),

-- sets to count, and in each the events: what begins within 24 h of a discharge continues it ------
member as (
  select unnest(case kind
      when 'unplanned' then ['m', 'm_obs', 'm_all', 'inpatient']
      when 'observation' then ['m_obs', 'm_all']
      else if(coalesce(observed, false), ['m_all'], ['m_all', 'inpatient'])
    end) as tally, hadm_id, admittime, dischtime, row_ref
  from adm
),
begun as (
  select
    *,
    coalesce(admittime > max(dischtime) over (
      partition by tally order by admittime, hadm_id
      rows between unbounded preceding and 1 preceding) + interval 24 hour, true) as begins
  from member
),
part as (
  select *, sum(begins::integer) over (partition by tally order by admittime, hadm_id) as event
  from begun
),
event as (
  select
    tally, min(admittime) as began, arg_min(hadm_id, (admittime, hadm_id)) as hadm_id,
    list(hadm_id order by admittime, hadm_id) as parts,
    list(row_ref order by admittime, hadm_id) as rows
  from part group by tally, event
  union all  -- a visit to the ED alone is an event of its own
  select 'm_all', intime, null, [], [row_ref]
  from edstays where subject_id = $subject_id and hadm_id is null and intime is not null
),
counted as (
  select a.tally, a.began, count(*) as n, flatten(list(b.rows order by b.began)) as rows
  from event a join event b
    on b.tally = a.tally and b.began >= a.began and b.began < a.began + interval 365 day
  group by a.tally, a.began
),
most as materialized (  -- of each set the fullest 365 days; of equals the earliest
  select tally, began, n, list_distinct(rows) as rows from counted
  qualify row_number() over (partition by tally order by n desc, began) = 1
),
numbers as (
  select
    coalesce(max(n) filter (tally = 'm'), 0)::integer as m,
    coalesce(max(n) filter (tally in ('m', 'm_obs')), 0)::integer as m_obs,
    coalesce(max(n) filter (tally in ('m', 'm_obs', 'm_all')), 0)::integer as m_all,
    coalesce(max(n) filter (tally = 'inpatient'), 0)::integer as inpatient,
    any_value(began) filter (tally = 'm') as began
  from most
),

-- the reason of each counted event ------------------------------------------------------------------
told as (  -- by the summary
  select
    hadm_id, arg_min(value, (line_from, value)) as value, arg_min(row_ref, (line_from, value)) as row_ref
  from noted
  where reading = 'admission_reason' and note_table = 'discharge'
  group by hadm_id
),
summary as (
  select e.hadm_id, arg_min(t.value, list_position(e.parts, t.hadm_id)) as value,
    arg_min(t.row_ref, list_position(e.parts, t.hadm_id)) as row_ref
  from event e join told t on list_contains(e.parts, t.hadm_id)
  where e.tally = 'm'
  group by e.hadm_id
),
reason as materialized (  -- without a word of the summary the code stands
  select
    e.hadm_id, a.code_group, coalesce(s.value, a.code_group) as note_group,
    a.code_ref is null and s.value is null as unknown, a.code_ref, s.row_ref as note_ref
  from event e
  join numbers c on e.began >= c.began and e.began < c.began + interval 365 day
  join adm a using (hadm_id)
  left join summary s using (hadm_id)
  where e.tally = 'm'
),
by_code as (
  select code_group as name, count(*) as n, count(*) filter (note_group = code_group) as agree
  from reason where code_group is not null group by code_group
),
by_note as (
  select note_group as name, count(*) as n from reason where note_group is not null group by note_group
),
known as (
  select coalesce(max(n), 0) as k from (
    select count(*) as n from reason where coalesce(code_group, note_group) is not null
    group by coalesce(code_group, note_group))
),
leader as (
  select
    coalesce((select max(n) from by_code), 0) as code_n,
    coalesce((select max(n) from by_note), 0) as note_n,
    (select arg_max(name, (n, name)) from by_code) as code_name,
    (select arg_max(name, (n, name)) from by_note) as note_name,
    (select arg_max(agree, (n, name)) from by_code) as agree,
    (select count(*) from by_code where n = (select max(n) from by_code)) > 1
      or (select count(*) from by_note where n = (select max(n) from by_note)) > 1 as tie
),
shares as (  -- rounded up, so that share times number gives the count back
  select
    l.*, c.m,
    if(c.m = 0, 0, ceil(10000 * l.code_n / c.m) / 10000)::decimal(9, 4) as code_share,
    if(c.m = 0, 0, ceil(10000 * l.note_n / c.m) / 10000)::decimal(9, 4) as note_share,
    (2 * l.code_n >= c.m and l.code_n >= 3) or (2 * l.note_n >= c.m and l.note_n >= 3) as dominant
  from leader l, numbers c
),
evidence as (
  select
    coalesce(list(code_ref order by code_ref) filter (code_ref is not null), []) as codes,
    coalesce(list(note_ref order by note_ref) filter (note_ref is not null), []) as notes
  from reason
),

-- admissions elsewhere ----------------------------------------------------------------------------------
outside as (  -- told by a summary: of the year that ends with its admission
  select
    n.row_ref, if(n.value = 'many', 4, coalesce(try_cast(n.value as integer), 1)) as stated,
    (select count(*) from event e
     where e.tally = 'inpatient' and e.began > a.admittime - interval 365 day
       and e.began <= a.admittime) as here
  from noted n join adm a using (hadm_id)
  where n.reading = 'outside_admissions'
),
reaching as (
  select o.row_ref from outside o, numbers c where c.inpatient <= 3 and o.here + o.stated >= 4
),
-- for counterfactuals: the middle of the longest time between two admissions of the window
gap as (
  select arg_max(dischtime + (following - dischtime) / 2, following - dischtime) as middle
  from (select dischtime, admittime, lead(admittime) over (order by admittime, hadm_id) as following from adm),
    numbers c
  where admittime >= c.began and following < c.began + interval 365 day
    and following - dischtime >= interval 4 day
)

select
  c.began as anchor_window_start,
  c.began + interval 365 day as anchor_window_end,
  (select date_trunc('minute', middle) from gap) as anchor_gap_middle,
  {value: c.m, rows: (select coalesce(flatten(list(rows)), []) from most where tally = 'm')} as m,
  {
    value: c.m_obs,
    rows: (select coalesce(flatten(list(rows)), []) from most where tally = 'm_obs')
  } as m_obs,
  {
    value: c.m_all,
    rows: (select coalesce(flatten(list(rows)), []) from most where tally = 'm_all')
  } as m_all,
  {
    value: exists (from reaching),
    rows: (select coalesce(list(row_ref order by row_ref), []) from reaching)
  } as outside_could_reach4,
  {
    value: (
      select (k < 3 or 2 * k < c.m) and k + u >= 3 and 2 * (k + u) >= c.m
      from known, (select count(*) as u from reason where unknown)),
    rows: []
  } as reasons_unknown_decisive,
  {value: s.code_share, rows: e.codes} as share_code,
  {value: s.note_share, rows: e.notes} as share_note,
  {
    value: not s.dominant or coalesce(s.code_name = s.note_name and 2 * s.agree > s.code_n, false),
    rows: e.codes || e.notes
  } as same_driver,
  {value: s.tie, rows: e.codes || e.notes} as tie,
  {value: len(e.notes)::integer, rows: e.notes} as n_told
from numbers c, shares s, evidence e
