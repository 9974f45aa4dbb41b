"""The one door between an agent and a chart: look up, check, answer, record."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from pydantic import ValidationError

from chartproof.chart.chart import Chart
from chartproof.errors import RunError, ToolRefusal
from chartproof.records.policy import Policy
from chartproof.records.trace import Answer, Called, Row
from chartproof.tools import offered, render
from chartproof.tools.belonging import Belonging
from chartproof.tools.corpus import Corpus
from chartproof.tools.python import Shell, ShellDoor
from chartproof.tools.sql import WHOLE, SqlDoor
from chartproof.tools.tool import Request, Tool
from chartproof.tools.trace import Recorder

OVERSIZE = 65_536
"""Characters of arguments, as JSON, that a call may have."""
DEEPEST = 20
"""Lists and objects within each other that arguments may have; no tool needs more than two."""
SHORTENED = "…"
"""Stands in the trace where arguments were left out, and names those that were shortened."""
NO_OBJECT = "The arguments are not an object."
OUTLINE = (2, 10, 200)
"""What the trace keeps of refused arguments: levels, entries of each, characters of a text."""
Clock = Callable[[], float]


def specs(*, shell: bool = False, policies: bool = True) -> list[dict[str, Any]]:
    """Every tool with its description and the JSON schema of its arguments."""
    return [tool.spec() for tool in offered(shell=shell, policies=policies)]


class Door(ABC):
    """Answers the calls of one run, numbers them, and records each.

    Args:
        record: Takes each `Called` event, before the agent sees its answer.
        clock: Seconds, for the time a call took; None leaves times out, so that a trace is
            reproducible byte for byte.
    """

    def __init__(self, record: Recorder, clock: Clock | None) -> None:
        self._record = record
        self._clock = clock
        self._calls = 0
        self._closed = False

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer one call with text that begins with its number. A refusal is an answer too.

        Raises:
            RunError: A tool failed inside, or the event could not be recorded: the run ends as
                `infrastructure` and is never scored. Or the door was closed, before or meanwhile.
        """
        if self._closed:
            raise _closed()
        self._calls += 1
        since = self._clock() if self._clock else None
        tool = render.sound(name[:100]) if isinstance(cast("object", name), str) else "–"
        kept: dict[str, Any] = {}
        try:
            kept = _outline(arguments)
            kept = _kept(arguments)
            answer = self._answer(tool, kept)
            refused = False
        except ToolRefusal as refusal:
            answer = Answer(text=render.refusal(self._calls, tool, refusal.what, refusal.remedy))
            refused = True
        except RunError:
            raise
        except Exception as error:
            raise RunError(
                f"infrastructure: the tool `{tool}` failed inside: "
                f"{type(error).__name__}: {str(error).splitlines()[:1]}.",
                remedy="Report the call; the run is repeated, never scored.",
            ) from error
        if self._closed:  # what was cut off is no answer
            raise _closed()
        called = Called(
            call=self._calls,
            tool=tool,
            arguments=kept,
            answer=answer,
            digest=hashlib.sha256(answer.text.encode()).hexdigest(),
            refused=refused,
            milliseconds=(
                round((self._clock() - since) * 1000, 3)
                if self._clock is not None and since is not None
                else None
            ),
        )
        self._record(called)
        self._done(called)
        return answer.text

    @abstractmethod
    def specs(self) -> list[dict[str, Any]]:
        """Every tool with its description and the JSON schema of its arguments."""

    def waits(self, name: str) -> bool:  # noqa: ARG002  of most doors none does
        """Whether a tool leaves its work to another process, and may take seconds."""
        return False

    def close(self) -> None:
        """Answer no more calls; from any thread."""
        self._closed = True

    @abstractmethod
    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        """The answer to one call."""

    def _done(self, called: Called) -> None:  # noqa: B027  most doors need not
        """Take note of a call that was recorded."""


def asked(tool: Tool, arguments: Mapping[str, Any]) -> Request:
    """The arguments of a call as its tool reads them.

    Raises:
        ToolRefusal: They do not fit.
    """
    try:
        return tool.request.model_validate(arguments)
    except ValidationError as error:
        raise _refusal(tool, error) from error


