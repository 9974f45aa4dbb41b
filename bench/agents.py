"""How long 64 runs take that wait most of the time, as runs of models do.

    .venv/bin/python bench/agents.py --in out/demo

Each run is the scripted system `careful` with its own process, tools and trace; before each of its
calls it waits five seconds, as one waits for a model. Ideal is the longest run's waiting alone.
"""

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chartproof.cases.build import load
from chartproof.cases.prompt import prompt as prompt_text
from chartproof.catalog.read import policies, prompt, scenario
from chartproof.records.study import Budget, Study
from chartproof.records.system import scripted
from chartproof.runs.crew import Crew
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Makers
from chartproof.runs.study import run_study, tasks
from chartproof.runs.systems import AUDITOR, System
from chartproof.tools.gateway import Door

RUNS = 64
THINK = 5.0
BOUND = 1.2


class Slow(Door):
    """A door that is knocked at after a while."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def call(self, name: str, arguments: Any) -> str:
        time.sleep(THINK)
        return self._door.call(name, arguments)

    def specs(self) -> list[dict[str, Any]]:
        return self._door.specs()

    def _answer(self, name: str, arguments: dict[str, Any]) -> Any:
        return self._door._answer(name, arguments)


class Thinking:
    """A scripted system that thinks before each call."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.name, self.jail = system.name, system.jail

    def digest(self) -> str:
        return self._system.digest()

    def answer(self, errand: Errand) -> str:
        return self._system.answer(dataclasses.replace(errand, door=Slow(errand.door)))


class Thinkers(Makers):
    """Makes such systems."""

    def make(self, name: str, copied: Callable[[], Path]) -> System:
        return Thinking(super().make(name, copied))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--in", dest="home", type=Path, default=Path("out/demo"))
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    cases = load(given.home / "cases").cases
    cases = [case for case in cases if case.scenario == "post-ct-aki"]
    template = prompt("audit-v1")
    with tempfile.TemporaryDirectory() as runs:
        study = Study(
            id="agents",
            cases="cases",
            systems=scripted(["careful"]),
            attempts=-(-RUNS // len(cases)),
            budget=Budget(seconds=1_200),
        )
        todo = tasks(
            study,
            cases,
            chart_of=lambda case, arm: given.home / "cases" / "charts" / case.charts[arm],
            prompt_of=lambda case, _arm, _t: prompt_text(
                case, scenario(case.scenario).scenario, template
            ),
            runs=Path(runs),
        )[:RUNS]
        began = time.perf_counter()
        found = run_study(
            todo,
            policies(),
            clock=time.perf_counter,
            crew=Crew(given.workers, -(-RUNS // given.workers)),
            makers=Thinkers(AUDITOR),
        )
        took = time.perf_counter() - began
    assert len(found) == RUNS
    assert {cell.outcome for cell in found} == {"reported"}
    ideal = max(cell.calls for cell in found) * THINK
    print(
        f"{RUNS} runs in {given.workers} processes: {took:.1f} s; the longest waits {ideal:.0f} s; "
        f"{took / ideal:.2f} times (bound {BOUND})"
    )
    if took > BOUND * ideal:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
