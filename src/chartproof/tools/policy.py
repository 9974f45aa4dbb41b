"""The policy corpus: listed, searched and read by line."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer, Row, Scope
from chartproof.tools.corpus import Corpus
from chartproof.tools.listing import page_of
from chartproof.tools.render import PAGE
from chartproof.tools.tool import Paged, Tool, Word

HITS = 20
"""Lines that a search shows, the best first."""


class PolicyList(Paged):
    """Nothing to choose."""


class PolicySearch(Paged):
    """What to look for."""

    query: Word = Field(description="Words in any order: `creatinine rise 48 hours`.")


class PolicyRead(Paged):
    """Which document, which lines."""

    document: Word = Field(description="Id from `policy_list` or `policy_search`.")
    since_line: int | None = Field(default=None, ge=1, le=10**6, description="First line, from 1.")
    until_line: int | None = Field(default=None, ge=2, le=10**6, description="Line to stop before.")


def policy_list(corpus: Corpus, request: PolicyList) -> Answer:
    """List the policy documents: title, issuing body, year, number of lines."""
    rows = [
        {
            "ref": f"policy: {policy.id}",
            "title": policy.title,
            "body": policy.body,
            "year": policy.year,
            "lines": len(policy.lines),
        }
        for policy in corpus.policies.values()
    ]
    return _answer(rows, request.page, ("title", "body", "year", "lines"), items=None)


def policy_search(corpus: Corpus, request: PolicySearch) -> Answer:
    """Find the lines of policy documents that fit the words best; read around them to be sure."""
    rows = [
        {
            "ref": f"policy: {hit.document} L{hit.line}",
            "title": corpus.policies[hit.document].title,
            "text": corpus.policies[hit.document].lines[hit.line - 1],
            "line": hit.line,
        }
        for hit in corpus.search(request.query, HITS)
    ]
    return _answer(rows, request.page, ("title", "text"), items=(request.query,))


def policy_read(corpus: Corpus, request: PolicyRead) -> Answer:
    """Read a policy document by line. Cite as [policy: DOCUMENT L4-L7].

    since_line is included, until_line is not.
    """
    name = request.document.strip().removeprefix("policy:").strip()
    policy = corpus.policies.get(name)
    if policy is None:
        raise ToolRefusal(
            f"There is no policy document `{name}`.", remedy="See `policy_list` for the ids."
        )
    first = request.since_line or 1
    last = min(request.until_line or len(policy.lines) + 1, len(policy.lines) + 1)
    if first >= last:
        raise ToolRefusal(
            f"{name} has {len(policy.lines)} lines; {first} to {last} holds none.",
            remedy="Ask for lines that it has.",
        )
    rows = [
        {"ref": f"policy: {name} L{n}", "line": n, "text": policy.lines[n - 1]}
        for n in range(first, last)
    ]
    return _answer(
        rows,
        request.page,
        ("line", "text"),
        items=(name,),
        notes=(f"{policy.title}, {policy.body} {policy.year}; {len(policy.lines)} lines",),
    )


def _answer(
    rows: list[dict[str, Any]],
    page: int,
    columns: Sequence[str],
    *,
    items: tuple[str, ...] | None,
    notes: tuple[str, ...] = (),
) -> Answer:
    shown = page_of(rows, page)
    pages = max(1, -(-len(rows) // PAGE))
    return Answer(
        columns=tuple(columns),
        rows=tuple(
            Row(ref=each["ref"], cells={k: v for k, v in each.items() if k != "ref"})
            for each in shown
        ),
        scope=Scope(
            tables=("policies",),
            items=items,
            complete=pages == 1,
            page=page,
            pages=pages,
            total=len(rows),
        ),
        notes=(*notes, *(() if rows else ("no line holds any of these words",))),
    )


TOOLS = (
    Tool("policy_list", PolicyList, policy_list, reads="corpus"),
    Tool("policy_search", PolicySearch, policy_search, reads="corpus"),
    Tool("policy_read", PolicyRead, policy_read, reads="corpus"),
)
