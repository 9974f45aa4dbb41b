"""Opening, checking and showing a store."""

import os
from pathlib import Path

import duckdb
import pytest
from tests.chart.layout import Layout

from chartproof.chart.build import build
from chartproof.chart.check import check
from chartproof.chart.roster import read_roster
from chartproof.chart.schema import tables
from chartproof.chart.show import show
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.store import LAYOUT, Store
from chartproof.errors import ChartError


@pytest.fixture
def store(tmp_path: Path) -> Store:
    layout = Layout(tmp_path / "mimic").small()
    build(MimicSource(layout.root), tmp_path / "store")
    return Store.open(tmp_path / "store")


def test_every_table_can_be_read_covered_or_not(store: Store) -> None:
    with store.connect() as db:
        for name, spec in tables().items():
            columns = [row[0] for row in db.execute(f"describe {name}").fetchall()]
            expected = [*spec.columns, *(["row_ref"] if spec.per_patient else [])]
            assert columns == expected, name
        assert db.execute("select count(*) from labevents").fetchone() == (1,)
        assert db.execute("select count(*) from triage").fetchone() == (0,)


def test_types_are_those_of_the_schema(store: Store) -> None:
    with store.connect() as db:
        for name, spec in tables().items():
            found = {row[0]: row[1] for row in db.execute(f"describe {name}").fetchall()}
            found.pop("row_ref", None)
            assert found == spec.columns, name


def test_a_table_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(ChartError, match="no table `labs`"):
        store.relation("labs")


def test_no_store_a_torn_one_and_one_of_another_layout_are_refused(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(ChartError, match="no finished store"):
        Store.open(tmp_path / "nowhere")
    file = store.path / "store.json"
    whole = file.read_text()
    file.write_text(whole[:100])
    with pytest.raises(ChartError, match="cannot be read as a store"):
        Store.open(store.path)
    file.write_text(whole.replace(f'"code": "{LAYOUT}"', '"code": "0"'))
    with pytest.raises(ChartError, match="layout 0"):
        Store.open(store.path)


def test_a_whole_store_has_no_finding(store: Store) -> None:
    assert check(store) == ()


def test_a_changed_a_missing_and_a_foreign_file_are_found(store: Store) -> None:
    labs = store.files("labevents")[0]
    admissions = store.files("admissions")[0]
    (labs.parent.parent / "bucket=07").mkdir()
    (labs.parent.parent / "bucket=07" / "part-0.parquet").write_bytes(labs.read_bytes())
    labs.write_bytes(labs.read_bytes()[:-1])
    admissions.unlink()
    found = check(store)
    assert all(each.grave for each in found)
    assert [str(each) for each in found] == [
        "admissions: `tables/admissions/bucket=00/part-0.parquet` is missing",
        "labevents: `tables/labevents/bucket=00/part-0.parquet` was changed",
        "labevents: `tables/labevents/bucket=07/part-0.parquet` is no file of this store",
    ]


def test_a_changed_list_of_digests_is_found(store: Store) -> None:
    (store.path / "files.sha256").write_text("")
    assert "store: `files.sha256` was changed" in [str(each) for each in check(store)]


def test_records_that_contradict_each_other_are_odd_not_grave(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()
    layout.labs(
        "1,9000001,8000009,5,50912,,2150-01-01 06:00:00,,1.2,1.2,mg/dL,,,,,\n"
        "2,9000007,,5,50912,,2150-01-01 06:00:00,,1.2,1.2,mg/dL,,,,,\n"
    )
    layout.put(
        "hosp",
        "transfers",
        layout.header("transfers")
        + "9000001,8000001,7000001,admit,Ward,2150-01-02 00:00:00,2150-01-01 00:00:00\n",
    )
    build(MimicSource(layout.root), tmp_path / "store")
    found = check(Store.open(tmp_path / "store"))
    assert not any(each.grave for each in found)
    assert {str(each) for each in found} == {
        "labevents: 1 rows belong to no patient of the store, such as labevents:2",
        "labevents: 1 rows name a hadm_id that the patient has not in admissions, "
        "such as labevents:1",
        "transfers: 1 rows end before they begin, such as transfers:7000001",
    }


def test_the_shown_coverage_has_a_line_for_each_table_and_a_dash_for_what_is_not_covered(
    store: Store,
) -> None:
    (coverage,) = show(store)
    assert [row[0].text for row in coverage.rows] == list(tables())
    line = next(row for row in coverage.rows if row[0].text == "triage")
    assert (line[2].text, line[2].value) == ("–", None)
    assert "no module ed" in line[4].text
    labs = next(row for row in coverage.rows if row[0].text == "labevents")
    assert (labs[2].text, labs[2].value) == ("1", 1.0)


def test_the_years_that_a_table_does_not_reach_are_shown(store: Store) -> None:
    (coverage,) = show(store)
    said = {row[0].text: row[4].text for row in coverage.rows}
    assert said["emar"] == "Of 2011 to 2022, everywhere from 2014 on."
    assert said["labevents"] == ""


def test_digests_are_in_the_form_that_sha256sum_reads(store: Store) -> None:
    for line in (store.path / "files.sha256").read_text().splitlines():
        digest, path = line.split("  ")
        assert len(digest) == 64
        assert (store.path / path).is_file()


def test_a_roster_is_read_with_remarks_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "patients.txt"
    file.write_text("subject_id\n9000002\n\n9000001  # the second\n9000002\n")
    assert read_roster(file) == (9000001, 9000002)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("9000001\n12a\n", r"line 2: `12a` is no subject_id"),
        ("-5\n", r"line 1"),
        ("99999999999\n", r"line 1"),
        ("# nobody\n", "names no patient"),
    ],
)
def test_a_bad_line_of_a_roster_is_named(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "patients.txt"
    file.write_text(text)
    with pytest.raises(ChartError, match=message):
        read_roster(file)


def test_a_quote_in_a_path_is_no_injection(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "o'brien").small()
    build(MimicSource(layout.root), tmp_path / "it's")
    with duckdb.connect() as db:
        relation = Store.open(tmp_path / "it's").relation("labevents")
        assert db.execute(f"select count(*) from {relation}").fetchone() == (1,)


def test_a_pipe_of_patients_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "patients.txt")
    with pytest.raises(ChartError, match=r"patients\.txt` is no regular file"):
        read_roster(tmp_path / "patients.txt")
