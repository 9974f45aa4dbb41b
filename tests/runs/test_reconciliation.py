"""The careful investigator of medication lists."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.drugs import named, of_name
from auditor.intents import acts
from auditor.reading import Row
from auditor.regimens import entries, frequency

QUESTION = (
    "For admission <subject_id 9000001, hadm_id 8000001> (with ED stay <stay_id 7500001>), "
    "reconcile the discharge medication list against the home medications recorded at arrival and "
    "the medications administered in the last 24 h."
)
YES, NO = "Yes", "No"
LACK, AMBIGUOUS = "Indeterminate: Lack of Data", "Indeterminate: Medically Ambiguous"
HOME = "1. Metoprolol Tartrate 25 mg PO BID\n2. Lisinopril 10 mg PO DAILY\n"


def test_brand_generic_and_salt_are_one_drug() -> None:
    for name in ("Toprol XL", "metoprolol succinate", "Metoprolol Tartrate", "LOPRESSOR 25 mg"):
        assert [d.name for d in of_name(name)] == ["metoprolol"]
    assert [d.name for d in named("lisinopril-hydrochlorothiazide")] == [
        "lisinopril", "hydrochlorothiazide"]  # fmt: skip


@given(st.text(max_size=60))
def test_any_name_can_be_read(text: str) -> None:
    assert all(drug.name for drug in of_name(text))


@pytest.mark.parametrize(
    ("text", "daily"),
    [("25 mg PO BID", 2), ("PO QHS", 1), ("every 8 hours", 3), ("once a day", 1), ("1 TAB", None)],
)
def test_frequencies_are_read(text: str, daily: int | None) -> None:
    assert frequency(text) == (None if daily is None else Fraction(daily))


def test_micrograms_and_milligrams_are_one_dose() -> None:
    def dose(text: str) -> Fraction | None:
        return entries([Row("discharge:x L1", {"text": text}, 1)])[0].amount

    assert dose("1. Levothyroxine Sodium 100 mcg PO DAILY") == dose("1. Levothyroxine 0.1 mg PO QD")
    assert dose("1. Levothyroxine ___ mcg PO DAILY") is None


def test_acts_are_told_apart() -> None:
    assert acts("Lisinopril was held for AKI") == {"held"}
    assert "stopped" in acts("STOP taking lisinopril")
    assert "resume" in acts("Held; restart at PCP follow up")
    assert acts("Lisinopril was not stopped") == frozenset()


@pytest.fixture
def arrival(person: Any) -> Any:
    patient = person().admission("2150-03-01 08:00", "2150-03-05 12:00")
    patient.add(
        "edstays", hadm_id=8000001, stay_id=7500001, intime="2150-03-01 02:00",
        outtime="2150-03-01 08:00", disposition="ADMITTED",
    )  # fmt: skip
    for n, name in enumerate(("Lopressor", "lisinopril"), 1):
        patient.add(
            "medrecon", stay_id=7500001, charttime="2150-03-01 02:30", name=name, gsn=f"00{n}",
            etc_rn=1,
        )  # fmt: skip
    return patient


def given_last(patient: Any, *drugs: str, event: str = "Administered", at: str = "05 08:00") -> Any:
    for drug in drugs:
        n = patient.number()
        patient.add(
            "emar", hadm_id=8000001, emar_id=f"9000001-{n}", emar_seq=n, charttime=f"2150-03-{at}",
            medication=drug, event_txt=event,
        )  # fmt: skip
    return patient


def left(patient: Any, discharge: str, course: str = "He did well.", home: str = HOME) -> Any:
    return patient.summary(
        f"Past Medical History:\nHTN\n\nBrief Hospital Course:\n{course}\n\n"
        f"Medications on Admission:\n{home}\nDischarge Medications:\n{discharge}\n"
        "Discharge Disposition:\nHome\n"
    )


BOTH = ("Metoprolol Tartrate", "Lisinopril")
METOPROLOL = "1. Metoprolol Tartrate 25 mg PO BID"
CASES: dict[str, tuple[Any, str]] = {
    "no difference": (lambda p: left(given_last(p, *BOTH), HOME), NO),
    "omitted though given": (lambda p: left(given_last(p, *BOTH), METOPROLOL), YES),
    "omitted and not given": (
        lambda p: left(given_last(p, "Metoprolol Tartrate"), METOPROLOL), AMBIGUOUS),
    "charted as not given": (
        lambda p: left(given_last(given_last(p, "Lisinopril", event="Not Given"), "Heparin"),
                       METOPROLOL), AMBIGUOUS),
    "stopped in words": (
        lambda p: left(given_last(p, *BOTH), METOPROLOL, "Lisinopril was stopped for cough."), NO),
    "stopped in a list": (
        lambda p: left(given_last(p, *BOTH), METOPROLOL, "STOPPED medications:\n- lisinopril"), NO),
    "stopped by its class": (
        lambda p: left(given_last(p, *BOTH), METOPROLOL, "ACE inhibitor discontinued: cough."), NO),
    "held and never resumed": (
        lambda p: left(given_last(p, "Metoprolol"), METOPROLOL, "Lisinopril was held on arrival."),
        YES),
    "held until follow-up": (
        lambda p: left(given_last(p, "Metoprolol"), METOPROLOL,
                       "Lisinopril was held; to be restarted by PCP."), NO),
    "a dose changed without a word": (
        lambda p: left(given_last(p, *BOTH), HOME.replace("10 mg", "40 mg")), YES),
    "a dose changed with a word": (
        lambda p: left(given_last(p, *BOTH), HOME.replace("10 mg", "40 mg"),
                       "Lisinopril was increased to 40 mg."), NO),
    "a scrubbed dose": (lambda p: left(given_last(p, *BOTH), HOME.replace("10 mg", "___ mg")), NO),
    "an antibiotic without end": (
        lambda p: left(given_last(p, *BOTH), HOME + "3. Levofloxacin 500 mg PO DAILY",
                       "Pneumonia treated with levofloxacin."), YES),
    "an antibiotic with an end": (
        lambda p: left(given_last(p, *BOTH),
                       HOME + "3. Levofloxacin 500 mg PO DAILY Duration: 5 Days",
                       "Pneumonia treated with levofloxacin."), NO),
    "a vitamin left out": (
        lambda p: left(given_last(p, *BOTH), HOME, home=HOME + "3. Vitamin D 1000 UNIT PO DAILY"),
        NO),
    "a substitute of its class": (
        lambda p: left(given_last(p, *BOTH), HOME + "3. Pantoprazole 40 mg PO Q24H",
                       home=HOME + "3. Omeprazole 20 mg PO DAILY"), NO),
    "a new drug without reason": (
        lambda p: left(given_last(p, *BOTH), HOME + "3. Allopurinol 100 mg PO DAILY"), AMBIGUOUS),
    "no administration record": (lambda p: left(p, METOPROLOL), LACK),
    "no discharge list": (lambda p: left(given_last(p, *BOTH), "___"), LACK),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_difference_is_weighed_as_defined(arrival: Any, asked: Any, name: str) -> None:
    make, verdict = CASES[name]
    assert asked(make(arrival), QUESTION).verdict == verdict


def test_the_ed_list_of_another_visit_is_no_home_list(person: Any, asked: Any) -> None:
    patient = person().admission("2150-03-01 08:00", "2150-03-05 12:00")
    patient.add(
        "edstays", hadm_id=None, stay_id=7500001, intime="2149-03-01 02:00",
        outtime="2149-03-01 08:00",
    )  # fmt: skip
    assert asked(left(given_last(patient, *BOTH), METOPROLOL), QUESTION).verdict == LACK


def test_without_the_last_dose_the_verdict_is_no_longer_yes(arrival: Any, asked: Any) -> None:
    def without(text: str) -> str:
        return "\n".join(x for x in text.split("\n") if "[emar:" not in x or "Lisinopril" not in x)

    patient = left(given_last(arrival, *BOTH), METOPROLOL)
    assert asked(patient, QUESTION).verdict == YES
    assert asked(patient, QUESTION, through=without).verdict == AMBIGUOUS


def test_a_discrepancy_is_listed_with_type_significance_and_source(
    arrival: Any, asked: Any
) -> None:
    report = asked(left(given_last(arrival, *BOTH), METOPROLOL), QUESTION).report
    line = next(x for x in report.split("\n") if x.startswith("- Lisinopril: omission"))
    assert "high significance, likely unintended" in line
    assert "[medrecon:" in line
    assert "[emar:" in line
