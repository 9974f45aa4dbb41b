"""Declared and derived changes, compared over the grid of invented patients.

An entry declares what an answer has to drop, add and re-time; the treatment knowledge says the same
of each patient. Where both disagree, one of them is wrong. Both directions are compared: what is
declared is right, and what is derived is declared, or told to be unasked with a reason.

Synthetic; not reviewed by an oncologist; not for care.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from chartproof.interventions.catalogue import Catalogue, Intervention
from chartproof.interventions.states import fits, grid, otherwise
from chartproof.oncology.knowledge import Derived, Knowledge, knowledge
from chartproof.oncology.recognise import timing_of
from chartproof.records.board import Consensus, Option, State, Timing
from chartproof.records.intervention import ExpectedChange
from chartproof.records.packet_account import Compared, Disagreement
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
    left: dict[str, set[str]] = {"must_drop": set(), "must_add": set()}
    for state, was in agreed:
        if not fits(intervention, state, catalogue):
            continue
        changed = otherwise(state, intervention.entry)
        now = known.consensus(changed)
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
            for what in (
                *_disagreements(known, declared, now),
                *_undeclared(known, declared, known.derive(state, changed), left),
            )
        ]
    never = tuple(name for name in whole.must_drop if name not in dropped)
    return Compared(
        entry=intervention.id,
        asked=asked,
        vacuous=vacuous,
        silent=silent,
        never_dropped=never,
        faults=tuple(_faults(whole, never, left)),
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


def _undeclared(
    known: Knowledge, declared: ExpectedChange, derived: Derived, left: Mapping[str, set[str]]
) -> Iterator[str]:
    """What is derived and not declared; names of `unasked` that hold something go to `left`."""
    added = (*declared.must_add, *declared.must_add_any_of)
    words = (
        *declared.must_drop_timing,
        *(word for from_, _ in declared.timing_must_shift for word in from_.split("|")),
    )
    beside = {key: of.names for key, of in declared.unasked.items()}
    nothing = not (declared.must_drop or added or words)
    if nothing and not beside and declared.derive_from == "knowledge":
        return  # the whole of the derived change is asked for
    spared = (declared.exception.class_,) if declared.exception else ()
    times = {timing_of(word) for word in words}
    for option in derived.must_drop:
        over = {name for name in beside.get("must_drop", ()) if known.belongs(option, name)}
        if option.timing in times or any(
            known.belongs(option, name) for name in (*declared.must_drop, *spared)
        ):
            continue
        left["must_drop"].update(over)
        if not over:
            yield f"`{option}` is no longer right, and no declared drop covers it"
    if any(known.belongs(option, name) for option in derived.must_add for name in added):
        return
    for option in derived.must_add:
        over = {name for name in beside.get("must_add", ()) if known.belongs(option, name)}
        left["must_add"].update(over)
        if not over:
            yield f"`{option}` becomes right, and no declared addition covers it"


def _faults(
    declared: ExpectedChange, never: Sequence[str], left: Mapping[str, set[str]]
) -> Iterator[str]:
    """What is wrong with a declaration as a whole."""
    added = {name.removeprefix("@") for name in (*declared.must_add, *declared.must_add_any_of)}
    for name in declared.must_drop:
        if name.removeprefix("@") in added:
            yield f"`{name}` is to be dropped and to be added"
    for name in never:
        if name not in declared.never_on_grid:
            yield f"`{name}` is to be dropped, and no patient of the grid loses it"
    for name in declared.never_on_grid:
        if name not in never:
            yield f"`{name}` is marked never_on_grid, and is not to be dropped or is lost"
    for key, of in declared.unasked.items():
        for name in of.names:
            if name not in left[key]:
                yield f"`{name}` is unasked under {key}, and is never derived beside the declared"
