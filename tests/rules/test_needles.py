import pytest

from chartproof.catalog.read import scenario, scenario_ids
from chartproof.rules.needles import in_small, may_match, needles
from chartproof.rules.statements import compiled, written


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("acute kidney injury", ("kidney",)),
        (r"\b(?:AKI|renal failure)\b", ("aki", "failure")),
        (r"(?:no )?ascites", ("ascites",)),
        (r"(?:stopped|held)?", ()),
        (r"[a-z]+", ()),
        (r"x{0,2}", ()),
        ("naïve", ("na",)),
    ],
)
def test_of_a_pattern_the_words_are_known_without_which_it_matches_nothing(
    pattern: str, words: tuple[str, ...]
) -> None:
    assert needles(compiled(pattern).pattern) == words


def test_a_text_in_which_a_pattern_matches_has_its_words() -> None:
    """Every pattern of the catalogue on every sentence that proves a reading, also in capitals."""
    readings = {r.id: r for name in scenario_ids() for r in scenario(name).notes}.values()
    texts = {e.text for r in readings for e in r.examples}
    texts |= {text.upper() for text in texts}
    matched = 0
    for pattern in {each for reading in readings for each in written(reading)}:
        expression = compiled(pattern)
        words = needles(expression.pattern)
        for text in texts:
            if not may_match(words, in_small(text)):
                assert not expression.search(text), (pattern, text)
            else:
                matched += 1
    assert matched > 1000


def test_where_case_is_more_than_that_of_ascii_letters_nothing_is_left_out() -> None:
    """`re` takes the long s for an s, and the Kelvin sign for a k."""
    assert compiled("stroke").search("\u017ftro\u212ae")
    assert may_match(needles("stroke"), in_small("\u017ftro\u212ae"))
    assert not may_match(needles("stroke"), in_small("naïve"))
