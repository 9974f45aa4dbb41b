"""Names, lines and intents of medications, on lists and sentences invented here."""

import json
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.ward import HADM, STAY, Ward, at

from chartproof.records.notes import Reading
from chartproof.rules import intents, medications
from chartproof.rules.drugs import aliases, drugs, groups, ingredients, named, tabulate
from chartproof.rules.formulas import define
from chartproof.rules.statements import Note

LISTS = ("admission_medications", "discharge_medications")
INTENT = Reading(id="medication_intent", about="", kind="medication_intent")


def lines(items: str, header: str = "Discharge Medications") -> list[medications.Line]:
    note = Note("discharge", "n", "DS", f"{header}:\n{items}\n\nDischarge Disposition:\nHome\n")
    return [line for *_, line in medications.lines(note, LISTS)]


def said(text: str, section: str = "Brief Hospital Course") -> set[tuple[str, str]]:
    note = Note("discharge", "n", "DS", f"{section}:\n{text}\n")
    values = [json.loads(each.value) for each in intents.read(INTENT, note)]
    told = {"indicated", "end", "continued"}
    return {(v["intent"], v["drug"] or v["class"]) for v in values if v["intent"] not in told}


# Names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Metoprolol Succinate XL", {"metoprolol"}),
        ("TOPROL XL 50 mg tablet,extended release", {"metoprolol"}),
        ("atorvastatin [Lipitor] 40 mg tablet", {"atorvastatin"}),
        ("OxyCODONE--Acetaminophen (5mg-325mg)", {"oxycodone", "acetaminophen"}),
        ("Percocet", {"oxycodone", "acetaminophen"}),
        ("lisinopril-hydrochlorothiazide 20 mg-12.5 mg", {"lisinopril", "hydrochlorothiazide"}),
        ("Advair Diskus 250 mcg-50 mcg/dose", {"fluticasone", "salmeterol"}),
        ("Humalog KwikPen Insulin 100 unit/mL", {"insulin lispro"}),
        ("HydrALAzine", {"hydralazine"}),
        ("hydroxyzine HCl", {"hydroxyzine"}),
        ("Heparin Flush (10 units/ml)", {"heparin flush"}),
        ("hydrocortisone 1 % topical cream", {"hydrocortisone topical"}),
        ("Timolol Maleate 0.5% Ophth. Soln.", {"timolol"}),
        ("erythromycin 0.5% eye ointment", {"erythromycin eye"}),
        ("Fentanyl Patch 25 mcg/h", {"fentanyl"}),
    ],
)
def test_a_name_gives_its_ingredients(name: str, expected: set[str]) -> None:
    assert {each.ingredient for each in drugs(name)} == expected


def test_the_route_tells_a_nose_spray_from_an_inhaler() -> None:
    assert drugs("Fluticasone Propionate", "NU")[0].ingredient == "fluticasone nasal"
    assert drugs("Fluticasone Propionate", "IH")[0].group == "inhaled_controller"


def test_a_name_that_the_table_does_not_know_has_no_class() -> None:
    (drug,) = drugs("Zorbamycol 5 mg tablet")
    assert (drug.ingredient, drug.group) == ("zorbamycol tablet", None)
    assert drugs("___") == ()


def test_every_entry_of_the_table_is_whole() -> None:
    assert len(ingredients()) > 400
    for parts in aliases().values():
        assert set(parts) <= set(ingredients())
    for group, entry in groups().items():
        assert entry["significance"] in {"high", "moderate", "trivial"}, group
        assert entry.get("course") in {None, "antibiotic", "steroid", "anticoagulant"}, group
        assert set(entry.get("high_after", ())) <= {"acs", "stroke", "stent"}, group


def test_no_ingredient_has_two_classes() -> None:
    every = [name for entry in groups().values() for name in entry["drugs"]]
    assert len(every) == len(set(every))


@given(st.sampled_from(sorted(aliases())))
def test_every_name_of_the_table_is_read_as_what_it_stands_for(name: str) -> None:
    assert {each.group for each in drugs(name)} != {None}


def test_prose_names_drugs_and_classes_the_longest_first() -> None:
    found = named(
        "Her potassium was low on potassium chloride, HCTZ and a beta blocker; mom called."
    )
    assert [(n.drugs[0].ingredient if n.drugs else n.groups[0]) for n in found] == [
        "potassium chloride", "hydrochlorothiazide", "beta_blocker",
    ]  # fmt: skip


