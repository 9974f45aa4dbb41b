"""Whether the bench can tell systems apart: answers of known worth are scored, habits shown.

A leaderboard that gave the rules' own answer less than all, or let a habit stay unseen, would tell
nothing of a model. Every check is a figure beside the one that arithmetic, a recipe or a habit
calls for.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binom

from chartproof.api import demo, steps
from chartproof.api.cases import build_cases
from chartproof.api.counterfactuals import cut_twins
from chartproof.api.stores import Stage, build_store, source
from chartproof.cases.build import load, planted_in
from chartproof.chart.store import Store
from chartproof.labels import reference
from chartproof.metrics.abstention import over_abstention, over_commitment
from chartproof.metrics.counterfactual import flip_score, hold_score, pairs, specificity
from chartproof.metrics.grounding import p_record, r_retrieval
from chartproof.metrics.policy import r_doc
from chartproof.metrics.process import defects
from chartproof.metrics.verdict import accuracy
from chartproof.records.case import FACTUAL
from chartproof.records.label import Label
from chartproof.records.scored import Scored
from chartproof.records.study import Study
from chartproof.records.system import scripted
from chartproof.records.verdict import Verdict
from chartproof.reports.audit import parse
from chartproof.runs.crew import Crew
from chartproof.runs.systems import SCRIPTED_SYSTEMS

Metric = Callable[[Sequence[Scored]], float | None]

STUDY = "selftest"
BLIND = "evidence-blind"
READABLE = "readable verdicts"
METRICS: dict[str, Metric] = {
    "accuracy": lambda runs: accuracy(runs).value,
    "over-commitment": lambda runs: over_commitment(runs).value,
    "over-abstention": lambda runs: over_abstention(runs).value,
    "P_record": lambda runs: p_record(runs).value,
    "R_retrieval": lambda runs: r_retrieval(runs).value,
    "R_doc": lambda runs: r_doc(runs).value,
    "defective runs": lambda runs: float(defects(runs).defective),
    READABLE: lambda runs: sum(run.given is not None for run in runs) / len(runs),
}
SURE = 0.85
"""What the honest investigator has to reach: it reads notes without the rules' own readers."""
ALL, NONE = "1.0000", "0.0000"
HIGH_IS_BAD = {"over-commitment", "over-abstention", "defective runs"}

MOVES: dict[str, set[str]] = {
    "code-shortcut": {"accuracy", "over-commitment", "R_retrieval", "defective runs"},
    "over-committer": {"accuracy", "over-commitment"},
    "over-abstainer": {"accuracy", "over-abstention"},
    "order-time": {"accuracy", "defective runs"},
    "fabricator": {"P_record"},
    "policy-blind": {"R_doc"},
    "unready": {"accuracy", READABLE},
}
"""System → metrics in which it must be worse than careful on the same cases."""

LEAVES: dict[str, set[str]] = {
    "code-shortcut": {"P_record", READABLE},
    "over-committer": {"P_record", "R_retrieval", "R_doc", READABLE},
    "over-abstainer": {"P_record", "R_retrieval", "R_doc", READABLE, "over-commitment"},
    "order-time": {"P_record", "R_doc", READABLE},
    "fabricator": {*METRICS} - {"P_record"},
    "policy-blind": {*METRICS} - {"R_doc", "defective runs"},
    "unready": {"P_record"},
}
"""System → metrics in which it must not differ from careful at all."""


@dataclass(frozen=True)
class Check:
    """One figure beside the one that it has to be.

    Attributes:
        about: Who was scored.
        metric: By what.
        wanted: What it has to be, in words or as a figure.
        got: What it is; a dash where there was nothing to measure.
    """

    about: str
    metric: str
    wanted: str
    got: str
    holds: bool


def prepare(home: Path, *, seed: int, workers: int, stage: Stage) -> None:
    """Build a small hospital of the demo's scenarios and run every scripted system on its cases."""
    hospital = source(synthetic=6, per_rule=1, seed=seed, scenarios=demo.SCENARIOS)
    build_store(hospital, home, stage)
    build_cases(home, seed=seed, progress=stage("Cut charts, apply rules"))
    cut_twins(home, progress=stage("Edit charts, apply rules"))
    run_habits(home, workers=workers, stage=stage)
    run_pairs(home, workers=workers, stage=stage)


