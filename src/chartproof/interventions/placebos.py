"""Changes that must change no answer, made and proved.

Source: METRICS, Specificity. Wording is data: `catalog/interventions/placebos.yaml`.
"""

import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

from chartproof.catalog.intervention_files import read_placebos
from chartproof.errors import SpecError
from chartproof.interventions.catalogue import Catalogue, catalogue
from chartproof.interventions.eligibility import Subject, eligibility
from chartproof.interventions.passages import Packet, Part, paragraphs, reread
from chartproof.interventions.patterns import Pattern
from chartproof.interventions.states import inconsequent, otherwise
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import State
from chartproof.records.placebo import (
    Brand,
    Exchange,
    FreeFlip,
    Insert,
    Placebo,
    Remove,
    Replace,
    Rewrap,
    SameDay,
    ShiftDates,
    Shuffle,
)

Rendered = Callable[[State], str]
"""A packet of a changed state, with the seed and size of the original."""
_DAY = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_TIE = "\0"
"""Stands for a space at which no line may end."""


@cache
def placebos() -> dict[str, Placebo]:
    """All placebos, by their ids."""
    return {each.id: each for each in read_placebos().placebos}


def placebo(id_: str) -> Placebo:
    """A placebo by its id, or by the beginning of it (`P7`).

    Raises:
        SpecError: There is none.
    """
    found = [each for name, each in placebos().items() if id_ in {name, name.split("_")[0]}]
    if not found:
        raise SpecError(f"There is no placebo `{id_}`.", remedy=f"Known: {', '.join(placebos())}.")
    return found[0]


def changed_by(
    said: Placebo, subject: Subject, random: Random, rendered: Rendered | None = None
) -> Packet | None:
    """The packet with a placebo; None where there is nothing in it to change.

    Args:
        said: Which.
        subject: The packet.
        random: Draws among wordings and places.
        rendered: For those that change the state; without it they change nothing.
    """
    packet, do = subject.packet, said.do
    match do:
        case Replace():
            after = _replaced(do, packet, random)
        case Exchange():
            after = _exchanged(do, subject, random)
        case Shuffle():
            after = _shuffled(do, packet, random)
        case SameDay():
            after = _swapped(do, packet, random)
        case ShiftDates():
            after = _shifted(do, packet, random)
        case Rewrap():
            after = _rewrapped(do, packet, random)
        case Brand():
            after = _branded(do, packet, random)
        case Insert():
            after = _inserted(do, subject, random)
        case Remove():
            after = _removed(do, packet, random)
        case FreeFlip():
            after = _flipped(do, subject, rendered)
    return after if after is not None and after.text != packet.text else None


def harms(subject: Subject, after: Packet, among: Catalogue) -> tuple[str, ...]:
    """What a placebo changed that it must not: probes, and the eligibility of every entry.

    A packet in which it changed any is no arm of a study.
    """
    other = replace(subject, packet=after)
    facts = subject.facts
    found = [
        f"{name} was {old or 'not told'} and is {new or 'not told'}"
        for name in facts.probes
        if (old := facts.value(subject.packet, name)) != (new := facts.value(after, name))
    ]
    for intervention in among.with_text():
        for edition in ("v1", "v1cr", "v2"):
            was = eligibility(intervention, edition, subject).eligible
            if was != eligibility(intervention, edition, other).eligible:
                verb = "no longer applies" if was else "now applies"
                found.append(f"{intervention.id} ({edition}) {verb}")
    return tuple(found)


def free_flip(do: FreeFlip, state: State, among: Catalogue) -> State | None:
    """The state with the first fact changed on which no treatment depends; None without one."""
    for id_ in do.entries:
        entry = among[id_].entry
        ours = among[id_].v2
        cancers = ours.said.applicability.cancer_type if ours else entry.cancers
        changed = all(state.facts.get(k, "") != v for k, v in entry.state_effect.items())
        told = all(name in state.facts for name in entry.state_effect if "_" not in name)
        if state.cancer in cancers and changed and told and inconsequent(state, entry):
            return otherwise(state, entry)
    return None


