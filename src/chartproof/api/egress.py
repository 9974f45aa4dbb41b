"""What leaves the machine: where a home's data may go, and where those of a study went."""

from pathlib import Path

from chartproof.chart.store import INFO
from chartproof.models import egress
from chartproof.models.egress import Guard
from chartproof.records.case import CaseSet


def guard_of(home: Path, manifest: CaseSet) -> Guard:
    """Which endpoints the cases of a home may be sent to: their store says it.

    Raises:
        SpecError: Its `tier.yaml` does not fit.
    """
    cut_from, beside = Path(manifest.store_path), home / "store"
    # a home that was copied has its store beside its cases, and not where they were cut
    store = beside if not (cut_from / INFO).exists() else cut_from
    return egress.guard(store, manifest.tier)