class Gateway(Door):
    """The door to one chart.

    Args:
        chart: The sealed chart.
        policies: The corpus that the policy tools serve, by id.
        record: See `Door`.
        clock: See `Door`.
        shell: Runs programs of the agent; None offers no such tool.
        files: Folder that keeps what they leave, each under its digest; None keeps none.
        corpus: Whether the tools that read the corpus are offered.
    """

    def __init__(
        self,
        chart: Chart,
        policies: Mapping[str, Policy],
        record: Recorder,
        clock: Clock | None = perf_counter,
        *,
        shell: Shell | None = None,
        files: Path | None = None,
        corpus: bool = True,
    ) -> None:
        super().__init__(record, clock)
        on_offer = offered(shell=shell is not None, policies=corpus)
        self._tools = {tool.name: tool for tool in on_offer}
        self._shell = ShellDoor(shell, files) if shell else None
        self._sources: dict[str, Any] = {
            "chart": chart,
            "corpus": Corpus(policies),
            "sql": SqlDoor(chart),
            "shell": self._shell,
        }
        self._belonging = Belonging(chart)
        self._read: dict[str, dict[int, int]] = {}

    def specs(self) -> list[dict[str, Any]]:
        """Every tool with its description and the JSON schema of its arguments."""
        return [tool.spec() for tool in self._tools.values()]

    def _done(self, called: Called) -> None:
        if self._shell is not None:
            self._shell.done[called.call] = called

    def waits(self, name: str) -> bool:
        """Whether a tool leaves its work to another process, and may take seconds."""
        tool = self._tools.get(name)
        return tool is not None and tool.reads in ("sql", "shell")

    def close(self) -> None:
        """Answer no more calls, and end the processes behind them; from any thread.

        A call in flight ends unanswered and leaves no event.
        """
        super().close()
        self._sources["sql"].close()
        if self._shell is not None:
            self._shell.close()

    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:
        tool = self._tools.get(name)
        if tool is None:
            raise ToolRefusal(
                f"There is no tool `{name}`.", remedy=f"Use one of: {', '.join(self._tools)}."
            )
        request = asked(tool, arguments)
        self._belonging.check(request)
        answer = self._paged(tool, arguments, tool.answer(self._sources[tool.reads], request))
        if tool.reads in ("sql", "shell"):
            answer = answer.model_copy(update={"rows": self._numbered(answer.rows)})
        return answer.model_copy(update={"text": tool.text(self._calls, name, answer)})

    def _numbered(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        """Rows that are none of the chart are cited by this call."""
        return tuple(
            Row(ref=f"call:{self._calls}", cells=row.cells) if row.ref == WHOLE else row
            for row in rows
        )

    def _paged(self, tool: Tool, arguments: dict[str, Any], answer: Answer) -> Answer:
        """Call a last page complete once this run has read all the others of the same query."""
        scope = answer.scope
        if scope.pages == 1:
            return answer
        query = json.dumps(
            [tool.name, {k: v for k, v in arguments.items() if k != "page"}], sort_keys=True
        )
        read = self._read.setdefault(query, {})
        read[scope.page] = self._calls
        if len(read) < scope.pages:
            return answer
        others = ", ".join(str(call) for page, call in sorted(read.items()) if page != scope.page)
        return answer.model_copy(
            update={
                "scope": scope.model_copy(update={"complete": True}),
                "notes": (*answer.notes, f"with calls {others} every row in scope was shown"),
            }
        )


def _closed() -> RunError:
    return RunError("The run was closed.", remedy="Start a run to call tools again.")


def _kept(arguments: object) -> dict[str, Any]:
    """The arguments as the trace can keep them."""
    if not isinstance(arguments, Mapping):
        raise ToolRefusal(NO_OBJECT, remedy='Give names and values: {"page": 1}.')
    _bounded(cast("Mapping[Any, Any]", arguments))
    try:
        kept = render.plain(cast("Mapping[str, Any]", arguments))
        size = len(json.dumps(kept, ensure_ascii=False))
    except (RecursionError, ValueError) as error:
        raise ToolRefusal(
            "The arguments cannot be written as JSON.", remedy="Use plain texts and numbers."
        ) from error
    if size > OVERSIZE:
        raise _too_long()
    return kept


def _bounded(arguments: Mapping[Any, Any]) -> None:
    """Refuse what is too deep or too long, before anything walks it by recursion."""
    left = OVERSIZE
    waiting: list[tuple[object, int]] = [(arguments, 1)]
    while waiting:
        value, depth = waiting.pop()
        inner: list[Any] = []
        if isinstance(value, str | bytes | bytearray):
            left -= len(value)
        elif isinstance(value, Mapping):
            pairs = cast("Mapping[Any, Any]", value)
            left -= sum(len(key) for key in pairs if isinstance(key, str)) + len(pairs)
            inner = list(pairs.values())
        elif isinstance(value, Sequence):
            inner = list(cast("Sequence[Any]", value))
            left -= len(inner)
        if left < 0:
            raise _too_long()
        if inner and depth > DEEPEST:
            raise ToolRefusal(
                f"The arguments are nested too deeply; at most {DEEPEST} levels are read.",
                remedy="Flatten them.",
            )
        waiting += [(each, depth + 1) for each in inner]


def _too_long() -> ToolRefusal:
    return ToolRefusal(
        f"The arguments take too many characters; at most {OVERSIZE:,} are read.",
        remedy="Ask for less at once.",
    )


def _outline(arguments: object) -> dict[str, Any]:
    """Arguments shortened so that any can be recorded, under a name that no tool has."""
    if not isinstance(arguments, Mapping):
        return {}
    return {SHORTENED: _short(cast("Mapping[Any, Any]", arguments), OUTLINE[0])}


def _short(value: object, levels: int) -> Any:  # noqa: PLR0911  one return a type
    _, most, longest = OUTLINE
    if isinstance(value, str):
        return render.sound(value[:longest]) + (SHORTENED if len(value) > longest else "")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= 64:
        return value
    if isinstance(value, float):
        return render.plain(value)
    if levels and isinstance(value, Mapping):
        pairs = cast("Mapping[Any, Any]", value)
        short = {
            render.sound(key[:longest]): _short(each, levels - 1)
            for key, each in islice(pairs.items(), most)
            if isinstance(key, str)
        }
        return short if len(short) == len(pairs) else {**short, SHORTENED: SHORTENED}
    if levels and isinstance(value, list | tuple):
        entries = cast("Sequence[Any]", value)
        cut = [SHORTENED] if len(entries) > most else []
        return [_short(each, levels - 1) for each in entries[:most]] + cut
    return SHORTENED


def _refusal(tool: Tool, error: ValidationError) -> ToolRefusal:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "arguments"
    names = ", ".join(tool.request.model_fields) or "none"
    if first["type"] == "extra_forbidden":
        return ToolRefusal(
            f"`{tool.name}` has no argument `{render.sound(where)[:100]}`.",
            remedy=f"Its arguments are: {names}.",
        )
    if first["type"] == "missing":
        return ToolRefusal(f"`{tool.name}` needs `{where}`.", remedy=f"Its arguments are: {names}.")
    problem = first["msg"].removeprefix("Value error, ").lower()
    return ToolRefusal(
        f"`{render.sound(where)[:100]}`: {problem}.", remedy="Correct the argument and call again."
    )
