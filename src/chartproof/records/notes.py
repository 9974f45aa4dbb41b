"""What is read from the text of notes: patterns as data, with sentences that prove them.

A *reading* looks through notes of one or more tables and yields *mentions*: a value with the lines
that carry it. How a mention is asserted (denied, historical, of a relative, planned only …) is told
by *cues* in the same sentence and by the section; `assertions.yaml` of the rules room holds the
cues that all readings share, a reading adds its own in `cues`, or voids a mention by `unless`.
"""

import re
from typing import Any, Literal, cast

from pydantic import Field, model_validator

from chartproof.records.record import Document, Record

Assertion = Literal[
    "negated", "historical", "hypothetical", "family", "other_person", "other_encounter", "copied"
]
"""What a cue says of a mention. A mention without any is simply stated."""

_CALL = re.compile(r"\(\?&(\w+)\)")


class Cue(Record):
    """Words that tell how a mention is meant.

    Attributes:
        pattern: Regular expression, case-insensitive, white space matches line breaks.
        side: Where the cue stands, seen from the mention.
        words: At most so many words between cue and mention; None is the whole clause.
        across: Whether it reaches over the ends of clauses, up to the sentence's.
    """

    assertion: Assertion
    pattern: str
    side: Literal["before", "after", "either"] = "before"
    words: int | None = None
    across: bool = False


class Assertions(Document):
    """Cues that all readings share.

    Attributes:
        breaks: Regular expressions at which a clause ends, and a cue's reach with it.
        stops: Assertion → where its cues' reach ends besides (`no fever and has CKD`).
        sections: Assertion → canonical sections in which every mention has it.
    """

    cues: tuple[Cue, ...]
    breaks: tuple[str, ...]
    stops: dict[Assertion, tuple[str, ...]] = Field(default_factory=dict)
    sections: dict[Assertion, tuple[str, ...]] = Field(default_factory=dict)


class Example(Record):
    """A sentence with what the reading must make of it; `value` None where it finds nothing."""

    text: str
    value: str | None


class Pattern(Record):
    """One way to say it.

    Attributes:
        match: Regular expression, case-insensitive; a blank matches any white space. A group named
            `value` gives the value, through the reading's `values` where it names it. Cues are
            seen from the group `told` where there is one, else from the whole match.
        value: The mention's value where there is no such group; None where a plain mention is no
            news and only what cues make of it counts.
        ignore: Assertions that are no news for this pattern (`dialysis was discontinued` contains
            its own historical cue).
        sections: Canonical sections to which the pattern keeps; empty is all that are read.
    """

    match: str
    value: str | None = "stated"
    ignore: tuple[Assertion, ...] = ()
    sections: tuple[str, ...] = ()


class Reading(Record):
    """A fact as notes tell it. Ids are unique in the whole catalogue: validity is kept by id.

    Attributes:
        kind: Which reader: `statement` reads sentences; `exam` reads what a radiology report
            examined; others are named in `rules/readers.py`.
        sections: Canonical section names (`rules/sections.yaml`) to read; empty reads all.
        skip_sections: Sections to leave out.
        lead: Sections of which only the first item is read, their own headings apart: of a list of
            diagnoses the one that stands first.
        only: Parts of words, in lower case; a sentence without any is passed over, which spares
            time. Empty reads all.
        unless: A mention whose sentence matches one of these is void.
        void: A mention whose *own words* (with 20 characters on both sides) match one of these is
            void: abbreviations with a second meaning.
        becomes: Assertion → value of a mention asserted so; None drops it. What is not named
            follows the default: negated → denied, historical → historical, all others drop.
        values: What `value` groups may catch (lower case) → value.
        prefer: Which value wins where one note holds several; a value not named loses to all
            that are. Empty keeps every mention.
        yields: Values that give way to any other value in the same note: a symptom, or a
            complication, to the condition behind it.
        prefer_in: Whether it wins over the whole note, or over its sentence alone, where the facts
            ask which section or which later sentence says what.
        first: Of a note only the first mention counts; within a sentence, that of the pattern
            which stands first here.
        parts: Name → regular expression that patterns, cues, `unless` and `void` call by
            `(?&name)`; a part may call those above it.
        options: For other kinds than `statement`.
        own: Assertions that only the reading's own cues give: the shared ones say nothing of it (a
            chronic disease found `years ago` is not over).
        sentences: How many sentences of one paragraph a pattern may span.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    about: str
    kind: str = "statement"
    tables: tuple[Literal["discharge", "radiology"], ...] = ("discharge",)
    sections: tuple[str, ...] = ()
    skip_sections: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    cues: tuple[Cue, ...] = ()
    only: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    void: tuple[str, ...] = ()
    becomes: dict[Assertion, str | None] = Field(default_factory=dict)
    values: dict[str, str] = Field(default_factory=dict)
    prefer: tuple[str, ...] = ()
    yields: tuple[str, ...] = ()
    prefer_in: Literal["note", "sentence"] = "note"
    first: bool = False
    parts: dict[str, str] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    own: tuple[Assertion, ...] = ()
    sentences: int = Field(default=1, ge=1)
    examples: tuple[Example, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _write_parts_out(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return cast("object", data)
        given = cast("dict[str, Any]", data)
        if not given.get("parts"):
            return given
        parts: dict[str, str] = {}
        for name, part in cast("dict[str, str]", given["parts"]).items():
            parts[name] = _whole(part, parts)
        called = ("patterns", "cues", "unless", "void")
        return given | {key: _whole(given[key], parts) for key in called if key in given}


def _whole(written: Any, parts: dict[str, str]) -> Any:
    """Patterns with their parts written out, wherever they stand."""
    if isinstance(written, str):
        for name in _CALL.findall(written):
            if name not in parts:
                raise ValueError(f"`(?&{name})` is called and is none of the parts above it")
            written = written.replace(f"(?&{name})", f"(?:{parts[name]})")
        return written
    if isinstance(written, dict):
        return {key: _whole(v, parts) for key, v in cast("dict[str, Any]", written).items()}
    if isinstance(written, list | tuple):
        return [_whole(each, parts) for each in cast("list[Any]", written)]
    return written


class Notes(Document):
    """`notes.yaml` of a scenario.

    Attributes:
        use: Ids of readings that several scenarios share, from `catalog/readings/<id>.yaml`.
        readings: The scenario's own.
    """

    use: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()


class SharedReading(Document):
    """`catalog/readings/<id>.yaml`."""

    reading: Reading


class Measured(Record):
    """How well a reading did on sentences that it was not written on."""

    n: int = Field(ge=1)
    recall: float = Field(ge=0, le=1)
    precision: float = Field(ge=0, le=1)


class Validity(Document):
    """`catalog/validity.yaml`: reading id → what was measured. Absent is not yet measured.

    Attributes:
        bar: A reading below it on recall or precision leaves the cases that rest on it pending.
    """

    bar: float = 0.9
    readings: dict[str, Measured] = Field(default_factory=dict)
