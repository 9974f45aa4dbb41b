"""Cut the counterfactual arms of a case, and ask the rules of each.

A twin is an arm only where the rules, computed again, give the verdict that was declared for it: on
the edited chart, or on the same chart by the altered rules. Nothing here is read by an agent: it is
served a chart under an opaque name, and a corpus.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.interventions import kinds
from chartproof.interventions.audit import Audit, audit
from chartproof.records.case import FACTUAL, POLICY, TWIN, Case
from chartproof.records.counterfactual import Counterfactual, Refusal
from chartproof.records.edit import EditFile
from chartproof.records.label import Ruling
from chartproof.records.notes import Validity
from chartproof.records.policy import Policy
from chartproof.records.scenario import PolicyTwin, Twin
from chartproof.records.verdict import Verdict
from chartproof.rules import editions
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import applicable, bindings


@dataclass(frozen=True)
class Made:
    """A counterfactual with the rules' answer.

    Attributes:
        chart: Name of its file.
        version: Of the rules that answered.
    """

    told: Counterfactual
    ruling: Ruling
    chart: str
    version: str


@dataclass(frozen=True)
class Bench:
    """What the counterfactuals of a scenario's cases are made with.

    Attributes:
        charts: Folder of the case set's chart files.
        policies: The corpus that runs will read; a policy twin alters a document of it.
    """

    store: Store
    folder: ScenarioFolder
    charts: Path
    policies: Mapping[str, Policy]


def counterfactuals(
    bench: Bench, case: Case, factual: Ruling, *, invented: bool = False
) -> Iterator[Made]:
    """Make every twin that fits a case.

    Args:
        bench: Store, scenario, place and corpus.
        case: The case.
        factual: The rules' answer on its record as it stands. It has a verdict.
        invented: Whether the record was invented to hit the very rule that it hits. Where the
            declared verdict is what the rules read on the twin too, two ways lead to it, and no
            weak reading leaves it pending.

    Raises:
        SpecError: A twin cannot be applied, or its document or words are not in the corpus.
    """
    for twin in applicable(bench.folder, factual):
        yield _edited(bench, case, factual, twin, invented=invented)
    with Chart.open(bench.charts / case.charts[FACTUAL]) as chart:
        for twin in editions.applicable(bench.folder, factual):
            editions.corpus(bench.policies, twin)
            folder = editions.ruled(bench.folder, twin)
            ruling = ruled(folder, chart, case, twin.to_verdict, invented=invented)
            told = _told(case, factual, twin, ruling)
            yield Made(told, ruling, case.charts[FACTUAL], folder.digest[:12])


def _edited(bench: Bench, case: Case, factual: Ruling, twin: Twin, *, invented: bool) -> Made:
    """Cut a twin's chart. It stands only if the twin becomes an arm."""
    name = _name(bench.store, case, twin)
    path = bench.charts / name
    subject = case.anchor.subject_id
    touched = cut(bench.store, subject, path, twin.edits, bindings(case.anchor, factual))
    keep = False
    try:
        with (
            Chart.open(path) as chart,
            Chart.open(bench.charts / case.charts[FACTUAL]) as before,
        ):
            ruling = ruled(bench.folder, chart, case, twin.to_verdict, invented=invented)
            file = EditFile(id=twin.id, concept=twin.concept, edits=twin.edits)
            account = audit(file, touched, before, chart, (factual, ruling))
        told = _told(case, factual, twin, ruling, account)
        keep = told.is_arm
        return Made(told, ruling, name, bench.folder.digest[:12])
    finally:
        if not keep:
            path.unlink(missing_ok=True)


def ruled(
    folder: ScenarioFolder, chart: Chart, case: Case, declared: Verdict, *, invented: bool
) -> Ruling:
    """The rules' answer, confirmed where the author of an invented record declared the same."""
    ruling = evaluate(folder, chart, case.anchor)
    if ruling.pending is None or not invented:
        return ruling
    read = evaluate(folder, chart, case.anchor, validity=Validity())
    if read.verdict != declared:
        return ruling
    return read.model_copy(update={"confirmed": ruling.pending})


def _told(
    case: Case,
    factual: Ruling,
    twin: Twin | PolicyTwin,
    ruling: Ruling,
    account: Audit | None = None,
) -> Counterfactual:
    assert factual.verdict is not None  # a twin fits by the case's verdict
    altered = (
        (kinds.POLICY,)
        if isinstance(twin, PolicyTwin)
        else kinds.kinds(twin.edits, account.touched if account else ())
    )
    return Counterfactual(
        case=case.id,
        scenario=case.scenario,
        arm=f"{POLICY if isinstance(twin, PolicyTwin) else TWIN}{twin.id}",
        must_flip=twin.must_flip,
        before=factual.verdict,
        declared=twin.to_verdict,
        given=ruling.verdict,
        refused=_refused(twin, ruling, account),
        kinds=altered,
        facts=(account.changed_facts or ()) if account else (),
        residual=len(account.residuals) if account else 0,
    )


def _refused(twin: Twin | PolicyTwin, ruling: Ruling, account: Audit | None) -> Refusal:
    if account is not None and account.is_noop:
        return "no row"
    if account is not None and account.is_semantic_noop and twin.must_flip:
        return "no fact"
    if ruling.verdict is None:
        return "pending"
    if ruling.verdict != twin.to_verdict:
        return "other verdict"
    if account is not None and account.offences:
        return "incoherent"
    return ""


def _name(store: Store, case: Case, twin: Twin) -> str:
    """An opaque name, like that of any chart: it tells neither twin nor patient."""
    key = f"{store.info.digest} {case.id} {case.anchor.model_dump_json()} {twin.model_dump_json()}"
    return f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.chart"
