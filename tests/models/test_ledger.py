"""What was spent is told exactly, whatever is killed, and a budget is kept by all processes."""

import json
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chartproof.errors import RunError
from chartproof.models.ledger import FOLDER, Ledger, Spent, failed, read
from chartproof.records.usage import Usage, usd

WHERE = "https://api.example.org"


def used(cost_usd: float | None) -> Usage:
    return Usage(tokens_in=10, tokens_out=5, cost_usd=cost_usd)


def begin(ledger: Ledger, run: str = "s/c/factual/1", reserved: float | None = 0.01) -> int:
    return ledger.begin(run, WHERE, "x/m", reserved_usd=reserved, sent=100)


def test_what_ended_is_told_exactly_and_what_is_in_flight_by_its_estimate(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.finish(begin(ledger), status=200, usage=used(0.1), received=7)
    ledger.finish(begin(ledger, "s/c/factual/2"), status=200, usage=used(0.2))
    begin(ledger)
    spend = read(tmp_path)
    assert (spend.known_usd, spend.open_usd, spend.bound_usd) == (0.3, 0.01, 0.31)
    assert (spend.open, spend.unpriced, len(spend.requests)) == (1, 0, 3)
    assert {run: each.known_usd for run, each in spend.by_run().items()} == {
        "s/c/factual/1": 0.1,
        "s/c/factual/2": 0.2,
    }


def test_a_cost_that_nobody_can_tell_stays_at_its_estimate_and_a_refusal_costs_nothing(
    tmp_path: Path,
) -> None:
    ledger = Ledger(tmp_path)
    ledger.finish(begin(ledger), status=200, usage=used(None))
    ledger.finish(begin(ledger), status=429, usage=failed())
    ledger.finish(begin(ledger, reserved=None), status=200, usage=used(None))
    spend = read(tmp_path)
    assert (spend.known_usd, spend.open_usd, spend.unpriced) == (0, 0.01, 1)


def test_of_a_study_without_a_ledger_nothing_was_spent(tmp_path: Path) -> None:
    assert (read(tmp_path).bound_usd, read(tmp_path).requests) == (0, ())


requests = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(0, 10**9), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(made=requests, where=st.integers(0, 10_000))
def test_a_kill_at_any_byte_leaves_a_ledger_that_is_exact(
    made: list[tuple[int, int, bool]], where: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder)
        ledger = Ledger(study)
        for reserved, cost, ends in made:
            id_ = ledger.begin("r", WHERE, "x/m", reserved_usd=reserved / 1e9)
            if ends:
                ledger.finish(id_, status=200, usage=used(cost / 1e9))
        ledger.close()
        (path,) = (study / FOLDER).glob("*.jsonl")
        raw = path.read_bytes()
        cut = raw[: where % (len(raw) + 1)]
        path.write_bytes(cut)
        whole = cut[: cut.rfind(b"\n") + 1].splitlines()
        begun = {json.loads(line)["id"]: line for line in whole if b'"begun"' in line}
        ended = {json.loads(line)["id"]: json.loads(line) for line in whole if b'"fini' in line}
        spend = read(study)
        assert len(spend.requests) == len(begun)
        assert spend.known_usd == (usd(*(e["usage"]["cost_usd"] for e in ended.values())) or 0)
        assert spend.open == len(begun.keys() - ended.keys())
        # what goes on after the kill writes a file of its own: the torn line stays a torn line
        again = Ledger(study)
        again.finish(again.begin("r", WHERE, "x/m", reserved_usd=1), status=200, usage=used(2.5))
        again.close()
        assert read(study).known_usd == usd(spend.known_usd, 2.5)
        assert path.read_bytes() == cut


KILLED = """
import sys
from pathlib import Path
from chartproof.models.ledger import Ledger
from chartproof.records.usage import Usage
ledger = Ledger(Path(sys.argv[1]))
for n in range(100_000):
    id_ = ledger.begin("r", "https://api.example.org", "x/m", reserved_usd=0.5)
    print("sent", flush=True)
    print("answered", flush=True)
    ledger.finish(id_, status=200, usage=Usage(tokens_in=1, tokens_out=1, cost_usd=0.25))
    print("told", flush=True)
"""


def test_a_process_that_is_killed_has_spent_what_its_ledger_says(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(random.Random(7).randrange(100, 400))]
        process.kill()
        said += process.stdout.readlines()
    sent, answered, told = (said.count(f"{word}\n") for word in ("sent", "answered", "told"))
    spend = read(tmp_path)
    done = [each for each in spend.requests if each.finished]
    assert told >= 33
    assert told <= len(done) <= answered
    assert sent <= len(spend.requests) <= told + 1
    assert spend.known_usd == 0.25 * len(done)
    assert spend.open == len(spend.requests) - len(done)


def test_a_budget_stops_what_would_pass_it_and_says_so(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, budget_usd=0.03)
    first = begin(ledger)
    begin(ledger)
    ledger.finish(first, status=200, usage=used(0.015))
    with pytest.raises(Spent, match=r"budget of \$0.03, \$0.0150 is spent and \$0.0100") as no:
        begin(ledger)
    assert "Raise `budget_usd`" in no.value.remedy
    assert len(read(tmp_path).requests) == 2
    with pytest.raises(Spent, match="The run s/c/factual/9"):
        ledger.admit("s/c/factual/9", 0.006)
    ledger.admit("s/c/factual/9", 0.005)


def test_what_runs_in_hand_may_still_cost_is_held_for_them(tmp_path: Path) -> None:
    ledger, other = Ledger(tmp_path, budget_usd=1), Ledger(tmp_path, budget_usd=1)
    ledger.admit("s/c/factual/1", 0.4)
    other.admit("s/c/factual/2", 0.4)
    with pytest.raises(Spent, match=r"\$0.8000 is held for runs in hand"):
        ledger.admit("s/c/factual/3", 0.4)
    # what a run has spent is not held as well
    ledger.finish(begin(ledger), status=200, usage=used(0.3))
    assert (read(tmp_path).bound_usd, read(tmp_path).held_usd) == (0.3, 0.5)
    ledger.leave("s/c/factual/1")
    assert read(tmp_path).held_usd == 0.4
    ledger.admit("s/c/factual/3", 0.3)
    # as if the other process had been killed
    other.close()
    assert read(tmp_path).held_usd == 0.3


def test_a_run_is_expected_to_cost_what_the_dearest_of_its_system_did(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, budget_usd=1)
    ledger.admit("s/c/factual/1")
    ledger.finish(begin(ledger), status=200, usage=used(0.3))
    ledger.leave("s/c/factual/1")
    ledger.admit("s/c/factual/2")
    ledger.admit("t/c/factual/1")
    assert read(tmp_path).held_usd == 0.3
    ledger.admit("s/c/factual/3")
    with pytest.raises(Spent, match=r"might cost \$0.3000"):
        ledger.admit("s/c/factual/4")


def test_processes_and_threads_keep_one_budget_together(tmp_path: Path) -> None:
    ledgers = [Ledger(tmp_path, budget_usd=0.5) for _ in range(3)]
    refused: list[int] = []

    def work(ledger: Ledger) -> None:
        for _ in range(20):
            try:
                id_ = begin(ledger, reserved=0.02)
            except Spent:
                refused.append(1)
            else:
                ledger.finish(id_, status=200, usage=used(0.02))

    threads = [threading.Thread(target=work, args=(each,)) for each in ledgers for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    spend = read(tmp_path)
    assert (spend.known_usd, spend.open) == (0.5, 0)
    assert len(refused) == 120 - 25


def test_a_line_that_was_altered_is_named(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.finish(begin(ledger), status=200, usage=used(0.1))
    (path,) = (tmp_path / FOLDER).glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"run"', b'"rum"'))
    with pytest.raises(RunError, match="is none of a ledger"):
        read(tmp_path)


def test_a_ledger_whose_place_is_taken_says_so(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")
    with pytest.raises(RunError, match="could not be written"):
        begin(Ledger(tmp_path))
