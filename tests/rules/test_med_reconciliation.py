"""Every rule and trap of reconciliation, planted by hand; the rules against the dossier."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.ward import HADM, STAY, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.chart.edits import apply
from chartproof.records.case import Anchor
from chartproof.records.label import Ruling
from chartproof.records.notes import Measured, Validity
from chartproof.records.verdict import Verdict
from chartproof.rules.engine import evaluate, from_facts
from chartproof.rules.readers import reader
from chartproof.rules.statements import Note

FOLDER = scenario("med-reconciliation")


class Stay(Ward):
    """An admission through the ED with one home drug that goes on, unless a test says otherwise."""

    def __init__(
        self,
        home: dict[str, str],
        leaving: list[str],
        course: str = "Uneventful.",
        *,
        past: str = "Hypertension",
        letter: str = "Take care.",
        given: tuple[str, ...] = ("Docusate Sodium",),
        admission_list: list[str] | None = None,
        ed: bool = True,
        **cells: Any,
    ) -> None:
        super().__init__()
        self.patient()
        self.admission(at("01 08:00"), at("09 12:00"), **{"hospital_expire_flag": 0, **cells})
        if ed:
            self.add("edstays", hadm_id=HADM, stay_id=STAY, intime=at("01 02:00"))
        for name in home:
            self.home(name)
        for drug in given:
            self.give(drug)
        listed = list(home.values()) if admission_list is None else admission_list
        self.summary(
            f"Past Medical History:\n{past}\n\nBrief Hospital Course:\n{course}\n\n"
            + section("Medications on Admission", listed)
            + section("Discharge Medications", leaving)
            + f"Discharge Disposition:\nHome\n\nDischarge Instructions:\n{letter}\n"
        )

    def home(self, name: str, stay_id: int = STAY, etc_rn: int = 1) -> str:
        return self.add(
            "medrecon", stay_id=stay_id, name=name, charttime=at("01 02:30"), etc_rn=etc_rn
        )

    def give(self, drug: str, when: str = "09 08:00", event: str | None = "Administered") -> str:
        return self.add("emar", emar_id=f"{SUBJECT}-{next(self.ids)}", hadm_id=HADM,
                        medication=drug, event_txt=event, charttime=at(when))  # fmt: skip

    def ruling(self) -> Ruling:
        return evaluate(
            FOLDER,
            self,
            Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY),
            validity=Validity(),
        )


def section(name: str, items: list[str]) -> str:
    lines = [f"{n}. {item}" for n, item in enumerate(items, start=1)]
    return f"{name}:\n" + "\n".join(lines) + "\n\n" if items else ""


def counts(ruling: Ruling) -> tuple[int, int]:
    return (ruling.facts["unintended_high"].value, ruling.facts["unclear_nontrivial"].value)


METOPROLOL = {"metoprolol tartrate": "Metoprolol Tartrate 25 mg PO BID"}
ASPIRIN = {"aspirin": "Aspirin 81 mg PO DAILY"}
BOTH = METOPROLOL | ASPIRIN

# The dossier's rules, translated by hand ------------------------------------------------------


def oracle(s: dict[str, Any]) -> str:
    if not s["home_list"]:
        return "LACK-1"
    if not s["dc_list"]:
        return "LACK-2"
    if not s["emar_present"]:
        return "LACK-3"
    if s["unintended_high"] > 0:
        return "YES-1"
    return "AMB-1" if s["unclear_nontrivial"] > 0 else "NO-1"


STATES = st.fixed_dictionaries(
    {"home_list": st.booleans(), "dc_list": st.booleans(), "emar_present": st.booleans(),
     "unintended_high": st.integers(0, 4), "unclear_nontrivial": st.integers(0, 4)}
)  # fmt: skip


@settings(max_examples=80)
@given(STATES)
def test_the_rules_say_what_the_dossiers_model_says_in_every_state(state: dict[str, Any]) -> None:
    assert from_facts(FOLDER, state).rule == oracle(state)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({}, Verdict.YES),
        ({"unintended_high": 0}, Verdict.NO),
        ({"unintended_high": 0, "unclear_nontrivial": 1}, Verdict.AMBIGUOUS),
        ({"unintended_high": 0, "home_list": False}, Verdict.LACK_OF_DATA),
    ],
)
def test_the_dossiers_counterfactual_states_get_their_verdict(
    facts: dict[str, Any], verdict: Verdict
) -> None:
    assert from_facts(FOLDER, facts).verdict is verdict


# Constructed charts: what is missing ------------------------------------------------------------


def test_the_same_drugs_on_both_lists_are_no_discrepancy() -> None:
    ruling = Stay(BOTH, list(BOTH.values())).ruling()
    assert (ruling.rule, counts(ruling)) == ("NO-1", (0, 0))


def test_an_admission_without_an_ed_stay_has_no_home_list() -> None:
    assert Stay(BOTH, list(BOTH.values()), ed=False).ruling().rule == "LACK-1"


def test_a_home_list_of_another_ed_stay_never_counts() -> None:
    stay = Stay({}, ["Aspirin 81 mg PO DAILY"])
    stay.home("aspirin", stay_id=STAY + 1)
    assert stay.ruling().rule == "LACK-1"


def test_the_notes_admission_list_alone_is_a_home_list() -> None:
    stay = Stay({}, ["Aspirin 81 mg PO DAILY"], admission_list=["Aspirin 81 mg PO DAILY"])
    assert stay.ruling().rule == "NO-1"


def test_a_blanked_out_name_is_no_home_list() -> None:
    assert Stay({"___": "___"}, ["Aspirin 81 mg PO DAILY"]).ruling().rule == "LACK-1"


@pytest.mark.parametrize(("home", "rule"), [({}, "AMB-1"), (METOPROLOL, "LACK-1")])
def test_a_list_that_says_none_counts_unless_the_other_source_contradicts_it(
    home: dict[str, str], rule: str
) -> None:
    stay = Stay(home, ["Lisinopril 5 mg PO DAILY"], admission_list=["None"])
    assert stay.ruling().rule == rule


def test_a_summary_without_a_discharge_list_lacks_data() -> None:
    assert Stay(BOTH, []).ruling().rule == "LACK-2"


def test_a_discharge_list_of_blanks_lacks_data() -> None:
    assert Stay(BOTH, ["___"]).ruling().rule == "LACK-2"


def test_prescriptions_are_no_discharge_list() -> None:
    stay = Stay(BOTH, [])
    stay.add("prescriptions", hadm_id=HADM, drug="Metoprolol Tartrate", starttime=at("08 08:00"))
    assert stay.ruling().rule == "LACK-2"


def test_a_patient_who_died_has_no_discharge_list() -> None:
    stay = Stay(BOTH, list(BOTH.values()), hospital_expire_flag=1, deathtime=at("09 12:00"))
    assert stay.ruling().rule == "LACK-2"


def test_without_any_emar_row_the_last_day_cannot_be_seen() -> None:
    assert Stay(BOTH, ["Aspirin 81 mg PO DAILY"], given=()).ruling().rule == "LACK-3"


# Omissions ------------------------------------------------------------------------------------


def omitted(course: str = "Uneventful.", **more: Any) -> Stay:
    return Stay(BOTH, ["Aspirin 81 mg PO DAILY"], course, **more)


def test_an_omitted_beta_blocker_that_was_given_to_the_end_is_a_yes_with_its_rows() -> None:
    stay = omitted()
    dose = stay.give("Metoprolol Tartrate", "08 20:00")
    ruling = stay.ruling()
    assert (ruling.rule, counts(ruling)) == ("YES-1", (1, 0))
    assert dose in ruling.deciding
    assert ruling.facts["omitted_drug"].value == "metoprolol"


def test_an_omitted_beta_blocker_that_was_not_given_is_ambiguous() -> None:
    ruling = omitted().ruling()
    assert (ruling.rule, counts(ruling)) == ("AMB-1", (0, 1))


@pytest.mark.parametrize(
    ("when", "rule"),
    [("08 12:00", "YES-1"), ("08 11:59", "AMB-1"), ("09 12:00", "YES-1"), ("09 12:01", "AMB-1")],
)
def test_the_last_day_ends_at_discharge_and_both_ends_belong_to_it(when: str, rule: str) -> None:
    stay = omitted()
    stay.give("Metoprolol Tartrate", when)
    assert stay.ruling().rule == rule


@pytest.mark.parametrize("event", ["Not Given", "Hold Dose", "Confirmed", "Stopped", None])
def test_a_dose_that_was_not_given_is_no_administration(event: str | None) -> None:
    stay = omitted()
    stay.give("Metoprolol Tartrate", event=event)
    assert stay.ruling().rule == "AMB-1"


def test_an_active_order_is_no_administration() -> None:
    stay = omitted()
    stay.add("prescriptions", hadm_id=HADM, drug="Metoprolol Tartrate", starttime=at("02 08:00"),
             stoptime=at("09 12:00"))  # fmt: skip
    assert stay.ruling().rule == "AMB-1"


@pytest.mark.parametrize(
    "course",
    [
        "Metoprolol was discontinued because of bradycardia.",
        "We stopped her metoprolol given low heart rates.",
        "Her home beta blocker was stopped.",
        "Lopressor was discontinued.",
        "Metoprolol was held and is to be restarted by her PCP.",
        "STOPPED: metoprolol (bradycardia)",
        "Aspirin was continued, metoprolol was switched to nothing for now.",
    ],
)
def test_a_documented_stop_by_name_brand_or_class_is_no_discrepancy(course: str) -> None:
    stay = omitted(course)
    stay.give("Metoprolol Tartrate")
    assert (stay.ruling().rule, counts(stay.ruling())) == ("NO-1", (0, 0))


def test_a_heading_of_the_letter_documents_what_stands_below_it() -> None:
    stay = omitted(letter="Medications to STOP:\n- metoprolol\n\nBe well.")
    stay.give("Metoprolol Tartrate")
    assert stay.ruling().rule == "NO-1"


def test_a_held_item_of_the_discharge_list_is_documented() -> None:
    leaving = ["Aspirin 81 mg PO DAILY", "HELD- Metoprolol Tartrate 25 mg PO BID This medication "
               "was held. Do not restart until you see your doctor"]  # fmt: skip
    stay = Stay(BOTH, leaving)
    stay.give("Metoprolol Tartrate")
    assert stay.ruling().rule == "NO-1"


@pytest.mark.parametrize(
    "course",
    [
        "Aspirin was stopped and metoprolol continued.",
        "Metoprolol 25 mg BID, hold for SBP<100.",
        "Metoprolol was not stopped.",
        "His mother's metoprolol was stopped.",
        "Metoprolol had been stopped two years ago and was restarted since.",
        "Consider stopping metoprolol if bradycardic.",
        "Per the prior discharge summary, metoprolol was stopped.",
        "Metoprolol was held overnight and restarted on day 2.",
    ],
)
def test_words_that_do_not_stop_the_drug_document_nothing(course: str) -> None:
    stay = Stay(BOTH, ["Aspirin 81 mg PO DAILY"], course)
    stay.give("Metoprolol Tartrate")
    assert stay.ruling().rule == "YES-1"


def test_a_drug_held_on_admission_without_a_word_on_restarting_is_a_yes() -> None:
    stay = omitted("Metoprolol was held on admission for hypotension.")
    assert (stay.ruling().rule, counts(stay.ruling())) == ("YES-1", (1, 0))


def test_an_omitted_drug_of_moderate_significance_is_ambiguous_given_or_not() -> None:
    home = ASPIRIN | {"allopurinol": "Allopurinol 100 mg PO DAILY"}
    stay = Stay(home, ["Aspirin 81 mg PO DAILY"])
    stay.give("Allopurinol")
    assert (stay.ruling().rule, counts(stay.ruling())) == ("AMB-1", (0, 1))


@pytest.mark.parametrize(
    ("past", "rule"),
    [("Hypertension", "AMB-1"), ("CAD s/p DES to LAD", "YES-1"), ("No prior stroke", "AMB-1")],
)
def test_an_antiplatelet_weighs_more_after_a_stent_or_stroke(past: str, rule: str) -> None:
    stay = Stay(BOTH, list(METOPROLOL.values()), past=past)
    stay.give("Aspirin")
    assert stay.ruling().rule == rule


@pytest.mark.parametrize(
    "name", ["docusate sodium", "multivitamin", "vitamin d", "artificial tears", "acetaminophen"]
)
def test_a_trivial_omission_is_no_discrepancy(name: str) -> None:
    stay = Stay(BOTH | {name: f"{name} 1 unit PO DAILY:PRN"}, list(BOTH.values()))
    assert stay.ruling().rule == "NO-1"


def test_several_therapeutic_classes_of_one_drug_count_once() -> None:
    stay = omitted()
    stay.home("metoprolol tartrate", etc_rn=2)
    stay.home("Metoprolol tartrate 25 mg tablet", etc_rn=3)
    stay.give("Metoprolol Tartrate")
    assert counts(stay.ruling()) == (1, 0)


def test_brand_and_generic_are_one_drug() -> None:
    stay = Stay({"Lopressor": "Metoprolol Tartrate 25 mg PO BID"}, ["Lopressor 25 mg PO BID"])
    assert stay.ruling().rule == "NO-1"


def test_a_combination_is_one_drug() -> None:
    stay = Stay(
        ASPIRIN | {"Sinemet": "Carbidopa-Levodopa (25-100) 1 TAB PO TID"}, list(ASPIRIN.values())
    )
    stay.give("Carbidopa-Levodopa (25-100)")
    assert counts(stay.ruling()) == (1, 0)


def test_a_formulary_substitution_within_the_class_is_no_discrepancy() -> None:
    home = ASPIRIN | {"omeprazole": "Omeprazole 20 mg PO DAILY"}
    stay = Stay(home, [*ASPIRIN.values(), "Pantoprazole 40 mg PO Q24H"])
    assert stay.ruling().rule == "NO-1"


def test_another_anticoagulant_is_no_substitution() -> None:
    home = ASPIRIN | {"warfarin": "Warfarin 2 mg PO DAILY"}
    stay = Stay(home, [*ASPIRIN.values(), "Apixaban 5 mg PO BID"], past="Atrial fibrillation")
    assert counts(stay.ruling()) == (0, 2)


def test_two_home_lists_that_disagree_leave_the_intent_unclear() -> None:
    stay = Stay(BOTH, list(ASPIRIN.values()), admission_list=list(ASPIRIN.values()))
    stay.give("Metoprolol Tartrate")
    assert (stay.ruling().rule, counts(stay.ruling())) == ("AMB-1", (0, 1))


def test_a_copied_admission_list_gives_way_to_the_one_taken_at_arrival() -> None:
    listed = ["Copied from prior discharge summary", "Digoxin 0.125 mg PO DAILY"]
    stay = Stay(BOTH, list(BOTH.values()), admission_list=listed)
    assert stay.ruling().rule == "NO-1"


# Regimens -------------------------------------------------------------------------------------

TARTRATE = "Metoprolol Tartrate 25 mg PO BID"


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        (TARTRATE, "Metoprolol Tartrate 50 mg PO BID", "YES-1"),
        (TARTRATE, "Metoprolol Tartrate 25 mg PO DAILY", "YES-1"),
        (TARTRATE, "Metoprolol Tartrate ___ mg PO BID", "NO-1"),
        (TARTRATE, "Metoprolol Succinate XL 50 mg PO DAILY", "NO-1"),
        (TARTRATE, "Metoprolol Succinate XL 100 mg PO DAILY", "YES-1"),
        (TARTRATE, "Lopressor 25 mg Tablet Sig: One (1) Tablet PO twice a day.", "NO-1"),
        (TARTRATE, "Metoprolol Tartrate 12.5 mg Tablet Sig: Two (2) Tablet PO BID.", "NO-1"),
        ("Levothyroxine Sodium 100 mcg PO DAILY", "Levothyroxine 0.1 mg PO DAILY", "NO-1"),
        ("Levothyroxine Sodium 100 mcg PO DAILY", "Levothyroxine 100 mg PO DAILY", "YES-1"),
        ("Allopurinol 100 mg PO DAILY", "Allopurinol 300 mg PO DAILY", "AMB-1"),
        ("Multivitamins 1 TAB PO DAILY", "Multivitamins 2 TAB PO DAILY", "NO-1"),
    ],
)
def test_a_silent_change_of_regimen_counts_by_significance(
    before: str, after: str, rule: str
) -> None:
    name = before.split(maxsplit=1)[0].lower()
    assert Stay({name: before}, [after]).ruling().rule == rule


def test_an_explained_change_of_dose_is_no_discrepancy() -> None:
    stay = Stay(
        METOPROLOL, ["Metoprolol Tartrate 50 mg PO BID"], "Metoprolol was increased for AF."
    )
    assert stay.ruling().rule == "NO-1"


def test_a_hold_and_restart_does_not_explain_a_new_dose() -> None:
    stay = Stay(
        METOPROLOL, ["Metoprolol Tartrate 50 mg PO BID"], "Metoprolol was held and resumed."
    )
    assert stay.ruling().rule == "YES-1"


def test_a_family_of_classes_reaches_each_of_them() -> None:
    stay = omitted("Home antihypertensives were stopped in the setting of hypotension.")
    stay.give("Metoprolol Tartrate")
    assert stay.ruling().rule == "NO-1"


def test_what_a_drug_is_for_does_not_explain_its_new_dose() -> None:
    stay = Stay(METOPROLOL, ["Metoprolol Tartrate 50 mg PO BID for rate control"])
    assert stay.ruling().rule == "YES-1"


# New drugs and courses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "course", "rule"),
    [
        ("Lisinopril 5 mg PO DAILY", "Uneventful.", "AMB-1"),
        ("Lisinopril 5 mg PO DAILY", "She was started on lisinopril for hypertension.", "NO-1"),
        ("Lisinopril 5 mg PO DAILY", "An ACE inhibitor was started.", "NO-1"),
        ("OxyCODONE 5 mg PO Q6H:PRN Pain - Severe", "Uneventful.", "NO-1"),
        ("Senna 8.6 mg PO BID", "Uneventful.", "NO-1"),
    ],
)
def test_a_new_drug_needs_an_indication(line: str, course: str, rule: str) -> None:
    assert Stay(ASPIRIN, [*ASPIRIN.values(), line], course).ruling().rule == rule


CEPHALEXIN, PREDNISONE, APIXABAN = (
    "Cephalexin 500 mg PO Q6H",
    "PredniSONE 40 mg PO DAILY",
    "Apixaban 5 mg PO BID",
)


@pytest.mark.parametrize(
    ("line", "course", "rule"),
    [
        (CEPHALEXIN, "Cephalexin was started for cellulitis.", "YES-1"),
        (f"{CEPHALEXIN} Duration: 7 Days", "Cephalexin was started for cellulitis.", "NO-1"),
        (CEPHALEXIN, "She will complete a 7-day course of antibiotics for cellulitis.", "NO-1"),
        (PREDNISONE, "Prednisone was started for gout.", "YES-1"),
        (PREDNISONE, "Prednisone was started for gout, with a taper.", "NO-1"),
        (APIXABAN, "Apixaban was started for DVT.", "YES-1"),
        (APIXABAN, "Apixaban was started for atrial fibrillation.", "NO-1"),
        ("Bactrim DS 1 TAB PO DAILY", "Bactrim was started for prophylaxis.", "NO-1"),
    ],
)
def test_a_time_limited_course_needs_an_end(line: str, course: str, rule: str) -> None:
    assert Stay(ASPIRIN, [*ASPIRIN.values(), line], course).ruling().rule == rule


def test_a_home_steroid_that_goes_on_is_chronic() -> None:
    line = "PredniSONE 5 mg PO DAILY"
    assert Stay({"prednisone": line}, [line]).ruling().rule == "NO-1"


# What nobody knows ----------------------------------------------------------------------------


def test_a_drug_that_the_table_does_not_know_leaves_the_reference_pending() -> None:
    stay = Stay(ASPIRIN | {"Zorbamycol": "Zorbamycol 5 mg PO DAILY"}, list(ASPIRIN.values()))
    ruling = stay.ruling()
    assert ruling.verdict is None
    assert ruling.pending is not None
    assert "zorbamycol" in ruling.pending


@pytest.mark.parametrize(
    ("leaving", "course", "rule"),
    [
        (["Zorbamycol 5 mg PO DAILY"], "Uneventful.", "NO-1"),
        ([], "Zorbamycol was stopped.", "NO-1"),
        (["Zorbamycol 10 mg PO DAILY"], "Zorbamycol was increased to 10 mg.", "NO-1"),
    ],
)
def test_an_unknown_drug_does_no_harm_where_nothing_is_unexplained(
    leaving: list[str], course: str, rule: str
) -> None:
    home = ASPIRIN | {"Zorbamycol": "Zorbamycol 5 mg PO DAILY"}
    assert Stay(home, [*ASPIRIN.values(), *leaving], course).ruling().rule == rule


WEAK = Validity(readings={"medication_intent": Measured(n=50, recall=0.5, precision=0.9)})


def judged(stay: Stay) -> Ruling:
    anchor = Anchor(subject_id=SUBJECT, hadm_id=HADM, stay_id=STAY)
    return evaluate(FOLDER, stay, anchor, validity=WEAK)


def test_lists_that_agree_need_no_reader_of_intents() -> None:
    assert judged(Stay(BOTH, list(BOTH.values()))).rule == "NO-1"


@pytest.mark.parametrize("course", ["Uneventful.", "Metoprolol was stopped for bradycardia."])
def test_a_difference_is_pending_where_the_reader_of_intents_is_weak(course: str) -> None:
    ruling = judged(omitted(course))
    assert ruling.verdict is None
    assert ruling.pending is not None


def test_an_unknown_drug_does_not_hide_a_certain_discrepancy() -> None:
    stay = Stay(BOTH | {"Zorbamycol": "Zorbamycol 5 mg PO DAILY"}, list(ASPIRIN.values()))
    stay.give("Metoprolol Tartrate")
    assert stay.ruling().rule == "YES-1"


# Twins ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin", FOLDER.twins, ids=lambda twin: twin.id)
def test_each_twin_gets_the_verdict_declared_before_any_run(twin: Any) -> None:
    if twin.from_verdict is Verdict.YES:
        stay = omitted()
        stay.give("Metoprolol Tartrate")
    else:
        stay = Stay(BOTH, list(BOTH.values()))
    before = stay.ruling()
    assert before.verdict is twin.from_verdict
    bind: dict[str, Any] = {"hadm_id": HADM, "stay_id": STAY}
    bind |= {name: datetime.fromisoformat(at) for name, at in before.anchors.items() if at}
    bind |= {name: fact.value for name, fact in before.facts.items()}
    touched = apply(stay.db, twin.edits, subject_id=SUBJECT, bind=bind)
    assert any(each.rows for each in touched)
    assert stay.ruling().verdict is twin.to_verdict


# Readers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reading", "example"),
    [pytest.param(r, e, id=f"{r.id}: {e.text[:40]}") for r in FOLDER.notes for e in r.examples],
)
def test_each_reading_holds_its_own_examples(reading: Any, example: Any) -> None:
    note = Note("discharge", "n", "DS", example.text)
    found = [each.value for each in reader(reading)(reading, note)]
    assert found == ([example.value] if example.value is not None else [])
