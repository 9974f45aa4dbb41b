"""Freeze the suite of the synthetic hospital: 30 cases of each scenario (`make suite`, some minutes).

To be run after scenarios or the hospital have changed: a test says when the manifest is stale.
"""

import tempfile
from pathlib import Path

from chartproof.api.frozen import freeze
from chartproof.catalog.read import ROOT
from chartproof.cli.screen import stages

MANIFEST = ROOT / "suites" / "synthetic.json"


def main() -> None:
    """Write the manifest."""
    with tempfile.TemporaryDirectory() as at, stages() as stage:
        suite = freeze(
            Path(at), id_="synthetic-1", patients=100, seed=750, per_scenario=30, stage=stage
        )
    MANIFEST.parent.mkdir(exist_ok=True)
    MANIFEST.write_text(suite.model_dump_json(indent=1) + "\n", encoding="utf-8")
    print(f"{len(suite.cases)} cases, {sum(each.development for each in suite.cases)} development")


if __name__ == "__main__":
    main()
