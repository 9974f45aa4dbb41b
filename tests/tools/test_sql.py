import contextlib
import json
import resource
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.tools.gateway import Gateway
from chartproof.tools.statement import allowed, tables_of
from chartproof.tools.trace import TraceWriter, read
from chartproof.tools.worker import Worker

HOSTILE = [
    # what peers let through
    "copy (select * from labevents) to '/tmp/x.csv'",
    "attach 'x.duckdb'",
    "attach ':memory:' as m",
    "install httpfs",
    "load httpfs",
    "set memory_limit = '8GB'",
    "pragma database_list",
    "select * from read_text('/etc/hostname')",
    "select * from read_csv('/etc/hostname')",
    "select * from read_blob('/etc/hostname')",
    "select * from glob('/*')",
    "from '/etc/passwd'",
    "select * from 'x.parquet'",
    "export database '/tmp/x'",
    # what the seal lets pass
    "create table t (a int)",
    "create temp table t as select 1",
    "delete from labevents",
    "with d as (delete from labevents returning *) select * from d",
    "with d as (insert into labevents select * from labevents returning *) select * from d",
    "with d as (update labevents set valuenum = 0 returning *) select * from d",
    "checkpoint",
    "begin transaction",
    "select 1; select 2",
    "explain analyze select 1",
    "call pragma_version()",
    "pivot labevents on itemid",
    "prepare p as select 1",
    "use memory",
    "vacuum",
    # what tells of the machine
    "select current_setting('temp_directory')",
    "select * from duckdb_settings()",
    "select * from duckdb_databases()",
    "select * from duckdb_databases",
    "select path from duckdb_databases where not internal",
    "select * from pragma_database_list",
    "select * from sqlite_master",
    "select * from pg_catalog.pg_class",
    "select * from information_schema.tables",
    "select * from pg_settings",
    "show tables",
    "show databases",
    "show all tables",
    "select * from (show databases)",
    "select * from (with sqlite_master as (select 1) select 1), sqlite_master",
    "select * from query('select * from duckdb_settings()')",
    "select * from query_table('duckdb_settings')",
    "select * from json_execute_serialized_sql(json_serialize_sql('select 1'))",
    "select getvariable('x')",
    "select version()",
    "select current_user",
    "select user",
    "select current_database()",
    "select * from memory.main.labevents",
    "select * from chart.main.labevents",
    "select * from which_secret('s3://x', 's3')",
    "select write_log('x')",
    "select nextval('s')",
    # what makes a replay differ
    "select random()",
    "select uuid()",
    "select now()",
    "select current_timestamp",
    "select current_date",
    "select today()",
    "select age(charttime) from labevents",
    "select * from labevents using sample 1",
    "select * from labevents tablesample 50%",
    # nonsense
    "",
    ";",
    "--",
    "select",
    "select $1",
    "select ?",
    "select * from patients_of_others",
    "select 'x",
    "/* select 1",
    "select \x00",
]

HONEST = [
    "select * from emar where event_txt = 'Administered' and 1 = 1",
    "select 'hashimoto' as disease -- drop table labevents",
    "select count(*) filter (where valuenum > 1) as n from labevents",
    "select l.row_ref, d.label from labevents l join d_labitems d using (itemid) order by 1",
    "with c as (select * from labevents where itemid = 50912) select max(valuenum) from c",
    "with recursive r as (select 1 as n union all select n + 1 from r where n < 5) from r",
    "select itemid, row_number() over (order by charttime) as n from labevents limit 3",
    "select date_diff('hour', admittime, dischtime), coalesce(deathtime, dischtime) "
    "from admissions",
    "describe labevents",
    "from labevents select avg(valuenum) group by itemid order by all",
    "select * from (values (1), (2)) as v(a) union all select 3",
    "select list_transform([1, 2], lambda x: x + 1), [x for x in [1] if x > 0], {'a': 1}.a",
    "select try_cast(value as double) from labevents where value not like '%x%' and value ~ '1'",
    "select extract(year from charttime), charttime::date, charttime + interval 2 day "
    "from labevents",
    "select case when flag is null then 'no' else flag end from labevents where itemid in (1, 2)",
    "select * exclude (comments), columns('value.*') from labevents where exists (from emar)",
    "select string_agg(distinct drug, ', ' order by drug) from prescriptions",
    "select lag(valuenum) over (partition by itemid order by charttime) from labevents",
    "select a.charttime from labevents a asof join labevents b on a.charttime >= b.charttime",
    'select table_name from (select "table" as table_name from coverage where not covered)',
    "select text[1:20], regexp_extract(text, 'CT.*') from radiology",
]


@pytest.fixture(scope="module")
def worker(full_path: Path) -> Any:
    worker = Worker(full_path, seconds=5)
    yield worker
    worker.close()


@pytest.mark.parametrize("query", HOSTILE)
def test_a_hostile_query_is_refused(worker: Worker, query: str) -> None:
    with pytest.raises(ToolRefusal) as caught:
        worker.query(query)
    assert "/tmp/" not in str(caught.value) or "/tmp/" in query


