"""The governed tools. To add one: write a module with its `TOOLS`, and name it here."""

from chartproof.tools import (
    charted,
    codes,
    encounters,
    imaging,
    labs,
    medications,
    microbiology,
    notes,
    orders,
    policy,
    python,
    sql,
    trend,
)
from chartproof.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    *encounters.TOOLS,
    *codes.TOOLS,
    *labs.TOOLS,
    *trend.TOOLS,
    *microbiology.TOOLS,
    *medications.TOOLS,
    *orders.TOOLS,
    *imaging.TOOLS,
    *charted.TOOLS,
    *notes.TOOLS,
    *sql.TOOLS,
    *policy.TOOLS,
    *python.TOOLS,
)
"""Every tool, in the order in which an agent is told of them."""


def offered(*, shell: bool, policies: bool = True) -> tuple[Tool, ...]:
    """The tools of a run, with the shell or without, with the corpus of policies or without."""
    off = {name for name, on in (("shell", shell), ("corpus", policies)) if not on}
    return tuple(tool for tool in TOOLS if tool.reads not in off)
