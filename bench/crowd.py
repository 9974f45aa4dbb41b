"""A crowd of patients made by SQL alone, for benches that need many and care for none."""

import duckdb

from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.records.store import Coverage, Tier

FIRST = 9_000_000

ROWS = {
    "patients": "select 9000000 + i as subject_id, 'F' as gender, 60 as anchor_age, "
    "2150 as anchor_year, '2014 - 2016' as anchor_year_group from range($n) t(i)",
    "admissions": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, "
    "timestamp '2150-01-01' as admittime, timestamp '2150-01-09' as dischtime, "
    "'EW EMER.' as admission_type, 0 as hospital_expire_flag from range($n) t(i)",
    "icustays": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, 7000000 + i as stay_id, "
    "timestamp '2150-01-01' as intime, timestamp '2150-01-04' as outtime from range($n) t(i)",
    "labevents": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, "
    "i * 200 + k as labevent_id, 50900 + k % 60 as itemid, "
    "timestamp '2150-01-01' + interval (k * 50) minute as charttime, "
    "timestamp '2150-01-01' + interval (k * 50 + 40) minute as storetime, "
    "round(1 + (k * 7 % 13) / 10, 1)::varchar as value, round(1 + (k * 7 % 13) / 10, 1) as valuenum, "
    "'mg/dL' as valueuom from range($n) t(i), range(200) s(k)",
    "chartevents": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, 7000000 + i as stay_id, "
    "220045 + k % 9 as itemid, timestamp '2150-01-01' + interval (k * 9) minute as charttime, "
    "(70 + k % 40)::varchar as value, 70 + k % 40 as valuenum from range($n) t(i), range(450) s(k)",
    "emar": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, "
    "(9000000 + i) || '-' || k as emar_id, k as emar_seq, 'Metoprolol Tartrate' as medication, "
    "'Administered' as event_txt, timestamp '2150-01-01' + interval (k * 3) hour as charttime "
    "from range($n) t(i), range(60) s(k)",
    "poe": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, "
    "(9000000 + i) || '-' || k as poe_id, k as poe_seq, 'Lab' as order_type, "
    "timestamp '2150-01-01' + interval (k * 2) hour as ordertime from range($n) t(i), range(80) s(k)",
    "discharge": "select 9000000 + i as subject_id, 8000000 + i as hadm_id, "
    "(9000000 + i) || '-DS-1' as note_id, 'DS' as note_type, 1 as note_seq, "
    "timestamp '2150-01-09' as charttime, repeat('A line of a note that says little.' || chr(10), 250) "
    "as text from range($n) t(i)",
    "d_labitems": "select 50900 + k as itemid, 'Item ' || k as label, 'Blood' as fluid, "
    "'Chemistry' as category from range(60) s(k)",
    "d_items": "select 220045 + k as itemid, 'Charted ' || k as label from range(9) s(k)",
}


class Crowd(Source):
    """`n` patients of the same build: 200 labs, 450 charted values, 140 orders and doses each."""

    name = "crowd"
    tier: Tier = "synthetic"

    def __init__(self, n: int) -> None:
        self.n = n
        self.version = str(n)

    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(table=each.name, module=each.module, covered=True)
            for each in tables().values()
        )

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
        db.execute(f"create or replace table staged ({columns})")
        if table.name in ROWS:
            rows = ROWS[table.name]
            given = {"n": self.n} if "$n" in rows else {}
            db.execute(f"insert into staged by name {rows}", given)
