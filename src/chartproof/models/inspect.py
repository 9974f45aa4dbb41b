"""Inspect AI, the engine that speaks to the providers of models. Nothing else here imports it.

Its clients ask the recording proxy, never a provider: what a run sent, got, used and cost is what
passed there, and what Inspect tells is a cross-check that stands beside it as a log of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import anyio
import anyio.to_thread

from chartproof.errors import RunError, SpecError, mend
from chartproof.records.price import ProtocolName
from chartproof.records.system import Model

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ChatMessageTool, GenerateConfig, ModelOutput
    from inspect_ai.model import Model as Client
    from inspect_ai.tool import ToolCall, ToolInfo

PACKAGES = ("inspect-ai", "openai", "anthropic", "google-genai")
"""What the extra `models` installs, and what can change how a model is asked."""
EXTRA = "pip install 'chartproof[models]'"
RETRIES = 6
"""Of a request that failed by the provider; the pauses before them add up to some minutes."""
SHAPE = frozenset({"type", "properties", "items", "enum", "anyOf", "required", "description"})
"""Of a JSON schema, what every server that builds a grammar from one understands."""
_LOOK = 0.1
"""Seconds between two looks at whether a run is over."""

Finish = Literal["stop", "length", "refused", "overflow", "turns", "over", "failed"]


@dataclass(frozen=True)
class Place:
    """Where one run asks its model.

    Attributes:
        model: As the study has it.
        url: Address of the run's line to it, without the version of an API.
        token: What is given there for a key.
        serves: Protocols that are spoken there, the one to take first; empty for OpenAI's.
        attempt: Which attempt, from 1: the seed follows it.
        told: Where the line leads, for the log.
    """

    model: Model
    url: str
    token: str
    serves: tuple[ProtocolName, ...] = ()
    attempt: int = 1
    told: str = ""

    @property
    def named(self) -> str:
        """The model as Inspect names it."""
        first = self.serves[0] if self.serves else "openai-chat"
        if first == "anthropic":
            return f"anthropic/{self.model.name}"
        if first == "gemini":
            return f"google/{self.model.name}"
        # its own client knows which models speak which of the two APIs
        own = self.model.provider == "openai"
        return f"openai/{self.model.name}" if own else f"openai-api/{self.model.id}"

    @property
    def settings(self) -> dict[str, Any]:
        """What Inspect's client is told beside."""
        if self.named.startswith("google/"):
            return {"api_version": "v1beta"}
        # OpenAI's newer API takes no seed
        seeded = self.named.startswith("openai/") and self.model.seed is not None
        return {"responses_api": False} if seeded else {}

    @property
    def base_url(self) -> str:
        """The address as Inspect's client wants it."""
        plain = self.serves and self.serves[0] in ("anthropic", "gemini")
        return self.url if plain else f"{self.url}/v1"


@dataclass(frozen=True)
class Tools:
    """What a model may call.

    Attributes:
        specs: Each with name, description and JSON schema of the arguments.
        call: Answers; raising ends the conversation.
        waits: Whether a tool leaves its work to another process.
    """

    specs: Sequence[Mapping[str, Any]]
    call: Callable[[str, Any], str]
    waits: Callable[[str], bool] = lambda _name: False


@dataclass(frozen=True)
class Said:
    """How a conversation ended.

    Attributes:
        text: The last answer.
        finish: `stop` by itself; `length` cut at the limit of its tokens; `refused` by the
            provider's filter; `overflow` of the context; `turns` at the limit of them; `over` from
            outside; `failed` by an exception.
        turns: Answers of the model.
        failure: What failed.
    """

    text: str = ""
    finish: Finish = "stop"
    turns: int = 0
    failure: Exception | None = None


def require(model: Model, serves: Sequence[str], environment: Mapping[str, str]) -> None:
    """Refuse to begin where a model could not be asked as its study wants it.

    Raises:
        SpecError: The extra is not installed, a setting would not be sent, or a proxy of the
            environment takes what is meant for this machine.
    """
    missing = [name for name, found in versions().items() if not found]
    if missing:
        raise SpecError(
            f"Systems that ask a model need {', '.join(missing)}, which is not installed.",
            remedy=f"Install the extra: {EXTRA}.",
        )
    if model.seed is not None and serves and serves[0] in ("anthropic", "gemini"):
        raise SpecError(
            f"The model `{model.id}` has a `seed`, which is not sent to {model.provider}.",
            remedy="Leave it out: attempts of such a model differ by themselves.",
        )
    proxies = {
        name.lower().removesuffix("_proxy"): value
        for name, value in environment.items()
        if name.lower().endswith("_proxy") and value
    }
    led = [f"{name.upper()}_PROXY" for name in ("http", "all") if name in proxies]
    spared = {each.strip() for each in proxies.get("no", "").split(",")}
    if led and not spared & {"*", "127.0.0.1"}:
        raise SpecError(
            f"{' and '.join(led)} would lead requests to this machine elsewhere, and runs reach "
            "their models by it.",
            remedy="Set NO_PROXY=127.0.0.1,localhost as well.",
        )


