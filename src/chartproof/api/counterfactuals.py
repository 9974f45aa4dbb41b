"""The twins of a home's cases as further arms of them, and which of these a study asks."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path

from chartproof.api.corpora import corpus_of
from chartproof.cases.build import building, load, planted_in, save
from chartproof.cases.counterfactuals import Bench, counterfactuals
from chartproof.catalog.read import scenario
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.labels import counterfactuals as kept
from chartproof.labels import reference
from chartproof.records.case import FACTUAL, Case, CaseSet
from chartproof.records.counterfactual import Counterfactual
from chartproof.records.label import Label
from chartproof.records.table import Cell, Table
from chartproof.records.verdict import Verdict

Count = Callable[[int, int], None]

_KEPT = 25
"""So many cases are twinned, at most, before what came of them is written."""
SETS = ("all", "must_flip", "must_hold")
"""Names of several arms together, in a study's `arms`."""


@dataclass(frozen=True)
class _Twinned:
    """A case with its arms, and what became of each of its twins.

    Attributes:
        settled: Whether its reference is; a case of which it is not has no arm but the factual.
        labels: References of its arms.
    """

    case: Case
    settled: bool
    told: tuple[Counterfactual, ...]
    labels: tuple[Label, ...]


def cut_twins(
    home: Path,
    *,
    scenarios: Sequence[str] = (),
    enough: Callable[[], bool] | None = None,
    progress: Count = lambda _done, _all: None,
) -> tuple[CaseSet, Table]:
    """Make every twin that fits a case an arm of it, where the rules give what was declared.

    Cases whose reference is pending have none. What is made is kept every few cases.

    Args:
        home: Its cases and labels get the arms.
        scenarios: Only these; empty takes all that the home has cases of.
        enough: Asked before each case; once it says so, the rest waits. Then scenarios are taken
            in turn, and cases of which a twin was made before stay as they are; without it, all
            are made again.
        progress: Told of cases done.

    Returns:
        The cases with their arms, and a table: what became of each twin.

    Raises:
        SpecError: No case is of these scenarios, references are of other rules than today's, or a
            twin cannot be applied.
    """
    for name in scenarios:
        scenario(name)
    with building(home):
        manifest = load(home / "cases")
        labels = reference.read(home / "labels")
        asked = [case for case in manifest.cases if not scenarios or case.scenario in scenarios]
        if not asked:
            raise SpecError(
                f"{home} holds no case of {', '.join(scenarios)}.",
                remedy="`chartproof cases show` lists the cases.",
            )
        store = Store.open(Path(manifest.store_path))
        meant = {(each.scenario, each.subject_id): each.rule for each in planted_in(store)}
        benches = {
            name: Bench(store, scenario(name), home / "cases" / "charts", corpus_of(home))
            for name in sorted({case.scenario for case in asked})
        }
        stand = {each.case for each in kept.read(home / "labels")} if enough else set[str]()
        todo = [case for case in asked if case.id not in stand]
        todo = in_turn(todo) if enough else todo
        made: list[_Twinned] = []
        unsettled = done = 0
        for case in todo:
            if enough is not None and enough():
                break
            progress(done, len(todo))
            label = _settled(labels, case, benches[case.scenario], home)
            rule = meant.get((case.scenario, case.anchor.subject_id))
            made.append(_twinned(benches[case.scenario], case, label, rule))
            unsettled += label is None
            done += 1
            if len(made) == _KEPT:
                manifest = _kept(home, manifest, made)
                made = []
        whole = _kept(home, manifest, made)
        progress(done, len(todo))
        of = {case.id for case in asked}
        told = [each for each in kept.read(home / "labels") if each.case in of]
    return whole, table(told, cases=len(asked), unsettled=unsettled, waiting=len(todo) - done)


def in_turn(cases: Sequence[Case]) -> list[Case]:
    """The first case of each scenario, then the second of each, and so on."""
    by_scenario: dict[str, list[Case]] = {}
    for case in cases:
        by_scenario.setdefault(case.scenario, []).append(case)
    return [
        case for turn in zip_longest(*by_scenario.values()) for case in turn if case is not None
    ]


