"""A study that is killed ten times at any moment, and resumed: nothing that stands is lost."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from chartproof import api
from chartproof.runs import cells

KILLS = 10
COMMAND = [sys.executable, "-c", "from chartproof.cli.main import main; main()", "run"]


def test_ten_kills_of_a_study_leave_whole_runs_and_cut_off_ones_alone(
    home: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "home"
    ours.mkdir()
    for part in ("store", "labels"):
        (ours / part).symlink_to(home / part)
    shutil.copytree(home / "cases", ours / "cases")
    command = [*COMMAND, "--system", "careful", "--attempts", "2"]
    stood: set[Path] = set()
    cut = 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [*command, "--in", str(ours)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            began = time.monotonic()
            fresh = len(stood)
            while time.monotonic() - began < 30 and process.poll() is None:
                if len(list(cells.cells(ours / "runs"))) > fresh:
                    break
                time.sleep(0.02)
            time.sleep(random.uniform(0, 0.5))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        time.sleep(1.2)  # a worker of a killed study notices within a second
        found = api.verify(ours / "runs")
        assert [each for each in found if each.faults] == []
        now = {folder for folder, _ in cells.cells(ours / "runs")}
        assert stood <= now
        stood = now
        cut += sum(each.state == "cut off" for each in found)
    assert cut > 0, "no kill met a run in flight"
    subprocess.run([*command, "--in", str(ours)], check=True, capture_output=True)
    found = api.verify(ours / "runs")
    assert {each.state for each in found} == {"whole"}
    assert len(found) == 2 * len(list((ours / "cases" / "charts").iterdir()))
    assert all(each.identical for each in api.replay([min(stood), max(stood)], home=ours))
