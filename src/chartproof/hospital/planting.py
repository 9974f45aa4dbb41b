"""Plant a recipe in a background patient, in the one edit vocabulary.

The rows that result are those of the recipe; what remains of the background is noise around them.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import duckdb

from chartproof.chart.edits import apply
from chartproof.errors import SpecError
from chartproof.hospital import regimens, tidy
from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import Admission, Patient, moment
from chartproof.hospital.vocabulary import values
from chartproof.records.edit import DeleteRows, Edit, InsertRows, Value
from chartproof.records.recipe import (
    Block,
    Draw,
    Exam,
    Medication,
    Planted,
    Recipe,
    Recipes,
    Say,
)
from chartproof.records.scenario import AnchorKind

_NAME = re.compile(r"\$([a-z_][a-z_0-9]*)")
_CHANCE_OF_A_CONTROL = 0.4


@dataclass(frozen=True, slots=True)
class Order:
    """One instance to plant: which recipe of which scenario.

    Attributes:
        about: What the scenario asks about.
    """

    recipes: Recipes
    recipe: Recipe
    about: AnchorKind = "admission"


@dataclass(frozen=True, slots=True)
class Plant:
    """A planted patient, and what the writer of notes is to make of it."""

    planted: Planted
    exams: list[Exam]
    say: list[Say]
    medications: dict[int, list[Medication]]
    """The whole regimen of an admission, by hadm_id."""


def plant(
    db: duckdb.DuckDBPyConnection,
    order: Order,
    patient: Patient,
    exams: Sequence[Exam],
    *,
    ids: Ids,
    rng: random.Random,
) -> Plant:
    """Turn a background patient in the tables of `db` into the recipe's.

    Raises:
        SpecError: The recipe names a block, table, column or value that does not exist.
    """
    return _Planting(db, order, patient, list(exams), ids=ids, rng=rng).run()


class _Planting:
    """One recipe on its way into the tables."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        order: Order,
        patient: Patient,
        exams: list[Exam],
        *,
        ids: Ids,
        rng: random.Random,
    ) -> None:
        self.db = db
        self.recipe = order.recipe
        self.scenario = order.recipes.scenario
        self.about = order.about
        self.blocks = order.recipes.blocks
        self.patient = patient
        self.exams = exams
        self.ids = ids
        self.rng = rng
        at = self.recipe.needs.anchor
        self.anchor = patient.admissions[at - 1 if at > 0 else at]
        self.bind: dict[str, Any] = anchors(patient, self.anchor)

    def run(self) -> Plant:
        """Draw, compute, edit, prescribe, examine, in that order."""
        controls = [*self.recipe.controls]
        controls += [c for c in self.recipe.may if self.rng.random() < _CHANCE_OF_A_CONTROL]
        blocks = [self._block(name) for name in self.recipe.use]
        blocks += [self.recipe, *(self.blocks[c] for c in controls if c in self.blocks)]
        for block in blocks:
            for name, draw in block.draw.items():
                self._draw(name, draw)
        for block in blocks:
            for name, expression in block.let.items():
                self.bind[name] = self._evaluate(expression)
        panels = tidy.panels(self.db, self.patient.subject_id)
        for block in blocks:
            self._apply(block.edits)
            self._drop_exams(block)
        medications = [m for block in blocks for m in block.medications]
        bound = [self._medication(m) for m in medications]
        if any(block.only_medications for block in blocks):
            self._apply(regimens.clearing())
        self._apply(regimens.rows(bound, self.patient, self.anchor, self.ids, self.bind))
        performed = [self._perform(exam) for block in blocks for exam in block.exams]
        first = len(self.exams)
        self.exams += performed
        say = [self._say(each, first) for block in blocks for each in block.say]
        tidy.after(self.db, self.patient.subject_id, panels, self.rng)
        whole = self.about == "patient"
        stay = self.anchor.ed if self.about == "ed_stay" else self.anchor.icu
        planted = Planted(
            scenario=self.scenario,
            recipe=self.recipe.id,
            rule=self.recipe.rule,
            subject_id=self.patient.subject_id,
            hadm_id=None if whole else self.anchor.hadm_id,
            stay_id=stay.stay_id if stay and not whole else None,
            controls=tuple(controls),
            bound={name: _plain(value) for name, value in sorted(self.bind.items())},
        )
        regimen = {self.anchor.hadm_id: bound} if bound else {}
        return Plant(planted, self.exams, say, regimen)

    def _block(self, name: str) -> Block:
        if name not in self.blocks:
            raise self._wrong(f"it uses a block `{name}` that does not exist")
        return self.blocks[name]

    def _draw(self, name: str, draw: Draw) -> None:
        if draw.between is not None:
            number = round(self.rng.uniform(*draw.between), draw.digits)
            self.bind[name] = number if draw.digits else int(number)
            return
        chosen: Any = self.rng.choice(draw.one_of)
        if isinstance(chosen, Mapping):
            parts = cast("Mapping[str, Any]", chosen)
            self.bind.update({f"{name}_{key}": value for key, value in parts.items()})
        else:
            self.bind[name] = chosen

    def _evaluate(self, expression: str) -> Any:
        wanted = set(_NAME.findall(expression))
        if unknown := sorted(wanted - set(self.bind)):
            raise self._wrong(f"`{expression}` names {', '.join(unknown)}, which is nowhere bound")
        try:
            found = self.db.execute(
                f"select {expression}", {name: self.bind[name] for name in wanted}
            ).fetchall()
        except duckdb.Error as error:
            raise self._wrong(f"`{expression}`: {str(error).splitlines()[0]}") from error
        return found[0][0]

    def _value(self, cell: Value) -> Any:
        if isinstance(cell, str) and cell.startswith("="):
            return self._evaluate(cell[1:].strip())
        return cell

    def _apply(self, edits: Sequence[Edit]) -> None:
        known = [tidy.measured(edit) for edit in edits]
        try:
            apply(self.db, known, subject_id=self.patient.subject_id, bind=self.bind)
        except SpecError as error:
            raise self._wrong(error.what) from error

    def _drop_exams(self, block: Block) -> None:
        """Take background examinations out with their orders and ICU events."""
        modalities = values()["modalities"]
        for wanted in block.drop_exams:
            self.exams = [e for e in self.exams if wanted not in ("*", e.modality)]
            for modality, (subtype, icu_item) in modalities.items():
                if wanted not in ("*", modality):
                    continue
                orders = {"order_type": "Radiology", "order_subtype": subtype}
                self._apply([DeleteRows(kind="delete", table="poe", where={**orders})])
                if icu_item:
                    events = {"itemid": icu_item}
                    self._apply(
                        [DeleteRows(kind="delete", table="procedureevents", where={**events})]
                    )

    def _perform(self, exam: Exam) -> Exam:
        """Bind an examination and enter its order and its ICU event."""
        at = _time(self._value(exam.at))
        lead = timedelta(minutes=round(exam.lead_hours * 60))
        ordered = at - lead if exam.ordered is None else _time(self._value(exam.ordered))
        bound = exam.model_copy(
            update={
                "name": str(self._value(exam.name)),
                "at": at.isoformat(sep=" "),
                "ordered": ordered.isoformat(sep=" "),
                "hadm_id": self._value(exam.hadm_id),
                "time_in_text": _plain(self._value(exam.time_in_text)),
            }
        )
        subtype = values()["modalities"][exam.modality][0]
        rows: list[Edit] = []
        if exam.order != "none":
            rows.append(
                InsertRows(
                    kind="insert",
                    table="poe",
                    rows=(
                        {
                            "ordertime": bound.ordered,
                            "order_type": "Radiology",
                            "order_subtype": subtype,
                        },
                    ),
                )
            )
        if exam.icu_item is not None:
            start = at + timedelta(minutes=exam.icu_shift_minutes)
            rows.append(
                InsertRows(
                    kind="insert",
                    table="procedureevents",
                    rows=(
                        {
                            "starttime": start.isoformat(sep=" "),
                            "itemid": exam.icu_item,
                            "ordercategoryname": "Imaging",
                            "statusdescription": exam.icu_status,
                            "patientweight": self.patient.weight_kg,
                            "caregiver_id": 90_001 + 37 * self.rng.randrange(120),
                            "isopenbag": 0,
                            "continueinnextdept": 0,
                            "originalamount": 1,
                            "originalrate": 0,
                        },
                    ),
                )
            )
        self._apply(rows)
        if exam.order == "discontinued":
            self._call_off(ordered, subtype)
        return bound

    def _call_off(self, ordered: datetime, subtype: str) -> None:
        later = (ordered + timedelta(minutes=self.rng.randint(15, 60))).isoformat(sep=" ")
        subject = {"s": self.patient.subject_id}
        found = self.db.execute(
            "select poe_id from poe where subject_id = $s "
            "order by split_part(poe_id, '-', -1)::integer desc limit 1",
            subject,
        ).fetchall()
        first = found[0][0]
        self._apply(
            [
                InsertRows(
                    kind="insert",
                    table="poe",
                    rows=(
                        {
                            "ordertime": later,
                            "order_type": "Radiology",
                            "order_subtype": subtype,
                            "transaction_type": "D/C",
                            "discontinue_of_poe_id": first,
                        },
                    ),
                )
            ]
        )
        self.db.execute(
            "update poe set discontinued_by_poe_id = (select poe_id from poe "
            "where discontinue_of_poe_id = $first limit 1) where poe_id = $first",
            {"first": first},
        )

    def _say(self, say: Say, first: int) -> Say:
        return say.model_copy(
            update={
                "hadm_id": self._value(say.hadm_id),
                "slots": {name: _plain(self._value(cell)) for name, cell in say.slots.items()},
                "exam": None if say.exam is None else first + say.exam,
                "state": self._value(say.state),
                "value": str(self._value(say.value)),
            }
        )

    def _medication(self, medication: Medication) -> Medication:
        bound: dict[str, Any] = {}
        for name, cell in medication.model_dump(mode="python").items():
            if isinstance(cell, str):
                bound[name] = self._value(cell)
            elif isinstance(cell, dict):
                regimen = cast("dict[str, Any]", cell)
                bound[name] = {key: self._value(value) for key, value in regimen.items()}
            else:
                bound[name] = cell
        return Medication.model_validate(bound)

    def _wrong(self, what: str) -> SpecError:
        return SpecError(
            f"recipes.yaml of {self.scenario}, recipe {self.recipe.id}: {what}.",
            remedy="Correct the recipe; records/recipe.py lists what an expression may name.",
        )


