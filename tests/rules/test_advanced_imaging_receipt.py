"""Every rule and trap of imaging receipt, planted by hand; the rules against the dossier."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.chart.edits import apply
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.notes import Validity
from chartproof.records.verdict import Verdict
from chartproof.rules.engine import evaluate, from_facts
from chartproof.rules.readers import reader
from chartproof.rules.statements import Note

FOLDER = scenario("advanced-imaging-receipt")
IN, OUT = at("02 08:00"), at("05 08:00")
XR = "EXAMINATION:  CHEST (PORTABLE AP)\n\nCOMPARISON:  Chest CT.\n\nFINDINGS:  Clear.\n"
CT = "EXAMINATION:  CT HEAD W/O CONTRAST\n\nFINDINGS:  No bleed.\n"
MR = "EXAMINATION:  MR HEAD W/O CONTRAST\n\nFINDINGS:  Normal.\n"


class Unit(Ward):
    """A patient with one ICU stay of three days."""

    def __init__(self, stays: int = 1) -> None:
        super().__init__()
        self.admission(at("01 08:00"), at("20 08:00"))
        self.stay()
        for n in range(1, stays):
            self.stay(STAY + n, IN + timedelta(days=5 * n), OUT + timedelta(days=5 * n))

    def stay(self, id_: int = STAY, begins: Any = IN, ends: Any = OUT) -> None:
        self.add("icustays", hadm_id=HADM, stay_id=id_, intime=begins, outtime=ends)

    def order(self, when: datetime, subtype: str | None = "CT Scan", **cells: Any) -> str:
        id_ = str(cells.pop("poe_id", f"{SUBJECT}-{next(self.ids)}"))
        row: dict[str, Any] = {
            "hadm_id": HADM, "order_type": "Radiology", "transaction_type": "New",
            "order_status": "Inactive", **cells,
        }  # fmt: skip
        self.add("poe", poe_id=id_, ordertime=when, order_subtype=subtype, **row)
        return id_

    def stop(self, poe_id: str, when: datetime) -> None:
        self.order(when, transaction_type="D/C", discontinue_of_poe_id=poe_id)

    def event(self, when: datetime, itemid: int = 221214, status: str = "FinishedRunning") -> str:
        return self.add("procedureevents", hadm_id=HADM, stay_id=STAY, itemid=itemid,
                        starttime=when, statusdescription=status)  # fmt: skip

    def rule(self) -> Ruling:
        return evaluate(
            FOLDER,
            self,
            Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY),
            validity=Validity(),
        )


def fact(ruling: Ruling, name: str) -> Any:
    return ruling.facts[name].value


# The dossier's rules, translated by hand ------------------------------------------------------


def oracle(s: dict[str, Any]) -> str:  # noqa: PLR0911  one branch a rule, as the dossier has it
    if not s["stay_window"]:
        return "LACK-1"
    if "report_in" in s["orders"]:
        return "YES-1"
    if s["report_no_order"] and (s["icu_ct_event"] or s["prior_order"]):
        return "YES-2"
    if not s["orders"] and s["ambig_subtype"]:
        return "AMB-1"
    if any(o in ("dc", "noreport") for o in s["orders"]):
        return "LACK-2"
    if s["multi_unattrib"] or "unattrib" in s["orders"]:
        return "LACK-3"
    if s["report_no_order"]:
        return "LACK-4"
    if not s["any_rad_order"] and not s["stream_present"]:
        return "LACK-5"
    return "NO-1"


FLAGS = ("stay_window", "ambig_subtype", "report_no_order", "icu_ct_event", "prior_order",
         "multi_unattrib", "any_rad_order", "stream_present")  # fmt: skip
LABELS = ("report_in", "report_out", "dc", "noreport", "unattrib")
STATES = st.fixed_dictionaries(
    {**{flag: st.booleans() for flag in FLAGS},
     "orders": st.lists(st.sampled_from(LABELS), max_size=3)}
)  # fmt: skip


@settings(max_examples=150)
@given(STATES)
def test_the_rules_say_what_the_dossiers_model_says_in_every_state(state: dict[str, Any]) -> None:
    assert from_facts(FOLDER, state).rule == oracle(state)


@pytest.mark.parametrize(
    ("base", "delta", "verdict"),
    [
        ({}, {"orders": ["noreport"], "icu_ct_event": False}, Verdict.LACK_OF_DATA),
        ({}, {"orders": ["report_out"], "icu_ct_event": False}, Verdict.NO),
        ({"orders": [], "icu_ct_event": False}, {"orders": ["report_in"]}, Verdict.YES),
        ({"orders": [], "icu_ct_event": False}, {"any_rad_order": True}, Verdict.NO),
    ],
)
def test_the_dossiers_counterfactual_states_get_their_verdict(
    base: dict[str, Any], delta: dict[str, Any], verdict: Verdict
) -> None:
    assert from_facts(FOLDER, {**base, **delta}).verdict is verdict


# Constructed charts ---------------------------------------------------------------------------


def test_a_stay_without_a_row_lacks_data() -> None:
    unit = Ward()
    unit.admission(at("01 08:00"), at("20 08:00"))
    ruling = evaluate(
        FOLDER, unit, Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY), validity=Validity()
    )
    assert (ruling.rule, fact(ruling, "stay_window")) == ("LACK-1", False)


@pytest.mark.parametrize("ends", [None, at("01 07:00")])
def test_a_stay_without_a_usable_end_lacks_data(ends: datetime | None) -> None:
    unit = Ward()
    unit.add("icustays", hadm_id=HADM, stay_id=STAY, intime=IN, outtime=ends)
    ruling = evaluate(
        FOLDER, unit, Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY), validity=Validity()
    )
    assert ruling.rule == "LACK-1"


def test_an_order_with_its_report_in_the_stay_is_a_yes_that_rests_on_both_rows() -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"))
    report = unit.report(at("03 10:00"), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("YES-1", ["report_in"])
    assert {f"poe:{order}", report, f"icustays:{STAY}"} <= set(ruling.deciding)
    assert ruling.anchors["studied"] == "2150-01-03 10:00:00"


@pytest.mark.parametrize(
    ("hours", "label"),
    [(-1.0, "report_in"), (-1.1, "noreport"), (72.0, "report_out"), (72.1, "noreport")],
)
def test_a_report_confirms_from_one_hour_before_to_72_hours_after_the_order(
    hours: float, label: str
) -> None:
    unit = Unit()
    when = at("02 12:00")
    unit.order(when)
    unit.report(when + timedelta(hours=hours), CT)
    assert fact(unit.rule(), "orders") == [label]


def test_both_ends_of_the_stay_belong_to_it() -> None:
    first, last = Unit(), Unit()
    first.order(IN)
    first.report(IN, CT)
    last.order(OUT)
    last.report(OUT, CT)
    assert (first.rule().rule, last.rule().rule) == ("YES-1", "YES-1")


def test_a_ct_ordered_in_the_stay_and_done_after_it_is_a_no() -> None:
    unit = Unit()
    unit.order(at("05 06:00"))
    unit.report(at("05 12:00"), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("NO-1", ["report_out"])


def test_an_order_without_a_report_lacks_data() -> None:
    unit = Unit()
    unit.order(at("03 08:00"))
    assert unit.rule().rule == "LACK-2"


def test_a_discontinued_order_without_a_report_lacks_data() -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"))
    unit.stop(order, at("03 09:00"))
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("LACK-2", ["dc"])


def test_an_inactive_status_is_no_discontinuation() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), order_status="Inactive")
    assert fact(unit.rule(), "orders") == ["noreport"]


def test_a_discontinuation_after_the_study_is_clean_up() -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"))
    unit.report(at("03 10:00"), CT)
    unit.stop(order, at("03 20:00"))
    assert unit.rule().rule == "YES-1"


def test_an_order_discontinued_before_the_study_is_not_confirmed_by_it() -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"))
    unit.stop(order, at("03 09:00"))
    unit.report(at("03 10:00"), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("LACK-2", ["dc"])


def test_the_rows_of_one_order_collapse() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), poe_id="9-1")
    unit.order(at("03 08:30"), poe_id="9-1", transaction_type="Change")
    unit.report(at("03 10:00"), CT)
    assert fact(unit.rule(), "orders") == ["report_in"]


def test_one_report_confirms_only_the_nearest_of_two_orders() -> None:
    unit = Unit()
    unit.order(at("04 20:00"))
    unit.order(at("05 05:00"))
    unit.report(at("05 09:00"), CT)
    ruling = unit.rule()
    assert fact(ruling, "orders") == ["noreport", "report_out"]
    assert ruling.rule == "LACK-2"


def test_two_orders_a_minute_apart_share_two_reports() -> None:
    unit = Unit()
    unit.order(at("05 05:00"))
    unit.order(at("05 05:01"))
    unit.report(at("05 09:00"), CT)
    unit.report(at("05 09:00"), "EXAMINATION:  CT C-SPINE W/O CONTRAST\n\nFINDINGS: none.\n")
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("NO-1", ["report_out", "report_out"])


def test_of_two_orders_equally_near_the_earlier_is_confirmed() -> None:
    unit = Unit()
    unit.order(at("03 10:30"))
    early = unit.order(at("03 09:30"))
    unit.report(at("03 10:00"), CT)
    ruling = unit.rule()
    assert fact(ruling, "orders") == ["report_in", "noreport"]
    assert ruling.facts["orders"].rows[0] == f"poe:{early}"


def test_an_order_of_the_reports_own_modality_is_confirmed_first() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "MRI")
    unit.order(at("03 09:30"), "CT Scan")
    unit.report(at("03 10:00"), MR)
    assert fact(unit.rule(), "orders") == ["report_in", "noreport"]


@pytest.mark.parametrize(
    ("text", "exams"),
    [
        ("EXAMINATION:  CTA CHEST WITH CONTRAST\n", ()),
        ("EXAMINATION:  MRA BRAIN W/O CONTRAST\n", ()),
        ("INDICATION:  Fever.\n\nFINDINGS:  Drain placed.\n", ("CT GUIDED DRAINAGE",)),
        (
            "EXAMINATION:  Abscess drainage\n\nTECHNIQUE:  Under CT guidance.\n",
            (),
        ),
        ("CT OF THE ABDOMEN AND PELVIS\n\nHISTORY: pain\n", ()),
        ("___ of the abdomen\n", ("MRCP (MR ABD W&W/OC)",)),
    ],
)
def test_ct_and_mr_in_all_their_forms_confirm(text: str, exams: tuple[str, ...]) -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "Cross-Sectional Interventional Radiology")
    unit.report(at("03 10:00"), text, exams)
    assert unit.rule().rule == "YES-1"


@pytest.mark.parametrize(
    "text",
    [
        XR,
        "EXAMINATION:  FDG TUMOR IMAGING (PET-CT)\n",
        "EXAMINATION:  PARATHYROID SPECT/CT\n",
        "EXAMINATION:  US GUIDED BIOPSY\n\nTECHNIQUE:  Under ultrasound a core was taken.\n",
        "EXAMINATION:  SECOND OPINION CT NEURO\n",
        "EXAMINATION:  CT HEAD\n\nTECHNIQUE:  The CT was performed at an outside hospital.\n",
        "LEFT HIP, TWO VIEWS\n\nCOMPARISON:  MRI of the hip.\n",
    ],
)
def test_other_examinations_confirm_no_ct_order(text: str) -> None:
    unit = Unit()
    unit.order(at("03 08:00"))
    unit.report(at("03 10:00"), text)
    assert unit.rule().rule == "LACK-2"


def test_an_addendum_confirms_nothing() -> None:
    unit = Unit()
    unit.order(at("03 08:00"))
    unit.report(at("03 10:00"), CT, note_type="AR")
    assert unit.rule().rule == "LACK-2"


def test_the_text_of_a_report_governs_the_time_of_study() -> None:
    unit = Unit()
    unit.order(at("05 05:00"))
    unit.report(at("05 09:00"), CT + "\nTECHNIQUE:  The scan was performed at 07:10.\n")
    ruling = unit.rule()
    assert (ruling.rule, ruling.anchors["studied"]) == ("YES-1", "2150-01-05 07:10:00")


def test_a_report_without_admission_id_counts_by_patient_and_time() -> None:
    unit = Unit()
    unit.order(at("03 08:00"))
    unit.report(at("03 10:00"), CT, hadm_id=None)
    assert unit.rule().rule == "YES-1"


def test_a_report_without_order_but_with_an_icu_event_is_a_yes() -> None:
    unit = Unit()
    unit.report(at("03 10:00"), CT)
    event = unit.event(at("03 10:05"), 229582)
    ruling = unit.rule()
    assert ruling.rule == "YES-2"
    assert event in ruling.deciding


@pytest.mark.parametrize(
    ("itemid", "status"),
    [(221216, "FinishedRunning"), (221217, "FinishedRunning"), (221214, "Rewritten")],
)
def test_an_xray_event_an_ultrasound_event_and_a_rewritten_event_bear_nothing_out(
    itemid: int, status: str
) -> None:
    unit = Unit()
    unit.order(at("03 08:00"), order_type="Lab", subtype="")
    unit.report(at("03 10:00"), CT)
    unit.event(at("03 10:05"), itemid, status)
    assert unit.rule().rule == "LACK-4"


def test_an_order_of_the_emergency_room_bears_a_report_of_the_stay_out() -> None:
    unit = Unit()
    order = unit.order(IN - timedelta(hours=2))
    unit.report(IN + timedelta(hours=1), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "prior_order")) == ("YES-2", True)
    assert f"poe:{order}" in ruling.deciding


@pytest.mark.parametrize("hours", [24.0, 24.1])
def test_a_prior_order_lies_within_24_hours_before_the_stay(hours: float) -> None:
    unit = Unit()
    unit.order(IN - timedelta(hours=hours))
    unit.report(IN + timedelta(hours=1), CT)
    assert unit.rule().rule == ("YES-2" if hours <= 24 else "LACK-4")


def test_a_prior_order_of_another_modality_bears_nothing_out() -> None:
    unit = Unit()
    unit.order(IN - timedelta(hours=2), "MRI")
    unit.report(IN + timedelta(hours=1), CT)
    assert fact(unit.rule(), "prior_order") is False


def test_a_prior_order_used_up_before_the_stay_bears_nothing_out() -> None:
    unit = Unit()
    unit.order(IN - timedelta(hours=3))
    unit.report(IN - timedelta(hours=2), CT)
    unit.report(IN + timedelta(hours=5), CT)
    assert unit.rule().rule == "LACK-4"


def test_a_prior_order_discontinued_before_the_study_bears_nothing_out() -> None:
    unit = Unit()
    order = unit.order(IN - timedelta(hours=3))
    unit.stop(order, IN - timedelta(hours=1))
    unit.report(IN + timedelta(hours=5), CT)
    assert unit.rule().rule == "LACK-4"


@pytest.mark.parametrize(
    "subtype", [None, "Interventional Radiology", "Angio", "Interventional Neuro"]
)
def test_an_open_subtype_with_an_open_report_is_ambiguous(subtype: str | None) -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"), subtype)
    report = unit.report(
        at("03 10:00"), "EXAMINATION:  Catheter exchange\n\nTECHNIQUE:  As usual.\n"
    )
    ruling = unit.rule()
    assert ruling.rule == "AMB-1"
    assert set(ruling.deciding) == {f"poe:{order}", report}


def test_a_pet_ct_leaves_a_nuclear_order_open() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "Nuclear Med")
    unit.report(at("03 10:00"), "EXAMINATION:  FDG TUMOR IMAGING (PET-CT)\n")
    assert unit.rule().rule == "AMB-1"


@pytest.mark.parametrize(
    ("subtype", "text"),
    [
        ("Nuclear Med", "EXAMINATION:  BONE SCAN\n\nTECHNIQUE:  Planar images were acquired.\n"),
        (
            "Interventional Radiology",
            "EXAMINATION:  PICC PLACEMENT\n\nTECHNIQUE:  Under fluoroscopic guidance.\n",
        ),
        ("Cross-Sectional Interventional Radiology", "EXAMINATION:  US GUIDED DRAINAGE\n"),
    ],
)
def test_a_report_that_settles_another_modality_is_a_no(subtype: str, text: str) -> None:
    unit = Unit()
    unit.order(at("03 08:00"), subtype)
    unit.report(at("03 10:00"), text)
    assert unit.rule().rule == "NO-1"


def test_an_ultrasound_of_something_else_does_not_settle_an_intervention() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "Cross-Sectional Interventional Radiology")
    unit.report(at("03 10:00"), "EXAMINATION:  LIVER OR GALLBLADDER US (SINGLE ORGAN)\n")
    assert unit.rule().rule == "LACK-2"


def test_an_open_order_done_under_ct_becomes_a_class_order() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "Interventional Radiology")
    unit.report(at("03 10:00"), "EXAMINATION:  Drain placement\n\nTECHNIQUE:  Under CT guidance.\n")
    assert unit.rule().rule == "YES-1"


def test_a_second_stay_holds_its_own_study() -> None:
    unit = Unit(stays=2)
    unit.order(at("07 09:00"))
    unit.report(at("07 11:00"), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "n_stays")) == ("LACK-5", 2)
    unit.order(at("03 08:00"), order_type="Lab", subtype=None)
    assert unit.rule().rule == "NO-1"


def test_a_report_in_the_gap_between_two_stays_can_be_given_to_neither() -> None:
    unit = Unit(stays=2)
    unit.order(at("03 08:00"), order_type="Lab", subtype=None)
    report = unit.report(at("06 08:00"), CT)
    ruling = unit.rule()
    assert ruling.rule == "LACK-3"
    assert report in ruling.deciding


def test_an_order_whose_study_falls_in_the_gap_is_unattributable() -> None:
    unit = Unit(stays=2)
    unit.order(at("05 07:00"))
    unit.report(at("05 20:00"), CT)
    ruling = unit.rule()
    assert (ruling.rule, fact(ruling, "orders")) == ("LACK-3", ["unattrib"])


def test_an_order_in_two_overlapping_stays_is_unattributable() -> None:
    unit = Unit()
    unit.stay(STAY + 1, at("04 08:00"), at("08 08:00"))
    unit.order(at("04 10:00"))
    unit.report(at("04 11:00"), CT)
    assert unit.rule().rule == "LACK-3"


def test_a_stay_without_any_order_lacks_the_stream() -> None:
    unit = Unit()
    unit.report(at("03 10:00"), XR)
    assert unit.rule().rule == "LACK-5"


def test_only_a_chest_film_with_the_stream_present_is_a_no() -> None:
    unit = Unit()
    order = unit.order(at("03 08:00"), "General Xray")
    unit.report(at("03 10:00"), XR)
    ruling = unit.rule()
    assert ruling.rule == "NO-1"
    assert f"poe:{order}" in ruling.deciding


def test_a_procedure_code_times_nothing() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), "Ultrasound")
    unit.add("procedures_icd", hadm_id=HADM, seq_num=1, chartdate=at("03 00:00").date(),
             icd_code="8703", icd_version=9)  # fmt: skip
    assert unit.rule().rule == "NO-1"


def test_an_order_of_another_admission_is_not_of_this_stay() -> None:
    unit = Unit()
    unit.order(at("03 08:00"), hadm_id=HADM + 1)
    unit.order(at("03 08:00"), "General Xray")
    assert fact(unit.rule(), "orders") == []


# Twins ----------------------------------------------------------------------------------------


def yes() -> Unit:
    unit = Unit()
    unit.order(at("02 12:00"))
    unit.report(at("03 10:00"), CT, ["CT HEAD W/O CONTRAST"])
    unit.event(at("03 09:55"))
    unit.summary("Pertinent Results:\nCXR clear. CT head showed no bleed. TTE normal.\n")
    return unit


def no() -> Unit:
    unit = Unit()
    unit.order(at("03 08:00"), "General Xray")
    unit.report(at("03 10:00"), XR, ["CHEST (PORTABLE AP)"])
    return unit


@pytest.mark.parametrize("twin", FOLDER.twins, ids=lambda twin: twin.id)
def test_each_twin_gets_the_verdict_declared_before_any_run(twin: Any) -> None:
    unit = yes() if twin.from_verdict is Verdict.YES else no()
    before = unit.rule()
    assert before.verdict is twin.from_verdict
    bind = {"hadm_id": HADM, "stay_id": STAY} | {
        name: datetime.fromisoformat(value) for name, value in before.anchors.items() if value
    }
    touched = apply(unit.db, twin.edits, subject_id=SUBJECT, bind=bind)
    assert any(each.rows for each in touched)
    assert unit.rule().verdict is twin.to_verdict


def test_the_twin_without_a_report_leaves_no_word_of_the_study() -> None:
    unit = yes()
    twin = next(each for each in FOLDER.twins if each.id == "C1")
    bind = {"hadm_id": HADM, "stay_id": STAY, "intime": IN, "outtime": OUT}
    apply(unit.db, twin.edits, subject_id=SUBJECT, bind=bind)
    assert unit.db.execute("select text from discharge").fetchall() == [
        ("Pertinent Results:\nCXR clear. TTE normal.\n",)
    ]
    assert unit.db.execute("select count(*) from radiology_detail").fetchone() == (0,)


# Readers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reading", "example"),
    [pytest.param(r, e, id=f"{r.id}: {e.text[:40]}") for r in FOLDER.notes for e in r.examples],
)
def test_each_reading_holds_its_own_examples(reading: Any, example: Any) -> None:
    note = Note("radiology", "n", "RR", example.text)
    found = [each.value for each in reader(reading)(reading, note)]
    assert found == ([example.value] if example.value is not None else [])
