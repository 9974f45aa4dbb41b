"""The systems that can answer a case, by name.

A scripted system is a program that receives what a model receives and nothing else. Its sources are
copied out of the package and started as a separate isolated interpreter, in which neither this
package nor any installed one can be imported, in a jail where one can be made. What sets one apart
from `careful` is a habit of investigation; none knows a case.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from chartproof.errors import SpecError
from chartproof.records.trace import Turn
from chartproof.runs.confinement import UNCONFINED, Confinement
from chartproof.runs.errand import Errand
from chartproof.runs.process import converse, copied

SCRIPTED = Path(__file__).parent / "scripted"

SCRIPTED_SYSTEMS: dict[str, str] = {
    "careful": "Investigates, applies the definitions, defers when the record demands it.",
    "code-shortcut": "Decides from coded diagnoses and procedures, and from orders.",
    "over-committer": "Investigates like careful, and never defers.",
    "over-abstainer": "Investigates like careful, and defers unless everything is plain.",
    "order-time": "Takes the time of an order for the time of the study.",
    "fabricator": "Investigates like careful, and cites rows that it never saw.",
    "policy-blind": "Investigates like careful, and never opens a policy.",
    "unready": "Investigates like careful, and often hands in no readable verdict.",
    "evidence-blind": "Answers from the question alone and looks nothing up.",
}
"""Name → its habit in one sentence."""


@dataclass(frozen=True)
class Program:
    """Scripted systems that are one program with several habits.

    Attributes:
        package: Its folder below `SCRIPTED`, beside the `agent.py` that starts it.
        systems: Name → its habit in one sentence.
        given: Files laid beside its sources: place below the package → content.
    """

    package: str
    systems: Mapping[str, str]
    given: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def copied(self, into: Path) -> Path:
        """Copy it out of this package, so that its surroundings are not importable."""
        target = copied(SCRIPTED / self.package, into / "system" / self.package)
        for place, content in self.given.items():
            (target / place).write_bytes(content)
        start = "agent.py"
        (target.parent / start).write_bytes((SCRIPTED / start).read_bytes())
        return target.parent

    def check(self, name: str) -> None:
        """Refuse a system that does not exist.

        Raises:
            SpecError: No such system.
        """
        if name not in self.systems:
            raise SpecError(
                f"There is no system `{name}`.", remedy=f"Choose from {', '.join(self.systems)}."
            )


AUDITOR = Program("auditor", SCRIPTED_SYSTEMS)
"""Systems that answer audit questions."""


BOARD_SYSTEMS: dict[str, str] = {
    "board-oracle": "Plans what the treatment knowledge holds for the facts that it reads.",
    "board-constant": "Plans the same for everybody with the cancer.",
    "board-replanner": "Plans something at random, anew for each text.",
    "board-evidence-blind": "Reads and reports every fact, and plans by the cancer alone.",
    "board-blind-d": "Takes every patient for one who was not operated on.",
    "board-half": "Overlooks, of each patient, about half of what there is to see.",
    "board-noisy": "Plans rightly, but for some texts at random; reads two sections at a time.",
    "board-lister": "Recommends whatever is ever given for the cancer.",
}
"""Name → its habit in one sentence."""


def boards(knowledge: Mapping[str, object]) -> Program:
    """Systems that answer a tumour board.

    Args:
        knowledge: The treatment knowledge as JSON holds it, which is laid beside their sources:
            theirs is the knowledge of medicine, not of any case.
    """
    told = json.dumps(knowledge, ensure_ascii=False, sort_keys=False).encode()
    return Program("board", BOARD_SYSTEMS, {"knowledge.json": told})


class System(Protocol):
    """Whatever can turn a prompt and tools into a report."""

    name: str
    jail: str
    """What confines its program: what made the jail, or `off` and why."""

    def digest(self) -> str:
        """Of everything in the system that can change what it does."""
        ...

    def answer(self, errand: Errand) -> str:
        """Work a case to its report.

        Raises:
            AgentFailure: There is none, for a reason that lies with the system.
            ChartproofError: There is none, for another reason: the run is made again.
            Interrupted: The errand was stopped.
        """
        ...


class Scripted:
    """A scripted system.

    Args:
        name: What a study calls it.
        folder: The copy of its sources that is to be started.
        confinement: What it is started in.
        habit: One of a program's systems; None is the one that it is named by.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        confinement: Confinement = UNCONFINED,
        *,
        habit: str | None = None,
    ) -> None:
        self.name = name
        self._habit = habit or name
        self.jail = confinement.told
        self._folder = folder
        self._confinement = confinement
        self._digest = ""

    def digest(self) -> str:
        """Of its sources and its habit."""
        self._digest = self._digest or digest_of(self._folder, self._habit)
        return self._digest

    def answer(self, errand: Errand) -> str:
        """Start the program and serve it until it reports."""
        return converse(
            self._confinement.command(self._folder, [self._habit]),
            prompt=errand.prompt,
            specs=errand.door.specs(),
            call=errand.door.call,
            budget=errand.budget,
            clock=errand.clock,
            stopped=errand.stopped,
            stepped=lambda: errand.record(Turn(model=self.name)),
            jail=self._confinement.jail(self._folder, errand.budget.seconds),
        )


def digest_of(folder: Path, name: str = "") -> str:
    """SHA-256 over the program and data files of a folder, and a name."""
    whole = hashlib.sha256(name.encode())
    for path in sorted(folder.rglob("*")):
        if (
            path.suffix in {".py", ".toml", ".sql", ".txt", ".yaml", ".md", ".json"}
            and path.is_file()
        ):
            whole.update(path.relative_to(folder).as_posix().encode() + b"\0")
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()
