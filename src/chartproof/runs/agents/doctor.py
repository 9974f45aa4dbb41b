"""Whether an agent's program works here: it is started for real, on a scripted model."""

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chartproof.errors import ChartproofError
from chartproof.models.egress import Guard
from chartproof.records.study import Budget
from chartproof.records.system import CliKind, CliSystem, Model
from chartproof.records.trace import Answer
from chartproof.runs.agents import cli
from chartproof.runs.agents.installed import PACKAGES, found, installing
from chartproof.runs.confinement import Confinement
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools.gateway import Door, specs

PERSONA = "code-shortcut"
"""Makes few calls."""
QUESTION = (
    "Did this patient develop acute kidney injury within 72 hours after the contrast-enhanced CT "
    "scan of this admission?"
)
MODELS: dict[CliKind, str] = {
    "claude_code": "anthropic/claude-sonnet-4-6",
    "codex": "openai/gpt-5.4",
    "gemini_cli": "google/gemini-2.5-pro",
    "opencode": "scripted/scripted",
}
"""What each is asked for; the scripted model answers to any name."""
SECONDS = 120.0


@dataclass(frozen=True)
class Finding:
    """What was found of one kind.

    Attributes:
        version: Of its program; None where it is not here.
        place: Of its program.
        works: Whether a run came to a call and a report; None where none was made.
        seconds: That the run took.
        what: What is wrong, and how to mend it; empty where all is well.
    """

    kind: CliKind
    version: str | None
    place: str
    works: bool | None
    seconds: float | None
    what: str = ""

    @property
    def tried(self) -> bool:
        """Whether the version is the one with which everything here was tried."""
        return self.version == PACKAGES[self.kind].verified


class _Nothing(Door):
    """Tools that find nothing."""

    def __init__(self) -> None:
        super().__init__(lambda _event: None, None)
        self.made = 0

    def specs(self) -> list[dict[str, Any]]:
        return specs()

    def _answer(self, name: str, arguments: dict[str, Any]) -> Answer:  # noqa: ARG002  nothing is
        self.made += 1
        return Answer(
            text=f"call {self._calls} · {name} · 0 rows · complete\n"
            "note: no rows in scope; the source is covered"
        )


def examined(
    kinds: Sequence[CliKind],
    *,
    cache: Path,
    path: str,
    confinement: Confinement,
    tell: Callable[[CliKind], None] = lambda _kind: None,
) -> list[Finding]:
    """Try each kind that is here.

    Args:
        kinds: Which.
        cache: Where `chartproof systems install` puts programs.
        path: The machine's search path.
        confinement: The jail.
        tell: Told of each before it is tried.
    """
    findings: list[Finding] = []
    with ModelServer(PERSONA) as server:
        for kind in kinds:
            tell(kind)
            findings.append(_examined(kind, cache, path, confinement, server.url))
    return findings


def _examined(kind: CliKind, cache: Path, path: str, confinement: Confinement, url: str) -> Finding:
    here = found(kind, cache, path)
    if here is None:
        return Finding(kind, None, "", None, None, installing(kind, PACKAGES[kind].verified))
    since = time.monotonic()
    try:
        _tried(kind, cache, confinement, url)
        what = ""
    except ChartproofError as error:
        what = str(error)
    seconds = round(time.monotonic() - since, 1)
    place = str(here.folder or here.program)
    return Finding(kind, here.version, place, not what, seconds, what)


def _tried(kind: CliKind, cache: Path, confinement: Confinement, url: str) -> None:
    """Let a program make a call and report.

    Raises:
        ChartproofError: It does not.
    """
    entry = CliSystem(kind=kind, name="doctor", model=Model(id=MODELS[kind], base_url=url))
    with tempfile.TemporaryDirectory(prefix="doctor-") as home:
        means = Means(
            home=Path(home),
            study="doctor",
            tier="synthetic",
            cache=cache,
            confinement=confinement,
            guard=Guard("synthetic", None),
        )
        folder = Path(home, "runs", "doctor", "doctor", "case", "factual", "1")
        folder.mkdir(parents=True)
        door = _Nothing()
        system = cli.make(entry, means)
        system.answer(
            Errand(
                prompt=QUESTION,
                door=door,
                record=lambda _event: None,
                folder=folder,
                budget=Budget(seconds=SECONDS),
                clock=time.monotonic,
            )
        )
        if door.made == 0:
            raise cli.unready(entry)
