"""The whole walk in one call: on invented patients, or on real ones in MEDS form."""

import shutil
from pathlib import Path

from chartproof.api import steps
from chartproof.api.cases import build_cases
from chartproof.api.stores import Stage, build_store
from chartproof.chart.sources.meds import MedsSource
from chartproof.hospital.source import SyntheticSource, catalogued
from chartproof.records.study import Study
from chartproof.records.system import scripted
from chartproof.records.table import Table
from chartproof.runs.crew import Crew
from chartproof.runs.systems import SCRIPTED_SYSTEMS

SCENARIOS = ("advanced-imaging-receipt", "med-reconciliation", "post-ct-aki", "renal-trajectory")
"""Those that the paper specifies in full, and that the scripted systems know how to investigate."""
REAL = "renal-trajectory"
"""The scenario that MEDS data can carry: laboratory values, codes, admissions."""


def synthetic(
    home: Path, *, patients: int, per_rule: int, seed: int, workers: int, stage: Stage
) -> tuple[Path, list[Table]]:
    """Build the synthetic hospital and run every scripted system on its cases.

    Returns:
        The first page, and the tables on it.
    """
    source = SyntheticSource(
        patients=patients, seed=seed, per_rule=per_rule, recipes=catalogued(*SCENARIOS)
    )
    build_store(source, home, stage)
    build_cases(
        home,
        scenarios=SCENARIOS,
        per_rule=per_rule,
        seed=seed,
        progress=stage("Cut charts, apply rules"),
    )
    study = Study(id="demo", cases="cases", systems=scripted(SCRIPTED_SYSTEMS))
    told = stage("Run scripted systems")
    steps.run(home, study, crew=Crew(workers), progress=lambda _cell, done, all_: told(done, all_))
    return steps.write_site(home, "demo", title="chartproof demo", progress=stage("Grade and draw"))


def real(
    home: Path, meds: Path, *, seed: int, workers: int, stage: Stage
) -> tuple[Path, list[Table]]:
    """Ask `renal-trajectory` of every eligible patient of a MEDS folder, by the careful system."""
    build_store(MedsSource(meds), home, stage)
    build_cases(
        home,
        scenarios=(REAL,),
        per_rule=10_000,
        seed=seed,
        progress=stage("Cut charts, apply rules"),
    )
    study = Study(id="real", cases="cases", systems=scripted(("careful",)), scenarios=(REAL,))
    told = stage("Run the careful system")
    steps.run(home, study, crew=Crew(workers), progress=lambda _cell, done, all_: told(done, all_))
    return steps.write_site(
        home, "real", title="chartproof on real patients", progress=stage("Grade and draw")
    )


def clear(home: Path) -> None:
    """Remove what a demo made in its folder, and nothing else."""
    for made in ("store", "store.building", "cases", "labels", "runs", "pages"):
        shutil.rmtree(home / made, ignore_errors=True)
    (home / "index.html").unlink(missing_ok=True)
