-- Laboratory results with their item. `bound` is what a value without a number says of it: the
-- words by which laboratories write a comparison stand here.
select
    e.row_ref as ref,
    e.charttime,
    e.storetime,
    coalesce(d.label, 'item') || ' (' || e.itemid || ')' as item,
    e.value,
    e.valuenum,
    e.valueuom as unit,
    e.flag,
    e.comments,
    e.hadm_id,
    e.ref_range_lower,
    e.ref_range_upper,
    e.specimen_id,
    d.fluid,
    case when e.valuenum is null then
        case
            when regexp_matches(e.value, '^\s*(>=|=>|≥)') then '>='
            when regexp_matches(e.value, '^\s*(<=|=<|≤)') then '<='
            when regexp_matches(e.value, '^\s*(>|GREATER|MORE THAN|ABOVE|OVER)', 'i') then '>'
            when regexp_matches(e.value, '^\s*(<|LESS|BELOW|UNDER)', 'i') then '<'
        end || ' ' || nullif(regexp_extract(e.value, '\d*\.?\d+'), '')
    end as bound,
    e.itemid,
    d.label,
    e.valueuom,
    e.priority
from labevents as e
left join d_labitems as d using (itemid)
