"""Write a patient's notes from the rows of the patient's tables.

The tables come first: a summary agrees with them except where a directive wants otherwise. The same
rows, directives and random state give the same notes, byte for byte.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import duckdb

from chartproof.chart.reference import stem
from chartproof.chart.schema import tables
from chartproof.errors import SpecError
from chartproof.hospital import notes_discharge, notes_medications, notes_radiology
from chartproof.hospital.notes_page import Page
from chartproof.hospital.notes_patient import Admission, Patient, read
from chartproof.hospital.notes_phrases import Author
from chartproof.hospital.notes_radiology import Report
from chartproof.records.recipe import Exam, Medication, Say, Sentence

LAST_YEAR = 2019
"""The note module ends with this year of the real calendar."""

_REGISTERS = ("terse", "terse", "verbose")


def write(
    db: duckdb.DuckDBPyConnection,
    *,
    subject_id: int,
    say: Sequence[Say] = (),
    exams: Sequence[Exam] = (),
    rng: random.Random,
    medications: Mapping[int, Sequence[Medication]] | None = None,
    covered: Collection[int] | None = None,
) -> list[Sentence]:
    """Write the summaries of a patient's admissions and the reports of the examinations.

    Args:
        db: Tables of the official names; note tables receive rows, with `row_ref` where they have
            that column.
        subject_id: Whose notes.
        say: Compiled directives: `hadm_id` is an id. A directive with `exam` speaks of
            `exams[exam]`.
        exams: Compiled examinations; those without a report are passed over.
        rng: Decides wording, and nothing that a table holds.
        medications: The whole regimen of an admission, by hadm_id. Of other admissions the lists
            are made up from the ED's home list and the orders.
        covered: Admissions whose summaries the note module holds; None tells them by the
            patient's era.

    Returns:
        A label for every sentence that asserts a fact.

    Raises:
        SpecError: A directive asks for what no phrase says, or an examination has no time.
    """
    patient = read(db, subject_id)
    desk = _Desk(db, patient, rng)
    reports = desk.reports(exams, say)
    for admission in patient.admissions:
        said = [s for s in say if s.note == "discharge" and _of(s, admission)]
        dropped = any(s.fact == "summary" and s.value == "absent" for s in said)
        if dropped or not _covered(patient, admission, covered):
            continue
        planned = (medications or {}).get(admission.hadm_id)
        desk.summary(admission, said, planned, [r for r in reports if _during(r, admission)])
    desk.store()
    return desk.sentences


def _of(say: Say, admission: Admission) -> bool:
    if isinstance(say.hadm_id, str):
        raise SpecError(
            f"The directive `{say.fact}` has `{say.hadm_id}` for an encounter.",
            remedy="Compile directives before notes are written.",
        )
    return say.hadm_id == admission.hadm_id


def _covered(patient: Patient, admission: Admission, covered: Collection[int] | None) -> bool:
    if covered is not None:
        return admission.hadm_id in covered
    first = patient.era[:4]
    if not first.isdecimal():
        return True
    return int(first) + admission.admittime.year - patient.anchor_year <= LAST_YEAR


def _during(report: Report, admission: Admission) -> bool:
    if report.hadm_id is not None:
        return report.hadm_id == admission.hadm_id
    return admission.admittime - timedelta(hours=24) <= report.charttime <= admission.dischtime


class _Desk:
    """Where notes are numbered, labelled and stored."""

    def __init__(self, db: duckdb.DuckDBPyConnection, patient: Patient, rng: random.Random) -> None:
        self.db = db
        self.patient = patient
        self.rng = rng
        self.known: dict[str, str] = {}
        self.sentences: list[Sentence] = []
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.seq = {"DS": rng.randint(2, 20), "RR": rng.randint(2, 30), "AR": rng.randint(2, 30)}

    def author(self) -> Author:
        """The next author; what stays with the patient is known to each."""
        stable = ("hd_schedule", "access", "ckd_cause", "immunosupp", "year_ago")
        known = {name: self.known[name] for name in stable if name in self.known}
        return Author(self.rng.choice(_REGISTERS), self.patient.female, self.rng, known)

    def reports(self, exams: Sequence[Exam], say: Sequence[Say]) -> list[Report]:
        """Write the reports of the examinations that have one."""
        written: list[Report] = []
        for each in say:
            if each.note == "radiology" and each.exam not in range(len(exams)):
                raise SpecError(
                    f"The directive `{each.fact}` speaks of exam {each.exam}, of {len(exams)}.",
                    remedy="Give `exam`: an index into the recipe's exams, the first is 0.",
                )
        for n, exam in enumerate(exams):
            if not exam.report:
                continue
            said = [s for s in say if s.note == "radiology" and s.exam == n]
            written.append(notes_radiology.report(exam, self.author(), said))
        for report in sorted(written, key=lambda r: r.charttime):
            self._file(report)
        return written

    def summary(
        self,
        admission: Admission,
        said: Sequence[Say],
        planned: Sequence[Medication] | None,
        reports: Sequence[Report],
    ) -> None:
        """Write the summary of an admission."""
        author = self.author()
        regimen = planned if planned is not None else notes_medications.invented(admission, author)
        brief = notes_discharge.Brief(self.patient, admission, reports, regimen, said)
        page = notes_discharge.summary(brief, author)
        self.known |= author.known
        note_id = self._note(
            "discharge",
            "DS",
            page,
            hadm_id=admission.hadm_id,
            charttime=admission.dischtime.replace(hour=0, minute=0, second=0),
            storetime=admission.dischtime + timedelta(hours=self.rng.randint(1, 90)),
        )
        self._detail("discharge_detail", note_id, [("author", "___")])

    def store(self) -> None:
        """Put the rows into the tables."""
        for table, rows in self.rows.items():
            _insert(self.db, table, rows)

    def _file(self, report: Report) -> None:
        note_id = self._note(
            "radiology",
            "RR",
            report.page,
            hadm_id=report.hadm_id,
            charttime=report.charttime,
            storetime=report.storetime,
        )
        details = list(report.details)
        if report.addendum is not None:
            later = report.storetime + timedelta(hours=self.rng.randint(1, 40))
            added = self._note(
                "radiology",
                "AR",
                report.addendum,
                hadm_id=report.hadm_id,
                charttime=report.charttime,
                storetime=later,
            )
            self._detail("radiology_detail", added, [("parent_note_id", note_id)])
            details.append(("addendum_note_id", added))
        self._detail("radiology_detail", note_id, details)

    def _note(
        self,
        table: str,
        kind: str,
        page: Page,
        *,
        hadm_id: int | None,
        charttime: datetime,
        storetime: datetime,
    ) -> str:
        self.seq[kind] += 1
        note_id = f"{self.patient.subject_id}-{kind}-{self.seq[kind]}"
        self.rows.setdefault(table, []).append(
            {
                "note_id": note_id,
                "subject_id": self.patient.subject_id,
                "hadm_id": hadm_id,
                "note_type": kind,
                "note_seq": self.seq[kind],
                "charttime": charttime,
                "storetime": storetime,
                "text": page.text,
            }
        )
        for placed in page.placed:
            self.sentences.append(
                Sentence(
                    table="discharge" if table == "discharge" else "radiology",
                    note_id=note_id,
                    line_from=placed.line_from,
                    line_to=placed.line_to,
                    section=placed.section,
                    pattern=placed.label.pattern,
                    fact=placed.label.fact,
                    value=placed.label.value,
                    state=placed.label.state,
                )
            )
        return note_id

    def _detail(self, table: str, note_id: str, pairs: Sequence[tuple[str, str]]) -> None:
        counts: dict[str, int] = {}
        for name, value in pairs:
            counts[name] = counts.get(name, 0) + 1
            self.rows.setdefault(table, []).append(
                {
                    "note_id": note_id,
                    "subject_id": self.patient.subject_id,
                    "field_name": name,
                    "field_value": value,
                    "field_ordinal": counts[name],
                }
            )


def _insert(db: duckdb.DuckDBPyConnection, table: str, rows: Sequence[dict[str, Any]]) -> None:
    spec = tables()[table]
    cited = "row_ref" in {row[0] for row in db.execute(f"describe {table}").fetchall()}
    columns = ", ".join(spec.columns)
    typed = ", ".join(f"{name}::{kind} as {name}" for name, kind in spec.columns.items())
    ref = f", {stem(spec)} as row_ref" if cited else ""
    one = f"({', '.join('?' for _ in spec.columns)})"
    # one statement: row by row, DuckDB takes longer to plan than to insert
    db.execute(
        f"insert into {table} by name select *{ref} from (select {typed} from "
        f"(values {', '.join(one for _ in rows)}) as raw({columns}))",
        [row[name] for row in rows for name in spec.columns],
    )
