"""The one tool of a tumour board, `read_chart_section`.

Source: Causal Sensitivity Score §2.3 (ten sections of 8 KB).
"""

import hashlib
from collections.abc import Mapping

from pydantic import Field

from chartproof.errors import ToolRefusal
from chartproof.records.trace import Answer, Row
from chartproof.tools.tool import Request, Tool


class ReadChartSection(Request):
    """Which section to read."""

    section: str = Field(description="one of the ten names")


def answer(shown: Mapping[str, str], request: ReadChartSection) -> Answer:
    """Read one section of this patient's chart, at most 8 KB of it.

    Sections are demographics, diagnoses, biomarkers, medications, procedures, encounters, labs,
    vitals, allergies and overview. Where a section is longer, its newest entries are shown, and a
    line says how many are not.
    """
    name = request.section.strip().lower()
    if name not in shown:
        raise ToolRefusal(
            f"There is no section `{request.section[:100]}`.",
            remedy=f"Read one of: {', '.join(shown)}.",
        )
    body = shown[name]
    row = Row(ref=f"section:{name}", cells={"bytes": len(body.encode()), "sha256": _digest(body)})
    return Answer(columns=("bytes", "sha256"), rows=(row,), text=body)


def text(call: int, tool: str, given: Answer) -> str:
    """The answer as an agent reads it: a headline, then the section as it stands.

    The row holds the digest of the section rather than the section, so that a trace holds it once.
    A text that is not the row's gives the headline alone, which is no answer that was ever given.
    """
    (row,) = given.rows
    head = f"call {call} · {tool} · {row.ref.removeprefix('section:')}\n"
    body = given.text.removeprefix(head)
    return head + body if _digest(body) == row.cells["sha256"] else head


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


TOOL = Tool(
    name="read_chart_section", request=ReadChartSection, answer=answer, reads="packet", text=text
)