def _twinned(bench: Bench, case: Case, label: Label | None, rule: str | None) -> _Twinned:
    """Make the arms of a case.

    Args:
        bench: What they are made with.
        case: The case.
        label: Its reference; None where it is not settled.
        rule: The one that its record was invented to hit; None for any other record.
    """
    charts = {FACTUAL: case.charts[FACTUAL]}
    told: list[Counterfactual] = []
    fresh: list[Label] = []
    if label is not None:
        invented = rule is not None and rule == label.ruling.rule
        for each in counterfactuals(bench, case, label.ruling, invented=invented):
            told.append(each.told)
            if each.told.is_arm:
                arm = each.told.arm
                charts[arm] = each.chart
                fresh.append(Label(case=case.id, arm=arm, version=each.version, ruling=each.ruling))
    arms = case.model_copy(update={"charts": charts})
    return _Twinned(arms, label is not None, tuple(told), tuple(fresh))


def _kept(home: Path, manifest: CaseSet, made: Sequence[_Twinned]) -> CaseSet:
    """Write the arms of cases in the place of those that they had."""
    cases = {each.case.id: each.case for each in made}
    labels = [
        label
        for (case, arm), label in reference.read(home / "labels").items()
        if arm == FACTUAL or case not in cases
    ]
    labels += [label for each in made for label in each.labels]
    told = [each for each in kept.read(home / "labels") if each.case not in cases]
    told += [one for each in made for one in each.told]
    whole = manifest.model_copy(
        update={"cases": tuple(cases.get(each.id, each) for each in manifest.cases)}
    )
    # references first: the manifest names no arm that has none
    reference.write(sorted(labels, key=lambda x: (x.case, x.arm)), home / "labels")
    kept.write(sorted(told, key=lambda x: (x.case, x.arm)), home / "labels")
    save(whole, home / "cases")
    return whole


def carried(
    home: Path, before: CaseSet | None, manifest: CaseSet, labels: Sequence[Label]
) -> tuple[CaseSet, list[Label]]:
    """Cases that were built again with the arms that they had, where the record and reference stay.

    Args:
        home: Its labels are those of the cases before.
        before: The cases that stood; None where none did.
        manifest: The cases as they were built now, each with the factual arm.
        labels: References of these.

    Returns:
        The cases, and references of all their arms.
    """
    had = {case.id: case for case in before.cases} if before else {}
    told = kept.read(home / "labels") if had else []
    known = reference.read(home / "labels") if told else {}
    now = {label.case: label for label in labels if label.arm == FACTUAL}
    stay = {
        case.id
        for case in manifest.cases
        if case.id in had
        and had[case.id].charts[FACTUAL] == case.charts[FACTUAL]
        and now[case.id] == known.get((case.id, FACTUAL))
        and all((case.id, arm) in known for arm in had[case.id].charts)
        and all((home / "cases" / "charts" / x).is_file() for x in had[case.id].charts.values())
    }
    cases = tuple(
        case.model_copy(update={"charts": had[case.id].charts}) if case.id in stay else case
        for case in manifest.cases
    )
    whole = [*labels]
    whole += [
        known[case, arm] for case in sorted(stay) for arm in had[case].charts if arm != FACTUAL
    ]
    still = [each for each in told if each.case in stay]
    if still:
        kept.write(still, home / "labels")
    else:
        kept.forget(home / "labels")
    return (
        manifest.model_copy(update={"cases": cases}),
        sorted(whole, key=lambda each: (each.case, each.arm)),
    )


def standing(home: Path) -> CaseSet | None:
    """The cases that a home holds; None where it holds none, or none that can be read."""
    try:
        return load(home / "cases")
    except SpecError:
        return None  # they are about to be built again, which is the remedy


def arms_of(home: Path) -> int:
    """How many counterfactual arms the cases of a home have; 0 where it holds no cases."""
    cases = standing(home)
    return sum(len(case.charts) - 1 for case in cases.cases) if cases else 0


