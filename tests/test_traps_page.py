"""docs/reference/traps.md names, for each of the 35 traps, a module and a test that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def _page() -> dict[int, list[str]]:
    text = (ROOT / "docs" / "reference" / "traps.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {int(row[0]): row for row in rows if row[0].isdecimal()}


def test_every_number_from_1_to_35_has_a_row() -> None:
    assert sorted(_page()) == list(range(1, 36))
    assert all(len(row) == 5 and all(row) for row in _page().values())


def test_the_module_that_handles_a_trap_exists() -> None:
    named = {n: row[2].strip("`") for n, row in _page().items()}
    assert not {n for n, name in named.items() if not (ROOT / "src/chartproof" / name).is_file()}


def test_each_named_test_exists() -> None:
    for number, row in _page().items():
        tests = re.findall(r"`([^`]+)`", row[3])
        assert tests, f"trap {number} names no test"
        for each in tests:
            file, _, name = each.partition("::")
            text = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert not name or f"\ndef {name}(" in text, f"trap {number}: {each} is not there"
        assert any("::" in each for each in tests), f"trap {number} names no single test"
