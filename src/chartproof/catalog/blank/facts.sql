-- One row. Each fact is a struct of its value and the rows behind it; rules/engine.py tells the form.
with
value as (
  select round(l.valuenum, 2) as number, l.charttime, l.comments, l.row_ref
  from labevents l, admissions a
  where a.hadm_id = $hadm_id and l.itemid = 50971 and l.valuenum is not null
    and l.charttime >= a.admittime - interval 24 hour and l.charttime < a.dischtime
),
lowest as (
  select * from value order by number, charttime limit 1
),
later as (                -- a normal value within two hours after the lowest
  select v.row_ref from value v, lowest
  where v.charttime > lowest.charttime and v.charttime <= lowest.charttime + interval 2 hour
    and v.number >= 3.5
)
select
  {value: (select number from lowest)::decimal(9,2),
   rows: (select coalesce(list(row_ref), []) from lowest)} as lowest,
  {value: exists (from later), rows: (select coalesce(list(row_ref), []) from later)} as lowest_refuted,
  {value: coalesce((select regexp_matches(comments, 'hemoly', 'i') from lowest), false),
   rows: (select coalesce(list(row_ref), []) from lowest)} as haemolysed
