"""The command that stands in for a model."""

import http.client
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from chartproof.cli import model
from chartproof.cli.main import app
from chartproof.errors import SpecError
from chartproof.runs.scripted_model.faults import KINDS, STATUSES, TIMES
from chartproof.runs.scripted_model.persona import Personas

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "scripted-model.md"


def test_a_persona_is_served_with_its_faults_and_each_request_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[Any] = []
    served: list[int] = []
    monkeypatch.setattr(
        "chartproof.cli.screen.table", lambda title, *_: served.append(int(title.split(":")[-1]))
    )

    def client() -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "# Question\n\nDid it?"}]}
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", served[0], timeout=10)
            connection.request("POST", "/v1/chat/completions", json.dumps(body))
            answer = connection.getresponse()
            answers.append((answer.status, json.loads(answer.read())))
            connection.close()

    monkeypatch.setattr(model, "until_stopped", client)
    options = ["--persona", "evidence-blind", "--port", "0", "--fault", "500:once"]
    said = CliRunner().invoke(app, ["model", "serve", *options, "--served", "m-2"])
    assert said.exit_code == 0, said.output
    (first, _), (second, told) = answers
    assert (first, second) == (500, 200)
    assert told["model"] == "m-2"
    assert '"verdict"' in told["choices"][0]["message"]["content"]
    assert "chat evidence-blind turn 1: status 500 (500)" in said.stderr
    assert "chat evidence-blind turn 1: answers with" in said.stderr


def test_a_fault_or_persona_that_is_none_is_refused_before_anything_listens() -> None:
    for option in (["--fault", "420"], ["--persona", "clever"]):
        said = CliRunner().invoke(app, ["model", "serve", "--port", "0", *option])
        assert isinstance(said.exception, SpecError)


def test_the_page_explains_every_fault_and_names_every_persona() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for kind in set(KINDS) - {str(status) for status in STATUSES}:
        assert f"| `{kind}" in page, kind
    for word in (*TIMES, *map(str, STATUSES)):
        assert f"`{word}`" in page, word
    for persona in Personas.names:
        assert f"`{persona}`" in page, persona