# ------------------------------------------------------------------ the verbs


def _plain(source: str) -> Pattern:
    return Pattern(source, {}, lambda: "interventions/placebos.yaml")


def _with(packet: Packet, changed: dict[int, Part]) -> Packet:
    return Packet(tuple(changed.get(n, part) for n, part in enumerate(packet.parts)))


def _among(packet: Packet, scope: Iterable[str]) -> list[tuple[int, Part]]:
    kinds = tuple(scope)
    return [
        (n, part)
        for n, part in enumerate(packet.parts)
        if part.kind and (not kinds or part.kind in kinds)
    ]


def _replaced(do: Replace, packet: Packet, random: Random) -> Packet:
    pattern = _plain(do.pattern)

    def put(found: Any) -> str:
        chosen: str = found.expand(random.choice(do.choices))
        return re.sub(r"\{d\}", lambda _: str(random.randrange(10)), chosen)

    changed = {
        n: reread(pattern.replaced(part.text, put), part)
        for n, part in _among(packet, do.scope)
        if pattern.matches(part.text)
    }
    return _with(packet, changed)


def _exchanged(do: Exchange, subject: Subject, random: Random) -> Packet | None:
    reader = subject.facts.reader
    guards = (do.held_by,) if do.held_by else tuple(reader.guards)
    places: list[tuple[int, Part, int, str, str]] = []
    for one, other in do.pairs:
        for old, new in ((one, other), (other, one)):
            pattern = _plain(rf"(?<!\w){re.escape(old)}(?!\w)")
            for n, part in _among(subject.packet, ()):
                places += [
                    (n, part, start, old, new)
                    for start, end in pattern.spans(part.text)
                    if part.text[start:end] == old
                    and (reader.guard(part.text, (start, end), guards) is None) != bool(do.held_by)
                ]
        if places:
            break
    if not places:
        return None
    n, part, start, old, new = random.choice(places)
    text = part.text[:start] + new + part.text[start + len(old) :]
    return _with(subject.packet, {n: reread(text, part)})


def _shuffled(do: Shuffle, packet: Packet, random: Random) -> Packet:
    title = _plain(do.title)
    changed: dict[int, Part] = {}
    for n, part in _among(packet, do.scope):
        if not title.matches(part.title):
            continue
        lines = part.text.split("\n")
        for at, line in enumerate(lines):
            values = line.split(do.separator)
            if at and len(values) > 1:
                random.shuffle(values)
                lines[at] = do.separator.join(values)
        changed[n] = replace(part, text="\n".join(lines))
    return _with(packet, changed)


def _swapped(do: SameDay, packet: Packet, random: Random) -> Packet | None:
    entries = [(n, part) for n, part in enumerate(packet.parts) if part.kind]
    pairs = [
        (a, b)
        for (a, one), (b, two) in pairwise(entries)
        if one.is_dated
        and one.date == two.date
        and one.kind != two.kind
        and do.entry in {one.kind, two.kind}
    ]
    if not pairs:
        return None
    a, b = random.choice(pairs)
    return _with(packet, {a: packet.parts[b], b: packet.parts[a]})


def _shifted(do: ShiftDates, packet: Packet, random: Random) -> Packet:
    days, keep = timedelta(days=random.choice(do.days)), _plain(do.keep)

    def moved(found: re.Match[str]) -> str:
        try:
            return (date.fromisoformat(found[0]) + days).isoformat()
        except ValueError:
            return found[0]

    def shifted(text: str) -> str:
        return "\n".join(
            line if keep.matches(line) else _DAY.sub(moved, line) for line in text.split("\n")
        )

    return _with(packet, {n: reread(shifted(part.text), part) for n, part in _among(packet, ())})


