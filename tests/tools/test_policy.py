from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.catalog.read import policies
from chartproof.chart.chart import Chart
from chartproof.records.policy import Policy
from chartproof.records.trace import Called, Event
from chartproof.tools.corpus import Corpus
from chartproof.tools.gateway import Gateway
from chartproof.tools.policy import PolicyRead, PolicySearch, policy_read, policy_search


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
    assert [hit.line for hit in found.hits] == [3, 1, 2]


@pytest.mark.parametrize("query", ['"', "a OR", "NEAR(", "*", "text:", "^", "AND", "-", "'; drop"])
def test_no_query_is_an_error(ask: Any, query: str) -> None:
    assert not ask("policy_search", query=query).refused


@given(st.text(min_size=1, max_size=60))
def test_any_text_is_a_query(query: str) -> None:
    for hit in corpus(a="one line\nanother line").search(query, 5).hits:
        assert hit.line in (1, 2)


def test_a_list_names_sections_with_their_lines_and_the_digest_of_the_file(ask: Any) -> None:
    row = ask("policy_list").answer.rows[0]
    assert set(row.cells) == {"title", "body", "year", "lines", "sections", "sha256"}
    assert "sha256 of the file: " in ask("policy_read", document="house-aki").answer.text


def test_a_heading_in_a_fence_is_none_and_a_section_ends_at_the_next() -> None:
    policy = corpus(a="# One\nx\n```\n# no\n```\n## Two #\ny").policies["a"]
    assert policy.sections == (("One", 1, 6), ("Two", 6, 8))
    assert corpus(a="x").policies["a"].sections == ()


def test_a_line_is_shown_with_the_heading_above_it_and_a_long_one_in_part() -> None:
    long = " ".join(f"w{n}" for n in range(300)) + " kidney"
    made = corpus(a=f"# Kidney care\n{long}")
    found = made.search("kidney", 5)
    hit = next(hit for hit in found.hits if hit.line == 2)
    assert made.heading("a", 2) == "Kidney care"
    assert made.heading("a", 1) == ""
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("kidney")
    assert len(hit.snippet) < len(long) / 2


def test_shipped_lines_that_fit_are_shown_whole() -> None:
    # each document by itself, and the longest lines that fit: the whole corpus takes half a minute
    for policy in policies().values():
        alone = Corpus({policy.id: policy})
        fit = [(len(t.split()), n, t) for n, t in enumerate(policy.lines, 1) if len(t.split()) < 31]
        for _, n, text in sorted(fit)[-3:]:
            hits = alone.search(text, 100, policy.id).hits
            assert next(hit.snippet for hit in hits if hit.line == n) == text


def test_a_search_in_one_document_finds_no_other(ask: Any) -> None:
    found = ask("policy_search", query="creatinine imaging", document="[policy: x").answer
    assert "There is no policy document" in found.text
    found = ask("policy_search", query="creatinine imaging", document="policy: house-aki").answer
    assert found.rows
    assert {row.ref.split(" ")[1] for row in found.rows} == {"house-aki"}


def test_a_search_pages_and_reading_on_completes_it(full: Chart) -> None:
    text = "\n".join(f"kidney {n}" for n in range(30))
    events: list[Event] = []
    gateway = Gateway(full, corpus(a=text).policies, events.append)
    heads = [
        gateway.call("policy_search", {"query": "kidney", "page": page}).splitlines()[0]
        for page in (1, 2, 3)
    ]
    assert heads == [
        "call 1 · policy_search · rows 1–20 of 30 · page 1 of 2",
        "call 2 · policy_search · rows 21–30 of 30 · page 2 of 2",
        "call 3 · policy_search · refused",
    ]
    first, second, _ = (event.answer for event in events if isinstance(event, Called))
    assert (first.scope.complete, second.scope.complete) == (False, True)
    assert {row.ref for row in (*first.rows, *second.rows)} == {
        f"policy: a L{n}" for n in range(1, 31)
    }


def test_a_search_for_too_many_words_is_never_complete() -> None:
    many = " ".join(f"word{n}" for n in range(70)) + " kidney"
    answer = policy_search(corpus(a="kidney"), PolicySearch(query=many))
    assert (answer.rows, answer.scope.complete) == ((), False)
    assert any(note.startswith("of 71 different words the first 64") for note in answer.notes)


@pytest.mark.parametrize(
    "query", ["\0", "🫀", "a" * 20_000, "('\"" * 6_000, "\ud800", "_", "ⅷ ①", "text : a*"]
)
def test_a_query_of_any_length_and_kind_is_answered(ask: Any, query: str) -> None:
    assert not ask("policy_search", query=query).refused


def test_a_line_longer_than_a_cell_is_cut_and_said() -> None:
    answer = policy_read(corpus(a="x" * 5_000), PolicyRead(document="a"))
    assert len(answer.rows[0].cells["text"]) == 2_000
    assert not answer.scope.complete