def run_habits(home: Path, *, workers: int, stage: Stage) -> None:
    """Run every scripted system on the cases of a home."""
    study = Study(id=STUDY, cases="cases", systems=scripted(SCRIPTED_SYSTEMS))
    told = stage("Run scripted systems")
    steps.run(home, study, crew=Crew(workers), progress=lambda _cell, done, all_: told(done, all_))


def run_pairs(home: Path, *, workers: int, stage: Stage) -> None:
    """Run a system that looks and one that does not on every counterfactual arm of a home."""
    study = Study(id=STUDY, cases="cases", systems=scripted(("careful", BLIND)), arms=("all",))
    told = stage("Run two of them on counterfactuals")
    steps.run(home, study, crew=Crew(workers), progress=lambda _cell, done, all_: told(done, all_))


def checks(home: Path, stage: Stage, *, twins: bool = True) -> list[Check]:
    """Every check on a home that `prepare` made.

    Args:
        home: With store, cases, labels, and the runs of the study `selftest`.
        stage: Shows progress.
        twins: Whether pairs are checked too; the home has counterfactual arms, and runs on them.
    """
    labels = list(reference.read(home / "labels").values())
    runs: dict[str, list[Scored]] = defaultdict(list)
    for each in steps.grade(home, study=STUDY, progress=stage("Grade")):
        runs[each.scored.system].append(each.scored)
    factual = {
        system: [run for run in scored if run.arm == FACTUAL] for system, scored in runs.items()
    }
    found = [
        *_recipes(home),
        *_answers(label for label in labels if label.arm == FACTUAL),
        *habits(factual),
    ]
    return [*found, *paired(labels, runs)] if twins else found


def _recipes(home: Path) -> Iterator[Check]:
    """The rule that a recipe means is the rule that the chart gives."""
    meant = {
        (p.scenario, p.subject_id): p.rule for p in planted_in(Store.open(home / "store"))
    }  # fmt: skip
    labels = reference.read(home / "labels")
    tally: dict[str, Counter[bool]] = defaultdict(Counter)
    for case in load(home / "cases").cases:
        ruling = labels[case.id, "factual"].ruling
        if ruling.rule is not None:
            right = ruling.rule == meant.get((case.scenario, case.anchor.subject_id))
            tally[case.scenario][right] += 1
    for name, counted in sorted(tally.items()):
        every = counted.total()
        yield _equal(name, "planted rules found", f"{every} of {every}",
                     f"{counted[True]} of {every}")  # fmt: skip


def _answers(labels: Iterable[Label]) -> Iterator[Check]:
    """Answers whose scores follow from how often each verdict is the reference."""
    known = [label for label in labels if label.verdict is not None]
    counts = Counter(label.verdict for label in known)
    n = counts.total()
    deferred = counts[Verdict.LACK_OF_DATA] + counts[Verdict.AMBIGUOUS]
    draw = random.Random(0)
    every = list(Verdict)
    answerers: dict[str, Callable[[Label], Verdict | None]] = {
        "the rules' own answer": lambda label: label.verdict,
        "no answer": lambda _label: None,
        "always Yes": lambda _label: Verdict.YES,
        "always No": lambda _label: Verdict.NO,
        "always lack of data": lambda _label: Verdict.LACK_OF_DATA,
        "at random": lambda _label: draw.choice(every),
    }
    scored = {
        name: [_scored(name, label, give(label)) for label in known]
        for name, give in answerers.items()
    }
    right = {
        "the rules' own answer": n,
        "no answer": 0,
        "always Yes": counts[Verdict.YES],
        "always No": counts[Verdict.NO],
        "always lack of data": counts[Verdict.LACK_OF_DATA],
    }
    for name, hits in right.items():
        yield _equal(name, "accuracy", _share(hits, n), _figure(accuracy(scored[name]).value))
    commits = {"the rules' own answer": 0, "always Yes": deferred, "always lack of data": 0}
    for name, hits in commits.items():
        got = over_commitment(scored[name]).value
        yield _equal(name, "over-commitment", _share(hits, deferred), _figure(got))
    abstains = {"the rules' own answer": 0, "always Yes": 0, "always lack of data": n - deferred}
    for name, hits in abstains.items():
        got = over_abstention(scored[name]).value
        yield _equal(name, "over-abstention", _share(hits, n - deferred), _figure(got))
    low, high = (int(each) for each in binom.interval(0.9999, n, 1 / len(every)))
    hits = sum(run.correct for run in scored["at random"])
    yield Check("at random", "right answers", f"{low} to {high}", str(hits), low <= hits <= high)