@pytest.mark.parametrize("query", HONEST)
def test_an_honest_query_is_answered(worker: Worker, query: str) -> None:
    assert worker.query(query).rows is not None


def test_nothing_was_written_by_any_of_them(worker: Worker) -> None:
    for query in HOSTILE:
        with pytest.raises(ToolRefusal):
            worker.query(query)
    assert worker.query("select count(*) from labevents").rows == [[235]]


@pytest.mark.parametrize(
    "bomb",
    [
        "select len(range(1000000000))",
        "select len(repeat('x', 2000000000))",
        "select len(lpad('x', 2000000000, 'y'))",
        "select count(*) from range(1000000) a, range(1000000) b",
        "with recursive r as (select 1 as n union all select n + 1 from r) select max(n) from r",
        "select list(a.range) from range(10000000) a, range(100) b",
        "with " + ", ".join(
            ["t0 as materialized (select 'aaaaaaaa' as x)"]
            + [f"t{n + 1} as materialized (select x || x as x from t{n})" for n in range(32)]
        ) + " select length(x) from t32",
        "select " + "(" * 9_000 + "1" + ")" * 9_000,
        "select " + "+".join("1" * 9_000),
    ],
    ids=lambda bomb: str(bomb)[:30],
)  # fmt: skip
def test_a_bomb_ends_at_the_deadline_and_the_next_query_is_answered(
    full_path: Path, bomb: str
) -> None:
    worker = Worker(full_path, seconds=2, memory=1 << 29)
    worker.query("select 1")
    since = perf_counter()
    with pytest.raises(ToolRefusal):
        worker.query(bomb)
    assert perf_counter() - since < 10
    assert worker.query("select 1").rows == [[1]]
    worker.close()


def test_a_query_over_20_kb_is_refused(ask: Any, worker: Worker) -> None:
    query = "select '" + "x" * 20_000 + "'"
    assert ask("sql", query=query).refused
    with pytest.raises(ToolRefusal, match="20,000"):
        worker.query(query)


def test_rows_and_cells_are_capped_and_the_answer_says_so(ask: Any) -> None:
    many = ask("sql", query="select * from range(201)").answer
    assert len(many.rows) == 200
    assert not many.scope.complete
    assert many.text.startswith("call 1 · sql · 200 rows · cut")
    wide = ask("sql", query="select repeat('x', 3000) as x").answer
    assert len(wide.rows[0].cells["x"]) == 2000
    assert not wide.scope.complete


def test_tables_are_recorded_from_the_parsed_statement(ask: Any) -> None:
    query = (
        "with c as (select * from LabEvents) select count(*) from c "
        "where exists (from emar where hadm_id in (select hadm_id from admissions))"
    )
    answer = ask("sql", query=query).answer
    assert set(answer.scope.tables) == {"labevents", "emar", "admissions"}
    assert answer.scope.items == ()
    assert answer.rows[0].ref == "call:1"


def test_a_row_shown_as_it_is_can_be_cited(ask: Any) -> None:
    answer = ask(
        "sql",
        query="select e.row_ref, e.charttime, e.valuenum, d.label from labevents e "
        "join d_labitems d using (itemid) where labevent_id = 2",
    ).answer
    assert answer.rows[0].ref == "labevents:2"
    assert answer.text.splitlines()[1:] == [
        "ref | charttime | valuenum | label",
        "[labevents:2] | 2150-03-02 06:00 | 1.4 | Creatinine",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "select 'labevents:2' as row_ref",
        "select row_ref, 9.9 as valuenum from labevents where labevent_id = 2",
        "select 'labevents:2' as row_ref, valuenum from labevents where labevent_id = 3",
        "select row_ref, valuenum * 2 as doubled from labevents where labevent_id = 2",
        "select 'labevents:999' as row_ref, 1 as valuenum",
        "select 5 as row_ref",
        "select 'd_labitems:50912' as row_ref, 'x' as label",
    ],
)
def test_a_row_that_was_made_up_is_no_disclosure(ask: Any, query: str) -> None:
    answer = ask("sql", query=query).answer
    assert {row.ref for row in answer.rows} == {"call:1"}


def test_what_is_not_covered_is_said(thin: Any) -> None:
    answer = thin("sql", query="select * from medrecon").answer
    assert answer.scope.uncovered == ("medrecon",)
    assert "table medrecon is not covered by this store" in answer.notes


def test_the_worker_ends_with_its_owner(full_path: Path) -> None:
    worker = Worker(full_path)
    worker.query("select 1")
    process = worker._process
    assert process is not None
    del worker
    assert process.returncode is not None


def test_the_worker_holds_no_environment(full_path: Path) -> None:
    worker = Worker(full_path)
    worker.query("select 1")
    assert worker._process is not None
    environment = Path(f"/proc/{worker._process.pid}/environ").read_bytes().split(b"\0")
    assert {each.partition(b"=")[0] for each in environment} <= {b"", b"LC_CTYPE"}
    worker.close()


