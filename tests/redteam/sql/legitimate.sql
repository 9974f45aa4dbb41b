-- Queries that a careful agent asks, one a line. A guard that refuses one of them is broken.
-- plain reading
select * from labevents where itemid = 50912 order by charttime
from patients
select subject_id, gender, anchor_age from patients where 1 = 1
select distinct event_txt from emar where event_txt in ('Administered', 'Not Given')
select admission_type, hospital_expire_flag from admissions order by admittime desc limit 1
select * exclude (comments, subject_id) from labevents limit 5
select columns('^value') from labevents where valuenum is not null limit 5
select count(*) as n, count(distinct itemid) as items from labevents
select note_id, length(text) as characters from discharge
select field_name, field_value from radiology_detail where field_name = 'exam_name'
select "table", covered, missing from coverage where not covered or len(missing) > 0
describe labevents
describe select l.value, d.label from labevents l join d_labitems d using (itemid)
select row_ref, charttime, value, valuenum, valueuom, flag from labevents limit 20 offset 2
values (1, 'a'), (2, 'b')
-- words that a list of words would stop
select 'hashimoto' as disease, 'Monkeypox' as other, 'author' as field_name
select administration_type from emar_detail
select 'drop table patients; --' as text -- delete from labevents
select field_value from poe_detail where field_name = 'Code status' /* insert, update */
select status as "set", medication as "attach" from pharmacy
select value from labevents where comments like '%HEMOLYZED%' or comments ilike '%copy%'
-- joins
select l.charttime, l.valuenum, d.label from labevents l join d_labitems d using (itemid)
select a.hadm_id, i.stay_id from admissions a left join icustays i using (hadm_id)
select e.charttime, d.dose_given from emar e join emar_detail d using (emar_id)
select p.drug, e.event_txt from prescriptions p full join emar e using (pharmacy_id)
select a.hadm_id from admissions a anti join icustays i using (hadm_id)
select a.hadm_id from admissions a semi join labevents l on a.hadm_id = l.hadm_id
select l.charttime, s.stay_id from labevents l asof left join icustays s on l.subject_id = s.subject_id and l.charttime >= s.intime
select a.hadm_id, x.n from admissions a, lateral (select count(*) as n from labevents l where l.hadm_id = a.hadm_id) x
select d.icd_code, t.long_title from diagnoses_icd d join d_icd_diagnoses t using (icd_code, icd_version) where d.icd_code like 'N17%'
select a.n, b.n from (select 1 as n) a cross join (select 2 as n) b
select o.hadm_id from edstays e, admissions o where e.hadm_id = o.hadm_id
-- aggregates and windows
select itemid, min(valuenum), max(valuenum), avg(valuenum), median(valuenum), count(*) from labevents group by itemid having count(*) > 1 order by all
select itemid, arg_min(valuenum, charttime) as first, arg_max(valuenum, charttime) as last from labevents group by itemid
select quantile_cont(valuenum, [0.25, 0.5, 0.75]), stddev_samp(valuenum) from labevents
select percentile_cont(0.9) within group (order by valuenum) from labevents
select string_agg(distinct drug, ', ' order by drug) from prescriptions
select list(valuenum order by charttime) from labevents where itemid = 50912
select histogram(itemid), mode(itemid), approx_count_distinct(itemid) from labevents
select hadm_id, itemid, count(*) from labevents group by grouping sets ((hadm_id), (itemid), ())
select itemid, count(*) from labevents group by rollup (itemid)
select count(*) filter (where flag = 'abnormal') as abnormal from labevents
select charttime, valuenum - lag(valuenum) over (order by charttime) as change from labevents where itemid = 50912
select charttime, min(valuenum) over (order by charttime range between interval 48 hours preceding and current row) as lowest from labevents where itemid = 50912
select itemid, charttime from labevents qualify row_number() over (partition by itemid order by charttime desc) = 1
select rank() over w, dense_rank() over w, ntile(4) over w, cume_dist() over w from labevents window w as (order by valuenum)
select distinct on (itemid) itemid, value, charttime from labevents order by itemid, charttime
select regr_slope(valuenum, epoch(charttime)), corr(valuenum, epoch(charttime)) from labevents
-- common table expressions and set operations
with c as (select * from labevents where itemid = 50912), m as (select min(valuenum) as low from c) select c.charttime, c.valuenum - m.low from c, m
with recursive d(day) as (select timestamp '2150-03-01' union all select day + interval 1 day from d where day < timestamp '2150-03-06') select d.day, count(l.itemid) from d left join labevents l on l.charttime >= d.day and l.charttime < d.day + interval 1 day group by 1
with big as materialized (select * from labevents) select count(*) from big
select starttime as moment, drug as what from prescriptions union all select charttime, medication from emar order by moment
select hadm_id from admissions except select hadm_id from icustays
select hadm_id from admissions intersect select hadm_id from labevents
select * from (select drug, starttime from prescriptions) union all by name (select starttime, medication as drug from pharmacy)
-- pivots whose columns are named
select * from (select hadm_id, itemid, valuenum from labevents) pivot (max(valuenum) for itemid in (50912, 50931))
from (select temperature, heartrate from triage) unpivot (v for sign in (temperature, heartrate))
-- times
select date_diff('hour', admittime, dischtime) / 24.0 as days from admissions
select age(dischtime, admittime), dischtime - admittime from admissions
select date_trunc('day', charttime) as day, count(*) from labevents group by day order by day
select extract(hour from charttime), dayname(charttime), charttime::date from labevents limit 1
select strftime(charttime, '%Y-%m-%d %H:%M'), charttime + interval '2 days' from labevents limit 1
select * from labevents where charttime between timestamp '2150-03-01' and '2150-03-02 12:00'
select time_bucket(interval 6 hours, charttime) as six, count(*) from labevents group by six
select strptime('01/02/2150', '%d/%m/%Y'), make_date(2150, 1, 2), last_day(date '2150-02-01')
select p.anchor_age + year(a.admittime) - p.anchor_year as age from admissions a, patients p
-- text
select regexp_extract(text, 'CT (ABD[^\n]*)', 1) from radiology
select regexp_matches(text, '(?i)no\s+abscess'), strpos(lower(text), 'contrast') from radiology
select unnest(string_split(text, chr(10))) as line from discharge
select trim(split_part(value, '-', 1)), replace(value, '___', ''), value[1:3] from labevents
select concat_ws(' ', label, fluid), upper(label), left(label, 4), label || ', x' from d_labitems
select format('{:.2f} {}', valuenum, valueuom), printf('%.1f', valuenum) from labevents limit 3
select levenshtein(label, 'Creatinin'), jaro_winkler_similarity(label, 'creat') from d_labitems
select value similar to '[0-9.]+', value ~ '^<', value not like '%>%' from labevents limit 3
-- lists, structs, maps, JSON
select list_filter([1, 2, 3], lambda x: x > 1), [x * 2 for x in [1, 2]], list_sum([1, 2])
select list_aggregate([1, 2, 3], 'sum'), list_sort([3, 1]), list_contains(['a'], 'a'), [1, 2][1]
select {'low': min(valuenum), 'high': max(valuenum)} as span from labevents
select struct_extract({'a': 1}, 'a'), map {'k': 1}['k'], map_keys(map {'k': 1}), array_value(1, 2)
select to_json({'a': [1, 2]}), json_extract('{"a": [1]}', '$.a[0]'), '{"a": 1}' ->> 'a'
select unnest([{'a': 1}, {'a': 2}], recursive := true)
select l from (select * from labevents limit 1) l
-- numbers and conditions
select try_cast(value as double), cast(valuenum as decimal(10, 2)), valuenum::int from labevents
select case when valuenum > 1.3 then 'high' when valuenum is null then 'none' else 'ok' end from labevents
select coalesce(valuenum, 0), nullif(value, '___'), ifnull(flag, '-'), greatest(1, 2) from labevents
select round(valuenum, 1), abs(-1), 7 // 2, 7 % 2, 2 ** 3, sqrt(4), ln(2.7), ceil(1.2) from labevents
select valuenum is distinct from 1, valuenum not in (1, 2), not isnan(valuenum) from labevents
select count(*) from labevents where itemid in (select itemid from d_labitems where label ilike '%creatinine%') and exists (select 1 from admissions)
select count(*) from labevents where valuenum > all (select 0) or valuenum = any (select 1)
select sha256(text), md5(text), to_base64(encode('x')), hex('a') from discharge
select n, n * n from range(1, 6) as t(n)
select d from generate_series(timestamp '2150-03-01', timestamp '2150-03-03', interval 1 day) t(d)
