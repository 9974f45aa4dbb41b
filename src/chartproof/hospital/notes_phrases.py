"""Phrases of the notes writer: data files read once, sentences picked and filled.

A sentence is chosen by fact, assertion class, section and the author's register; its slots are
filled from what must be said, else from the chart, else from the phrase file.
"""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
        for fact, entries in data("facts")["facts"].items()
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
            "title": "Ms." if she else "Mr.",
        }

    def pick(
        self,
        fact: str,
        value: str,
        *,
        sections: Iterable[str] = (),
        state: str | None = None,
    ) -> Pattern:
        """A pattern of a fact and assertion class, if possible in the author's register.

        Raises:
            SpecError: No phrase says that in those sections.
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
            raise SpecError(
                f"No phrase says `{fact}` as `{value}`"
                + (f" ({state})" if state else "")
                + (f" in {', '.join(sorted(wanted))}." if wanted else "."),
                remedy="Use a fact, value, state and section of hospital/phrases/facts.yaml.",
            )
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
            pool = data("facts")["slots"].get(name)
            if pool is None:
                raise SpecError(
                    f"Nothing fills the slot `{name}` of “{text}”.",
                    remedy="Give it in `slots` of the directive, or in phrases/facts.yaml.",
                )
            if name not in self.known:
                self.known[name] = str(self.rng.choice(pool))
            return self.known[name]

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


def capital(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
