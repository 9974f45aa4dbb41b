"""The systems of a tumour board read every fact that a packet tells, however it is worded."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.runs.packets import BREAST, changed

from board.reading import Words
from board.talk import READS, facts, summary
from board.treatment import Treatment
from chartproof.catalog.read import ROOT, parse_yaml
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.states import grid
from chartproof.oncology.cohort import frozen, made, plan
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.render import rendered
from chartproof.oncology.sections import section_texts
from chartproof.records.board import State

TREATMENT = Treatment(json.loads(json.dumps(knowledge().exported())))
WORDS = Words(TREATMENT)
CANCER = {"HR": "breast", "histology": "nsclc", "risk": "prostate", "castration": "prostate",
          "platinum": "ovarian", "grade": "glioma"}  # fmt: skip
PACKET = "TUMOR BOARD CASE PACKET\nPacket ID: X\nCancer type: {}\n---\n{}\n---\nEND OF PACKET\n"
LAB = "[Lab Results] 2024-01-02 | Pathology\n{}"
PROSE = (
    "[Encounter] 2024-01-02 | Oncology | Visit\nAssessment: carcinoma, {}, margins free. ECOG 1."
)


def surfaces() -> Iterator[tuple[str, Any, str]]:
    """Every wording of the renderer: marker, what it means, an entry that tells it."""
    path = ROOT / "board" / "phrases" / "markers.yaml"
    markers: Any = parse_yaml(path.read_text(), str(path))["markers"]
    for name, values in markers.items():
        for value, forms in values.items():
            numbers = (0, 49, 90) if value == "number" else (None,)
            wordings = [(LAB, each) for each in forms["lab"]]
            wordings += [(PROSE, each) for each in forms["prose"]]
            for number, (entry, words) in itertools.product(numbers, wordings):
                means = int(value) if name == "grade" else value if number is None else number
                told = words if number is None else words.replace("{value}", str(number))
                yield name, means, entry.format(told)


def test_every_wording_of_every_marker_means_what_it_says() -> None:
    seen = 0
    for name, value, entry in surfaces():
        if name in ("HER2_IHC", "child_pugh_score"):  # finer tellings, which no rule asks for
            continue
        read = WORDS.state(PACKET.format(CANCER.get(name, "breast"), entry))
        assert read.get(name) == value, entry
        seen += 1
    assert seen > 150


def lists_of(state: State) -> dict[str, set[str]]:
    found = knowledge().consensus(state)
    return {
        level: {str(each.option) for each in getattr(found, level)} for level in ("strong", "tacit")
    }


STATES = [
    state
    for state in grid(catalogue())
    if state.line == 1 or state.prior  # no text tells a later line without what went before it
]


@pytest.mark.parametrize(
    ("size", "strata", "step"),
    [("small", (), 9), ("small", ("latent", "hard"), 13), ("medium", ("hard",), 29)],
)
def test_the_plan_that_follows_from_a_packet_is_the_one_that_follows_from_the_patient(
    size: Any, strata: Any, step: int
) -> None:
    assert len(STATES) > 400
    for seed, state in enumerate(STATES[::step]):
        text = rendered(state, seed=seed, size=size, strata=strata)
        read = TREATMENT.lists(WORDS.state(text))
        wanted = lists_of(state)
        assert {level: set(read[level]) for level in wanted} == wanted, (seed, state)


def test_every_seventh_patient_of_the_cohort_is_read_from_the_packet_and_from_its_sections() -> (
    None
):
    ids = [each.id for each in frozen().cases][::7]
    small = plan().model_copy(update={"size": "small"})
    for each in made(small, only=frozenset(ids)):
        assert each.gold.state is not None
        wanted = lists_of(each.gold.state)
        shown = section_texts(each.text)
        for text in (each.text, "\n---\n".join(shown[name] for name in READS)):
            read = TREATMENT.lists(WORDS.state(text))
            assert {level: set(read[level]) for level in wanted} == wanted, each.case.id


def test_from_sections_the_same_is_read_as_from_the_whole_packet() -> None:
    shown = section_texts(BREAST)
    text = "\n---\n".join(shown[name] for name in READS)
    assert WORDS.state(text) == WORDS.state(BREAST)


def test_without_lines_between_entries_the_same_is_read() -> None:
    assert WORDS.state(BREAST.replace("\n---\n", "\n\n")) == WORDS.state(BREAST)


def test_a_relative_and_a_control_slide_tell_nothing_of_the_patient() -> None:
    assert WORDS.state(BREAST)["HER2"] == "positive"
    only = BREAST.replace("3+ (positive)", "not performed").replace("HER2-\npositive, ", "")
    assert WORDS.state(only.replace("HER2-positive, ER", "ER"))["HER2"] == "unknown"


def test_a_later_remark_that_her2_is_not_amplified_takes_back_no_low_expression() -> None:
    low = changed("HER2-low")
    told = "There is no evidence of HER2 amplification on second reading."
    remark = f"[Encounter] 2024-08-15 | Pathology | Call\n{told}"
    read = WORDS.state(low.replace("END OF PACKET", f"{remark}\n---\nEND OF PACKET"))
    assert read["HER2"] == WORDS.state(low)["HER2"] == "low"


def test_facts_survive_the_summary_that_they_are_written_into() -> None:
    state = WORDS.state(BREAST)
    assert facts(summary(state, "0" * 64)) == state
