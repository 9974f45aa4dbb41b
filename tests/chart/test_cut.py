import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.schema import tables
from chartproof.chart.store import Store
from chartproof.errors import ChartError, SpecError
from chartproof.records.edit import EditFile

CASE = {"hadm_id": 8000001, "stay_id": 7000001}


def edited(store: Store, path: Path, *edits: dict[str, object], **bind: object) -> Chart:
    file = EditFile.model_validate({"id": "x", "edits": edits})
    cut(store, 9000001, path, file.edits, {**CASE, **bind})
    return Chart.open(path)


def test_a_chart_holds_one_patient_in_all_41_tables(chart: Chart) -> None:
    names = {row["table_name"] for row in chart.query("select table_name from duckdb_tables()")}
    assert names == {*tables(), "coverage"}
    assert chart.subject_id == 9000001
    for name, table in tables().items():
        if table.per_patient:
            rows = chart.query(f"select distinct subject_id from {name}")
            assert {row["subject_id"] for row in rows} <= {9000001}


def test_a_row_is_cited_by_its_key_or_else_by_its_content(chart: Chart) -> None:
    labs = [row["row_ref"] for row in chart.query("select row_ref from labevents")]
    assert labs == ["labevents:101", "labevents:102", "labevents:103"]
    one, two = (row["row_ref"] for row in chart.query("select row_ref from chartevents"))
    assert len(one) == len("chartevents:") + 10
    assert two == f"{one}.2"


@pytest.mark.parametrize(
    "sql",
    [
        "attach 'x.duckdb'",
        "copy labevents to 'x.csv'",
        "select * from read_text('/etc/hostname')",
        "from '/etc/passwd'",
        "delete from labevents",
        "create table t (a int)",
        "set threads = 8",
        "install httpfs",
    ],
)
def test_a_chart_is_sealed(chart: Chart, sql: str) -> None:
    with pytest.raises(duckdb.Error):
        chart.query(sql)


def test_no_path_of_the_file_can_be_read_from_inside(chart: Chart, tmp_path: Path) -> None:
    paths = [row["path"] for row in chart.query("select path from duckdb_databases()")]
    assert not any(path and Path(path).exists() for path in paths)


def test_a_set_changes_number_and_text_together_and_keeps_the_reference(
    store: Store, tmp_path: Path
) -> None:
    chart = edited(
        store,
        tmp_path / "c",
        {
            "kind": "set",
            "table": "labevents",
            "where": {"itemid": 50912, "charttime": {"since": "2150-03-02"}},
            "values": {"valuenum": "= $base + 0.1"},
        },
        base=1.0,
    )
    rows = chart.query("select row_ref, value, valuenum from labevents")
    assert [tuple(row.values()) for row in rows] == [
        ("labevents:101", "1.0", 1.0),
        ("labevents:102", "1.1", 1.1),
        ("labevents:103", "1.1", 1.1),
    ]


def test_a_set_value_leaves_no_trace_of_arithmetic_and_takes_its_own_flag(
    store: Store, tmp_path: Path
) -> None:
    chart = edited(
        store,
        tmp_path / "c",
        {"kind": "set", "table": "labevents", "values": {"valuenum": "= valuenum * 3 - 0.6"}},
        {
            "kind": "set",
            "table": "labevents",
            "where": {"labevent_id": 101},
            "values": {"valuenum": "= 0.7::double + 0.1::double"},
        },
    )
    rows = chart.query("select value, valuenum, flag from labevents order by labevent_id")
    assert [tuple(row.values()) for row in rows] == [
        ("0.8", 0.8, None),
        ("3", 3.0, "abnormal"),
        ("3.6", 3.6, "abnormal"),
    ]


def test_an_inserted_row_looks_like_its_neighbours(store: Store, tmp_path: Path) -> None:
    chart = edited(
        store,
        tmp_path / "c",
        {
            "kind": "insert",
            "table": "labevents",
            "rows": [
                {
                    "itemid": 50912,
                    "charttime": "= timestamp '2150-03-04 06:00'",
                    "valuenum": 2.5,
                }
            ],
        },
        {"kind": "insert", "table": "diagnoses_icd", "rows": [{"icd_code": "N186"}]},
    )
    lab = chart.query("select * from labevents where valuenum = 2.5")[0]
    assert (lab["value"], lab["valueuom"], lab["flag"]) == ("2.5", "mg/dL", "abnormal")
    assert lab["hadm_id"] == 8000001
    assert lab["storetime"] > lab["charttime"]
    assert lab["row_ref"] == f"labevents:{lab['labevent_id']}"
    code = chart.query("select * from diagnoses_icd where icd_code = 'N186'")[0]
    assert (code["seq_num"], code["icd_version"], code["hadm_id"]) == (2, 10, 8000001)
    title = chart.query("select long_title from d_icd_diagnoses where icd_code = 'N186'")
    assert title == [{"long_title": "End stage renal disease"}]


