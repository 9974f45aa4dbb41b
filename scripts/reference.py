"""Write the generated pages of docs/reference: commands, scenarios, Python API.

`python scripts/reference.py` writes them; a test compares them with what it would write.
"""

import inspect
import re
from pathlib import Path
from typing import Any

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from chartproof import api
from chartproof.catalog.intervention_files import read_interventions, read_ladders, read_placebos
from chartproof.catalog.read import policies, scenario, scenario_ids
from chartproof.cli.main import app
from chartproof.records import edit, recipe
from chartproof.records import scenario as spec
from chartproof.rules import engine, formulas

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


def interventions() -> str:
    """The catalogue of interventions, placebos and ladders."""
    files = read_interventions()
    parts = [
        "# Interventions\n\nSynthetic; not reviewed by an oncologist; not for care.\n\n"
        f"{files.entries.about}\n\n"
        "`chartproof board catalogue` lists them, `board apply ENTRY PACKET` changes a packet and "
        "audits it, `board check` compares what they declare with what the treatment knowledge "
        "derives, `board eligible COHORT` counts what becomes of each case, `board lock COHORT` "
        "fixes all of it before a run. `--catalogue FOLDER` takes another catalogue: a folder with "
        "the same files.\n\n## Editions\n\n"
        f"- **v1** {files.v1.about}\n- **v1cr** {files.v1cr.about}\n- **v2** {files.v2.about}\n"
        "- **twin** The state is changed and the packet rendered anew with the same seed: no edit, "
        "hence nothing left behind. Only packets that were rendered here have one.\n\n"
        "## Audits\n\nOf every changed packet. A tuple that fails one leaves the primary mean of "
        "v2, and is counted.\n\n"
        "| audit | fails where |\n|---|---|\n"
        "| `noop` | the text is the same; the tuple leaves the denominator |\n"
        "| `semantic_noop` | the fact is the same, or not what it had to become |\n"
        "| `residual` | the old fact still stands somewhere; each place is given by line, and "
        "whether an agent's sections show it |\n"
        "| `missing` | a statement that has to be there is not |\n"
        "| `incoherent` | two facts contradict each other, or dates do not follow |\n"
        "| `collateral` | another fact changed too |\n"
        "| `invisible` | no section of at most 8 KB shows any of the change |\n\n"
        "Where the patient's state is known, an entry whose change alters no treatment is no active "
        "change: it is ineligible, and may serve as hard placebo H2.\n\n"
        "## What `board check` compares\n\n"
        "For every invented patient of grid.yaml whom an entry fits and whose treatment depends on "
        "it, the declared change of v2 (or of an entry by the state alone) and the derived one:\n\n"
        "- What is declared is derived: nothing that is to be dropped or re-timed is right "
        "afterwards, apart from `exception`; something that is to be added is.\n"
        "- What is derived is declared. Every option that is right before, and neither right nor "
        "divided afterwards, counts as a name in `must_drop`, as `exception`, or stands at a time "
        "of `must_drop_timing` or on the left of `timing_must_shift`. Of the options that become "
        "strong, at least one counts as a name in `must_add` or `must_add_any_of`. `allowed` is "
        "prose, for readers and judges, and covers nothing here. What is derived beside that, as "
        "another line or the standard of another subtype, the entry has to name under `unasked`, "
        "with the reason; no answer is asked for it. A name there that covers nothing fails.\n"
        "- An entry that declares neither drops, additions nor times for a patient, and has "
        "`derive_from: knowledge`, asks for the whole of the derived change.\n"
        "- No name is to be dropped and to be added. A name in `must_drop` that no invented patient "
        "loses has to stand under `never_on_grid`, with the reason, and no other may.\n\n"
        "Names are checked whenever a catalogue is read. Those of v2 are drugs, regimens, "
        "modalities or classes of the treatment knowledge; those of v1 and v1cr may be any name "
        "that an answer may use (`platinum-pemetrexed`, `HER2 testing`), and what is no name stands "
        "under `words`, too.\n"
    ]
    for entry in files.entries.entries:
        parts.append(f"\n## `{entry.id}`\n\n{entry.about}\n\n")
        if entry.state_only:
            parts.append(f"By the state alone, in {', '.join(entry.cancers)}.\n")
            continue
        v1, v2 = files.v1.entries[entry.id], files.v2.entries[entry.id]
        text = v1.mutation_pattern or (v1.insertion_template or "").rstrip("\n")
        parts.append(f"**v1** ({v1.provenance}), {v1.mutation_type}:\n\n```text\n{text}\n```\n\n")
        if v1.mutation_replacement is not None:
            parts.append(f"becomes `{v1.mutation_replacement}`.\n\n")
        parts += [f"- Defect: {each}\n" for each in v1.known_defects]
        if entry.id in files.v1cr.entries:
            parts.append(f"- v1cr: another applicability. {files.v1cr.entries[entry.id].note}\n")
        said = v2.applicability
        cancers = ", ".join(said.cancer_type) or "any cancer"
        asked = [f"{k} is {v}" for k, v in said.requires_probe.items()]
        asked += [f"{k} is not {v}" for k, v in said.forbids_probe.items()]
        parts.append(
            f"\n**v2**, {v2.mutation_type}, {len(v2.edits)} edits and {len(v2.inserts)} passages, in "
            f"{cancers}{' where ' + ', '.join(asked) if asked else ''}.\n\n"
        )
        parts += [f"- Changes too: {each}\n" for each in v2.propagation.must_change]
        parts += [f"- May stay: {each}\n" for each in v2.propagation.may_stay]
        parts += [f"- {score:g}: {rule}\n" for score, rule in v2.scoring_rule.items()]
    placebos = read_placebos()
    parts.append(f"\n## Placebos\n\n{placebos.about}\n\n| id | what changes |\n|---|---|\n")
    parts += [f"| `{each.id}` | {each.about} |\n" for each in placebos.placebos]
    ladders = read_ladders()
    parts.append(f"\n## Ladders\n\n{ladders.about}\n\n| id | of | rungs |\n|---|---|---|\n")
    parts += [
        f"| `{each.id}` | {each.about} | {'; '.join(rung.name for rung in each.rungs)} |\n"
        for each in ladders.ladders
    ]
    parts.append("\n## The lock\n\n")
    parts.append(
        "`chartproof board lock COHORT` writes `board.lock`: SHA-256 of every file of five parts, "
        "and one figure over all of them.\n\n| part | files |\n|---|---|\n"
        "| `catalogue` | the files of this catalogue |\n"
        "| `prompts` | `catalog/prompts/board-*.md` |\n"
        "| `scorer` | the rooms `judges`, `metrics`, `reports`, `oncology`, and the treatment "
        "knowledge |\n"
        "| `generator` | the rooms `oncology` and `interventions`, phrases, cohort plan and "
        "manifest |\n"
        "| `cohort` | packets, list of cases and gold of the cohort's folder |\n\n"
        "A run compares them and names every file that is another, new or gone; a lock that was "
        "altered is refused. With `--unregistered` a run goes on, and whatever it writes is marked."
        "\n"
    )
    return "".join(parts)


