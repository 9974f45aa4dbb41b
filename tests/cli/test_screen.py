"""What the command line prints of text that others wrote: as it stands, and harmless."""

from dataclasses import replace
from pathlib import Path

import pytest

from chartproof.catalog.read import ScenarioFolder, scenario
from chartproof.cli import scenario as commands
from chartproof.cli import screen
from chartproof.leaderboards.terminal import show
from chartproof.records.table import Cell, Table

ODD = "[/red] Potassium [mmol/L] :warning: low"


@pytest.fixture
def odd() -> ScenarioFolder:
    """A scenario whose title and rule are written like markup."""
    folder = scenario("post-ct-aki")
    spec = folder.scenario
    rules = tuple(each.model_copy(update={"id": f"[/{each.id}]"}) for each in spec.rules)
    return replace(folder, scenario=spec.model_copy(update={"title": ODD, "rules": rules}))


def test_a_scenario_is_shown_as_it_is_written(
    odd: ScenarioFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("chartproof.catalog.read.scenario", lambda _: odd)
    monkeypatch.setattr(screen.out, "_width", 200)
    commands.show("post-ct-aki")
    shown = capsys.readouterr().out
    assert f"post-ct-aki · {ODD}" in shown
    assert "[/YES-1]" in shown


def test_a_rule_is_told_as_its_id_is_written(
    odd: ScenarioFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("chartproof.catalog.read.scenario", lambda _: odd)
    (tmp_path / "facts.yaml").write_text("post: [1.6, 2.0]\n")
    commands.verdict("post-ct-aki", facts=tmp_path / "facts.yaml")
    assert "[/YES-1]  Yes" in capsys.readouterr().out


def test_no_door_of_the_screen_reads_markup_or_lets_a_terminal_obey(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for console in (screen.out, screen.err):
        monkeypatch.setattr(console, "_width", 200)
    text = f"{ODD} \x1b[2J"
    screen.table(text, [text], [[text]])
    screen.out.rule(text)
    board = Table(id="t", title=text, population=text, columns=(text,), rows=((Cell(text=text),),))
    screen.out.print(show(board))
    screen.out.print(text, style="yellow")
    screen.complain(text, text)
    with screen.progress(text) as told:
        told(1, 2)
    shown = capsys.readouterr()
    assert shown.out.count(ODD) == 9
    assert shown.err.count(ODD) >= 2
    assert "\x1b[2J" not in shown.out + shown.err
    assert "\x1b" not in screen.picture(show(board))
