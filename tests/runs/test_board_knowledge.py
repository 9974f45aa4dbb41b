"""The systems of a tumour board evaluate the treatment knowledge for themselves, and rightly."""

import itertools
import json
from typing import Any

import pytest

from board.treatment import LEVELS, Treatment, read, write
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import State

TREATMENT = Treatment(json.loads(json.dumps(knowledge().exported())))
EXTENTS: list[dict[str, Any]] = [
    {"stage": "I", "M": "M0", "surgery": "none"},
    {"stage": "II", "M": "M0", "surgery": "resected"},
    {"stage": "III", "M": "M0", "surgery": "resected", "neoadjuvant_done": True,
     "residual": "residual"},
    {"stage": "III", "M": "M0", "surgery": "none", "neoadjuvant_done": True},
    {"stage": "III", "M": "M0", "surgery": "none", "resectable": "no"},
    {"stage": "IV", "M": "M1", "surgery": "none"},
]  # fmt: skip
FACTS: dict[str, list[dict[str, Any]]] = {
    "breast": [{"HER2": h, "HR": r} for h in ("positive", "negative", "low", "unknown")
               for r in ("positive", "negative")],
    "gastric": [{"HER2": h, "MSI": m, "CPS": 5} for h in ("positive", "negative")
                for m in ("high", "stable")],
    "nsclc": [{"EGFR": e, "ALK": "negative", "PDL1": p, "histology": "nonsquamous"}
              for e in ("mutated", "wildtype", "unknown") for p in (0, 60)],
    "colorectal": [{"MSI": m, "RAS": r, "BRAF": "wildtype", "sidedness": "left", "site": "colon"}
                   for m in ("high", "stable", "unknown") for r in ("mutated", "wildtype")],
    "pancreatic": [{"BRCA": b} for b in ("mutated", "wildtype")],
    "glioma": [{"IDH": i, "grade": 4, "MGMT": m, "age": a} for i in ("wildtype", "mutant")
               for m in ("methylated", "unmethylated") for a in (60, 75)],
    "hepatocellular": [{"child_pugh": c, "BCLC": b} for c in "AB" for b in ("A", "B")],
    "ovarian": [{"BRCA": "mutated", "HRD": "positive", "platinum": "sensitive"}],
    "prostate": [{"risk": "high", "castration": c} for c in ("sensitive", "resistant")],
    "melanoma": [{"BRAF": b} for b in ("V600E", "wildtype")],
}  # fmt: skip
COURSES: list[dict[str, Any]] = [
    {"line": 1},
    {"line": 2, "prior": ("FOLFIRINOX",)},
    {"line": 2, "prior": ("pembrolizumab",)},
    {"line": 3, "prior": ("CAPOX", "T-DXd")},
]
LIMITS: list[tuple[int, dict[str, Any]]] = [
    (1, {}), (3, {}), (1, {"ILD": True}), (0, {"LVEF": 40}), (2, {"transplant": True}),
    (1, {"DPD_deficiency": True}), (4, {"LVEF": 60}),
]  # fmt: skip
"""In turn, so that every limit meets every kind of state."""


@pytest.mark.parametrize("cancer", list(FACTS))
def test_every_state_has_the_lists_that_the_typed_knowledge_gives(cancer: Any) -> None:
    limits = itertools.cycle(LIMITS)
    seen = 0
    for extent, facts, course in itertools.product(EXTENTS, FACTS[cancer], COURSES):
        ecog, limit = next(limits)
        told = {"cancer": cancer, "ECOG": ecog, "resectable": "yes", **extent, **course}
        state = State(**told, facts={**facts, **limit})
        flat = {**state.model_dump(mode="json", exclude={"facts"}), **state.facts}
        theirs = knowledge().consensus(state)
        ours = TREATMENT.lists(flat)
        for level in LEVELS:
            typed = {str(each.option) for each in getattr(theirs, level)}
            assert set(ours[level]) == typed, (state, level)
        assert TREATMENT.setting(flat) == (knowledge().setting(state) or "")
        seen += any(ours.values())
    assert seen >= 20


def test_an_option_is_written_as_it_was_read() -> None:
    for cancer in TREATMENT.cancers:
        for option in TREATMENT.every(cancer):
            assert write(*read(option)) == option


def test_every_cancer_has_several_plans_so_that_another_can_be_drawn() -> None:
    assert all(len(TREATMENT.plans(cancer)) >= 3 for cancer in TREATMENT.cancers)
