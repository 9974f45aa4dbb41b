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
    sql,
)
from chartproof.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    *encounters.TOOLS,
    *codes.TOOLS,
    *labs.TOOLS,
    *microbiology.TOOLS,
    *medications.TOOLS,
    *orders.TOOLS,
    *imaging.TOOLS,
    *charted.TOOLS,
    *notes.TOOLS,
    *sql.TOOLS,
    *policy.TOOLS,
)
"""Every tool, in the order in which an agent is told of them."""
