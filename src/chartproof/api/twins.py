"""The counterfactuals of a scenario over the cases of a home: does each give what it declares?

A twin is used only where the rules, computed again, give its verdict: on the edited chart for twins
of the chart, with the altered rules for twins of the policy.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from chartproof.cases.build import load
from chartproof.catalog.read import ScenarioFolder, policies
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.errors import SpecError
from chartproof.interventions.audit import Audit, audit
from chartproof.records.case import Anchor, Case
from chartproof.records.edit import EditFile
from chartproof.records.label import Ruling
from chartproof.records.notes import Validity
from chartproof.records.scenario import PolicyTwin, Twin
from chartproof.records.table import Cell, Table
from chartproof.records.verdict import Verdict
from chartproof.rules import editions
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import applicable, bindings

Progress = Callable[[int, int], None]


@dataclass
class _Tally:
    """What one twin did over the cases that it fits."""

    cases: int = 0
    declared: int = 0
    others: Counter[str] = field(default_factory=Counter[str])
    silent: int = 0
    residual: int = 0
    left: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Table and column → rows in which words, codes or items of the old fact are left."""
    incoherent: int = 0

    def count(self, declared: Verdict, ruling: Ruling, account: Audit | None = None) -> None:
        self.cases += 1
        self.declared += ruling.verdict == declared
        if ruling.verdict != declared:
            self.others[ruling.verdict.value if ruling.verdict else "pending"] += 1
        if account is not None:
            self.silent += account.is_noop
            self.residual += bool(account.residuals)
            for each in account.residuals:
                place = f"{each.ref.partition(':')[0]}.{each.column}"
                self.left.setdefault(place, []).append(each.ref)
            self.incoherent += bool(account.offences)


def recomputed(
    home: Path,
    folder: ScenarioFolder,
    *,
    pending: bool = False,
    progress: Progress = lambda _done, _all: None,
) -> Table:
    """Put every case of a scenario through its twins.

    Args:
        home: With store and cases.
        folder: A scenario with `twins.yaml`.
        pending: Compute as if every reading of notes had passed the bar, so that cases whose
            reference is pending on a weak one count too. No twin is used for such a case.
        progress: Called with how many cases are done.

    Returns:
        A row a twin: what it alters, from and to which verdict, cases that it fits, of those where
        the rules give the declared verdict and what they give else; for twins of the chart also
        where nothing was touched, where words of the old fact are left, where rows contradict
        each other.

    Raises:
        SpecError: The home has no case of the scenario, or a twin cannot be applied.
    """
    place = home / "cases"
    cases = load(place)
    store = Store.open(Path(cases.store_path))
    asked = [case for case in cases.cases if case.scenario == folder.id]
    if not asked:
        raise SpecError(
            f"{home} holds no case of {folder.id}.",
            remedy=f"`chartproof scenario simulate {folder.id} --in FOLDER` makes some.",
        )
    known = policies()
    rule = partial(evaluate, validity=Validity()) if pending else evaluate
    tallies = {each.id: _Tally() for each in (*folder.twins, *folder.policy_twins)}
    altered = {each.id: editions.ruled(folder, each) for each in folder.policy_twins}
    for each in folder.policy_twins:
        editions.corpus(known, each)
    for n, case in enumerate(asked):
        progress(n, len(asked))
        with Chart.open(place / "charts" / case.charts["factual"]) as chart:
            before = rule(folder, chart, case.anchor)
            for twin in applicable(folder, before):
                after, account = _charted(store, folder, case, twin, (chart, before), rule=rule)
                tallies[twin.id].count(twin.to_verdict, after, account)
            for policy_twin in editions.applicable(folder, before):
                after = rule(altered[policy_twin.id], chart, case.anchor)
                tallies[policy_twin.id].count(policy_twin.to_verdict, after)
    progress(len(asked), len(asked))
    return Table(
        id="twins",
        title=f"Twins of {folder.id}",
        population=f"{len(asked)} cases",
        columns=("twin", "alters", "from", "to", "has to", "cases", "as declared", "else",
                 "no row", "residual", "incoherent"),
        rows=tuple(_row(each, tallies[each.id]) for each in (*folder.twins, *folder.policy_twins)),
        notes=(
            "A twin is used for a case only where the rules, computed again, give its verdict. no "
            "row: cases whose rows it leaves as they are; residual: words, codes or items of the "
            "old fact are left elsewhere, in so many rows of a column, one of which is named; "
            "incoherent: an invariant broke.",
        ),
    )  # fmt: skip


def _charted(
    store: Store,
    folder: ScenarioFolder,
    case: Case,
    twin: Twin,
    factual: tuple[Chart, Ruling],
    *,
    rule: Callable[[ScenarioFolder, Chart, Anchor], Ruling],
) -> tuple[Ruling, Audit]:
    """What the rules say on the edited chart, and what the edits did to it."""
    chart, before = factual
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "twin.chart"
        subject = case.anchor.subject_id
        touched = cut(store, subject, path, twin.edits, bindings(case.anchor, before))
        with Chart.open(path) as edited:
            after = rule(folder, edited, case.anchor)
            file = EditFile(id=twin.id, concept=twin.concept, edits=twin.edits)
            return after, audit(file, touched, chart, edited, (before, after))


def undeclared(table: Table) -> Iterator[str]:
    """Twins that on some case give another verdict than they declare, with that verdict."""
    at = {name: n for n, name in enumerate(table.columns)}
    for row in table.rows:
        if row[at["else"]].value:
            yield f"{row[at['twin']].text} gives {row[at['else']].text}"


def _row(twin: Twin | PolicyTwin, tally: _Tally) -> tuple[Cell, ...]:
    on_chart = isinstance(twin, Twin)
    others = ", ".join(f"{name} {count}" for name, count in sorted(tally.others.items()))
    dash = Cell(text="–", why="fits no case")
    return (
        Cell(text=twin.id),
        Cell(text="chart" if on_chart else f"policy {twin.document}"),
        Cell(text=twin.from_verdict.value),
        Cell(text=twin.to_verdict.value),
        Cell(text="flip" if twin.must_flip else "hold"),
        Cell(text=str(tally.cases), value=tally.cases),
        Cell(text=str(tally.declared), value=tally.declared) if tally.cases else dash,
        Cell(text=others or "–", value=tally.others.total()),
        *(
            Cell(text=told, value=count) if on_chart and tally.cases else Cell(text="–")
            for told, count in (
                (str(tally.silent), tally.silent),
                (_residual(tally), tally.residual),
                (str(tally.incoherent), tally.incoherent),
            )
        ),
    )


def _residual(tally: _Tally) -> str:
    """In how many cases the old fact is left, and where: rows of each column, and one of them."""
    if not tally.residual:
        return "0"
    ordered = sorted(tally.left.items(), key=lambda each: (-len(each[1]), each[0]))
    told = ", ".join(f"{place} {len(refs)}, as {refs[0]}" for place, refs in ordered)
    return f"{tally.residual} ({told})"