def test_an_abbreviation_of_a_class_counts_in_capitals_only() -> None:
    assert [n.groups for n in named("PPI started")] == [("ppi",)]
    assert named("a work of art") == []


def test_the_names_of_a_chart_become_a_table() -> None:
    ward = Ward()
    ward.add("medrecon", stay_id=STAY, name="Percocet", charttime=at("01 08:00"))
    ward.add("emar", emar_id="e-1", hadm_id=HADM, medication="Zorbamycol")
    tabulate(ward.db)
    rows = ward.db.execute("select name, ingredient, class from drug_name order by all").fetchall()
    assert rows == [
        ("Percocet", "acetaminophen", "analgesic_otc"),
        ("Percocet", "oxycodone", "opioid"),
        ("Zorbamycol", "zorbamycol", None),
    ]
    high = ward.db.execute("select significance, course from drug_class where class = 'steroid'")
    assert high.fetchone() == ("high", "steroid")


@pytest.mark.parametrize(
    ("event", "given_"),
    [
        ("Administered", True),
        ("Delayed Administered", True),
        ("Removed Existing / Applied New", True),
        ("Restarted", True),
        ("Confirmed", False),
        ("Rate Change", False),
        ("Not Given", False),
        ("Hold Dose", False),
        ("Stopped", False),
    ],
)
def test_what_counts_as_an_administration(event: str, given_: bool) -> None:
    with duckdb.connect() as db:
        define(db)
        assert db.execute("select administered(?)", [event]).fetchone() == (given_,)


# Lines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("1. Lisinopril 10 mg PO DAILY", (10000, "mass", "enteral", 1)),
        ("1. Lisinopril 10mg po qd", (10000, "mass", "enteral", 1)),
        (
            "1. Lisinopril 5 mg Tablet Sig: Two (2) Tablet PO daily.",
            (10000, "mass", "enteral", 1),
        ),
        ("- lisinopril 5 mg tablet 2 tablet(s) by mouth daily", (10000, "mass", "enteral", 1)),
        ("* Levothyroxine Sodium 0.1 mg PO DAILY", (100, "mass", "enteral", 1)),
        ("1) Furosemide 40 mg IV BID", (40000, "mass", "intravenous", 2)),
        ("1. Heparin 5000 UNIT SC TID", (5000, "unit", "subcutaneous", 3)),
        ("1. Potassium Chloride 20 mEq PO DAILY", (20, "meq", "enteral", 1)),
        ("1. Albuterol Inhaler 2 PUFF IH Q4H:PRN wheeze", (2, "count", "inhaled", 6)),
        ("1. Latanoprost 0.005% Ophth. Soln. 1 DROP BOTH EYES QHS", (1, "count", "eye", 1)),
        ("1. Methotrexate 15 mg PO 1X/WEEK", (15000, "mass", "enteral", 0.1429)),
        ("1. PredniSONE 5 mg PO EVERY OTHER DAY", (5000, "mass", "enteral", 0.5)),
        ("1. Warfarin ___ mg PO DAILY16", (None, "mass", "enteral", 1)),
        ("1. Lisinopril", (None, None, None, None)),
    ],
)
def test_a_line_gives_dose_route_and_frequency(item: str, expected: tuple[Any, ...]) -> None:
    (line,) = lines(item)
    dose, dimension, route, per_day = expected
    if dimension != "count" or line.drug == "albuterol":
        assert (line.dose, line.dimension) == (dose, dimension)
    assert (line.route, line.per_day) == (route, per_day)


def test_strengths_shared_by_two_ingredients_are_nobodys_dose() -> None:
    found = lines("1. OxyCODONE--Acetaminophen (5mg-325mg) 1 TAB PO Q6H:PRN pain")
    assert [(each.drug, each.dose, each.prn) for each in found] == [
        ("oxycodone", None, True),
        ("acetaminophen", None, True),
    ]


def test_a_line_goes_on_below_and_a_prescription_line_is_no_item() -> None:
    found = lines(
        "1. Metoprolol Succinate XL 50 mg PO DAILY \n"
        "RX *metoprolol succinate 50 mg 1 tablet(s) by mouth daily Disp #*30\n"
        "2. HELD- Lisinopril 10 mg PO DAILY This medication was held. Do not restart\n"
        "Lisinopril until you see your doctor\n"
        "3. Glargine 20 Units Bedtime\nHumalog 4 Units Breakfast\n"
    )
    assert [(each.drug, each.held) for each in found] == [
        ("metoprolol", False),
        ("lisinopril", True),
        ("insulin glargine", False),
        ("insulin lispro", False),
    ]


