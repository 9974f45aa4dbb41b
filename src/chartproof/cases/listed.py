"""Cases and reference verdicts of others, from a file."""

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from chartproof.catalog.read import read_text
from chartproof.errors import SpecError
from chartproof.records.case import Anchor
from chartproof.records.scenario import AnchorKind
from chartproof.records.verdict import Verdict

COLUMNS = ("case", "scenario", "subject_id", "hadm_id", "stay_id", "verdict", "version")
ENCOUNTER: dict[AnchorKind, tuple[str, ...]] = {
    "patient": (),
    "admission": ("hadm_id",),
    "icu_stay": ("hadm_id", "stay_id"),
    "ed_stay": ("stay_id",),
}
"""What a scenario asks about → the identifiers that a case of it needs besides the patient's."""

_NEEDED = ("case", "scenario", "subject_id")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class Listed:
    """One line of such a file.

    Attributes:
        case: What others call it.
        verdict: Their reference, None where the file gives none.
        version: Of their labels.
    """

    case: str
    scenario: str
    anchor: Anchor
    verdict: Verdict | None
    version: str


def read_cases(path: Path) -> list[Listed]:
    """Read a CSV file with the columns `COLUMNS`; the last four may be missing or empty.

    Raises:
        SpecError: The file, a column, a line or a cell is wrong, with the line and the remedy.
    """
    text = read_text(path, "utf-8-sig")
    reader = csv.DictReader(text.splitlines())
    heads = reader.fieldnames or []
    missing = [name for name in _NEEDED if name not in heads]
    unknown = [name for name in heads if name not in COLUMNS]
    if missing or unknown:
        fault = f"lacks the column {missing[0]}" if missing else f"has the column `{unknown[0]}`"
        raise SpecError(f"{path} {fault}.", remedy=f"Its columns are {', '.join(COLUMNS)}.")
    found: dict[str, Listed] = {}
    for row in reader:
        listed = _listed(row, f"{path}, line {reader.line_num}")
        if listed.case in found:
            raise SpecError(
                f"{path}, line {reader.line_num}: case `{listed.case}` was there before.",
                remedy="Name each case once.",
            )
        found[listed.case] = listed
    if not found:
        raise SpecError(f"{path} names no case.", remedy="Write one a line below the heads.")
    return list(found.values())


def _listed(row: dict[str, str], place: str) -> Listed:
    cells = {name: (row.get(name) or "").strip() for name in COLUMNS}
    if len(row) > len(COLUMNS):
        raise SpecError(f"{place} has too many cells.", remedy="Quote a cell that holds a comma.")
    if not _ID.fullmatch(cells["case"]):
        raise SpecError(
            f"{place}: `{cells['case']}` cannot name a case.",
            remedy="Use up to 80 letters, digits, points, hyphens and underscores.",
        )
    ids: dict[str, int | None] = {}
    for name in ("subject_id", "hadm_id", "stay_id"):
        cell = cells[name]
        if not cell and name != "subject_id":
            ids[name] = None
        elif cell.isascii() and cell.isdigit() and 0 < int(cell) < 2**31:
            ids[name] = int(cell)
        else:
            raise SpecError(
                f"{place}: `{cell}` is no {name}.", remedy="Write a whole number, as MIMIC does."
            )
    return Listed(
        case=cells["case"],
        scenario=cells["scenario"],
        anchor=Anchor.model_validate(ids),
        verdict=_verdict(cells["verdict"], place),
        version=cells["version"] or "imported",
    )


def _verdict(cell: str, place: str) -> Verdict | None:
    if not cell:
        return None
    for verdict in Verdict:
        if cell.casefold() in (verdict.value, verdict.label.casefold()):
            return verdict
    raise SpecError(
        f"{place}: `{cell}` is no verdict.",
        remedy=f"Write one of {', '.join(verdict.value for verdict in Verdict)}.",
    )