def _settled(
    labels: Mapping[tuple[str, str], Label], case: Case, bench: Bench, home: Path
) -> Label | None:
    """The reference of a case as it stands; None where it is pending or is not the rules'."""
    label = labels.get((case.id, FACTUAL))
    if label is None:
        raise SpecError(
            f"{home / 'labels' / reference.FILE} has no reference of case {case.id}.",
            remedy="Run `chartproof cases build` again.",
        )
    if label.given is None and label.version != bench.folder.digest[:12]:
        raise SpecError(
            f"The reference of case {case.id} is of another version of {case.scenario}.",
            remedy="Run `chartproof cases build` again.",
        )
    agreed = label.given is None or label.given == label.ruling.verdict
    return label if label.ruling.verdict is not None and agreed else None


def table(told: Sequence[Counterfactual], *, cases: int, unsettled: int, waiting: int = 0) -> Table:
    """What became of each twin over the cases that it fits."""
    by_twin: dict[tuple[str, str], list[Counterfactual]] = {}
    for each in told:
        by_twin.setdefault((each.scenario, each.arm), []).append(each)
    rows: list[tuple[Cell, ...]] = []
    for (name, arm), found in sorted(by_twin.items()):
        why = Counter(_why(each) for each in found if not each.is_arm)
        arms = [each for each in found if each.is_arm]
        rows.append(
            (
                Cell(text=name),
                Cell(text=arm),
                Cell(text="flip" if found[0].must_flip else "hold"),
                Cell(text=str(len(found)), value=len(found)),
                Cell(text=str(len(arms)), value=len(arms)),
                Cell(
                    text=", ".join(f"{reason} {n}" for reason, n in sorted(why.items())) or "–",
                    value=why.total(),
                ),
                Cell(text=", ".join(sorted({kind for each in arms for kind in each.kinds})) or "–"),
            )
        )
    notes = [
        "arms: cases where the rules, computed again, give the verdict that was declared; "
        "else: why the others have no such arm."
    ]
    if unsettled:
        notes.append(f"{unsettled} cases have no settled reference, and no arm but the factual.")
    if waiting:
        notes.append(f"{waiting} cases wait for their twins: the same command goes on with them.")
    return Table(
        id="arms",
        title="Counterfactual arms",
        population=f"{cases} cases" + f", {waiting} of which wait" * bool(waiting),
        columns=("scenario", "arm", "has to", "cases", "arms", "else", "alters"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _why(each: Counterfactual) -> str:
    other = each.refused == "other verdict" and each.given is not None
    return f"{each.refused} ({Verdict(each.given).value})" if other and each.given else each.refused


def chosen(home: Path, cases: Sequence[Case], arms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Which arms of each case a study asks.

    Args:
        home: Its labels say which arms have to flip.
        cases: Those of the study.
        arms: Names of arms, patterns such as `twin:*`, or names of `SETS`.

    Returns:
        Case → its arms that fit, the factual first.

    Raises:
        SpecError: A name or pattern fits no arm of any case; or edited charts are asked about and
            the record as it stands is not, so that no pair could be scored.
    """
    flips = {
        (each.case, each.arm): each.must_flip
        for each in (kept.read(home / "labels") if {*arms} & {*SETS} else ())
    }
    found: dict[str, dict[str, None]] = {case.id: {} for case in cases}
    for wanted in arms:
        hit = False
        for case in cases:
            for arm in sorted(case.charts, key=lambda arm: (arm != FACTUAL, arm)):
                if _fits(wanted, arm, flips.get((case.id, arm))):
                    found[case.id][arm] = None
                    hit = True
        if cases and not hit:
            raise SpecError(
                f"No case of the study has an arm that fits `{wanted}`.",
                remedy="`chartproof cases twins` makes arms, `chartproof cases show` lists them; "
                f"{', '.join(SETS)} name several.",
            )
    if any(of and FACTUAL not in of for of in found.values()):
        raise SpecError(
            "The study asks about edited charts and not about the record as it stands: no pair "
            "could be scored.",
            remedy="Add `factual` to its arms; what has been run is not run again.",
        )
    return {
        case: tuple(sorted(of, key=lambda arm: (arm != FACTUAL, arm)))
        for case, of in found.items()
    }  # fmt: skip


def _fits(wanted: str, arm: str, must_flip: bool | None) -> bool:
    if wanted == "all":
        return True
    if wanted in SETS:
        return must_flip is not None and must_flip == (wanted == "must_flip")
    return fnmatchcase(arm, wanted)
