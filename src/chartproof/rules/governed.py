"""What was done to which drug: the verbs of a sentence, and the drugs that each of them governs.

A verb reaches the drugs that it governs: in front of it where it is passive or stands right behind
them (`metoprolol held`), else behind it, up to the end of its clause or the next verb. One without
a drug of its own goes on about the subject (`…, and was therefore stopped`). The words stand in
`intents.yaml`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, cast

import yaml

from chartproof.rules.drugs import Named
from chartproof.rules.statements import compiled

Governed = list[tuple[str, Named]]
"""Drugs of one verb, each with the intent that the verb has for it."""

_APPOSED = re.compile(
    r"(?:[\s:(–-]|doses?|home|therapy|drip|gtt|was|were|[\d.,]+(?: ?(?:mg|mcg|units?))?"
    r"|daily|bid)*",
    re.IGNORECASE,
)
_UNTIED = re.compile(r"\b(?:and|or|we|you)\W*$", re.IGNORECASE)


@dataclass(frozen=True)
class Verb:
    """A verb and where it stands; `forward` is one that never reaches back."""

    intent: str
    start: int
    end: int
    forward: bool


@cache
def words() -> dict[str, Any]:
    """The words by which prose says what was done with a drug."""
    text = (files("chartproof.rules") / "intents.yaml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


def governed(text: str, targets: Sequence[Named]) -> list[tuple[Verb, Governed]]:
    """The verbs of a sentence with what each of them governs, in order."""
    verbs = _verbs(text)
    reached: list[Governed] = []
    for n, verb in enumerate(verbs):
        before = verbs[n - 1].end if n else 0
        after = verbs[n + 1].start if n + 1 < len(verbs) else len(text)
        mine = _governed(text, verb, before, after, targets)
        if n and not mine and compiled(words()["joined"]).search(text[before : verb.start]):
            mine = [(verb.intent, target) for _, target in reached[-1]]
        elif n and not _goes_on(text, verb):
            reached[-1], mine = _parted(text, before, reached[-1], mine)
        reached.append(mine)
    return list(zip(verbs, reached, strict=True))


def _parted(text: str, begins: int, mine: Governed, next_: Governed) -> tuple[Governed, Governed]:
    """Share out drugs that two verbs reach for: those behind the last `and` go to the second."""
    both = {t.start for _, t in mine} & {t.start for _, t in next_}
    shared_out = sorted(start for start in both if start >= begins)
    if not shared_out:
        return mine, next_
    between = text[shared_out[0] : shared_out[-1]]
    cuts = [m.end() for m in compiled(words()["parted"]).finditer(between)]
    cut = shared_out[0] + (cuts[-1] if cuts else 0)
    return (
        [(i, t) for i, t in mine if t.start not in shared_out or t.start < cut],
        [(i, t) for i, t in next_ if t.start not in shared_out or t.start >= cut],
    )


@cache
def _verb(pattern: str, *, bare: bool) -> re.Pattern[str]:
    return compiled(pattern if bare else rf"(?<![\w/-])(?:{pattern})(?![\w/-])")


def _chained(text: str, targets: Sequence[Named], verb: Verb, *, behind: bool) -> list[Named]:
    """The drugs next to a verb, as far as nothing but small words stands between them."""
    between, purpose = words()["between"], words()["purpose"]
    kept: list[Named] = []
    at = verb.end if behind else verb.start
    for target in targets if behind else reversed(targets):
        gap = text[at : target.start] if behind else text[target.end : at]
        allowed = between if behind or kept else f"{between}{purpose}{between}"
        if compiled(allowed).fullmatch(gap) is None:
            break
        kept.append(target)
        at = target.end if behind else target.start
    return kept if behind else kept[::-1]


def _verbs(text: str) -> list[Verb]:
    found = [
        Verb(each["intent"], match.start(), match.end(), bool(each.get("forward")))
        for each in words()["verbs"]
        for match in _verb(each["pattern"], bare=bool(each.get("bare"))).finditer(text)
    ]
    kept: list[Verb] = []
    for verb in sorted(found, key=lambda v: (v.start - v.end, v.start)):
        if all(verb.end <= other.start or verb.start >= other.end for other in kept):
            kept.append(verb)
    return sorted(kept, key=lambda v: v.start)


def _governed(text: str, verb: Verb, before: int, after: int, targets: Sequence[Named]) -> Governed:
    """The drugs that a verb speaks of, each with the intent that it has for them."""
    left = text[before : verb.start]
    cuts = [m.end() for m in compiled(words()["left_end"]).finditer(left)]
    left_from = max(before + (cuts[-1] if cuts else 0), _opened(text, verb))
    end = compiled(words()["right_end"]).search(text[verb.end : after].lstrip(": "))
    skipped = len(text[verb.end : after]) - len(text[verb.end : after].lstrip(": "))
    right_to = verb.end + skipped + end.start() if end else after
    passive = compiled(words()["passive"]).search(left) is not None and not verb.forward
    onto = compiled(words()["onto"]).search(text[verb.end : right_to]) is not None
    fore = [t for t in targets if left_from <= t.start and t.end <= verb.start]
    behind = [t for t in targets if verb.end <= t.start and t.end <= right_to]
    fore = _chained(text, fore, verb, behind=False)
    behind = _chained(text, behind, verb, behind=True)
    return _chosen(text, verb, fore, behind, targets, passive=passive, onto=onto)


def _chosen(
    text: str,
    verb: Verb,
    fore: list[Named],
    behind: list[Named],
    targets: Sequence[Named],
    *,
    passive: bool,
    onto: bool,
) -> Governed:
    """Of the drugs on both sides of a verb, those that it means."""
    moves = onto and verb.intent == "changed"
    mine, others = fore, [("new", t) for t in behind if moves]
    if passive and fore:
        if moves and _within(fore, behind):
            return [("changed", t) for t in behind]
        return [(verb.intent, t) for t in mine] + others
    if not fore and not verb.forward and (not behind or (passive and onto)):
        mine = _subject(text, verb, targets)
        if mine or (passive and others):
            return [(verb.intent, t) for t in mine] + others
    gap = text[fore[-1].end : verb.start] if fore else ""
    apposed = bool(fore) and _APPOSED.fullmatch(gap) is not None
    if verb.forward or not apposed or (behind and verb.intent in ("new", "treated")):
        mine = behind
    if not mine and not verb.forward and fore and _UNTIED.search(gap) is None:
        mine = fore
    return [(verb.intent, t) for t in mine]


def _opened(text: str, verb: Verb) -> int:
    """Where the sentence proper begins, behind an opening that gives a reason."""
    reason = compiled(words()["reasoned"]).match(text)
    return text.find(",", 0, verb.start) + 1 if reason else 0


def _goes_on(text: str, verb: Verb) -> bool:
    """Whether a verb goes on about a drug before it, rather than naming one."""
    left, right = text[: verb.start], text[verb.end :]
    return (
        compiled(words()["object"]).search(right) is not None
        or compiled(words()["inside"]).search(text[verb.start : verb.end]) is not None
        or compiled(words()["relative"]).search(left) is not None
        or compiled(words()["subject_goes_on"]).search(left) is not None
    )


def _within(wide: Sequence[Named], narrow: Sequence[Named]) -> bool:
    """Whether it is the same drug, or one of the class (`her insulin was changed to glargine`)."""
    names = {drug.ingredient for each in wide for drug in each.drugs}
    classes = {group for each in wide for group in each.groups}
    drugs = [drug for each in narrow for drug in each.drugs]
    return bool(drugs) and all(d.ingredient in names or d.group in classes for d in drugs)


def _subject(text: str, verb: Verb, targets: Sequence[Named]) -> list[Named]:
    """The drugs that a verb without one of its own goes on about.

    That is the drug before `which` or `it`, else the subject with which the sentence begins
    (`Metformin was thought the cause, and was therefore stopped`).
    """
    before = [each for each in targets if each.end <= verb.start]
    if not before or not _goes_on(text, verb):
        return []
    named = compiled(words()["object"]).search(text[verb.end :]) is not None
    if named or compiled(words()["subject_goes_on"]).search(text[: verb.start]) is None:
        return before[-1:]
    if compiled(words()["opening"]).fullmatch(text[: before[0].start]) is None:
        return []
    subject = before[:1]
    for each in before[1:]:
        gap = text[subject[-1].end : each.start]
        if compiled(r"(?:,|/| and| or|,? and)? (?:home |her |his )?").fullmatch(gap) is None:
            break
        subject.append(each)
    return subject
