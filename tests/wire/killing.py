"""Studies that are killed at any moment and resumed; a helper of tests and of a bench."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from chartproof import api
from chartproof.models import ledger
from chartproof.records.cell import CellInfo
from chartproof.runs import cells
from chartproof.runs.scripted_model.server import Heard, ModelServer

COMMAND = [sys.executable, "-c", "from chartproof.cli.main import main; main()", "run"]
PRICES = {"schema": 1, "models": {"openai/scripted": {"input": 1, "cached": 0.1, "output": 10}}}


def home_of(home: Path, ours: Path) -> Path:
    """A home of one's own over the store, labels and cases of another."""
    ours.mkdir()
    for part in ("store", "labels"):
        (ours / part).symlink_to((home / part).resolve())
    shutil.copytree(home / "cases", ours / "cases")
    return ours


@dataclass
class Killed:
    """A study that is killed, and what was seen of it.

    Attributes:
        home: Where it lies.
        arguments: Of `chartproof run`.
        stood: Every cell that was seen to stand → as it was seen first.
        spent: Run → requests that the ledger told of it when its cell was first seen.
        cut: Runs that kills met in flight.
    """

    home: Path
    arguments: Sequence[str]
    stood: dict[Path, CellInfo] = field(default_factory=dict[Path, CellInfo])
    spent: dict[Path, int] = field(default_factory=dict[Path, int])
    cut: int = 0

    @property
    def command(self) -> list[str]:
        """What runs it."""
        return [*COMMAND, *self.arguments]

    def kill(self, draw: random.Random, most: float) -> None:
        """Let it run until another cell stands, and a moment longer; then kill all of it."""
        with subprocess.Popen(
            self.command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            began = time.monotonic()
            while time.monotonic() - began < 60 and process.poll() is None:
                if len(list(cells.cells(self.home / "runs"))) > len(self.stood):
                    break
                time.sleep(0.02)
            time.sleep(draw.uniform(0, most))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        time.sleep(1.2)  # whatever a killed study started ends within a second

    def look(self) -> None:
        """See that nothing that stood is lost or made again, and that no whole run is faulty."""
        found = api.verify(self.home / "runs")
        assert [each for each in found if each.faults] == []
        now = dict(cells.cells(self.home / "runs"))
        for folder, cell in self.stood.items():
            assert now[folder] == cell, f"{folder} was lost, or run twice"
        by_run = self.requests()
        for folder, n in self.spent.items():
            assert by_run.get(folder, 0) == n, f"{folder} asked its model again"
        for folder in now.keys() - self.stood.keys():
            self.spent[folder] = by_run.get(folder, 0)
        self.stood = now
        self.cut += sum(each.state == "cut off" for each in found)

    def finish(self) -> None:
        """Let it come to its end."""
        subprocess.run(self.command, check=True, capture_output=True)
        self.look()
        assert {each.state for each in api.verify(self.home / "runs")} == {"whole"}

    def requests(self) -> dict[Path, int]:
        """Folder of a run → requests that the ledgers tell of it, of killed tries too."""
        return {
            study / run: len(spend.requests)
            for study in sorted((self.home / "runs").glob("*"))
            for run, spend in ledger.read(study).by_run().items()
        }


def model_study(home: Path, server: ModelServer, attempts: int) -> Path:
    """The file of a study of a model in a loop, over the scripted model server."""
    (home / "prices.yaml").write_text(yaml.safe_dump(PRICES), encoding="utf-8")
    file = home / "study.yaml"
    model = {"id": "openai/scripted", "base_url": f"{server.url}/careful/delay=0.01-0.05/v1"}
    study = {
        "id": "killed", "cases": "cases", "scenarios": ["post-ct-aki"], "attempts": attempts,
        "budget_usd": 1_000, "budget": {"seconds": 600},
        "systems": [{"name": "looped", "kind": "react", "model": model}],
    }  # fmt: skip
    file.write_text(yaml.safe_dump(study), encoding="utf-8")
    return file


def exact(home: Path, heard: Sequence[Heard], kills: int, at_once: int) -> tuple[int, int]:
    """See that the ledger tells all that the server answered, and at what cost.

    Returns:
        How many requests it tells, and how many of them a kill cut off.
    """
    spend = ledger.read(home / "runs" / "killed")
    answered = [each for each in heard if each.status == 200]
    # a request is in the ledger before it leaves: a kill can cut off no more than were in flight
    assert spend.open <= kills * at_once
    ended = [each for each in spend.requests if each.finished]
    assert len(ended) <= len(answered) <= len(spend.requests)
    assert spend.unpriced == 0
    for each in ended:
        assert each.finished is not None
        used = each.finished.usage
        assert used.tokens_in is not None
        assert used.tokens_out is not None
        cached = used.tokens_cached or 0
        paid = (used.tokens_in - cached) * 1e-6 + cached * 1e-7 + used.tokens_out * 1e-5
        assert abs((used.cost_usd or 0) - paid) < 1e-8
    turns = 0
    for folder, cell in cells.cells(home / "runs"):
        assert cell.usage is not None, folder
        turns += cell.usage.requests
    assert turns <= len(ended)
    return len(spend.requests), spend.open
