"""Invented patients of whom the knowledge model is asked: the dossier's grid, single ones."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Any

from chartproof.records.board import State

EFFECTS: Mapping[str, Mapping[str, object]] = {
    "A1": {"HER2": "positive"},
    "A2": {"HER2": "negative", "HER2_IHC": "0"},
    "A3": {"EGFR": "wildtype"},
    "A4": {"MSI": "stable"},
    "B1": {"prior": {"add": "FOLFIRINOX", "outcome": "progression"}, "line": "+1"},
    "B2": {"prior": {"add": "osimertinib", "outcome": "progression"}, "line": "+1"},
    "B3": {"prior": {"add": "PD1_PDL1", "outcome": "progression"}, "line": "+1"},
    "C1": {"HER2": "unknown"},
    "C2": dict.fromkeys(("EGFR", "ALK", "ROS1", "KRAS", "PDL1"), "unknown"),
    "D1": {"surgery": "none"},
    "D2": {"surgery": "R0_resection"},
    "E1": {"M": "M1", "sites": ["liver"]},
}
"""What the twelve entries of the catalogue do to a patient."""

_OWN = set(State.model_fields) - {"facts"}


def patient(**told: Any) -> State:
    """A patient by fields and facts; what is not told is as ordinary as it can be."""
    told = {
        "M": "M1", "stage": "IV", "surgery": "none", "resectable": "yes", "ECOG": 1, **told,
    }  # fmt: skip
    own = {name: value for name, value in told.items() if name in _OWN}
    return State(**own, facts={name: value for name, value in told.items() if name not in _OWN})


def _grid(cancer: str, **axes: list[Any]) -> Iterator[dict[str, Any]]:
    for values in product(*axes.values()):
        yield {"cancer": cancer, **dict(zip(axes, values, strict=True))}


def _located(many: Iterator[dict[str, Any]]) -> Iterator[State]:
    stages = (("M0", "I"), ("M0", "II"), ("M0", "III"), ("M1", "IV"))
    for each, (m, stage) in product(many, stages):
        for surgery, neo in (("none", False), ("resected", False), ("resected", True)):
            if (m == "M1" and surgery == "resected") or (neo and stage == "I"):
                continue
            yield patient(
                **{
                    **each, "M": m, "stage": stage, "surgery": surgery, "neoadjuvant_done": neo,
                    "residual": "residual" if neo else "na",
                }
            )  # fmt: skip


@cache
def states() -> Mapping[str, tuple[State, ...]]:
    """464 patients of nine cancers, by cancer."""
    yes = ["yes"]
    grids = {
        "breast": _grid("breast", HER2=["positive", "negative", "low"],
                        HR=["positive", "negative"], CPS=[0, 20], BRCA=["wildtype"],
                        PIK3CA=["wildtype"], ESR1=["wildtype"], resectable=yes,
                        breast_op=["lumpectomy"]),
        "gastric": _grid("gastric", HER2=["positive", "negative"], CPS=[0, 5], MSI=["stable"],
                         CLDN18=["negative", "positive"], resectable=yes),
        "nsclc": _grid("nsclc", EGFR=["mutated", "wildtype"], ALK=["negative"], ROS1=["negative"],
                       BRAF=["wildtype"], PDL1=[0, 20, 70], resectable=["yes", "no"]),
        "colorectal": _grid("colorectal", site=["colon"], MSI=["stable", "high"],
                            RAS=["wildtype", "mutated"], BRAF=["wildtype"],
                            sidedness=["left", "right"], resectable=yes),
        "pancreatic": _grid("pancreatic", resectable=["yes", "borderline", "no"],
                            BRCA=["wildtype"]),
        "melanoma": _grid("melanoma", BRAF=["V600E", "wildtype"], resectable=yes),
        "ovarian": _grid("ovarian", BRCA=["mutated", "wildtype"], HRD=["negative"],
                         resectable=yes),
    }  # fmt: skip
    made = {cancer: tuple(_located(grid)) for cancer, grid in grids.items()}
    liver = _located(_grid("hepatocellular", child_pugh=["A"], resectable=yes))
    made["hepatocellular"] = tuple(
        each.model_copy(update={"facts": {**each.facts, "BCLC": "C" if each.M == "M1" else "A"}})
        for each in liver
    )
    kinds = (("wildtype", 4, "no"), ("mutant", 2, "no"), ("mutant", 3, "yes"), ("mutant", 3, "no"))
    made["glioma"] = tuple(
        patient(cancer="glioma", M="M0", stage="II", surgery=surgery, IDH=idh, grade=grade,
                codel=codel, MGMT=mgmt, age=age)
        for surgery, (idh, grade, codel), mgmt, age in product(
            ("none", "resected"), kinds, ("methylated", "unmethylated"), (55, 76)
        )
    )  # fmt: skip
    return made


def eligible(entry: str, state: State) -> bool:
    """Whether an entry of the catalogue could be asked about this patient."""
    cancer, facts = state.cancer, state.facts
    fits = {
        "A1": cancer in {"breast", "gastric"} and facts.get("HER2") in {"negative", "low"},
        "A2": cancer in {"breast", "gastric"} and facts.get("HER2") == "positive",
        "A3": facts.get("EGFR") == "mutated",
        "A4": cancer == "colorectal" and facts.get("MSI") == "high",
        "B1": cancer == "pancreatic" and state.surgery == "none" and state.M == "M1",
        "B2": facts.get("EGFR") == "mutated" and state.M == "M1",
        "B3": state.M == "M1"
        and (
            cancer == "melanoma"
            or (cancer == "colorectal" and facts.get("MSI") == "high")
            or (cancer == "nsclc" and facts.get("EGFR") == "wildtype")
        ),
        "C1": cancer in {"breast", "gastric"},
        "C2": cancer == "nsclc",
        "D1": state.surgery == "resected" and state.M == "M0",
        "D2": cancer != "ovarian"
        and state.surgery == "none"
        and state.M == "M0"
        and state.resectable == "yes",
        "E1": state.M == "M0" and cancer != "glioma",
    }
    return fits[entry]
