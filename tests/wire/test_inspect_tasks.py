"""Scenarios as tasks of Inspect AI, by its own command and by its own agent."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai import eval as evaluate
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import get_model

from chartproof.cases.build import load, save
from chartproof.integrations.inspect import TASKS, scenario_task
from chartproof.labels import reference
from chartproof.reports.audit import parse
from chartproof.runs.scripted_model.server import Heard, ModelServer

SCENARIO = "post-ct-aki"


def newest(folder: Path) -> EvalLog:
    [info] = list_eval_logs(str(folder))
    return read_eval_log(info)


def test_the_command_of_inspect_finds_a_scenario_and_scores_its_verdicts(
    home: Path, tmp_path: Path
) -> None:
    with ModelServer("careful") as server:
        command = [
            str(Path(sys.executable).with_name("inspect")), "eval", f"chartproof/{SCENARIO}",
            "-T", f"home={home}", "--model", "openai/scripted-careful",
            "--model-base-url", f"{server.url}/v1", "-M", "responses_api=false",
            "--limit", "2", "--log-dir", str(tmp_path), "--display", "none",
        ]  # fmt: skip
        done = subprocess.run(
            command,
            env={**os.environ, "OPENAI_API_KEY": "none"},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2_000:] + done.stdout[-2_000:]
    log = newest(tmp_path)
    assert log.status == "success"
    assert log.samples is not None
    assert len(log.samples) == 2
    labels = reference.read(home / "labels")
    for sample in log.samples:
        label = labels[str(sample.id), "factual"]
        assert sample.target == "", "no sample holds its reference"
        assert sample.scores is not None
        given = parse(sample.output.completion).verdict
        assert given is not None
        score = sample.scores["verdict"]
        assert score.value == ("C" if given == label.verdict else "I")
        assert sum(event.event == "tool" for event in sample.events) > 5


def test_every_scenario_is_a_task() -> None:
    assert len(TASKS) == 25
    assert SCENARIO in TASKS


# a task of Inspect's that ends in an error leaves streams open
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_charts_of_real_patients_go_to_no_model_that_was_not_named(
    home: Path, tmp_path: Path
) -> None:
    ours = tmp_path / "home"
    (ours / "cases").mkdir(parents=True)
    (ours / "labels").symlink_to(home / "labels")
    (ours / "cases" / "charts").symlink_to(home / "cases" / "charts")
    manifest = load(home / "cases")
    real = manifest.model_copy(update={"tier": "credentialed", "store_path": "elsewhere"})
    save(real, ours / "cases")
    heard: list[Heard] = []
    with ModelServer("careful", heard=heard.append) as server:
        model = get_model("openai/m", base_url=f"{server.url}/v1", api_key="none", memoize=False)
        task = scenario_task(SCENARIO, ours, arm="factual", template="audit-v1")
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            [log] = evaluate(
                task, model=model, limit=1, log_dir=str(tmp_path / "logs"), display="none"
            )
    assert log.status == "error"
    assert log.error is not None
    assert "allows no endpoint" in log.error.message
    assert heard == []
