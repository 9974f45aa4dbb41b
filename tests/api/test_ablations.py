"""Systems that differ in one thing, compared as the study said before it ran."""

import json
from pathlib import Path

import pytest

from chartproof import api
from chartproof.catalog.read import prompt
from chartproof.records.study import Study
from chartproof.runs import cells
from chartproof.tools.trace import read

STUDY = Study.model_validate({
    "id": "ablation",
    "cases": "cases",
    "systems": [
        "careful",
        {"kind": "scripted", "name": "careful-unread", "habit": "careful", "policies": False},
    ],
    "contrasts": [{"of": "careful", "against": "careful-unread", "why": "What the corpus adds."}],
})  # fmt: skip


def test_a_system_without_the_corpus_is_offered_and_asked_for_no_policy(home: Path) -> None:
    api.run(home, STUDY, most=1)
    found = list(cells.cells(home / "runs" / "ablation"))
    for folder, cell in found:
        tools = {call.tool for call in read(folder / cells.TRACE).calls if not call.refused}
        has = any(tool.startswith("policy_") for tool in tools)
        assert has == (cell.system == "careful")
    unread = {cell.digests["tools"] for _, cell in found if cell.system == "careful-unread"}
    assert unread.isdisjoint(cell.digests["tools"] for _, cell in found if cell.system == "careful")
    table = next(each for each in api.tables(home, "ablation") if each.id == "contrasts")
    (row,) = table.rows
    assert [cell.text for cell in row[:3]] == ["careful", "careful-unread", "accuracy"]
    assert row[4].value == len({cell.case for _, cell in found})
    kept = json.loads((home / "runs" / "ablation" / "named.json").read_text())
    assert kept["contrasts"][0]["of"] == "careful"


@pytest.mark.parametrize("name", ["audit-v1-plain", "audit-v1-no-policy"])
def test_variants_of_the_prompt_differ_in_what_they_are_named_for(name: str) -> None:
    usual, variant = prompt("audit-v1").splitlines(), prompt(name).splitlines()
    gone = "\n".join(line for line in usual if line not in variant)
    added = "\n".join(line for line in variant if line not in usual)
    if name == "audit-v1-plain":
        assert added == ""
        assert gone.startswith("Do not choose a definite verdict to be helpful")
    else:
        assert "policy" not in "\n".join(variant)
        assert "`policy_search`" in gone
