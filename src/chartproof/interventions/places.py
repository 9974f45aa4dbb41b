"""Where two packets differ, place by place, by how much, and packets that differ in some places.

A place is a block that is another, gone, or new. Source: the evidence dose of our metamorphic
relations: a fact that is changed in k of the n places that tell it.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher
from random import Random

from chartproof.interventions.passages import Packet, Part

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Place:
    """Parts of one packet for which the other has others: half-open, either may be empty."""

    start: int
    end: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a text is another.

    Attributes:
        removed: Characters of the first text that the second has not.
        added: Characters of the second that the first has not.
    """

    removed: int
    added: int


def places(before: Packet, after: Packet) -> tuple[Place, ...]:
    """Where a packet was changed, in its order."""
    found: list[Place] = []
    for tag, i, i2, j, j2 in _matcher(before, after).get_opcodes():
        if tag == "equal":
            continue
        old, new = before.parts[i:i2], after.parts[j:j2]
        if [part.kind for part in old] == [part.kind for part in new]:
            found += [
                Place(i + n, i + n + 1, (b,))
                for n, (a, b) in enumerate(zip(old, new, strict=True))
                if a.text != b.text
            ]
        else:
            found.append(Place(i, i2, new))
    return tuple(found)


def extent(before: Packet, after: Packet) -> Extent:
    """By how many characters two packets differ, word by word within the places."""
    removed = added = 0
    for place in places(before, after):
        old = _TOKEN.findall("".join(part.text for part in before.parts[place.start : place.end]))
        new = _TOKEN.findall("".join(part.text for part in place.parts))
        for tag, i, i2, j, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                removed += sum(map(len, old[i:i2]))
                added += sum(map(len, new[j:j2]))
    return Extent(removed, added)


def partly(before: Packet, changed: Collection[Place]) -> Packet:
    """The packet with some of the places as they are in the other one."""
    parts: list[Part] = []
    at = 0
    for place in sorted(changed, key=lambda each: (each.start, each.end)):
        parts += before.parts[at : place.start]
        parts += place.parts
        at = place.end
    return Packet((*parts, *before.parts[at:]))


def drawn(found: Collection[Place], seed: str) -> tuple[Place, ...]:
    """Places in an order that hangs on a seed: the first k of them hold the first k − 1."""
    order = list(found)
    Random(seed).shuffle(order)
    return tuple(order)


def _matcher(before: Packet, after: Packet) -> SequenceMatcher[tuple[str, str]]:
    return SequenceMatcher(None, _keys(before), _keys(after), autojunk=False)


def _keys(packet: Packet) -> list[tuple[str, str]]:
    """What each part is recognised by; a separator by the block before it, for all are alike."""
    keys: list[tuple[str, str]] = []
    before = ""
    for part in packet.parts:
        keys.append((part.text, "" if part.kind else before))
        before = part.text if part.kind else before
    return keys