@pytest.mark.parametrize(
    ("item", "ends"),
    [
        ("Cephalexin 500 mg PO Q6H Duration: 7 Days", True),
        ("Cephalexin 500 mg PO Q6H x 5 days", True),
        ("Cephalexin 500 mg PO Q6H (last day ___)", True),
        ("PredniSONE 40 mg PO DAILY This is dose # 2 of 5 tapered doses", True),
        ("Cephalexin 500 mg PO Q6H Duration: ___", False),
        ("Cephalexin 500 mg PO Q6H", False),
    ],
)
def test_a_line_may_give_its_course_an_end(item: str, ends: bool) -> None:
    assert lines(f"1. {item}")[0].ends is ends


def test_headings_inside_a_list_group_what_stands_below() -> None:
    found = lines("NEW:\n1. Amlodipine 5 mg PO DAILY\n\nSTOP taking:\n1. Digoxin 0.125 mg PO DAILY")
    assert [(each.drug, each.heading) for each in found] == [
        ("amlodipine", "new"),
        ("digoxin", "stopped"),
    ]


def test_a_list_on_transfer_is_no_home_list() -> None:
    assert lines("1. Lisinopril 10 mg PO DAILY", "Medications on Transfer") == []


@pytest.mark.parametrize(
    "text", ["None", "none.", "1. None", "No home medications", "Patient takes no medications"]
)
def test_a_list_may_say_that_there_is_none(text: str) -> None:
    assert [each.none for each in lines(text)] == [True]


def test_prose_and_blanks_are_no_items() -> None:
    assert lines("The Preadmission Medication list is accurate and complete.\n1. ___") == []


def test_drugs_strung_together_are_several_items() -> None:
    found = lines("aspirin, metoprolol and lisinopril")
    assert [each.drug for each in found] == ["aspirin", "metoprolol", "lisinopril"]


@pytest.mark.parametrize(
    "items",
    [
        "Aspirin 81 mg PO DAILY\nNOT taking: lisinopril",
        "Aspirin 81 mg PO DAILY\nWarfarin - stopped by his PCP",
        "Aspirin 81 mg daily (lisinopril stopped in the spring)",
        "Aspirin 81 mg daily; denies ibuprofen",
        "Aspirin 81 mg daily. No longer takes metformin.",
    ],
)
def test_a_home_list_leaves_out_what_it_says_is_not_taken(items: str) -> None:
    found = lines(items, "Medications on Admission")
    assert [each.drug for each in found] == ["aspirin"]


def test_a_discharge_list_marks_what_it_says_to_stop() -> None:
    found = lines("1. Aspirin 81 mg PO DAILY\n2. STOP: lisinopril 5 mg")
    assert [(each.drug, each.heading) for each in found] == [
        ("aspirin", None),
        ("lisinopril", "stopped"),
    ]


def test_a_list_copied_from_an_older_text_says_so() -> None:
    found = lines("Per prior discharge summary:\n1. Digoxin 0.125 mg PO DAILY")
    assert [each.copied for each in found] == [True]


def test_a_line_keeps_its_place_in_the_note() -> None:
    note = Note("discharge", "n", "DS", "Discharge Medications:\n1. Aspirin 81 mg PO DAILY\n")
    reading = Reading(id="x", about="", kind="medication_list", sections=LISTS)
    (mention,) = medications.read(reading, note)
    assert (mention.line_from, mention.line_to) == (2, 2)
    assert json.loads(mention.value)["drug"] == "aspirin"


