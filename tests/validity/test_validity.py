"""The figures of catalog/validity.yaml are those of the readers as they are now."""

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_score, recall_score

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.errors import SpecError
from chartproof.records.notes import Reading

ROOT = Path(__file__).parents[2]
STALE = "a reader or an item has changed: run make validity"


@pytest.fixture(scope="module")
def made() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT / "scripts"))
    yield importlib.import_module("validity")
    sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def bench(made: ModuleType) -> ModuleType:
    return sys.modules["heldout"]


def readings() -> dict[str, Reading]:
    return {each.id: each for id_ in scenario_ids() for each in scenario(id_).notes}


def test_the_figures_are_those_of_the_readers_now(made: ModuleType) -> None:
    assert made.FIGURES.read_text(encoding="utf-8") == made.figures_text(), STALE


def test_the_page_is_up_to_date(made: ModuleType) -> None:
    assert made.PAGE.read_text(encoding="utf-8") == made.page(), STALE


def test_every_reading_and_every_fact_that_names_one_is_measured(bench: ModuleType) -> None:
    measured = set(bench.figures().readings)
    named = {n for i in scenario_ids() for fact in scenario(i).scenario.facts for n in fact.notes}
    assert set(readings()) == measured
    assert named <= measured


FULL = {"discharge_medications", "exam_modality", "home_medications", "imaging_guidance"}


def test_every_reading_has_forty_items_and_two_in_five_are_traps(bench: ModuleType) -> None:
    for id_ in readings():
        items = bench.written(id_)
        traps = [each for each in items if each.class_ != "plain" or not each.positive]
        assert len(bench.heldout(id_)) >= 40, id_
        # a list always lists and a report always examines: their traps lie inside the items
        least = 0.2 if id_ in FULL else 0.4
        assert len(traps) / len(items) >= least, id_


def test_no_item_is_measured_that_a_reader_was_developed_on(bench: ModuleType) -> None:
    for id_ in readings():
        path = bench.DEVELOPMENT / f"{bench.words(id_).items or id_}.yaml"
        if path.exists():
            known = {each.text for each in bench.read_yaml(path, bench.Heldout).items}
            # the same text under another exam name is another item
            again = [i for i in bench.heldout(id_) if i.text in known and i.exam_name is None]
            assert not again, id_


def test_no_class_of_items_is_left_out_of_the_tables(made: ModuleType, bench: ModuleType) -> None:
    shown = {each for classes in made.KINDS.values() for each in classes}
    assert {each.class_ for id_ in readings() for each in bench.heldout(id_)} <= shown


def test_the_mapping_names_values_that_both_sides_have(bench: ModuleType) -> None:
    for id_ in readings():
        words = bench.words(id_)
        assert set(words.values) <= {each.value for each in bench.heldout(id_)}, id_
        own = {each["value"] for each in readings()[id_].options.get("values", ())}
        own |= {each.value for each in readings()[id_].patterns}
        assert {value for values in words.values.values() for value in values} <= own, id_


def test_figures_agree_with_scikit_learn(bench: ModuleType) -> None:
    """scikit-learn 1.7: micro averages over the labels that are no silence."""
    result = next(each for each in bench.results() if each.reading.id == "esrd")
    wanted = [str(score.item.value) for score in result.scores]
    got = [
        values[0] if values else "None"
        for values in bench.mentions(result.reading, [score.item for score in result.scores])
    ]
    labels = ["stated", "denied", "historical"]
    recall = recall_score(wanted, got, labels=labels, average="micro")
    precision = precision_score(wanted, got, labels=labels, average="micro")
    assert result.measured.recall == pytest.approx(recall, abs=1e-4)
    assert result.measured.precision == pytest.approx(precision, abs=1e-4)


def item(bench: ModuleType, value: object, section: str = "Past Medical History") -> object:
    return bench.Item.model_validate(
        {"section": section, "text": "Invented.", "value": value, "class": "plain"}
    )


def counts(score: object) -> tuple[int, int, int, int]:
    return score.wanted, score.found, score.given, score.right  # type: ignore[attr-defined]


