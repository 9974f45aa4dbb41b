"""Write the generated pages of docs/reference: commands, scenarios, Python API.

`python scripts/reference.py` writes them; a test compares them with what it would write.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from chartproof import api
from chartproof.catalog.read import policies, scenario, scenario_ids
from chartproof.cli.main import app

ROOT = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py; change the code, not this page. -->\n\n"


def commands() -> str:
    """Every command with its help."""
    parts = ["# Commands\n"]

    def walk(command: Any, path: str) -> None:
        if hasattr(command, "commands"):
            for name in sorted(command.commands):
                walk(command.commands[name], f"{path} {name}")
            return
        parts.append(f"\n## `{path}`\n\n{_plain(command.help)}\n\n")
        for each in command.params:
            if each.name == "help":
                continue
            names = " ".join(each.opts) if each.opts else each.name or ""
            text = getattr(each, "help", None) or ""
            argument = each.param_type_name == "argument"
            shown = each.metavar or each.name if argument else names
            parts.append(f"- `{shown}` {text}".rstrip() + "\n")

    walk(typer.main.get_command(app), "chartproof")
    return "".join(parts)


def scenarios() -> str:
    """Every scenario with its rules, and the policy corpus."""
    parts = ["# Scenarios\n\nNone has been reviewed by a clinician yet.\n"]
    for id_ in scenario_ids():
        spec = scenario(id_).scenario
        parts.append(
            f"\n## `{id_}` {spec.title}\n\n{spec.query}\n\n| rule | verdict | holds when |\n|---|---|---|\n"
        )
        parts += [f"| {r.id} | {r.verdict.label} | {r.about} |\n" for r in spec.rules]
        parts.append(f"\nGoverned by {', '.join(f'`{each}`' for each in spec.governing)}.\n")
    parts.append(
        "\n## Policy corpus\n\nNo document has been reviewed by a clinician. A digest that changes "
        "may move lines that reports cite, and verdicts of an agent that reads it.\n\n"
    )
    parts += [
        f"- `{p.id}` {p.title} ({p.body}, {p.year}), {len(p.lines)} lines, {p.status}; "
        f"sha256 {p.digest[:16]}…\n"
        for p in policies().values()
    ]
    return "".join(parts)


def python() -> str:
    """Every public name of the API."""
    parts = [f"# Python API\n\n{inspect.getdoc(api)}\n"]
    for name in sorted(api.__all__):
        each = getattr(api, name)
        shown = f"{name}{_short(_signature(each))}" if not inspect.isclass(each) else name
        parts.append(f"\n## `{name}`\n\n```text\n{shown}\n```\n\n{inspect.getdoc(each)}\n")
        if inspect.isclass(each):
            parts.append(_members(each))
    return "".join(parts)


def _members(kind: type) -> str:
    """Fields with their types, and what can be asked of one."""
    fields = {
        name: str(type_).replace("typing.", "").replace("<class '", "").removesuffix("'>")
        for name, type_ in inspect.get_annotations(kind).items()
        if not name.startswith("_") and name != "model_config"
    }
    lines = [f"- `{name}: {_short(type_)}`" for name, type_ in fields.items()]
    for name, each in vars(kind).items():
        found = each.__func__ if isinstance(each, classmethod | staticmethod) else each
        if name.startswith("_") or not (inspect.isfunction(found) or isinstance(found, property)):
            continue
        about = (inspect.getdoc(found) or "").splitlines()
        call = _short(_signature(found)) if inspect.isfunction(found) else ""
        lines.append(f"- `{name}{call}` {about[0] if about else ''}".rstrip())
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _short(text: str) -> str:
    """Types without the modules that they come from."""
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", text)


def _plain(help_: str | None) -> str:
    """Help without the marks that colour it."""
    return re.sub(r"\[/?(bold|dim)?\]", "`", inspect.cleandoc(help_ or ""))


def _signature(function: Any) -> str:
    """A signature without addresses of default functions."""
    return re.sub(r"<function (\S+) at 0x[0-9a-f]+>", r"\1", str(inspect.signature(function)))


PAGES = {
    "commands": commands,
    "scenarios": scenarios,
    "python": python,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (ROOT / f"{name}.md").write_text(MADE + page(), encoding="utf-8")


if __name__ == "__main__":
    main()
