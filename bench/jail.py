"""What the jail adds to a run of an agent's program: bare and jailed, in turn, in one run.

    python bench/jail.py [TIMES] [KIND …]

Each run is whole: the program starts, is offered the tools, makes a call, reports. Model and tools
are the same in both: a scripted model behind the recording proxy, tools that find nothing. Bare,
the program finds both at ports of this machine; jailed, through the relay and two sockets.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from chartproof.models.egress import Guard
from chartproof.records.study import Budget
from chartproof.records.system import CliSystem, Model
from chartproof.records.trace import Answer
from chartproof.runs.access import Access
from chartproof.runs.agents import cli
from chartproof.runs.agents.confined import HOME
from chartproof.runs.agents.doctor import MODELS, PERSONA, QUESTION
from chartproof.runs.agents.doors import opened
from chartproof.runs.agents.harness import Launch
from chartproof.runs.agents.installed import PACKAGES, found, kinds
from chartproof.runs.confinement import confinement
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools.gateway import Door, specs
from chartproof.tools.interpreter import cache_of


class Nothing(Door):
    """Tools that find nothing."""

    made = 0

    def specs(self) -> list[dict[str, Any]]:
        return specs()

    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:  # noqa: ARG002
        self.made += 1
        return Answer(text=f"call {self._calls} · {name} · 0 rows · complete")


def errand(home: Path) -> Errand:
    folder = home / "runs" / "bench" / "s" / "c" / "factual" / ".1.part"
    folder.mkdir(parents=True, exist_ok=True)
    return Errand(
        prompt=QUESTION,
        door=Nothing(lambda _event: None, None),
        record=lambda _event: None,
        folder=folder,
        budget=Budget(seconds=120),
        clock=time.monotonic,
    )


def bare(entry: CliSystem, means: Means, work: Errand) -> str:
    """The same program without a jail: what it reports."""
    harness, here = cli.HARNESSES[entry.kind], found(entry.kind, means.cache, os.environ["PATH"])
    assert here is not None
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm") as home,  # in memory, as in the jail
        opened(work, access=Access(entry.model, means), turns=entry.turns, jailed=False) as doors,
    ):
        start = harness.start(Launch(entry, here, doors.ways, work.prompt))
        outside = {"/agent/bin/node": str(here.program), "/agent/package": str(here.folder)}
        outside |= {here.command[0]: str(here.program), HOME: home}

        def moved(text: str) -> str:
            for within, place in outside.items():
                text = text.replace(within, place)
            return text

        for path, text in start.files.items():
            place = Path(moved(path))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(moved(text))
        environment = {name: moved(value) for name, value in start.environment.items()}
        Path(home, "work").mkdir()
        done = subprocess.run(
            [moved(each) for each in start.command],
            input=start.stdin.encode(), capture_output=True, check=True, cwd=Path(home, "work"),
            env={"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", **environment},
        )  # fmt: skip
        reading = harness.reading()
        for line in done.stdout.splitlines():
            reading.line(line)
        assert reading.report, done.stderr[-500:]
        return reading.report


def main(times: int, names: list[str]) -> None:
    cache = cache_of(os.environ, os.geteuid())
    confined = confinement(cache)
    print(f"load {os.getloadavg()[0]:.1f}; {times} runs each way; jail: {confined.told}")
    with ModelServer(PERSONA) as server:
        for kind in kinds(names):
            taken: dict[str, list[float]] = {"bare": [], "jailed": []}
            model = Model(id=MODELS[kind], base_url=server.url)
            entry = CliSystem(kind=kind, name="s", model=model)
            with tempfile.TemporaryDirectory() as home:
                means = Means(
                    Path(home), "bench", "synthetic", cache, confined, Guard("synthetic", None)
                )
                system = cli.make(entry, means)
                system.digest()
                for n in range(times + 1):
                    for way, seconds in taken.items():
                        work = errand(Path(home))
                        since = time.perf_counter()
                        said = system.answer(work) if way == "jailed" else bare(entry, means, work)
                        assert "verdict" in said, said
                        if n:  # the first of each fills the page cache
                            seconds.append(time.perf_counter() - since)
            middle = {way: statistics.median(each) for way, each in taken.items()}
            told = {
                "kind": kind,
                "version": PACKAGES[kind].verified,
                **{f"{way} s": round(value, 2) for way, value in middle.items()},
                "added ms, median": round(1000 * (middle["jailed"] - middle["bare"])),
                "added ms, quickest": round(1000 * (min(taken["jailed"]) - min(taken["bare"]))),
            }
            print(json.dumps(told))


if __name__ == "__main__":
    given = sys.argv[1:]
    count = int(given.pop(0)) if given and given[0].isdecimal() else 8
    main(count, given)
