"""Which policies a home's runs read: what comes with the package, and the site's own."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from chartproof.catalog.importing import add as add_policy
from chartproof.catalog.read import corpus
from chartproof.errors import RunError
from chartproof.records.cell import CellInfo
from chartproof.records.policy import Policy
from chartproof.records.report import PolicyCitation
from chartproof.reports.citations import BRACKET, read
from chartproof.runs.verify import kept_in
from chartproof.tools.corpus import fingerprint, kept

__all__ = ["POLICIES", "Astray", "Corpora", "add_policy", "astray", "corpus_of"]

POLICIES = "policies"
"""Folder of a home that holds a site's own policies."""


def corpus_of(home: Path, folder: Path | None = None) -> dict[str, Policy]:
    """The policy corpus of a home, by id.

    Args:
        home: Its folder `policies/` is read, where it has one.
        folder: Read instead of that.

    Raises:
        SpecError: There is no such folder, or one of its documents is wrong.
    """
    own = home / POLICIES
    return corpus(folder if folder is not None else own if own.is_dir() else None)


class Astray(NamedTuple):
    """A citation of a policy that leads nowhere."""

    line: int
    """Of the text."""
    citation: str
    what: str


def astray(text: str, known: Mapping[str, Policy]) -> list[Astray]:
    """Citations in a text that name a policy, or lines of one, that does not exist."""
    return [
        Astray(n, bracket[1], what)
        for n, line in enumerate(text.splitlines(), start=1)
        for bracket in BRACKET.finditer(line)
        for cited in read(bracket[1])
        if isinstance(cited, PolicyCitation) and (what := _wrong(cited, known))
    ]


def _wrong(cited: PolicyCitation, known: Mapping[str, Policy]) -> str:
    policy = known.get(cited.document)
    if policy is None:
        return f"names `{cited.document}`, which is no policy"
    if cited.lines is None:
        return ""
    first, last = cited.lines
    if first > last:
        return "names its lines backwards"
    if first < 1 or last > len(policy.lines):
        return f"names lines that {cited.document} does not have: it has {len(policy.lines)}"
    return ""


class Corpora:
    """The corpora that finished runs read, each read once.

    Args:
        present: The corpus as it is today, for runs beside which none is kept.
    """

    def __init__(self, present: Mapping[str, Policy]) -> None:
        self._known: dict[str, Mapping[str, Policy]] = {fingerprint(present): present}

    def of(self, folder: Path, mark: str) -> Mapping[str, Policy] | None:
        """The corpus with a fingerprint, kept beside the run in a folder; None where it is not.

        Raises:
            RunError: It was altered.
        """
        place = kept_in(folder)
        if mark not in self._known:
            found = kept(place, mark) if place and mark else None
            if found is None:
                return None
            self._known[mark] = found
        return self._known[mark]

    def read_by(self, folder: Path, cell: CellInfo) -> Mapping[str, Policy]:
        """The corpus that a finished run read.

        Raises:
            RunError: It is not kept, and today's is another.
        """
        found = self.of(folder, cell.digests.get("policies", ""))
        if found is None:
            raise RunError(
                f"The policies that the run in {folder} read are not kept beside it.",
                remedy="Remove that run's folder and run again.",
            )
        return found
