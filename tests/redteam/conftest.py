"""A patient, a stranger, and canaries: what must never be read and must stay as it is."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.redteam.attacks import STRANGER, THEIR_NOTE, THEIR_STAY
from tests.tools.conftest import POLICIES, ROWS, SUBJECT

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.trace import Called, Event
from chartproof.tools.gateway import Gateway
from chartproof.tools.worker import Worker

CANARY = "canary7f3e"
"""Begins whatever must never be shown; a tail tells where it came from."""


@dataclass(frozen=True)
class Canaries:
    """A home that must stay as it is: a chart, and beside it what must never be shown."""

    folder: Path

    @property
    def chart(self) -> Path:
        return self.folder / "cases" / "charts" / "0a1b.chart"

    @property
    def file(self) -> Path:
        return self.folder / "labels" / "secret.csv"

    def filled(self) -> dict[str, str]:
        """What the slots of a hostile text stand for."""
        return {"file": str(self.file), "folder": str(self.folder), "chart": str(self.chart)}

    def stand(self) -> tuple[tuple[str, str], ...]:
        """Every file of the home with its digest, the chart among them."""
        return tuple(
            (str(each), hashlib.sha256(each.read_bytes()).hexdigest())
            for each in sorted(self.folder.rglob("*"))
            if each.is_file()
        )


@pytest.fixture(scope="session")
def crowded(make_store: Callable[[dict[str, list[dict[str, Any]]]], Store]) -> Store:
    """The store of two patients, of whom one is the run's business."""
    rows = {name: list(each) for name, each in ROWS.items()}
    theirs = {"subject_id": STRANGER, "hadm_id": THEIR_STAY}
    rows["patients"].append(
        {
            "subject_id": STRANGER,
            "gender": "M",
            "anchor_age": 40,
            "anchor_year": 2150,
            "anchor_year_group": "2011 - 2013",
        }
    )
    rows["admissions"].append(
        {
            **theirs,
            "admittime": "2150-03-01 08:00",
            "dischtime": "2150-03-06 12:00",
            "hospital_expire_flag": 0,
            "race": f"{CANARY}-admission",
        }
    )
    rows["labevents"].append(
        {
            **theirs,
            "labevent_id": 990001,
            "itemid": 50912,
            "charttime": "2150-03-02 06:00",
            "value": f"{CANARY}-lab",
            "valuenum": 4.4,
            "comments": f"{CANARY}-comment",
        }
    )
    rows["discharge"].append(
        {
            **theirs,
            "note_id": THEIR_NOTE,
            "note_type": "DS",
            "note_seq": 1,
            "charttime": "2150-03-06 00:00",
            "text": f"{CANARY}-note",
        }
    )
    rows["prescriptions"].append(
        {
            **theirs,
            "pharmacy_id": 990031,
            "drug_type": "MAIN",
            "starttime": "2150-03-01 09:00",
            "drug": f"{CANARY}-drug",
        }
    )
    return make_store(rows)  # fmt: skip


@pytest.fixture(scope="session")
def canaries(crowded: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canaries]:
    found = Canaries(tmp_path_factory.mktemp("home"))
    found.file.parent.mkdir()
    found.file.write_text(f"a,b\n{CANARY}-file,1\n")
    (found.folder / "labels" / "labels.jsonl").write_text(f'{{"verdict": "{CANARY}-verdict"}}\n')
    (found.folder / "rules.sql").write_text(f"-- {CANARY}-rule\n")
    cut(crowded, SUBJECT, found.chart)
    os.environ["CHARTPROOF_CANARY"] = f"{CANARY}-environment"
    before = found.stand()
    yield found
    os.environ.pop("CHARTPROOF_CANARY", None)
    assert found.stand() == before


@pytest.fixture(scope="session")
def sealed(canaries: Canaries) -> Iterator[Chart]:
    with Chart.open(canaries.chart) as chart:
        yield chart


class Door:
    """The gateway of one run, and what it recorded."""

    def __init__(self, chart: Chart, seconds: float | None = None) -> None:
        self.events: list[Event] = []
        self._gateway = Gateway(chart, POLICIES, self.events.append, clock=None)
        if seconds is not None:  # an earlier deadline, so that a bomb takes no test's time
            self._gateway._sources["sql"].worker = Worker(chart.path, seconds=seconds)

    def __call__(self, tool: Any, arguments: Any) -> Called:
        text = self._gateway.call(tool, arguments)
        last = self.events[-1]
        assert isinstance(last, Called)
        assert last.answer.text == text
        assert CANARY not in text
        return last


@pytest.fixture
def door(sealed: Chart) -> Door:
    return Door(sealed)
