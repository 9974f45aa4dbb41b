"""Write the generated pages of docs/reference: commands, tools, metrics, scenarios, Python API.

`python scripts/reference.py` writes them; a test compares them with what it would write.
"""

import importlib
import inspect
import pkgutil
from pathlib import Path

import click
import typer

import chartproof.metrics
from chartproof import api
from chartproof.catalog.read import policies, scenario, scenario_ids
from chartproof.cli.main import app
from chartproof.tools import TOOLS

ROOT = Path(__file__).parents[1] / "docs" / "reference"
MADE = "<!-- Made by scripts/reference.py; change the code, not this page. -->\n\n"


def commands() -> str:
    """Every command with its help."""
    parts = ["# Commands\n"]

    def walk(command: click.Command, path: str) -> None:
        if isinstance(command, click.Group):
            for name in sorted(command.commands):
                walk(command.commands[name], f"{path} {name}")
            return
        parts.append(f"\n## `{path}`\n\n{inspect.cleandoc(command.help or '')}\n\n")
        for each in command.params:
            if each.name == "help":
                continue
            names = " ".join(each.opts) if each.opts else each.name or ""
            text = getattr(each, "help", None) or ""
            shown = each.human_readable_name if isinstance(each, click.Argument) else names
            parts.append(f"- `{shown}` {text}".rstrip() + "\n")

    walk(typer.main.get_command(app), "chartproof")
    return "".join(parts)


def tools() -> str:
    """Every tool with its arguments."""
    parts = [
        "# Tools\n\nWhat an agent can call. Every answer begins with its call number and cites rows.\n"
    ]
    for tool in TOOLS:
        parts.append(f"\n## `{tool.name}`\n\n{tool.description}\n\n")
        schema = tool.request.model_json_schema()
        required = set(schema.get("required", []))
        for name, field in schema.get("properties", {}).items():
            must = " (required)" if name in required else ""
            parts.append(f"- `{name}`{must} {field.get('description', '')}".rstrip() + "\n")
    return "".join(parts)


def metrics() -> str:
    """Every public metric with its docstring."""
    parts = [
        "# Metrics\n\nPure functions of `chartproof.metrics`: population, edges and source of each.\n"
    ]
    for module in sorted(m.name for m in pkgutil.iter_modules(chartproof.metrics.__path__)):
        found = importlib.import_module(f"chartproof.metrics.{module}")
        parts.append(f"\n## {module}\n\n{inspect.getdoc(found)}\n")
        for name, each in sorted(vars(found).items()):
            own = inspect.isfunction(each) and each.__module__ == found.__name__
            if own and not name.startswith("_"):
                parts.append(f"\n### `{name}`\n\n{inspect.getdoc(each)}\n")
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
    parts.append("\n## Policy corpus\n\n")
    parts += [
        f"- `{p.id}` {p.title} ({p.body}, {p.year}), {len(p.lines)} lines\n"
        for p in policies().values()
    ]
    return "".join(parts)


def python() -> str:
    """Every public name of the API."""
    parts = [f"# Python API\n\n{inspect.getdoc(api)}\n"]
    for name in sorted(api.__all__):
        each = getattr(api, name)
        shown = f"{name}{inspect.signature(each)}" if inspect.isfunction(each) else name
        parts.append(f"\n## `{name}`\n\n```text\n{shown}\n```\n\n{inspect.getdoc(each)}\n")
    return "".join(parts)


PAGES = {
    "commands": commands,
    "tools": tools,
    "metrics": metrics,
    "scenarios": scenarios,
    "python": python,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (ROOT / f"{name}.md").write_text(MADE + page(), encoding="utf-8")


if __name__ == "__main__":
    main()
