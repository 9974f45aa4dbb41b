"""The report in the making: sentences, each with what it rests on."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from auditor.reading import Answer, Row

YES = "Yes"
NO = "No"
LACK = "Indeterminate: Lack of Data"
AMBIGUOUS = "Indeterminate: Medically Ambiguous"

Source = Row | Answer | str
"""A row, a whole answer, or a citation ready to print."""


@dataclass(frozen=True)
class Conclusion:
    """Where an investigation arrives.

    Attributes:
        verdict: One of the four.
        confidence: That the verdict is right.
        why: One sentence, without citations.
        sources: What that sentence rests on.
        leaning: Yes or No, whichever the evidence favours where the verdict defers.
        doubts: What fell short of a plain record; empty where nothing did.
    """

    verdict: str
    confidence: float
    why: str
    sources: tuple[Source, ...] = ()
    leaning: str = NO
    doubts: tuple[str, ...] = ()

    @property
    def defers(self) -> bool:
        """Whether the verdict declines to settle the question."""
        return self.verdict in (LACK, AMBIGUOUS)


@dataclass
class Draft:
    """Headed sections of sentences."""

    title: str = ""
    parts: list[tuple[str, list[str]]] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def head(self, name: str) -> None:
        """Begin a section."""
        self.parts.append((name, []))

    def say(self, sentence: str, *sources: Source | Iterable[Source]) -> None:
        """Add a sentence and its citations."""
        if not self.parts:
            self.head("Findings")
        self.parts[-1][1].append(cited(sentence, *sources))

    def doubt(self, what: str) -> None:
        """Note that something fell short of a plain record."""
        if what not in self.doubts:
            self.doubts.append(what)

    def text(self) -> str:
        """All sections, as list items."""
        shown = [f"# {self.title}"] if self.title else []
        for name, sentences in self.parts:
            if sentences:
                shown.append(f"\n## {name}\n")
                shown.extend(f"- {sentence}" for sentence in sentences)
        return "\n".join(shown)


def cited(sentence: str, *sources: Source | Iterable[Source]) -> str:
    """A sentence with its citations before the full stop."""
    marks: list[str] = []
    for source in sources:
        one_or_more = [source] if isinstance(source, Row | Answer | str) else list(source)
        for one in one_or_more:
            for mark in _marks(one):
                if mark not in marks:
                    marks.append(mark)
    body = sentence.strip().rstrip(".")
    return f"{body} {' '.join(marks)}." if marks else f"{body}."


def _marks(source: Source) -> list[str]:
    if isinstance(source, Row):
        return [f"[{source.ref}]"]
    if isinstance(source, Answer):
        return [f"[call:{call}]" for call in source.calls[-1:]]
    return [source]


def at(time: datetime | None) -> str:
    """A time as a report writes it."""
    if time is None:
        return "an unknown time"
    return time.strftime("%Y-%m-%d %H:%M:%S" if time.second else "%Y-%m-%d %H:%M")


def lines(rows: list[Row]) -> list[str]:
    """Citations of consecutive lines of one note or policy."""
    marks: list[str] = []
    run: list[Row] = []
    for row in [*sorted(rows, key=lambda r: (r.ref.split(" L")[0], r.line)), None]:
        if run and (row is None or row.ref.split(" L")[0] != run[0].ref.split(" L")[0]
                    or row.line > run[-1].line + 1):  # fmt: skip
            base = run[0].ref.rsplit(" L", 1)[0]
            span = f"L{run[0].line}" + (f"-L{run[-1].line}" if len(run) > 1 else "")
            marks.append(f"[{base} {span}]")
            run = []
        if row is not None:
            run.append(row)
    return marks


HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
