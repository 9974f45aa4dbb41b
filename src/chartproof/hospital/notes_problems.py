"""What a summary calls the problems that are coded."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from chartproof.hospital.notes_patient import Admission, Code
from chartproof.hospital.notes_phrases import Author, data


@dataclass(frozen=True)
class Problem:
    """A problem as a summary names it."""

    name: str
    past: str
    lay: str
    chronic: bool
    text: str


def problems(admission: Admission, author: Author) -> list[Problem]:
    """The problems that an admission's codes stand for, each once."""
    known: list[Problem] = []
    names: set[str] = set()
    coded = tuple(p for prefixes in data("problems")["codes"].values() for p in prefixes)
    skip = tuple(data("problems")["skip"])
    for code in admission.diagnoses:
        if code.code.startswith(coded):
            continue
        problem = _known(code, author)
        if problem is None and not code.code.startswith(skip) and len(known) < 6 and code.title:
            name = code.title.split(",")[0].split("(")[0].strip()
            text = author.one(data("problems")["unknown"]["text"])
            problem = Problem(name, "", name.lower(), chronic=False, text=text)
        if problem is not None and problem.name not in names:
            names.add(problem.name)
            known.append(problem)
    return known


def _known(code: Code, author: Author) -> Problem | None:
    entry = _entry(code.code)
    if entry is None:
        return None
    return Problem(
        name=entry["name"],
        past=entry.get("past", ""),
        lay=entry.get("lay", entry["name"].lower()),
        chronic=entry["kind"] == "chronic",
        text=author.one(entry["text"]),
    )


@cache
def _entry(code: str) -> Mapping[str, Any] | None:
    """The problem of the longest prefix that a code begins with."""
    best: tuple[int, Mapping[str, Any]] | None = None
    for each in data("problems")["problems"]:
        for prefix in each["codes"]:
            if code.startswith(prefix) and (best is None or len(prefix) > best[0]):
                best = (len(prefix), each)
    return best[1] if best else None
