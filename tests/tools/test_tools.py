import importlib
import json
import pkgutil
import re
from string import Template

import chartproof.tools
from chartproof.catalog.read import prompt
from chartproof.tools import TOOLS
from chartproof.tools.tool import Tool

NO_TOOLS = {
    *("belonging", "corpus", "endpoint", "gateway", "items", "known", "listing", "mcp"),
    *("plausible", "reference", "render", "replay", "results", "silence", "statement", "tool"),
    *("laboratory", "stdio", "trace", "worker"),
    *("cgroup", "interpreter", "jail", "syscalls", "warden"),
    *("board", "sections"),  # of a packet, not of a chart
}


def test_every_module_with_tools_is_named_in_the_one_tuple() -> None:
    found: list[Tool] = []
    for module in pkgutil.iter_modules(chartproof.tools.__path__):
        if module.name not in NO_TOOLS:
            loaded = importlib.import_module(f"chartproof.tools.{module.name}")
            found += loaded.TOOLS
    assert {tool.name for tool in found} == {tool.name for tool in TOOLS}
    assert len(found) == len(TOOLS), "name the new module in chartproof/tools/__init__.py"


def test_the_prompt_names_only_tools_that_exist() -> None:
    names = {tool.name for tool in TOOLS}
    text = prompt("audit-v1")
    for name in ("encounters", "policy_search", "policy_read", "sql"):
        assert f"`{name}`" in text
        assert name in names


def test_the_prompt_has_one_slot_for_the_question() -> None:
    filled = Template(prompt("audit-v1")).substitute(question="Did it?")
    assert "Did it?" in filled
    assert "$" not in filled


def test_no_schema_demands_a_form_of_text_that_the_record_does_not_have() -> None:
    # Gemini CLI checks arguments itself: `date-time` would demand a zone, which tools refuse
    written = json.dumps([tool.spec() for tool in TOOLS])
    assert '"format"' not in written
    pattern = r"^\d{4}-\d\d-\d\d"
    assert json.dumps(pattern) in written
    for time in ("2150-01-31", "2150-01-31 06:00", "2150-01-31 06:00:00"):
        assert re.match(pattern, time)
