import pytest

from chartproof.catalog.read import shared_reading
from chartproof.errors import SpecError
from chartproof.rules.measure import Sentence, measure

ESRD = shared_reading("esrd")


def sentence(text: str, value: str | None, section: str = "Past Medical History") -> Sentence:
    return Sentence(section=section, text=text, value=value)


def test_recall_and_precision_of_a_case_worked_by_hand() -> None:
    result = measure(
        ESRD,
        [
            sentence("ESRD on HD MWF", "stated"),  # found
            sentence("kidneys long given up", "stated"),  # missed
            sentence("No ESRD", "denied"),  # rightly no assertion, and the very value
            sentence("ESRD on HD MWF", None),  # invented, by this label
            sentence("Mother with ESRD", None),
        ],
    )
    assert (result.asserted, result.found, result.right, result.exact) == (2, 2, 1, 3)
    assert (result.missed, result.invented) == ((1,), (3,))
    assert (result.measured.recall, result.measured.precision) == (0.5, 0.5)


def test_a_wrong_value_is_missed_and_invented() -> None:
    result = measure(shared_reading("ckd_stage"), [sentence("CKD stage 4", "5")])
    assert (result.missed, result.invented) == ((0,), (0,))


def test_denied_for_historical_changes_no_figure_but_the_exact_one() -> None:
    result = measure(ESRD, [sentence("No ESRD", "historical")])
    assert (result.measured.recall, result.measured.precision, result.exact) == (1, 1, 0)


def test_the_section_counts() -> None:
    assert measure(ESRD, [sentence("ESRD", None, "Family History")]).found == 0


def test_an_unknown_section_is_refused() -> None:
    with pytest.raises(SpecError, match="Horoscope"):
        measure(ESRD, [sentence("ESRD", None, "Horoscope")])


def test_exam_names_are_measured_as_exams() -> None:
    result = measure(shared_reading("exam_modality"), [sentence("CT HEAD", "ct", "")])
    assert result.right == 1
