"""What a program says when it is asked something without a model."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from chartproof.errors import RunError
from chartproof.runs.agents.confined import Start, Watch, attend, confined, jail_of
from chartproof.runs.agents.installed import Installed
from chartproof.runs.process import AgentFailure
from chartproof.tools.interpreter import Interpreter

_SECONDS = 60


def said(here: Installed, command: Sequence[str], python: Interpreter, cache: Path) -> str:
    """Standard output of a program that ends by itself.

    Args:
        here: The program.
        command: As the jail sees it.
        python: Of the jail.
        cache: Where what not everybody can read is copied to.

    Raises:
        RunError: It does not end, or ends with a failure.
    """
    shared = here.shared(cache)
    jail = jail_of(python, Start(command), shared=shared, sockets={}, seconds=_SECONDS)
    watch = Watch(time.monotonic() + _SECONDS, time.monotonic, lambda: False, lambda: None)
    lines: list[bytes] = []
    with tempfile.TemporaryDirectory(prefix="asked-") as folder, confined(python, jail) as started:
        try:
            ended = attend(started, watch, Path(folder), lines.append)
        except AgentFailure as failure:
            raise RunError(
                f"`{' '.join(command)}` does not answer: {failure.what}",
                remedy="Try `chartproof systems doctor`.",
            ) from failure
    if ended.status != 0:
        raise RunError(
            f"`{' '.join(command)}` failed with status {ended.status}: {ended.said}.",
            remedy="Install the program anew; `chartproof systems doctor` tells how.",
        )
    return b"\n".join(lines).decode("utf-8", "replace")
