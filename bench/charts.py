"""Cut and open charts: flat from 100 to 10,000 patients, 64 open at once in one process.

Prints medians and the ratios that issue from them in one run; see RESULTS.md for figures.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from chartproof.chart.build import build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store

sys.path.insert(0, str(Path(__file__).parent))
from crowd import FIRST, Crowd

SIZES = (100, 10_000)


def rss() -> float:
    """Resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        medians: dict[int, tuple[float, float]] = {}
        for n in SIZES:
            home = Path(place) / str(n)
            home.mkdir()
            begun = time.perf_counter()
            build(Crowd(n), home / "store")
            print(f"{n:>6} patients: store built in {time.perf_counter() - begun:.1f} s")
            store = Store.open(home / "store")
            cuts, opens = [], []
            for k in range(24):
                path = home / f"{k}.chart"
                begun = time.perf_counter()
                cut(store, FIRST + k * (n // 30), path)
                cuts.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                Chart.open(path).close()
                opens.append(time.perf_counter() - begun)
            medians[n] = statistics.median(cuts), statistics.median(opens)
            print(
                f"{n:>6} patients: cut median {medians[n][0] * 1e3:.0f} ms, max {max(cuts) * 1e3:.0f} ms;"
                f" open median {medians[n][1] * 1e3:.1f} ms, max {max(opens) * 1e3:.1f} ms"
            )
        small, large = (medians[n] for n in SIZES)
        print(f"ratio 10,000 : 100 – cut {large[0] / small[0]:.2f}, open {large[1] / small[1]:.2f}")
        before = rss()
        charts = [Chart.open(Path(place) / "10000" / f"{k % 24}.chart") for k in range(64)]
        for chart in charts:
            chart.query("select count(*) from chartevents")
        print(f"64 charts open: {rss() - before:.0f} MB more, {rss():.0f} MB in all")


if __name__ == "__main__":
    main()
