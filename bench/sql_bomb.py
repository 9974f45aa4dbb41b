"""Another chart's latency while a SQL bomb runs: one process, two charts, one of them under attack.

    python bench/sql_bomb.py [--rounds 3]

The bombs end by themselves in no time that anybody would wait: the worker of their chart is killed
at the deadline or for want of memory. Meanwhile the other chart answers `labs`, as it did a moment
before. A bomb takes a processor of its own, so the ratio is only fair where there are two.
"""

import argparse
import os
import statistics
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter

from chartproof.chart.build import build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.trace import Called, Event
from chartproof.tools.gateway import Gateway

sys.path.insert(0, str(Path(__file__).parent))
from crowd import FIRST, Crowd

BOMBS = {
    "joins without end": "select count(a.value || b.value || c.value || d.value) "
    "from labevents a, chartevents b, chartevents c, chartevents d",
    "a sort without end": "select a.value from chartevents a, chartevents b, chartevents c "
    "order by a.value || b.value || c.value limit 1",
    "distinct texts without end": "select count(distinct a.row_ref || b.row_ref || c.row_ref) "
    "from chartevents a, chartevents b, chartevents c",
    "a scalar of a terabyte": "select len(range(1000000000000))",
    "a text of two gigabytes": "select length(repeat('x', 2000000000))",
}
CALLS = 40
MOST = 1.5


def timed(gateway: Gateway, until: threading.Event | None = None) -> list[float]:
    """Milliseconds of each call; with `until`, as long as it is not set."""
    taken: list[float] = []
    while not until.is_set() if until else len(taken) < CALLS:
        began = perf_counter()
        gateway.call("labs", {"items": ["%"]})
        taken.append((perf_counter() - began) * 1e3)
    return taken[:-1] if until else taken  # the last may have outlived the bomb


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        build(Crowd(100), home / "store")
        store = Store.open(home / "store")
        for n in range(2):
            cut(store, FIRST + n, home / f"{n}.chart")
        attacked, other = (Chart.open(home / f"{n}.chart") for n in range(2))
        events: list[Event] = []
        bombed = Gateway(attacked, {}, events.append)
        calm = Gateway(other, {}, lambda _event: None)
        bombed.call("sql", {"query": "select 1"})  # the worker has started
        timed(calm)
        print(f"{'bomb':32}{'ended as':12}{'after s':>8}{'calm ms':>9}{'bomb ms':>9}{'ratio':>7}")
        ratios: list[float] = []
        for name, query in BOMBS.items():
            quiet: list[float] = []
            loud: list[float] = []
            lasted: list[float] = []
            for _ in range(rounds):
                quiet += timed(calm)
                over = threading.Event()

                def explode(query: str = query, over: threading.Event = over) -> None:
                    bombed.call("sql", {"query": query})
                    over.set()

                began = perf_counter()
                thread = threading.Thread(target=explode)
                thread.start()
                loud += timed(calm, over)
                thread.join()
                lasted.append(perf_counter() - began)
            last = events[-1]
            assert isinstance(last, Called)
            ended = "refused" if last.refused else "answered"
            calm_ms = statistics.median(quiet)
            if len(loud) < CALLS:
                print(
                    f"{name:32}{ended:12}{statistics.median(lasted):8.2f}{calm_ms:9.2f}{'–':>9}{'–':>7}"
                )
                continue
            bomb_ms = statistics.median(loud)
            ratios.append(bomb_ms / calm_ms)
            print(
                f"{name:32}{ended:12}{statistics.median(lasted):8.2f}{calm_ms:9.2f}{bomb_ms:9.2f}"
                f"{ratios[-1]:7.2f}"
            )
        if not ratios:
            sys.exit("No bomb lasted long enough to measure anything.")
        print(
            f"largest ratio {max(ratios):.2f} (asked ≤ {MOST}: "
            f"{'yes' if max(ratios) <= MOST else 'NO'}); {os.cpu_count()} processors, "
            f"load {os.getloadavg()[0]:.1f}"
        )


if __name__ == "__main__":
    main()
