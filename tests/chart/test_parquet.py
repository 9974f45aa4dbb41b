"""MIMIC-IV as Parquet: where files are looked for, what is cast, and what is refused."""

from pathlib import Path

import duckdb
import pytest
from tests.chart.official import Official

from chartproof.chart.build import build
from chartproof.chart.sources.parquet import ParquetSource
from chartproof.chart.store import Store
from chartproof.errors import ChartError


@pytest.fixture
def official() -> Official:
    return Official()


@pytest.fixture
def folder(official: Official, tmp_path: Path) -> Path:
    return official.parquet(tmp_path / "parquet", "hosp")


def write(query: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as db:
        db.execute(f"copy ({query}) to '{file}' (format parquet)")


def test_tables_are_found_with_or_without_the_module_s_folder(
    official: Official, folder: Path, tmp_path: Path
) -> None:
    info = build(ParquetSource(folder), tmp_path / "store")
    assert (info.source, info.tier, info.patients) == ("parquet", "credentialed", 1)
    assert Store.open(tmp_path / "store").coverage("triage").why == "The source has no module ed."
    for file in (folder / "hosp").iterdir():
        file.rename(folder / file.name)
    (folder / "hosp").rmdir()
    assert build(ParquetSource(folder), tmp_path / "flat").digest == info.digest


def test_a_table_may_be_a_folder_of_files(official: Official, folder: Path, tmp_path: Path) -> None:
    whole = build(ParquetSource(folder), tmp_path / "whole")
    one = folder / "hosp" / "labevents.parquet"
    written = f"select * from '{one}'"
    write(f"{written} where labevent_id < 5", folder / "hosp" / "labevents" / "a.parquet")
    write(f"{written} where labevent_id >= 5", folder / "hosp" / "labevents" / "b.parquet")
    (folder / "hosp" / "labevents" / "_SUCCESS.parquet").write_text("no table at all")
    with pytest.raises(ChartError, match=r"Both .* are named for the table labevents"):
        ParquetSource(folder)
    one.unlink()
    assert build(ParquetSource(folder), tmp_path / "store").digest == whole.digest


def test_partitions_in_the_manner_of_hive_give_their_column(
    official: Official, folder: Path, tmp_path: Path
) -> None:
    official.db.execute("update labevents set flag = 'a b/c' where labevent_id < 3")
    official.parquet(folder, "hosp")
    whole = build(ParquetSource(folder), tmp_path / "whole")
    one = folder / "hosp" / "labevents.parquet"
    with duckdb.connect() as db:
        db.execute(
            f"copy (select *, labevent_id % 3 as part from '{one}') to "
            f"'{folder / 'hosp' / 'labevents'}' (format parquet, partition_by (itemid, flag, part))"
        )
    one.unlink()
    assert build(ParquetSource(folder), tmp_path / "store").digest == whole.digest


def test_files_may_differ_in_types_and_not_in_columns(
    official: Official, folder: Path, tmp_path: Path
) -> None:
    whole = build(ParquetSource(folder), tmp_path / "whole")
    one = folder / "hosp" / "labevents.parquet"
    parts = folder / "hosp" / "labevents"
    write(f"select * replace (valuenum::float as valuenum, itemid::bigint as itemid) from '{one}' "
          "where labevent_id < 5", parts / "a.parquet")  # fmt: skip
    write(f"select * replace (null as comments, charttime::varchar as charttime) from '{one}' "
          "where labevent_id >= 5", parts / "b.parquet")  # fmt: skip
    moved = one.rename(tmp_path / "labevents.parquet")
    assert build(ParquetSource(folder), tmp_path / "store").digest == whole.digest
    write(f"select * exclude (flag), 1 as flags from '{moved}'", parts / "c.parquet")
    said = r"c\.parquet` lacks flag and has also flags, unlike .*a\.parquet`"
    with pytest.raises(ChartError, match=said):
        ParquetSource(folder)


def test_columns_are_found_by_name_in_any_case_and_order(folder: Path, tmp_path: Path) -> None:
    write(
        "select null as DOD, '2011 - 2013' as anchor_year_group, 2150 as anchor_year, "
        "61.0 as anchor_age, 'F' as gender, 9000001 as Subject_ID",
        folder / "hosp" / "patients.parquet",
    )
    build(ParquetSource(folder), tmp_path / "store")
    with duckdb.connect() as db:
        relation = Store.open(tmp_path / "store").relation("patients")
        assert db.execute(f"select anchor_age, row_ref from {relation}").fetchall() == [
            (61, "patients:9000001")
        ]


def test_what_is_missing_or_unknown_must_be_allowed(folder: Path, tmp_path: Path) -> None:
    (folder / "hosp" / "emar.parquet").unlink()
    write("select 9000001 as subject_id, 5 as more", folder / "hosp" / "services.parquet")
    with pytest.raises(ChartError, match=r"emar\.parquet` is missing .*--allow-missing emar"):
        ParquetSource(folder)
    said = r"services\.parquet` lacks hadm_id, .*; has unknown more\..*--ignore-column"
    with pytest.raises(ChartError, match=said):
        ParquetSource(folder, {"emar"})
    lacking = {f"services.{c}" for c in ("hadm_id", "transfertime", "prev_service", "curr_service")}
    source = ParquetSource(folder, {"emar", *lacking}, {"services.more"})
    info = build(source, tmp_path / "store")
    covered = {each.table: each.covered for each in info.coverage}
    assert not covered["emar"]
    assert covered["services"]
    (folder / "hosp" / "patients.parquet").unlink()
    with pytest.raises(ChartError, match=r"hosp/patients\.parquet` is missing"):
        ParquetSource(folder, {"emar", "patients"})
    with pytest.raises(ChartError, match="There is no folder"):
        ParquetSource(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("replaced", "message"),
    [
        (
            "if(labevent_id = 12, 'high', '1.2') as valuenum",
            r"labevents\.parquet`, row 12, column valuenum: `high` is no DOUBLE",
        ),
        (
            "if(labevent_id > 12, 50912.5, 50912) as itemid",
            r"row 13, column itemid: `50912\.5` is no INTEGER \(3 more rows like it\)",
        ),
        ("90 as value", r"row 1, column value: `90` is INTEGER where the schema has text"),
        ("[1] as valuenum", r"row 1, column valuenum: `\[1\]` is no DOUBLE"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_place(
    official: Official, folder: Path, tmp_path: Path, replaced: str, message: str
) -> None:
    official.db.execute(
        f"copy (select * replace ({replaced}) from labevents) "
        f"to '{folder}/hosp/labevents.parquet' (format parquet)"
    )
    with pytest.raises(ChartError, match=message):
        build(ParquetSource(folder), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_a_damaged_file_is_refused(folder: Path, tmp_path: Path) -> None:
    file = folder / "hosp" / "labevents.parquet"
    whole = file.read_bytes()
    for content in (b"", b"no parquet at all", whole[: len(whole) // 2]):
        file.write_bytes(content)
        with pytest.raises(ChartError, match=r"labevents\.parquet` cannot be read as Parquet"):
            ParquetSource(folder)
    file.write_bytes(whole[:4] + bytes(200) + whole[204:])
    with pytest.raises(ChartError, match="labevents"):
        build(ParquetSource(folder), tmp_path / "store")
    file.write_bytes(whole)
    (folder / "SHA256SUMS.txt").write_text(f"{'0' * 64}  hosp/labevents.parquet\n")
    with pytest.raises(ChartError, match=r"not the file that SHA256SUMS\.txt lists"):
        build(ParquetSource(folder), tmp_path / "store")


def test_only_the_demo_s_own_list_opens_the_tier(folder: Path) -> None:
    (folder / "demo_subject_id.csv").write_text("subject_id\n9000001\n")
    assert ParquetSource(folder).tier == "open"
    (folder / "demo_subject_id.csv").write_text("subject_id\n9000002\n")
    assert ParquetSource(folder).tier == "credentialed"


def test_a_store_is_known_again_until_a_file_changes(
    official: Official, folder: Path, tmp_path: Path
) -> None:
    first = build(ParquetSource(folder), tmp_path / "store")
    assert build(ParquetSource(folder), tmp_path / "store") == first
    official.put("omr", "select 9000001 as subject_id, 'BMI' as result_name")
    official.parquet(folder, "hosp")
    with pytest.raises(ChartError, match="--replace"):
        build(ParquetSource(folder), tmp_path / "store")
