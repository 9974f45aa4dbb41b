"""The engine on a scenario small enough to read at a glance."""

from pathlib import Path
from typing import Any

import pytest
from tests.rules.ward import HADM, SUBJECT, Ward, at

from chartproof.catalog.read import ScenarioFolder, read_folder, scenario, scenario_ids
from chartproof.errors import SpecError
from chartproof.hospital.dictionaries import dictionaries
from chartproof.records.case import Anchor
from chartproof.records.notes import Measured, Validity
from chartproof.rules.engine import evaluate, from_facts
from chartproof.rules.lint import Dictionaries, lint

SCENARIO = """
schema: 1
id: fever
title: Fever
specialty: infectious disease
skills: [score_threshold_computation]
anchor: admission
query: Did patient {subject_id} run a fever in the first three days of admission {hadm_id}?
definitions: []
anchors:
  admittime: select admittime from admissions where hadm_id = $hadm_id
facts:
  - {name: highest, type: 'DECIMAL(4,1)', nullable: true, about: Highest, tables: [chartevents]}
  - {name: chills, type: BOOLEAN, about: Chills, tables: [discharge], notes: [chills], default: false}
derive:
  hot: coalesce(highest >= 38.0, false)
rules:
  - {id: LACK-1, verdict: lack_of_data, when: highest is null and not chills, because: [highest], about: '', provenance: operational_choice, source: none}
  - {id: YES-1, verdict: 'yes', when: hot, because: [highest], about: '', provenance: operational_choice, source: none}
  - {id: AMB-1, verdict: medically_ambiguous, when: chills, because: [chills, highest], about: '', provenance: operational_choice, source: none}
  - {id: NO-1, verdict: 'no', when: 'true', because: [highest], about: '', provenance: operational_choice, source: none}
if_readings_differ: AMB-1
required_sources:
  - {table: chartevents, encounter: anchor, windows: [{since: admittime - 2 h, until: admittime + 3 d}]}
required_findings: []
governing: []
must_do:
  - {id: D1, weight: 7, text: Looked., applies_when: highest is not null or not chills or chills}
must_not: []
traps: []
sampling: {eligible: "select subject_id, hadm_id, null from admissions", note: none}
"""  # noqa: E501

FACTS = """
select
  {value: max(round(valuenum, 1)), rows: coalesce(list(row_ref), [])} as highest,
  {value: exists (from noted where reading = 'chills'),
   rows: (select coalesce(list(row_ref), []) from noted where reading = 'chills')} as chills
from chartevents where itemid = 223762 and hadm_id = $hadm_id
"""

