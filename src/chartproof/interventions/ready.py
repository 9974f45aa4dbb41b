"""Parts of the catalogue with their patterns compiled."""

import re
from dataclasses import dataclass

from chartproof.interventions.patterns import Pattern
from chartproof.records.intervention import (
    Applicability,
    Incoherence,
    Passage,
    PassageEdit,
    Printed,
    Probe,
    ProbeValue,
    Repaired,
)

_SENTENCES = re.compile(r"(?<=[.;!?])\s+|\n+")


@dataclass(frozen=True)
class ReadyProbe:
    """A probe with its patterns compiled."""

    name: str
    probe: Probe
    values: tuple[tuple[ProbeValue, tuple[Pattern, ...], tuple[Pattern, ...]], ...]
    veto: tuple[Pattern, ...]


@dataclass(frozen=True)
class ReadyApplicability:
    """Conditions of an edition with their patterns compiled."""

    said: Applicability
    requires: Pattern | None
    forbids: tuple[Pattern, ...]


@dataclass(frozen=True)
class ReadyEdit:
    """An edit with its patterns compiled."""

    said: PassageEdit
    pattern: Pattern
    not_block: Pattern | None
    salvage: Pattern | None


@dataclass(frozen=True)
class ReadyPassage:
    """An inserted passage with its conditions compiled."""

    said: Passage
    when: Pattern | None
    unless: Pattern | None


@dataclass(frozen=True)
class ReadyAudits:
    """Audits with their patterns compiled; they are the same for all editions of an entry."""

    residual: tuple[Pattern, ...]
    residual_guards: tuple[str, ...]
    ignore: Pattern | None
    required: tuple[Pattern, ...]
    incoherence: tuple[tuple[Incoherence, tuple[Pattern, ...], tuple[Pattern, ...]], ...]
    probe: str | None
    must_become: str | None
    new_fact: Pattern | None


@dataclass(frozen=True)
class ReadyRefusal:
    """How a reason names the two facts that conflict: in one sentence, by two expressions."""

    fact: Pattern
    conflict: Pattern
    denied: Pattern

    def named_in(self, reasons: str) -> bool:
        """Whether a sentence names the changed fact and says that it conflicts with another."""
        return any(
            self.conflict.matches(each)
            and self.fact.matches(each)
            and not self.denied.matches(each)
            for each in _SENTENCES.split(reasons)
        )


@dataclass(frozen=True)
class Published:
    """An entry as published, or with the announced repairs."""

    said: Printed
    applicability: ReadyApplicability
    pattern: Pattern | None


@dataclass(frozen=True)
class Ours:
    """An entry in our edition."""

    said: Repaired
    applicability: ReadyApplicability
    edits: tuple[ReadyEdit, ...]
    inserts: tuple[ReadyPassage, ...]
    slots: dict[str, dict[str, str]]
    """Cancer → slots; those of any cancer under the empty name."""
