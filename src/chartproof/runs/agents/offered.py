"""Whether a model was offered our tools, as the requests tell that the proxy has kept."""

import json
from collections.abc import Sequence
from pathlib import Path

from chartproof.runs.agents.harness import SERVER
from chartproof.runs.exchanges import FOLDER, REQUESTS, body


def offered(folder: Path, names: Sequence[str]) -> bool | None:
    """Whether the first request of a run named the tools; None where there was no request.

    Args:
        folder: Of the cell.
        names: Of the tools; a program puts its name of our server before them.
    """
    place = folder / FOLDER / REQUESTS
    if not place.is_file():
        return None
    with place.open(encoding="utf-8") as lines:
        first = next(lines, "")
    if not first:
        return None
    said = body(folder, json.loads(first)["request"]["sha256"])
    marks = [f"mcp__{SERVER}", *(f"{SERVER}_{each}" for each in names)]
    return any(each.encode() in said for each in marks)
