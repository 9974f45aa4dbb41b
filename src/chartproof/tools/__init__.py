"""The governed tools. To add one: write a module with its `TOOLS`, and name it here."""

from chartproof.tools import encounters, labs
from chartproof.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    *encounters.TOOLS,
    *labs.TOOLS,
)
"""Every tool, in the order in which an agent is told of them."""