NOTES = """
schema: 1
readings:
  - id: chills
    about: Shivering
    patterns: [{match: '\\b(?:chills|rigors)\\b'}]
    becomes: {negated: null, historical: null}
    examples: [{text: 'Had shaking chills.', value: stated}]
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def folder(scenario: str = SCENARIO, facts: str = FACTS, notes: str = NOTES) -> ScenarioFolder:
        place = tmp_path / "fever"
        place.mkdir(exist_ok=True)
        (place / "scenario.yaml").write_text(scenario)
        (place / "facts.sql").write_text(facts)
        (place / "notes.yaml").write_text(notes)
        return read_folder(place)

    return folder


def patient(*temperatures: float, note: str = "") -> Ward:
    made = Ward()
    made.patient()
    made.admission(at("02 08:00"), at("05 08:00"))
    for n, value in enumerate(temperatures):
        made.add("chartevents", itemid=223762, hadm_id=HADM, charttime=at(f"02 1{n}:00"),
                 valuenum=value, row_ref=f"chartevents:{n}")  # fmt: skip
    if note:
        made.summary(f"Brief Hospital Course:\n{note}\n")
    return made


ANCHOR = Anchor(subject_id=SUBJECT, hadm_id=HADM)


def test_the_first_rule_that_holds_gives_the_verdict_and_its_rows(write: Any) -> None:
    got = evaluate(write(), patient(37.0, 38.4), ANCHOR)
    assert (got.rule, got.verdict) == ("YES-1", "yes")
    assert got.deciding == ("chartevents:0", "chartevents:1")
    assert got.windows == ((("2150-01-02 06:00:00", "2150-01-05 08:00:00"),),)


def test_rows_that_made_earlier_rules_false_stand_apart(write: Any) -> None:
    got = evaluate(write(), patient(37.0, note="Had shaking chills."), ANCHOR)
    assert got.rule == "AMB-1"
    assert set(got.deciding) == {"chartevents:0", got.facts["chills"].rows[0]}
    assert got.against == ()


def test_given_facts_run_through_the_same_rules(write: Any) -> None:
    folder = write()
    assert from_facts(folder, {"highest": 38}).rule == "YES-1"
    assert from_facts(folder, {"highest": 37.9}).rule == "NO-1"
    assert from_facts(folder, {}).rule == "LACK-1"


def test_a_given_number_is_not_rounded_across_a_threshold(write: Any) -> None:
    with pytest.raises(SpecError, match=r"`highest` cannot be 37\.96: .*DECIMAL\(4,1\).* 38\.0"):
        from_facts(write(), {"highest": 37.96})
    with pytest.raises(SpecError, match=r"`post` cannot be \[1\.5, 1\.999\]: .* 2\.00"):
        from_facts(scenario("post-ct-aki"), {"post": [1.5, 1.999]})


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"hottest": 1}, "hottest"),
        ({"chills": 1}, "chills"),
        ({"chills": None}, "chills"),
        ({"highest": "38"}, "highest"),
        ({"highest": True}, "highest"),
        ({"highest": float("nan")}, "highest"),
        ({"highest": 1e9}, "highest"),
        ({"highest": [38]}, "highest"),
    ],
)
def test_a_wrong_fact_is_named(write: Any, facts: dict[str, Any], word: str) -> None:
    with pytest.raises(SpecError, match=f"`{word}`"):
        from_facts(write(), facts)


def test_a_predicate_that_is_null_names_its_rule_and_fact(write: Any) -> None:
    folder = write(SCENARIO.replace("when: hot,", "when: highest >= 38,"))
    with pytest.raises(SpecError, match="rule YES-1 is neither true nor false, since `highest`"):
        from_facts(folder, {"chills": True})


def test_a_null_behind_a_derived_value_is_traced_to_its_fact(write: Any) -> None:
    folder = write(SCENARIO.replace("coalesce(highest >= 38.0, false)", "highest >= 38.0"))
    with pytest.raises(SpecError, match="`hot` and `highest`"):
        from_facts(folder, {"chills": True})


def test_an_expression_that_cannot_run_is_named(write: Any) -> None:
    folder = write(SCENARIO.replace("when: hot,", "when: hotter,"))
    with pytest.raises(SpecError, match="`rule YES-1` cannot be evaluated"):
        from_facts(folder, {})


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ("select 1 as highest, 2 as chills", "no struct"),
        ("selec", r"facts\.sql, line 1, cannot be run"),
        (FACTS.replace("round(valuenum, 1)", "\n\nround(warmth, 1)"), "line [3-9], cannot be run"),
        ("select {value: 1, rows: []} as highest", "lacks"),
        (FACTS.replace("as chills", "as chills, 1 as more"), "more"),
        (FACTS + " and 1 = 0 having 1 = 0", "no row"),
        (FACTS.replace("round(valuenum, 1)", "'hot'"), "`highest` cannot be"),
    ],
)
def test_facts_sql_that_does_not_fit_is_refused(write: Any, facts: str, word: str) -> None:
    with pytest.raises(SpecError, match=word):
        evaluate(write(facts=facts), patient(37.0), ANCHOR)


READINGS = """
select 'first' as reading, {{value: {first}::decimal(4,1), rows: ['chartevents:a']}} as highest,
  {{value: false, rows: []}} as chills
union all
select 'second', {{value: {second}::decimal(4,1), rows: ['chartevents:b']}},
  {{value: false, rows: []}}