def test_text_is_replaced_across_line_breaks(store: Store, tmp_path: Path) -> None:
    chart = edited(
        store,
        tmp_path / "c",
        {
            "kind": "replace",
            "table": "discharge",
            "find": "ESRD on hemodialysis.",
            "put": "Hypertension.",
            "times": 1,
        },
    )
    text = chart.query("select text from discharge")[0]["text"]
    assert text.startswith("Past Medical History:\nHypertension.\n")


def test_touched_counts_rows_and_a_second_application_touches_none(
    store: Store, tmp_path: Path
) -> None:
    edit = {
        "kind": "set",
        "table": "labevents",
        "where": {"itemid": 50912},
        "values": {"valuenum": 1.2},
    }
    file = EditFile.model_validate({"id": "x", "edits": [edit, edit]})
    touched = cut(store, 9000001, tmp_path / "c", file.edits, CASE)
    assert [each.rows for each in touched] == [("labevents:101", "labevents:103"), ()]


def test_nothing_in_an_edited_chart_betrays_the_edit(store: Store, tmp_path: Path) -> None:
    chart = edited(
        store,
        tmp_path / "c",
        {"kind": "delete", "table": "labevents", "where": {"labevent_id": 101}},
    )
    rowids = [row["rowid"] for row in chart.query("select rowid from labevents order by rowid")]
    assert rowids == [0, 1]
    tables_ = {row["table_name"] for row in chart.query("select table_name from duckdb_tables()")}
    assert tables_ == {*tables(), "coverage"}


@pytest.mark.parametrize(
    ("edit", "remedy"),
    [
        ({"kind": "delete", "table": "labs"}, "labevents"),
        ({"kind": "delete", "table": "labevents", "where": {"item": 1}}, "itemid"),
        ({"kind": "set", "table": "labevents", "values": {"valuenum": "= $nobody"}}, "subject_id"),
        ({"kind": "set", "table": "labevents", "values": {"subject_id": 1}}, "one patient"),
        (
            {"kind": "replace", "table": "discharge", "find": "ESRD", "put": "", "times": 3},
            "times",
        ),
    ],
)
def test_an_edit_that_does_not_fit_names_the_remedy(
    store: Store, tmp_path: Path, edit: dict[str, object], remedy: str
) -> None:
    with pytest.raises(SpecError, match=remedy):
        edited(store, tmp_path / "c", edit)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_patient_is_named(store: Store, tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="no patient 9000009"):
        cut(store, 9000009, tmp_path / "c")


def test_a_file_that_is_no_chart_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("hello")
    with pytest.raises(ChartError, match="is not a chart"):
        Chart.open(tmp_path / "c")


@settings(max_examples=15)
@given(value=st.decimals(0, 99, places=1))
def test_a_set_value_is_what_a_reader_finds(
    store: Store, tmp_path_factory: pytest.TempPathFactory, value: Decimal
) -> None:
    path = tmp_path_factory.mktemp("p") / "c"
    chart = edited(
        store,
        path,
        {"kind": "set", "table": "labevents", "values": {"valuenum": float(value)}},
    )
    rows = chart.query("select valuenum, value::double as said from labevents")
    assert all(row["valuenum"] == row["said"] == float(value) for row in rows)


@pytest.mark.parametrize(
    "expression",
    [
        "'x'); copy (select 1) to '{file}'; select ('y'",
        "1), (2",
        "1) from admissions where (true",
        "1; drop table labevents",
        "1 -- ",
        "",
        "/* nothing */",
    ],
)
@pytest.mark.parametrize("verb", ["insert", "set", "where"])
def test_an_expression_is_one_expression_and_nothing_more(
    store: Store, tmp_path: Path, verb: str, expression: str
) -> None:
    text = "= " + expression.format(file=tmp_path / "pwned")
    edit: dict[str, object] = {
        "insert": {"kind": "insert", "table": "labevents", "rows": [{"comments": text}]},
        "set": {"kind": "set", "table": "labevents", "values": {"comments": text}},
        "where": {"kind": "delete", "table": "labevents", "where": {"=": text[2:]}},
    }[verb]
    with pytest.raises(SpecError, match="is not one expression"):
        edited(store, tmp_path / "c", edit)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "expression",
    ["(select content from read_text('/etc/hostname'))", "(select count(*) from '/etc/passwd')"],
)
def test_an_expression_reaches_no_file(store: Store, tmp_path: Path, expression: str) -> None:
    edit = {"kind": "set", "table": "labevents", "values": {"comments": f"= {expression}"}}
    with pytest.raises(SpecError, match="labevents"):
        edited(store, tmp_path / "c", edit)


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        ({"kind": "set", "values": {"valuenum": "= round(1 + 0.7*random(), 1)"}}, "random"),
        ({"kind": "insert", "rows": [{"itemid": 50912, "charttime": "= now()"}]}, "now"),
        ({"kind": "delete", "where": {"=": "charttime < current_date"}}, "current_date"),
        (
            {"kind": "delete", "where": {"charttime": {"since": "= localtimestamp"}}},
            "localtimestamp",
        ),
    ],
)
def test_an_edit_is_the_same_each_time(
    store: Store, tmp_path: Path, edit: dict[str, object], name: str
) -> None:
    with pytest.raises(SpecError, match=f"may give another value each time, by {name}"):
        edited(store, tmp_path / "c", {"table": "labevents", **edit})


