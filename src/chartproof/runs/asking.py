"""One run of a system that asks its model through Inspect: its line, its log, its end."""

import os
from contextlib import ExitStack
from typing import Generic, Self, TypeVar

from chartproof.errors import RunError
from chartproof.models.inspect import Place, Said, require, versions
from chartproof.models.providers import providers
from chartproof.records.price import ProtocolName
from chartproof.records.system import Model, ReactSystem, SingleShotSystem
from chartproof.records.trace import digest
from chartproof.runs.access import Access
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure, Interrupted
from chartproof.tools.endpoint import Tcp

LOGS = "inspect"
"""Folder of a cell, beside the trace: `inspect view --log-dir` shows what is in it."""


class Asking:
    """A line to a system's model for one errand.

    ```python
    with Asking(entry.model, means, errand) as asking:
        said = ...  # at asking.place, as long as not asking.over()
        return asking.report(said)
    ```

    Raises:
        SpecError: The model may not be asked, or cannot.
        Spent: The budget of the study is used up.
    """

    def __init__(self, model: Model, means: Means, errand: Errand) -> None:
        self._errand = errand
        self._access = Access(model, means)
        self._stack = ExitStack()
        self._deadline = errand.clock() + errand.budget.seconds
        self._stopped = False
        self._late = False

    def __enter__(self) -> Self:
        """Open the line."""
        access, errand = self._access, self._errand
        proxy, line = self._stack.enter_context(access.proxied(errand, os.environ, Tcp()))
        self._line = line
        self.place = Place(
            model=access.model,
            url=proxy.origin + line.path,
            token=line.token,
            serves=protocols(access.model),
            attempt=errand.attempt,
            told=str(line.destination),
        )
        logs = errand.folder / LOGS
        self.log = logs / f"{len(list(logs.glob('*.eval'))) + 1}.eval"
        return self

    def __exit__(self, *_: object) -> None:
        """Close it; nothing of the run is in flight after that."""
        self._stack.close()

    def over(self) -> bool:
        """Whether somebody stopped the run, or its time is over."""
        self._stopped = self._stopped or self._errand.stopped()
        self._late = self._late or self._errand.clock() >= self._deadline
        return self._stopped or self._late

    def report(self, said: Said, *, turns: int | None = None) -> str:
        """The report, if the conversation came to one.

        Args:
            said: How it ended.
            turns: Answers that the model could give.

        Raises:
            AgentFailure: It did not, for a reason that lies with the system.
            Interrupted: Somebody stopped it.
            ChartproofError: It did not, for another reason.
        """
        if self._stopped:
            raise Interrupted
        if isinstance(said.failure, RunError):
            raise said.failure
        ended = said.finish in ("stop", "length")
        self._line.conclude(reported=ended)
        if said.finish == "over":
            raise AgentFailure("The time limit was reached.")
        if said.failure is not None:
            why = " ".join(str(said.failure).split())[:300]
            raise RunError(
                f"infrastructure: the model {self._access.model.id} could not be asked: "
                f"{type(said.failure).__name__}: {why}.",
                remedy="Mend its settings in the study, or run again.",
            ) from said.failure
        if said.finish == "turns":
            raise AgentFailure(f"The limit of {turns or said.turns} turns was reached.")
        if said.finish == "overflow":
            raise AgentFailure("The conversation grew beyond what the model can read.")
        if not said.text.strip():
            refused = "The model refused to answer." if said.finish == "refused" else ""
            raise AgentFailure(refused or "The model ended without a report.")
        return said.text


def protocols(model: Model) -> tuple[ProtocolName, ...]:
    """What its provider speaks; empty where that is nobody's known."""
    known = providers().get(model.provider)
    return known.serves if known else ()


EntryT = TypeVar("EntryT", ReactSystem, SingleShotSystem)


class Asker(Generic[EntryT]):
    """What the systems have in common that ask their model through Inspect.

    Args:
        entry: As the study has it.
        means: What it is run with.

    Raises:
        SpecError: What it needs is not installed.
    """

    def __init__(self, entry: EntryT, means: Means) -> None:
        require(entry.model, protocols(entry.model), os.environ)
        self.name = entry.name
        self._entry = entry
        self._means = means

    def digest(self) -> str:
        """Of its settings, and of the engine that asks."""
        entry = self._entry.model_dump(mode="json")
        return digest({"entry": entry, "engine": dict(versions())})
