"""The policy corpus as the tools see it: documents by id, and an index by line."""

import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from chartproof.records.policy import Policy


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found, the best first."""

    document: str
    line: int
    score: float


class Corpus:
    """Policies by id, searchable by line (BM25). The index is built at the first search."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        self.policies = dict(sorted(policies.items()))

    def search(self, query: str, limit: int) -> list[Hit]:
        """The lines that hold any of the words, best first; any text is a safe query."""
        words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))[:64]
        if not words:
            return []
        # a title counts like a line: it is by its title that a document is asked for;
        # every word is quoted, so that no operator of the query language can be spelled
        match = " OR ".join(f'"{word}"' for word in words)
        found = self._index.execute(
            "select document, line, bm25(lines) from lines where lines match ? "
            "order by 3, document, line limit ?",
            (match, limit),
        )
        return [Hit(document, line, -score) for document, line, score in found]

    @cached_property
    def _index(self) -> sqlite3.Connection:
        index = sqlite3.connect(":memory:", check_same_thread=False)
        index.execute(
            "create virtual table lines using fts5(document unindexed, line unindexed, title, text,"
            " tokenize = 'porter unicode61')"
        )
        index.executemany(
            "insert into lines values (?, ?, ?, ?)",
            (
                (policy.id, n, policy.title, text)
                for policy in self.policies.values()
                for n, text in enumerate(policy.lines, start=1)
                if text.strip()
            ),
        )
        return index
