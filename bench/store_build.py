"""How fast a store is built from compressed CSV, beside `zcat | wc -l` on the same files, and from
a DuckDB file, beside one sorted Parquet file of each of its tables: what any store has to do.

Run by hand: `.venv/bin/python bench/store_build.py [--labs 2000000]`. Laboratory rows of invented
patients, in order of patient as MIMIC-IV ships them. Both figures come from one run, so that the
ratio holds on any machine; on a busy one trust the processor seconds.
"""

import argparse
import gzip
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.duckdb_file import DuckdbSource
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.store import Store
from chartproof.chart.write import FORMAT

ROWS_A_PATIENT = 450


def generate(root: Path, labs: int) -> None:
    """Write a source with so many laboratory rows."""
    patients = labs // ROWS_A_PATIENT + 1
    first = 9_000_000
    written = {
        "patients": f"""
            select {first} + i as subject_id, 'F' as gender, 60 as anchor_age, 2150 as anchor_year,
                '2011 - 2013' as anchor_year_group, null as dod
            from range({patients}) r(i)""",
        "admissions": f"""
            select {first} + i as subject_id, 80000000 + i as hadm_id,
                timestamp '2150-01-01' as admittime, timestamp '2150-01-09' as dischtime
            from range({patients}) r(i)""",
        "labevents": f"""
            select i + 1 as labevent_id, {first} + i // {ROWS_A_PATIENT} as subject_id,
                if(i % 2 = 0, 80000000 + i // {ROWS_A_PATIENT}, null) as hadm_id,
                i // 8 as specimen_id, 50800 + hash(i) % 400 as itemid,
                timestamp '2150-01-01' + to_minutes((i % {ROWS_A_PATIENT})::int * 20) as charttime,
                charttime + interval 50 minute as storetime,
                round((hash(i + 7) % 100000) / 100, 1) as valuenum, valuenum::varchar as value,
                'mg/dL' as valueuom, 0.4 as ref_range_lower, 1.1 as ref_range_upper,
                if(hash(i) % 5 = 0, 'abnormal', null) as flag, 'ROUTINE' as priority
            from range({labs}) r(i)""",
    }
    with duckdb.connect() as db:
        for name, spec in tables().items():
            if spec.module != "hosp":
                continue
            file = root / "hosp" / f"{name}.csv.gz"
            file.parent.mkdir(parents=True, exist_ok=True)
            if name not in written:
                with gzip.open(file, "wt") as opened:
                    opened.write(",".join(spec.columns) + "\n")
                continue
            db.execute(f"create or replace view v as {written[name]}")
            given = {row[0] for row in db.execute("describe v").fetchall()}
            cells = ", ".join(c if c in given else f"null as {c}" for c in spec.columns)
            db.execute(
                f"copy (select {cells} from v) to '{file}' "
                "(format csv, header, compression gzip, timestampformat '%Y-%m-%d %H:%M:%S')"
            )


def database(root: Path, file: Path) -> None:
    """The same rows as mimic-code would load them."""
    with duckdb.connect(str(file)) as db:
        db.execute("create schema mimiciv_hosp")
        for name, spec in tables().items():
            if spec.module != "hosp":
                continue
            columns = ", ".join(f"{column} {kind}" for column, kind in spec.columns.items())
            db.execute(f"create table mimiciv_hosp.{name} ({columns})")
            db.execute(
                f"copy mimiciv_hosp.{name} from '{root}/hosp/{name}.csv.gz' (header, delim ',')"
            )


def sort(file: Path, folder: Path) -> None:
    """Write every table of the file anew, sorted by patient."""
    folder.mkdir()
    with duckdb.connect(str(file), read_only=True) as db:
        for name, spec in tables().items():
            if spec.module == "hosp":
                order = "subject_id" if spec.per_patient else "all"
                db.execute(
                    f"copy (from mimiciv_hosp.{name} order by {order}) "
                    f"to '{folder}/{name}.parquet' ({FORMAT})"
                )


def processor_seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measured(work: Callable[[], object], who: int = resource.RUSAGE_SELF) -> tuple[float, float]:
    """Wall and processor seconds."""
    began, spent = time.perf_counter(), processor_seconds(who)
    work()
    return time.perf_counter() - began, processor_seconds(who) - spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labs", type=int, default=2_000_000)
    labs = parser.parse_args().labs
    with tempfile.TemporaryDirectory() as folder:
        root, file = Path(folder) / "mimic", Path(folder) / "mimic4.db"
        generate(root, labs)
        database(root, file)
        count = f"zcat {root}/hosp/*.csv.gz | wc -l"
        counting = measured(
            lambda: subprocess.run(count, shell=True, check=True, capture_output=True),
            resource.RUSAGE_CHILDREN,
        )
        building = measured(lambda: build(MimicSource(root), Path(folder) / "store"))
        sorting = measured(lambda: sort(file, Path(folder) / "sorted"))
        copying = measured(lambda: build(DuckdbSource(file), Path(folder) / "second"))
        few = [9_000_000 + n * 7 for n in range(10)]
        choosing = measured(lambda: build(DuckdbSource(file), Path(folder) / "third", few))
        info = Store.open(Path(folder) / "store").info
        assert Store.open(Path(folder) / "second").info.digest == info.digest
    rows = sum(each.rows for each in info.coverage)
    print(f"{os.cpu_count()} processors, {rows:,} rows, {info.patients:,} patients")
    for name, (wall, cpu) in (
        ("zcat | wc -l", counting),
        ("store build --mimic", building),
        ("sorted Parquet of it", sorting),
        ("store build --duckdb", copying),
        ("… of ten patients", choosing),
    ):
        print(f"{name:20} {wall:6.2f} s  {rows / wall:10,.0f} rows/s  {cpu:6.2f} processor seconds")
    for name, work, bound in (("--mimic", building, counting), ("--duckdb", copying, sorting)):
        print(f"ratio {name:14} {work[0] / bound[0]:6.1f} ×  {work[1] / bound[1]:27.1f} ×")


if __name__ == "__main__":
    main()
