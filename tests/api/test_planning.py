"""What may be sent, what was, and what a study will cost, before anything is spent."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from chartproof import api
from chartproof.api import steps
from chartproof.api.egress import sent
from chartproof.cases.build import load
from chartproof.errors import SpecError
from chartproof.models.ledger import Ledger, failed
from chartproof.records.store import Tier
from chartproof.records.study import Study
from chartproof.records.table import Table
from chartproof.records.usage import Usage

SCENARIO = "post-ct-aki"
PRICES = (
    "schema: 1\nmodels:\n  x/m: {input: 10, cached: 1, output: 100}\n  x/n: {input: 1, output: 1}\n"
)


def a_home(home: Path, out: Path, tier: Tier = "synthetic") -> Path:
    """A home with the cases of another, and runs of its own."""
    (out / "cases").mkdir(parents=True)
    shutil.copyfile(home / "cases" / "cases.json", out / "cases" / "cases.json")
    for name in ("cases/charts", "labels"):
        (out / name).symlink_to(home / name)
    (out / "store").mkdir()
    manifest = load(out / "cases").model_copy(
        update={"tier": tier, "store_path": str(out / "store")}
    )
    (out / "cases" / "cases.json").write_text(manifest.model_dump_json())
    (out / "prices.yaml").write_text(PRICES)
    return out


def study(*models: str, **more: Any) -> Study:
    systems = [
        {
            "kind": "react",
            "name": f"agent-{n}",
            "model": {"id": model, "base_url": "https://models.example.org/v1", "key": "A_KEY"},
        }
        for n, model in enumerate(models)
    ]
    return Study.model_validate({
        "id": "planned", "cases": "cases", "systems": ["careful", *systems],
        "scenarios": [SCENARIO], **more
    })  # fmt: skip


def record(home: Path, name: str, system: str, model: str, runs: int = 2) -> None:
    """Runs of two requests: together 1,000 tokens in, 400 of them cached, and 10 out."""
    ledger = Ledger(home / "runs" / name)
    for n in range(runs):
        run = f"{system}/case-{n}/factual/1"
        for used in (
            Usage(tokens_in=600, tokens_cached=400, tokens_out=4, cost_usd=0.0028),
            Usage(tokens_in=400, tokens_cached=0, tokens_out=6, cost_usd=0.0046),
        ):
            id_ = ledger.begin(run, "https://models.example.org", model, 0.5, 2_000)
            ledger.finish(id_, status=200, usage=used, received=70)
    again = ledger.begin(f"{system}/case-0/factual/1", "https://models.example.org", model, 0.5)
    ledger.finish(again, status=429, usage=failed())
    ledger.close()


def row(table: Table, system: str) -> dict[str, Any]:
    found = next(each for each in table.rows if each[0].text == system)
    return dict(zip(table.columns, found, strict=True))


def test_a_dry_run_prices_the_runs_to_make_by_those_that_were_made(
    home: Path, tmp_path: Path
) -> None:
    here = a_home(home, tmp_path / "home")
    record(here, "before", "agent-0", "x/m")
    table = steps.dry_run(here, study("x/m", "x/n", budget_usd=0.01), most=2)
    runs = 2
    first = row(table, "agent-0")
    assert (first["cells"].value, first["to run"].value) == (runs, runs)
    assert first["tokens in"].value == 1_000 * runs
    assert first["of them cached"].value == 400 * runs
    # 600 × 10 + 400 × 1 + 10 × 100 for a million
    assert first["cost $"].value == pytest.approx(0.0074 * runs)
    assert first["from"].text == "2 recorded runs of it"
    second = row(table, "agent-1")
    assert second["cost $"].value == pytest.approx(0.00101 * runs)
    assert second["from"].text == "2 recorded runs of other systems with other models"
    assert row(table, "careful")["cost $"].text == "–"
    assert f"All systems together: ${0.00841 * runs:.4f}." in table.notes
    assert f"${0.00841 * runs - 0.01:.4f} too little." in table.notes[-1]
    assert not (here / "runs" / "planned").exists()


def test_cells_that_stand_are_not_paid_again(home: Path, tmp_path: Path) -> None:
    here = a_home(home, tmp_path / "home")
    asked = study()
    api.run(here, asked, most=1)
    counted = row(steps.dry_run(here, asked, most=1), "careful")
    assert (counted["cells"].value, counted["to run"].value) == (1, 0)


def test_without_a_recorded_run_or_a_price_there_is_a_dash_and_the_reason(
    home: Path, tmp_path: Path
) -> None:
    here = a_home(home, tmp_path / "home")
    none = row(steps.dry_run(here, study("x/m"), most=1), "agent-0")
    assert none["tokens in"].text == none["cost $"].text == "–"
    assert "no recorded run: run a few cells first" in none["from"].text
    record(here, "before", "agent-0", "x/unpriced")
    table = steps.dry_run(here, study("x/unpriced"), most=1)
    unpriced = row(table, "agent-0")
    assert unpriced["tokens in"].value
    assert (unpriced["cost $"].text, unpriced["cost $"].why[:17]) == ("–", "no price is known")
    assert any("– (not known of agent-0)" in note for note in table.notes)


@pytest.mark.parametrize("dry", [False, True])
def test_data_of_real_patients_are_not_planned_for_an_endpoint_that_is_not_allowed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, dry: bool
) -> None:
    monkeypatch.setenv("A_KEY", "k")
    here = a_home(home, tmp_path / "home", "credentialed")
    do = steps.dry_run if dry else steps.run
    with pytest.raises(SpecError, match="nothing was sent to https://models") as no:
        do(here, study("x/m"), most=1)
    assert str(here / "store" / "tier.yaml") in no.value.remedy
    assert not (here / "runs").exists()
    (here / "store" / "tier.yaml").write_text(
        "schema: 1\nallowed_endpoints: [https://models.example.org]\nwhy: invented\n"
    )
    assert steps.dry_run(here, study("x/m"), most=1).rows


def test_a_study_whose_key_or_price_is_missing_is_refused_before_it_runs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = a_home(home, tmp_path / "home")
    monkeypatch.delenv("A_KEY", raising=False)
    with pytest.raises(SpecError, match="A_KEY holds none"):
        steps.run(here, study("x/m"), most=1)
    monkeypatch.setenv("A_KEY", "k")
    with pytest.raises(SpecError, match="no price of `x/odd` is known") as no:
        steps.run(here, study("x/odd", budget_usd=1), most=1)
    assert str(here / "prices.yaml") in no.value.remedy
    assert not (here / "runs").exists()


def test_what_was_sent_is_told_by_endpoint_and_run(home: Path, tmp_path: Path) -> None:
    here = a_home(home, tmp_path / "home")
    record(here, "before", "agent-0", "x/m")
    ledger = Ledger(here / "runs" / "before")
    ledger.begin("agent-0/case-9/factual/1", "http://127.0.0.1:8000", "x/m", 0.5, 11)
    ledger.close()
    table = sent(here, "before")
    shown = [tuple(cell.text for cell in each) for each in table.rows]
    place = "https://models.example.org"
    assert shown == [
        ("http://127.0.0.1:8000", "agent-0/case-9/factual/1", "1", "11", "0", "0", "0", "–"),
        (place, "agent-0/case-0/factual/1", "3", "4,000", "140", "1,000", "10", "0.0074"),
        (place, "agent-0/case-1/factual/1", "2", "4,000", "140", "1,000", "10", "0.0074"),
        ("http://127.0.0.1:8000", "all runs", "1", "11", "0", "0", "0", "–"),
        (place, "all runs", "5", "8,000", "280", "2,000", "20", "0.0148"),
    ]
    assert "allows every endpoint" in table.notes[0]
    with pytest.raises(SpecError, match="no study `after`"):
        sent(here, "after")


def test_a_study_without_models_sent_nothing(home: Path, tmp_path: Path) -> None:
    here = a_home(home, tmp_path / "home")
    (here / "runs" / "quiet").mkdir(parents=True)
    assert "Nothing was sent to any model." in sent(here, "quiet").notes