def habits(runs: Mapping[str, Sequence[Scored]]) -> Iterator[Check]:
    """A habit shows where it should, and nowhere else.

    Args:
        runs: System → its scored runs, of the same cases.
    """
    board = {
        system: {name: metric(scored) for name, metric in METRICS.items()}
        for system, scored in runs.items()
    }
    careful = board["careful"]
    sure = careful["accuracy"]
    yield Check("careful", "accuracy", f"at least {SURE}", _figure(sure), (sure or 0) >= SURE)
    yield _equal("careful", "P_record", _figure(1), _figure(careful["P_record"]))
    for system, moved in MOVES.items():
        for name in METRICS:
            own, other = board[system][name], careful[name]
            if name in moved:
                worse = "more" if name in HIGH_IS_BAD else "less"
                holds = own is not None and other is not None and _worse(name, own, other)
                yield Check(system, name, f"{worse} than {_figure(other)}", _figure(own), holds)
            elif name in LEAVES[system]:
                yield _equal(system, name, _figure(other), _figure(own))


def paired(labels: Iterable[Label], runs: Mapping[str, Sequence[Scored]]) -> Iterator[Check]:
    """Pairs tell whoever follows the evidence from whoever does not look at it.

    Args:
        labels: Of every arm.
        runs: System → its scored runs, on every arm; careful and the evidence-blind one are asked.
    """
    known = [label for label in labels if label.verdict is not None]
    answers: dict[str, tuple[Callable[[Label], Verdict | None], tuple[str, str, str]]] = {
        "the rules' own answer": (lambda label: label.verdict, (ALL, ALL, ALL)),
        "no answer": (lambda _label: None, (NONE, NONE, NONE)),
        "always Yes": (lambda _label: Verdict.YES, (NONE, "", ALL)),
        "always lack of data": (lambda _label: Verdict.LACK_OF_DATA, (NONE, "", ALL)),
    }
    for name, (give, wanted) in answers.items():
        answered = [_scored(name, label, give(label)) for label in known]
        yield from _pair_figures(name, answered, wanted)
    yield from _pair_figures(BLIND, runs[BLIND], (NONE, "", ALL))
    followed = pairs(runs["careful"]).scored
    for metric, score in (("flip score", flip_score), ("hold score", hold_score)):
        got = score(followed).value
        about = "careful, on charts and policies"
        yield Check(about, metric, f"at least {SURE}", _figure(got), (got or 0) >= SURE)
    # who reads a record rightly reads what was altered in it, too
    right = [pair for pair in followed if pair.factual.correct]
    if any(pair.must_flip for pair in right):
        got = _figure(flip_score(right).value)
        yield _equal("careful, where right on the record", "flip score", ALL, got)


def _pair_figures(
    about: str, runs: Sequence[Scored], wanted: tuple[str, str, str]
) -> Iterator[Check]:
    """Flip score, hold score and specificity beside what each has to be, where that is known."""
    found = pairs(runs).scored
    scores = (flip_score(found), hold_score(found), specificity(found))
    for name, due, score in zip(
        ("flip score", "hold score", "specificity"), wanted, scores, strict=True
    ):
        if due:
            yield _equal(about, name, due, _figure(score.value))


def _worse(metric: str, own: float, careful: float) -> bool:
    return own > careful if metric in HIGH_IS_BAD else own < careful


def _scored(system: str, label: Label, verdict: Verdict | None) -> Scored:
    """An answer, read as any report is."""
    block = "" if verdict is None else f'```json\n{{"verdict": "{verdict}"}}\n```\n'
    report = parse(f"The answer follows.\n\n{block}")
    return Scored(
        run=f"{system} {label.case}",
        system=system,
        case=label.case,
        scenario=label.ruling.scenario,
        arm=label.arm,
        attempt=1,
        reference=label.verdict,
        given=report.verdict,
        unparsed=report.unparsed,
    )


def _equal(about: str, metric: str, wanted: str, got: str) -> Check:
    return Check(about, metric, wanted, got, wanted == got)


def _share(hits: int, of: int) -> str:
    return _figure(hits / of if of else None)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
