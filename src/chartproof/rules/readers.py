"""All readers of notes by kind, and the rows that they give to `facts.sql`.

A reader is a function from a reading (data) and a note to mentions. A mention's value is text; a
reader of lists may give a JSON object as text, one mention per item (`value->>'drug'` in SQL).
"""

import signal
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType
from typing import Any

import duckdb

from chartproof.errors import SpecError
from chartproof.records.notes import Cue, Pattern, Reading
from chartproof.rules import exams, intents, medications, statements
from chartproof.rules.statements import Mention, Note

Reader = Callable[[Reading, Note], list[Mention]]

READERS: dict[str, Reader] = {
    "statement": statements.read,
    "exam": exams.read,
    "medication_list": medications.read,
    "medication_intent": intents.read,
}

SECONDS = 5.0
"""Of processor time for one reading of one note, which takes milliseconds: a pattern that repeats
what repeats itself may try more ways than there is time."""

_DISCHARGE = """
select 'discharge', note_id, coalesce(note_type, ''), coalesce(text, ''), []::varchar[],
       row_ref, hadm_id, charttime
from discharge order by charttime, note_id
"""
_RADIOLOGY = """
select 'radiology', r.note_id, coalesce(r.note_type, ''), coalesce(r.text, ''),
       coalesce((select list(d.field_value order by d.field_ordinal, d.field_value)
                 from radiology_detail d
                 where d.note_id = r.note_id and d.field_name = 'exam_name'
                   and d.field_value is not null), []),
       r.row_ref, r.hadm_id, r.charttime
from radiology r order by r.charttime, r.note_id
"""


def note_rows(db: duckdb.DuckDBPyConnection, readings: Sequence[Reading]) -> list[tuple[Any, ...]]:
    """Rows of `noted` (see `rules/engine.py`) for all notes of the chart.

    Raises:
        SpecError: A reading names a kind that does not exist.
    """
    rows: list[tuple[Any, ...]] = []
    tables = {table for reading in readings for table in reading.tables}
    for table, query in (("discharge", _DISCHARGE), ("radiology", _RADIOLOGY)):
        if table not in tables:
            continue
        for name, id_, type_, text, names, ref, hadm_id, at in db.execute(query).fetchall():
            note = Note(name, id_, type_, text, tuple(names))
            for reading in readings:
                if table in reading.tables:
                    rows += [
                        (
                            reading.id,
                            each.value,
                            table,
                            id_,
                            ref,
                            each.line_from,
                            each.line_to,
                            each.section,
                            hadm_id,
                            at,
                            each.text,
                        )
                        for each in reader(reading)(reading, note)
                    ]
    return rows


def reader(reading: Reading) -> Reader:
    """The reader of a reading. It ends with a SpecError where a pattern finds no end.

    Raises:
        SpecError: There is none of that kind.
    """
    if reading.kind not in READERS:
        raise SpecError(
            f"Reading `{reading.id}` has the kind `{reading.kind}`, which no reader knows.",
            remedy=f"Known: {', '.join(READERS)}.",
        )
    return _bounded


def _bounded(reading: Reading, note: Note) -> list[Mention]:
    try:
        with _within(SECONDS):
            return READERS[reading.kind](reading, note)
    except TimeoutError as error:
        pattern = _at_work(reading, error)
        told = f"the pattern `{pattern}`" if pattern else "a pattern"
        raise SpecError(
            f"Reading `{reading.id}`: {told} was at work on one note for more than {SECONDS:g} s.",
            remedy=r"Repeat nothing that repeats itself: `[\w\s]+` for `(\w+\s*)+`.",
        ) from error


@contextmanager
def _within(seconds: float) -> Generator[None]:
    """Raise TimeoutError in what takes more processor time, also in the midst of a match.

    By a signal, which `re` heeds and only a main thread is given; another thread has no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _late(_number: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def _at_work(reading: Reading, error: TimeoutError) -> str | None:
    """The pattern of a reading that was being matched, where a local of that time tells it."""
    written = statements.written(reading)
    for frame, _ in reversed([*walk_tb(error.__traceback__)]):
        for local in frame.f_locals.values():
            text = local.match if isinstance(local, Pattern) else local
            text = text.pattern if isinstance(text, Cue) else text
            if isinstance(text, str) and text in written:
                return text
    return None
