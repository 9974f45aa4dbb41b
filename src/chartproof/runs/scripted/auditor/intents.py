"""What a summary says was meant: stopped, held, changed, started, to be resumed."""

import re
from dataclasses import dataclass

from auditor.drugs import Drug, speaks_of
from auditor.knowledge import pattern
from auditor.notes import Note, Sentence
from auditor.reading import Row

_LISTS = ("home_list", "discharge_list")


@dataclass(frozen=True)
class Told:
    """A passage about drugs, with the acts that it names or stands under."""

    sentence: Sentence
    acts: frozenset[str]


def told(note: Note) -> list[Told]:
    """Every passage outside the medication lists, with its acts."""
    passages: list[Told] = []
    heading: frozenset[str] = frozenset()
    lists = [pattern("knowledge", "sections", name) for name in _LISTS]
    for sentence in note.sentences():
        if any(wanted.search(sentence.section) for wanted in lists):
            heading = frozenset()
            continue
        label, _, rest = sentence.text.partition(":")
        own = (acts(rest) if len(label) < 40 else frozenset()) or acts(sentence.text)
        if _heads(sentence.text):
            heading = own
        elif not _listed(sentence.rows):
            heading = frozenset() if not heading or len(sentence.text) > 60 else heading
        passages.append(Told(sentence, own or heading))
    return passages


def acts(text: str) -> frozenset[str]:
    """The acts that a text names."""
    names = ("stopped", "held", "changed", "started", "resume")
    found = {name for name in names if pattern("knowledge", "intents", name).search(text)}
    if pattern("knowledge", "intents", "unchanged").search(text):
        found.discard("changed")
    if pattern("knowledge", "intents", "not_stopped").search(text):
        found -= {"stopped", "held"}
    return frozenset(found)


def about(passages: list[Told], drug: Drug) -> list[Told]:
    """Passages that name a drug or its class."""
    return [p for p in passages if speaks_of(p.sentence.text, drug)]


def _heads(text: str) -> bool:
    """Whether a passage is a heading for the items below it."""
    return len(text) < 70 and bool(re.search(r":\s*$", text)) and bool(acts(text))


def _listed(rows: tuple[Row, ...]) -> bool:
    return bool(rows) and bool(re.match(r"\s*(?:[-*•.]|\d+[.)]|\[ ?\])", rows[0].text("text")))
