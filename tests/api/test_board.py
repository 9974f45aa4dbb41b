"""A board study: what each responder is known by, and what a number rests on."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pytest
from tests.runs.packets import BREAST

from board.habits import HABITS
from board.reading import Words
from board.talk import Talk
from board.treatment import Treatment
from chartproof.api import board, board_arms
from chartproof.api.board import tasks
from chartproof.api.board_arms import Told
from chartproof.api.board_scores import Scores, board_tables, score_board
from chartproof.errors import ChartproofError, JudgeError, RunError, SpecError
from chartproof.interventions import lock as locks
from chartproof.interventions.catalogue import catalogue
from chartproof.judges import board_store
from chartproof.leaderboards.figures import figures
from chartproof.metrics.ladder import evidence_response
from chartproof.metrics.sensitivity import bookkeeping, css, css_by, vacuous
from chartproof.metrics.specificity import Specificity, specificity
from chartproof.oncology.cohort import COHORT, GOLD, made, plan
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import Cohort
from chartproof.records.board_study import BoardStudy
from chartproof.records.record import CANARY
from chartproof.records.sensitivity import Pair
from chartproof.records.system import scripted
from chartproof.records.table import Cell, Table
from chartproof.runs import cells
from chartproof.runs.board import Board, BoardTask
from chartproof.runs.errand import Errand
from chartproof.runs.systems import boards

SYSTEMS = tuple(HABITS)
STUDY = BoardStudy(id="trial", systems=SYSTEMS, editions=("v1", "v2", "twin"))
TREATMENT = Treatment(json.loads(json.dumps(knowledge().exported())))
WORDS = Words(TREATMENT)


class Remembered:
    """Reads a text once: eight systems are asked of it."""

    state = staticmethod(cache(WORDS.state))
    item = staticmethod(WORDS.item)
    plain = staticmethod(WORDS.plain)


@dataclass
class InProcess:
    """A system without its process, for tests of what comes of answers; see `runs/test_board`."""

    name: str
    jail: str = "off: within the test"

    def digest(self) -> str:
        return self.name

    def answer(self, errand: Errand) -> str:
        talk = Talk(HABITS[self.name](TREATMENT), Remembered(), errand.door.call)  # type: ignore[arg-type]
        return talk.answer(errand.prompt, [each["name"] for each in errand.door.specs()])


def cohort_in(folder: Path, cases: Sequence[str]) -> None:
    """A few cases of the synthetic cohort, small."""
    small = plan().model_copy(update={"size": "small"})
    found = sorted(made(small, only=frozenset(cases)), key=lambda each: each.case.id)
    for name in ("packets", "gold"):
        (folder / name).mkdir(parents=True)
    for each in found:
        (folder / each.case.packet).write_text(each.text)
    told = Cohort(id="few", about="A few.", cases=tuple(each.case for each in found))
    (folder / COHORT).write_text(told.model_dump_json())
    lines = ",\n".join(each.gold.model_dump_json() for each in found)
    (folder / GOLD).write_text(f"[\n{lines}\n]\n")


CASES = ("SYN-BRE-0004", "SYN-BRE-0013", "SYN-NSC-0006", "SYN-NSC-0026", "SYN-PAN-0005")


def ran(
    home: Path,
    study: BoardStudy,
    marked: str = "unregistered",
    who: Callable[[BoardTask], InProcess] = lambda task: InProcess(task.system),
) -> None:
    """Fill every cell of a study within this process."""
    cohort, golds = board.read_cohort(home / study.cohort), board.read_gold(home / study.cohort)
    told = [Told(each, cohort.packet(each), golds[each.id].state) for each in cohort.cohort.cases]
    arms = board_arms.planned(
        home, study, told, catalogue(), basis="of the test", progress=lambda _done, _all: None
    )
    filling = Board(time.perf_counter)
    for task in tasks(home, study, arms, marked=marked, lenient=cohort.lenient):
        filling.fill(task, who(task), lambda: False)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of all systems in one shot."""
    place = tmp_path_factory.mktemp("board")
    cohort_in(place / "cohort", CASES)
    ran(place, STUDY)
    return place


