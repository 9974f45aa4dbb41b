"""The phrases of the catalogue, read once, and how text is set in lines."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeVar, get_args

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.errors import SpecError
from chartproof.oncology.dice import Stream
from chartproof.records.board import Cancer
from chartproof.records.phrases import (
    CancerPhrases,
    CommonPhrases,
    Filler,
    Markers,
    MedicationPhrases,
)
from chartproof.records.record import Document

D = TypeVar("D", bound=Document)
FOLDER = ROOT / "board" / "phrases"
_SLOT = re.compile(r"\{[a-z]:([^}]*)\}")
_HYPHENED = re.compile(r"(?:HER2|EGFR|ALK|ROS1|MSI|BRAF|RAS)-(?=[A-Za-z])")
"""A marker whose value may begin the next line: a real cause of edits that find nothing."""


@dataclass(frozen=True)
class Phrases:
    """All words of invented packets."""

    common: CommonPhrases
    markers: Markers
    medications: MedicationPhrases
    filler: Filler
    cancers: dict[Cancer, CancerPhrases]


@cache
def phrases() -> Phrases:
    """Read them.

    Raises:
        SpecError: A file is wrong, or that of a cancer names another.
    """
    cancers: dict[Cancer, CancerPhrases] = {}
    for cancer in get_args(Cancer):
        path = FOLDER / "cancers" / f"{cancer}.yaml"
        cancers[cancer] = _read(f"cancers/{cancer}.yaml", CancerPhrases)
        if cancers[cancer].cancer != cancer:
            raise SpecError(
                f"{path}: its cancer is `{cancers[cancer].cancer}`.",
                remedy=f"Set `cancer: {cancer}`.",
            )
    return Phrases(
        common=_read("common.yaml", CommonPhrases),
        markers=_read("markers.yaml", Markers),
        medications=_read("medications.yaml", MedicationPhrases),
        filler=_read("filler.yaml", Filler),
        cancers=cancers,
    )


def _read(name: str, record: type[D]) -> D:
    return read_yaml(FOLDER / name, record)


@cache
def _segments(template: str) -> tuple[str | tuple[str, float, float] | tuple[str, ...], ...]:
    """A template as text, numbers `(format, least, most)`, and words to choose from."""
    made: list[str | tuple[str, float, float] | tuple[str, ...]] = []
    at = 0
    for slot in _SLOT.finditer(template):
        made.append(template[at : slot.start()])
        at = slot.end()
        if "|" in slot[1]:
            made.append(("", *slot[1].split("|")))
            continue
        least, most = slot[1].split("-")
        decimals = len(least.partition(".")[2])
        made.append((f".{decimals}f", float(least), float(most)))
    made.append(template[at:])
    return tuple(each for each in made if each)


def filled(template: str, stream: Stream) -> str:
    """A template with its numbers and words drawn."""
    if "{" not in template:
        return template
    parts: list[str] = []
    for each in _segments(template):
        if isinstance(each, str):
            parts.append(each)
        elif each[0]:
            form, least, most = each
            step = 10 ** -int(form[1:-1])  # type: ignore[index]  # a number's format
            number = least + stream.share() * (most - least + step)  # type: ignore[operator]
            parts.append(format(min(number, most), form))  # type: ignore[arg-type]
        else:
            parts.append(stream.pick(each[1:]))  # type: ignore[arg-type]
    return "".join(parts)


def wrapped(text: str, width: int, *, hyphens: bool = False) -> list[str]:
    """Break prose into lines at spaces; `~` is a space at which no line is broken.

    Args:
        text: Of one paragraph.
        width: Characters of a line at most, where words allow it.
        hyphens: Also break after the hyphen of a marker's value.
    """
    if len(text) <= width:
        return [text.replace("~", " ")]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if not line:
            line = word
        elif len(line) + 1 + len(word) <= width:
            line += " " + word
        else:
            cut = _HYPHENED.match(word) if hyphens else None
            if cut and len(line) + 1 + cut.end() <= width:
                lines.append(f"{line} {word[: cut.end()]}")
                line = word[cut.end() :]
            else:
                lines.append(line)
                line = word
    lines.append(line)
    return [each.replace("~", " ") for each in lines]


def together(name: str) -> str:
    """A name at whose spaces no line is broken."""
    return name.replace(" ", "~")


def sentence(parts: Sequence[str]) -> str:
    """Sentences in a row, without those that are empty."""
    return " ".join(each for each in parts if each)