def anchors(patient: Patient, anchor: Admission) -> dict[str, Any]:
    """What `$name` in a recipe is bound to before any draw."""
    stay, visit = anchor.icu, anchor.ed
    bound: dict[str, Any] = {
        "subject_id": patient.subject_id,
        "hadm_id": anchor.hadm_id,
        "stay_id": stay.stay_id if stay else None,
        "admittime": moment(anchor.start),
        "dischtime": moment(anchor.end),
        "intime": moment(stay.start) if stay else None,
        "outtime": moment(stay.end) if stay else None,
        "ed_stay_id": visit.stay_id if visit else None,
        "ed_intime": moment(visit.arrive) if visit else None,
        "ed_outtime": moment(visit.leave) if visit else None,
        "sex": patient.sex,
        "age": patient.age(anchor.start),
        "icd": anchor.icd,
        "n_adm": len(patient.admissions),
    }
    for n, admission in enumerate(patient.admissions, 1):
        bound[f"hadm_{n}"] = admission.hadm_id
        bound[f"admit_{n}"] = moment(admission.start)
        bound[f"disch_{n}"] = moment(admission.end)
        bound[f"icd_{n}"] = admission.icd
    return bound


def _time(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(str(value))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    return value if isinstance(value, bool | int | float | str | None) else str(value)
