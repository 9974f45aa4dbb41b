"""Tables that compare: agent and single shot, editions, levels of a ladder, there and back.

Source: Causal Sensitivity Score §4.6, App. C, I, Fig. 6; editions and ladders are ours.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean

from chartproof.leaderboards import cells
from chartproof.leaderboards.entrants import (
    EDITIONS,
    Entrant,
    made,
    number,
    of_pairs,
    p_value,
    signed,
)
from chartproof.metrics.agreement import MARKS
from chartproof.metrics.ladder import Dose, Step, dose, reversibility, there_and_back
from chartproof.metrics.matched import Matched, css_where_seen, matched, saw_mutation
from chartproof.metrics.sensitivity import css
from chartproof.metrics.specificity import movement
from chartproof.records.sensitivity import Edition, Pair
from chartproof.records.table import Cell, Table

Required = Mapping[tuple[str, str], Sequence[int]]
"""(case, ladder) → steps at which the plan must change; 1 is from the first level to the second."""
Sections = Mapping[str, Mapping[str, int]]
"""System → section → calls."""
NO_MATCH = "No pair was scored in both."


def tool_effect(
    single: Sequence[Entrant], agent: Sequence[Entrant], edition: Edition, draws: int
) -> Table:
    """Agent against single shot on the pairs that both scored (App. C, I)."""
    by = {e.system: e for e in single}
    rows: list[tuple[Cell, ...]] = []
    for e in agent:
        found = matched(by[e.system].of(edition) if e.system in by else [], e.of(edition))
        rows.append((cells.words(e.system), *_compared(found, draws)))
    return made(
        "board-tool-effect",
        "Agent against single shot",
        f"pairs of edition {edition} that were scored in both settings",
        (*("System", "n", "Single shot", "Agent", "Gain", "Help", "Hurt", "Same", "Sign p"),),
        rows,
        notes=("Both means are over the same pairs.",),
    )


def transitions(single: Sequence[Entrant], agent: Sequence[Entrant], edition: Edition) -> Table:
    """From which score in the single shot to which of the agent (App. C, Fig. 4, as counts)."""
    by = {e.system: e for e in single}
    rows: list[tuple[Cell, ...]] = []
    for e in agent:
        found = matched(by[e.system].of(edition) if e.system in by else [], e.of(edition))
        for start in MARKS:
            counts = (found.transitions.get((start, end), 0) for end in MARKS)
            rows.append((
                cells.words(f"{e.system}, from {start:g}"),
                *(cells.count(n, "matched pairs") for n in counts),
            ))  # fmt: skip
    return made(
        "board-transitions",
        "Scores of the single shot and of the agent",
        f"pairs of edition {edition} that were scored in both settings",
        ("From", *(f"to {end:g}" for end in MARKS)),
        rows,
    )


def editions(here: Sequence[Entrant], draws: int) -> Table:
    """CSS of each text that carries the change, and what an incoherent text costs: twin − v1."""
    shown: tuple[Edition, ...] = tuple(reversed(EDITIONS))
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        v1, v2, twin = e.of("v1"), e.of("v2"), e.of("twin")
        row = [cells.words(e.system)]
        row += [of_pairs(css(e.of(each)), "Not run, or not scored.") for each in shown]
        for first, second in ((v1, v2), (v1, twin), (v2, twin)):
            found = matched(first, second)
            behind, interval = f"on {found.n} pairs that both scored", found.interval(draws=draws)
            row.append(signed(found.gain, behind, interval, absent=NO_MATCH))
        rows.append(tuple(row))
    return made(
        "board-editions",
        "CSS by the text that carries the change",
        "scored pairs of each edition; differences on matched pairs",
        ("System", *(f"CSS {each}" for each in shown), "v2 − v1", "twin − v1", "twin − v2"),
        rows,
        notes=(
            "twin − v1: what is lost where a packet still contradicts its own change; the rest of "
            "a low v1 is lack of response. twin − v2: the same of our edits of the text.",
        ),
    )


def reach(here: Sequence[Entrant], edition: Edition) -> Table:
    """Whether the change reached the system, and what it made of it then."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        pairs = e.of(edition)
        capped = [pair.hit_cap for pair in pairs if pair.hit_cap is not None]
        steps = [pair.steps for pair in pairs if pair.steps is not None]
        made_calls = [pair.calls for pair in pairs if pair.calls is not None]
        rows.append((
            cells.words(e.system),
            of_pairs(saw_mutation(pairs), "It was not told."),
            of_pairs(css_where_seen(pairs), "It was not told, or never seen."),
            cells.amount(mean(steps) if steps else None, "mean of turns with a call", digits=1,
                         absent="No agent."),
            cells.amount(mean(made_calls) if made_calls else None, "mean", digits=1,
                         absent="No agent."),
            cells.share(mean(capped) if capped else None, f"{sum(capped)} of {len(capped)} runs",
                        None, absent="No agent."),
        ))  # fmt: skip
    return made(
        "board-reach",
        "Did the change reach the system?",
        f"pairs of edition {edition}",
        ("System", "Saw it", "CSS where seen", "Steps", "Calls", "Hit the cap"),
        rows,
        notes=("Of a single shot: whether the summary still tells the change.",),
    )


