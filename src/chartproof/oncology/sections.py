"""The ten sections of a packet that an agent may read, each of at most 8 KB.

Source: Causal Sensitivity Score §2.3 for sections and cap. How biomarkers and overview are made,
that the cap counts bytes, and what is cut, are ours: docs/reference/packets.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from chartproof.oncology.packet import Block, blocks

Section = Literal[
    "demographics", "diagnoses", "biomarkers", "medications", "procedures", "encounters", "labs",
    "vitals", "allergies", "overview",
]  # fmt: skip
Keep = Literal["tail", "head"]
SECTIONS: tuple[Section, ...] = get_args(Section)
CAP = 8 * 1024
"""Bytes of UTF-8 in a section, the line about what is missing among them."""
NO_ENTRIES = "(no entries)"
_SIZES = "SECTIONS"
"""Heads the table of sizes in the overview."""
_JOINT = "\n---\n"
_ROOM = 80
"""Bytes kept for the line about what is missing."""

_KINDS: dict[Section, str] = {
    "demographics": "PATIENT DEMOGRAPHICS",
    "diagnoses": "CONDITIONS",
    "medications": "Medication",
    "procedures": "Procedure",
    "encounters": "Encounter",
    "labs": "Lab Results",
    "vitals": "Vitals",
    "allergies": "ALLERGIES",
}
_TOLD_IN = ("CONDITIONS", "Lab Results", "Procedure", "Encounter")
"""Kinds of blocks in which a biomarker is looked for."""
_WRAPPED = ("Encounter", "Procedure")
"""Kinds of blocks whose lines are wrapped prose."""
_MARKER = re.compile(
    r"(?<![A-Za-z0-9])(?:[Hh][Ee][Rr][\s-]?2|ERBB2|c-?erbB-?2|EGFR|ALK|ROS1|RET|MET(?=\s+(?:exon|"
    r"amp))|NTRK[123]?|KRAS|NRAS|BRAF|PD-?L1|CPS|TPS|MSI|MSS|dMMR|pMMR|mismatch[\s-]repair|"
    r"microsatellite|TMB|BRCA[12]|PALB2|HRD|ER|PR|Ki-?67|IDH[12]?|MGMT|1p/?19q|AFP|CLDN18\.?2|"
    r"claudin|FGFR[123]|PIK3CA|ESR1|TP53|AR-V7|FR[αa]|CA\s?19-9|CEA|PSA)(?![A-Za-z0-9])"
)
"""Names of markers. Case counts: `eGFR` is the kidney's."""
_NEW_LINE = re.compile(r"(?:- |[A-Z][\w/ \-]{1,40}:)")
"""How a line begins that does not go on with the one before."""
_ENDS = re.compile(r"[.:;]$")
_SENTENCES = re.compile(r"(?<=[.;])\s+")


@dataclass(frozen=True)
class Shown:
    """A section as it is shown.

    Attributes:
        entries: How many the packet has.
        missing: How many of them the cap leaves out.
        cut: One entry alone was larger than the cap, and ends early.
    """

    text: str
    entries: int
    missing: int
    cut: bool


def sections(
    text: str, *, keep: Keep = "tail", cap: int = CAP, lenient: bool = False
) -> dict[Section, Shown]:
    """The ten sections of a packet, in their order. All are made of this very text.

    Args:
        text: The packet.
        keep: What stays where a section is larger than the cap: its newest entries, or its oldest.
        cap: Bytes of UTF-8.
        lenient: As in `packet.blocks`.
    """
    found = blocks(text, lenient=lenient)
    lists: dict[Section, list[str]] = {
        name: [_raw(text, each) for each in found if each.kind == kind]
        for name, kind in _KINDS.items()
    }
    lists["biomarkers"] = _biomarkers(text, found)
    lists["overview"] = [
        *(_raw(text, each) for each in found if each.kind == "PREAMBLE"),
        _counts(lists),
    ]
    return {name: capped(lists[name], cap=cap, keep=keep) for name in SECTIONS}


