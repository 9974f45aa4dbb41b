"""Systems that are agents' command line programs, unmodified, each run in a jail of its own."""

import json
import os
from functools import cached_property
from typing import Any

from chartproof.errors import RunError, SpecError
from chartproof.records.system import CliSystem
from chartproof.records.trace import digest
from chartproof.runs.access import Access
from chartproof.runs.agents.claude_code import ClaudeCode
from chartproof.runs.agents.codex import Codex
from chartproof.runs.agents.confined import Ended, Watch, attend, confined, jail_of
from chartproof.runs.agents.doors import Doors, opened
from chartproof.runs.agents.gemini_cli import GeminiCli
from chartproof.runs.agents.harness import Harness, Launch, Reading, refuse_settings
from chartproof.runs.agents.installed import OLDEST_NODE, Installed, needed, node_version
from chartproof.runs.agents.offered import offered
from chartproof.runs.agents.opencode import OpenCode
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure
from chartproof.tools.interpreter import Interpreter

HARNESSES: dict[str, Harness] = {
    "claude_code": ClaudeCode(),
    "codex": Codex(),
    "gemini_cli": GeminiCli(),
    "opencode": OpenCode(),
}
FOLDER = "agent"
"""In a cell: what the program said, and what it claims of its run."""
CLAIMS = "claims.json"


def make(entry: CliSystem, means: Means) -> "Cli":
    """The system that a study describes.

    Raises:
        SpecError: Its program is not here, or cannot be asked for what the study wants.
        RunError: No jail can be made here.
    """
    harness = HARNESSES[entry.kind]
    refuse_settings(entry, harness)
    python = means.confinement.python
    if python is None:
        raise RunError(
            f"The system `{entry.name}` runs in a jail only: {means.confinement.told}",
            remedy="`chartproof systems doctor` tells what is missing.",
        )
    here = needed(entry.kind, means.cache, os.environ.get("PATH", ""), entry.version)
    if here.folder is not None and (node_version(here.program) or 0) < OLDEST_NODE:
        raise SpecError(
            f"{entry.kind} needs Node.js {OLDEST_NODE} or newer, and {here.program} is older.",
            remedy="Put a newer `node` on the PATH.",
        )
    return Cli(entry, here, harness, python, means)


class Cli:
    """A command line program.

    Args:
        entry: As the study has it.
        here: The program.
        harness: Knows how it is started and read.
        python: Of the jail.
        means: Of the study.
    """

    def __init__(
        self,
        entry: CliSystem,
        here: Installed,
        harness: Harness,
        python: Interpreter,
        means: Means,
    ) -> None:
        self.name = entry.name
        self.jail = means.confinement.told
        self._entry, self._here, self._harness = entry, here, harness
        self._python, self._means = python, means
        self._access = Access(entry.model, means)

    def digest(self) -> str:
        """Of how it is asked, and of the program."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        asked = self._entry.model_dump(mode="json", exclude={"name", "version"})
        about = self._here.program.stat()
        told = [self._here.version, about.st_size] if self._here.folder is None else None
        return digest([asked, told or self._here.version, self._given])

    @cached_property
    def _given(self) -> dict[str, str]:
        return self._harness.prepare(self._entry, self._here, self._python, self._means.cache)

    @cached_property
    def _shared(self) -> dict[str, Any]:
        return self._here.shared(self._means.cache)

    def answer(self, errand: Errand) -> str:
        """Start the program and serve it until it ends.

        Raises:
            AgentFailure: It ended without a report, or reached a limit.
            ChartproofError: The model could not be reached, or the tools never reached it.
            Interrupted: The errand was stopped.
        """
        until = errand.clock() + errand.budget.seconds
        reading = self._harness.reading()
        with opened(errand, access=self._access, turns=self._entry.turns) as doors:
            try:
                ended = self._run(errand, doors, reading, until)
            except BaseException as error:
                self._keep(errand, doors, reading, None)
                if isinstance(error, AgentFailure) and doors.line is not None:
                    # time that went by while the provider failed is not the agent's
                    doors.line.conclude(reported=False)
                raise
            self._keep(errand, doors, reading, ended.status)
        return self._report(errand, doors, reading, ended)

    def _run(self, errand: Errand, doors: Doors, reading: Reading, until: float) -> Ended:
        start = self._harness.start(
            Launch(self._entry, self._here, doors.ways, errand.prompt, self._given)
        )
        jail = jail_of(
            self._python,
            start,
            shared=self._shared,
            sockets=doors.sockets,
            seconds=errand.budget.seconds,
        )

        def broken() -> Exception | None:
            return unready(self._entry) if reading.ready is False else doors.broken()

        watch = Watch(until, errand.clock, errand.stopped, broken)
        with confined(self._python, jail) as started:
            return attend(started, watch, errand.folder / FOLDER, reading.line)

    def _keep(self, errand: Errand, doors: Doors, reading: Reading, status: int | None) -> None:
        """Write down what the program claims beside what was counted here."""
        assert doors.line is not None
        assert doors.door is not None
        usage = doors.line.usage
        told = {
            "schema": 1,
            "program": self._entry.kind,
            "version": self._here.version,
            "status": status,
            "claimed": reading.claims.told(),
            "counted": {"calls": doors.door.made, **usage.model_dump()},
        }
        folder = errand.folder / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            (folder / CLAIMS).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise RunError(
                f"What the agent claims could not be kept in {folder}: {error.strerror}.",
                remedy="Free disk space and run again.",
            ) from error

    def _report(self, errand: Errand, doors: Doors, reading: Reading, ended: Ended) -> str:
        """The report, if there is one that counts."""
        assert doors.line is not None
        assert doors.door is not None
        doors.line.conclude(reported=reading.report is not None)
        reason = doors.broken()
        if reason is not None:
            raise reason
        seen = offered(errand.folder, doors.ways.tools)
        # as deployed, the program may let the model look for tools first
        if doors.door.made == 0 and (seen is None or not (seen or self._entry.as_deployed)):
            raise unready(self._entry, _said(reading, ended))
        if reading.report is None:
            said = _said(reading, ended)
            raise AgentFailure(f"The agent ended with status {ended.status} and no report: {said}")
        return reading.report


def unready(entry: CliSystem, said: str = "") -> RunError:
    """What is said of a run whose tools did not reach the program."""
    return RunError(
        f"The tools never reached `{entry.name}` ({entry.kind}){f': {said}' if said else ''}.",
        remedy="Run the study again; if it stays so, see `chartproof systems doctor`.",
    )


def _said(reading: Reading, ended: Ended) -> str:
    return "; ".join(reading.claims.complaints[-3:]) or ended.said or "it said nothing"