@cache
def versions() -> Mapping[str, str]:
    """Of the engine and its clients; empty where one is not installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


def react(
    place: Place, prompt: str, tools: Tools, *, turns: int, over: Callable[[], bool], log: Path
) -> Said:
    """Let a model call tools until it answers without a call.

    The loop is ours: Inspect's own agent runs within an `eval()` alone, of which a process can hold
    one, and what its checks refuse would never come to the door, nor to the trace.

    Args:
        place: Where it is asked.
        prompt: What it is asked.
        tools: What it may call.
        turns: Answers that it may give.
        over: Asked a few times a second; True ends the conversation.
        log: File that Inspect's own log is written to.
    """
    from inspect_ai.model import ChatMessageUser

    talk = _Talk(place, prompt, over, log)

    async def work(client: "Client") -> None:
        offered = [_tool(spec) for spec in tools.specs]
        messages: list[ChatMessage] = [ChatMessageUser(content=prompt)]
        while True:
            output = await client.generate(messages, tools=offered)
            messages.append(output.message)
            talk.keep(messages, output)
            calls = output.message.tool_calls
            if not calls or talk.said.finish in ("refused", "overflow"):
                return
            if talk.said.turns >= turns:
                talk.said = replace(talk.said, finish="turns")
                return
            messages.extend([await talk.called(tools, call) for call in calls])

    return talk.held(work)


def converse(
    place: Place,
    prompt: str,
    reply: Callable[[Said], str | None],
    *,
    shape: Callable[[], Mapping[str, Any] | None] = lambda: None,
    over: Callable[[], bool],
    log: Path,
) -> Said:
    """Ask a model, and go on with what each answer gives rise to.

    Args:
        place: Where it is asked.
        prompt: What it is asked.
        reply: What is said to an answer; None ends the conversation.
        shape: JSON schema that the next answer is to have; None lets it be any text.
        over: Asked a few times a second; True ends the conversation.
        log: File that Inspect's own log is written to.
    """
    from inspect_ai.model import ChatMessageUser, GenerateConfig, ResponseSchema
    from inspect_ai.util import JSONSchema

    talk = _Talk(place, prompt, over, log)

    async def work(client: "Client") -> None:
        messages: list[ChatMessage] = [ChatMessageUser(content=prompt)]
        while True:
            schema = shape()
            config = GenerateConfig()
            if schema is not None:
                given = JSONSchema.model_validate(plain(schema))
                config = GenerateConfig(
                    response_schema=ResponseSchema(name="step", json_schema=given)
                )
            output = await client.generate(messages, config=config)
            messages.append(output.message)
            talk.keep(messages, output)
            if talk.said.finish in ("refused", "overflow"):
                return
            answer = await anyio.to_thread.run_sync(reply, talk.said)
            if answer is None:
                return
            messages.append(ChatMessageUser(content=answer))

    return talk.held(work)


def plain(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema without what some servers cannot build a grammar from."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: plain(each) for name, each in value.items()}
        elif key == "items":
            kept[key] = plain(value)
        elif key == "anyOf":
            kept[key] = [plain(each) for each in value]
        elif key in SHAPE:
            kept[key] = value
    if kept.get("type") == "object":
        kept["additionalProperties"] = False
    return kept


def _tool(spec: Mapping[str, Any]) -> "ToolInfo":
    """A tool as Inspect's clients offer it."""
    from inspect_ai.tool import ToolInfo, ToolParams

    schema = cast("dict[str, Any]", spec["parameters"])
    parameters = {key: schema[key] for key in ("properties", "required") if key in schema}
    return ToolInfo(
        name=spec["name"],
        description=spec["description"],
        parameters=ToolParams.model_validate(parameters),
    )


