"""post-ct-aki on constructed charts, and against a second implementation of its rules."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.asked import Asked
from tests.rules.ward import HADM, SUBJECT, Ward, at

from chartproof.catalog.read import scenario
from chartproof.records.case import Anchor
from chartproof.rules.engine import from_facts

FOLDER = scenario("post-ct-aki")
ASKED = Asked(FOLDER, Anchor(subject_id=SUBJECT, hadm_id=HADM))
ruling, rule = ASKED.ruling, ASKED.rule
ADMITTED, LEFT = at("02 08:00"), at("12 10:00")
SCAN = at("04 10:00")


def ward(scan: bool = True, tier1: tuple[float, ...] = (1.0,), **patient: Any) -> Ward:
    """A patient with a CT on the fourth; creatinine half a year before admission."""
    made = Ward()
    made.patient(**patient)
    made.admission(ADMITTED, LEFT)
    if scan:
        made.report(SCAN)
    for n, value in enumerate(tier1):
        made.lab(ADMITTED - timedelta(days=180 + n), value, hadm_id=None)
    return made


def after(made: Ward, *values: float, every_hours: int = 12) -> list[str]:
    """Creatinine after the scan."""
    return [
        made.lab(SCAN + timedelta(hours=every_hours * (n + 1)), value)
        for n, value in enumerate(values)
    ]


# The oracle, written from the prose of the dossier's fact model; floats with its epsilon --------


def oracle(s: dict[str, Any]) -> str:
    tier1, post = s["tier1"], s["post"]
    if tier1:
        baseline, high = min(tier1), max(tier1)
    else:
        baseline = high = s["adm_cr"] if s["adm_cr"] is not None else s["mdrd"]

    def rises(base: float | None) -> bool:
        if base is None:
            return False
        return any(x - base >= 0.3 - 1e-9 or x / base >= 1.5 - 1e-9 for x in post)

    labile = (
        len(tier1) >= 2
        and max(tier1) / min(tier1) >= 1.5 - 1e-9
        and max(tier1) - min(tier1) >= 0.3 - 1e-9
    )
    ordered = [
        ("LACK-1", not s["ct_found"]),
        ("LACK-2", not s["ct_time_known"]),
        ("AMB-1", s["rrt_or_esrd"]),
        ("LACK-3", baseline is None),
        ("LACK-4", len(post) == 0),
        ("AMB-2", labile and rises(baseline) != rises(high)),
        ("YES-1", rises(baseline)),
        ("LACK-5", len(post) < 2),
        ("AMB-3", s["ckd4"]),
        ("NO-1", True),
    ]
    return next(name for name, holds in ordered if holds)


MG_DL = st.integers(30, 400).map(lambda n: n / 100)
STATES = st.fixed_dictionaries(
    {
        "ct_found": st.sampled_from([True, True, True, False]),
        "ct_time_known": st.sampled_from([True, True, True, False]),
        "rrt_or_esrd": st.sampled_from([False, False, False, True]),
        "tier1": st.lists(MG_DL, max_size=4),
        "adm_cr": st.none() | MG_DL,
        "mdrd": st.none() | MG_DL,
        "post": st.lists(MG_DL, max_size=4),
        "ckd4": st.booleans(),
    }
)


@settings(max_examples=60)
@given(STATES)
def test_the_sql_rules_agree_with_a_second_implementation_in_any_state(s: dict[str, Any]) -> None:
    assert from_facts(FOLDER, s).rule == oracle(s)


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        ({"rrt_or_esrd": True, "post": [1.6, 2.0]}, "medically_ambiguous"),
        ({"rrt_or_esrd": False, "post": [1.6, 2.0]}, "yes"),
        ({"post": [1.0, 1.0]}, "no"),
        (
            {"rrt_or_esrd": True, "tier1": [4.0, 4.4], "adm_cr": 4.4, "post": [4.4, 4.84],
             "ckd4": True},
            "medically_ambiguous",
        ),
        ({"post": [1.0, 1.1]}, "no"),
    ],
)  # fmt: skip
def test_the_dossiers_counterfactual_states_have_their_verdicts(
    facts: dict[str, Any], verdict: str
) -> None:
    assert from_facts(FOLDER, facts).verdict == verdict


# One chart per rule -----------------------------------------------------------------------------


def test_no_trace_of_a_ct_is_lack_1() -> None:
    made = ward(scan=False)
    after(made, 1.5, 1.6)
    assert rule(made) == "LACK-1"


def test_an_order_alone_is_a_ct_at_an_unknown_time() -> None:
    made = ward(scan=False)
    order = made.add(
        "poe", poe_id="90000001-7", hadm_id=HADM, ordertime=SCAN, order_type="Radiology",
        order_subtype="CT Scan", transaction_type="New",
    )  # fmt: skip
    after(made, 1.5, 1.6)
    got = ruling(made)
    assert (got.rule, got.deciding) == ("LACK-2", (order,))


def test_a_discontinued_order_shows_no_ct() -> None:
    made = ward(scan=False)
    made.add(
        "poe", poe_id="90000001-7", hadm_id=HADM, ordertime=SCAN, order_type="Radiology",
        order_subtype="CT Scan", transaction_type="New", discontinued_by_poe_id="90000001-8",
    )  # fmt: skip
    assert rule(made) == "LACK-1"


@pytest.mark.parametrize(("code", "version"), [("8703", 9), ("BW25Y0Z", 10)])
def test_a_procedure_code_alone_dates_the_ct_but_does_not_time_it(code: str, version: int) -> None:
    made = ward(scan=False)
    made.add(
        "procedures_icd", hadm_id=HADM, chartdate=SCAN.date(), icd_code=code, icd_version=version
    )
    after(made, 1.5, 1.6)
    assert rule(made) == "LACK-2"


def test_an_xray_code_is_no_ct() -> None:
    made = ward(scan=False)
    made.add(
        "procedures_icd", hadm_id=HADM, chartdate=SCAN.date(), icd_code="BW03ZZZ", icd_version=10
    )
    assert rule(made) == "LACK-1"


def test_a_rise_after_the_scan_is_yes_and_cites_scan_baseline_and_window() -> None:
    made = ward()
    values = after(made, 1.1, 1.4)
    got = ruling(made)
    assert got.rule == "YES-1"
    assert set(values) <= set(got.deciding)
    assert any(each.startswith("radiology:") for each in got.deciding)
    assert got.facts["tier1"].rows[0] in got.deciding
    assert got.derived["baseline_tier"] == 1


def test_two_values_without_a_rise_are_no() -> None:
    made = ward()
    after(made, 1.0, 1.1)
    assert rule(made) == "NO-1"


def test_one_value_without_a_rise_does_not_show_that_there_was_none() -> None:
    made = ward()
    after(made, 1.1)
    assert rule(made) == "LACK-5"


def test_no_creatinine_in_the_window_is_lack_4() -> None:
    made = ward()
    made.lab(SCAN + timedelta(hours=49), 2.0)
    assert rule(made) == "LACK-4"


def test_without_any_baseline_it_is_lack_3() -> None:
    made = ward(tier1=())
    after(made, 2.0, 2.1)
    assert rule(made) == "LACK-3"


def test_a_labile_baseline_that_changes_the_answer_is_ambiguous() -> None:
    made = ward(tier1=(1.0, 1.6))
    after(made, 1.4, 1.5)
    assert rule(made) == "AMB-2"


def test_a_labile_baseline_that_does_not_change_the_answer_is_no_obstacle() -> None:
    made = ward(tier1=(1.0, 1.6))
    after(made, 2.4, 2.5)
    assert rule(made) == "YES-1"


@pytest.mark.parametrize(("code", "version"), [("N184", 10), ("5855", 9)])
def test_advanced_ckd_without_a_rise_is_ambiguous(code: str, version: int) -> None:
    made = ward(tier1=(2.0,))
    code_row = made.code(code, version)
    after(made, 2.0, 2.1)
    got = ruling(made)
    assert got.rule == "AMB-3"
    assert code_row in got.deciding


def test_a_baseline_egfr_below_30_is_advanced_ckd_without_any_code() -> None:
    # MDRD 186 x 2.6^-1.154 x 60^-0.203 = 26.9 for a man of 60
    made = ward(tier1=(2.6,))
    after(made, 2.6, 2.7)
    assert rule(made) == "AMB-3"


@pytest.mark.parametrize(
    ("code", "version"), [("N186", 10), ("Z992", 10), ("5856", 9), ("V4511", 9)]
)
def test_an_esrd_code_stops_the_thresholds(code: str, version: int) -> None:
    made = ward()
    row = made.code(code, version)
    after(made, 2.0, 3.0)
    got = ruling(made)
    assert (got.rule, got.deciding) == ("AMB-1", (row,))


# Edges and traps ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "expected"), [(1.29, "NO-1"), (1.3, "YES-1")])
def test_the_absolute_threshold_is_inclusive_at_a_hundredth(value: float, expected: str) -> None:
    made = ward()
    after(made, value, 1.0)
    assert rule(made) == expected


@pytest.mark.parametrize(("value", "expected"), [(0.59, "NO-1"), (0.6, "YES-1")])
def test_the_relative_threshold_is_inclusive_too(value: float, expected: str) -> None:
    made = ward(tier1=(0.4,))
    after(made, value, 0.4)
    assert rule(made) == expected


def test_a_difference_that_doubles_get_wrong_counts() -> None:
    assert 1.2 - 0.9 < 0.3  # in floating point
    made = ward(tier1=(0.9,))
    after(made, 1.2, 1.0)
    assert rule(made) == "YES-1"


@pytest.mark.parametrize(
    ("minutes", "expected"), [(0, "LACK-5"), (1, "YES-1"), (2880, "YES-1"), (2881, "LACK-5")]
)
def test_the_window_begins_after_the_scan_and_includes_48_hours(
    minutes: int, expected: str
) -> None:
    made = ward()
    after(made, 1.1)
    made.lab(SCAN + timedelta(minutes=minutes), 1.5)
    assert rule(made) == expected


@pytest.mark.parametrize(
    ("days", "tier"), [(366, 2), (365, 1), (90, 1), (89, 2)]
)  # fmt: skip
def test_tier_1_is_365_to_90_days_before_admission(days: int, tier: int) -> None:
    made = ward(tier1=())
    made.lab(ADMITTED - timedelta(days=days), 0.5, hadm_id=None)
    made.lab(ADMITTED + timedelta(hours=1), 1.0)
    after(made, 1.1, 1.1)
    assert ruling(made).derived["baseline_tier"] == tier


def test_the_lowest_value_of_a_recent_admission_is_no_tier_1() -> None:
    made = ward()
    made.lab(ADMITTED - timedelta(days=40), 0.6, hadm_id=80000009)
    after(made, 1.1, 1.1)
    assert rule(made) == "NO-1"


def test_labs_without_an_encounter_set_the_admission_baseline() -> None:
    made = ward(tier1=())
    row = made.lab(ADMITTED - timedelta(hours=3), 1.0, hadm_id=None)
    after(made, 1.4, 1.4)
    got = ruling(made)
    assert (got.rule, got.facts["adm_cr"].rows) == ("YES-1", (row,))


def test_a_window_value_without_an_encounter_counts() -> None:
    made = ward()
    made.lab(SCAN + timedelta(hours=5), 1.5, hadm_id=None)
    assert rule(made) == "YES-1"


@pytest.mark.parametrize("itemid", [52024, 51082, 51106])
def test_whole_blood_and_urine_creatinine_never_enter(itemid: int) -> None:
    made = ward()
    after(made, 1.0, 1.1)
    made.lab(SCAN + timedelta(hours=3), 9.0, itemid=itemid)
    assert rule(made) == "NO-1"


def test_the_second_serum_item_enters_only_where_the_first_is_absent() -> None:
    made = ward()
    after(made, 1.0, 1.1)
    made.lab(SCAN + timedelta(hours=12), 5.0, itemid=52546)  # shares its time with a 50912
    assert rule(made) == "NO-1"
    made.lab(SCAN + timedelta(hours=13), 1.5, itemid=52546)
    assert rule(made) == "YES-1"


def test_another_unit_is_not_compared() -> None:
    made = ward()
    after(made, 1.0, 1.1)
    made.add(
        "labevents", labevent_id=99, itemid=50912, charttime=SCAN + timedelta(hours=2),
        valuenum=97, value="97", valueuom="umol/L",
    )  # fmt: skip
    assert rule(made) == "NO-1"


def test_a_number_that_stands_only_in_the_text_is_read() -> None:
    made = ward()
    after(made, 1.0)
    made.lab(SCAN + timedelta(hours=20), None, text="1.4")
    made.lab(SCAN + timedelta(hours=22), None, text="___")
    got = ruling(made)
    assert (got.rule, got.facts["post"].value) == ("YES-1", [1.0, 1.4])


def test_a_creatinine_within_two_hours_of_the_scan_is_baseline_and_no_window_value() -> None:
    made = Ward()
    made.patient()
    made.admission(ADMITTED, LEFT)
    made.report(ADMITTED + timedelta(hours=1))
    made.lab(ADMITTED + timedelta(hours=2), 1.0)
    made.lab(ADMITTED + timedelta(hours=20), 1.1)
    got = ruling(made)
    assert (got.rule, got.facts["post"].value) == ("LACK-5", [1.1])


def test_an_order_before_the_scan_does_not_move_the_window() -> None:
    made = ward()
    made.add(
        "poe", poe_id="90000001-7", hadm_id=HADM, ordertime=SCAN - timedelta(hours=30),
        order_type="Radiology", order_subtype="CT Scan", transaction_type="New",
    )  # fmt: skip
    made.lab(SCAN - timedelta(hours=2), 1.5)
    after(made, 1.0, 1.1)
    assert rule(made) == "NO-1"


def test_the_first_of_two_scans_is_the_index() -> None:
    made = ward()
    made.report(SCAN + timedelta(days=4))
    after(made, 1.0, 1.1)
    made.lab(SCAN + timedelta(days=5), 3.0)
    assert rule(made) == "NO-1"


def test_a_report_governs_over_the_icu_event_of_the_same_study() -> None:
    made = ward()
    made.add(
        "procedureevents", hadm_id=HADM, stay_id=7, itemid=221214,
        starttime=SCAN - timedelta(minutes=40), statusdescription="FinishedRunning",
    )  # fmt: skip
    after(made, 1.0, 1.1)
    assert ruling(made).anchors["t_ct"] == "2150-01-04 10:00:00"


def test_an_earlier_icu_event_without_a_report_is_the_first_ct() -> None:
    made = ward()
    made.add(
        "procedureevents", hadm_id=HADM, stay_id=7, itemid=229582,
        starttime=SCAN - timedelta(hours=30), statusdescription="FinishedRunning",
    )  # fmt: skip
    after(made, 1.0, 1.1)
    assert ruling(made).anchors["t_ct"] == "2150-01-03 04:00:00"


def test_a_rewritten_icu_event_is_none() -> None:
    made = ward(scan=False)
    made.add(
        "procedureevents", hadm_id=HADM, stay_id=7, itemid=221214, starttime=SCAN,
        statusdescription="Rewritten",
    )  # fmt: skip
    assert rule(made) == "LACK-1"


@pytest.mark.parametrize(
    "text",
    [
        "EXAMINATION:  CHEST (PORTABLE AP)\n\nINDICATION:  CT showed nodule.\n",
        "EXAMINATION:  FDG PET/CT WHOLE BODY\n\nFINDINGS:  None.\n",
        "EXAMINATION:  SECOND OPINION CT NEURO\n\nFINDINGS:  None.\n",
        "EXAMINATION:  CT NEEDLE LOCALIZATION\n\nFINDINGS:  None.\n",
        "CHEST RADIOGRAPH\n\nCOMPARISON:  CT of ___.\n\nFINDINGS:  Clear.\n",
    ],
)
def test_reports_that_only_mention_a_ct_are_none(text: str) -> None:
    made = ward(scan=False)
    made.report(SCAN, text)
    assert rule(made) == "LACK-1"


def test_an_addendum_is_no_study() -> None:
    made = ward(scan=False)
    made.report(SCAN, note_type="AR")
    assert rule(made) == "LACK-1"


def test_a_report_without_encounter_in_the_hours_before_admission_counts() -> None:
    made = ward(scan=False)
    made.report(ADMITTED - timedelta(hours=5), hadm_id=None)
    made.lab(ADMITTED + timedelta(hours=10), 1.5)
    assert rule(made) == "YES-1"


def test_the_exam_name_tells_a_ct_where_the_text_does_not() -> None:
    made = ward(scan=False)
    made.report(SCAN, "No acute findings.\n", exams=["CTA CHEST W&W/O C&RECONS, NON-CORONARY"])
    after(made, 1.0, 1.1)
    assert rule(made) == "NO-1"


def test_a_study_time_in_the_text_governs_over_charttime() -> None:
    made = ward(scan=False)
    made.report(
        SCAN, "EXAMINATION:  CT HEAD\n\nTECHNIQUE:  The scan was performed at 06:00.\n\n"
        "NOTIFICATION:  Discussed with Dr. ___ at 11:15.\n",
    )  # fmt: skip
    after(made, 1.0, 1.1)
    assert ruling(made).anchors["t_ct"] == "2150-01-04 06:00:00"


def test_an_earlier_ct_known_by_date_only_leaves_an_answer_that_hangs_on_it_open() -> None:
    made = ward()
    made.add(
        "procedures_icd", hadm_id=HADM, chartdate=at("03 00:00").date(), icd_code="B020ZZZ",
        icd_version=10,
    )  # fmt: skip
    made.lab(at("03 12:00"), 1.6)  # in the window of the earlier CT only if that was before noon
    after(made, 1.0, 1.1)
    got = ruling(made)
    assert (got.rule, got.facts["ct_time_known"].value) == ("LACK-2", False)
    assert got.readings > 2


def test_an_earlier_ct_known_by_date_only_does_no_harm_where_all_its_times_agree() -> None:
    made = ward()
    made.add(
        "procedures_icd", hadm_id=HADM, chartdate=at("03 00:00").date(), icd_code="B020ZZZ",
        icd_version=10,
    )  # fmt: skip
    for hours in (18, 30, 42, 54, 66, 78):
        made.lab(at("03 00:00") + timedelta(hours=hours), 1.0)
    got = ruling(made)
    assert (got.rule, got.facts["ct_time_known"].value) == ("NO-1", True)


def test_dialysis_by_48_hours_after_the_scan_stops_the_thresholds_and_later_does_not() -> None:
    for hours, expected in ((48, "AMB-1"), (49, "YES-1")):
        made = ward()
        after(made, 1.5, 1.9)
        made.add(
            "procedureevents", hadm_id=HADM, stay_id=7, itemid=225802,
            starttime=SCAN + timedelta(hours=hours), statusdescription="FinishedRunning",
        )  # fmt: skip
        assert rule(made) == expected


def test_a_dialysis_code_counts_for_the_whole_of_its_day() -> None:
    for day, expected in (("06 00:00", "AMB-1"), ("07 00:00", "YES-1")):
        made = ward()
        after(made, 1.5, 1.9)
        made.add(
            "procedures_icd", hadm_id=HADM, chartdate=at(day).date(), icd_code="5A1D70Z",
            icd_version=10,
        )  # fmt: skip
        assert rule(made) == expected


def test_a_hemodialysis_order_stops_the_thresholds() -> None:
    made = ward()
    after(made, 1.5, 1.9)
    made.add(
        "poe", poe_id="90000001-9", hadm_id=HADM, ordertime=SCAN - timedelta(hours=5),
        order_type="Hemodialysis", transaction_type="New",
    )  # fmt: skip
    assert rule(made) == "AMB-1"


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("ESRD on HD MWF via AVF.", "AMB-1"),
        ("No ESRD, never on dialysis.", "YES-1"),
        ("Mother had ESRD on dialysis.", "YES-1"),
        ("If he worsens he may need to be placed on dialysis.", "YES-1"),
    ],
)
def test_only_a_stated_esrd_in_the_summary_counts(sentence: str, expected: str) -> None:
    made = ward()
    after(made, 1.5, 1.9)
    made.summary(f"Past Medical History:\nHypertension\n{sentence}\n\nSocial History:\n___\n")
    assert rule(made) == expected


def test_the_summary_of_another_admission_does_not_count() -> None:
    made = ward()
    after(made, 1.5, 1.9)
    made.summary("Past Medical History:\nESRD on HD\n", hadm_id=80000009)
    assert rule(made) == "YES-1"


def test_a_note_that_takes_the_code_back_cancels_it() -> None:
    made = ward()
    after(made, 1.5, 1.9)
    made.code("N186")
    assert rule(made) == "AMB-1"
    made.summary("Brief Hospital Course:\nESRD had been coded in error in the past.\n")
    assert rule(made) == "YES-1"


def test_an_aki_code_is_no_evidence() -> None:
    made = ward()
    made.code("N179")
    after(made, 1.0, 1.1)
    assert rule(made) == "NO-1"


def test_ckd_without_labs_gives_the_mdrd_baseline() -> None:
    # (75 / (186 x 60^-0.203))^(-1/1.154) for a man of 60: 1.07 mg/dL, worked with a calculator
    made = ward(tier1=())
    row = made.code("N183")
    after(made, 1.36, 1.1)
    got = ruling(made)
    assert got.facts["mdrd"].value == pytest.approx(1.07)
    assert (got.rule, got.derived["baseline_tier"]) == ("NO-1", 3)
    assert row in got.deciding
    assert got.derived["mdrd_constant_matters"] is True  # 175 would give 1.02: a rise of 0.34


def test_ckd_stated_in_the_summary_gives_it_too_and_denied_does_not() -> None:
    for sentence, expected in (("CKD stage III", "NO-1"), ("No CKD", "LACK-3")):
        made = ward(tier1=())
        after(made, 1.1, 1.1)
        made.summary(f"Past Medical History:\n{sentence}\n")
        assert rule(made) == expected


def test_mdrd_at_75_for_women_is_lower() -> None:
    made = ward(tier1=(), gender="F")
    made.code("N183")
    after(made, 0.9, 0.9)
    # (75 / (186 x 60^-0.203 x 0.742))^(-1/1.154) = 0.83
    assert ruling(made).facts["mdrd"].value == pytest.approx(0.83)


def test_windows_are_resolved_for_the_case() -> None:
    made = ward()
    after(made, 1.0, 1.1)
    got = ruling(made)
    sources = [source.table for source in FOLDER.scenario.required_sources]
    windows = got.windows[sources.index("poe")]
    assert windows == (("2150-01-02 08:00:00", "2150-01-06 10:00:00"),)


def test_without_a_scan_time_no_window_that_rests_on_it_is_demanded() -> None:
    made = ward(scan=False)
    sources = [source.table for source in FOLDER.scenario.required_sources]
    assert ruling(made).windows[sources.index("poe")] == ()


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.integers(-30, 80), MG_DL), min_size=0, max_size=6),
    st.lists(MG_DL, max_size=3),
)
def test_facts_from_any_chart_are_what_a_plain_loop_finds(
    drawn: list[tuple[int, float]], before: list[float]
) -> None:
    made = ward(tier1=tuple(before))
    for hours, value in drawn:
        made.lab(SCAN + timedelta(hours=hours), value)
    got = ruling(made)
    window = [v for h, v in sorted(drawn, key=lambda d: d[0]) if 0 < h <= 48]
    assert sorted(got.facts["post"].value) == sorted(window)
    assert got.facts["tier1"].value == sorted(before)
    state = {name: each.value for name, each in got.facts.items()}
    assert got.rule == oracle(state)
