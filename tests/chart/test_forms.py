"""The same rows give the same store, in whatever form they arrive."""

from pathlib import Path

import duckdb
from tests.chart.official import Official

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.duckdb_file import DuckdbSource
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.sources.parquet import ParquetSource
from chartproof.chart.store import Store


def test_csv_parquet_and_duckdb_of_the_same_rows_are_one_store(home: Path, tmp_path: Path) -> None:
    hospital = Store.open(home / "store")
    with duckdb.connect() as db:
        few = db.execute(
            f"select subject_id from {hospital.relation('patients')} order by hash(subject_id) "
            "limit 3"
        ).fetchall()
    ids = ", ".join(str(row[0]) for row in few)
    rows = {}
    for name, spec in tables().items():
        mine = f"where subject_id in ({ids})" if spec.per_patient else ""
        rows[name] = f"select {', '.join(spec.columns)} from {hospital.relation(name)} {mine}"
    official = Official(rows)
    infos = [
        build(MimicSource(official.csv(tmp_path / "csv")), tmp_path / "a"),
        build(ParquetSource(official.parquet(tmp_path / "parquet")), tmp_path / "b"),
        build(DuckdbSource(official.duckdb(tmp_path / "mimic4.db")), tmp_path / "c"),
    ]
    assert len({info.digest for info in infos}) == 1
    assert [info.source for info in infos] == ["mimic", "parquet", "duckdb"]
    store = Store.open(tmp_path / "c")
    with duckdb.connect() as db:
        for name, spec in tables().items():
            if not spec.per_patient:
                continue
            # labevent_id and the like are kept, so every reference is the hospital's own
            theirs = f"select row_ref from {hospital.relation(name)} where subject_id in ({ids})"
            ours = f"select row_ref from {store.relation(name)}"
            differing = f"(from ({theirs} except all {ours}) union all "
            differing += f"from ({ours} except all {theirs}))"
            assert db.execute(f"select count(*) from {differing}").fetchone() == (0,), name
