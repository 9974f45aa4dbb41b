"""Where silence is no absence: encounters of years that the source did not record.

Notes end with 2019, the ED module reaches from 2011 to 2019, and the eMAR came between 2011 and
2013. Dates are shifted, so the real year of an encounter is known to a few years only, by
`anchor_year_group`. Where a table holds nothing of an encounter and its years are not surely the
table's, that is told, and the call does not count as covered.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from chartproof.chart.chart import Chart
from chartproof.chart.schema import tables
from chartproof.records.store import Era
from chartproof.tools.known import once

SHOWN = 6
"""Encounters that one sentence names."""

ED = "ed"


@dataclass(frozen=True, slots=True)
class _Admission:
    """An admission, the real years it may lie in, and which sources say something of it.

    Attributes:
        years: Earliest and latest real year; None where the source does not tell.
        came_by_ed: Whether it has a time of registration in the ED.
        spoken: Tables, or the ED module, that hold a row of it.
    """

    hadm_id: int
    begins: datetime | None
    ends: datetime | None
    years: tuple[int, int] | None
    came_by_ed: bool
    spoken: frozenset[str]

    def within(self, since: datetime | None, until: datetime | None) -> bool:
        """Whether it shares a moment with [since, until)."""
        early = until is not None and self.begins is not None and self.begins >= until
        late = since is not None and self.ends is not None and self.ends < since
        return not (early or late)


@dataclass(frozen=True, slots=True)
class Silence:
    """What of a call's tables cannot be known, and the sentences that say so."""

    tables: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def silence(
    chart: Chart,
    asked: Iterable[str],
    *,
    encounters: tuple[int, ...] | None,
    since: datetime | None,
    until: datetime | None,
) -> Silence:
    """Say which tables of a call are silent for years that their source may not cover.

    `encounters` that are no admissions, such as an ICU stay, are there already: nothing is said of
    them.
    """
    limited = [(name, era) for name in asked if (era := chart.coverage(name).era) is not None]
    limited = [(name, era) for name, era in limited if chart.coverage(name).covered]
    if not limited:
        return Silence()
    found = [
        each
        for each in once(chart, "admissions", _admissions)
        if (encounters is None or each.hadm_id in encounters) and each.within(since, until)
    ]
    names: list[str] = []
    notes: dict[str, None] = {}
    for name, era in limited:
        told = _of_table(name, era, found)
        if told:
            names.append(name)
            notes.update(dict.fromkeys(told))
    return Silence(tuple(names), tuple(notes))


def _of_table(name: str, era: Era, admissions: list[_Admission]) -> list[str]:
    of_ed = tables()[name].module == ED
    silent = [
        each
        for each in admissions
        if (ED if of_ed else name) not in each.spoken and (each.came_by_ed or not of_ed)
    ]
    outside = [each for each in silent if each.years and _outside(each.years, era)]
    unsure = [
        each
        for each in silent
        if each not in outside and each.years and not _inside(each.years, era)
    ]
    lost = [each for each in silent if of_ed and each not in outside and each not in unsure]
    source = "the ED module" if of_ed else name
    span = f"{era.first} to {era.last}"
    if era.whole > era.first:
        span += f", everywhere from {era.whole} on"
    return [
        f"{source} {verb} of admission {_listed(group)}: {why}nothing follows from its silence"
        for verb, why, group in (
            ("is not covered", f"this source has it of {span}; ", outside),
            ("may not be covered", f"this source has it of {span}; ", unsure),
            ("has nothing", "it came through the ED, yet has no ED stay here; ", lost),
        )
        if group
    ]


def _listed(group: list[_Admission]) -> str:
    told = [
        f"{each.hadm_id} (of {each.years[0]}–{each.years[1]})" if each.years else str(each.hadm_id)
        for each in group[:SHOWN]
    ]
    more = f" and {len(group) - SHOWN} more" if len(group) > SHOWN else ""
    return ", ".join(told) + more


def _outside(years: tuple[int, int], era: Era) -> bool:
    # the shift moves a date within its year, so a difference of years is known to one year only
    return years[1] + 1 < era.first or years[0] - 1 > era.last


def _inside(years: tuple[int, int], era: Era) -> bool:
    return years[0] >= era.whole and years[1] <= era.last


def _admissions(chart: Chart) -> tuple[_Admission, ...]:
    return tuple(_admission(row) for row in chart.query(_SPOKEN))


def _admission(row: dict[str, Any]) -> _Admission:
    group = str(row["anchor_year_group"] or "")
    years = [int(part) for part in group.split(" - ") if part.isdecimal()]
    known = None
    if len(years) == 2 and row["first"] is not None:
        known = (years[0] + row["first"], years[1] + row["last"])
    spoken = ("emar", "discharge", "radiology", ED)
    return _Admission(
        hadm_id=row["hadm_id"],
        begins=row["begins"],
        ends=row["ends"],
        years=known,
        came_by_ed=row["came_by_ed"],
        spoken=frozenset(name for name in spoken if row[name]),
    )


_SPOKEN = """
select a.hadm_id, coalesce(a.edregtime, a.admittime) as begins, a.dischtime as ends,
    year(a.admittime) - p.anchor_year as first,
    year(coalesce(a.dischtime, a.admittime)) - p.anchor_year as last,
    p.anchor_year_group, a.edregtime is not null as came_by_ed,
    a.hadm_id in (select hadm_id from emar) as emar,
    a.hadm_id in (select hadm_id from discharge) as discharge,
    exists (
        from radiology as r where r.hadm_id = a.hadm_id
            or (r.hadm_id is null and r.charttime between coalesce(a.edregtime, a.admittime)
                and a.dischtime)
    ) as radiology,
    a.hadm_id in (select hadm_id from edstays) as ed
from admissions as a, patients as p
order by a.admittime, a.hadm_id
"""
