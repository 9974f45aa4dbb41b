"""Answers to a tumour board, put together by hand."""

import json
from collections.abc import Iterable
from typing import Any

from chartproof.records.board import Consensus, Option
from chartproof.records.recommendation import Recommendations
from chartproof.reports.recommendations import recommendations


def answer(*items: Any, refused: Iterable[str] = (), why: str = "") -> Recommendations:
    """An answer in JSON. An item is an object, or `time: treatment`, or a bare treatment."""

    def item(given: Any) -> Any:
        if not isinstance(given, str) or ": " not in given:
            return given
        timing, treatment = given.split(": ", 1)
        return {"treatment": treatment, "timing": timing}

    return recommendations(
        json.dumps({
            "recommendations": [item(each) for each in items],
            "not_recommended": list(refused),
            "overall_rationale": why,
        })
    )  # fmt: skip


def planned(options: Iterable[Option]) -> Recommendations:
    """An answer that recommends options, each by its first alternatives."""
    return answer(*(
        f"{'palliative' if o.timing in ('any', 'unconditional') else o.timing}: "
        + " + ".join(part[0] for part in o.components)
        for o in options
    ))  # fmt: skip


def right(consensus: Consensus) -> tuple[Option, ...]:
    """What a good answer recommends."""
    return tuple(each.option for each in consensus.strong or consensus.tacit)