def _rewrapped(do: Rewrap, packet: Packet, random: Random) -> Packet:
    width = random.choice(do.widths)
    changed: dict[int, Part] = {}
    for n, part in _among(packet, do.scope):
        lines = part.text.split("\n")
        wrapped = [
            line
            for paragraph in paragraphs(lines[1:])
            for line in (_wrapped(paragraph, width) if len(paragraph) > width else [paragraph])
        ]
        changed[n] = replace(part, text="\n".join([lines[0], *wrapped]))
    return _with(packet, changed)


@cache
def _names_with_spaces() -> re.Pattern[str]:
    model = knowledge().model
    names = {
        each
        for name, drug in model.drugs.items()
        for each in (name, *drug.brands, *drug.synonyms)
        if " " in each
    }
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))), re.IGNORECASE)


def _wrapped(paragraph: str, width: int) -> list[str]:
    tied = _names_with_spaces().sub(lambda m: m[0].replace(" ", _TIE), paragraph)
    lines = textwrap.wrap(
        tied, width, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
    return [line.replace(_TIE, " ") for line in lines]


def _branded(do: Brand, packet: Packet, random: Random) -> Packet | None:
    known = {
        name: (drug.brands, drug.not_followed_by) for name, drug in knowledge().model.drugs.items()
    }
    known |= {name: ((brand,), ()) for name, brand in do.names.items()}
    places: list[tuple[int, Part, int, str]] = []
    among = [
        (n, part, part.text.lower()) for n, part in _among(packet, ("Medication", "Encounter"))
    ]
    for name, (brands, others) in known.items():
        if not brands or " " in name:
            continue
        named = [(n, part) for n, part, lower in among if name.lower() in lower]
        if named:
            after = "|".join(map(re.escape, (*others, *brands)))
            pattern = _plain(rf"(?<![\w-]){re.escape(name)}(?![\w-])(?!\s+\(?(?:{after}))")
            places += [
                (n, part, end, brands[0])
                for n, part in named
                for _, end in pattern.spans(part.text)
            ]
    if not places:
        return None
    n, part, end, brand = random.choice(places)
    text = f"{part.text[:end]} ({brand}){part.text[end:]}"
    return _with(packet, {n: reread(text, part)})


def _inserted(do: Insert, subject: Subject, random: Random) -> Packet | None:
    packet: Packet | None = subject.packet
    for _ in range(do.times):
        packet = packet and _one_inserted(do, subject, packet, random)
    return packet


def _one_inserted(do: Insert, subject: Subject, packet: Packet, random: Random) -> Packet | None:
    dated = [(n, part) for n, part in enumerate(packet.parts) if part.is_dated]
    wordings = [
        each.template
        for each in do.wordings
        if all(
            subject.facts.value(subject.packet, name) == value for name, value in each.when.items()
        )
    ]
    if not dated or not wordings:
        return None
    if do.day == "any":
        at, part = random.choice(dated)
        day = part.date
    else:
        at, day = dated[0][0], dated[0][1].date
        try:
            day = (date.fromisoformat(day) - timedelta(days=do.day)).isoformat()
        except (ValueError, OverflowError):
            return None
    text = random.choice(wordings).replace("{day}", day)
    return Packet((*packet.parts[:at], *Packet.of(text).parts, *packet.parts[at:]))


def _removed(do: Remove, packet: Packet, random: Random) -> Packet | None:
    keep = _plain(do.keep)
    found = [n for n, part in _among(packet, do.scope) if not keep.matches(part.text)]
    if len(found) < do.times:
        return None
    gone = set(random.sample(found, do.times))
    gone |= {n + 1 for n in gone if n + 1 < len(packet.parts) and not packet.parts[n + 1].kind}
    return Packet(tuple(part for n, part in enumerate(packet.parts) if n not in gone))


def _flipped(do: FreeFlip, subject: Subject, rendered: Rendered | None) -> Packet | None:
    if subject.state is None or rendered is None:
        return None
    changed = free_flip(do, subject.state, catalogue())
    return None if changed is None else Packet.of(rendered(changed))
