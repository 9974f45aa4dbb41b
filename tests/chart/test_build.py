"""A build is whole or absent, resumes, and cites every row by what it says."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chart.layout import Layout

from chartproof.chart import build as building
from chartproof.chart import write as writing
from chartproof.chart.build import build
from chartproof.chart.cut import cut
from chartproof.chart.reference import canonical
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.sources.source import Source
from chartproof.chart.store import TIER, Store
from chartproof.errors import ChartError, DiskError
from chartproof.records.store import Coverage, Tier

Rows = dict[str, list[dict[str, object]]]


class Listed(Source):
    """A source of rows written out in a test."""

    name = "listed"
    version = "1"
    tier: Tier = "synthetic"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.staged: list[str] = []

    def coverage(self) -> tuple[Coverage, ...]:
        return tuple(
            Coverage(table=name, module=spec.module, covered=name in self.rows)
            for name, spec in tables().items()
        )

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        self.staged.append(table.name)
        columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
        db.execute(f"create table staged ({columns})")
        for row in self.rows[table.name]:
            names = ", ".join(row)
            marks = ", ".join("?" for _ in row)
            db.execute(f"insert into staged ({names}) values ({marks})", list(row.values()))


def patients(*ids: int) -> Rows:
    return {
        "patients": [{"subject_id": each, "gender": "F", "anchor_age": 60} for each in ids],
        "admissions": [
            {"subject_id": each, "hadm_id": each - 1_000_000, "admittime": "2150-01-01 00:00:00"}
            for each in ids
        ],
    }


def references(path: Path, table: str) -> list[str]:
    with duckdb.connect() as db:
        relation = Store.open(path).relation(table)
        return [
            ref for (ref,) in db.execute(f"select row_ref from {relation} order by 1").fetchall()
        ]


def chart_row(minute: int, value: str) -> dict[str, object]:
    return {
        "subject_id": 9000001,
        "charttime": f"2150-01-01 00:{minute:02d}:00",
        "itemid": 220045,
        "value": value,
    }


def test_a_reference_worked_by_hand(tmp_path: Path) -> None:
    rows = patients(9000001) | {"chartevents": [chart_row(5, "88")]}
    build(Listed(rows), tmp_path / "store")
    # printf '9000001\037\037\037\0372150-01-01 00:05:00\037\037220045\03788\037\037\037' | md5sum
    # (GNU coreutils 9.1), columns in official order, NULL as empty.
    assert references(tmp_path / "store", "chartevents") == ["chartevents:353c166a4e"]
    assert references(tmp_path / "store", "patients") == ["patients:9000001"]


def test_exact_duplicates_are_told_apart(tmp_path: Path) -> None:
    rows = patients(9000001) | {"chartevents": [chart_row(5, "88")] * 3 + [chart_row(6, "88")]}
    build(Listed(rows), tmp_path / "store")
    found = references(tmp_path / "store", "chartevents")
    assert len(set(found)) == 4
    stem = next(r[:-2] for r in found if r.endswith(".2"))
    assert {stem, f"{stem}.2", f"{stem}.3"} <= set(found)
    cut(Store.open(tmp_path / "store"), 9000001, tmp_path / "one.chart")
    with duckdb.connect(str(tmp_path / "one.chart"), read_only=True) as db:
        in_chart = db.execute("select row_ref from chartevents order by 1").fetchall()
    assert [ref for (ref,) in in_chart] == found


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["88", "89", "a|b", ""])), max_size=12
    ),
    seed=st.integers(0, 2**16),
)
def test_a_shuffled_source_gives_the_same_store(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("shuffled")
    chart = [chart_row(minute, value) for minute, value in rows]
    labs: list[dict[str, object]] = [
        {"labevent_id": minute, "subject_id": 9000001, "itemid": 50912, "value": value}
        for minute, value in rows
    ]
    given_rows = patients(9000001, 9000002) | {"chartevents": chart, "labevents": labs}
    shuffled: Rows = {}
    for name, each in given_rows.items():
        shuffled[name] = random.Random(seed).sample(each, len(each))
    one = build(Listed(given_rows), folder / "one")
    other = build(Listed(shuffled), folder / "other")
    assert one.digest == other.digest
    assert references(folder / "one", "chartevents") == references(folder / "other", "chartevents")
    assert len(set(references(folder / "one", "labevents"))) == len(rows)


def test_a_table_parted_on_disk_is_the_table_sorted_in_memory_byte_for_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "PATIENTS_A_BUCKET", 1)
    rows = patients(9000001, 9000002, 9000003) | {
        "chartevents": [
            {**chart_row(minute, "a|b, ''"), "subject_id": 9000001 + minute % 2}
            for minute in (1, 2, 3, 3, 3, 4)
        ],
        "labevents": [
            {"labevent_id": labevent_id, "subject_id": 9000001 + n % 2, "itemid": n, "value": ""}
            for n, labevent_id in enumerate((1, 2, 2, None, None, 3))
        ],
    }
    whole = build(Listed(rows), tmp_path / "whole")
    monkeypatch.setattr(writing, "LARGE", -1)
    parted = build(Listed(rows), tmp_path / "parted")
    assert parted.buckets == 3
    assert parted == whole
    assert len(parted.warnings) == 2
    assert not list((tmp_path / "parted").rglob("parts"))
    found = references(tmp_path / "parted", "labevents")
    assert len(set(found)) == 6
    assert {"labevents:1", "labevents:2", "labevents:2.2", "labevents:3"} <= set(found)


def test_buckets_grow_with_patients_and_stay_few(tmp_path: Path) -> None:
    class Many(Listed):
        def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
            cells = ", ".join(
                f"{'9000000 + i' if name == 'subject_id' else 'null'}::{kind} as {name}"
                for name, kind in table.columns.items()
            )
            db.execute(f"create table staged as select {cells} from range(301) as r(i)")

    info = build(Many({"patients": [], "admissions": []}), tmp_path / "store")
    assert info.buckets == 3
    store = Store.open(tmp_path / "store")
    assert len(store.files("patients")) == 3
    assert len(store.files("patients", 9000001)) == 1
    with duckdb.connect() as db:
        one = db.execute(f"select count(*) from {store.relation('patients', 9000001)}").fetchone()
        every = db.execute(f"select count(*) from {store.relation('patients')}").fetchone()
    assert one == (100,)
    assert every == (301,)


def test_only_the_patients_asked_for_are_taken(tmp_path: Path) -> None:
    source = Listed(patients(9000001, 9000002, 9000003))
    info = build(source, tmp_path / "store", [9000003, 9000001, 9999999])
    assert info.patients == 2
    assert references(tmp_path / "store", "admissions") == [
        "admissions:8000001",
        "admissions:8000003",
    ]
    assert any("1 of 3 asked for are not in the source: 9999999" in w for w in info.warnings)
    with pytest.raises(ChartError, match="none of the patients"):
        build(source, tmp_path / "other", [9999999])


def test_a_standing_store_of_the_same_source_is_recognised(tmp_path: Path) -> None:
    source = Listed(patients(9000001))
    first = build(source, tmp_path / "store")
    source.staged.clear()
    assert build(source, tmp_path / "store") == first
    assert source.staged == []


def test_a_standing_store_of_another_source_is_refused_or_replaced(tmp_path: Path) -> None:
    build(Listed(patients(9000001, 9000002)), tmp_path / "store")
    with pytest.raises(ChartError, match="--replace"):
        build(Listed(patients(9000001, 9000002)), tmp_path / "store", [9000001])
    build(Listed(patients(9000001, 9000002)), tmp_path / "store", [9000001], replace=True)
    assert Store.open(tmp_path / "store").info.patients == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["store"]


@pytest.mark.parametrize(("tier", "kept"), [("synthetic", True), ("credentialed", False)])
def test_what_data_of_a_tier_may_be_sent_to_holds_for_those_of_the_same_tier_alone(
    tmp_path: Path, tier: Tier, *, kept: bool
) -> None:
    build(Listed(patients(9000001)), tmp_path / "store")
    assert Store.open(tmp_path / "store").info.tier == "synthetic"
    (tmp_path / "store" / TIER).write_text("schema: 1\nallowed_endpoints: []\n")
    after = Listed(patients(9000001, 9000002))
    after.tier = tier
    build(after, tmp_path / "store", replace=True)
    assert (tmp_path / "store" / TIER).exists() == kept


def test_a_folder_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "thesis.txt").write_text("years of work")
    with pytest.raises(ChartError, match="is no store"):
        build(Listed(patients(9000001)), tmp_path / "store", replace=True)
    assert (tmp_path / "store" / "thesis.txt").exists()


def test_an_interrupted_build_resumes_where_it_stopped(tmp_path: Path) -> None:
    whole = build(Listed(patients(9000001) | {"omr": []}), tmp_path / "whole")

    class Interrupted(Listed):
        def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
            if table.name == "omr":
                raise KeyboardInterrupt
            super().stage(db, table)

    with pytest.raises(KeyboardInterrupt):
        build(Interrupted(patients(9000001) | {"omr": []}), tmp_path / "store")
    assert not (tmp_path / "store").exists()
    with pytest.raises(ChartError, match="no finished store"):
        Store.open(tmp_path / "store.building")
    again = Listed(patients(9000001) | {"omr": []})
    info = build(again, tmp_path / "store")
    assert again.staged == ["patients", "omr", "patients"]
    assert info.digest == whole.digest


def test_a_changed_source_is_read_again_on_resuming(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()
    good = (layout.root / "hosp" / "labevents.csv").read_text()
    layout.labs("1,9000001,8000001,5,50912,,never,,1.2,1.2,mg/dL,,,,,\n")
    with pytest.raises(ChartError, match="never"):
        build(MimicSource(layout.root), tmp_path / "store")
    assert (tmp_path / "store.building" / "done" / "admissions.json").exists()
    layout.put("hosp", "labevents", good)
    layout.admissions((8000007, "2150-01-01 02:00:00", "2150-01-04 10:00:00"))
    build(MimicSource(layout.root), tmp_path / "store")
    assert references(tmp_path / "store", "admissions") == ["admissions:8000007"]


KILLED = """
import sys
from pathlib import Path
from chartproof.chart.build import build
from chartproof.chart.sources.mimic import MimicSource
build(MimicSource(Path(sys.argv[1])), Path(sys.argv[2]), progress=lambda t, r: print(t, flush=True))
"""


def test_a_killed_build_leaves_nothing_that_passes_for_a_store(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()
    whole = build(MimicSource(layout.root), tmp_path / "whole")
    store = tmp_path / "store"
    command = [sys.executable, "-c", KILLED, str(layout.root), str(store)]
    for lines in (1, 5, 12):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            for _ in range(lines):
                running.stdout.readline()
            running.send_signal(signal.SIGKILL)
        assert not store.exists()
    assert build(MimicSource(layout.root), store).digest == whole.digest


INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from chartproof.chart.build import build
from chartproof.chart.sources.mimic import MimicSource

class Slow(MimicSource):
    def stage(self, db, table):
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        db.execute("select sum(i) from range(1000000000000) a(i)")  # endless, in small steps

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    build(Slow(Path(sys.argv[1])), Path(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_within_a_query_is_ctrl_c(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()
    command = [sys.executable, "-c", INTERRUPTED, str(layout.root), str(tmp_path / "store")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout == "interrupted\n"
    assert not (tmp_path / "store").exists()


def test_two_builds_do_not_meet_in_one_folder(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()

    class Second(Listed):
        def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
            with pytest.raises(ChartError, match="Another build is at work"):
                build(MimicSource(layout.root), tmp_path / "store")
            super().stage(db, table)

    build(Second(patients(9000001)), tmp_path / "store")
    assert Store.open(tmp_path / "store").info.source == "listed"


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        duckdb.TransactionException("Failed to commit: could not write: No space left on device"),
        duckdb.Error("no space left on device"),
    ],
)
def test_a_full_disk_is_said_in_words(tmp_path: Path, error: Exception) -> None:
    class Full(Listed):
        def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
            raise error

    with pytest.raises(DiskError, match=r"No space left on device.*it resumes"):
        build(Full(patients(9000001)), tmp_path / "store")


def test_a_defect_of_ours_is_not_taken_for_the_disk(tmp_path: Path) -> None:
    class Wrong(Listed):
        def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
            db.execute("select no_such_column from range(1)")

    with pytest.raises(duckdb.BinderException):
        build(Wrong(patients(9000001)), tmp_path / "store")


def test_too_little_disk_is_noticed_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Large(Listed):
        def size(self) -> int:
            return 10**11

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(building.shutil, "disk_usage", lambda _path: usage(10**12, 0, 10**10))
    source = Large(patients(9000001))
    with pytest.raises(DiskError, match=r"needs about 90\.0 GB of disk.*has 10\.0 GB free"):
        build(source, tmp_path / "store")
    assert source.staged == []
    # a few patients of a large source need little
    assert build(source, tmp_path / "few", [9000001]).patients == 1


def test_a_row_without_a_patient_is_refused(tmp_path: Path) -> None:
    rows = patients(9000001) | {"omr": [{"result_name": "eGFR"}]}
    with pytest.raises(ChartError, match="omr has 1 rows without a subject_id"):
        build(Listed(rows), tmp_path / "store")


def test_a_source_must_state_its_coverage_of_every_table(tmp_path: Path) -> None:
    class Silent(Listed):
        def coverage(self) -> tuple[Coverage, ...]:
            return super().coverage()[1:]

    with pytest.raises(ChartError, match="does not state its coverage of: admissions"):
        build(Silent(patients(9000001)), tmp_path / "store")


def test_the_canonical_text_names_every_column_once() -> None:
    for spec in tables().values():
        assert canonical(spec).count("coalesce(") == len(spec.columns)


def test_a_build_is_reproducible_byte_for_byte(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "mimic").small()
    one = build(MimicSource(layout.root), tmp_path / "one")
    os.utime(layout.root / "hosp" / "labevents.csv", (time.time(), 0))
    other = build(MimicSource(layout.root), tmp_path / "other")
    assert one == other