def test_a_sentence_worked_by_hand(bench: ModuleType) -> None:
    esrd = readings()["esrd"]
    assert counts(bench.sentence(esrd, item(bench, "stated"), ["stated"])) == (1, 1, 1, 1)
    assert counts(bench.sentence(esrd, item(bench, "stated"), ["denied"])) == (1, 0, 1, 0)
    assert counts(bench.sentence(esrd, item(bench, "stated"), [])) == (1, 0, 0, 0)
    assert counts(bench.sentence(esrd, item(bench, None), ["stated"])) == (0, 0, 1, 0)
    assert counts(bench.sentence(esrd, item(bench, None), [])) == (0, 0, 0, 0)


def test_a_time_is_compared_as_the_clock_shows_it(bench: ModuleType) -> None:
    time = readings()["study_time"]
    assert bench.sentence(time, item(bench, "14:05"), ["2:05 p.m."]).exact
    assert not bench.sentence(time, item(bench, "02:05"), ["2:05 p.m."]).exact


def line(drug: str | None, **marks: object) -> str:
    return json.dumps({"drug": drug, "heading": None, "held": False, **marks})


def test_a_list_worked_by_hand(bench: ModuleType) -> None:
    leaving = readings()["discharge_medications"]
    wanted = item(bench, ["warfarin", "lisinopril-hydrochlorothiazide", "timolol"])
    got = [
        line("warfarin"),
        line("lisinopril"),
        line("timolol eye"),  # the form makes no other drug of it
        line("aspirin"),  # not on the list
        line("metoprolol", held=True),  # left out as facts.sql does
        line("glyburide", heading="stopped"),
        line(None),
    ]
    assert counts(bench.listed(leaving, wanted, got)) == (4, 3, 4, 3)


def statement(intent: str, at: int, drug: str | None = None, group: str | None = None) -> str:
    return json.dumps({"intent": intent, "drug": drug, "class": group, "at": at})


def test_statements_of_intent_worked_by_hand(bench: ModuleType) -> None:
    intent = readings()["medication_intent"]

    def score(value: str | None, *told: str) -> tuple[int, int, int, int]:
        return counts(bench.stated(intent, item(bench, value), told))

    assert score("held warfarin", statement("hold_planned", 5, "warfarin")) == (1, 1, 1, 1)
    assert score("held warfarin", statement("stopped", 5, "warfarin")) == (1, 0, 1, 0)
    # the last word counts; why a drug was given is no statement
    told = (statement("held", 5, "lisinopril"), statement("restarted", 40, "lisinopril"))
    assert score("restart lisinopril", *told, statement("indicated", 5, "lisinopril")) == (
        1,
        1,
        1,
        1,
    )
    # a class and its drugs answer to one another
    assert score("stopped statin", statement("stopped", 5, "atorvastatin")) == (1, 1, 1, 1)
    assert score("new apixaban", statement("new", 5, group="anticoagulant")) == (1, 1, 1, 1)
    assert score("stopped statin", statement("stopped", 5, "warfarin")) == (1, 0, 1, 0)
    assert score(None, statement("new", 5, "warfarin")) == (0, 0, 1, 0)


@given(
    wanted=st.sampled_from([None, "stated", "denied", "historical"]),
    got=st.lists(st.sampled_from(["stated", "denied", "historical"])),
)
def test_a_sentence_is_exact_where_one_value_was_wanted_and_given(
    bench: ModuleType, wanted: str | None, got: list[str]
) -> None:
    score = bench.sentence(readings()["esrd"], item(bench, wanted), got)
    assert score.exact == (set(got) == ({wanted} - {None}))
    assert score.right == score.found <= min(score.wanted, score.given)


def test_an_item_under_an_unknown_header_is_refused(bench: ModuleType) -> None:
    with pytest.raises(SpecError, match="Horoscope"):
        bench.presented(readings()["esrd"], item(bench, None, "Horoscope"))


def test_a_report_has_its_head_and_a_summary_its_section(bench: ModuleType) -> None:
    report = bench.presented(readings()["outside_reread"], item(bench, None, "TECHNIQUE"))
    assert report.startswith("EXAMINATION:  ___\n")
    assert report.endswith("TECHNIQUE:  Invented.\n")
    summary = bench.presented(readings()["esrd"], item(bench, None))
    assert "\nPast Medical History:\nInvented.\n" in summary