@pytest.fixture(scope="module")
def scores(home: Path) -> Scores:
    return score_board(home, STUDY)


def of(scores: Scores, system: str, edition: str = "twin") -> list[Pair]:
    """Rows of a system: active ones of an edition, all others of any."""
    return [
        pair
        for pair in scores.pairs
        if pair.system == system and (pair.change != "active" or pair.edition == edition)
    ]


def headline(scores: Scores, system: str, edition: str = "twin") -> Specificity:
    return specificity(of(scores, system, edition))


@pytest.mark.parametrize("edition", ["twin", "v2"])
def test_the_oracle_changes_what_has_to_change_and_nothing_else(
    scores: Scores, edition: str
) -> None:
    rows = of(scores, "board-oracle", edition)
    found = specificity(rows)
    assert (css(rows).value, found.csps, found.j_directed) == (1, 1, 1)
    assert css(rows).of >= 10
    assert found.hard.value == found.noise.value == 0
    answers = [each for each in scores.coverages if each.system == "board-oracle"]
    assert sum(a.strong_hit for a in answers) == sum(a.strong for a in answers) > 0
    assert sum(a.refusal_hit for a in answers) == 0


@pytest.mark.parametrize("system", ["board-constant", "board-evidence-blind", "board-lister"])
def test_who_never_changes_earns_nothing_and_raises_no_alarm(scores: Scores, system: str) -> None:
    rows = of(scores, system)
    found = specificity(rows)
    assert css(rows).of > 0
    assert (css(rows).value, found.csps, found.hit.value) == (0, 1, 0)


def test_the_replanner_falls_by_its_alarms(scores: Scores) -> None:
    found = headline(scores, "board-replanner")
    assert found.csps is not None
    assert found.csps < 0.35
    assert found.hit.value is not None
    assert found.hit.value > 0.7
    assert found.j_directed is not None
    assert found.j_directed < 0.1
    assert found.noise.value == 0  # the same text has the same answer


def test_who_takes_nobody_for_operated_on_earns_nothing_in_family_d(scores: Scores) -> None:
    by = css_by(of(scores, "board-blind-d"), lambda pair: pair.family)
    assert (by["D"].value, by["D"].of > 0) == (0, True)
    assert by["E"].value == 1


def test_half_and_noisy_lie_between(scores: Scores) -> None:
    half, noisy = (headline(scores, f"board-{name}") for name in ("half", "noisy"))
    assert half.csps == 1
    assert half.css.value is not None
    assert 0.15 < half.css.value < 0.85
    assert noisy.csps is not None
    assert half.csps > noisy.csps > 0.3
    assert noisy.j_directed is not None
    assert 0 < noisy.j_directed < 0.95


def test_every_eligible_pair_is_accounted_for(scores: Scores) -> None:
    for edition in STUDY.editions:
        rows = [p for p in scores.pairs if p.change == "active" and p.edition == edition]
        books = bookkeeping([p for p in rows if p.unscored != "ineligible"])
        assert books.eligible == books.noop + books.scored
        assert books.rows_expected == books.scored * len(SYSTEMS)
    # as printed, an answer is scored by its end state: those that never change earn by that
    constant = of(scores, "board-constant", "v1")
    assert vacuous(constant)


def test_what_the_summary_kept_is_told_of_single_shot_and_sections_of_an_agent(
    home: Path, scores: Scores
) -> None:
    kept = {
        pair.saw_mutation
        for pair in of(scores, "board-oracle")
        if pair.change == "active" and pair.family in "ABCDE" and pair.score is not None
    }
    assert kept == {True}
    study = STUDY.model_copy(
        update={"id": "agents", "settings": ("agent",), "cap": 4,
                "systems": scripted(("board-oracle",)),
                "editions": ("twin",), "placebos": 0, "hard_placebos": 0}
    )  # fmt: skip
    ran(home, study)
    found = score_board(home, study)
    active = [p for p in found.pairs if p.change == "active" and p.unscored is None]
    assert active
    assert all((p.calls, p.steps, p.hit_cap, p.saw_mutation) == (5, 5, True, True) for p in active)
    assert found.reads["board-oracle"]["overview"] == len({p.case for p in active}) + len(
        [p for p in found.pairs if p.moved is not None]
    )


