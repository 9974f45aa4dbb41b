"""What is to be known of an agent's program: how it is started, and how its events are read."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from chartproof.errors import SpecError
from chartproof.records.system import CliSystem, Effort
from chartproof.runs.agents.confined import MODEL_PORT, TOOLS_PORT, Start
from chartproof.runs.agents.installed import Installed
from chartproof.tools.endpoint import PATH
from chartproof.tools.interpreter import Interpreter

SERVER = "chart"
"""What programs call the server of our tools."""
DUMMY = "no-key"
"""What programs are given in the place of a key."""
SECONDS = 600
"""That a program waits for a tool, or for a model."""


@dataclass(frozen=True)
class Ways:
    """Where a program finds a model and the tools within its jail.

    Attributes:
        model: Path of the run's model below the port's address.
        token: Of the tools.
        tools: Their names.
        model_port, tools_port: Where both are.
    """

    model: str
    token: str
    tools: Sequence[str] = ()
    model_port: int = MODEL_PORT
    tools_port: int = TOOLS_PORT

    @property
    def model_url(self) -> str:
        """Where the model is, without a slash at its end."""
        return f"http://127.0.0.1:{self.model_port}{self.model}"

    @property
    def tools_url(self) -> str:
        """Where the tools are."""
        return f"http://127.0.0.1:{self.tools_port}{PATH}"

    @property
    def headers(self) -> dict[str, str]:
        """What requests to the tools bear."""
        return {"Authorization": f"Bearer {self.token}"}


@dataclass
class Claims:
    """What a program says of its own run: a cross-check, and nothing that is scored.

    Attributes:
        model: That it says it used.
        tools: That it says it was offered; None where it does not say.
        calls: Calls of our tools.
        turns: Answers of the model.
        tokens_in: Cached ones included, as far as it says so.
    """

    model: str | None = None
    tools: list[str] | None = None
    calls: int = 0
    turns: int | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    complaints: list[str] = field(default_factory=list[str])

    def complain(self, text: str) -> None:
        """Take note of what the program says went wrong."""
        short = " ".join(text.split())[:300]
        if short and short not in self.complaints and len(self.complaints) < 20:
            self.complaints.append(short)

    def told(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


class Reading(ABC):
    """Reads the events of one run as they come.

    Attributes:
        claims: What they say.
        report: The final text; None as long as there is none.
        ready: Whether the program says that it reached the tools; None where it does not say.
    """

    def __init__(self) -> None:
        self.claims = Claims()
        self.report: str | None = None
        self.ready: bool | None = None

    def line(self, raw: bytes) -> None:
        """Take one line. What is no event, as a warning that slipped in, is passed over."""
        try:
            event = json.loads(raw)
        except (ValueError, RecursionError):
            return
        if isinstance(event, dict):
            self.take(cast("dict[str, Any]", event))

    @abstractmethod
    def take(self, event: dict[str, Any]) -> None:
        """Take one event."""


@dataclass(frozen=True)
class Launch:
    """A run that is about to be started.

    Attributes:
        entry: The system as the study has it.
        here: Its program.
        ways: Where model and tools are.
        prompt: What it is asked.
        given: What `prepare` made.
    """

    entry: CliSystem
    here: Installed
    ways: Ways
    prompt: str
    given: Mapping[str, str] = field(default_factory=dict[str, str])


class Harness(ABC):
    """One kind of program.

    Attributes:
        efforts: That it can be asked for.
        settings: Of a model's settings beside effort, those that it can be asked for.
    """

    efforts: Sequence[Effort] = ()
    settings: Sequence[str] = ()

    def prepare(
        self,
        entry: CliSystem,  # noqa: ARG002  most need nothing
        here: Installed,  # noqa: ARG002
        python: Interpreter,  # noqa: ARG002
        cache: Path,  # noqa: ARG002
    ) -> dict[str, str]:
        """Files that every run of a system needs, made once in a process: path within → text."""
        return {}

    @abstractmethod
    def start(self, launch: Launch) -> Start:
        """How a run is started."""

    @abstractmethod
    def reading(self) -> Reading:
        """A reader of the events of one run."""


def refuse_settings(entry: CliSystem, harness: Harness) -> None:
    """Refuse what a program cannot be asked for, before anything is run.

    Raises:
        SpecError: The study asks for it.
    """
    model = entry.model
    if model.effort is not None and model.effort not in harness.efforts:
        raise SpecError(
            f"The system `{entry.name}`: {entry.kind} knows no effort `{model.effort}`.",
            remedy=f"Choose from {', '.join(harness.efforts)}, or name none.",
        )
    for name in ("temperature", "top_p", "seed", "max_tokens"):
        if getattr(model, name) is not None and name not in harness.settings:
            raise SpecError(
                f"The system `{entry.name}`: {entry.kind} cannot be asked for `{name}`.",
                remedy="Leave it out: the program decides it.",
            )


def number(value: object) -> int | None:
    """A count of an event; None where it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def added(a: int | None, b: int | None) -> int | None:
    """Two counts together; None where neither is known."""
    return a if b is None else b if a is None else a + b


def inner(event: dict[str, Any], *names: str) -> dict[str, Any]:
    """An object within an event; empty where there is none."""
    found: Any = event
    for name in names:
        found = cast("dict[str, Any]", found).get(name) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def listed(value: object) -> list[dict[str, Any]]:
    """The objects of a list in an event."""
    if not isinstance(value, list):
        return []
    return [cast("dict[str, Any]", each) for each in value if isinstance(each, dict)]


def text(value: object) -> str:
    """A text of an event; empty where it is none."""
    return value if isinstance(value, str) else ""
