"""The rules of every scenario on its charts, beside opening and beside cutting those charts.

    python bench/rules.py [--each 3] [--at FOLDER]

Plants every recipe of each scenario so many times, cuts the charts, opens each and asks the rules
three times. Asked for: at most 50 ms at the median of a scenario. Then `cases build` of all of them
stands beside cutting the same charts without rules.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from time import perf_counter, process_time

from chartproof.api import build_cases
from chartproof.api.stores import build_store
from chartproof.cases.build import load
from chartproof.catalog.read import scenario, scenario_ids
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.hospital.source import SyntheticSource, catalogued
from chartproof.rules.engine import evaluate

ASKED = 50.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=1, help="Charts of each recipe.")
    parser.add_argument("--at", type=Path, help="Folder to work in; kept. Else a temporary one.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home: Path = given.at or Path(temporary)
        if not (home / "store").exists():
            source = SyntheticSource(
                patients=0, seed=5, per_rule=0, per_recipe=given.each, recipes=catalogued()
            )
            build_store(source, home, lambda _stage: lambda _done, _of: None)
        began, used = perf_counter(), process_time()
        build_cases(home, per_rule=1000)
        building = process_time() - used, perf_counter() - began
        cases = load(home / "cases")
        store = Store.open(home / "store")
        began, used = perf_counter(), process_time()
        for case in cases.cases:
            cut(store, case.anchor.subject_id, Path(temporary) / "chart")
        cutting = process_time() - used, perf_counter() - began
        print(
            f"{len(cases.cases)} cases: cases build {building[0]:.1f} processor seconds, cutting the "
            f"same charts {cutting[0]:.1f}: {building[0] / cutting[0]:.2f} × (by the clock "
            f"{building[1] / cutting[1]:.2f} ×)"
        )
        print(f"{'scenario':30}{'charts':>8}{'median':>10}{'largest':>10}{'processor':>11}  ms")
        slow = 0
        for name in scenario_ids():
            folder = scenario(name)
            times: list[float] = []
            used_times: list[float] = []
            for case in cases.cases:
                if case.scenario != name:
                    continue
                with Chart.open(home / "cases" / "charts" / case.charts["factual"]) as chart:
                    for turn in range(3):
                        began, used = perf_counter(), process_time()
                        evaluate(folder, chart, case.anchor)
                        if turn:
                            times.append((perf_counter() - began) * 1e3)
                            used_times.append((process_time() - used) * 1e3)
            if times:
                median = statistics.median(times)
                slow += median > ASKED
                print(
                    f"{name:30}{len(times) // 2:8}{median:10.1f}{max(times):10.1f}"
                    f"{statistics.median(used_times):11.1f}{'  over' if median > ASKED else ''}"
                )
        print(f"scenarios over {ASKED:.0f} ms at the median: {slow}")


if __name__ == "__main__":
    main()
