"""The treatment knowledge: what its rules give, and what it refuses."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oncology.states import EFFECTS, eligible, patient, states

from chartproof.catalog.read import ROOT
from chartproof.errors import SpecError
from chartproof.oncology.knowledge import GOOD, LEVELS, Derived, Knowledge, knowledge
from chartproof.records.board import Level, State
from chartproof.records.treatment import TreatmentModel

KNOWN = knowledge()


def listed(state: State, level: Level) -> list[str]:
    return [str(each.option) for each in getattr(KNOWN.consensus(state), level)]


def after(state: State, entry: str) -> Derived:
    return KNOWN.derive(state, KNOWN.changed(state, EFFECTS[entry]))


def written(options: tuple[Any, ...]) -> list[str]:
    return [str(each) for each in options]


def test_the_model_is_as_large_as_it_says() -> None:
    model = KNOWN.model
    rules = [rule.id for cancer, of in model.rules.items() if cancer != "gej" for rule in of]
    assert (len(model.drugs), len(model.regimens), len(model.modalities)) == (122, 21, 27)
    assert len(rules) == len(set(rules)) == 159
    assert sum(bool(rule.labile) for of in model.rules.values() for rule in of) == 11 + 2  # gej


def test_every_state_of_the_grid_has_something_to_recommend() -> None:
    grid = states()
    assert {cancer: len(of) for cancer, of in grid.items()} == {
        "breast": 108, "gastric": 72, "nsclc": 108, "colorectal": 72, "pancreatic": 27,
        "hepatocellular": 9, "melanoma": 18, "ovarian": 18, "glioma": 32,
    }  # fmt: skip
    for state in (each for of in grid.values() for each in of):
        KNOWN.check(state)
        agreed = KNOWN.consensus(state)
        assert agreed.strong or agreed.tacit, state
        assert all(each.rules and each.sources for lv in GOOD for each in getattr(agreed, lv))


@pytest.mark.parametrize(
    ("entry", "asked", "nothing"),
    [
        ("A1", 108, 32), ("A2", 72, 32), ("A3", 54, 15), ("A4", 36, 24), ("B1", 3, 0),
        ("B2", 6, 0), ("B3", 12, 0), ("C1", 180, 64), ("C2", 108, 30), ("D1", 256, 0),
        ("D2", 130, 0), ("E1", 384, 0),
    ],
)  # fmt: skip
def test_a_change_changes_treatment_as_often_as_in_the_prototype(
    entry: str, asked: int, nothing: int
) -> None:
    fit = [each for of in states().values() for each in of if eligible(entry, each)]
    assert (len(fit), sum(after(each, entry).vacuous for each in fit)) == (asked, nothing)


HER2 = {"cancer": "breast", "HER2": "positive", "HR": "negative", "CPS": 0}
LUNG = {"cancer": "nsclc", "EGFR": "mutated", "ALK": "negative", "ROS1": "negative", "PDL1": 70}
STOMACH = {"cancer": "gastric", "HER2": "positive", "CPS": 5, "MSI": "stable", "CLDN18": "negative"}
BREAST, LUNGS = patient(**HER2), patient(**LUNG)
PANCREAS = patient(cancer="pancreatic", M="M0", stage="II")
COLON = {"cancer": "colorectal", "RAS": "wildtype", "BRAF": "wildtype", "sidedness": "left"}


@pytest.mark.parametrize(
    ("about", "holds"),
    [
        (
            "metastatic breast cancer that turns HER2-negative loses all drugs against HER2",
            lambda: {"trastuzumab", "pertuzumab", "T-DXd"} <= after(BREAST, "A2").drop_members,
        ),
        (
            "metastatic gastric cancer loses trastuzumab, and keeps chemotherapy",
            lambda: "trastuzumab" in (d := after(patient(**STOMACH), "A2").drop_members)
            and "oxaliplatin" not in d,
        ),
        (
            "HER2 means nothing for resectable gastric cancer",
            lambda: after(patient(**STOMACH, stage="III", M="M0"), "A2").vacuous,
        ),
        (
            "HER2-low has no first-line antibody conjugate",
            lambda: "T-DXd"
            in KNOWN.derive(
                patient(**HER2), KNOWN.changed(patient(**HER2), {"HER2": "low"})
            ).drop_members,
        ),
        (
            "HER2-low has one in the second line",
            lambda: "T-DXd"
            not in KNOWN.derive(
                s := patient(**HER2, line=2, prior=("trastuzumab",)),
                KNOWN.changed(s, {"HER2": "low"}),
            ).drop_members,
        ),
        (
            "lung cancer without the mutation loses osimertinib and gets immunotherapy",
            lambda: "osimertinib" in (d := after(patient(**LUNG), "A3")).drop_members
            and "pembrolizumab" in d.add_members,
        ),
        (
            "osimertinib alone is refused after it failed, and platinum comes",
            lambda: "palliative: osimertinib" in written((d := after(LUNGS, "B2")).now_refused)
            and "palliative: @PLATINUM + pemetrexed" in written(d.must_add),
        ),
        (
            "FOLFIRINOX is refused after it failed; gemcitabine stays",
            lambda: "palliative: FOLFIRINOX|NALIRIFOX"
            in written((d := after(patient(cancer="pancreatic"), "B1")).now_refused)
            and "palliative: gem_nab" in written(d.keep),
        ),
        (
            "colorectal cancer that turns stable loses pembrolizumab and gets bevacizumab",
            lambda: "pembrolizumab" in after(patient(**COLON, MSI="high"), "A4").drop_members
            and "bevacizumab"
            in KNOWN.members(KNOWN.consensus(patient(**COLON, MSI="stable")).tacit),
        ),
        (
            "without its operation, breast cancer is to be operated on",
            lambda: (
                d := after(patient(**HER2, M="M0", stage="II", surgery="resected"), "D1")
            ).settings
            == ("adjuvant", "localized")
            and "primary: breast_surgery" in written(d.must_add),
        ),
        (
            "after the operation, pancreatic cancer gets adjuvant chemotherapy",
            lambda: "adjuvant: FOLFIRINOX"
            in written((d := after(PANCREAS, "D2")).must_add)
            and "primary: pancreatectomy" in written(d.must_drop),
        ),
        (
            "metastases make pancreatic cancer palliative",
            lambda: (
                d := after(
                    patient(cancer="pancreatic", M="M0", stage="II", surgery="resected"), "E1"
                )
            ).settings[1]
            == "metastatic"
            and "palliative: gem_nab" in written(d.must_add),
        ),
        (
            "an operation more changes nothing where there was one",
            lambda: after(
                patient(**{**COLON, "RAS": "mutated"}, MSI="stable", site="colon", M="M0",
                        stage="III", surgery="resected"), "D2",
            ).vacuous,
        ),
    ],
)  # fmt: skip
def test_a_derivation(about: str, holds: Callable[[], bool]) -> None:
    assert holds(), about


def test_two_changes_that_undo_each_other_leave_the_same_consensus() -> None:
    there_and_back = (("A2", "A1"), ("D1", "D2"))
    for one, other in there_and_back:
        for of in states().values():
            for state in (each for each in of if eligible(one, each)):
                back = KNOWN.changed(KNOWN.changed(state, EFFECTS[one]), EFFECTS[other])
                assert KNOWN.consensus(back) == KNOWN.consensus(state)
    for of in states().values():
        for state in (each for each in of if each.M == "M0" and each.cancer != "glioma"):
            back = KNOWN.changed(KNOWN.changed(state, EFFECTS["E1"]), {"M": "M0", "sites": []})
            assert back == state


def test_a_changed_fact_takes_along_what_says_it_more_finely() -> None:
    state = patient(**HER2, HER2_IHC="2+/ISH+")
    assert "HER2_IHC" not in KNOWN.changed(state, {"HER2": "unknown"}).facts
    assert KNOWN.changed(state, EFFECTS["A2"]).facts["HER2_IHC"] == "0"


def test_a_change_says_what_it_does_not_know() -> None:
    for effect, told in (
        ({"HER3": "positive"}, "`HER3` is no fact"),
        ({"HER2": "purple"}, "`HER2` is 'purple'.*may be: positive"),
        ({"prior": {"add": "osimertinb"}}, "osimertinb.*`osimertinib`"),
        ({"prior": {"add": "Tagrisso"}}, "Write `osimertinib`"),
        ({"stage": "V"}, "`stage` is not valid"),
    ):
        with pytest.raises(SpecError, match=told):
            KNOWN.changed(patient(**HER2), effect)


def test_a_failed_drug_alone_is_refused_and_in_a_combination_is_not() -> None:
    failed = patient(cancer="hepatocellular", child_pugh="A", BCLC="C", prior=("durvalumab",))
    assert "palliative: lenvatinib|sorafenib|durvalumab" in listed(failed, "tacit")
    assert "palliative: durvalumab + tremelimumab" in listed(failed, "strong")
    glioma = patient(cancer="glioma", surgery="resected", IDH="wildtype", line=2, M="M0",
                     stage="II", prior=("lomustine", "bevacizumab"))  # fmt: skip
    assert "palliative: lomustine" in listed(glioma, "refusal")
    assert "palliative: bevacizumab" in listed(glioma, "tacit"), "bevacizumab is exempt"


def test_a_regimen_that_failed_implies_its_drugs_and_their_classes() -> None:
    lung = {**LUNG, "EGFR": "wildtype", "line": 2}
    alone = KNOWN.fired(patient(**lung, prior=("pembrolizumab",)))
    with_platinum = KNOWN.fired(patient(**lung, prior=("pembrolizumab", "platinum_pemetrexed")))
    assert "LU17b" in alone
    assert "LU17b" not in with_platinum


def test_comorbidities_move_what_they_forbid_and_leave_the_alternative() -> None:
    after_neoadjuvant = {**HER2, "M": "M0", "stage": "II", "surgery": "resected",
                         "neoadjuvant_done": True, "residual": "residual"}  # fmt: skip
    ill = patient(**after_neoadjuvant, ILD=True)
    assert "adjuvant: T-DM1" in listed(ill, "strong")
    assert "adjuvant: T-DXd" in listed(ill, "refusal")
    weak = patient(**after_neoadjuvant, LVEF=49)
    assert "adjuvant: trastuzumab + pertuzumab" in listed(weak, "mixed")
    assert "adjuvant: trastuzumab + pertuzumab" in listed(
        patient(**after_neoadjuvant, LVEF=50), "tacit"
    )
    grafted = patient(**{**LUNG, "EGFR": "wildtype"}, transplant=True)
    assert "palliative: pembrolizumab|cemiplimab|atezolizumab" in listed(grafted, "refusal")
    frail = patient(cancer="pancreatic", M="M0", stage="III", resectable="no", ECOG=3)
    assert "palliative: gem_nab" in listed(frail, "strong")
    assert "palliative: FOLFIRINOX|NALIRIFOX" in listed(frail, "refusal")
    assert "palliative: supportive_care" in listed(frail, "tacit")
    slow = patient(cancer="gastric", HER2="negative", CPS=0, MSI="stable", DPD_deficiency=True)
    assert listed(slow, "strong") == []
    assert "palliative: FOLFOX|CAPOX" in listed(slow, "refusal")


def test_what_an_option_counts_as() -> None:
    cases = (
        ("palliative: osimertinib", "OSIMERTINIB_MONO", True),
        ("palliative: osimertinib + @PLATINUM + pemetrexed", "OSIMERTINIB_MONO", False),
        ("palliative: osimertinib + @PLATINUM + pemetrexed", "EGFR_TKI", True),
        ("palliative: carboplatin + pemetrexed", "PLATINUM_DOUBLET", True),
        ("palliative: @PLATINUM + pembrolizumab|cemiplimab", "CHEMO_IMMUNOTHERAPY_NSCLC", True),
        ("adjuvant: radiotherapy", "ADJUVANT_THERAPY", True),
        ("adjuvant: radiotherapy", "DEFINITIVE_SURGERY", False),
        ("primary: gastrectomy", "CURATIVE_SURGERY_OF_PRIMARY", True),
        ("palliative: FOLFIRINOX|gem_nab", "IRINOTECAN_OXALIPLATIN_TRIPLET", True),
        ("neoadjuvant: TCHP", "trastuzumab", True),
    )
    for text, name, counts in cases:
        assert KNOWN.belongs(KNOWN.option(text), name) is counts, (text, name)


def test_an_option_that_cannot_be_read_is_refused_with_what_may_be_meant() -> None:
    for text, told in (
        ("soon: osimertinib", "no timing"),
        ("osimertinib", "no timing"),
        ("palliative: Herceptin", "Write `trastuzumab`"),
        ("palliative: trastuzumb", "`trastuzumab`"),
        ("palliative: @NO_CLASS", "no drug"),
    ):
        with pytest.raises(SpecError, match=told):
            KNOWN.option(text)


def test_an_option_reads_as_it_is_written() -> None:
    for of in KNOWN.model.rules.values():
        for text in (t for rule in of for level in LEVELS for t in rule.of(level)):
            assert str(KNOWN.option(text)) == text


@pytest.mark.parametrize(
    ("key", "change", "told"),
    [
        ("rules", {"strong": ["palliative: osimertinb"]}, "rule BR01: .*osimertinb"),
        ("rules", {"sources": ["NOBODY"]}, "rule BR01: the source `NOBODY`"),
        ("rules", {"when": {"HER2": "purple"}}, "rule BR01: `HER2` cannot be `purple`"),
        ("rules", {"when": {"HER3": "positive"}}, "rule BR01: `HER3` is no field or fact"),
        ("rules", {"when": {"setting": "nowhere"}}, "rule BR01: there is no setting"),
        ("rules", {"when": {"prior_has": ["nothing"]}}, "rule BR01: `prior_has`.*`nothing`"),
        ("rules", {"id": "BR02"}, "BR02 is given twice"),
        ("rules", {"labile": {"neoadjuvant: T-DM1": "2026-05"}}, "rule BR01: `labile`"),
        ("global_rules", {"hits": ["nothing"]}, "global_rules.G1: `nothing`"),
    ],
)
def test_a_model_that_refers_to_nothing_is_refused(
    key: str, change: dict[str, Any], told: str
) -> None:
    raw = KNOWN.model.model_dump()
    (raw[key]["breast"] if key == "rules" else raw[key])[0].update(change)
    with pytest.raises(SpecError, match=told):
        Knowledge(TreatmentModel.model_validate(raw), name="knowledge.yaml")


@settings(max_examples=60)
@given(st.data())
def test_no_option_stands_on_two_lists(data: st.DataObject) -> None:
    facts = {
        name: data.draw(
            st.integers(0, 100) if values == "number" else
            st.booleans() if values == "flag" else
            st.just("liver") if values == "text" else st.sampled_from(values), label=name,
        )
        for name, values in KNOWN.model.facts.items()
        if data.draw(st.booleans())
    }  # fmt: skip
    state = State(
        cancer=data.draw(st.sampled_from(list(KNOWN.model.rules))),
        stage=data.draw(st.sampled_from(["I", "II", "III", "IV"])),
        M=data.draw(st.sampled_from(["M0", "M1"])),
        surgery=data.draw(st.sampled_from(["none", "resected"])),
        resectable=data.draw(st.sampled_from(["yes", "borderline", "no"])),
        line=data.draw(st.integers(1, 4)),
        prior=tuple(data.draw(st.lists(st.sampled_from(list(KNOWN.model.drugs)), max_size=3))),
        ECOG=data.draw(st.integers(0, 4)),
        facts=facts,
    )
    KNOWN.check(state)
    agreed = KNOWN.consensus(state)
    all_ = [str(each.option) for level in LEVELS for each in getattr(agreed, level)]
    assert len(all_) == len(set(all_))
    assert KNOWN.derive(state, state).vacuous


def test_the_export_is_json_and_holds_every_class() -> None:
    exported = json.loads(json.dumps(KNOWN.exported()))
    assert exported["members"]["CDK46"] == ["abemaciclib", "palbociclib", "ribociclib"]
    assert exported["rules"]["glioma"][0]["id"] == "GL01"


def test_the_file_says_what_it_is() -> None:
    text = (ROOT / "board" / "knowledge.yaml").read_text(encoding="utf-8")
    assert "not reviewed by an oncologist; not for care" in text
    assert KNOWN.model.corrections
