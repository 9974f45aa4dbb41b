"""Systems that are any program: one that speaks MCP, or one that reads a prompt and reports.

The prompt stands on its standard input and in a file; what it prints is its report.
"""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath

from chartproof.errors import RunError, SpecError
from chartproof.records.cell import UNGOVERNED
from chartproof.records.system import CommandSystem
from chartproof.records.trace import digest
from chartproof.runs.access import Access
from chartproof.runs.agents.confined import (
    HOME,
    KEPT,
    Ended,
    Start,
    Watch,
    attend,
    confined,
    jail_of,
)
from chartproof.runs.agents.doors import Doors, opened
from chartproof.runs.agents.harness import SERVER
from chartproof.runs.agents.host import PACKAGE, PARTS, Host, host, shows
from chartproof.runs.agents.reach import reachable, standing
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.process import AgentFailure
from chartproof.tools.interpreter import Interpreter

FOLDER = "agent"
PROMPT, MCP, MODEL = "{prompt}", "{mcp}", "{model}"
"""What stands in a command for the file of the prompt, the file that tells the MCP server, and the
address of the model."""
LONGEST = 4_000_000
"""Bytes of a report. More than this is a runaway."""
_NO_JAIL = UNGOVERNED + "the study runs it without a jail"


def make(entry: CommandSystem, means: Means) -> "Command":
    """The system that a study describes.

    Raises:
        SpecError: What it would read in the jail is not there, or tells the answers; or it shall
            run without a jail on credentialed data.
        RunError: No jail can be made here.
    """
    if not entry.jail:
        if means.tier == "credentialed":
            raise SpecError(
                f"The system `{entry.name}` has `jail: false`, and the data are credentialed: "
                "nobody could tell where such a program sends them.",
                remedy="Let it run in its jail.",
            )
        return Command(entry, means, None)
    python = means.confinement.python
    if python is None:
        raise RunError(
            f"The system `{entry.name}` runs in a jail: {means.confinement.told}",
            remedy="Mend it, or write `jail: false`: every table will call the system ungoverned.",
        )
    _check_shares(entry, means)
    return Command(entry, means, python)


def _check_shares(entry: CommandSystem, means: Means) -> None:
    for each in entry.shares:
        place = Path(each)
        if not PurePosixPath(each).is_absolute() or not place.exists():
            raise SpecError(
                f"The system `{entry.name}`: `shares` names {each}, which is no absolute path of "
                "something that is there.",
                remedy="Write the whole path of a folder that the program reads.",
            )
        for secret in (PACKAGE, means.home):
            if shows(place, secret):
                raise SpecError(
                    f"The system `{entry.name}` cannot be given {each}: with {secret} it would "
                    "read what decides its cases.",
                    remedy="Move the program to a folder of its own, and share that.",
                )
    program = PurePosixPath(entry.command[0])
    known = (*PARTS, *entry.shares)
    if program.is_absolute() and not any(program.is_relative_to(each) for each in known):
        raise SpecError(
            f"The system `{entry.name}`: {program} is not in its jail.",
            remedy="Name its folder under `shares`.",
        )


