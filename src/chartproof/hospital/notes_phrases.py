"""Phrases of the notes writer: data files read once, sentences picked and filled.

A sentence is chosen by fact, assertion class, section and the author's register; its slots are
filled from what must be said, else from the chart, else from the phrase file.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar, cast

import yaml

from chartproof.errors import SpecError
from chartproof.hospital.notes_page import Label, Phrase

T = TypeVar("T")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A sentence with slots, and what it asserts."""

    id: str
    fact: str
    value: str
    state: str | None
    sections: tuple[str, ...]
    register: str
    text: str

    @property
    def slots(self) -> frozenset[str]:
        """Names of the slots of its text, as they are given: `{Drug}` is `drug` with a capital."""
        return frozenset(_plain(name) for name in _SLOT.findall(self.text))

    @property
    def label(self) -> Label:
        """What a reader has to find in it."""
        return Label(self.id, self.fact, self.value, self.state)


@cache
def data(name: str) -> dict[str, Any]:
    """A phrase file by name."""
    text = (files("chartproof.hospital") / "phrases" / f"{name}.yaml").read_text(encoding="utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where it was built
    return cast("dict[str, Any]", yaml.load(text, loader))


@cache
def phrases() -> dict[str, dict[str, Any]]:
    """Sentences, headings and slots of all files of `phrases/facts`.

    Raises:
        SpecError: A fact, heading or slot stands in two files.
    """
    merged: dict[str, dict[str, Any]] = {"facts": {}, "headings": {}, "slots": {}}
    folder = files("chartproof.hospital") / "phrases" / "facts"
    names = sorted(each.name[:-5] for each in folder.iterdir() if each.name.endswith(".yaml"))
    for name in names:
        for kind, entries in data(f"facts/{name}").items():
            twice = sorted(merged[kind].keys() & (entries or {}).keys())
            if twice:
                raise SpecError(
                    f"`{twice[0]}` of phrases/facts/{name}.yaml stands in another file too.",
                    remedy="Keep it in one of them; slots of several files go to common.yaml.",
                )
            merged[kind] |= entries or {}
    return merged


@cache
def patterns() -> dict[str, tuple[Pattern, ...]]:
    """Every pattern, by fact."""
    return {
        fact: tuple(
            Pattern(
                each["id"],
                fact,
                each["value"],
                each.get("state"),
                tuple(each["in"]),
                each["by"],
                each["text"],
            )
            for each in entries
        )
        for fact, entries in phrases()["facts"].items()
    }


@dataclass(frozen=True)
class Author:
    """Who writes a note: a register, and the words for the patient.

    Attributes:
        known: What a slot was filled with before, so that a note does not contradict itself.
    """

    register: str
    female: bool
    rng: random.Random
    known: dict[str, str] = field(default_factory=dict)

    def words(self) -> dict[str, str]:
        """Pronouns and nouns for the patient."""
        she = self.female
        return {
            "he": "she" if she else "he",
            "He": "She" if she else "He",
            "his": "her" if she else "his",
            "His": "Her" if she else "His",
            "him": "her" if she else "him",
            "sex": "F" if she else "M",
            "sex_word": "woman" if she else "man",
            "other_sex": "man" if she else "woman",
            "title": "Ms." if she else "Mr.",
        }

    def pick(
        self,
        fact: str,
        value: str,
        *,
        sections: Iterable[str] = (),
        state: str | None = None,
        given: Iterable[str] = (),
    ) -> Pattern:
        """A pattern of a fact and assertion class, if possible in the author's register.

        Args:
            fact: What it asserts.
            value: The class of the assertion.
            sections: Where it may stand; anywhere if empty.
            state: The refinement of the value.
            given: Slots that the sentence has to have.

        Raises:
            SpecError: No phrase says that in those sections with those slots.
        """
        wanted = set(sections)
        fits = [
            p
            for p in patterns().get(fact, ())
            if p.value == value
            and p.state == state
            and (not wanted or wanted.intersection(p.sections))
        ]
        if not fits:
            said = sorted(
                {f"{p.value}/{p.state}" if p.state else p.value for p in patterns().get(fact, ())}
            )
            raise SpecError(
                f"No phrase says `{fact}` as `{value}`"
                + (f" ({state})" if state else "")
                + (f" in {', '.join(sorted(wanted))}." if wanted else "."),
                remedy=f"It can be said as {', '.join(said)}; sections are in "
                "docs/reference/notes.md."
                if said
                else "Use a fact, value, state and section of docs/reference/notes.md.",
            )
        slots = {_plain(name) for name in given}
        fullest = max(fits, key=lambda p: len(p.slots & slots))
        if slots - fullest.slots:
            beside = ", ".join(f"`{name}`" for name in sorted(slots & fullest.slots))
            raise SpecError(
                f"No phrase that says `{fact}` as `{value}` has the slot "
                f"`{min(slots - fullest.slots)}`" + (f" beside {beside}." if beside else "."),
                remedy="Give slots of one sentence in hospital/phrases/facts, or add a sentence.",
            )
        fits = [p for p in fits if slots <= p.slots]
        own = [p for p in fits if p.register == self.register]
        # templated and patient lines belong to every author
        some = own or fits
        return self.rng.choice(some)

    def fill(self, text: str, *slots: Mapping[str, Any]) -> str:
        """Fill a text's slots; the first mapping that knows a slot gives it."""

        def put(match: re.Match[str]) -> str:
            name = match.group(1)
            for mapping in (*slots, self.words()):
                if mapping.get(name) is not None:
                    return str(mapping[name])
                lower = name[0].lower() + name[1:]
                if name[0].isupper() and mapping.get(lower) is not None:
                    return capital(str(mapping[lower]))
            known = _plain(name)
            pool = phrases()["slots"].get(known)
            if pool is None:
                raise SpecError(
                    f"Nothing fills the slot `{known}` of “{text}”.",
                    remedy="Give it in `slots` of the directive, or in phrases/facts.",
                )
            if known not in self.known:
                self.known[known] = str(self.rng.choice(pool))
            return self.known[known] if known == name else capital(self.known[known])

        return _SLOT.sub(put, text)

    def say(self, pattern: Pattern, *slots: Mapping[str, Any]) -> Phrase:
        """The pattern's sentence, filled, with its label."""
        return Phrase(self.fill(pattern.text, *slots), (pattern.label,))

    def one(self, pool: Sequence[T]) -> T:
        """One of several."""
        return self.rng.choice(pool)

    def chance(self, share: float) -> bool:
        """True in that share of cases."""
        return self.rng.random() < share


def _plain(slot: str) -> str:
    """A slot's name without the capital that asks for one."""
    return slot if slot.isupper() else slot[:1].lower() + slot[1:]


def places(fact: str, value: str, state: str | None) -> set[str]:
    """Sections in which a sentence says that."""
    return {
        section
        for pattern in patterns().get(fact, ())
        if (pattern.value, pattern.state) == (value, state)
        for section in pattern.sections
    }


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def muted(barred: Iterable[str]) -> re.Pattern[str] | None:
    """What generic text may not hold where directives decide of these facts."""
    voices = data("discharge")["voices"]
    found = [str(voices[fact]) for fact in sorted(barred) if fact in voices]
    return re.compile("|".join(found)) if found else None


def spelt(name: str, value: object) -> object:
    """A slot's value as a sentence has it: of a time only the clock."""
    if name.startswith("clock"):
        try:
            return f"{datetime.fromisoformat(str(value)):%H:%M}"
        except ValueError:
            return value
    return value
