"""A tool call beside the bare SQL that it runs, on one chart. Ratios of medians in one run.

    python bench/tool_latency.py [CHART] [REPEATS]

Without a chart, one each is cut from stores of 100 and of 10,000 patients of the same build, and
the calls on both are timed in turn: a tool must not feel how many other patients there are.

The bare figure runs the very statements that the call ran, on a cursor of the same chart, and
fetches them. A call that finds its rows in memory runs none, and has a dash there. Writing the trace is shown apart, without and with fsync.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from chartproof.chart.build import build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.trace import Event
from chartproof.tools.gateway import Gateway
from chartproof.tools.trace import TraceWriter

sys.path.insert(0, str(Path(__file__).parent))
from crowd import FIRST, Crowd

Statements = list[tuple[str, Any]]


class Recording(Chart):
    """A chart that remembers what it was asked."""

    asked: Statements

    def query(self, sql: str, params: Any = None) -> list[dict[str, Any]]:
        self.asked.append((sql, params))
        return super().query(sql, params)


def timed(work: Callable[[], object]) -> float:
    """Milliseconds that a piece of work takes."""
    since = perf_counter()
    work()
    return (perf_counter() - since) * 1000


def bare(chart: Chart, statements: Statements) -> None:
    for sql, params in statements:
        cursor = chart.cursor()
        cursor.execute(sql, dict(params) if params else None)
        cursor.fetchall()
        cursor.close()


def calls(chart: Chart) -> list[tuple[str, dict[str, Any]]]:
    item = chart.query("select itemid from labevents group by all order by count(*) desc limit 1")
    return [
        ("patient", {}),
        ("encounters", {}),
        ("labs", {"items": [item[0]["itemid"]] if item else ["%"]}),
        ("labs", {"items": ["%"]}),
        ("labs", {"items": ["creatinine"]}),
        ("lab_items", {"label": "creatinine"}),
        ("diagnoses", {}),
        ("procedures", {}),
        ("medication_orders", {}),
        ("administrations", {}),
        ("infusions", {}),
        ("orders", {}),
        ("imaging", {}),
        ("charted", {"items": ["%"]}),
        ("measurements", {}),
        ("microbiology", {}),
        ("notes", {}),
        ("search_notes", {"text": "contrast"}),
    ]


def main(path: Path, repeats: int) -> None:
    chart = Recording.open(path)
    assert isinstance(chart, Recording)
    chart.asked = []
    events: list[Event] = []
    gateway = Gateway(chart, {}, events.append, clock=None)
    gateway.call("transfers", {})
    print(f"{'call':42}{'rows':>5}{'bare ms':>9}{'call ms':>9}{'ratio':>7}{'over ms':>9}")
    for name, arguments in calls(chart):
        gateway.call(name, arguments)
        chart.asked.clear()
        gateway.call(name, arguments)
        statements = list(chart.asked)
        rows = len(events[-1].answer.rows)  # type: ignore[union-attr]
        base: list[float] = []  # of no statements there is nothing to measure
        whole: list[float] = []
        for _ in range(repeats):  # in turn, so that a noisy moment falls on both
            if statements:
                base.append(timed(lambda s=statements: bare(chart, s)))
            whole.append(timed(lambda n=name, a=arguments: gateway.call(n, a)))
        after = statistics.median(whole)
        before = statistics.median(base) if base else None
        shown = f"{name} {arguments or ''}"[:41]
        against = (
            f"{'–':>9}{after:9.2f}{'–':>7}{'–':>9}"
            if before is None
            else f"{before:9.2f}{after:9.2f}{after / before:7.2f}{after - 2 * before:9.2f}"
        )
        print(f"{shown:42}{rows:5}{against}")
    largest = max(events, key=lambda e: len(e.model_dump_json()))
    for fsync in (False, True):
        with (
            tempfile.TemporaryDirectory() as folder,
            TraceWriter(Path(folder) / "t.jsonl", fsync=fsync) as writer,
        ):
            took = statistics.median(
                timed(lambda w=writer: w.write(largest)) for _ in range(repeats)
            )
        print(f"writing the largest event{', fsync' if fsync else ''}: {took:.2f} ms")


def flat(repeats: int) -> None:
    """Time the same calls on patients of a small and of a large store, in turn."""
    with tempfile.TemporaryDirectory() as folder:
        gateways: list[Gateway] = []
        for n in (100, 10_000):
            home = Path(folder) / str(n)
            home.mkdir()
            build(Crowd(n), home / "store")
            cut(Store.open(home / "store"), FIRST + n // 2, home / "chart")
            gateways.append(Gateway(Chart.open(home / "chart"), {}, lambda _event: None))
        main(Path(folder) / "10000" / "chart", repeats)
        ratios: list[float] = []
        for name, arguments in calls(Chart.open(Path(folder) / "100" / "chart")):
            times: list[list[float]] = [[], []]
            for _ in range(repeats + 2):
                for gateway, taken in zip(gateways, times, strict=True):
                    taken.append(timed(lambda g=gateway, n=name, a=arguments: g.call(n, a)))
            small, large = (statistics.median(taken[2:]) for taken in times)
            ratios.append(large / small)
        print(
            f"10,000 : 100 patients, per call: median {statistics.median(ratios):.2f}, "
            f"largest {max(ratios):.2f}"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20)
    else:
        flat(20)
