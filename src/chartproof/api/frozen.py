"""The frozen suite: cases of each scenario from one synthetic hospital, the same for everybody."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

from chartproof.api.cases import draw_cases
from chartproof.api.stores import Stage, build_store
from chartproof.catalog.read import frozen_suite, scenario, scenario_ids
from chartproof.chart.chart import Chart
from chartproof.errors import SpecError
from chartproof.hospital.source import SyntheticSource
from chartproof.labels import reference
from chartproof.records.case import FACTUAL, CaseSet
from chartproof.records.frozen import Frozen, FrozenCase
from chartproof.records.table import Cell, Table
from chartproof.records.verdict import Verdict

_TOLD = 5


def freeze(
    home: Path, *, id_: str, patients: int, seed: int, per_scenario: int, stage: Stage
) -> Frozen:
    """Build a suite and write down what it is.

    Args:
        home: Store, cases and labels are written here.
        id_: Name of the suite.
        patients: Background patients.
        seed: Of the hospital and of the draw.
        per_scenario: Cases of each scenario.
        stage: Shows progress.
    """
    source = SyntheticSource(patients=patients, seed=seed, per_rule=0, per_scenario=per_scenario)
    fingerprint = source.fingerprint("patients")
    info = build_store(source, home, stage)
    cases, _ = draw_cases(
        home, per_scenario=per_scenario, seed=seed, progress=stage("Cut charts, apply rules")
    )
    told = stage("Compute digests")
    frozen: list[FrozenCase] = []
    for n, case in enumerate(cases.cases):
        told(n, len(cases.cases))
        with Chart.open(home / "cases" / "charts" / case.charts[FACTUAL]) as chart:
            frozen.append(
                FrozenCase(
                    id=case.id,
                    scenario=case.scenario,
                    anchor=case.anchor,
                    chart=chart.digest(),
                    development=case.development,
                )
            )
    told(len(cases.cases), len(cases.cases))
    return Frozen(
        id=id_,
        patients=patients,
        seed=seed,
        per_scenario=per_scenario,
        source=fingerprint,
        scenarios=_scenarios(),
        duckdb=duckdb.__version__,
        store=info.digest,
        references=_references(home, cases),
        cases=tuple(frozen),
    )


def build(home: Path, stage: Stage) -> tuple[Table, list[str]]:
    """Build the frozen suite of the catalogue, and tell whether it came out the same.

    Returns:
        Cases of each scenario, and every difference from the manifest; empty where there is none.

    Raises:
        SpecError: The hospital is not the one that was frozen.
    """
    wanted = frozen_suite()
    ask_hospital(wanted)
    made = freeze(
        home,
        id_=wanted.id,
        patients=wanted.patients,
        seed=wanted.seed,
        per_scenario=wanted.per_scenario,
        stage=stage,
    )
    return _table(home, wanted, made), list(differences(wanted, made))


def ask_hospital(frozen: Frozen) -> None:
    """Refuse a suite that was frozen of another hospital: before an hour is spent on building it.

    Raises:
        SpecError: Scenarios, recipes, or data or code of the hospital are others now.
    """
    source = SyntheticSource(
        patients=frozen.patients, seed=frozen.seed, per_rule=0, per_scenario=frozen.per_scenario
    )
    if (source.fingerprint("patients"), _scenarios()) != (frozen.source, frozen.scenarios):
        raise SpecError(
            f"This is not what the suite {frozen.id} was frozen of: scenarios, or recipes, data or "
            "code of the hospital have changed, or there are scenarios of your own.",
            remedy="Take chartproof as it was released, or freeze a suite anew with `make suite`.",
        )


def differences(wanted: Frozen, made: Frozen) -> Iterator[str]:
    """What of a suite is not as its manifest says, a sentence each."""
    ours, theirs = ({each.id: each for each in of.cases} for of in (made, wanted))
    if made.store != wanted.store:
        yield (
            f"the store has digest {made.store[:16]}, frozen was {wanted.store[:16]} (DuckDB "
            f"{made.duckdb} here, {wanted.duckdb} then)"
        )
    for lacking, what in (
        (theirs.keys() - ours.keys(), "not made here"),
        (ours.keys() - theirs.keys(), "not in the manifest"),
    ):
        if lacking:
            first = ", ".join(sorted(lacking)[:_TOLD])
            yield f"{len(lacking)} cases {what}: {first}{' …' * (len(lacking) > _TOLD)}"
    for id_ in sorted(ours.keys() & theirs.keys()):
        if ours[id_] != theirs[id_]:
            yield f"{id_} has another chart, patient or place in the development subset"
    if made.references != wanted.references:
        yield "the reference verdicts are others"


def _scenarios() -> dict[str, str]:
    return {name: scenario(name).digest[:12] for name in scenario_ids()}


def _references(home: Path, cases: CaseSet) -> str:
    known = reference.read(home / "labels")
    whole = hashlib.sha256()
    for case in cases.cases:
        ruling = known[case.id, FACTUAL].ruling
        whole.update(f"{case.id} {ruling.rule} {ruling.verdict}\n".encode())
    return whole.hexdigest()


def _table(home: Path, wanted: Frozen, made: Frozen) -> Table:
    known = reference.read(home / "labels")
    frozen = set(wanted.cases)
    rows: list[tuple[Cell, ...]] = []
    for name in sorted({each.scenario for each in made.cases}):
        of = [each for each in made.cases if each.scenario == name]
        labels = [known[each.id, FACTUAL] for each in of]
        counts = [
            len(of),
            sum(each in frozen for each in of),
            *(sum(label.verdict == verdict for label in labels) for verdict in Verdict),
            sum(label.verdict is None for label in labels),
            sum(label.ruling.confirmed is not None for label in labels),
            sum(each.development for each in of),
        ]
        rows.append((Cell(text=name), *(Cell(text=str(n), value=n) for n in counts)))
    return Table(
        id="frozen",
        title=f"Suite {made.id}",
        population=f"{len(made.cases)} cases, synthetic, not reviewed by a clinician",
        columns=(
            "scenario", "cases", "as frozen", *Verdict, "pending", "confirmed", "development",
        ),
        rows=tuple(rows),
        notes=(
            "pending: no reference, as a reading of notes below the bar may have decided; "
            "confirmed: such a reading decided, and gave the rule that the chart was made to hit.",
        ),
    )  # fmt: skip
