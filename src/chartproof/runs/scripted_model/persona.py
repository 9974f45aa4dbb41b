"""Scripted systems that answer from a history, each in a process apart.

Their sources are copied out of the package and started as an isolated interpreter, as those of a
study are; there each answer is worked out by a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from chartproof.errors import RunError, SpecError
from chartproof.oncology.knowledge import knowledge
from chartproof.runs.scripted_model.conversation import Exchange
from chartproof.runs.scripted_model.naming import called
from chartproof.runs.systems import AUDITOR, BOARD_SYSTEMS, SCRIPTED, Program, boards

START = "replay.py"
_FLAGS = ("-I", "-S", "-X", "utf8")


@dataclass(frozen=True)
class Next:
    """What a scripted system says next: a call, or its report."""

    report: str | None
    tool: str = ""
    arguments: Mapping[str, Any] | None = None


class Puzzled(RunError):  # noqa: N818  what was asked is at fault
    """A scripted system can make nothing of what it was asked."""


class Personas:
    """All scripted systems, started when they are first asked.

    ```python
    with Personas() as personas:
        personas.next("careful", prompt, ["labs"], [])
    ```
    """

    names = (*AUDITOR.systems, *BOARD_SYSTEMS)
    """Of all of them."""

    def __init__(self) -> None:
        self._workers: dict[str, _Worker] = {}
        self._starting = threading.Lock()

    def __enter__(self) -> "Personas":
        """Nothing is started yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for worker in self._workers.values():
            worker.close()
        self._workers.clear()

    def check(self, name: str) -> None:
        """Refuse a name that is none.

        Raises:
            SpecError: There is no such system.
        """
        if name not in self.names:
            raise SpecError(
                f"There is no scripted system `{name}`.",
                remedy=f"Choose from {', '.join(self.names)}.",
            )

    def next(
        self, name: str, prompt: str, tools: Sequence[str], exchanges: Sequence[Exchange]
    ) -> Next:
        """What a system says next.

        Args:
            name: Of the system.
            prompt: What it is asked.
            tools: Those on offer, by our names.
            exchanges: Its calls so far. Where one was made twice, the last answer counts.

        Raises:
            SpecError: There is no such system.
            Puzzled: It failed over what it was given.
            RunError: Its process ended twice.
        """
        self.check(name)
        answers = [
            [called(each.name), each.arguments, each.answer]
            for each in exchanges
            if each.answer is not None
        ]
        asked = {
            "system": name,
            "prompt": prompt,
            "tools": [{"name": tool} for tool in tools],
            "answers": answers,
        }
        said = self._said(name, asked)
        if "failed" in said:
            raise Puzzled(
                f"The scripted system {name} failed: {said['failed']}.",
                remedy="Ask it with a prompt of the kind that it answers.",
            )
        if "report" in said:
            return Next(said["report"])
        return Next(None, said["tool"], said["arguments"])

    def _said(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """What a system answers; where its process was ended by others, by a second one."""
        worker = self._worker(name)
        try:
            return worker.ask(asked)
        except RunError:
            with self._starting:
                for package in [key for key, held in self._workers.items() if held is worker]:
                    self._workers.pop(package).close()
            return self._worker(name).ask(asked)

    def _worker(self, name: str) -> "_Worker":
        package = "board" if name in BOARD_SYSTEMS else AUDITOR.package
        with self._starting:
            if package not in self._workers:
                # the knowledge of treatments takes long to read: not for audits
                program = boards(knowledge().exported()) if package == "board" else AUDITOR
                self._workers[package] = _Worker(program)
            return self._workers[package]


class _Worker:
    """A process that answers one line with one line."""

    def __init__(self, program: Program) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="persona-")
        sources = program.copied(Path(self._folder.name))
        (sources / START).write_bytes((SCRIPTED / START).read_bytes())
        self._process = subprocess.Popen(
            [sys.executable, *_FLAGS, str(sources / START), program.package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
            env={"LANG": "C.UTF-8", "PATH": ""},
            start_new_session=True,
        )
        self._turn = threading.Lock()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and give the answer.

        Raises:
            RunError: The process is gone.
        """
        with self._turn, self._pipes() as (into, out):
            into.write(json.dumps(message).encode() + b"\n")
            into.flush()
            line = out.readline()
            if not line:
                raise BrokenPipeError
            return json.loads(line)

    @contextmanager
    def _pipes(self) -> Generator[tuple[IO[bytes], IO[bytes]]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            yield self._process.stdin, self._process.stdout
        except (BrokenPipeError, ValueError) as error:
            raise RunError(
                "The process of the scripted systems has ended.", remedy="Start the server again."
            ) from error

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()
