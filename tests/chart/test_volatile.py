import duckdb
import pytest

from chartproof.chart.volatile import volatile


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("round(1 + 0.7 * random(), 1)", {"random"}),
        ("now() - interval 1 hour", {"now"}),
        ("charttime < CURRENT_TIMESTAMP", {"current_timestamp"}),
        ("current_date + localtime", {"current_date", "localtime"}),
        ('"uuid"() || main.gen_random_uuid()', {"uuid", "gen_random_uuid"}),
        ("list_transform([1], lambda x: x + random())", {"random"}),
        ("ago(interval 1 day)", {"ago"}),
        ("age(charttime)", {"age"}),
        ("charttime.age()", {"age"}),
        ("(select count(*) from duckdb_settings())", {"duckdb_settings"}),
        ("current_setting('TimeZone')", {"current_setting"}),
        ("with a as (select now() as t) select * from a order by random()", {"now", "random"}),
        ("select * from labevents using sample 3", {"tablesample"}),
        ("select * from labevents tablesample reservoir(3)", {"tablesample"}),
        ("select 1; select today()", {"today"}),
        ("create macro f(x) as x + random()", {"random"}),
    ],
)
def test_what_may_differ_the_next_time_is_named(sql: str, names: set[str]) -> None:
    assert volatile(sql) == names


@pytest.mark.parametrize(
    "sql",
    [
        "'random()' || comments -- now()",
        "charttime + interval 1 hour >= $admittime",
        "date_diff('hour', charttime, storetime) + year(charttime)",
        "age(charttime, storetime)",
        "labevents.current_date",
        "random * now",
        "(select sum(i) from generate_series(1, 3) as s(i))",
        "if(valuenum is null, error('no number'), coalesce(valuenum, 1))",
        "json_group_array(valuenum)",
        "from labevents tablesample reservoir(3) repeatable (7)",
        "create macro f(now) as now + 'random()'",
    ],
)
def test_what_is_the_same_each_time_is_not(sql: str) -> None:
    assert volatile(sql) == set()


def test_every_function_that_duckdb_calls_inconsistent_alone_is_named() -> None:
    told = duckdb.execute(
        "select function_name from duckdb_functions() where function_type = 'scalar' "
        "and function_name <> 'error' group by all having bool_and(stability <> 'CONSISTENT')"
    )
    rows = told.fetchall()
    assert len(rows) > 20
    for (name,) in rows:
        assert volatile(f"{name}()") == {name}
