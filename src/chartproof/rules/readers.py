"""All readers of notes by kind, and the rows that they give to `facts.sql`.

A reader is a function from a reading (data) and a note to mentions. A mention's value is text; a
reader of lists may give a JSON object as text, one mention per item (`value->>'drug'` in SQL).
"""

from collections.abc import Callable, Sequence
from typing import Any

import duckdb

from chartproof.errors import SpecError
from chartproof.records.notes import Reading
from chartproof.rules import exams, intents, medications, statements
from chartproof.rules.statements import Mention, Note

Reader = Callable[[Reading, Note], list[Mention]]

READERS: dict[str, Reader] = {
    "statement": statements.read,
    "exam": exams.read,
    "medication_list": medications.read,
    "medication_intent": intents.read,
}

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
    """The reader of a reading.

    Raises:
        SpecError: There is none of that kind.
    """
    if reading.kind not in READERS:
        raise SpecError(
            f"Reading `{reading.id}` has the kind `{reading.kind}`, which no reader knows.",
            remedy=f"Known: {', '.join(READERS)}.",
        )
    return READERS[reading.kind]
