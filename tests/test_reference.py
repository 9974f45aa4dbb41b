"""The generated pages of docs/reference are what the code says."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands", "scenarios", "python", "interventions", "forms"])
def test_a_generated_page_is_up_to_date(name: str) -> None:
    made = script()
    written = (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert written == made.MADE + made.PAGES[name](), "run python scripts/reference.py"


def test_each_word_of_the_glossary_is_told_once_and_stands_in_its_place() -> None:
    text = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\*\*(.+?)\*\* ", text, re.MULTILINE)
    assert len(words) > 70
    assert words == sorted(set(words), key=str.casefold)
