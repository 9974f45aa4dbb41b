"""From a system as a study names it to one that answers.

To add a kind: give it a record in `records/system.py`, a module here that turns the record into a
`System`, and a line in `_MAKERS`. Modules of kinds that need an extra are imported where used.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from chartproof.errors import SpecError
from chartproof.models.egress import NOWHERE, Guard
from chartproof.records.store import Tier
from chartproof.records.system import AnySystem, ScriptedSystem
from chartproof.runs.confinement import UNCONFINED, Confinement
from chartproof.runs.systems import Program, Scripted, System

_MAKERS: dict[str, str] = {
    **dict.fromkeys(
        ("claude_code", "codex", "gemini_cli", "opencode"), "chartproof.runs.agents.cli"
    ),
    "react": "chartproof.runs.react",
    "single_shot": "chartproof.runs.single_shot",
    "command": "chartproof.runs.command",
}
"""Kind → the module whose `make(entry, means)` builds it."""


@dataclass(frozen=True)
class Means:
    """What systems are run with beside their own settings. It is sent to every worker.

    Attributes:
        home: Where runs and ledgers lie.
        study: Id of the study.
        tier: Of the data.
        guard: Which endpoints the data may be sent to.
        budget_usd: What the study may spend on models; None sets no limit.
        cache: Folder for what is installed or made once.
        confinement: What programs are started in.
    """

    home: Path
    study: str = ""
    tier: Tier = "credentialed"
    cache: Path = Path()
    confinement: Confinement = UNCONFINED
    guard: Guard = NOWHERE
    budget_usd: float | None = None


Make = Callable[[Any, Means], System]


@dataclass(frozen=True)
class Makers:
    """Builds the systems of a study in a process that fills cells.

    Attributes:
        program: The scripted systems that the study can name.
        entries: The others: name → how the study has it.
        means: Needed where there are others.
    """

    program: Program
    confinement: Confinement = UNCONFINED
    entries: Mapping[str, AnySystem] = field(default_factory=dict[str, AnySystem])
    means: Means | None = None

    def check(self, names: Iterable[str] = ()) -> None:
        """Refuse what cannot be built, before anything is run.

        Args:
            names: Of systems beside the entries.

        Raises:
            SpecError: A scripted system does not exist, or a kind cannot be run here.
        """
        for name in {**self.entries, **dict.fromkeys(names)}:
            entry = self._entry(name)
            if isinstance(entry, ScriptedSystem):
                self.program.check(entry.habit or name)
            else:
                self._modelled(entry)

    def _modelled(self, entry: AnySystem) -> System:
        assert self.means is not None, "systems of models need means"
        return _maker(entry.kind)(entry, self.means)

    def _entry(self, name: str) -> AnySystem:
        return self.entries.get(name) or ScriptedSystem(name=name)

    def make(self, name: str, copied: Callable[[], Path]) -> System:
        """The system of a name.

        Args:
            name: As the study has it.
            copied: Gives the folder of this process's copy of the program.
        """
        entry = self._entry(name)
        if isinstance(entry, ScriptedSystem):
            return Scripted(name, copied(), self.confinement, habit=entry.habit or name)
        return self._modelled(entry)


def _maker(kind: str) -> Make:
    if kind not in _MAKERS:
        raise SpecError(
            f"Systems of kind `{kind}` cannot be run yet.",
            remedy=f"Choose from scripted, {', '.join(_MAKERS)}.",
        )
    return import_module(_MAKERS[kind]).make
