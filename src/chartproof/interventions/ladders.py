"""One fact in steps, and the steps at which the answer has to change; there and back again.

Source: METRICS, Specificity. The steps are derived from the treatment knowledge, never declared.
"""

from dataclasses import dataclass
from functools import cache

from chartproof.catalog.intervention_files import read_ladders
from chartproof.errors import SpecError
from chartproof.interventions.catalogue import Catalogue
from chartproof.interventions.states import otherwise
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import Consensus, State
from chartproof.records.placebo import Ladder, RoundTrip


@dataclass(frozen=True)
class Climbed:
    """A ladder for one patient.

    Attributes:
        states: Of the rungs, in their order.
        changes: Steps (1 is from the first rung to the second) at which the strong or refused
            options differ.
        watched: Those of them at which a watched treatment comes to or leaves a list; without
            watched treatments the same as `changes`.
        shown: Those of `watched` at which the strong options differ, or the drugs and modalities
            of strong and tacit ones: every right answer shows it. A treatment that only leaves
            what is refused may be seen in none.
    """

    ladder: Ladder
    states: tuple[State, ...]
    changes: tuple[int, ...]
    watched: tuple[int, ...]
    shown: tuple[int, ...]


@cache
def ladders() -> dict[str, Ladder]:
    """All ladders, by their ids."""
    return {each.id: each for each in read_ladders().ladders}


def fits(ladder: Ladder, state: State) -> bool:
    """Whether a ladder is for a patient."""
    if state.cancer not in ladder.cancers:
        return False
    told = {**state.model_dump(exclude={"facts"}), **state.facts}
    return all(told.get(name) in values for name, values in ladder.fits.items())


def climbed(ladder: Ladder, state: State) -> Climbed:
    """The rungs of a ladder for one patient, and where the answer has to change.

    Raises:
        SpecError: A rung names no field or fact of the treatment knowledge.
    """
    known = knowledge()
    states = tuple(known.changed(state, rung.effect) for rung in ladder.rungs)
    lists = [known.consensus(each) for each in states]
    steps = range(1, len(lists))
    changes = tuple(n for n in steps if _core(lists[n - 1]) != _core(lists[n]))
    watched = tuple(
        n for n in changes if _watched(ladder, lists[n - 1]) != _watched(ladder, lists[n])
    )
    watched = watched if ladder.watch else changes
    shown = tuple(n for n in watched if _plan(lists[n - 1]) != _plan(lists[n]))
    return Climbed(ladder, states, changes, watched, shown)


def _core(consensus: Consensus) -> tuple[frozenset[str], frozenset[str]]:
    return (
        frozenset(str(each.option) for each in consensus.strong),
        frozenset(str(each.option) for each in consensus.refusal),
    )


def _plan(consensus: Consensus) -> tuple[frozenset[str], frozenset[str]]:
    strong = frozenset(str(each.option) for each in consensus.strong)
    return strong, knowledge().members((*consensus.strong, *consensus.tacit))


def _watched(ladder: Ladder, consensus: Consensus) -> tuple[frozenset[str], ...]:
    """The strong, tacit and refused options that hold a watched treatment."""
    known = knowledge()
    return tuple(
        frozenset(
            str(each.option)
            for each in level
            if any(known.belongs(each.option, name) for name in ladder.watch)
        )
        for level in (consensus.strong, consensus.tacit, consensus.refusal)
    )


# ------------------------------------------------------------------ round trips


def round_trips() -> tuple[RoundTrip, ...]:
    """Entries with those that undo them."""
    return read_ladders().round_trips


def returned(trip: RoundTrip, state: State, catalogue: Catalogue) -> State:
    """The patient after an entry and the one that undoes it.

    Raises:
        SpecError: There is no such entry.
    """
    return otherwise(otherwise(state, catalogue[trip.there].entry), catalogue[trip.back].entry)


def ladder(id_: str) -> Ladder:
    """A ladder by its id.

    Raises:
        SpecError: There is none.
    """
    if id_ not in ladders():
        raise SpecError(f"There is no ladder `{id_}`.", remedy=f"Known: {', '.join(ladders())}.")
    return ladders()[id_]
