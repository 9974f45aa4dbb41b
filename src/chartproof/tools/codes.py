"""Coded diagnoses and procedures, and procedures charted in the ICU."""

import re
from typing import Literal

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.items import resolve
from chartproof.tools.listing import Asked, Conditions, listed
from chartproof.tools.tool import AsOf, OfAdmission, Paged, Tool, Windowed, Words

_CODES = (
    "ICD codes, with or without dots; `%` is a wildcard: ['N17%', '584.9']. A version may stand "
    "before: ['ICD9:V45.11', 'ICD10:Z99.2']."
)


class Diagnoses(OfAdmission, Paged):
    """Which admission, which codes."""

    codes: Words | None = Field(default=None, description=_CODES)


class Procedures(AsOf, OfAdmission, Windowed):
    """Which procedures, and when."""

    kind: Literal["coded", "icu"] | None = Field(
        default=None, description="coded: ICD and HCPCS; icu: charted in the ICU. Both by default."
    )
    codes: Words | None = Field(default=None, description=f"Of coded procedures. {_CODES}")
    items: Words | None = Field(
        default=None, description="Of ICU procedures: item ids or labels, such as 'CT scan'."
    )


def diagnoses(chart: Chart, request: Diagnoses) -> Answer:
    """List coded diagnoses: of the hospital (source hosp) and of the ED (source ed).

    Codes are given after discharge for billing. They carry no time, may be history, and alone
    prove no event. seq_num ranks them. ICD-9 and ICD-10 are mixed: look for both. The same letters
    may mean two things in the two versions: icd_version belongs to the code.
    """
    patterns = _patterns(request.codes)
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    _coded(where, patterns, "icd_code", "icd_version")
    return listed(
        chart,
        _DIAGNOSES.format(where=where),
        Asked(
            ("diagnoses_icd", "diagnosis"),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            items=patterns,
            page=request.page,
        ),
        order="source desc, hadm_id, stay_id, seq_num",
        columns=(*("source", "hadm_id", "stay_id", "seq_num", "icd_code", "icd_version", "title"),),
        bound=where.bound,
    )


def procedures(chart: Chart, request: Procedures) -> Answer:
    """List procedures: coded ones (ICD, HCPCS) by date, ICU ones by start and end.

    A coded procedure has a chartdate without time of day; a window takes it if its day touches the
    window; when it was coded is not known, so `known_by` leaves it out. An ICU procedure was
    performed from starttime to endtime. Neither is an order: see `orders`. Give codes or items to
    limit one kind; the other kind is then left out unless it is limited too.
    """
    kinds = _kinds(request)
    patterns = _patterns(request.codes)
    bound: dict[str, object] = {}
    parts: list[str] = []
    asked: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    if "coded" in kinds:
        where = Conditions()
        where.equal("hadm_id", request.hadm_id)
        where.overlap(
            "chartdate", "chartdate + interval 1 day", request.since, request.until, unknown=True
        )
        _coded(where, patterns, "code", "icd_version")
        where.known("null::timestamp", request.known_by)
        parts.append(_CODED.format(where=where))
        bound |= where.bound
        asked += patterns or ()
    if "icu" in kinds:
        items = (
            resolve(chart, request.items, "d_items", search="chart_items", table="procedureevents")
            if request.items
            else None
        )
        where = Conditions()
        where.equal("hadm_id", request.hadm_id)
        where.overlap("starttime", "endtime", request.since, request.until)
        where.known("p.storetime", request.known_by)
        if items and items.ids is not None:
            where.one_of("itemid", items.ids)
            asked += items.scope or ()
            notes = items.notes
        parts.append(_ICU.format(where=where))
        bound |= where.bound
    return listed(
        chart,
        " union all by name ".join(parts),
        Asked(
            (
                *(_CODED_TABLES if "coded" in kinds else ()),
                *(_ICU_TABLES if "icu" in kinds else ()),
            ),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            known_by=request.known_by,
            items=asked or None,
            page=request.page,
            notes=notes,
        ),
        order="coalesce(starttime, chartdate), kind",
        columns=(
            *("kind", "hadm_id", "stay_id", "starttime", "endtime", "chartdate", "code", "title"),
            *("value", "unit", "status", "storetime", "icd_version"),
        ),
        bound=bound,
    )


