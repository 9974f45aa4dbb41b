"""Invented patients after a CT, their charts, and a way to question an investigator in-process."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from auditor.desk import Desk
from auditor.habits import HABITS
from chartproof.catalog.read import policies
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.schema import tables
from chartproof.chart.store import Store
from chartproof.records.policy import Policy
from chartproof.records.trace import Event
from chartproof.runs.confinement import Confinement, confinement
from chartproof.tools.gateway import Gateway
from chartproof.tools.interpreter import cache_of

SUBJECT, HADM, STAY = 9000001, 8000001, 7000001
Rows = dict[str, list[dict[str, Any]]]
Filter = Callable[[str], str]


class Person:
    """Rows of one invented patient, put together in a few words."""

    def __init__(self, gender: str = "M", age: int = 60) -> None:
        self.rows: Rows = {
            "d_labitems": [
                {"itemid": 50912, "label": "Creatinine", "fluid": "Blood"},
                {"itemid": 52546, "label": "Creatinine", "fluid": "Blood"},
                {"itemid": 52024, "label": "Creatinine, Whole Blood", "fluid": "Blood"},
            ],
            "d_items": [{"itemid": 221214, "label": "CT scan", "linksto": "procedureevents"}],
        }
        self._n = 0
        self.add("patients", gender=gender, anchor_age=age, anchor_year=2150)

    def add(self, table: str, **cells: Any) -> "Person":
        self.rows.setdefault(table, []).append({"subject_id": SUBJECT, **cells})
        return self

    def number(self) -> int:
        self._n += 1
        return self._n

    def admission(self, begins: str, ends: str, hadm_id: int = HADM, **cells: Any) -> "Person":
        cells.setdefault("hospital_expire_flag", 0)
        return self.add("admissions", hadm_id=hadm_id, admittime=begins, dischtime=ends, **cells)

    def icu(self, begins: str | None, ends: str | None, stay_id: int = STAY) -> "Person":
        return self.add("icustays", hadm_id=HADM, stay_id=stay_id, intime=begins, outtime=ends)

    def lab(
        self, at: str, value: float, itemid: int = 50912, hadm_id: int | None = HADM
    ) -> "Person":
        return self.add(
            "labevents", labevent_id=100 + self.number(), itemid=itemid, hadm_id=hadm_id,
            charttime=at, storetime=at, value=str(value), valuenum=value, valueuom="mg/dL",
        )  # fmt: skip

    def code(self, code: str, hadm_id: int = HADM) -> "Person":
        version = 9 if code[0].isdigit() or code[0] == "V" else 10
        return self.add(
            "diagnoses_icd", hadm_id=hadm_id, seq_num=self.number(), icd_code=code,
            icd_version=version,
        )  # fmt: skip

    def order(
        self, at: str, subtype: str | None = "CT Scan", kind: str = "Radiology", **cells: Any
    ) -> "Person":
        n = self.number()
        return self.add(
            "poe", poe_id=f"{SUBJECT}-{n}", poe_seq=n, hadm_id=HADM, ordertime=at, order_type=kind,
            order_subtype=subtype, **{"transaction_type": "New", **cells},
        )  # fmt: skip

    def report(
        self, at: str, exam: str | None = "CT HEAD W/O CONTRAST", text: str | None = None,
        kind: str = "RR",
    ) -> "Person":  # fmt: skip
        n = self.number()
        note = f"{SUBJECT}-{kind}-{n}"
        body = text if text is not None else f"EXAMINATION:  {exam}\n\nIMPRESSION:\nNothing acute."
        signed = datetime.fromisoformat(at) + timedelta(hours=2)
        self.add(
            "radiology", note_id=note, note_type=kind, note_seq=n, hadm_id=None, charttime=at,
            storetime=signed.isoformat(" "), text=body,
        )  # fmt: skip
        if exam is not None:
            self.add(
                "radiology_detail", note_id=note, field_name="exam_name", field_ordinal=1,
                field_value=exam,
            )  # fmt: skip
        return self

    def summary(self, text: str, hadm_id: int = HADM, at: str = "2150-03-07") -> "Person":
        n = self.number()
        return self.add(
            "discharge", note_id=f"{SUBJECT}-DS-{n}", note_type="DS", note_seq=n, hadm_id=hadm_id,
            charttime=at, text=text,
        )  # fmt: skip


class Seen:
    """A report, and what the investigator called to write it."""

    def __init__(self, report: str, events: list[Event]) -> None:
        self.report = report
        self.events = events

    @property
    def verdict(self) -> str:
        return self.report.rsplit('"verdict": "', 1)[1].split('"', 1)[0]


@pytest.fixture(scope="session")
def person() -> type[Person]:
    """To put an invented patient together."""
    return Person


@pytest.fixture(scope="session")
def charted(
    make_store: Callable[[Rows], Store], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Person], Path]:
    """Write the chart of an invented patient: a chart cut once, its rows exchanged."""
    blank = tmp_path_factory.mktemp("blank") / "c.chart"
    cut(make_store(Person().rows), SUBJECT, blank)

    def make(person: Person) -> Path:
        path = tmp_path_factory.mktemp("chart") / "c.chart"
        path.write_bytes(blank.read_bytes())
        with duckdb.connect(str(path)) as db:
            for table, rows in person.rows.items():
                db.execute(f"delete from {table}")
                for n, row in enumerate(rows):
                    _insert(db, table, row, n)
        return path

    return make


def _insert(db: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any], n: int) -> None:
    cells = dict(row)
    spec = tables()[table]
    if spec.per_patient:
        mark = cells.get(spec.key) if spec.key else f"{n:010x}"
        cells["row_ref"] = f"{table}:{mark}"
    else:
        cells.pop("subject_id", None)
    names = ", ".join(cells)
    slots = ", ".join("?" for _ in cells)
    db.execute(f"insert into {table} ({names}) values ({slots})", list(cells.values()))


@pytest.fixture(scope="session")
def asked(charted: Callable[[Person], Path]) -> Callable[..., Seen]:
    """Question a habit about a patient, in this process. `through` alters the tools' answers."""

    def ask(
        person: Person,
        question: str,
        habit: str = "careful",
        through: Filter = lambda text: text,
        corpus: Mapping[str, Policy] | None = None,
    ) -> Seen:
        with opened(charted(person), corpus) as (gateway, events):
            desk = Desk(
                question,
                {spec["name"] for spec in gateway.specs()},
                lambda tool, arguments: through(gateway.call(tool, arguments)),
            )
            return Seen(HABITS[habit](desk).report(), events)

    return ask


@contextmanager
def opened(
    path: Path, corpus: Mapping[str, Policy] | None = None
) -> Iterator[tuple[Gateway, list[Event]]]:
    events: list[Event] = []
    with Chart.open(path) as chart:
        yield Gateway(chart, corpus or policies(), events.append, clock=None), events


@pytest.fixture(scope="module")
def confined() -> Confinement:
    made = confinement(cache_of(os.environ, os.geteuid()))
    if made.python is None:
        if os.environ.get("CI"):
            pytest.fail(f"no jail can be made here: {made.told}", pytrace=False)
        pytest.skip(f"no jail can be made here: {made.told}")
    return made
