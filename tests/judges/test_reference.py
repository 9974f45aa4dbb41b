"""Every word of the checks stands in the reference."""

from pathlib import Path

from chartproof.judges.vocabulary import WORDS


def test_every_word_is_documented() -> None:
    path = Path(__file__).parents[2] / "docs/reference/checks.md"
    text = path.read_text(encoding="utf-8")
    assert all(f"`{word}:" in text for word in WORDS)