def _config(place: Place) -> "GenerateConfig":
    """The settings of the study, and none that Inspect would add by itself."""
    from inspect_ai.model import GenerateConfig

    model = place.model
    return GenerateConfig(
        max_retries=RETRIES,
        max_connections=1,  # a run asks one thing at a time
        temperature=model.temperature,
        top_p=model.top_p,
        max_tokens=model.max_tokens,
        seed=None if model.seed is None else model.seed + place.attempt - 1,
        reasoning_effort=model.effort,
        reasoning_summary="none",  # else a request of its own asks whether there may be one
    )


_FINISHES: Mapping[str, Finish] = {
    "max_tokens": "length",
    "content_filter": "refused",
    "model_length": "overflow",
}


@dataclass
class _Talk:
    """One conversation: how far it came, whether it is over, and its log."""

    place: Place
    prompt: str
    over: Callable[[], bool]
    log: Path
    said: Said = field(default_factory=Said)
    messages: list[Any] = field(default_factory=list[Any])
    output: Any = None

    def keep(self, messages: "Sequence[ChatMessage]", output: "ModelOutput") -> None:
        """Take note of an answer."""
        self.messages, self.output = list(messages), output
        finish = "stop" if output.empty else _FINISHES.get(output.stop_reason, "stop")
        self.said = Said(output.completion, finish, self.said.turns + 1)

    async def called(self, tools: Tools, call: "ToolCall") -> "ChatMessageTool":
        """A call with its answer, as the log and the model are told of it."""
        from inspect_ai.event import ToolEvent
        from inspect_ai.log import transcript
        from inspect_ai.model import ChatMessageTool

        # what is no object is refused at the door, on record
        arguments: Any = call.arguments if call.parse_error is None else call.parse_error
        if tools.waits(call.function):
            text = await anyio.to_thread.run_sync(tools.call, call.function, arguments)
        else:
            text = tools.call(call.function, arguments)
        event = ToolEvent(id=call.id, function=call.function, arguments=call.arguments, result=text)
        # there is no public way to tell of a tool
        transcript()._event(event)  # pyright: ignore[reportPrivateUsage]
        return ChatMessageTool(content=text, tool_call_id=call.id, function=call.function)

    def held(self, work: Callable[["Client"], Any]) -> Said:
        """Hold the conversation to its end, and write the log."""
        from inspect_ai.log._transcript import Transcript, init_transcript
        from inspect_ai.model import get_model

        began = datetime.now(UTC)
        transcript = Transcript()

        async def main() -> None:
            init_transcript(transcript)
            client = get_model(
                self.place.named,
                config=_config(self.place),
                base_url=self.place.base_url,
                api_key=self.place.token,
                memoize=False,
                **self.place.settings,
            )
            async with client, anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, tasks.cancel_scope)
                try:
                    await work(client)
                except Exception as error:  # whatever it is, the caller sorts it
                    self.said = replace(self.said, finish="failed", failure=error)
                tasks.cancel_scope.cancel()

        anyio.run(main)
        self._write(list(transcript.events), began)
        return self.said

    async def _watch(self, scope: anyio.CancelScope) -> None:
        while not self.over():
            await anyio.sleep(_LOOK)
        self.said = replace(self.said, finish="over")
        scope.cancel()

    def _write(self, events: list[Any], began: datetime) -> None:
        """Write what `inspect view` shows.

        Raises:
            RunError: The disk refused it.
        """
        from inspect_ai.log import (
            EvalConfig,
            EvalDataset,
            EvalError,
            EvalLog,
            EvalSample,
            EvalSpec,
            EvalStats,
            write_eval_log,
        )

        ended = datetime.now(UTC)
        sample = EvalSample(
            id=1,
            epoch=self.place.attempt,
            input=self.prompt,
            target="",
            messages=self.messages,
            events=events,
            **({} if self.output is None else {"output": self.output}),
        )
        failure = self.said.failure
        log = EvalLog(
            status="error" if failure else "success",
            eval=EvalSpec(
                created=began.isoformat(),
                task="chartproof",
                dataset=EvalDataset(samples=1, sample_ids=[1]),
                model=self.place.model.id,
                model_base_url=self.place.told or None,
                model_generate_config=_config(self.place),
                config=EvalConfig(epochs=1),
                packages=dict(versions()),
            ),
            stats=EvalStats(started_at=began.isoformat(), completed_at=ended.isoformat()),
            error=(
                EvalError(message=str(failure), traceback="", traceback_ansi="")
                if failure
                else None
            ),
            samples=[sample],
        )
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            write_eval_log(log, str(self.log), format="eval")
        except OSError as error:
            raise RunError(
                f"Inspect's log {self.log.name} could not be written: {error.strerror or error}.",
                remedy=mend(error, "run again"),
            ) from error
