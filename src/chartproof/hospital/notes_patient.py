"""What the writer of notes reads of a patient: the rows that a note is written from."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import duckdb

from chartproof.hospital.notes_phrases import data


@dataclass(frozen=True, slots=True)
class Lab:
    """One result, as a panel line needs it."""

    itemid: int
    charttime: datetime
    value: str
    number: float | None
    abnormal: bool


@dataclass(frozen=True, slots=True)
class Code:
    """A coded diagnosis or procedure with its title."""

    code: str
    version: int
    title: str


@dataclass(frozen=True, slots=True)
class Culture:
    """A culture and what grew, None where nothing did."""

    specimen: str
    test: str
    organism: str | None


@dataclass(frozen=True)
class Admission:
    """One admission as its summary tells it."""

    hadm_id: int
    admittime: datetime
    dischtime: datetime
    died: bool
    location: str
    service: str
    complaint: str
    ed: bool
    icu: bool
    surgical: bool
    diagnoses: tuple[Code, ...]
    procedures: tuple[Code, ...]
    home: tuple[str, ...]
    """Names of the ED's home list, once each."""
    ordered: tuple[str, ...]
    labs: tuple[Lab, ...]
    cultures: tuple[Culture, ...]

    def codes(self, *prefixes: str) -> bool:
        """Whether a diagnosis code begins with one of the prefixes."""
        return any(d.code.startswith(prefixes) for d in self.diagnoses)

    def series(self, itemid: int) -> list[Lab]:
        """Results of an item in this admission, in time order, with a number."""
        return [lab for lab in self.labs if lab.itemid == itemid and lab.number is not None]


@dataclass(frozen=True)
class Patient:
    """One patient."""

    subject_id: int
    female: bool
    anchor_age: int
    anchor_year: int
    era: str
    """anchor_year_group, which tells what the hospital recorded at that time."""
    admissions: tuple[Admission, ...] = field(default=())

    def age(self, when: datetime) -> int:
        """Age in years at a time, as the record computes it."""
        return self.anchor_age + when.year - self.anchor_year


def read(db: duckdb.DuckDBPyConnection, subject_id: int) -> Patient:
    """Read the patient's rows from tables of the official names."""
    who = _rows(
        db,
        "select gender, anchor_age, anchor_year, anchor_year_group from patients "
        "where subject_id = $s",
        subject_id,
    )[0]
    stays = _rows(
        db,
        "select hadm_id, stay_id, intime, outtime from edstays where subject_id = $s",
        subject_id,
    )
    complaints = dict(
        _rows(db, "select stay_id, chiefcomplaint from triage where subject_id = $s", subject_id)
    )
    home: dict[int, list[str]] = {}
    for stay, name in _rows(
        db,
        "select stay_id, name from medrecon where subject_id = $s order by stay_id, name",
        subject_id,
    ):
        if name and name not in home.setdefault(stay, []):
            home[stay].append(name)
    diagnoses = _codes(db, "diagnoses_icd", "d_icd_diagnoses", subject_id)
    procedures = _codes(db, "procedures_icd", "d_icd_procedures", subject_id)
    services = _rows(
        db,
        "select hadm_id, curr_service from services where subject_id = $s order by transfertime",
        subject_id,
    )
    icu = {
        row[0]
        for row in _rows(db, "select hadm_id from icustays where subject_id = $s", subject_id)
    }
    ordered = _rows(
        db,
        "select distinct hadm_id, drug from prescriptions "
        "where subject_id = $s and drug_type = 'MAIN' order by all",
        subject_id,
    )
    labs = _labs(db, subject_id)
    cultures = _rows(
        db,
        "select distinct hadm_id, spec_type_desc, test_name, org_name from microbiologyevents "
        "where subject_id = $s and hadm_id is not null order by all",
        subject_id,
    )
    admissions: list[Admission] = []
    for hadm, admit, disch, death, where, expired in _rows(
        db,
        "select hadm_id, admittime, dischtime, deathtime, discharge_location, "
        "hospital_expire_flag from admissions where subject_id = $s order by admittime, hadm_id",
        subject_id,
    ):
        end = disch or admit + timedelta(days=3)
        ed = next((row for row in stays if row[0] == hadm), None)
        took = [s for h, s in services if h == hadm]
        admissions.append(
            Admission(
                hadm_id=hadm,
                admittime=admit,
                dischtime=end,
                died=bool(expired) or death is not None,
                location=where or "HOME",
                service=took[-1] if took else "MED",
                complaint=(complaints.get(ed[1]) or "") if ed else "",
                ed=ed is not None,
                icu=hadm in icu,
                surgical=any(s.endswith("SURG") or s in ("ORTHO", "GU", "TRAUM") for s in took),
                diagnoses=tuple(diagnoses.get(hadm, ())),
                procedures=tuple(procedures.get(hadm, ())),
                home=tuple(home.get(ed[1], ())) if ed else (),
                ordered=tuple(d for h, d in ordered if h == hadm and d),
                labs=tuple(
                    lab for lab in labs if admit - timedelta(hours=24) <= lab.charttime <= end
                ),
                cultures=tuple(
                    Culture(specimen or "", test or "", grown)
                    for h, specimen, test, grown in cultures
                    if h == hadm
                ),
            )
        )
    return Patient(
        subject_id=subject_id,
        female=who[0] == "F",
        anchor_age=who[1],
        anchor_year=who[2],
        era=who[3] or "",
        admissions=tuple(admissions),
    )


def _labs(db: duckdb.DuckDBPyConnection, subject_id: int) -> list[Lab]:
    items = sorted(
        {item for panel in data("discharge")["panels"] for item in panel["items"].values()}
    )
    return [
        Lab(itemid, when, value, number, flag is not None)
        for itemid, when, value, number, flag in _rows(
            db,
            "select itemid, charttime, coalesce(value, '___'), valuenum, flag from labevents "
            f"where subject_id = $s and itemid in ({', '.join(map(str, items))}) "
            "and charttime is not null order by charttime, itemid, labevent_id",
            subject_id,
        )
    ]


def _codes(
    db: duckdb.DuckDBPyConnection, table: str, dictionary: str, subject_id: int
) -> dict[int, list[Code]]:
    found: dict[int, list[Code]] = {}
    for hadm, code, version, title in _rows(
        db,
        f"select t.hadm_id, t.icd_code, t.icd_version, d.long_title from {table} t "
        f"left join {dictionary} d using (icd_code, icd_version) "
        "where t.subject_id = $s order by t.hadm_id, t.seq_num, t.icd_code",
        subject_id,
    ):
        found.setdefault(hadm, []).append(Code(code, version, title or ""))
    return found


def _rows(db: duckdb.DuckDBPyConnection, sql: str, subject_id: int) -> Sequence[tuple[Any, ...]]:
    return db.execute(sql, {"s": subject_id}).fetchall()
