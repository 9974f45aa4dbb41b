"""The policy corpus: listed, searched and read by line."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from chartproof.errors import ToolRefusal
from chartproof.records.policy import Policy
from chartproof.records.trace import Answer, Row, Scope
from chartproof.tools.corpus import WORDS, Corpus
from chartproof.tools.listing import page_of, refuse_page
from chartproof.tools.render import CELL, PAGE, plain
from chartproof.tools.tool import Paged, Tool, Word

LISTED = 25
"""Documents on a page of the list: each is shown with its sections, which are long."""
HITS = 20
"""Lines on a page of a search, the best first."""
LONGEST = 20_000
"""Characters of a query."""


class PolicyList(Paged):
    """Nothing to choose but the page."""

    page: int = Field(
        default=1, ge=1, le=1_000_000, description=f"Page of {LISTED} documents, by id, from 1."
    )


class PolicySearch(Paged):
    """What to look for."""

    page: int = Field(
        default=1, ge=1, le=1_000_000, description=f"Page of {HITS} lines, the best on page 1."
    )
    query: str = Field(
        min_length=1,
        max_length=LONGEST,
        description="Words in any order: `creatinine rise 48 hours`.",
    )
    document: Word | None = Field(default=None, description="Only in this document.")


class PolicyRead(Paged):
    """Which document, which lines."""

    document: Word = Field(description="Id from `policy_list` or `policy_search`.")
    since_line: int | None = Field(default=None, ge=1, le=10**6, description="First line, from 1.")
    until_line: int | None = Field(default=None, ge=2, le=10**6, description="Line to stop before.")


def policy_list(corpus: Corpus, request: PolicyList) -> Answer:
    """List the policy documents: title, issuing body, year, sections with their first line.

    sha256 identifies the file that was read.
    """
    rows = [
        {
            "ref": f"policy: {policy.id}",
            "title": policy.title,
            "body": policy.body,
            "year": policy.year,
            "lines": len(policy.lines),
            "sections": _sections(policy),
            "sha256": policy.digest,
        }
        for policy in corpus.policies.values()
    ]
    columns = ("title", "body", "year", "lines", "sections", "sha256")
    return _answer(rows, request.page, columns, items=None, size=LISTED)


def _sections(policy: Policy) -> str:
    """The headings with their lines, as many as a cell holds."""
    shown: list[str] = []
    room = CELL - 40
    for n, section in enumerate(policy.sections):
        each = f"L{section.line} {section.title}"
        room -= len(each) + 3
        if room < 0:
            shown.append(f"… {len(policy.sections) - n} more")
            break
        shown.append(each)
    return " · ".join(shown)


def policy_search(corpus: Corpus, request: PolicySearch) -> Answer:
    """Find the lines of policy documents that fit the words best; read around them to be sure.

    Each line is shown with the heading above it; of a long line, the part that fits.
    """
    only = None if request.document is None else _document(corpus, request.document).id
    found = corpus.search(request.query, HITS, only, skip=(request.page - 1) * HITS)
    # of a query that was not looked for whole, no page is the last of what there is
    whole = found.words <= WORDS
    pages = max(1, -(-found.total // HITS)) if whole else 1
    if request.page > pages:
        refuse_page(request.page, found.total, pages)
    rows = [
        {
            "ref": f"policy: {hit.document} L{hit.line}",
            "title": corpus.policies[hit.document].title,
            "section": corpus.heading(hit.document, hit.line),
            "text": hit.snippet,
            "line": hit.line,
        }
        for hit in found.hits
    ]
    notes = (
        *(
            ()
            if whole
            else (
                f"of {found.words} different words the first {WORDS} were looked for; the best "
                f"{len(rows)} of {found.total} lines are shown",
            )
        ),
        *(() if found.words else ("the query holds no word",)),
        *(() if rows or not found.words else ("no line holds any of these words",)),
    )
    answer = _answer(rows, 1, ("title", "section", "text"), items=(request.query,), notes=notes)
    scope = answer.scope.model_copy(
        update={
            "complete": whole and pages == 1,
            "page": request.page,
            "pages": pages,
            "total": found.total,
        }
    )
    return answer.model_copy(update={"scope": scope})


def policy_read(corpus: Corpus, request: PolicyRead) -> Answer:
    """Read a policy document by line. Cite as [policy: DOCUMENT L4-L7].

    since_line is included, until_line is not.
    """
    policy = _document(corpus, request.document)
    name = policy.id
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
    about = f"{policy.title}, {policy.body} {policy.year}; {len(policy.lines)} lines"
    return _answer(
        rows,
        request.page,
        ("line", "text"),
        items=(name,),
        notes=(about, f"sha256 of the file: {policy.digest}"),
    )


def _document(corpus: Corpus, name: str) -> Policy:
    """The document of an id, as it is given or as it is cited.

    Raises:
        ToolRefusal: There is none.
    """
    id_ = name.strip().removeprefix("policy:").strip()
    policy = corpus.policies.get(id_)
    if policy is None:
        raise ToolRefusal(
            f"There is no policy document `{id_}`.", remedy="See `policy_list` for the ids."
        )
    return policy


def _answer(
    rows: list[dict[str, Any]],
    page: int,
    columns: Sequence[str],
    *,
    items: tuple[str, ...] | None,
    notes: tuple[str, ...] = (),
    size: int = PAGE,
) -> Answer:
    shown = page_of(rows, page, size)
    pages = max(1, -(-len(rows) // size))
    cut = any(len(str(each.get("text", ""))) > CELL for each in shown)
    return Answer(
        columns=tuple(columns),
        rows=tuple(
            Row(ref=each["ref"], cells={k: _cell(v) for k, v in each.items() if k != "ref"})
            for each in shown
        ),
        scope=Scope(
            tables=("policies",),
            items=items,
            complete=pages == 1 and not cut,
            page=page,
            pages=pages,
            total=len(rows),
        ),
        notes=(*notes, *((f"column text: a cell was cut at {CELL:,} characters",) * cut)),
    )


def _cell(value: Any) -> Any:
    value = plain(value)
    return value[: CELL - 1] + "…" if isinstance(value, str) and len(value) > CELL else value


TOOLS = (
    Tool("policy_list", PolicyList, policy_list, reads="corpus"),
    Tool("policy_search", PolicySearch, policy_search, reads="corpus"),
    Tool("policy_read", PolicyRead, policy_read, reads="corpus"),
)