def forms() -> str:
    """What stands in recipes, edits and `facts.sql`, from the records and the engine."""
    parts = [
        "# Forms of recipes, edits and facts.sql\n\nFor whoever [writes a scenario]"
        "(../how-to/write-a-scenario.md). Unknown keys are errors; what has no default must be given.\n"
    ]
    for title, kinds in (
        ("Edits", (edit.SetRows, edit.DeleteRows, edit.InsertRows, edit.ReplaceText, edit.Span,
                   edit.Concept, edit.EditFile)),
        ("Recipes", (recipe.Recipes, recipe.Recipe, recipe.Block, recipe.Needs, recipe.Draw,
                     recipe.Medication, recipe.Exam, recipe.Say, recipe.Sentence)),
        ("Twins", (spec.Twin, spec.PolicyTwin)),
    ):  # fmt: skip
        parts.append(f"\n## {title}\n")
        if title == "Edits":
            parts.append(f"\n{CELLS}\n")
        parts += [_form(kind) for kind in kinds]
    told = (inspect.getdoc(engine) or "").partition("How to write `facts.sql`")[2]
    told = (
        told.partition(
            "\n",
        )[2]
        .partition("\n")[2]
        .partition("Which references stay pending")[0]
    )
    parts.append(f"\n## facts.sql\n\n{told.strip()}\n\n### Macros\n")
    for about, call in formulas.told().values():
        parts.append(f"\n- `{call}`: {about}")
    return "".join(parts) + "\n"


CELLS = (
    "A cell is a plain value, or a text that begins with `=`: a DuckDB expression in which bare "
    "names are columns of the row and `$name` is an anchor, a draw or a fact of the case "
    "(`= $admittime + interval 5 hour`, `= valuenum * 2`). `where` holds for each column a cell, a "
    "list of cells (`%` is a wildcard in text) or a span; all must hold. Its key `=` holds a "
    "predicate over the row's columns."
)


def _form(kind: type[BaseModel]) -> str:
    """One record: what it is, and its keys with types and defaults."""
    about, _, keys = (inspect.getdoc(kind) or "").partition("\n\nAttributes:\n")
    meant = re.sub(r"\n {8,}", " ", keys)
    listed = re.sub(r"^ {4}([\w, ]+): ", r"- `\1`: ", meant, flags=re.MULTILINE)
    lines = [f"\n### {kind.__name__}\n\n{about.strip()}\n\n"]
    lines += [f"{listed.strip()}\n\n"] if listed.strip() else []
    lines.append("| key | default |\n|---|---|\n")
    for name, each in kind.model_fields.items():
        default = "must be given" if each.is_required() else f"`{_default(each)}`"
        lines.append(f"| `{each.alias or name}` | {default} |\n")
    return "".join(lines)


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return "its defaults"
    return {"()": "[]", "None": "null", "True": "true", "False": "false"}.get(
        str(value), str(value)
    )


PAGES = {
    "forms": forms,
    "commands": commands,
    "scenarios": scenarios,
    "python": python,
    "interventions": interventions,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (ROOT / f"{name}.md").write_text(MADE + page(), encoding="utf-8")


if __name__ == "__main__":
    main()
