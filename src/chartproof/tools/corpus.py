"""The policy corpus as the tools see it: documents by id, and an index by line."""

import contextlib
import hashlib
import re
import secrets
import sqlite3
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import TypeAdapter, ValidationError

from chartproof.errors import RunError, mend
from chartproof.records.policy import Policy
from chartproof.records.record import misfit
from chartproof.records.trace import canonical, digest

WORDS = 64
"""Different words of a query that are looked for."""
TOKENS = 60
"""Words of a line that a search shows around what fits; FTS5 takes 64 at most."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that a search found, and the part of it that fits."""

    document: str
    line: int
    score: float
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes:
        hits: The best lines, the best first.
        total: Lines that hold any of the words.
        words: Different words in the query.
    """

    hits: tuple[Hit, ...]
    total: int
    words: int


class Corpus:
    """Policies by id, searchable by line (BM25). The index is built at the first search."""

    def __init__(self, policies: Mapping[str, Policy]) -> None:
        self.policies = dict(sorted(policies.items()))
        self._lock = Lock()

    def search(
        self, query: str, limit: int, document: str | None = None, *, skip: int = 0
    ) -> Found:
        """The lines that hold any of the words, best first; any text is a safe query.

        Args:
            query: Words. What is no letter, digit or underscore sets them apart.
            limit: Lines at most.
            document: Only in this one.
            skip: Of the lines found, so many better ones are left out.
        """
        words = list(dict.fromkeys(re.findall(r"\w+", query.lower())))
        if not words:
            return Found((), 0, 0)
        # a title counts like a line: it is by its title that a document is asked for;
        # every word is quoted, so that no operator of the query language can be spelled
        match = " OR ".join(f'"{word}"' for word in words[:WORDS])
        where = "lines match ?" + ("" if document is None else " and document = ?")
        given = (match,) if document is None else (match, document)
        with self._lock:
            ((total,),) = self._index.execute(f"select count(*) from lines where {where}", given)
            rows = self._index.execute(
                f"select document, line, bm25(lines), snippet(lines, 3, '', '', '…', {TOKENS}) "
                f"from lines where {where} order by 3, document, line limit ? offset ?",
                (*given, limit, skip),
            ).fetchall()
        return Found(
            tuple(Hit(d, n, -score, text) for d, n, score, text in rows), total, len(words)
        )

    def heading(self, document: str, line: int) -> str:
        """The heading above a line; empty where there is none, or the line is one."""
        starts, titles = self._headings[document]
        at = bisect_right(starts, line)
        return titles[at - 1] if at and starts[at - 1] != line else ""

    @cached_property
    def _headings(self) -> dict[str, tuple[list[int], list[str]]]:
        return {
            name: ([s.line for s in policy.sections], [s.title for s in policy.sections])
            for name, policy in self.policies.items()
        }

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


KEPT = "corpus"
"""Folder of a study in which the corpora of its runs are kept, each under its fingerprint."""
_POLICIES = TypeAdapter(dict[str, Policy])


def fingerprint(policies: Mapping[str, Policy]) -> str:
    """SHA-256 of a corpus: of all that its documents say."""
    return digest(_plain(policies))


def keep(folder: Path, policies: Mapping[str, Policy]) -> Path:
    """Keep a corpus beside the runs that read it, so that they can be graded and made again.

    The file's name is the SHA-256 of its bytes, which is the fingerprint. One that is there already
    is left alone.

    Raises:
        RunError: The folder cannot be written.
    """
    path = folder / f"{fingerprint(policies)}.json"
    if path.exists():
        return path
    half = folder / f".{path.name}.{secrets.token_hex(8)}"  # other threads may keep the same
    try:
        folder.mkdir(parents=True, exist_ok=True)
        half.write_text(canonical(_plain(policies)), encoding="utf-8")
        half.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            half.unlink(missing_ok=True)
        raise RunError(
            f"The policies of the run could not be kept in {folder}: {error.strerror}.",
            remedy=mend(error, "run again"),
        ) from error
    return path


def kept(folder: Path, mark: str) -> dict[str, Policy] | None:
    """The corpus of a fingerprint; None where none is kept under it.

    Raises:
        RunError: It is not what was kept.
    """
    path = folder / f"{mark}.json"
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(
            f"{path} cannot be read: {error.strerror}.", remedy="Make it readable."
        ) from error
    try:
        if hashlib.sha256(raw).hexdigest() == mark:
            return _POLICIES.validate_json(raw)
        why = "was altered: its digest is not its name"
    except ValidationError as error:
        why = f"is no corpus: {misfit(error)}"
    raise RunError(f"{path} {why}.", remedy="Take it from a copy of the study, or run again.")


def _plain(policies: Mapping[str, Policy]) -> dict[str, Any]:
    return {name: policy.model_dump(mode="json") for name, policy in sorted(policies.items())}
