"""Read what a discharge summary says was done with a drug: stopped, held, changed, started, why.

A value is a JSON object `{intent, drug, class, at}`: `drug` names an ingredient, or `class` a class
of drugs (`her beta blocker was stopped`), and `at` is the place in the note, so that of several
statements on one drug the last can be told. Intents:

- `stopped`, `changed`, `new`, `continued`; `treated` – it was given, which tells why it is new;
- `held` – in hospital; `hold_planned` – to be held after discharge, or held with a plan;
- `restarted` – taken up again; `restart_planned` – to be taken up again; `restart_open` – whether
  it will be is left open;
- `indicated` – the text says what the drug is for; `end` – it gives a course its end.

Which drugs a verb speaks of stands in `governed.py`, the words in `intents.yaml`.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from chartproof.records.notes import Reading
from chartproof.rules.drugs import Named, named, unknown
from chartproof.rules.governed import Verb, governed, words
from chartproof.rules.medications import heading, lines
from chartproof.rules.medications import words as line_words
from chartproof.rules.passages import Passage, passages
from chartproof.rules.statements import Mention, Note, asserted, compiled, shared

_LISTS = ("admission_medications", "discharge_medications")
_ASSERTED = ("family", "other_person", "copied", "other_encounter")


def read(reading: Reading, note: Note) -> list[Mention]:  # noqa: ARG001  the reader's form
    """Statements of intent of a discharge summary."""
    others = {
        unknown(line.name)
        for *_, line in lines(note, _LISTS)
        if line.drug is not None and line.group is None and len(line.name) > 3
    }
    found: list[Mention] = []
    group: str | None = None
    section = ""
    last: list[Named] = []
    for passage in passages(note.text):
        if passage.section != section:
            group, section, last = None, passage.section, []
        if section in words()["skip_sections"]:
            continue
        flat = " ".join(passage.text.split())
        above = heading(flat)
        if above is not None:
            group = above
            continue
        targets = _named(passage.text, others) or _taken_up(passage.text, last)
        last = targets
        if not targets:
            if not passage.text.lstrip().startswith(("-", "*", "•")):
                group = group if section in _LISTS else None
            continue
        prose = (
            section not in _LISTS or compiled(line_words()["not_taken"]).search(flat) is not None
        )
        said = _sentence(passage, targets) if prose else []
        found += said or _listed(passage, targets, group)
    return list(dict.fromkeys(found))


def _named(text: str, others: set[str]) -> list[Named]:
    """Drugs and classes of a sentence, without a class that only tells what the drug beside it is.

    `Her beta blocker (metoprolol)` is metoprolol; `NSAIDs such as ibuprofen` are all of them.
    """
    kept: list[Named] = []
    for each in named(text, others):
        last = kept[-1] if kept else None
        if last is not None and last.groups and each.drugs and _same(text, last, each):
            kept[-1] = replace(each, start=last.start)
        elif last is not None and last.drugs and each.groups and _same(text, each, last):
            kept[-1] = replace(last, end=each.end)
        else:
            kept.append(each)
    return kept


def _same(text: str, group: Named, drug: Named) -> bool:
    """Whether a class and a drug next to it are one thing."""
    if not any(each.group in group.groups for each in drug.drugs):
        return False
    first = group if group.start < drug.start else drug
    if first is group and text[: group.end].lower().endswith("s"):
        return False
    gap = text[first.end : max(group.start, drug.start)]
    return compiled(words()["is_class" if first is drug else "is_drug"]).fullmatch(gap) is not None


def _taken_up(text: str, last: Sequence[Named]) -> list[Named]:
    """The drugs of the sentence before, where this one goes on about them (`It was stopped.`)."""
    match = compiled(words()["anaphora"]).search(text)
    if match is None:
        return []
    start, end = match.span(match.lastgroup or 0)
    return [replace(each, start=start, end=end) for each in last]


def _mention(passage: Passage, intent: str, target: Named) -> Iterator[Mention]:
    pairs = [(drug.ingredient, None) for drug in target.drugs] or [(None, g) for g in target.groups]
    for drug, group in pairs:
        yield Mention(
            json.dumps(
                {
                    "intent": intent,
                    "drug": drug,
                    "class": group,
                    "at": passage.start + target.start,
                },
                sort_keys=True,
            ),
            passage.section,
            passage.line_from,
            passage.line_to,
            " ".join(passage.text.split()),
        )


def _listed(passage: Passage, targets: Sequence[Named], group: str | None) -> list[Mention]:
    """What the heading above an item makes of its first drug; a held item of the discharge list."""
    first = targets[0]
    if compiled(line_words()["held"]).search(passage.text) and passage.section in _LISTS:
        return list(_mention(passage, "hold_planned", first))
    intent = {"stopped": "stopped", "held": "hold_planned", "changed": "changed", "new": "new"}.get(
        group or ""
    )
    return list(_mention(passage, intent, first)) if intent is not None else []


def _sentence(passage: Passage, targets: Sequence[Named]) -> list[Mention]:
    found: list[Mention] = []
    verbs = governed(passage.text, targets)
    for target in targets:
        meant = [
            _meant(passage, verb, intent, target)
            for verb, drugs in verbs
            for intent, each in drugs
            if each == target
        ]
        for intent in _settled([each for each in meant if each is not None]):
            found += _mention(passage, intent, target)
    for target in targets:
        if _foreign(passage, target):
            continue
        if compiled(words()["indication"]).search(passage.text[target.end :]):
            found += _mention(passage, "indicated", target)
        if compiled(line_words()["course_end"]).search(passage.text):
            found += _mention(passage, "end", target)
    return found


def _settled(meant: Sequence[str]) -> list[str]:
    """What one sentence comes to.

    Not to be resumed is stopped, off until then is a plan to hold; of what else was done, the last
    counts, and going on says nothing beside it.
    """
    off = {"stopped", "held", "hold_planned"}
    if {"restart_planned", "restart_open"} & set(meant) and off & set(meant):
        ahead = ("restart_planned", "restart_open")
        meant = [*(each for each in meant if each not in off and each not in ahead), "hold_planned"]
    elif "stopped" in meant and meant[-1] != "restarted":
        meant = [each for each in meant if each not in ("held", "hold_planned")]
    last = [each for each in meant if each in off or each == "restarted"]
    meant = [each for each in meant if each not in last] + last[-1:]
    if "new" in meant:
        meant = [each for each in meant if each not in ("changed", "treated")]
    if last[-1:] == ["stopped"]:
        meant = [each for each in meant if each != "changed"]
    if off & set(meant) or {"changed", "new", "restarted"} & set(meant):
        meant = [each for each in meant if each != "continued"]
    return list(dict.fromkeys(meant))


def _foreign(passage: Passage, target: Named, verb: Verb | None = None) -> bool:
    """Whether the words are about another person, another time or another stay."""
    own = ("negated", "hypothetical", "historical")
    if asserted(passage, (target.start, target.end), shared().cues, own) in _ASSERTED:
        return True
    if any(compiled(words()[n]).search(passage.text) for n in ("other_encounter", "others")):
        return True
    begins = min(target.start, verb.start) if verb else target.start
    ends = max(target.end, verb.end) if verb else target.end
    return compiled(words()["historical"]).search(_clause(passage.text, begins, ends)) is not None


def _clause(text: str, begins: int, ends: int) -> str:
    """The clause around a span, with the phrase that opens the sentence (`Two years ago, …`)."""
    breaks = list(compiled(words()["clause"]).finditer(text))
    start = max((m.end() for m in breaks if m.end() <= begins), default=0)
    stop = min((m.start() for m in breaks if m.start() >= ends), default=len(text))
    opening = text[: text.find(",")] if "," in text else ""
    dated = compiled(words()["historical"]).match(opening) is not None
    return (opening + " | " if dated else "") + text[start:stop]


def _meant(passage: Passage, verb: Verb, intent: str, target: Named) -> str | None:
    """The intent as the sentence means it, None where it says nothing of the kind."""
    left = passage.text[: verb.start]
    if _void(passage, verb, intent, target):
        return None
    if compiled(words()["negated"]).search(left):
        forbidden = intent == "restart" and compiled(words()["forbidden"]).search(left)
        untouched = "continued" if intent in ("stopped", "held", "changed") else None
        return "hold_planned" if forbidden else untouched
    if intent == "sent":
        return _sent(passage.text, verb, target)
    behind = passage.text[max(verb.end, target.end) :]
    if intent == "treated" and compiled(words()["at_usual"]).search(behind):
        return "continued"
    if intent in ("new", "treated") and compiled(words()["again"]).search(behind):
        intent = "restart"
    if intent == "restart":
        return _restart(passage.text, verb)
    return None if _idle(passage.text, verb, intent) else _done(passage, verb, intent, target)


def _sent(text: str, verb: Verb, target: Named) -> str:
    """Sent home with a drug: as before, or new where the sentence says so or gives a course."""
    if compiled(words()["usual"]).search(text[verb.end : target.start]):
        return "continued"
    course = compiled(line_words()["course_end"]).search(text)
    return "new" if course or compiled(words()["newness"]).search(text) else "treated"


def _restart(text: str, verb: Verb) -> str:
    """Whether a drug has been, will be, or may be taken up again."""
    left, right = text[: verb.start], text[verb.end :]
    undecided = compiled(words()["undecided"]).search(left)
    if undecided or compiled(words()["undecided_behind"]).search(right):
        return "restart_open"
    if compiled(words()["at_once"]).search(right):
        return "restarted"
    ahead = compiled(words()["future"]).search(left) or compiled(words()["ahead"]).search(right)
    plain = text[verb.start : verb.end].lower() in ("restart", "resume")
    return "restart_planned" if ahead or plain else "restarted"


def _idle(text: str, verb: Verb, intent: str) -> bool:
    """Whether it is only thought of, hangs on a condition, or tells to go on by steps."""
    left, right = text[: verb.start], text[verb.end :]
    if text[verb.start : verb.end].lower() in words()["step"]:
        return True
    if compiled(words()["conditional"]).search(right):
        return intent != "continued" or compiled(words()["unless_told"]).search(right) is None
    if compiled(words()["allowed"]).search(left):
        return False
    if intent in ("held", "continued") and compiled(words()["intended"]).search(left):
        return False
    return compiled(words()["hypothetical"]).search(left) is not None


def _done(passage: Passage, verb: Verb, intent: str, target: Named) -> str:
    clause = _clause(passage.text, verb.start, max(verb.end, target.end))
    for_now = compiled(words()["for_now"]).search(clause)
    at_discharge = passage.section in words()["discharge_sections"]
    planned = at_discharge or compiled(words()["planned"]).search(passage.text)
    if (intent == "stopped" and for_now) or (intent == "held" and planned):
        return "hold_planned"
    return intent


def _void(passage: Passage, verb: Verb, intent: str, target: Named) -> bool:
    """Whether the verb says nothing of what the patient goes home on."""
    text = passage.text
    left = text[: verb.start]
    around = text[max(0, verb.start - 1) : verb.end + 60]
    if intent == "held" and compiled(words()["parameters"]).search(around):
        return True
    if compiled(words()["before"]).search(left) or _foreign(passage, target, verb):
        return True
    groups = {drug.group for drug in target.drugs} | set(target.groups)
    if groups & set(words()["inpatient_classes"]):
        return True
    in_hospital = (
        bool({drug.ingredient for drug in target.drugs} & set(words()["hospital_only"]))
        or compiled(words()["inpatient_before"]).search(text[: target.start]) is not None
    )
    if in_hospital and passage.section not in words()["discharge_sections"]:
        return compiled(words()["goes_home"]).search(text) is None
    return compiled(words()["inpatient"]).search(text[target.end :]) is not None
