"""The twins of a home's cases as further arms of them, and which of these a study asks."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
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

SETS = ("all", "must_flip", "must_hold")
"""Names of several arms together, in a study's `arms`."""


def cut_twins(
    home: Path,
    *,
    scenarios: Sequence[str] = (),
    progress: Count = lambda _done, _all: None,
) -> tuple[CaseSet, Table]:
    """Make every twin that fits a case an arm of it, where the rules give what was declared.

    Cases whose reference is pending have none. Arms that were made before are made again.

    Args:
        home: Its cases and labels get the arms.
        scenarios: Only these; empty takes all that the home has cases of.
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
        told: list[Counterfactual] = []
        made: dict[str, Case] = {}
        fresh: list[Label] = []
        unsettled = 0
        for n, case in enumerate(asked):
            progress(n, len(asked))
            charts = {FACTUAL: case.charts[FACTUAL]}
            label = _settled(labels, case, benches[case.scenario], home)
            unsettled += label is None
            if label is not None:
                rule = meant.get((case.scenario, case.anchor.subject_id))
                for each in counterfactuals(
                    benches[case.scenario],
                    case,
                    label.ruling,
                    invented=rule is not None and rule == label.ruling.rule,
                ):
                    told.append(each.told)
                    if each.told.is_arm:
                        charts[each.told.arm] = each.chart
                        fresh.append(
                            Label(
                                case=case.id,
                                arm=each.told.arm,
                                version=each.version,
                                ruling=each.ruling,
                            )
                        )
            made[case.id] = case.model_copy(update={"charts": charts})
        progress(len(asked), len(asked))
        others = [each for each in kept.read(home / "labels") if each.case not in made]
        stay = [
            label
            for (case, arm), label in labels.items()
            if arm == FACTUAL or case not in made
        ]  # fmt: skip
        whole = manifest.model_copy(
            update={"cases": tuple(made.get(each.id, each) for each in manifest.cases)}
        )
        # references first: the manifest names no arm that has none
        reference.write(sorted([*stay, *fresh], key=lambda x: (x.case, x.arm)), home / "labels")
        kept.write(sorted([*others, *told], key=lambda x: (x.case, x.arm)), home / "labels")
        save(whole, home / "cases")
    return whole, table(told, cases=len(asked), unsettled=unsettled)


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


def table(told: Sequence[Counterfactual], *, cases: int, unsettled: int) -> Table:
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
    return Table(
        id="arms",
        title="Counterfactual arms",
        population=f"{cases} cases",
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
