"""Choose cases from a store and cut their charts.

A store of the synthetic hospital says whom it planted; of any other store the scenario's own
eligibility query gives the candidates. Neither is the reference verdict: that is computed from the
cut chart by the rules.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb

from chartproof.cases.listed import Listed
from chartproof.catalog.read import ScenarioFolder
from chartproof.chart.alone import alone
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import INFO, Store
from chartproof.errors import ChartError, RunError, SpecError
from chartproof.records.case import Anchor, Case, CaseSet
from chartproof.records.recipe import Planted

PLANTED = "planted.jsonl"
"""File of a synthetic store that says whom the hospital planted."""

Progress = Callable[[int, int], None]
"""Called with how many are done, and how many there are."""


def candidates(store: Store, folder: ScenarioFolder, *, per_rule: int, seed: int) -> list[Anchor]:
    """Anchors to ask the scenario about: up to `per_rule` for each planted rule, or in all.

    Raises:
        SpecError: Nobody in the store is eligible.
    """
    scenario = folder.scenario
    planted = [each for each in planted_in(store) if each.scenario == scenario.id]
    if planted:
        groups: dict[str, list[Anchor]] = defaultdict(list)
        for each in planted:
            anchor = Anchor(subject_id=each.subject_id, hadm_id=each.hadm_id, stay_id=each.stay_id)
            groups[each.rule].append(anchor)
    else:
        groups = {"eligible": eligible(store, folder)}
    if not any(groups.values()):
        raise SpecError(
            f"No patient of this store is eligible for {scenario.id}.",
            remedy=f"Its eligibility: {scenario.sampling.note}",
        )
    draw = random.Random(f"{seed} {scenario.id}")
    chosen: list[Anchor] = []
    for _, group in sorted(groups.items()):
        ordered = sorted(group, key=lambda a: (a.subject_id, a.hadm_id or 0, a.stay_id or 0))
        chosen += draw.sample(ordered, min(per_rule, len(ordered)))
    return chosen


def eligible(store: Store, folder: ScenarioFolder) -> list[Anchor]:
    """Everybody in a store whom the scenario's own query finds; never a reference verdict.

    Raises:
        SpecError: The query cannot be run.
    """
    with store.connect() as db:
        try:
            found = db.execute(folder.scenario.sampling.eligible).fetchall()
        except duckdb.Error as error:
            raise SpecError(
                f"{folder.id}/scenario.yaml: `sampling.eligible` cannot be run "
                f"({str(error).splitlines()[0]}).",
                remedy="It gives subject_id, hadm_id and stay_id over the tables of a store.",
            ) from error
    return [record(folder, each) for each in found]


def record(folder: ScenarioFolder, row: Sequence[object]) -> Anchor:
    """What one row of a query for candidates names.

    Raises:
        SpecError: It has other than three cells, or one that is no identifier.
    """
    try:
        subject, hadm, stay = row
        return Anchor.model_validate({"subject_id": subject, "hadm_id": hadm, "stay_id": stay})
    except ValueError as error:
        raise SpecError(
            f"{folder.id}/scenario.yaml: `sampling.eligible` gives what is no record.",
            remedy="It gives subject_id, hadm_id and stay_id, whole numbers or NULL.",
        ) from error


def planted_in(store: Store) -> list[Planted]:
    """Whom the synthetic hospital planted; empty for any other store."""
    path = store.path / PLANTED
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [Planted.model_validate_json(line) for line in lines]
    except ValueError as error:
        raise SpecError(
            f"{path} cannot be read: {str(error).splitlines()[0]}.",
            remedy="Build the store again with `chartproof store build --replace`.",
        ) from error


def build(
    store: Store,
    asked: Sequence[tuple[ScenarioFolder, Anchor]],
    out: Path,
    *,
    name: str,
    progress: Progress = lambda _done, _all: None,
) -> CaseSet:
    """Cut the charts of the cases and write `cases.json` last.

    A chart that is already there is kept: its name is the digest of what went into it.
    """
    cases = [_case(store, folder.scenario.id, anchor) for folder, anchor in asked]
    return write(store, cases, out, name=name, progress=progress)


def build_listed(
    store: Store,
    listed: Sequence[Listed],
    out: Path,
    *,
    name: str,
    progress: Progress = lambda _done, _all: None,
) -> CaseSet:
    """Cut the charts of cases that others chose, under the names that others gave them."""
    cases = [
        _case(store, each.scenario, each.anchor).model_copy(update={"id": each.case})
        for each in listed
    ]
    return write(store, cases, out, name=name, progress=progress)


def require(store: Store, listed: Sequence[Listed]) -> None:
    """Look for everybody whom others chose, before anything is cut.

    Raises:
        SpecError: A patient or encounter is not in the store.
    """
    with store.connect() as db:
        for each in listed:
            _present(store, db, each)


def _present(store: Store, db: duckdb.DuckDBPyConnection, listed: Listed) -> None:
    anchor = listed.anchor
    wanted = [("patients", "subject_id", anchor.subject_id)]
    if anchor.hadm_id is not None:
        wanted.append(("admissions", "hadm_id", anchor.hadm_id))
    if anchor.stay_id is not None:
        wanted.append(("icustays edstays", "stay_id", anchor.stay_id))
    for places, column, value in wanted:
        found = [
            db.execute(
                f"select 1 from {store.relation(table, anchor.subject_id)} "
                f"where subject_id = $s and {column} = $v limit 1",
                {"s": anchor.subject_id, "v": value},
            ).fetchone()
            for table in places.split()
        ]
        if not any(found):
            raise SpecError(
                f"Case {listed.case}: the store has no {column} {value} of patient "
                f"{anchor.subject_id}.",
                remedy="Build the store of the release that these cases were chosen from.",
            )


def write(
    store: Store, cases: Sequence[Case], out: Path, *, name: str, progress: Progress
) -> CaseSet:
    """Cut what is not cut yet, then write the manifest."""
    cases = sorted(cases, key=lambda case: case.id)
    for n, case in enumerate(cases):
        progress(n, len(cases))
        path = out / "charts" / case.charts["factual"]
        if not _opens(path):
            cut(store, case.anchor.subject_id, path)
    progress(len(cases), len(cases))
    manifest = CaseSet(
        id=name,
        store=store.info.digest,
        store_path=str(store.path.resolve()),
        tier=store.info.tier,
        cases=tuple(cases),
    )
    save(manifest, out)
    return manifest


def building(home: Path) -> AbstractContextManager[None]:
    """Keep a second command out that would write cases of this home."""
    (home / "cases").mkdir(parents=True, exist_ok=True)
    busy = RunError(
        f"Another command is building cases in {home}.",
        remedy="Wait for it, or build into another folder.",
    )
    return alone(home / "cases" / ".lock", busy)


def store_of(home: Path, manifest: CaseSet) -> Path:
    """The folder of the store that the cases of a home were cut from; it need not be there."""
    cut_from = Path(manifest.store_path)
    # a home that was copied has its store beside its cases, and not where they were cut
    return cut_from if (cut_from / INFO).exists() else home / "store"


def save(manifest: CaseSet, out: Path) -> None:
    """Write the manifest of a folder of cases, whole or not at all."""
    half = out / "cases.json.half"
    half.write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    half.replace(out / "cases.json")


def _opens(path: Path) -> bool:
    """Whether a chart stands whole; a damaged one is cut again."""
    try:
        Chart.open(path).close()
    except ChartError:
        return False
    return True


def load(folder: Path) -> CaseSet:
    """Read the manifest of a folder of cases.

    Raises:
        SpecError: There is none, or it does not fit.
    """
    path = folder / "cases.json"
    if not path.exists():
        raise SpecError(
            f"{folder} holds no cases.json.", remedy="Make one with `chartproof cases build`."
        )
    try:
        return CaseSet.model_validate_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SpecError(
            f"{path} cannot be read: {str(error).splitlines()[0]}.",
            remedy="Build the cases again with `chartproof cases build`.",
        ) from error


def find(cases: CaseSet, case_id: str) -> Case:
    """A case by its id, by an unambiguous beginning of it, or the first of a scenario.

    Raises:
        SpecError: None or several match.
    """
    hits = [case for case in cases.cases if case.id.startswith(case_id)]
    if len(hits) == 1 or (hits and hits[0].scenario == case_id):
        return hits[0]
    known = ", ".join(case.id for case in (hits or cases.cases)[:4])
    what = "No case begins" if not hits else f"{len(hits)} cases begin"
    raise SpecError(
        f"{what} with `{case_id}`.", remedy=f"`chartproof cases show` lists them: {known} …"
    )


def _case(store: Store, scenario: str, anchor: Anchor) -> Case:
    key = f"{store.info.digest} {scenario} {anchor.model_dump_json()}"
    mark = hashlib.sha256(key.encode()).hexdigest()
    chart = hashlib.sha256(f"{store.info.digest} {anchor.subject_id}".encode()).hexdigest()[:20]
    return Case(
        id=f"{scenario}-{mark[:8]}",
        scenario=scenario,
        anchor=anchor,
        charts={"factual": f"{chart}.chart"},
    )
