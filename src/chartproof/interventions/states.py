"""What an entry changes in a patient, and whether the treatment depends on it.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from chartproof.interventions.catalogue import Catalogue, Intervention
from chartproof.oncology.knowledge import Derived, knowledge
from chartproof.records.board import Cancer, Fact, State
from chartproof.records.intervention import Applicability, Axes, Entry

SILENT = "the treatment knowledge names no treatment for the changed patient"
_OWN = frozenset(State.model_fields) - {"facts"}


def otherwise(state: State, entry: Entry) -> State:
    """The patient with what an entry changes.

    Raises:
        SpecError: The entry names no field or fact of the treatment knowledge.
    """
    return knowledge().changed(state, entry.state_effect)


def change(state: State, entry: Entry) -> Derived:
    """What has to change in the answer, by the treatment knowledge."""
    return _change(state.model_dump_json(), entry.id, entry.model_dump_json())


@cache
def _change(state: str, _id: str, entry: str) -> Derived:
    before = State.model_validate_json(state)
    return knowledge().derive(before, otherwise(before, Entry.model_validate_json(entry)))


def inconsequent(state: State, entry: Entry) -> str | None:
    """Why the treatment does not depend on what an entry changes; None where it does."""
    after = knowledge().consensus(otherwise(state, entry))
    if not (after.strong or after.tacit):
        return SILENT
    if change(state, entry).vacuous:
        return "no treatment depends on it in this state"
    return None


def told_by(state: State, catalogue: Catalogue, probe: str) -> str | None:
    """What a complete text of this patient tells of a probe; None where nothing."""
    for value, _, _ in catalogue.probes[probe].values:
        if value.state and all(_field(state, k) in of for k, of in value.state.items()):
            return value.value
    return None


def fits(intervention: Intervention, state: State, catalogue: Catalogue) -> bool:
    """Whether an entry could be asked of this patient, as far as the state tells."""
    return not misfits(intervention, state, catalogue)


def misfits(intervention: Intervention, state: State, catalogue: Catalogue) -> tuple[str, ...]:
    """Why an entry cannot be asked of this patient."""
    if intervention.v2 is None:
        cancers = intervention.entry.cancers
        return (f"cancer is {state.cancer}",) if cancers and state.cancer not in cancers else ()
    said: Applicability = intervention.v2.said.applicability
    if (said.cancer_type and state.cancer not in said.cancer_type) or (
        state.cancer in said.forbids_cancer_type
    ):
        return (f"cancer is {state.cancer}",)
    found: list[str] = []
    for asked, is_wanted in ((said.requires_probe, True), (said.forbids_probe, False)):
        for probe, value in asked.items():
            if state.cancer in said.exempt.get(probe, ()):
                continue
            told = told_by(state, catalogue, probe)
            if (told == value) is not is_wanted:
                found.append(f"{probe} is {told or 'not told'}")
    for name, value in said.requires_state.items():
        if (is_now := _field(state, name)) != value:
            found.append(f"{name} is {is_now}, not {value}")
    return tuple(found)


def _field(state: State, name: str) -> object:
    facts: Mapping[str, object] = state.facts
    return facts[name] if name in facts else getattr(state, name, None)


def patient(cancer: Cancer, told: Mapping[str, Fact]) -> State:
    """An invented patient by fields and facts; what is not told is as ordinary as it can be."""
    own: dict[str, Any] = {"resectable": "yes", "ECOG": 1}
    own |= {name: value for name, value in told.items() if name in _OWN}
    facts = {name: value for name, value in told.items() if name not in _OWN}
    return State(cancer=cancer, facts=facts, **own)


def grid(catalogue: Catalogue) -> Iterator[State]:
    """The invented patients of `grid.yaml`."""
    said = catalogue.files.grid
    for cancer, several in said.cancers.items():
        for axes in several:
            yield from _patients(cancer, axes, axes.situations or said.situations)


def _patients(
    cancer: Cancer, axes: Axes, situations: Sequence[Mapping[str, Fact]]
) -> Iterator[State]:
    for values in product(*axes.facts.values()):
        facts = dict(zip(axes.facts, values, strict=True))
        for situation in situations:
            by_m = {
                name: of["M1" if situation["M"] == "M1" else "M0"] for name, of in axes.by_M.items()
            }
            yield patient(cancer, {**facts, **situation, **by_m})
