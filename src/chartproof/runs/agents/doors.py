"""The two sockets of one run: behind the one are its tools, behind the other its model."""

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from chartproof.records.study import Budget
from chartproof.runs.access import Access
from chartproof.runs.agents.confined import MODEL, MODEL_PORT, TOOLS, TOOLS_PORT
from chartproof.runs.agents.harness import Ways
from chartproof.runs.agents.rationed import Rationed
from chartproof.runs.errand import Errand
from chartproof.runs.proxy import Line
from chartproof.tools.endpoint import Endpoint, Tcp
from chartproof.tools.jail import NOBODY

GRACE = 0.2
"""Seconds that a call in flight is given once the program has ended: nobody waits for it."""


@dataclass(frozen=True)
class Doors:
    """What a program can reach.

    Attributes:
        sockets: Place in the jail → on the machine.
        door: Answers and counts the calls of tools; None where there are none.
        line: To the model; None where there is none.
    """

    sockets: Mapping[str, Path]
    ways: Ways
    door: Rationed | None = None
    line: Line | None = None

    def broken(self) -> Exception | None:
        """What ends the run: a limit, or a failure of ours."""
        return self.door.failed if self.door is not None else None


@contextmanager
def opened(
    errand: Errand,
    *,
    access: Access | None,
    turns: int,
    tools: bool = True,
    jailed: bool = True,
) -> Generator[Doors]:
    """Listen at both sockets for one run.

    Args:
        errand: Its door answers the calls.
        access: To the model; None opens none.
        turns: Requests to it that the system allows itself, if the study does not allow fewer.
        tools: Whether there are tools.
        jailed: Whether the program is in a jail; else it finds both at ports of this machine.

    Raises:
        SpecError: The data may not be sent to the model.
        RunError: A socket cannot be made.
    """
    with ExitStack() as held:
        folder = Path(tempfile.mkdtemp(prefix="doors-"))
        held.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)  # whoever is nobody passes through, and lists nothing
        sockets = {MODEL: folder / "model"} if access is not None else {}
        sockets |= {TOOLS: folder / "tools"} if tools else {}
        door, line, token = None, None, ""
        ports = {MODEL: MODEL_PORT, TOOLS: TOOLS_PORT}
        if access is not None:
            bounded = replace(errand, budget=_bounded(errand.budget, turns))
            where = sockets[MODEL] if jailed else Tcp()
            proxy, line = held.enter_context(access.proxied(bounded, os.environ, where))
            ports[MODEL] = proxy.port or MODEL_PORT
        if tools:
            endpoint = held.enter_context(Endpoint(sockets[TOOLS] if jailed else Tcp()))
            door = Rationed(errand.door, errand.budget.calls)
            token = endpoint.add(door, door.end)
            held.callback(endpoint.remove, token, grace=GRACE)
            ports[TOOLS] = endpoint.port or TOOLS_PORT
        if jailed and os.geteuid() == 0:
            for each in sockets.values():
                os.chown(each, NOBODY, NOBODY)
        names = [str(spec["name"]) for spec in errand.door.specs()] if tools else []
        path = line.path if line else ""
        ways = Ways(path, token, names, ports[MODEL], ports[TOOLS])
        yield Doors(sockets if jailed else {}, ways, door, line)


def _bounded(budget: Budget, turns: int) -> Budget:
    most = turns if budget.requests is None else min(turns, budget.requests)
    return budget.model_copy(update={"requests": most})
