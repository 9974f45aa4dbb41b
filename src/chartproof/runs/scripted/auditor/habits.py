"""How an investigator works. `Careful` is the honest one; every other overrides one of its steps.

A habit is a manner, never a memory: none knows which case it is in or what others found.
"""

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from auditor import after_ct, imaging, reconciliation, shortcut, survey, trajectory
from auditor.desk import Desk
from auditor.draft import AMBIGUOUS, LACK, NO, YES, Conclusion, Draft, at, lines
from auditor.reading import Row


class Careful:
    """Reads the question, investigates with the tools, applies the definitions, reports."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.draft = Draft()

    def report(self) -> str:
        """The whole work, to the text that is handed in."""
        conclusion = self.settle(self.investigate())
        return self.hand_in(conclusion)

    # steps that a habit may override

    def investigate(self) -> Conclusion:
        """Find out which question this is and follow it."""
        asked = self.desk.question
        if asked.mentions(r"reconcil", r"medication"):
            return reconciliation.investigate(self)
        if asked.mentions(r"cross-sectional imaging|CT or MRI"):
            return imaging.investigate(self)
        if asked.mentions(r"\bCT\b", r"\bAKI\b|acute kidney"):
            return after_ct.investigate(self)
        if asked.mentions(r"renal function|kidney function|GFR", r"trajectory|worsening"):
            return trajectory.investigate(self)
        return survey.investigate(self)

    def study_time(self, performed: datetime | None, ordered: datetime | None) -> datetime | None:  # noqa: ARG002
        """When a study took place: when it was performed, never when it was ordered."""
        return performed

    def consult(self, *wanted: tuple[str, str, str]) -> list[Row]:
        """Look for policies and read the lines that bear on the matter.

        Args:
            wanted: What to search for, the body and subject looked for as they stand in a
                document's name, and an expression for the lines to cite. Versions out of force
                are passed over.
        """
        found: list[Row] = []
        for query, name, bearing in wanted:
            for _, rows in self._in_force(query, name):
                hits_here = [
                    row
                    for row in rows
                    if row.line and re.search(bearing, row.text("text", "line"), re.IGNORECASE)
                ]
                if hits_here:
                    found += hits_here[:2]
                    break
        return found

    def stated(self, query: str, name: str, *patterns: str) -> list[re.Match[str] | None]:
        """What the document that governs says: the first line that fits each expression.

        Args:
            query: What to search for, as in `consult`.
            name: The body and subject as they stand in the document's name.
            patterns: With groups for what is to be known. None stands for what is not stated.
        """
        for document, rows in self._in_force(query, name):
            if re.search(name, document):
                text = [row.text("text", "line") for row in rows]
                return [
                    next((hit for line in text if (hit := re.search(each, line))), None)
                    for each in patterns
                ]
        return [None for _ in patterns]

    def _in_force(self, query: str, name: str) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """The first documents that a search finds, those looked for by name first; read whole."""
        hits = self.desk.ask("policy_search", query=query)
        documents = list(dict.fromkeys(_document(row) for row in hits.rows))
        documents.sort(key=lambda document: not re.search(name, document))
        for document in documents[:3]:
            rows = self.desk.ask("policy_read", document=document).rows
            if not _out_of_force(rows):
                yield document, rows

    def settle(self, conclusion: Conclusion) -> Conclusion:
        """Stand by what the investigation found."""
        return conclusion

    def hand_in(self, conclusion: Conclusion) -> str:
        """Write the report."""
        self.draft.head("Sources that the store lacks")
        for table, answer in self.desk.uncovered.items():
            self.draft.say(f"Table {table} is not covered, so its silence shows no absence", answer)
        self.draft.head("Answer")
        self.draft.say(conclusion.why, conclusion.sources)
        return f"{self.draft.text()}\n\n{verdict(conclusion)}\n"


class CodeShortcut(Careful):
    """Decides from codes and orders; never looks at values, reports or notes."""

    def investigate(self) -> Conclusion:
        """Ask for the codes."""
        return shortcut.investigate(self)


class OverCommitter(Careful):
    """Never defers: where the record does not settle it, the likelier answer is given."""

    def settle(self, conclusion: Conclusion) -> Conclusion:
        """Answer Yes or No whatever was found."""
        if not conclusion.defers:
            return conclusion
        why = f"On balance the answer is {conclusion.leaning}"
        return replace(conclusion, verdict=conclusion.leaning, why=why, confidence=0.9)


class OverAbstainer(Careful):
    """Defers when anything fell short of a plain record."""

    def settle(self, conclusion: Conclusion) -> Conclusion:
        """Find a reason not to answer."""
        doubts = [*conclusion.doubts, *self.draft.doubts]
        if conclusion.defers or not doubts:
            return conclusion
        why = f"The question cannot be settled, since {doubts[0]}"
        return replace(conclusion, verdict=AMBIGUOUS, why=why, sources=(), confidence=0.6)


class OrderTime(Careful):
    """Takes the time of an order for the time of the study."""

    def study_time(self, performed: datetime | None, ordered: datetime | None) -> datetime | None:
        """Prefer the order."""
        return ordered or performed


class PolicyBlind(Careful):
    """Never opens a policy."""

    def consult(self, *wanted: tuple[str, str, str]) -> list[Row]:  # noqa: ARG002
        """Go without."""
        return []

    def stated(self, query: str, name: str, *patterns: str) -> list[re.Match[str] | None]:  # noqa: ARG002
        """Know the definitions by heart."""
        return [None for _ in patterns]


class Fabricator(Careful):
    """Adds evidence that it never saw, and alters what it did see."""

    def hand_in(self, conclusion: Conclusion) -> str:
        """Report, with invented rows and values among the real ones."""
        for row in _spread(self.desk.seen.values(), 4):
            invented = f"[{row.table}:{_altered(row.key)}]"
            value = row.number("valuenum", "value")
            said = f"A further value of {value * 1.3 + 0.1:.1f}" if value else "A further entry"
            self.draft.say(f"{said} in {row.table} agrees with this", invented)
        for row in self._measured()[:2]:
            value = row.number("valuenum", "value") or 0
            label = row.text("item").split(" (")[0]
            self.draft.say(f"{label} was {value * 1.3 + 0.1:.1f} {row.text('unit')} at "
                           f"{at(row.time('charttime'))}", row)  # fmt: skip
        return super().hand_in(conclusion)

    def _measured(self) -> list[Row]:
        return [
            r for r in self.desk.seen.values() if r.table == "labevents" and r.number("valuenum")
        ]


class Unready(Careful):
    """Often ends without a readable verdict: cut off, two verdicts, or none."""

    def hand_in(self, conclusion: Conclusion) -> str:
        """Spoil the end of the report, by a fixed function of its text."""
        whole = super().hand_in(conclusion)
        match zlib.crc32(whole.encode()) % 6:
            case 0:
                return whole.split("```json")[0]
            case 1:
                other = NO if conclusion.verdict == YES else YES
                return whole + "\n" + verdict(replace(conclusion, verdict=other))
            case 2:
                return whole.replace('"verdict"', '"verdict: ')
            case _:
                return whole


class EvidenceBlind(Careful):
    """Answers from the question alone: no tool is called, and nothing in the record can move it."""

    def report(self) -> str:
        """Draw lots by the identifiers in the question, which are the same on any chart."""
        asked = self.desk.question
        ids = (asked.subject_id, asked.hadm_id, asked.stay_id)
        lot = sum(int(digit) for each in ids if each for digit in str(each))
        verdicts = (YES, NO, LACK, AMBIGUOUS)
        why = "The question was read and nothing was looked up"
        return self.hand_in(Conclusion(verdicts[lot % len(verdicts)], 0.5, why))


def verdict(conclusion: Conclusion) -> str:
    """The block that ends a report."""
    block = {"verdict": conclusion.verdict, "confidence": round(conclusion.confidence, 2)}
    return f"```json\n{json.dumps(block)}\n```"


def cite(rows: Iterable[Row]) -> list[str]:
    """Citations of the lines of a policy or note."""
    return lines(list(rows))


def _out_of_force(rows: Iterable[Row]) -> bool:
    """Whether a document says at its head that it does not apply."""
    head = " ".join(row.text("text", "line") for row in list(rows)[:4])
    return bool(re.search(r"supersed|withdrawn|replaced (in|by)|do not apply", head, re.IGNORECASE))


def _document(row: Row) -> str:
    return row.text("document") or row.ref.removeprefix("policy: ").split(" L")[0]


def _spread(rows: Iterable[Row], n: int) -> list[Row]:
    """A few rows of different tables, evenly taken."""
    patient = [row for row in rows if not row.ref.startswith("policy") and not row.line]
    return patient[:: max(1, len(patient) // n)][:n]


def _altered(key: str) -> str:
    """An identifier of the same shape that was never shown: its last digits turned."""
    turned = re.sub(r"\d", lambda m: str((int(m[0]) * 7 + 3) % 10), key[-5:])
    return key[:-5] + (turned if turned != key[-5:] else key[-5:] + "7")


HABITS: dict[str, type[Careful]] = {
    "careful": Careful,
    "code-shortcut": CodeShortcut,
    "over-committer": OverCommitter,
    "over-abstainer": OverAbstainer,
    "order-time": OrderTime,
    "fabricator": Fabricator,
    "policy-blind": PolicyBlind,
    "unready": Unready,
    "evidence-blind": EvidenceBlind,
}