def section_texts(
    text: str, *, keep: Keep = "tail", cap: int = CAP, lenient: bool = False
) -> dict[str, str]:
    """The ten sections as plain text, for whoever may know no more than that."""
    return {
        name: each.text
        for name, each in sections(text, keep=keep, cap=cap, lenient=lenient).items()
    }


def visible_in(shown: dict[str, str], needle: str) -> tuple[str, ...]:
    """Names of the sections that hold a string."""
    return tuple(name for name, text in shown.items() if needle in text)


def changed_in(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    """Names of the sections that differ. None: what changed is hidden by the cap.

    The overview's table of sizes does not count: it tells nothing of the patient.
    """
    return tuple(n for n in before if _telling(n, before[n]) != _telling(n, after.get(n, "")))


def _telling(name: str, text: str) -> str:
    """A section without what is only counted in it."""
    return text.partition(f"\n{_SIZES}\n")[0] if name == "overview" else text


def capped(entries: Sequence[str], *, cap: int = CAP, keep: Keep = "tail") -> Shown:
    """Join entries, whole ones only, up to the cap; a line says how many are missing.

    Args:
        entries: In the order of the packet.
        cap: Bytes of UTF-8; at least a few hundred.
        keep: `tail` leaves out the oldest, `head` the newest.
    """
    if not entries:
        return Shown(NO_ENTRIES, 0, 0, cut=False)
    whole = _JOINT.join(entries)
    if len(whole.encode()) <= cap:
        return Shown(whole, len(entries), 0, cut=False)
    order = list(entries) if keep == "head" else list(reversed(entries))
    budget, size = cap - _ROOM, 0
    used: list[str] = []
    for each in order:
        bytes_ = len(each.encode()) + len(_JOINT)
        if size + bytes_ > budget:
            break
        used.append(each)
        size += bytes_
    cut = not used
    if cut:
        used.append(order[0].encode()[:budget].decode(errors="ignore"))
    if keep == "tail":
        used.reverse()
    missing = len(entries) - len(used)
    note = f"[... {missing} of {len(entries)} entries not shown"
    note += ", one cut" * cut + f" ({cap // 1024} KB limit) ...]"
    joined = _JOINT.join(used)
    text = f"{joined}\n{note}" if keep == "head" else f"{note}\n{joined}"
    return Shown(text, len(entries), missing, cut=cut)


def _raw(text: str, block: Block) -> str:
    return text[block.start : block.end].strip("\n")


def _counts(lists: dict[Section, list[str]]) -> str:
    lines = [_SIZES]
    for name in SECTIONS:
        if name == "overview":
            continue
        entries = lists[name]
        noun = "entry" if len(entries) == 1 else "entries"
        size = len("\n".join(entries).encode())
        lines.append(f"{name}: {len(entries)} {noun}, {size} bytes")
    return "\n".join(lines)


def _biomarkers(text: str, found: Sequence[Block]) -> list[str]:
    """Sentences and lines that name a marker, each with kind, date and title of its block."""
    made: list[str] = []
    for block in found:
        if block.kind not in _TOLD_IN:
            continue
        raw = _raw(text, block)
        if not _MARKER.search(raw):
            continue
        hits = [
            part.strip()
            for line in _joined(raw.split("\n")[1:], wrapped=block.kind in _WRAPPED)
            if _MARKER.search(line)
            for part in _SENTENCES.split(line)
            if _MARKER.search(part)
        ]
        if hits:
            head = f"({block.kind} {block.date or 'undated'}) {block.title}".rstrip()
            made.append("\n".join([head, *(f"  {hit}" for hit in hits)]))
    return made


def _joined(lines: Sequence[str], *, wrapped: bool) -> list[str]:
    """Undo the wrapping of prose: a marker may stand across the end of a line."""
    body: list[str] = []
    for line in lines:
        if wrapped and body and not _NEW_LINE.match(line) and not _ENDS.search(body[-1]):
            body[-1] += ("" if body[-1].endswith("-") else " ") + line
        else:
            body.append(line)
    return body