def calls(sections: Sections) -> Table:
    """Which sections agents read (Fig. 6)."""
    names = list(dict.fromkeys(name for counts in sections.values() for name in counts))
    return made(
        "board-sections",
        "Calls by section",
        "calls of agents",
        ("Section", *sections),
        [
            (
                cells.words(name),
                *(cells.count(of.get(name, 0), "calls") for of in sections.values()),
            )
            for name in names
        ],
    )


def ladder_table(here: Sequence[Entrant], required: Required) -> Table:
    """Dose response: is the step at which the answer changes the right one?"""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        by_ladder: dict[str, list[Dose]] = defaultdict(list)
        for (case, ladder), steps in sorted(_climbs(e.pairs).items()):
            wanted = [step - 1 for step in required.get((case, ladder), ()) if step <= len(steps)]
            if wanted:
                by_ladder[ladder].append(dose(steps, wanted))
        for ladder, doses in by_ladder.items():
            sharp = [each.sharpness for each in doses if each.sharpness is not None]
            behind = f"mean over {len(doses)} cases"
            rows.append((
                cells.words(e.system),
                cells.words(ladder),
                cells.count(len(doses), "cases that climbed all of it"),
                number(mean(each.error for each in doses), f"{behind}; 0 is the right step"),
                cells.share(mean(each.error == 0 for each in doses), behind, None),
                cells.share(mean(sharp) if sharp else None,
                            f"mean over {len(sharp)} cases that moved", None,
                            absent="Never moved."),
                number(mean(each.false_steps for each in doses), behind),
            ))  # fmt: skip
    return made(
        "board-ladders",
        "Dose response",
        "cases that answered every level of a ladder, and whose plan must change on it",
        ("System", "Ladder", "n", "Step error", "Right step", "Sharpness", "False steps"),
        rows,
        notes=("Who never changes the plan errs by the number of levels.",),
    )


def round_trip_table(
    here: Sequence[Entrant], edition: Edition, inverses: Mapping[str, str]
) -> Table:
    """There and back: the same patient told in other words, and both directions of a change."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        back = there_and_back(e.of(edition), inverses)
        asymmetry = None if back.gain is None else -back.gain
        rows.append((
            cells.words(e.system),
            of_pairs(reversibility(e.pairs), "No round trip was answered."),
            of_pairs(movement(e.pairs, "replicate"), "No replicate was answered."),
            signed(asymmetry, f"on {back.n} cases with both directions", absent=NO_MATCH),
        ))  # fmt: skip
    return made(
        "board-round-trips",
        "Round trips",
        "changes that were made and undone",
        ("System", "REV", "F replicate", "There less back"),
        rows,
        notes=("Compare 1 − REV with F replicate: what a system moves anyway.",),
    )


def _climbs(pairs: Sequence[Pair]) -> dict[tuple[str, str], list[Step]]:
    """(case, ladder) → its steps, where all of them were answered. `HER2:3` is from 2 to 3."""
    found: dict[tuple[str, str], dict[int, Step]] = defaultdict(dict)
    for pair in pairs:
        ladder, colon, level = pair.intervention.rpartition(":")
        if pair.change != "ladder" or not colon or not level.isdigit():
            continue
        if pair.moved is not None and pair.distance is not None:
            found[pair.case, ladder][int(level)] = Step(pair.moved, pair.distance)
    longest: dict[str, int] = defaultdict(int)
    for (_, ladder), steps in found.items():
        longest[ladder] = max(longest[ladder], *steps)
    return {
        key: [steps[n] for n in sorted(steps)]
        for key, steps in found.items()
        if sorted(steps) == list(range(2, longest[key[1]] + 1))
    }


def _compared(found: Matched, draws: int) -> tuple[Cell, ...]:
    return (
        cells.count(found.n, "matched pairs"),
        of_pairs(found.first, NO_MATCH),
        of_pairs(found.second, NO_MATCH),
        signed(
            found.gain,
            "agent less single shot",
            found.interval(draws=draws),
            absent=NO_MATCH,
        ),
        cells.count(found.help),
        cells.count(found.hurt),
        cells.count(found.same),
        p_value(found.p, "exact two-sided sign test", NO_MATCH),
    )
