"""Declared and derived changes, compared over the grid of invented patients.

An entry declares what an answer has to drop, add and re-time; the treatment knowledge says the same
of each patient. Where both disagree, one of them is wrong.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from chartproof.interventions.catalogue import Catalogue, Intervention
from chartproof.interventions.states import fits, grid, otherwise
from chartproof.oncology.knowledge import Knowledge, knowledge
from chartproof.records.board import Consensus, Option, State, Timing
from chartproof.records.intervention import Compared, Disagreement, ExpectedChange
from chartproof.records.sensitivity import Edition

_TIMINGS = frozenset(get_args(Timing))


def compared(catalogue: Catalogue, only: Sequence[str] = ()) -> tuple[Compared, ...]:
    """Compare entries on every patient of the grid whom they fit.

    Args:
        catalogue: Whose entries, and whose grid.
        only: Ids of entries; all where empty.

    Raises:
        SpecError: An expected change names what the treatment knowledge does not know.
    """
    catalogue.check_names(knowledge())
    asked = [catalogue[id_] for id_ in only] or list(catalogue.interventions.values())
    agreed = [(state, knowledge().consensus(state)) for state in grid(catalogue)]
    return tuple(
        _compared(each, agreed, catalogue) for each in asked if each.expected("v2") is not None
    )


def expected_for(
    intervention: Intervention,
    edition: Edition,
    state: State | None,
    told: Mapping[str, str | None],
) -> ExpectedChange:
    """What has to change in the answer of one patient, as an edition declares it.

    Args:
        intervention: The entry.
        edition: Whose declaration.
        state: Of the original; None where it is not known.
        told: Values of the probes in the original: they stand in for the state.

    Returns:
        The declaration without the lists that it makes for other patients.
    """
    declared = intervention.expected(edition) or ExpectedChange()
    facts = {**told, "surgery": told.get("SURG")} if state is None else _facts(state)
    emptied = {
        name: ()
        for name, alternatives in declared.only_where.items()
        if not any(all(facts.get(k) == v for k, v in each.items()) for each in alternatives)
    }
    return declared.model_copy(update={**emptied, "only_where": {}})


def _facts(state: State) -> dict[str, object]:
    return {**state.model_dump(exclude={"facts"}), **state.facts}


def _compared(
    intervention: Intervention,
    agreed: Sequence[tuple[State, Consensus]],
    catalogue: Catalogue,
) -> Compared:
    known = knowledge()
    whole = intervention.expected("v2") or ExpectedChange()
    asked = vacuous = silent = 0
    found: list[Disagreement] = []
    dropped: set[str] = set()
    for state, was in agreed:
        if not fits(intervention, state, catalogue):
            continue
        now = known.consensus(otherwise(state, intervention.entry))
        if not _good(now):
            silent += 1
            continue
        if set(map(str, _good(was))) == set(map(str, _good(now))):
            vacuous += 1
            continue
        asked += 1
        declared = expected_for(intervention, "v2", state, {})
        dropped |= {
            name
            for name in declared.must_drop
            if _of(known, was, name) and not _of(known, now, name)
        }
        found += [
            Disagreement(entry=intervention.id, state=state, what=what)
            for what in _disagreements(known, declared, now)
        ]
    return Compared(
        entry=intervention.id,
        asked=asked,
        vacuous=vacuous,
        silent=silent,
        never_dropped=tuple(name for name in whole.must_drop if name not in dropped),
        disagreements=tuple(found),
    )


def _good(consensus: Consensus) -> tuple[Option, ...]:
    return tuple(each.option for each in (*consensus.strong, *consensus.tacit))


def _of(known: Knowledge, consensus: Consensus, name: str) -> tuple[Option, ...]:
    return tuple(each for each in _good(consensus) if known.belongs(each, name))


def _disagreements(known: Knowledge, declared: ExpectedChange, now: Consensus) -> Iterator[str]:
    spared = declared.exception.class_ if declared.exception else None
    for name in declared.must_drop:
        for option in _of(known, now, name):
            if spared is None or not known.belongs(option, spared):
                yield f"`{name}` is to be dropped, and `{option}` is right afterwards"
    wanted = declared.must_add_any_of
    if wanted and not any(_of(known, now, name) for name in wanted):
        yield f"one of {', '.join(wanted)} is to be added, and none is right afterwards"
    for name in declared.must_add:
        if not _of(known, now, name):
            yield f"`{name}` is to be added, and is not right afterwards"
    if any(_of(known, now, name) for name in declared.timing_kept_with):
        return
    for from_, to in declared.timing_must_shift:
        old = (set(from_.split("|")) & _TIMINGS) - set(to.split("|"))
        for option in _good(now):
            if option.timing in old:
                yield f"`{option.timing}` is to be re-timed, and `{option}` is right afterwards"
