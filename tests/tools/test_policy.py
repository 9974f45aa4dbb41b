from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.records.policy import Policy
from chartproof.tools.corpus import Corpus


def corpus(**documents: str) -> Corpus:
    return Corpus({
        name: Policy(
            id=name, title=name, body="House", year="2020", source="invented", digest="0",
            lines=tuple(text.split("\n")),
        )
        for name, text in documents.items()
    })  # fmt: skip


def test_a_document_is_read_by_line(ask: Any) -> None:
    answer = ask("policy_read", document="house-aki", since_line=2, until_line=3).answer
    assert answer.text.splitlines()[1:3] == [
        "ref | line | text",
        "[policy: house-aki L2] | 2 | A rise of creatinine by 0.3 mg/dL within 48 hours.",
    ]
    assert answer.scope.tables == ("policies",)
    assert answer.scope.items == ("house-aki",)


def test_every_document_is_listed(ask: Any) -> None:
    assert [row.ref for row in ask("policy_list").answer.rows] == [
        "policy: house-aki",
        "policy: house-imaging",
    ]


def test_an_unknown_document_is_refused(ask: Any) -> None:
    assert "See `policy_list`" in ask("policy_read", document="../../etc/passwd").answer.text


def test_the_rarer_word_and_the_shorter_line_come_first() -> None:
    # by hand: `anuria` stands in one line of three, `kidney` in all; of two lines with the same
    # word the shorter scores higher under BM25 (b = 0.75)
    found = corpus(a="kidney\nkidney and some more words about it\nkidney anuria").search(
        "kidney anuria", 9
    )
    assert [hit.line for hit in found] == [3, 1, 2]


@pytest.mark.parametrize("query", ['"', "a OR", "NEAR(", "*", "text:", "^", "AND", "-", "'; drop"])
def test_no_query_is_an_error(ask: Any, query: str) -> None:
    assert not ask("policy_search", query=query).refused


@given(st.text(min_size=1, max_size=60))
def test_any_text_is_a_query(query: str) -> None:
    for hit in corpus(a="one line\nanother line").search(query, 5):
        assert hit.line in (1, 2)