@pytest.mark.parametrize("value", ["1e999", float("nan"), float("inf"), "= 1e999", "= 'nan'"])
@pytest.mark.parametrize("verb", ["insert", "set"])
def test_a_number_is_finite(store: Store, tmp_path: Path, verb: str, value: object) -> None:
    edit: dict[str, object] = {
        "insert": {"rows": [{"itemid": 50912, "valuenum": value}]},
        "set": {"values": {"valuenum": value}},
    }[verb]
    with pytest.raises(SpecError, match=r"the value of `valuenum`.* is not finite"):
        edited(store, tmp_path / "c", {"kind": verb, "table": "labevents", **edit})


@pytest.mark.parametrize(
    ("edit", "remedy"),
    [
        ({"kind": "set", "values": {"valuenum": "x"}}, "columns' types: valuenum is DOUBLE"),
        ({"kind": "insert", "rows": [{"itemid": "= 'x'"}]}, "types: itemid is INTEGER"),
        ({"kind": "delete", "where": {"=": "item = 1"}}, "Correct the edit; the columns of lab"),
        ({"kind": "set", "values": {"valuenum": "= $x"}}, "`.name` may be one of: hadm_id, "),
    ],
)
def test_a_remedy_fits_what_went_wrong(
    store: Store, tmp_path: Path, edit: dict[str, object], remedy: str
) -> None:
    with pytest.raises(SpecError) as told:
        edited(store, tmp_path / "c", {"table": "labevents", **edit})
    assert re.search(remedy, told.value.remedy)
    assert told.value.remedy.count("$name") == ("$x" in str(edit))


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (
            {"kind": "insert", "table": "labevents", "rows": [{"itemid": 1}, {}]},
            "row 2 has no cells",
        ),
        (
            {"kind": "replace", "table": "discharge", "find": "a", "put": "b", "times": -1},
            "greater than or equal to 1",
        ),
    ],
)
def test_an_edit_that_can_do_nothing_does_not_fit_the_schema(
    edit: dict[str, object], told: str
) -> None:
    with pytest.raises(ValueError, match=told):
        EditFile.model_validate({"id": "x", "edits": [edit]})


def test_the_patient_cannot_be_deleted(store: Store, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be deleted"):
        edited(store, tmp_path / "c", {"kind": "delete", "table": "patients"})


def test_a_chart_cut_again_says_the_same_and_an_edited_one_does_not(
    store: Store, chart: Chart, tmp_path: Path
) -> None:
    cut(store, 9000001, tmp_path / "again")
    with Chart.open(tmp_path / "again") as again:
        assert again.digest() == chart.digest()
    change = {"kind": "set", "table": "labevents", "values": {"valuenum": 9.9}}
    assert edited(store, tmp_path / "c", change).digest() != chart.digest()


def test_a_store_that_lost_a_file_is_not_a_store_without_rows(
    make_store: Callable[[dict[str, list[dict[str, object]]]], Store], tmp_path: Path
) -> None:
    rows: dict[str, list[dict[str, object]]] = {
        "patients": [{"subject_id": 9000001}],
        "admissions": [{"subject_id": 9000001, "hadm_id": 8000001}],
        "labevents": [{"subject_id": 9000001, "labevent_id": 1}],
    }
    broken = make_store(rows)
    for file in (broken.path / "tables" / "labevents").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(ChartError, match="has lost tables/labevents"):
        cut(broken, 9000001, tmp_path / "c")


ELSEWHERE = """
import sys
from pathlib import Path
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.edit import EditFile

at = "= '2150-01-01 12:00:00+00'::timestamptz::timestamp"
change = {"kind": "set", "table": "labevents", "values": {"charttime": at}}
file = EditFile.model_validate({"id": "x", "edits": [change]})
cut(Store.open(Path(sys.argv[1])), 9000001, Path(sys.argv[2]), file.edits, {})
with Chart.open(Path(sys.argv[2])) as chart:
    print(chart.query("select distinct charttime::varchar as at from labevents"))
"""


def test_an_edit_reads_an_hour_alike_wherever_it_is_applied(store: Store, tmp_path: Path) -> None:
    told = subprocess.run(  # DuckDB asks for the zone of the machine once a process
        [sys.executable, "-c", ELSEWHERE, str(store.path), str(tmp_path / "edited.chart")],
        env={"TZ": "America/New_York"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "[{'at': '2150-01-01 12:00:00'}]\n"
