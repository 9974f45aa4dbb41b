"""How a model of a study is named to Inspect, and what is refused before anything is asked."""

import pytest

from chartproof.errors import SpecError
from chartproof.models import inspect
from chartproof.models.inspect import Place, plain, require
from chartproof.records.price import ProtocolName
from chartproof.records.system import Model

CHAT: tuple[ProtocolName, ...] = ("openai-chat",)


def place(id_: str, *serves: ProtocolName, seed: int | None = None) -> Place:
    return Place(Model(id=id_, seed=seed), "http://127.0.0.1:1/run/t", "t", serves)


@pytest.mark.parametrize(
    ("asked", "named", "base"),
    [
        (place("openai/gpt-5", "openai-chat", "openai-responses"), "openai/gpt-5", "/v1"),
        (place("anthropic/claude-x", "anthropic"), "anthropic/claude-x", ""),
        (place("google/gemini-x", "gemini"), "google/gemini-x", ""),
        (place("grok/grok-x", "openai-chat", "openai-responses"), "openai-api/grok/grok-x", "/v1"),
        (place("vllm/org/model", "openai-chat", "anthropic"), "openai-api/vllm/org/model", "/v1"),
        (place("our_server/m"), "openai-api/our_server/m", "/v1"),
    ],
)
def test_a_model_is_asked_in_the_protocol_of_its_provider(
    asked: Place, named: str, base: str
) -> None:
    assert asked.named == named
    assert asked.base_url == "http://127.0.0.1:1/run/t" + base


def test_a_seed_is_sent_by_the_api_that_takes_one() -> None:
    assert place("openai/gpt-5", "openai-chat", seed=1).settings == {"responses_api": False}
    assert place("openai/gpt-5", "openai-chat").settings == {}


def test_a_seed_that_would_not_be_sent_is_refused() -> None:
    with pytest.raises(SpecError, match="not sent to anthropic") as caught:
        require(Model(id="anthropic/claude-x", seed=1), ("anthropic",), {})
    assert "Leave it out" in caught.value.remedy


def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(inspect, "versions", lambda: {"inspect-ai": "", "openai": "3.57.0"})
    with pytest.raises(SpecError, match="inspect-ai, which is not installed") as caught:
        require(Model(id="openai/m"), CHAT, {})
    assert caught.value.remedy == "Install the extra: pip install 'chartproof[models]'."


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_that_takes_what_is_meant_for_this_machine_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect, "versions", dict[str, str])
    model = Model(id="openai/m")
    with pytest.raises(SpecError, match=f"{name.upper()} would lead") as caught:
        require(model, CHAT, {name: "http://proxy.example.org:3128"})
    assert "NO_PROXY=127.0.0.1" in caught.value.remedy
    require(
        model, CHAT, {name: "http://proxy.example.org:3128", "NO_PROXY": "localhost, 127.0.0.1"}
    )
    require(model, CHAT, {"HTTPS_PROXY": "http://proxy.example.org:3128"})


def test_a_schema_keeps_what_every_server_understands() -> None:
    since = {"anyOf": [{"type": "string", "pattern": "^x"}, {"type": "null"}], "default": None}
    items = {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 9}
    given = {
        "type": "object",
        "properties": {"since": since, "items": items},
        "required": ["items"],
    }
    assert plain(given) == {
        "type": "object",
        "properties": {
            "since": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "items": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["items"],
        "additionalProperties": False,
    }
