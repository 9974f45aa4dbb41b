"""Entries of a packet on their way to text, and the bulk among them."""

from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from chartproof.oncology.dice import Dice, Stream
from chartproof.oncology.wording import filled, phrases, wrapped
from chartproof.records.board import Size
from chartproof.records.phrases import Bulk, Tagged

_ORDER: dict[str, int] = {
    "Vitals": 0, "Medication": 1, "Procedure": 2, "Lab Results": 3, "Encounter": 4,
}  # fmt: skip
BULK_WIDTH = 96
YEARS_BEFORE = 5
"""Of chart before the diagnosis."""


class Entry(NamedTuple):
    """One entry.

    Attributes:
        day: After the diagnosis; negative before it.
        bulk: It decides nothing.
    """

    day: int
    tag: Tagged
    title: str
    lines: tuple[str, ...]
    bulk: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """Sorts entries by date, and those of one day by tag."""
        return self.day, _ORDER[self.tag]

    def text(self, first_day: date) -> str:
        """As it stands in the packet, without its separator."""
        day = (first_day + timedelta(days=self.day)).isoformat()
        return "\n".join((f"[{self.tag}] {day} | {self.title}", *self.lines))


class _Plan(NamedTuple):
    """How much bulk a size has: characters before the diagnosis, days between entries after."""

    before: int
    gap: int


_PLANS: dict[Size, _Plan] = {
    "small": _Plan(before=3_500, gap=40),
    "medium": _Plan(before=24_000, gap=12),
    "large": _Plan(before=75_500, gap=3),
}


@cache
def _kinds() -> tuple[Bulk, ...]:
    return tuple(kind for kind in phrases().filler.kinds for _ in range(kind.weight))


def weight(seed: int, stream: Stream) -> str:
    """The patient's weight in kg on one day: near that of all other days."""
    usual = Dice(seed).number("weight", 560, 880)
    return f"{(usual + stream.number(-14, 14)) / 10:.1f}"


def bulk(seed: int, size: Size, *, until: int) -> Iterator[Entry]:
    """Entries about nothing: years of primary care, and what goes on beside a cancer.

    They depend on the seed alone; of those after the diagnosis, the ones before the day of the
    board are taken.

    Args:
        seed: Of the packet.
        size: Of the packet.
        until: The day of the board.
    """
    plan = _PLANS[size]
    stream = Stream(seed, "bulk before")
    written = 0
    while written < plan.before:
        made = _one(seed, stream, stream.number(-365 * YEARS_BEFORE, -20))
        written += len(made.title) + sum(map(len, made.lines)) + 40
        yield made
    stream = Stream(seed, "bulk after")
    day = 1
    while True:
        day += stream.number(1, 2 * plan.gap - 1)
        if day >= until:
            return
        yield _one(seed, stream, day)


def _one(seed: int, stream: Stream, day: int) -> Entry:
    kind = stream.pick(_kinds())
    title = stream.pick(kind.titles)
    told = [filled(stream.pick(part), stream) for part in kind.parts]
    if kind.tag == "Vitals":
        told = [line.replace("{weight}", weight(seed, stream)) for line in told]
    lines = wrapped(" ".join(told), BULK_WIDTH) if kind.tag in {"Encounter", "Procedure"} else told
    return Entry(day, kind.tag, title, tuple(lines), bulk=True)


def cycles(
    seed: int, name: str, size: Size, *, start: int, count: int, every: int, drug: str
) -> Iterator[Entry]:
    """What goes with a treatment: support, blood work, visits, calls; the more, the larger.

    Args:
        seed: Of the packet.
        name: Of the treatment, so that each has draws of its own.
        size: Of the packet.
        start: Day of the first cycle.
        count: Cycles.
        every: Days from one to the next.
        drug: As a visit names it.
    """
    words = phrases().filler.course
    stream = Stream(seed, f"course/{name}")
    for n in range(count):
        day = start + n * every
        parts = [filled(stream.pick(part), stream) for part in words.visits]
        call = [filled(stream.pick(part), stream) for part in words.calls]
        panel = tuple(filled(line, stream) for line in words.panel)
        vitals = tuple(
            filled(line, stream).replace("{weight}", weight(seed, stream)) for line in words.vitals
        )
        support = stream.pick(words.support)
        if size == "small" and n != count // 2:
            continue
        if n == 0 or size == "small":
            yield Entry(day, "Medication", support, ("Status: completed",), bulk=True)
        yield Entry(day, "Lab Results", "CBC and CMP", panel, bulk=True)
        yield Entry(day, "Vitals", "Infusion center", vitals, bulk=True)
        if size == "large" or n % 2 == 0:
            text = f"On {drug}, cycle {n + 1}. {' '.join(parts)}"
            lines = tuple(wrapped(text, BULK_WIDTH))
            yield Entry(day, "Encounter", "Medical oncology | Treatment visit", lines)
        if size == "large" or n == 1:
            lines = tuple(wrapped(" ".join(call), BULK_WIDTH))
            later = day + stream.number(2, max(3, every // 2))
            yield Entry(later, "Encounter", "Oncology nursing | Telephone call", lines, bulk=True)