union all
select 'unresolved', {{value: 36.0::decimal(4,1), rows: []}}, {{value: {spare}, rows: []}}
"""


def test_readings_that_agree_leave_the_first_in_charge(write: Any) -> None:
    folder = write(facts=READINGS.format(first=39, second=38, spare="true"))
    got = evaluate(folder, patient(), ANCHOR)
    assert (got.rule, got.reading, got.readings) == ("YES-1", "first", 2)
    assert got.deciding == ("chartevents:a",)


def test_readings_that_differ_give_the_rule_named_for_that(write: Any) -> None:
    folder = write(facts=READINGS.format(first=39, second=37, spare="true"))
    got = evaluate(folder, patient(), ANCHOR)
    assert (got.rule, got.reading) == ("AMB-1", "unresolved")


def test_an_unresolved_reading_that_contradicts_that_rule_is_refused(write: Any) -> None:
    folder = write(facts=READINGS.format(first=39, second=37, spare="false"))
    with pytest.raises(SpecError, match="not AMB-1"):
        evaluate(folder, patient(), ANCHOR)


def test_readings_that_differ_without_a_rule_for_it_are_refused(write: Any) -> None:
    folder = write(
        SCENARIO.replace("if_readings_differ: AMB-1\n", ""),
        READINGS.format(first=39, second=37, spare="true"),
    )
    with pytest.raises(SpecError, match="if_readings_differ"):
        evaluate(folder, patient(), ANCHOR)


def measured(recall: float, precision: float) -> Validity:
    return Validity(readings={"chills": Measured(n=40, recall=recall, precision=precision)})


def test_a_verdict_that_a_weak_reading_decided_is_pending(write: Any) -> None:
    chart = patient(37.0, note="Had shaking chills.")
    got = evaluate(write(), chart, ANCHOR, validity=measured(0.95, 0.7))
    assert (got.rule, got.verdict) == (None, None)
    assert "without it the rules give NO-1" in (got.pending or "")


@pytest.mark.parametrize(("note", "rule"), [("Had shaking chills.", "AMB-1"), ("Fine.", "NO-1")])
def test_a_weak_reading_that_finds_what_an_invented_chart_was_made_to_say_is_confirmed(
    write: Any, note: str, rule: str
) -> None:
    weak = measured(0.5, 0.7)
    chart = patient(37.0, note=note)
    got = evaluate(write(), chart, ANCHOR, validity=weak, meant=rule)
    assert (got.rule, got.pending) == (rule, None)
    assert got.confirmed
    other = evaluate(write(), chart, ANCHOR, validity=weak, meant="YES-1")
    assert (other.rule, other.confirmed) == (None, None)
    assert other.pending == got.confirmed


def test_where_no_weak_reading_decides_nothing_is_confirmed(write: Any) -> None:
    got = evaluate(write(), patient(39.0), ANCHOR, validity=measured(0.5, 0.5), meant="YES-1")
    assert (got.rule, got.confirmed) == ("YES-1", None)


def test_a_verdict_that_rests_on_a_weak_readings_silence_is_pending(write: Any) -> None:
    got = evaluate(write(), patient(37.0, note="Fine."), ANCHOR, validity=measured(0.5, 1))
    assert got.verdict is None
    assert "`chills`" in (got.pending or "")


def test_a_weak_reading_that_cannot_change_the_verdict_does_no_harm(write: Any) -> None:
    chart = patient(39.0, note="Fine.")
    assert evaluate(write(), chart, ANCHOR, validity=measured(0.5, 0.5)).rule == "YES-1"


def test_without_notes_there_is_nothing_to_misread(write: Any) -> None:
    assert evaluate(write(), patient(37.0), ANCHOR, validity=measured(0.5, 0.5)).rule == "NO-1"


def test_an_unmeasured_reading_is_weak_only_where_validation_is_required(write: Any) -> None:
    chart = patient(37.0, note="Fine.")
    assert evaluate(write(), chart, ANCHOR, validity=Validity()).rule == "NO-1"
    strict = evaluate(write(), chart, ANCHOR, validity=Validity(), require_validated=True)
    assert strict.pending is not None


def test_a_good_reading_is_trusted(write: Any) -> None:
    chart = patient(37.0, note="Fine.")
    assert evaluate(write(), chart, ANCHOR, validity=measured(0.9, 0.9)).rule == "NO-1"


def test_the_temporary_tables_of_one_evaluation_are_invisible_afterwards(write: Any) -> None:
    chart = patient(37.0)
    evaluate(write(), chart, ANCHOR)
    found = chart.db.execute("select count(*) from duckdb_tables() where table_name = 'noted'")
    assert found.fetchone() == (0,)


# Lint -------------------------------------------------------------------------------------------


def test_a_sound_scenario_has_no_gaps(write: Any) -> None:
    assert lint(write(), states=600) == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("when: hot,", "when: highest >= 38,", "YES-1"),
        ("when: chills,", "when: chills and not chills,", "AMB-1 was reached in none"),
        ("when: 'true'", "when: not hot", "does not hold always"),
        ("because: [chills, highest]", "because: [shivers]", "shivers"),
        ("notes: [chills]", "notes: [rigor]", "rigor"),
        ("if_readings_differ: AMB-1", "if_readings_differ: AMB-9", "AMB-9"),
        ("governing: []", "governing: [nothing-2020]", "nothing-2020"),
        ("until: admittime + 3 d", "until: dischtime", "`dischtime`"),
        ("weight: 7", "weight: -7", "must-do with the weight -7"),
        ("is not null or not chills or chills}", "is null}", "No must-do applies"),
        ("{hadm_id}?", "{ward}?", "ward"),
        ("{hadm_id}?", "{hadm_id?", "`{hadm_id?`, which is no slot"),
        ("{hadm_id}?", "{hadm_id.__class__.__mro__}?", "__mro__}`, which is no slot"),
        ("id: YES-1", "id: NO-1", "twice"),
        ("when: chills,", "when: Hot,", "AMB-1 holds when YES-1 does"),
        ("admittime + 3 d", "admittime + 5 d", "nobody can know it"),
        ("weight: 7", "weight: 17", "weigh 17 together"),
        ("hadm_id, null from", "hadm_id from", "it gives 2 columns"),
        ("null from admissions", "null from admission", "query for candidates does not serve"),
        ("{table: chartevents, encounter", "{table: chartevent, encounter", "is no table"),
        ("hot: coalesce", "chills: coalesce", "a fact and a derived value"),
        (", default: false}", "}", "no default"),
    ],
)  # fmt: skip
def test_lint_finds_each_kind_of_gap(write: Any, old: str, new: str, word: str) -> None:
    assert old in SCENARIO
    try:
        found = [each.what for each in lint(write(SCENARIO.replace(old, new)), states=400)]
    except SpecError as error:
        found = [error.what]
    assert any(word in each for each in found)


def test_lint_names_file_line_and_remedy(write: Any) -> None:
    (fault,) = lint(write(SCENARIO.replace("governing: []", "governing: [none-2020]")), states=200)
    line = SCENARIO.splitlines().index("governing: []") + 1
    assert fault.place == f"scenario.yaml, line {line}"
    assert fault.remedy.startswith("`chartproof policy list` names the documents;")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("when: hot,", "when: highest >= 38,", "rule YES-1 is neither true nor false"),
        ("when: chills,", "when: chils,", "`rule AMB-1` cannot be evaluated"),
        ("hot: coalesce", "hot: warm\n  warm: hot and coalesce", "in a circle: hot → warm → hot."),
        ("hot: coalesce(highest >= 38.0, false)", "hot: hot", "in a circle: hot → hot."),
        ("DECIMAL(4,1)", "NUMBER(4;1)", "Fact `highest` has the type NUMBER(4;1)"),
        ("until: admittime + 3 d", "until: dischtime", "The window end `dischtime`"),
        ("select admittime from", "select admittim from", "its anchors cannot be evaluated"),
    ],
)
def test_lint_tells_one_fault_once_with_its_line(write: Any, old: str, new: str, told: str) -> None:
    assert old in SCENARIO
    (fault,) = lint(write(SCENARIO.replace(old, new)), states=200)
    assert told in fault.what
    assert fault.line is not None


def test_lint_reads_the_patterns_of_notes(write: Any) -> None:
    (fault,) = lint(write(notes=NOTES.replace("(?:chills|", "(?:chills|(")), states=200)
    assert fault.file == "notes.yaml"
    assert "Reading `chills`: the pattern" in fault.what


def test_lint_runs_the_facts_on_a_bare_chart(write: Any) -> None:
    (fault,) = lint(write(facts=FACTS.replace("as chills", "as shivers")), states=200)
    assert fault.file == "facts.sql"
    assert "lacks ['chills'], has besides ['shivers']" in fault.what


def test_lint_looks_items_and_codes_up(write: Any) -> None:
    items = "{table: labevents, encounter: anchor, items: ['50912', '59999']}"
    codes = "{table: diagnoses_icd, encounter: anchor, items: [N17%, N18.6, N99]}"
    text = SCENARIO.replace("required_findings", f"  - {items}\n  - {codes}\nrequired_findings")
    known = Dictionaries(
        items=frozenset({50912}), codes={"diagnoses": frozenset({"N179", "N186"})}
    )  # fmt: skip
    found = [each.what for each in lint(write(text), known=known, states=200)]
    assert found == [
        "No item of labevents is `59999`.",
        "No diagnoses code is `N99`.",
        "There is no item 223762.",
    ]


@pytest.mark.parametrize("id_", scenario_ids())
def test_no_scenario_of_the_catalogue_has_a_gap(id_: str) -> None:
    assert lint(scenario(id_), known=dictionaries(), brief=True) == []
