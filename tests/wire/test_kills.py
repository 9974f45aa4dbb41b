"""Studies that are killed ten times at any moment, and resumed: nothing that stands is lost."""

import random
import secrets
from pathlib import Path

from tests.wire.conftest import missing
from tests.wire.killing import Killed, exact, home_of, model_study

from chartproof import api
from chartproof.runs.scripted_model.server import Heard, ModelServer

KILLS = 10


def test_ten_kills_of_a_study_leave_whole_runs_and_cut_off_ones_alone(
    home: Path, tmp_path: Path
) -> None:
    ours = home_of(home, tmp_path / "home")
    study = Killed(ours, ["--system", "careful", "--attempts", "2", "--in", str(ours)])
    draw = _draw()
    for _ in range(KILLS):
        study.kill(draw, 0.5)
        study.look()
    assert study.cut > 0, "no kill met a run in flight"
    study.finish()
    assert len(study.stood) == 2 * len(list((ours / "cases" / "charts").iterdir()))
    few = [min(study.stood), max(study.stood)]
    assert all(each.identical for each in api.replay(few, home=ours))


def test_ten_kills_of_a_study_of_a_model_lose_no_cell_run_none_twice_and_tell_what_was_spent(
    home: Path, tmp_path: Path
) -> None:
    try:
        import inspect_ai as _  # noqa: PLC0415  of an extra
    except ImportError:
        missing("Inspect AI", "Install the extra: pip install -e '.[models]'.")
    ours = home_of(home, tmp_path / "home")
    heard: list[Heard] = []
    with ModelServer("careful", heard=heard.append) as server:
        file = model_study(ours, server, attempts=2)
        study = Killed(ours, [str(file), "--workers", "1", "--at-once", "3"])
        draw = _draw()
        for _ in range(KILLS):
            study.kill(draw, 0.7)
            study.look()
        assert study.cut > 0, "no kill met a run in flight"
        study.finish()
        assert {cell.outcome for cell in study.stood.values()} == {"reported"}
        exact(ours, heard, KILLS, at_once=3)


def _draw() -> random.Random:
    seed = secrets.randbelow(100_000)
    print(f"moments: seed {seed}")
    return random.Random(seed)
