"""The reference page of what notes can be asked to state: names only, no sentence.

`python -m chartproof.hospital.reference > docs/reference/notes.md` writes it anew. Sentences stay
out of it: whoever writes patterns that read notes may look here.
"""

import random
import sys
from collections.abc import Sequence

from chartproof.hospital.notes_phrases import Author, Pattern, patterns

_OPENING = """\
# What notes can say

<!-- Made by `python -m chartproof.hospital.reference`; change the phrases, not this page. -->

A recipe's `say` names a fact, a value and, where there is one, a state; `section` and `slots` are
free to give. An exam's `about` names a fact and `value` or `value/state`. How both are written:
[Write a scenario](../how-to/write-a-scenario.md). After each section stands how many sentences the
writer can choose from. Whoever adds a sentence must not have seen the patterns by which notes are
read.
"""


def page() -> str:
    """The page in Markdown: each fact, what can be said of it, where, with which slots."""
    parts = [_OPENING]
    words = set(Author("terse", female=True, rng=random.Random()).words())
    for fact, entries in sorted(patterns().items()):
        lines = [f"## `{fact}`\n", "| value | sections | slots |", "|---|---|---|"]
        kinds = sorted({(each.value, each.state or "") for each in entries})
        for value, state in kinds:
            same = [e for e in entries if (e.value, e.state or "") == (value, state)]
            slots = sorted({slot for each in same for slot in each.slots} - words)
            lines.append(
                f"| {value}{'/' if state else ''}{state} | {_sections(same)} "
                f"| {', '.join(f'`{slot}`' for slot in slots) or '–'} |"
            )
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _sections(entries: Sequence[Pattern]) -> str:
    places = [section for each in entries for section in each.sections]
    return ", ".join(f"{section} {places.count(section)}" for section in dict.fromkeys(places))


if __name__ == "__main__":
    sys.stdout.write(page())
