"""Each twin, applied to a constructed chart it fits, gives the verdict it declares."""

from datetime import timedelta

import pytest
from tests.rules.asked import Asked
from tests.rules.ward import HADM, SUBJECT, Ward, at

from chartproof.catalog.read import ScenarioFolder, scenario
from chartproof.chart.edits import apply
from chartproof.records.case import Anchor
from chartproof.records.notes import Validity
from chartproof.rules.engine import evaluate
from chartproof.rules.twins import bindings

AKI, COURSE = scenario("post-ct-aki"), scenario("renal-trajectory")
ADMITTED, LEFT, SCAN = at("02 08:00"), at("12 10:00"), at("04 10:00")
NOTE = (
    "Brief Hospital Course:\n# AKI: Cr peaked at 2.4 after the scan, likely prerenal.\n\n"
    "Past Medical History:\n{}\n\nPertinent Results:\n___ 05:40AM BLOOD Creat-2.4*\n"
)


def after_ct(*values: float, tier1: bool = True, esrd: bool = False) -> Ward:
    made = Ward()
    made.patient()
    made.admission(ADMITTED, LEFT)
    made.report(SCAN)
    if tier1:
        made.lab(ADMITTED - timedelta(days=180), 1.0, hadm_id=None)
    else:
        made.lab(ADMITTED, 1.0)
    for n, value in enumerate(values):
        made.lab(SCAN + timedelta(hours=10 * (n + 1)), value)
    made.code("N179")
    made.lab(SCAN, 20, itemid=51006)
    made.summary(NOTE.format("ESRD on HD MWF" if esrd else "Hypertension"))
    if esrd:
        made.code("N186")
        made.code("Z992")
        made.add("poe", poe_id="90000001-3", hadm_id=HADM, ordertime=SCAN,
                 order_type="Hemodialysis", transaction_type="New")  # fmt: skip
    return made


def course(*baselines: float) -> Ward:
    made = Ward()
    made.patient(year=2150, age=50)
    for n, value in enumerate(baselines):
        begins = at("02 08:00").replace(year=2150 + n)
        made.admission(begins, begins + timedelta(days=6), hadm_id=HADM + n)
        made.lab(begins, value, hadm_id=HADM + n)
        made.lab(begins + timedelta(days=2), value, hadm_id=HADM + n)
        made.code("I10", hadm_id=HADM + n)
        made.summary(f"Brief Hospital Course:\nCr {value} at baseline.\n", hadm_id=HADM + n,
                     when=begins + timedelta(days=6))  # fmt: skip
    return made


CASES = [
    (AKI, "C1", after_ct(1.6, 2.0, esrd=True)),
    (AKI, "C2", after_ct(1.6, 2.4)),
    (AKI, "C2", after_ct(1.6, 2.4, tier1=False)),
    (AKI, "C5", after_ct(1.0, 1.1)),
    (AKI, "C6", after_ct(1.0, 1.1)),
    (COURSE, "C1", course(1.0, 1.0, 1.0, 1.0)),
    (COURSE, "C2", course(1.0, 1.9, 2.0)),
    (COURSE, "C3", course(1.0, 1.0, 1.0)),
    (COURSE, "C5", course(1.0, 1.9, 2.0)),
]


IDS = [f"{folder.id}-{twin}-{n}" for n, (folder, twin, _) in enumerate(CASES)]


@pytest.mark.parametrize(("folder", "twin_id", "made"), CASES, ids=IDS)
def test_a_twin_gives_the_verdict_that_it_declares(
    folder: ScenarioFolder, twin_id: str, made: Ward
) -> None:
    admission = HADM if folder is AKI else None
    anchor = Anchor(subject_id=SUBJECT, hadm_id=admission)
    Asked(folder, anchor).check_twin(twin_id, made)


def test_a_twin_about_dialysis_leaves_no_word_of_it_in_the_notes() -> None:
    made = after_ct(1.6, 2.0, esrd=True)
    anchor = Anchor(subject_id=SUBJECT, hadm_id=HADM)
    before = evaluate(AKI, made, anchor, validity=Validity())
    twin = next(each for each in AKI.twins if each.id == "C1")
    apply(made.db, twin.edits, subject_id=SUBJECT, bind=bindings(anchor, before))
    (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
    assert "hypertension on antihypertensives" in text
    assert "ESRD" not in text


def test_a_masked_number_is_masked_in_prose_and_in_result_lines() -> None:
    made = after_ct(1.6, 2.4)
    anchor = Anchor(subject_id=SUBJECT, hadm_id=HADM)
    before = evaluate(AKI, made, anchor, validity=Validity())
    twin = next(each for each in AKI.twins if each.id == "C2")
    apply(made.db, twin.edits, subject_id=SUBJECT, bind=bindings(anchor, before))
    (text,) = made.db.execute("select text from discharge").fetchone() or ("",)
    assert "2.4" not in text
    assert "BLOOD Creat-___" in text


def test_every_scenario_declares_twins_in_both_directions() -> None:
    for folder in (AKI, COURSE):
        assert len(folder.twins) >= 4
        assert any(each.must_flip for each in folder.twins)
        assert any(not each.must_flip for each in folder.twins)
