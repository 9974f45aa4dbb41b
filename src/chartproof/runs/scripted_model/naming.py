"""Which of the tools on offer is which of ours: clients name them anew."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from chartproof.runs.scripted_model.conversation import Offered
from chartproof.tools import offered
from chartproof.tools.sections import TOOL

OURS = frozenset({TOOL.name, *(tool.name for tool in offered(shell=True))})
"""Names that our tools bear."""
_JOINTS = "_-./: "


def recognised(tools: Sequence[Offered], ours: Collection[str] = OURS) -> dict[str, Offered]:
    """Our tools among those on offer, by our name.

    A client puts the name of the server before ours. Where two tools end alike, the one is taken
    that stands beside more of ours: `mcp__chart__notes` rather than a built-in `notes`.
    """
    beside: dict[tuple[str | None, str], dict[str, Offered]] = defaultdict(dict)
    for tool in tools:
        if (own := own_name(tool.name, ours)) is not None:
            beside[tool.group, tool.name.removesuffix(own)][own] = tool
    found: dict[str, Offered] = {}
    for group in sorted(beside.values(), key=len):
        found |= group
    return found


def own_name(name: str, ours: Collection[str] = OURS) -> str | None:
    """Our name of a tool; None where it is none of ours."""
    ends = [
        each
        for each in ours
        if name == each or (name.endswith(each) and name[-len(each) - 1] in _JOINTS)
    ]
    return max(ends, key=len, default=None)


def called(name: str) -> str:
    """Our name of a tool that was called, or the name that was."""
    return own_name(name) or re.sub(r"\s+", " ", name)