# ------------------------------------------------------------------ what a number rests on


TWO = BoardStudy(
    id="two", systems=("board-oracle", "board-replanner"), editions=("twin",), evidence_doses=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems on two cases."""
    place = tmp_path_factory.mktemp("two")
    cohort_in(place / "cohort", ("SYN-BRE-0013", "SYN-NSC-0026"))
    ran(place, TWO)
    return place


@pytest.fixture
def copy(two: Path, tmp_path: Path) -> Path:
    """The same, to be tampered with."""
    place = tmp_path / "copy"
    shutil.copytree(two, place)
    return place


def cell_of(home: Path, system: str, arm: str) -> Path:
    """The run of a system on the first arm that is called so."""
    return next(
        folder
        for folder, cell in cells.cells(home / "runs" / "two")
        if cell.system == f"{system}@single_shot" and cell.arm.startswith(arm)
    )


def shown(scores: Scores) -> dict[tuple[str, int, str], tuple[str, Cell]]:
    """Table, row and column → what the row is called, and the cell; of every table."""
    return {
        (table.id, n, column): (row[0].text, cell)
        for table in board_tables(scores, draws=20)
        for n, row in enumerate(table.rows)
        for column, cell in zip(table.columns, row, strict=True)
    }


def touched(before: Scores, after: Scores) -> set[tuple[str, str, str]]:
    """Table, name of the row and column of every cell that differs."""
    old, new = shown(before), shown(after)
    assert old.keys() == new.keys()
    return {
        (key[0], old[key][0], key[2])
        for key in old
        # a run in this process may take no time that its trace tells
        if old[key] != new[key] and key[2] != "Seconds"
    }


TOOK = ("Runs", "Answers asked", "Turns", "Work-tokens", "USD")
"""What one run more changes; of dashes the reason, which says how many runs tell none."""
SHARED = {
    # what counts rows of all systems, or tells systems apart, names no single one
    ("board-books", "twin", "Rows scored"), ("board-books", "twin", "Not scored"),
    ("board-books", "twin", "Why"),
    *(("board-compute", stage, column)
       for stage in ("single shot: active edits", "all")
       for column in TOOK),
}  # fmt: skip
RANKS = {"CSS rank", "CMS rank", "Rank change", "Alone first", "Ranks"}
FED = {"board-headline", "board-editions", "board-specificity", "board-distribution",
       "board-coherent", "board-reach"}  # fmt: skip
"""Tables with a row for each system, into which an active pair that is scored enters."""


def assert_of_one_row(
    cells_: set[tuple[str, str, str]], pair: Pair, system: str, *, lost: bool
) -> None:
    """Whether the cells that differ are those that a row of one system feeds, and no other."""
    groups = {pair.family, pair.intervention, "macro", f"cancer {pair.cancer}",
              *(f"stratum {each}" for each in pair.strata)}  # fmt: skip
    for table, row, column in cells_:
        if table in ("board-css-families", "board-css-interventions", "board-strata"):
            assert row in groups, (table, row, column)
            assert column in (system, "Leader"), (table, row, column)
        elif (table, row, column) in SHARED:
            assert lost
        elif row != system:
            assert table in ("board-headline", "board-ranks"), (table, row, column)
            assert column in RANKS, (table, row, column)
    assert {table for table, row, _ in cells_ if row == system} >= FED
    for column, table, row in (
        ("CSS", "board-headline", system), (system, "board-css-families", pair.family),
        (system, "board-css-interventions", pair.intervention),
        (system, "board-strata", f"cancer {pair.cancer}"),
    ):  # fmt: skip
        assert (table, row, column) in cells_
    assert not lost or cells_ >= SHARED
    untouched = {"board-coverage", "board-noops", "board-evidence"}
    assert not {table for table, _, _ in cells_} & untouched


def counted(scores: Scores) -> Pair:
    """A pair of the re-planner that enters its mean."""
    return next(
        pair
        for pair in scores.pairs
        if pair.system == "board-replanner" and pair.score is not None and not pair.vacuous
    )


def test_without_a_cell_exactly_what_its_row_feeds_is_different(copy: Path) -> None:
    before = score_board(copy, TWO)
    pair = counted(before)
    gone = cell_of(copy, "board-replanner", f"twin:{pair.intervention}")
    case, arm = gone.parents[1].name, gone.parent.name
    shutil.rmtree(gone)
    after = score_board(copy, TWO)
    lost = Counter(before.pairs) - Counter(after.pairs)
    assert not Counter(after.pairs) - Counter(before.pairs)
    assert [(p.system, p.case, f"twin:{p.intervention}") for p in lost] == [
        ("board-replanner", case, arm)
    ]
    (of_cell,) = lost
    assert_of_one_row(touched(before, after), of_cell, "board-replanner", lost=True)


def test_of_a_grade_that_is_flipped_exactly_what_its_row_feeds_is_different(two: Path) -> None:
    before = score_board(two, TWO)
    pair = counted(before)
    flip = {0.0: (1.0, "updated")}.get(pair.score or 0.0, (0.0, "unchanged"))
    other = pair.model_copy(update={"score": flip[0], "direction": flip[1]})
    after = replace(before, pairs=tuple(other if each is pair else each for each in before.pairs))
    cells_ = touched(before, after)
    assert_of_one_row(cells_, pair, "board-replanner", lost=False)
    others = {"board-books", "board-families", "board-compute"}
    assert not {table for table, _, _ in cells_} & others


def test_without_a_dose_its_curve_is_gone_and_nothing_else(copy: Path) -> None:
    before = score_board(copy, TWO)
    dosed = [p for p in before.pairs if p.change == "evidence" and p.system == "board-replanner"]
    assert {pair.places for pair in dosed} > {2}
    assert all(0 < (p.dose or 0) <= (p.places or 0) for p in dosed)
    shutil.rmtree(cell_of(copy, "board-replanner", "dose:"))
    cells_ = touched(before, score_board(copy, TWO))
    of_evidence = {(row, column) for table, row, column in cells_ if table == "board-evidence"}
    assert {row for row, _ in of_evidence} == {"board-replanner"}
    assert ("board-replanner", "Curves") in of_evidence
    rest = {each for each in cells_ if each[0] != "board-evidence"}
    assert rest == {
        ("board-compute", stage, column)
        for stage in ("single shot: ladders, doses, round trips", "all")
        for column in TOOK
    }


def test_who_goes_by_the_latest_word_never_goes_back_as_more_places_say_the_same(two: Path) -> None:
    rows = [pair for pair in score_board(two, TWO).pairs if pair.system == "board-oracle"]
    found = evidence_response(rows)
    assert found.curves >= 4
    assert found.against.value == 0
    assert (found.named.value, found.named.of > 0) == (0, True)
    twins = {(p.case, p.intervention): p.moved for p in rows if p.edition == "twin"}
    whole = [p for p in rows if p.change == "evidence" and p.dose == p.places]
    assert len(whole) == found.curves
    assert {twins[p.case, p.intervention] - (p.moved or 0) for p in whole} == {0}


def test_the_oracle_keeps_every_required_step_of_the_ladders_that_are_new(tmp_path: Path) -> None:
    cohort_in(tmp_path / "cohort", ("SYN-COL-0001", "SYN-HEP-0010", "SYN-PAN-0016"))
    study = BoardStudy(
        id="climb", systems=("board-oracle",), editions=("twin",), interventions=("A2",),
        ladders=True, placebos=0, hard_placebos=0, replicates=0,
    )  # fmt: skip
    ran(tmp_path, study)
    found = board_tables(score_board(tmp_path, study), draws=20)
    table = next(table for table in found if table.id == "board-ladders")
    rows = {row[1].text: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert {"M_TEXT", "CHILD_PUGH", "CREATININE", "ECOG"} <= rows.keys()
    for name, row in rows.items():
        got = [row[c].value for c in ("Step error", "Missed steps", "False steps", "Sharpness")]
        assert got == [0, 0, 0, 1], name


@dataclass
class Refusing(InProcess):
    """Stays with one drug, and says why."""

    why: str = ""

    def answer(self, _errand: Errand) -> str:
        given = {"treatment": "osimertinib", "timing": "palliative", "status": "recommend"}
        return json.dumps({
            "recommendations": [given], "not_recommended": [], "overall_rationale": self.why,
        })  # fmt: skip


@pytest.mark.parametrize(
    ("why", "credited"),
    [
        ("That it progressed on osimertinib conflicts with the response told on top.", True),
        ("It progressed on osimertinib.", False),
    ],
)
def test_who_names_the_conflict_of_an_incoherent_packet_and_stays_has_the_refusal_credit(
    tmp_path: Path, why: str, credited: bool
) -> None:
    cohort_in(tmp_path / "cohort", ("SYN-NSC-0026",))
    study = BoardStudy(
        id="two", systems=("board-constant",), editions=("v1cr",), placebos=0, hard_placebos=0,
        replicates=1, interventions=("B2_insert_osimertinib_failure",),
    )  # fmt: skip
    ran(tmp_path, study, who=lambda task: Refusing(
        task.system, why="" if task.arm == "original" else why
    ))  # fmt: skip
    found = score_board(tmp_path, study)
    (pair,) = [p for p in found.pairs if p.intervention in study.interventions]
    assert (pair.score, pair.audits, pair.refusal_credit) == (0, ("residual",), credited)
    table = next(t for t in board_tables(found, draws=20) if t.id == "board-refusals")
    (row,) = table.rows
    got = {name: cell.value for name, cell in zip(table.columns, row, strict=True)}
    assert (got["CSS"], got["CSS with credit"]) == (0, 0.5 if credited else 0)


def test_without_the_original_every_pair_of_that_case_is_gone(copy: Path) -> None:
    before = score_board(copy, TWO)
    gone = cell_of(copy, "board-oracle", "original")
    case = gone.parents[1].name
    shutil.rmtree(gone)
    lost = Counter(before.pairs) - Counter(score_board(copy, TWO).pairs)
    assert {(p.system, p.case) for p in lost} == {("board-oracle", case)}
    assert all(p.moved is not None or p.unscored for p in lost)


def test_a_score_that_was_altered_is_refused_by_file_and_line(copy: Path) -> None:
    score_board(copy, TWO)
    path = cell_of(copy, "board-oracle", "twin:") / board_store.NAME
    whole = path.read_text()
    path.write_text(whole.replace('"score":1.0', '"score":0.0'))
    with pytest.raises(JudgeError, match=r"scores\.jsonl, line 1 was altered"):
        score_board(copy, TWO)
    forged = board_store.Score.model_validate_json(whole)
    assert forged.pair is not None
    pair = forged.pair.model_copy(update={"score": 0.0})
    sealed = forged.model_copy(update={"pair": pair}).sealed()
    path.write_text(sealed.model_dump_json() + "\n")
    with pytest.raises(JudgeError, match="that the rules do not give"):
        score_board(copy, TWO)


def test_traces_that_were_exchanged_are_refused(copy: Path) -> None:
    score_board(copy, TWO)
    one, other = (cell_of(copy, "board-oracle", arm) for arm in ("twin:", "original"))
    held = (one / cells.TRACE).read_bytes()
    (one / cells.TRACE).write_bytes((other / cells.TRACE).read_bytes())
    (other / cells.TRACE).write_bytes(held)
    with pytest.raises(RunError, match="another run than its cell"):
        score_board(copy, TWO)


def test_a_score_is_kept_once_and_a_persons_counts_where_rules_abstain(copy: Path) -> None:
    score_board(copy, TWO)
    score_board(copy, TWO)
    folder = cell_of(copy, "board-oracle", "twin:")
    (line,) = (folder / board_store.NAME).read_text().splitlines()
    rule = board_store.Score.model_validate_json(line)
    assert rule.pair is not None
    abstained = rule.pair.model_copy(update={"score": None, "unscored": "judge_abstained"})
    theirs = rule.pair.model_copy(update={"score": 0.5, "by": "human"})
    scores = [
        rule.model_copy(update={"pair": abstained}),
        rule.model_copy(update={"by": "human", "pair": theirs}),
    ]
    assert board_store.settled(scores) == theirs
    assert board_store.settled([rule, scores[1]]) == rule.pair


def test_a_cohort_of_ones_own_is_asked_by_the_text_alone(tmp_path: Path) -> None:
    folder = tmp_path / "cohort"
    folder.mkdir()
    (folder / "MINE.txt").write_text(BREAST.replace("\n---\n", "\n\n"))
    told = {"id": "mine", "cases": {"MINE": {"strong": ["adjuvant: T-DXd|T-DM1"]}}}
    (folder / "consensus.json").write_text(json.dumps(told))
    study = BoardStudy(id="own", systems=("board-oracle",), settings=("single_shot", "agent"))
    ran(tmp_path, study)
    found = score_board(tmp_path, study)
    twins = [pair for pair in found.pairs if pair.edition == "twin"]
    assert twins
    assert {pair.unscored for pair in twins if pair.change == "active"} == {"ineligible"}
    for setting in study.settings:
        rows = [p for p in of(found, "board-oracle", "v2") if p.setting == setting]
        assert (css(rows).value, specificity(rows).csps) == (1, 1)
    assert {each.strong_hit for each in found.coverages} == {1}


# ------------------------------------------------------------------ registration


def test_a_study_is_not_run_without_its_lock_and_not_on_what_was_changed_since(
    home: Path, tmp_path: Path
) -> None:
    place = tmp_path / "home"
    shutil.copytree(home / "cohort", place / "cohort")
    study = STUDY.model_copy(update={"systems": scripted(("board-oracle",))})
    with pytest.raises(ChartproofError, match=r"no lock .*board\.lock"):
        board.run_board(place, study)
    (place / "board.lock").write_text(locks.lock(place / "cohort").model_dump_json())
    path = next((place / "cohort" / "packets").iterdir())
    path.write_text(path.read_text().replace("Phone", "Fax"))
    with pytest.raises(SpecError, match=rf"packets/{path.name} \(cohort\) changed"):
        board.run_board(place, study)
    assert not (place / "runs").exists()


def test_what_is_no_longer_as_it_was_locked_is_marked_where_it_is_scored(tmp_path: Path) -> None:
    """A consensus that was changed after the answers changes figures, and every table says so."""
    study = STUDY.model_copy(update={"systems": scripted(("board-oracle",)), "editions": ("twin",)})
    cohort_in(tmp_path / "cohort", CASES[:1])
    held = locks.lock(tmp_path / "cohort")
    (tmp_path / study.lock).write_text(held.model_dump_json())
    ran(tmp_path, study, marked=held.sha256)
    assert not score_board(tmp_path, study).unregistered
    gold = tmp_path / "cohort" / GOLD
    gold.write_text(gold.read_text().replace('"since":null', '"since":"2026-01"', 1))
    told = score_board(tmp_path, study)
    assert f"{GOLD} (cohort) changed" in told.unregistered
    assert all("(cohort) changed" in table.notes[-1] for table in board_tables(told, draws=20))


def test_what_decides_the_packets_cannot_be_chosen_again_once_there_are_runs(copy: Path) -> None:
    arms = board_arms.place(copy, TWO.id)
    before = arms.read_bytes()
    with pytest.raises(SpecError, match="what decides its packets is another"):
        ran(copy, TWO.model_copy(update={"seed": 7}))
    assert arms.read_bytes() == before
    arms.write_bytes(before.replace(b'"change":"active"', b'"change":"placebo"'))
    with pytest.raises(SpecError, match=r"two\.jsonl was altered"):
        score_board(copy, TWO)


def test_a_run_on_another_packet_than_its_arm_has_now_is_refused(copy: Path) -> None:
    board_arms.place(copy, TWO.id).unlink()
    runs = copy / "runs"
    runs.rename(copy / "aside")
    ran(copy, TWO.model_copy(update={"systems": scripted(("board-oracle",)), "seed": 7}))
    shutil.rmtree(runs)
    (copy / "aside").rename(runs)
    with pytest.raises(RunError, match="was made on another packet"):
        score_board(copy, TWO)


def test_a_hypothesis_counts_as_named_before_only_where_it_was(copy: Path) -> None:
    late = TWO.model_copy(update={"hypotheses": ("The constant wins.",)})
    ran(copy, late)
    assert score_board(copy, late).hypotheses == TWO.hypotheses


def test_what_was_run_without_a_lock_says_so_in_every_table(scores: Scores) -> None:
    found: list[Table] = board_tables(scores, draws=20)
    assert scores.unregistered
    assert all(table.notes[-1].startswith("UNREGISTERED") for table in found)
    pictures = figures(found)
    assert pictures
    assert all("UNREGISTERED" in picture for picture in pictures.values())
    assert all("not reviewed by an oncologist" in " ".join(table.notes) for table in found)


def test_what_a_system_is_given_tells_neither_the_arm_nor_the_answer(two: Path) -> None:
    packets = list((two / "packets" / "arms").iterdir())
    assert all(len(path.stem) == 64 for path in packets)
    index = (two / "gold" / "arms" / "two.jsonl").read_text()
    assert CANARY in index
    assert all(path.stem in index for path in packets)
    arms = {arm.name for arm in board_arms.known(two, "two")[1] if arm.packet}
    answer = board.prompt("board-answer-v1")
    prompts = [board.prompt(f"board-{name}-v1") for name in ("summary", "recommend", "agent")]
    beside = boards(knowledge().exported()).given.values()
    given = [path.read_text() for path in packets]
    given += [*prompts, answer, *(each.decode() for each in beside)]
    for text in given:
        assert CANARY not in text
        assert not [name for name in arms if name in text]
    for trace in (two / "runs").rglob(cells.TRACE):
        assert CANARY not in trace.read_text()


def test_a_case_that_the_cohort_does_not_have_is_named(home: Path) -> None:
    study = STUDY.model_copy(update={"cases": ("SYN-BRE-9999",)})
    with pytest.raises(SpecError, match="SYN-BRE-9999"):
        board.run_board(home, study, unregistered=True)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("prompt_summary", "../../canary", r"`prompt_summary`: There is no prompt.*board-agent-v1"),
        ("prompt_summary", "board-agent-v1", r"`prompt_summary`.*does not hold `\$packet`"),
        ("interventions", ("Q9",), r"no intervention `Q9`"),
    ],
)
def test_a_study_that_names_what_there_is_not_is_refused_before_its_cohort_is_read(
    tmp_path: Path, key: str, value: object, told: str
) -> None:
    (tmp_path / "cohort").mkdir()
    (tmp_path / "cohort" / COHORT).write_text("{}")
    study = STUDY.model_copy(update={key: value})
    with pytest.raises(SpecError, match=told):
        board.run_board(tmp_path, study, unregistered=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [("seconds", ".inf"), ("seconds", "1e9"), ("seconds", "1e-9"), ("id", "a" * 101)],
)
def test_a_study_beyond_its_bounds_is_refused_by_key(tmp_path: Path, key: str, value: str) -> None:
    file = tmp_path / "board.yaml"
    told = {"id": "trial", "systems": "[board-oracle]", key: value}
    file.write_text("".join(f"{name}: {each}\n" for name, each in told.items()))
    with pytest.raises(SpecError, match=rf"line \d: `{key}` is not valid.*has the keys"):
        board.read_board_study(file)


def test_a_system_that_answers_once_is_given_nothing_that_it_could_not_do(tmp_path: Path) -> None:
    cohort_in(tmp_path / "cohort", CASES[:1])
    once = {"kind": "single_shot", "name": "m", "model": {"id": "vllm/m"}}
    systems = ("board-constant", once)
    reading = BoardStudy.model_validate({"id": "s", "systems": systems, "settings": ("agent",)})
    with pytest.raises(SpecError, match="has it read sections"):
        board.run_board(tmp_path, reading, unregistered=True)
    later = ("board-constant", {**once, "after": "board-constant"})
    with pytest.raises(SpecError, match="comes after `board-constant`"):
        board.run_board(
            tmp_path, BoardStudy.model_validate({"id": "s", "systems": later}), unregistered=True
        )
