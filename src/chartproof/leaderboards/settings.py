"""Tables that compare: agent and single shot, editions, levels of a ladder, there and back.

Source: Causal Sensitivity Score §4.6, App. C, I, Fig. 6; editions and ladders are ours.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from chartproof.metrics.ladder import (
    SHARES,
    Dose,
    Step,
    dose,
    evidence_response,
    reversibility,
    there_and_back,
)
from chartproof.metrics.matched import Matched, css_where_seen, matched, saw_mutation
from chartproof.metrics.resources import Spending, spending
from chartproof.metrics.sensitivity import css
from chartproof.metrics.specificity import movement
from chartproof.records.sensitivity import Change, Edition, Pair, Setting, Spent
from chartproof.records.table import Cell, Table

Required = Mapping[tuple[str, str], Sequence[int]]
"""(case, ladder) → steps at which the plan must change; 1 is from the first level to the second."""


@dataclass(frozen=True)
class Climbs:
    """What the treatment knowledge says of ladders.

    Attributes:
        required: Steps at which the plan must change.
        shown: Those of them that every right answer shows.
        tolerances: Ladder → steps by which a change may be off, where any.
    """

    required: Required = field(default_factory=dict[tuple[str, str], Sequence[int]])
    shown: Required = field(default_factory=dict[tuple[str, str], Sequence[int]])
    tolerances: Mapping[str, int] = field(default_factory=dict[str, int])


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


def ladder_table(here: Sequence[Entrant], climbs: Climbs) -> Table:
    """Dose response: is the step at which the answer changes the right one?"""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        by_ladder: dict[str, list[Dose]] = defaultdict(list)
        for (case, ladder), steps in sorted(_climbs(e.pairs).items()):
            wanted, shown = (
                [step - 1 for step in of.get((case, ladder), ()) if step <= len(steps)]
                for of in (climbs.required, climbs.shown)
            )
            if wanted:
                off = climbs.tolerances.get(ladder, 0)
                by_ladder[ladder].append(dose(steps, wanted, shown=shown, tolerance=off))
        for ladder, doses in by_ladder.items():
            sharp = [each.sharpness for each in doses if each.sharpness is not None]
            behind = f"mean over {len(doses)} cases"
            rows.append((
                cells.words(e.system),
                cells.words(ladder),
                cells.count(len(doses), "cases that climbed all of it"),
                number(mean(each.error for each in doses), f"{behind}; 0 is the right step"),
                cells.share(mean(each.right for each in doses), _right(behind, doses), None),
                number(mean(each.missed for each in doses),
                       f"{behind}; of the steps that every right answer shows"),
                cells.share(mean(sharp) if sharp else None,
                            f"mean over {len(sharp)} cases that moved", None,
                            absent="Never moved."),
                number(mean(each.false_steps for each in doses), behind),
            ))  # fmt: skip
    return made(
        "board-ladders",
        "Dose response",
        "cases that answered every level of a ladder, and whose plan must change on it",
        (
            *("System", "Ladder", "n", "Step error", "Right step", "Missed steps", "Sharpness"),
            "False steps",
        ),
        rows,
        notes=(
            "Who never changes the plan errs by the number of levels.",
            "Where centres differ, a step off the required one is right too, and said so.",
        ),
    )


def _right(behind: str, doses: Sequence[Dose]) -> str:
    off = max(each.tolerance for each in doses)
    return f"{behind}; {off} step off is right too" if off else behind


def evidence_table(here: Sequence[Entrant]) -> Table:
    """Dose response over the share of places in which a fact was changed."""
    rows: list[tuple[Cell, ...]] = []
    for e in here:
        found = evidence_response(e.pairs)
        none = "No change was answered at every dose."
        rows.append((
            cells.words(e.system),
            cells.count(found.curves, "case × intervention with every dose answered"),
            *(of_pairs(found.moved[share], "No dose of such a share.") for share in SHARES),
            of_pairs(found.whole, none),
            number(found.first, "mean smallest share of places, of curves that moved",
                   "It never moved." if found.curves else none),
            of_pairs(found.against, none),
            of_pairs(found.named, "No audit found the packets incoherent, or answers are prose."),
        ))  # fmt: skip
    return made(
        "board-evidence",
        "Dose response to evidence",
        "edits of the text that change more than one place of a packet, made in some of them",
        (
            *("System", "Curves", "Moved to ¼", "to ½", "below all", "all", "First share"),
            *("Against the order", "Conflict named"),
        ),
        rows,
        notes=(
            "Share of answers that moved in their core, by the share of places that were changed. "
            "Places are drawn in one order for each change; every dose holds the one before.",
            "Conflict named: of packets that contradict themselves. It tells who saw both and "
            "believed the older from who did not see the change.",
        ),
    )


_STAGES: Mapping[str, frozenset[Change | None]] = {
    "original packets": frozenset({None}),
    "active edits": frozenset({"active"}),
    "placebos and replicates": frozenset({"placebo", "hard_placebo", "replicate"}),
    "ladders, doses, round trips": frozenset({"ladder", "evidence", "round_trip"}),
}
NO_MODEL = "Not every system tells it: a scripted one asks no model, and has no turns or tokens."


def compute(spent: Sequence[Spent], pairs: Sequence[Pair], settings: Sequence[Setting]) -> Table:
    """Runs, calls by kind, tokens and cost of each stage (App. F)."""
    rows: list[tuple[Cell, ...]] = []
    for setting in settings:
        for stage, changes in _STAGES.items():
            among = [run for run in spent if run.setting == setting and run.change in changes]
            judged = sum(
                pair.by == "judge"
                for pair in pairs
                if pair.setting == setting and pair.change in changes
            )
            if among:
                name = f"{setting.replace('_', ' ')}: {stage}"
                rows.append(_spent(name, spending(among), judged))
    if len(rows) > 1:
        judges = sum(pair.by == "judge" for pair in pairs)
        rows.append(_spent("all", spending(spent), judges))
    return made(
        "board-compute",
        "Compute and cost",
        "runs that stand, of all systems",
        (
            *("Stage", "Systems", "Runs", "Answers asked", "Tool calls", "Judged", "Turns"),
            *("Work-tokens", "USD", "Seconds"),
        ),
        rows,
        notes=(
            "Answers asked: a single shot asks twice, for a summary and for recommendations. "
            "Judged: pairs whose score is a judge's; the others are scored by rule.",
        ),
    )


def _spent(name: str, found: Spending, judged: int) -> tuple[Cell, ...]:
    told = f"{NO_MODEL} {found.told} of {found.runs} runs tell tokens."
    return (
        cells.words(name),
        cells.count(found.systems),
        cells.count(found.runs),
        cells.count(found.asked, "times that a system was started and asked"),
        cells.count(found.calls, "of tools"),
        cells.count(judged, "pairs scored by a judge"),
        cells.amount(found.turns, "sum over runs", absent=told),
        cells.amount(found.work_tokens, "sum over runs", absent=told),
        cells.amount(found.cost_usd, "sum over runs", digits=4, absent=told),
        cells.amount(found.seconds, "sum over runs, computed", digits=1),
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
