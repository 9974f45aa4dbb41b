"""A DuckDB file of mimic-code's making: what is read, what is refused, and how that is said."""

import sqlite3
import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from tests.chart.official import Official, within

from chartproof.chart.build import build
from chartproof.chart.schema import tables
from chartproof.chart.sources.duckdb_file import DuckdbSource
from chartproof.chart.store import Store
from chartproof.errors import ChartError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Official().duckdb(tmp_path / "mimic4.db", "hosp")


def rows(store: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    with duckdb.connect() as db:
        relation = Store.open(store).relation(table)
        return db.execute(f"select {columns} from {relation} order by all").fetchall()


def test_tables_are_read_and_what_is_not_there_is_not_covered(file: Path, tmp_path: Path) -> None:
    within(file, "create schema mimiciv_derived; create table mimiciv_derived.age as select 1 a")
    before = file.read_bytes()
    info = build(DuckdbSource(file), tmp_path / "store")
    store = Store.open(tmp_path / "store")
    assert (info.source, info.tier, info.patients) == ("duckdb", "credentialed", 1)
    assert store.coverage("labevents").rows == 16
    assert rows(tmp_path / "store", "diagnoses_icd", "icd_code") == [("0090",)]
    assert store.coverage("triage").why == "The source has no module ed."
    assert not store.coverage("discharge").covered
    assert file.read_bytes() == before


def test_tables_may_lie_in_main(tmp_path: Path) -> None:
    file = Official().duckdb(tmp_path / "all.db", schema="main")
    info = build(DuckdbSource(file), tmp_path / "store")
    assert all(each.covered for each in info.coverage)


def test_a_table_given_twice_is_taken_from_its_module_s_schema(file: Path, tmp_path: Path) -> None:
    within(file, "create table main.omr as select 9000001 as subject_id")
    info = build(DuckdbSource(file), tmp_path / "store")
    assert "omr: main.omr was passed over for mimiciv_hosp.omr." in info.warnings


def test_a_missing_table_of_a_present_module_must_be_allowed(file: Path, tmp_path: Path) -> None:
    within(file, "drop table mimiciv_hosp.emar")
    with pytest.raises(ChartError, match=r"no table mimiciv_hosp\.emar.*--allow-missing emar"):
        DuckdbSource(file)
    info = build(DuckdbSource(file, {"emar"}), tmp_path / "store")
    assert not next(each for each in info.coverage if each.table == "emar").covered
    within(file, "drop table mimiciv_hosp.patients")
    with pytest.raises(ChartError, match=r"no table mimiciv_hosp\.patients"):
        DuckdbSource(file, {"emar", "patients"})


def test_a_view_is_no_table(file: Path) -> None:
    within(
        file,
        "alter table mimiciv_hosp.omr rename to other; "
        "create view mimiciv_hosp.omr as from mimiciv_hosp.other",
    )
    with pytest.raises(ChartError, match=r"mimiciv_hosp\.omr is a view"):
        DuckdbSource(file)


def test_columns_that_lack_or_are_unknown_are_named(file: Path, tmp_path: Path) -> None:
    within(file, "alter table mimiciv_hosp.omr rename column result_name to result")
    said = r"mimiciv_hosp\.omr lacks result_name; has unknown result\..*--ignore-column omr\.result"
    with pytest.raises(ChartError, match=said):
        DuckdbSource(file)
    info = build(DuckdbSource(file, {"omr.result_name"}, {"omr.result"}), tmp_path / "store")
    assert next(each for each in info.coverage if each.table == "omr").missing == ("result_name",)


RETYPED = "alter table mimiciv_hosp.labevents alter {} type {}; "
NTH = "update mimiciv_hosp.labevents set {} where labevent_id in (12, 14)"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            RETYPED.format("itemid", "varchar") + NTH.format("itemid = 'creatinine'"),
            r"labevents, row 12, column itemid: `creatinine` is no INTEGER \(1 more rows like it\)",
        ),
        (
            RETYPED.format("itemid", "double") + NTH.format("itemid = 50912.5"),
            r"row 12, column itemid: `50912\.5` is no INTEGER",
        ),
        (
            RETYPED.format("itemid", "bigint") + NTH.format("itemid = 5091200000"),
            r"row 12, column itemid: `5091200000` is no INTEGER",
        ),
        (
            RETYPED.format("charttime", "varchar") + NTH.format("charttime = '2150-13-01'"),
            r"row 12, column charttime: `2150-13-01` is no TIMESTAMP",
        ),
        (
            RETYPED.format("valuenum", "varchar") + NTH.format("valuenum = 'high'"),
            r"row 12, column valuenum: `high` is no DOUBLE",
        ),
        (
            RETYPED.format("value", "double"),
            r"row 1, column value: `1\.2` is DOUBLE where the schema has text .*leading zeros",
        ),
        (
            RETYPED.format("charttime", "timestamptz"),
            r"row 1, column charttime: .* is TIMESTAMP WITH TIME ZONE where charts hold local",
        ),
        (
            RETYPED.format("charttime", "time"),
            r"row 1, column charttime: `06:00:00` is no TIMESTAMP",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_place(
    file: Path, tmp_path: Path, statement: str, message: str
) -> None:
    within(file, statement)
    with pytest.raises(ChartError, match=message):
        build(DuckdbSource(file), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_what_can_be_cast_without_loss_is_cast(file: Path, tmp_path: Path) -> None:
    whole = build(DuckdbSource(file), tmp_path / "whole")
    within(
        file,
        RETYPED.format("itemid", "double")
        + RETYPED.format("hadm_id", "varchar")
        + RETYPED.format("labevent_id", "hugeint")
        + RETYPED.format("charttime", "timestamp_ns")
        + RETYPED.format("valuenum", "float")  # 1.2 in single precision is still 1.2
        + RETYPED.format("value", "enum('1.2')")
        + "update mimiciv_hosp.labevents set flag = '', ref_range_lower = 'nan'; "
        "alter table mimiciv_hosp.patients alter dod type timestamp",
    )
    info = build(DuckdbSource(file), tmp_path / "store")
    assert info.digest == whole.digest
    assert any("single precision" in each and "valuenum" in each for each in info.warnings)


def test_the_time_of_day_of_a_date_is_not_cut_off(file: Path, tmp_path: Path) -> None:
    within(
        file,
        "alter table mimiciv_hosp.patients alter dod type timestamp; "
        "update mimiciv_hosp.patients set dod = '2151-01-01 05:00'",
    )
    with pytest.raises(ChartError, match=r"column dod: `2151-01-01 05:00:00` is no DATE"):
        build(DuckdbSource(file), tmp_path / "store")


def test_a_half_built_database_is_refused(file: Path, tmp_path: Path) -> None:
    within(file, "create table mimiciv_build_progress (step text); "
           "insert into mimiciv_build_progress values ('create')")  # fmt: skip
    with pytest.raises(ChartError, match=r"not built to its end"):
        DuckdbSource(file)
    within(file, "insert into mimiciv_build_progress values ('load')")
    assert build(DuckdbSource(file), tmp_path / "store").patients == 1


def newer(file: Path) -> None:
    """Write a later storage version into a database's header, and the header's checksum."""
    block = bytearray(file.read_bytes())
    block[12:20] = struct.pack("<Q", 4096)
    checksum = 5381
    for (word,) in struct.iter_unpack("<Q", block[8:4096]):
        checksum ^= word * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    block[:8] = struct.pack("<Q", checksum)
    file.write_bytes(block)


def test_a_file_that_cannot_be_opened_is_refused_with_the_reason(
    file: Path, tmp_path: Path
) -> None:
    with pytest.raises(ChartError, match="There is no file"):
        DuckdbSource(tmp_path / "absent.db")
    text = tmp_path / "text.db"
    text.write_text("subject_id,gender\n" * 1000)
    with pytest.raises(ChartError, match="is no DuckDB database"):
        DuckdbSource(text)
    with closing(sqlite3.connect(tmp_path / "lite.db")) as lite:
        lite.execute("create table patients (subject_id)")
    with pytest.raises(ChartError, match="is no DuckDB database"):
        DuckdbSource(tmp_path / "lite.db")
    text.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ChartError, match=r"text\.db` cannot be opened"):
        DuckdbSource(text)
    newer(file)
    with pytest.raises(ChartError, match=r"another version of DuckDB than .*--parquet DIR"):
        DuckdbSource(file)


def test_a_damaged_block_is_refused(file: Path, tmp_path: Path) -> None:
    size = 262_144  # of a block; the first 12,288 bytes are the headers
    content = bytearray(file.read_bytes())
    for start in range(12_288, len(content), size):
        content[start + 2000 : start + 2064] = bytes(range(64))
    file.write_bytes(content)
    with pytest.raises(ChartError, match=r"mimic4\.db"):
        build(DuckdbSource(file), tmp_path / "store")


def test_a_file_that_another_process_writes_is_refused(file: Path) -> None:
    code = "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        other.stdout.readline()
        with pytest.raises(ChartError, match=r"open for writing in another program.*Close it"):
            DuckdbSource(file)
        other.communicate(b"\n")


def test_only_the_demo_s_own_list_opens_the_tier(file: Path) -> None:
    (file.parent / "demo_subject_id.csv").write_text("subject_id\n9000001\n")
    assert DuckdbSource(file).tier == "open"
    (file.parent / "demo_subject_id.csv").write_text("subject_id\n9000002\n")
    assert DuckdbSource(file).tier == "credentialed"


def test_a_store_is_known_again_until_the_file_changes(file: Path, tmp_path: Path) -> None:
    first = build(DuckdbSource(file), tmp_path / "store")
    assert build(DuckdbSource(file), tmp_path / "store") == first
    code = (
        "import duckdb, os, sys; db = duckdb.connect(sys.argv[1]); "
        "db.execute('delete from mimiciv_hosp.labevents'); os._exit(0)"
    )  # what was written lies in the log beside the file alone
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)
    with pytest.raises(ChartError, match="--replace"):
        build(DuckdbSource(file), tmp_path / "store")
    info = build(DuckdbSource(file), tmp_path / "store", replace=True)
    assert next(each for each in info.coverage if each.table == "labevents").rows == 0


def test_only_the_patients_asked_for_are_read(file: Path, tmp_path: Path) -> None:
    within(
        file,
        "insert into mimiciv_hosp.patients (subject_id) values (9000002), (9000003); "
        "create table main.wanted as select 9000001 as subject_id",
    )
    info = build(DuckdbSource(file), tmp_path / "store", [9000002])
    assert info.patients == 1
    assert rows(tmp_path / "store", "patients", "subject_id") == [(9000002,)]
    assert rows(tmp_path / "store", "labevents", "labevent_id") == []


def test_every_table_of_the_schema_is_looked_for(file: Path) -> None:
    assert {each.table for each in DuckdbSource(file).coverage()} == set(tables())
