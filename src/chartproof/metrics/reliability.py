"""What repeated attempts tell. Source: CliniCARE-Bench §5.6.

Over the cases with a verdict in every one of the k attempts.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import stdev

from chartproof.metrics.rate import GRADEABLE, Part, Rate, referenced
from chartproof.records.scored import Scored


@dataclass(frozen=True, slots=True)
class Reliability:
    """Over `cases` cases with `k` attempts each.

    Attributes:
        avg: avg@k, accuracy over all n·k runs.
        sd: Sample standard deviation of the k per-attempt accuracies; None for k = 1.
        any_right: pass@k, right in at least one attempt.
        all_right: pass^k, right in every attempt.
        agreement: The same verdict in every attempt, right or not.
        agree_wrong: The same wrong verdict in every attempt.
        left_out: Cases without a verdict in some attempt.
    """

    k: int
    cases: int
    left_out: int
    avg: Rate
    sd: float | None
    any_right: Rate
    all_right: Rate
    agreement: Rate
    agree_wrong: Rate

    @property
    def spread(self) -> float | None:
        """pass@k − pass^k: what depends on the attempt."""
        if self.any_right.value is None or self.all_right.value is None:
            return None
        return self.any_right.value - self.all_right.value

    @property
    def overstatement(self) -> float | None:
        """avg@k − pass^k: by how much a single attempt flatters."""
        if self.avg.value is None or self.all_right.value is None:
            return None
        return self.avg.value - self.all_right.value


def reliability(runs: Sequence[Scored]) -> Reliability:
    """Repeated-run reliability of one system."""
    attempts = sorted({run.attempt for run in referenced(runs)})
    by_case: dict[str, dict[int, Scored]] = defaultdict(dict)
    for run in referenced(runs):
        by_case[run.case][run.attempt] = run
    whole = {
        case: [tries[a] for a in attempts]
        for case, tries in sorted(by_case.items())
        if all(a in tries and tries[a].given is not None for a in attempts)
    }
    k = len(attempts)
    per_attempt = [
        sum(tries[n].correct for tries in whole.values()) / len(whole) for n in range(k) if whole
    ]
    found = Reliability(
        k=k,
        cases=len(whole),
        left_out=len(by_case) - len(whole),
        avg=Rate(
            tuple(Part(case, sum(r.correct for r in tries), k) for case, tries in whole.items()),
            GRADEABLE,
        ),
        sd=stdev(per_attempt) if len(per_attempt) > 1 else None,
        any_right=_cases(whole, lambda tries: any(r.correct for r in tries)),
        all_right=_cases(whole, lambda tries: all(r.correct for r in tries)),
        agreement=_cases(whole, _agree),
        agree_wrong=_cases(whole, lambda tries: _agree(tries) and not tries[0].correct),
    )
    # An identity of the definitions; were it broken, every figure here would be suspect.
    assert found.agreement.hits == found.all_right.hits + found.agree_wrong.hits
    return found


def pass_hat(attempts: int, right: int, k: int) -> float | None:
    """Unbiased estimate of pass^k from more than k attempts: C(right, k) / C(attempts, k).

    None with fewer than k attempts. With exactly k it is whether all were right.
    """
    return comb(right, k) / comb(attempts, k) if 1 <= k <= attempts else None


def _agree(tries: Sequence[Scored]) -> bool:
    return len({run.given for run in tries}) == 1


def _cases(whole: dict[str, list[Scored]], holds: Callable[[list[Scored]], bool]) -> Rate:
    return Rate(tuple(Part(case, float(holds(t)), 1) for case, t in whole.items()), GRADEABLE)
