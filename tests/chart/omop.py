"""Invented patients as tables of OMOP CDM 5.4, with the columns of the standard and no others."""

import csv
from collections.abc import Iterable
from pathlib import Path

import yaml

Row = dict[str, object]

CONCEPTS = [
    (8507, "MALE", "Gender", "M"),
    (8532, "FEMALE", "Gender", "F"),
    (3016723, "Creatinine [Mass/volume] in Serum or Plasma", "LOINC", "2160-0"),
    (3027018, "Heart rate", "LOINC", "8867-4"),
    (3020891, "Body temperature", "LOINC", "8310-5"),
    (3046485, "Something else in Blood", "LOINC", "99999-9"),
    (8840, "milligram per deciliter", "UCUM", "mg/dL"),
    (586323, "degree Celsius", "UCUM", "Cel"),
    (9289, "degree Fahrenheit", "UCUM", "[degF]"),
    (4171756, "<", "Meas Value Operator", "<"),
    (4172703, "=", "Meas Value Operator", "="),
    (9189, "Negative", "Meas Value", "neg"),
    (45591027, "Chronic kidney disease, stage 3 unspecified", "ICD10CM", "N18.30"),
    (45556132, "Dependence on renal dialysis", "ICD10CM", "Z99.2"),
    (44831000, "Typhoid fever", "ICD9CM", "002.0"),
    (2002282, "Hemodialysis", "ICD9Proc", "39.95"),
    (2314226, "Office visit", "CPT4", "99213"),
    (1307046, "metoprolol", "RxNorm", "6918"),
    (706391, "Discharge summary", "LOINC", "18842-5"),
]


class Omop:
    """Rows by table; `csv` writes them."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Row]] = {
            "person": [], "visit_occurrence": [], "visit_detail": [], "condition_occurrence": [],
            "procedure_occurrence": [], "measurement": [], "drug_exposure": [], "note": [],
            "death": [], "concept": [],
        }  # fmt: skip
        self._next = 8_000_000
        for concept_id, name, vocabulary, code in CONCEPTS:
            self.rows["concept"].append(
                {"concept_id": concept_id, "concept_name": name, "vocabulary_id": vocabulary,
                 "concept_code": code}
            )  # fmt: skip

    def number(self) -> int:
        self._next += 1
        return self._next

    def person(self, person_id: int, born: int, sex: int = 8532) -> None:
        self.rows["person"].append(
            {"person_id": person_id, "gender_concept_id": sex, "year_of_birth": born}
        )

    def visit(self, person_id: int, day: str, *, kind: int = 9201, days: int = 5) -> int:
        """A visit from eight in the morning of `day`, which must leave room in its month."""
        visit = self.number()
        until = f"{day[:8]}{int(day[8:]) + days:02d}"
        self.rows["visit_occurrence"].append(
            {"visit_occurrence_id": visit, "person_id": person_id, "visit_concept_id": kind,
             "visit_start_date": day, "visit_start_datetime": f"{day} 08:00:00",
             "visit_end_date": until, "visit_end_datetime": f"{until} 11:00:00",
             "visit_source_value": "EMERGENCY", "discharged_to_source_value": "HOME"}
        )  # fmt: skip
        return visit

    def detail(self, person_id: int, visit: int, day: str, *, kind: int = 32037) -> int:
        detail = self.number()
        self.rows["visit_detail"].append(
            {"visit_detail_id": detail, "person_id": person_id, "visit_detail_concept_id": kind,
             "visit_detail_start_datetime": f"{day} 09:00:00",
             "visit_detail_end_datetime": f"{day} 21:00:00",
             "visit_detail_source_value": "MICU", "visit_occurrence_id": visit}
        )  # fmt: skip
        return detail

    def measured(
        self, person_id: int, visit: int | None, time: str, value: float | None, **more: object
    ) -> None:
        self.rows["measurement"].append(
            {"measurement_id": self.number(), "person_id": person_id,
             "measurement_concept_id": 3016723, "measurement_datetime": time,
             "value_as_number": value, "unit_concept_id": 8840, "visit_occurrence_id": visit}
            | more
        )  # fmt: skip

    def coded(self, person_id: int, visit: int, concept: int) -> None:
        self.rows["condition_occurrence"].append(
            {"condition_occurrence_id": self.number(), "person_id": person_id,
             "condition_source_concept_id": concept, "visit_occurrence_id": visit}
        )  # fmt: skip

    def admission(
        self, person_id: int, day: str, *creatinine: float, codes: Iterable[int] = ()
    ) -> int:
        """An inpatient visit with a value each morning and with coded conditions."""
        visit = self.visit(person_id, day)
        for n, value in enumerate(creatinine, 1):
            self.measured(person_id, visit, f"{day[:8]}{int(day[8:]) + n:02d} 06:00:00", value)
        for code in codes:
            self.coded(person_id, visit, code)
        return visit

    def csv(self, folder: Path, mapping: Path) -> Path:
        """Write every table, with the columns that a mapping names and one that it does not."""
        folder.mkdir(parents=True, exist_ok=True)
        sources = yaml.safe_load(mapping.read_text(encoding="utf-8"))["sources"]
        for name, rows in self.rows.items():
            columns = [*sources[name]["columns"], "provider_id"]
            with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, columns)
                writer.writeheader()
                writer.writerows(rows)
        return folder


def ward() -> Omop:
    """Five patients whose trajectories of the kidney differ."""
    made = Omop()
    made.person(9000001, 1970)  # falls by more than a quarter, and stays so
    for day, value in (("2015-03-01", 0.9), ("2016-04-01", 1.4), ("2017-05-01", 1.9)):
        made.admission(9000001, day, value + 0.2, value)
    made.person(9000002, 1980, 8507)  # as it was
    for day in ("2015-03-02", "2016-04-02", "2017-05-02"):
        made.admission(9000002, day, 1.0, 0.9, codes=[44831000])
    made.person(9000003, 1955)  # dialysis begins within the record
    made.admission(9000003, "2015-06-01", 1.8, 1.7, codes=[45591027])
    made.admission(9000003, "2018-06-01", 5.1, 5.0, codes=[45591027, 45556132])
    made.person(9000004, 1990)  # one admission: not eligible
    made.admission(9000004, "2019-06-01", 0.8, 0.7)
    made.person(9000005, 1960)  # the second admission has no usable creatinine
    made.admission(9000005, "2019-01-03", 0.8, 0.7)
    made.admission(9000005, "2019-09-03")
    return made