WORDS = st.sampled_from([
    *("select", "from", "where", "with", "as", "(", ")", ",", ";", "*", "1", "'x'", "labevents"),
    *("patients", "union", "all", "delete", "insert", "into", "copy", "to", "attach", "pragma"),
    *("read_text", "duckdb_settings", "()", "join", "on", "true", "limit", "values", "row_ref"),
    *("getenv", "set", "'/etc/passwd'", "current_setting", "unnest", "=", "::", "$$", "--", "d"),
    *("explain", "describe", "returning", "update", "pivot", "lateral", "recursive", "range"),
])  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_text_is_a_query_or_is_refused(full: Chart, query: str) -> None:
    cursor = full.cursor()
    with contextlib.suppress(ToolRefusal):
        tables_of(cursor, query.encode("utf-8", "replace").decode())
    assert full.query("select count(*) as n from labevents") == [{"n": 235}]


def test_no_function_is_allowed_that_reads_the_machine() -> None:
    banned = ("read_", "duckdb_", "pragma_", "pg_", "current_", "getenv", "json_serialize", "query")
    assert not [name for name in allowed() if name.startswith(banned)]
    assert {"now", "random", "uuid", "age", "glob"}.isdisjoint(allowed())


def test_an_answer_survives_the_trace_as_it_was(ask: Any) -> None:
    answer = ask("sql", query="select 1.10::decimal(4,2) a, 'nan'::double b, [1] c, null d").answer
    assert json.loads(answer.model_dump_json())["rows"][0]["cells"] == answer.rows[0].cells


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select '1'::inet", "not in the catalog"),  # once looked for among extensions on the disk
        ("select list_aggregate([1, 2], 'reservoir_quantile', 0.5)", "`reservoir_quantile`"),
        ("select [1, 2].list_aggr('reser' || 'voir_quantile', 0.5)", "as a plain text"),
        ("select list_aggr([1])", "as a plain text"),
        ("select age(timestamp '2150-01-01')", "`age` is not allowed"),
        ("from labevents select " + ", ".join(["*"] * 300), "5,100 columns; at most 200"),
        ("select " + "[" * 21 + "1" + "]" * 21, "more than 20 deep"),
        ("select " + "{'a': " * 21 + "1" + "}" * 21, "more than 20 deep"),
        ("select " + "[" * 900 + "1" + "]" * 900, "nested too deeply"),
        ("select '\ud800'", "half of a character"),
    ],
)
def test_what_was_once_a_hole_is_refused_and_the_worker_lives(
    worker: Worker, query: str, why: str
) -> None:
    worker.query("select 1")
    before = worker._process
    with pytest.raises(ToolRefusal, match=why):
        worker.query(query)
    assert worker._process is before


@pytest.mark.parametrize("depth", [20, 21, 200, 255, 300])
def test_however_a_cell_is_nested_the_call_is_recorded_and_read_back(
    full: Chart, tmp_path: Path, depth: int
) -> None:
    with TraceWriter(tmp_path / "trace.jsonl") as writer:
        gateway = Gateway(full, {}, writer.write, clock=None)
        gateway.call("sql", {"query": "select " + "[" * depth + "1" + "]" * depth})
    (called,) = read(tmp_path / "trace.jsonl").calls
    assert called.refused == (depth > 20)


def test_memory_and_time_are_refused_in_the_same_words(full_path: Path) -> None:
    worker = Worker(full_path, seconds=1)
    said: set[str] = set()
    for query in (
        "select len(range(1000000000))",
        "select list(a.range) from range(10000000) a, range(100) b",
        "select count(*) from range(1000000) a, range(1000000) b where a.range < b.range",
    ):
        with pytest.raises(ToolRefusal) as caught:
            worker.query(query)
        said.add(str(caught.value))
    worker.close()
    assert len(said) == 1


def test_no_answer_is_larger_than_its_cap(ask: Any) -> None:
    wide = ", ".join(f"repeat('x', 3000) as c{n}" for n in range(200))
    named = f'select 1 as "{"y" * 19_000}" from range(500)'
    for query in (f"select {wide} from range(500)", named, "select range(5000) from range(500)"):
        called = ask("sql", query=query)
        assert not called.refused
        assert len(called.answer.text) < 500_000  # as tools.mcp tells its clients
        assert len(called.model_dump_json()) < 1_200_000
    assert max(map(len, ask("sql", query=named).answer.columns)) == 200


def test_times_with_a_zone_do_not_tell_the_zone_of_the_machine(
    full_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    with Chart.open(full_path) as chart:
        told = chart.query("select '2150-01-01'::timestamptz::varchar as at")
    assert told == [{"at": "2150-01-01 00:00:00+00"}]


def test_the_worker_can_write_no_file_and_leaves_no_core(worker: Worker) -> None:
    worker.query("select 1")
    assert worker._process is not None
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        assert resource.prlimit(worker._process.pid, limit) == (0, 0)
