from pathlib import Path

from chartproof.tools.reference import page

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "tools.md"


def test_the_reference_page_is_what_agents_are_told() -> None:
    written = DOCS.read_text(encoding="utf-8")
    assert written == page(), "python -m chartproof.tools.reference > docs/reference/tools.md"
