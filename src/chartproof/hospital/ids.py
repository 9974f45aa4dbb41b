"""Identifiers of the synthetic hospital: MIMIC's shapes, outside MIMIC's ranges.

Patients begin with 9, admissions with 8, stays and transfers with 7. A counter is scattered over
its range by a bijection, so that neighbours in the plan are no neighbours in the record and
nothing tells a planted patient from a background one.
"""

from dataclasses import dataclass, field

_PRIME = 9_999_991
_STEPS = {"subject": 3_141_593, "admission": 2_718_281, "stay": 1_618_033}
_STARTS = {"subject": 90_000_000, "admission": 80_000_000, "stay": 70_000_000}


@dataclass
class Ids:
    """Counters of one hospital. The same seed and order give the same identifiers."""

    seed: int
    counts: dict[str, int] = field(default_factory=dict[str, int])

    def person(self, kind: str) -> int:
        """The next identifier of a patient, admission or stay."""
        n = self.take(kind)
        return _STARTS[kind] + (n * _STEPS[kind] + self.seed * 7_919 + 1_234_567) % _PRIME

    def take(self, kind: str, count: int = 1) -> int:
        """Reserve `count` numbers of a kind and return the first."""
        first = self.counts.get(kind, 0)
        self.counts[kind] = first + count
        return first

    def serial(self, kind: str) -> int:
        """The next scattered eight-digit number, such as a pharmacy_id or orderid."""
        return 10_000_000 + (self.take(kind) * 49_979_687 + self.seed * 104_729) % 89_999_999
