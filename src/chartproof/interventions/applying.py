"""A packet with an intervention in its text: as published, or by our edits.

As published, a pattern is replaced over the packet as one text, and a passage is put after the
last entry without a date. Our edits act inside one block each, leave guarded matches alone, and put
dated passages where their days belong.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from chartproof.errors import SpecError
from chartproof.interventions.catalogue import SLOT, Intervention
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.passages import Packet, Part, Reader, end_of, paragraphs, reread
from chartproof.interventions.ready import Ours, Published, ReadyEdit
from chartproof.oncology.packet import END
from chartproof.records.packet_account import Touch
from chartproof.records.sensitivity import Edition

NO_DATE = date(2024, 1, 1)
"""Where nothing in a packet is dated, inserted passages follow this day."""
_BLANKS = re.compile(r"[ \t]+$", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{2,}")
_INSERTED_DATE = re.compile(r"\[[^\]]+\] (\d{4}-\d{2}-\d{2})")
_SENTENCES = re.compile(r"(?<=[.;])\s+")


@dataclass(frozen=True)
class Applied:
    """A changed packet.

    Attributes:
        inserted: Dates of the passages that were put in, in their order.
    """

    packet: Packet
    touches: tuple[Touch, ...]
    inserted: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The changed packet as it is written."""
        return self.packet.text


def apply(
    intervention: Intervention,
    edition: Edition,
    subject: Subject,
    slots: Mapping[str, str] | None = None,
) -> Applied:
    """Change a packet's text, whether or not the edition is eligible for it.

    Args:
        intervention: The entry.
        edition: `v1`, `v1cr` or `v2`; a twin is rendered, not edited.
        subject: The packet.
        slots: Of inserted passages, before those of the catalogue.

    Raises:
        SpecError: The entry has no such edition, or a pattern takes too long.
    """
    published = intervention.published(edition)
    if published is not None:
        return _published(published, subject)
    if edition == "v2" and intervention.v2 is not None:
        return _ours(intervention.v2, subject, slots or {})
    raise SpecError(
        f"{intervention.id} has no edition `{edition}` that edits a text.",
        remedy="It changes the state; render its twin."
        if intervention.entry.state_only
        else "Editions of a text are v1, v1cr and v2.",
    )


# ------------------------------------------------------------------ as published


def _published(published: Published, subject: Subject) -> Applied:
    said, text = published.said, subject.packet.text
    if said.mutation_type == "insert" or published.pattern is None:
        passage = (said.insertion_template or "").rstrip("\n") + "\n"
        at = text.rfind(END)
        at = at if at >= 0 else len(text)
        changed = text[:at] + passage + text[at:]
        touches = (Touch(edit="insert", kind="", line=None, before="", after=passage),)
        return Applied(Packet.of(changed), touches)
    found: list[Touch] = []
    by = "" if said.mutation_type == "delete" else said.mutation_replacement or ""

    def put(match: Any) -> str:
        new: str = match.expand(by)
        found.append(
            Touch(
                edit=said.mutation_type,
                kind="",
                line=text.count("\n", 0, match.start()) + 1,
                before=match[0],
                after=new,
            )
        )
        return new

    if not subject.facts.reader.spans(published.pattern, text):
        return Applied(subject.packet, ())
    changed = published.pattern.replaced(text, put)
    return Applied(Packet.of(changed), tuple(found))


# ------------------------------------------------------------------ our edits


def _ours(ours: Ours, subject: Subject, slots: Mapping[str, str]) -> Applied:
    packet, touches, removed = subject.packet, list[Touch](), list[str]()
    reader = subject.facts.reader
    for edit in ours.edits:
        packet = _edited(edit, packet, reader, touches, removed)
    packet = _tidied(subject.packet, packet)
    if not ours.inserts:
        return Applied(packet, tuple(touches))
    last = date.fromisoformat(packet.last_date) if packet.last_date else NO_DATE
    filled: dict[str, str] = {
        **ours.slots.get(subject.cancer, ours.slots[""]),
        **{
            f"d{n}": (last + timedelta(days=d)).isoformat() for n, d in enumerate(ours.said.days, 1)
        },
        **slots,
    }
    filled["deleted_date"] = removed[0] if removed else filled["d1"]
    if operation := filled.get("operation"):
        filled["operation_lc"] = operation[0].lower() + operation[1:]
    wanted = [
        each.said.template
        for each in ours.inserts
        if (each.when is None or reader.occurs(packet, each.when))
        and (each.unless is None or not reader.occurs(packet, each.unless))
    ]
    days: list[str] = []
    for template in wanted:
        passage = _filled(template, filled)
        dated = _INSERTED_DATE.match(passage)
        days.append(dated[1] if dated else "")
        packet = _inserted(packet, passage, days[-1])
        touches.append(Touch(edit="insert", kind="", line=None, before="", after=passage))
    return Applied(packet, tuple(touches), tuple(days))


