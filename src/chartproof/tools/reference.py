"""The reference page of the tools, from what an agent is told of them.

`python -m chartproof.tools.reference > docs/reference/tools.md` writes it anew.
"""

import sys
from typing import Any

from chartproof.tools import TOOLS


def page() -> str:
    """The page in Markdown: each tool, its description, its arguments."""
    parts = [
        "# Tools",
        "What an agent may call. Every answer begins with the number of the call and cites each "
        "row; it says whether it is complete, which page it is, and what the store does not cover. "
        "Windows are half-open: `since` is included, `until` is not. A refusal is an answer and "
        "says what to do.",
    ]
    for tool in TOOLS:
        spec = tool.spec()
        arguments: dict[str, dict[str, Any]] = spec["parameters"].get("properties", {})
        required = spec["parameters"].get("required", [])
        parts.append(f"## {tool.name}\n\n{spec['description']}")
        if tool.reads == "shell":
            parts.append("Offered only where the shell is on: [how to](../how-to/shell.md).")
        if arguments:
            lines = ["| argument | | |", "|---|---|---|"]
            for name, argument in arguments.items():
                need = "needed" if name in required else ""
                lines.append(f"| `{name}` | {need} | {argument['description']} |")
            parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
