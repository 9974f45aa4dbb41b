"""Turn a report into a page on which every citation leads to what it cites.

A report is hostile text: Markdown is rendered with HTML, images and links switched off, so that a
page loads nothing and leads nowhere that the report names; what it wrote stays as text. Citations
are replaced by placeholders before and by our own links after, and no page runs any script.
"""

import re
from collections.abc import Collection, Mapping
from html import escape
from typing import NamedTuple

from markdown_it import MarkdownIt

from chartproof.records.report import CallCitation, PolicyCitation, RowCitation
from chartproof.reports.citations import BRACKET, Citation, read

_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable("table")
    .disable(["image", "link", "autolink", "reference"])
)
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Private-use characters that mark a citation while Markdown is rendered."""
_SLOT = re.compile(f"{_OPEN}(\\d+){_CLOSE}")


class PolicyPage(NamedTuple):
    """The page of a policy document."""

    page: str
    """Its name, without ending."""
    lines: int


def anchor(ref: str, line: int | None = None) -> str:
    """The id on a page of a row, or of a line of a note."""
    return f"{ref}-L{line}" if line else ref.replace(" ", "-")


def render(
    text: str, *, on_page: Collection[str], policies: Mapping[str, PolicyPage], policy_root: str
) -> str:
    """HTML of a report.

    Args:
        text: Markdown as the agent wrote it.
        on_page: Ids that the page has; a citation of any other row was never retrieved.
        policies: The documents that the run could read, by id.
        policy_root: Relative path to the folder of policy pages.
    """
    links: list[str] = []

    def slot(bracket: re.Match[str]) -> str:
        cited = read(bracket[1])
        if not cited:
            return bracket[0]
        links.append("".join(_link(each, on_page, policies, policy_root) for each in cited))
        return f"{_OPEN}{len(links) - 1}{_CLOSE}"

    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    html = str(_MARKDOWN.render(BRACKET.sub(slot, clean)))
    return _SLOT.sub(lambda mark: links[int(mark[1])], html)


def _link(
    cited: Citation, on_page: Collection[str], policies: Mapping[str, PolicyPage], policy_root: str
) -> str:
    label = f"[{escape(_name(cited))}]"
    match cited:
        case RowCitation(ref=ref, lines=lines):
            spots = [anchor(ref, lines[0] if lines else None), anchor(ref)]
            spot = next((each for each in spots if each in on_page), None)
            why = "never retrieved in this run"
        case CallCitation(call=call):
            spot = f"call-{call}" if f"call-{call}" in on_page else None
            why = "there is no such call"
        case PolicyCitation(document=document, lines=lines):
            policy = policies.get(document)
            if policy and (lines is None or 1 <= lines[0] <= lines[1] <= policy.lines):
                line = f"#L{lines[0]}" if lines else ""
                page = f"{policy_root}/{escape(policy.page)}.html{line}"
                return f'<a class="cite policy" href="{page}">{label}</a>'
            spot = None
            why = f"it has {policy.lines} lines" if policy else "there is no such document"
    if spot is None:
        return f'<span class="cite never" title="{why}">{label}</span>'
    return f'<a class="cite" href="#{escape(spot)}">{label}</a>'


def _name(cited: Citation) -> str:
    match cited:
        case RowCitation(ref=ref, lines=lines):
            name = ref
        case CallCitation(call=call):
            return f"call:{call}"
        case PolicyCitation(document=document, lines=lines):
            name = f"policy: {document}"
    if lines is None:
        return name
    first, last = lines
    return f"{name} L{first}" + (f"-L{last}" if last != first else "")