def _filled(template: str, slots: Mapping[str, str]) -> str:
    """A template with its slots filled; the catalogue was refused if one is unknown."""
    return SLOT.sub(lambda found: slots[found[1]], template).rstrip("\n") + "\n"


def _edited(
    edit: ReadyEdit, packet: Packet, reader: Reader, touches: list[Touch], removed: list[str]
) -> Packet:
    said = edit.said
    scope = () if said.scope == "all" else tuple(each.split(":")[-1] for each in said.scope)
    numbers = [
        n for n, part in enumerate(packet.parts) if part.kind and (not scope or part.kind in scope)
    ]
    if any(each.startswith("last:") for each in said.scope):
        numbers = numbers[-1:]
    changed: dict[int, Part | None] = {}
    for number in numbers:
        part = packet.parts[number]
        if said.op == "delete_block":
            if _goes(edit, part, reader):
                changed[number] = _salvaged(edit, part)
                if part.date:
                    removed.append(part.date)
                first = part.text.strip("\n").split("\n")[0]
                touches.append(_touch(said.id, packet, (number, 0), first, ""))
            continue
        if not reader.unheld(edit.pattern, part.text, said.guards):
            continue
        text = edit.pattern.replaced(part.text, _put(edit, packet, number, reader, touches))
        if text != part.text:
            changed[number] = reread(text, part)
    return _with(packet, changed) if changed else packet


def _put(
    edit: ReadyEdit, packet: Packet, number: int, reader: Reader, touches: list[Touch]
) -> Callable[[Any], str]:
    part, said = packet.parts[number], edit.said

    def put(match: Any) -> str:
        old: str = match[0]
        if reader.guard(part.text, match.span(), said.guards):
            return old
        new: str = "" if said.op == "delete" else match.expand(said.replacement)
        if new != old:
            touches.append(_touch(said.id, packet, (number, match.start()), old, new))
        return new

    return put


def _touch(id_: str, packet: Packet, at: tuple[int, int], before: str, after: str) -> Touch:
    return Touch(
        edit=id_,
        kind=packet.parts[at[0]].kind,
        line=packet.line_of(*at),
        before=before,
        after=after,
    )


def _goes(edit: ReadyEdit, part: Part, reader: Reader) -> bool:
    """Whether an entry is removed: its beginning matches and nothing keeps it."""
    text = part.text.lstrip("\n")
    if not reader.spans(edit.pattern, text):
        return False
    return edit.not_block is None or not reader.spans(edit.not_block, text)


def _salvaged(edit: ReadyEdit, part: Part) -> Part | None:
    """What stays of a removed entry: sentences that tell something else."""
    if edit.salvage is None:
        return None
    kept = [
        each.strip()
        for line in paragraphs(part.text.strip("\n").split("\n")[1:])
        for each in _SENTENCES.split(line)
        if edit.salvage.matches(each)
    ]
    if not kept:
        return None
    lines = "\n".join(kept)
    text = f"[Lab Results] {part.date} | {edit.said.salvage_title}\n{lines}\n"
    return Part(text, "Lab Results", part.date, edit.said.salvage_title)


def _with(packet: Packet, changed: Mapping[int, Part | None]) -> Packet:
    """The packet with blocks replaced; a removed block takes the separator after it along."""
    parts: list[Part] = []
    after_removed = False
    for number, part in enumerate(packet.parts):
        if number in changed:
            new = changed[number]
            after_removed = new is None
            if new is not None:
                parts.append(new)
        elif after_removed and not part.kind:
            after_removed = False
            rest = part.text.split("\n", 1)
            if len(rest) > 1 and rest[1]:
                parts.append(Part(rest[1]))
        else:
            after_removed = False
            parts.append(part)
    return Packet(tuple(parts))


def _tidied(before: Packet, after: Packet) -> Packet:
    """Take out emptied blocks, and the blanks and empty lines that edits left in others."""
    if after is before:
        return before
    old = {part.text for part in before.blocks}
    changed: dict[int, Part | None] = {}
    for number, part in enumerate(after.parts):
        if not part.kind or part.text in old:
            continue
        text = _EMPTY_LINES.sub("\n", _BLANKS.sub("", part.text))
        if not text.strip():
            changed[number] = None
        elif text != part.text:
            changed[number] = replace(part, text=text)
    return _with(after, changed) if changed else after


def _inserted(packet: Packet, passage: str, day: str) -> Packet:
    """Put a passage before the first entry of a later day, else before the end."""
    new = Packet.of(passage).parts
    later = (n for n, part in enumerate(packet.parts) if part.is_dated and day and part.date > day)
    at = next(later, None)
    if at is None:
        packet = end_of(packet)
        closing = (n for n, part in enumerate(packet.parts) if part.text.lstrip().startswith(END))
        at = next(closing, len(packet.parts))
    return Packet((*packet.parts[:at], *new, *packet.parts[at:]))
