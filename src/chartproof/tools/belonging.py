"""Whether the encounter that a call names is this patient's, and of the kind it is taken for.

`stay_id` means an ICU stay in one table and an emergency stay in the next. A number that belongs to
the other kind, or to nobody here, would find nothing; an empty answer would read as an absence.
"""

from functools import cached_property

from chartproof.chart.chart import Chart
from chartproof.errors import ToolRefusal
from chartproof.tools.tool import OfAdmission, OfEdStay, OfIcuStay, Request


class Belonging:
    """The encounters of a chart, read once: a sealed chart does not change."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart

    def check(self, request: Request) -> None:
        """Refuse a request for an encounter that is not there.

        Raises:
            ToolRefusal: It names another patient's encounter, or a stay of the other kind.
        """
        if isinstance(request, OfAdmission) and request.hadm_id is not None:
            self._one_of("hadm_id", request.hadm_id, "admission")
        if isinstance(request, OfIcuStay) and request.stay_id is not None:
            self._one_of("stay_id", request.stay_id, "icu")
        if isinstance(request, OfEdStay) and request.stay_id is not None:
            self._one_of("stay_id", request.stay_id, "ed")

    def _one_of(self, argument: str, given: int, kind: str) -> None:
        known = self._known[kind]
        if given in known:
            return
        other = next((name for name, ids in self._known.items() if given in ids), None)
        if not known and not self._chart.coverage(_TABLES[kind]).covered:
            raise ToolRefusal(
                f"This store does not cover {_TABLES[kind]}: {argument} {given} cannot be known.",
                remedy="Ask without it, by time.",
            )
        what = (
            f"{argument} {given} is {_NAMES[other]}, and this asks for {_NAMES[kind]}."
            if other
            else f"{argument} {given} is not {_NAMES[kind]} of this patient."
        )
        ids = ", ".join(str(each) for each in sorted(known)[:20]) or "none"
        raise ToolRefusal(what, remedy=f"This patient has: {ids}. See `encounters`.")

    @cached_property
    def _known(self) -> dict[str, set[int]]:
        found: dict[str, set[int]] = {"admission": set(), "icu": set(), "ed": set()}
        for row in self._chart.query(_IDS):
            if row["id"] is not None:
                found[row["kind"]].add(row["id"])
        return found


_TABLES = {"admission": "admissions", "icu": "icustays", "ed": "edstays"}
_NAMES = {"admission": "an admission", "icu": "an ICU stay", "ed": "an ED stay"}
_IDS = """
select 'admission' as kind, hadm_id as id from admissions
union all select 'admission', hadm_id from edstays
union all select 'admission', hadm_id from transfers
union all select 'icu', stay_id from icustays
union all select 'ed', stay_id from edstays
"""