# Intents --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Heparin was stopped and metoprolol continued.", {("stopped", "heparin")}),
        (
            "We stopped his warfarin and started apixaban.",
            {("stopped", "warfarin"), ("new", "apixaban")},
        ),
        ("HCTZ d/c'd.", {("stopped", "hydrochlorothiazide")}),
        ("You should no longer take lisinopril.", {("stopped", "lisinopril")}),
        ("Her beta blocker was stopped.", {("stopped", "beta_blocker")}),
        (
            "We held metoprolol and lisinopril was stopped.",
            {("held", "metoprolol"), ("stopped", "lisinopril")},
        ),
        ("Home lisinopril held iso AKI.", {("held", "lisinopril")}),
        (
            "Lisinopril was held and restarted later.",
            {("restarted", "lisinopril")},
        ),
        (
            "Metformin was held. It should be resumed by the PCP.",
            {("held", "metformin"), ("restart_planned", "metformin")},
        ),
        ("Do not restart lisinopril until you see your PCP.", {("hold_planned", "lisinopril")}),
        ("Lisinopril was not restarted at discharge.", {("hold_planned", "lisinopril")}),
        ("He was discharged on a lower dose of lisinopril.", {("changed", "lisinopril")}),
        ("Warfarin was replaced by apixaban.", {("changed", "warfarin"), ("new", "apixaban")}),
        (
            "She was continued on lisinopril and metoprolol was uptitrated.",
            {("changed", "metoprolol")},
        ),
        ("Pt with MI 3 years ago, was started on lisinopril.", {("new", "lisinopril")}),
        ("Metformin was thought the cause and was stopped.", {("stopped", "metformin")}),
        ("Amiodarone, which had burdened her, was stopped.", {("stopped", "amiodarone")}),
        ("Her beta blocker (metoprolol) was stopped.", {("stopped", "metoprolol")}),
        ("His insulin was changed to glargine.", {("changed", "insulin glargine")}),
        ("ASA 81 mg was added.", {("new", "aspirin")}),
        ("You may start taking lisinopril again tomorrow.", {("restarted", "lisinopril")}),
        ("Decide whether to restart aspirin.", {("restart_open", "aspirin")}),
        ("No changes were made to lisinopril.", set()),
        ("Stop your aspirin until ___, then resume it.", {("hold_planned", "aspirin")}),
    ],
)
def test_a_sentence_tells_what_was_done_with_a_drug(
    text: str, expected: set[tuple[str, str]]
) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Amlodipine was not stopped.",
        "No changes were made to metoprolol.",
        "She refused to stop digoxin.",
        "Consider stopping amlodipine if she is dizzy.",
        "Metoprolol 25 mg, hold for SBP<100.",
        "Hold lisinopril if SBP<90.",
        "His wife's lisinopril was stopped.",
        "Two years ago, metoprolol was stopped.",
        "On her last admission digoxin was discontinued.",
        "Per the prior discharge summary, digoxin was stopped.",
        "The ureteral stent was removed.",
    ],
)
def test_words_of_another_kind_tell_nothing(text: str) -> None:
    assert said(text) == set()


def test_a_hold_in_the_letter_is_a_plan_and_one_in_the_course_is_not() -> None:
    assert said("Lisinopril was held.") == {("held", "lisinopril")}
    assert said("Hold your lisinopril.", "Discharge Instructions") == {
        ("hold_planned", "lisinopril")
    }


def test_a_letters_headings_reach_the_items_below_them() -> None:
    letter = "Medication changes:\n- STOP digoxin\n- START amlodipine 5 mg\n\nHeld:\nwarfarin\n"
    assert said(letter, "Discharge Instructions") == {
        ("stopped", "digoxin"),
        ("new", "amlodipine"),
        ("hold_planned", "warfarin"),
    }


def test_home_lists_allergies_and_the_present_illness_tell_no_intent() -> None:
    for section in ("Medications on Admission", "Allergies", "History of Present Illness"):
        assert said("Lisinopril was stopped.", section) == set()


WORDS = st.sampled_from(
    [
        "lisinopril",
        "was",
        "stopped",
        "held",
        "and",
        ",",
        ";",
        "not",
        "metoprolol",
        "\n",
        "if",
        "10 mg",
        "PO",
        "BID",
        "___",
        ":",
        "1.",
        "Discharge Medications:",
        "Brief Hospital Course:",
        "(",
        ")",
        "it",
    ]
)


@settings(max_examples=150)
@given(st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=30).map(" ".join)))
def test_no_text_brings_the_readers_down_and_lines_stay_within_the_note(text: str) -> None:
    note = Note("discharge", "n", "DS", f"Discharge Medications:\n{text}")
    reading = Reading(id="x", about="", kind="medication_list", sections=LISTS)
    for each in (*medications.read(reading, note), *intents.read(INTENT, note)):
        assert 1 <= each.line_from <= each.line_to <= note.text.count("\n") + 1
        json.loads(each.value)