def _kinds(request: Procedures) -> tuple[str, ...]:
    if request.kind:
        return (request.kind,)
    limited = (("coded",) if request.codes else ()) + (("icu",) if request.items else ())
    return limited or ("coded", "icu")


_VERSIONED = re.compile(r"ICD-?(9|10)\s*:\s*(.+)")


def _patterns(codes: list[str] | None) -> tuple[str, ...] | None:
    """Codes as the tables have them: no dots, capitals, `%` for a wildcard; `ICD9:` kept before."""
    if not codes:
        return None
    return tuple(dict.fromkeys(_pattern(each) for each in codes))


def _pattern(code: str) -> str:
    plain = code.strip().replace(".", "").replace("*", "%").upper()
    versioned = _VERSIONED.fullmatch(plain)
    return f"ICD{versioned[1]}:{versioned[2]}" if versioned else plain


def _coded(where: Conditions, patterns: tuple[str, ...] | None, code: str, version: str) -> None:
    """Demand one of the codes, each in its version where it names one."""
    if not patterns:
        return
    parts: list[str] = []
    bound: dict[str, object] = {}
    for n, pattern in enumerate(patterns):
        versioned = _VERSIONED.fullmatch(pattern)
        bound[f"codes{n}"] = versioned[2] if versioned else pattern
        also = f" and {version} = {versioned[1]}" if versioned else ""
        parts.append(f"({code} like $codes{n}{also})")
    where.add(f"({' or '.join(parts)})", **bound)


_CODED_TABLES = ("procedures_icd", "hcpcsevents")
_ICU_TABLES = ("procedureevents",)
_DIAGNOSES = """
select * from (
    select d.row_ref as ref, 'hosp' as source, d.hadm_id, null::integer as stay_id, d.seq_num,
        d.icd_code, d.icd_version, t.long_title as title, t.long_title
    from diagnoses_icd as d left join d_icd_diagnoses as t using (icd_code, icd_version)
    union all by name
    select d.row_ref as ref, 'ed' as source, e.hadm_id, d.stay_id, d.seq_num, d.icd_code,
        d.icd_version, d.icd_title as title, d.icd_title
    from diagnosis as d left join edstays as e using (stay_id)
) where {where}
"""
_CODED = """
select * from (
    select p.row_ref as ref, 'coded' as kind, p.hadm_id, null::timestamp as starttime, p.chartdate,
        p.icd_code as code, t.long_title as title, p.icd_code, p.icd_version, p.seq_num
    from procedures_icd as p left join d_icd_procedures as t using (icd_code, icd_version)
    union all by name
    select h.row_ref as ref, 'coded' as kind, h.hadm_id, h.chartdate, h.hcpcs_cd as code,
        h.short_description as title, h.hcpcs_cd, h.seq_num, h.short_description,
        null::smallint as icd_version
    from hcpcsevents as h
) where {where}
"""
_ICU = """
select p.row_ref as ref, 'icu' as kind, p.hadm_id, p.stay_id, p.starttime, p.endtime,
    null::date as chartdate, p.itemid::varchar as code, d.label as title, p.value::double as value,
    p.valueuom as unit, p.statusdescription as status, p.storetime, p.itemid, d.label, p.valueuom,
    p.statusdescription, p.location, p.ordercategoryname, null::smallint as icd_version
from procedureevents as p left join d_items as d using (itemid)
where {where}
"""

TOOLS = (Tool("diagnoses", Diagnoses, diagnoses), Tool("procedures", Procedures, procedures))
