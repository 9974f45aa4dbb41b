"""CMS: how far an answer covers what a board would agree on. Source: Causal Sensitivity Score §2.1.

The paper does not say what a case without, say, refused options scores; so the policy is named, and
ranks are shown under all three. Nor does it say whether cases are pooled; here the mean is over
cases.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from chartproof.metrics.rate import Rate
from chartproof.records.sensitivity import Coverage

Empty = Literal["renormalise", "one", "zero"]
"""A category without items: its weight goes to the others; it counts as met; as missed."""
Refused = Literal["refusal", "recommended"]
"""V_refusal over the refused items, or over the recommendations."""
EMPTY: tuple[Empty, ...] = get_args(Empty)

WEIGHTS = {"strong": 0.6, "tacit": 0.2, "refusal": 0.15, "extra": 0.05}
ANSWERED = "original answers"


def cms_of(
    row: Coverage, empty: Empty = "renormalise", refused: Refused = "refusal"
) -> float | None:
    """CMS of one answer in [0, 1]; None where nothing at all could be measured.

    Where no judge was asked for the plausibility of extras (`extras` is None), that term is out
    under every policy and its weight goes to the others: unknown is not empty.
    """
    if row.unscored is not None:
        return None
    if refused == "recommended" and row.recommended is None:
        return None
    terms = _terms(row, refused)
    if all(value is None for value in terms.values()):
        return None
    if row.extras is None:
        del terms["extra"]
    if empty != "renormalise":
        instead = 1.0 if empty == "one" else 0.0
        terms = {name: instead if value is None else value for name, value in terms.items()}
    weight = sum(WEIGHTS[name] for name, value in terms.items() if value is not None)
    total = sum(WEIGHTS[name] * value for name, value in terms.items() if value is not None)
    return min(1.0, total / weight)


def cms(
    rows: Sequence[Coverage], empty: Empty = "renormalise", refused: Refused = "refusal"
) -> Rate:
    """Mean CMS over cases; a case on which nothing can be measured is outside the denominator."""
    return Rate.over(rows, lambda row: cms_of(row, empty, refused), ANSWERED)


def with_empty_category(rows: Sequence[Coverage]) -> Rate:
    """Answers for which some category of the consensus has no item: on them policies differ."""

    def lacks(row: Coverage) -> float | None:
        return None if row.unscored else float(not (row.strong and row.tacit and row.refusal))

    return Rate.over(rows, lacks, ANSWERED)


def recall(rows: Sequence[Coverage], level: Literal["strong", "tacit", "refusal"]) -> Rate:
    """Share of a level's items that the answer recommends, mean over cases that have any."""

    def of(row: Coverage) -> float | None:
        items = getattr(row, level)
        return None if row.unscored or not items else getattr(row, f"{level}_hit") / items

    return Rate.over(rows, of, ANSWERED)


def _terms(row: Coverage, refused: Refused) -> dict[str, float | None]:
    if refused == "refusal":
        violated = row.refusal_hit / row.refusal if row.refusal else None
    else:
        named, of = row.recommended_refused or 0, row.recommended or 0
        violated = named / of if of else None
    return {
        "strong": row.strong_hit / row.strong if row.strong else None,
        "tacit": row.tacit_hit / row.tacit if row.tacit else None,
        "refusal": None if violated is None else 1 - violated,
        "extra": sum(row.extras) / len(row.extras) if row.extras else None,
    }