class Command:
    """A program.

    Args:
        entry: As the study has it.
        means: Of the study.
        python: Of its jail; None runs it without one.
    """

    def __init__(self, entry: CommandSystem, means: Means, python: Interpreter | None) -> None:
        self.name = entry.name
        self.jail = means.confinement.told if python else _NO_JAIL
        self._entry, self._means, self._python = entry, means, python
        self._access = Access(entry.model, means) if entry.model else None

    def digest(self) -> str:
        """Of how it is started, and of what is told of the files that it shares."""
        return digest([self._entry.model_dump(mode="json", exclude={"name"}), self._read])

    @cached_property
    def _read(self) -> list[tuple[str, int, int]]:
        """Each shared file with its size and time: whether it is still the same program."""
        return [told for each in self._entry.shares for told in standing(Path(each))]

    @cached_property
    def _shared(self) -> dict[str, Path]:
        return {each: reachable(Path(each), self._means.cache) for each in self._entry.shares}

    @cached_property
    def _host(self) -> Host:
        return host((self._means.home,))

    def answer(self, errand: Errand) -> str:
        """Start the program and serve it until it ends.

        Raises:
            AgentFailure: It ended without a report, or reached a limit.
            ChartproofError: Its model could not be reached.
            Interrupted: The errand was stopped.
        """
        until = errand.clock() + errand.budget.seconds
        with opened(
            errand,
            access=self._access,
            turns=self._entry.turns,
            tools=self._entry.speaks == "mcp",
            jailed=self._python is not None,
        ) as doors:
            watch = Watch(until, errand.clock, errand.stopped, doors.broken)
            ended = (
                self._unconfined(errand, doors, watch)
                if self._python is None
                else self._confined(self._python, errand, doors, watch)
            )
        said = (errand.folder / FOLDER / "stdout.txt").read_bytes()
        report = said.decode("utf-8", "replace").strip() if ended.status == 0 else ""
        if doors.line is not None:
            doors.line.conclude(reported=bool(report))
        reason = doors.broken()
        if reason is not None:
            raise reason
        if not report:
            raise AgentFailure(
                f"The program ended with status {ended.status} and no report: "
                f"{ended.said or 'it complained of nothing'}"
            )
        if len(said) > min(LONGEST, KEPT):
            raise AgentFailure(f"The program printed more than {LONGEST:,} bytes.")
        return report

    def _start(self, prompt: str, doors: Doors, home: str) -> Start:
        files = {PROMPT: f"{home}/prompt.md", MCP: f"{home}/mcp.json"}
        server = {"type": "http", "url": doors.ways.tools_url, "headers": doors.ways.headers}
        texts = {PROMPT: prompt, MCP: json.dumps({"mcpServers": {SERVER: server}})}
        told = {**files, MODEL: doors.ways.model_url}

        def filled(text: str) -> str:
            for mark, value in told.items():
                text = text.replace(mark, value)
            return text

        return Start(
            [filled(each) for each in self._entry.command],
            {files[mark]: text for mark, text in texts.items()},
            {name: filled(value) for name, value in self._entry.environment.items()},
            stdin=prompt,
        )

    def _confined(self, python: Interpreter, errand: Errand, doors: Doors, watch: Watch) -> Ended:
        jail = jail_of(
            python,
            self._start(errand.prompt, doors, HOME),
            shared=self._shared,
            sockets=doors.sockets,
            seconds=errand.budget.seconds,
            host=self._host,
        )
        with confined(python, jail) as started:
            return attend(started, watch, errand.folder / FOLDER, lambda _line: None)

    def _unconfined(self, errand: Errand, doors: Doors, watch: Watch) -> Ended:
        with tempfile.TemporaryDirectory(prefix="agent-") as home:
            start = self._start(errand.prompt, doors, home)
            for path, text in start.files.items():
                Path(path).write_text(text, encoding="utf-8", errors="replace")
            kept = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
            environment = {"LANG": "C.UTF-8", **kept, **start.environment}
            with _process(start, environment, Path(home)) as process:
                return attend(process, watch, errand.folder / FOLDER, lambda _line: None)


@contextmanager
def _process(
    start: Start, environment: Mapping[str, str], folder: Path
) -> Generator[subprocess.Popen[bytes]]:
    """A program without a jail; at the end its whole process group goes."""
    with (folder / "prompt.md").open("rb") as prompt:
        try:
            process = subprocess.Popen(
                list(start.command),
                stdin=prompt,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd=folder,
                start_new_session=True,
            )
        except OSError as error:
            raise RunError(
                f"`{start.command[0]}` could not be started: {error.strerror}.",
                remedy="Write the whole path of the program.",
            ) from error
    try:
        yield process
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
