"""Medication lists of a summary, and what it says of their differences.

A planned regimen is told as planned. Without a plan the lists are made up from the ED's home list,
or from the orders, and every change is explained.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from chartproof.errors import SpecError
from chartproof.hospital.notes_page import Label, Phrase
from chartproof.hospital.notes_patient import Admission
from chartproof.hospital.notes_phrases import Author, Pattern, capital, data
from chartproof.records.recipe import Medication, Regimen

_HOME = Label("home-line", "home_medication_list", "stated")
_DISCHARGE = Label("discharge-line", "discharge_medication_list", "stated")


@dataclass
class Changes:
    """What is said of medications, by place."""

    course: list[Phrase] = field(default_factory=list)
    transitional: list[Phrase] = field(default_factory=list)
    letter: list[Phrase] = field(default_factory=list)

    def add(self, section: str, phrase: Phrase) -> None:
        """Put a sentence in its place."""
        place = {"transitional": self.transitional, "dinstr": self.letter}
        place.get(section, self.course).append(phrase)


def home_lines(medications: Sequence[Medication], author: Author) -> list[Phrase]:
    """Lines of the admission list, in no particular order."""
    listed = [m for m in medications if m.home is not None and "note" in m.home_in]
    author.rng.shuffle(listed)
    return [
        Phrase(f"{n}. {_regimen(m.home_name or m.drug, m.home)} ", (_HOME,))
        for n, m in enumerate(listed, 1)
        if m.home is not None
    ]


def discharge_lines(medications: Sequence[Medication], author: Author) -> list[Phrase]:
    """Lines of the discharge list; a held drug may stand among them as held."""
    lines: list[Phrase] = []
    for m in author.rng.sample(medications, len(medications)):
        n = len(lines) + 1
        if m.discharge is not None:
            text = f"{n}. {_regimen(m.drug, m.discharge)} "
            if m.discharge.duration_days is not None:
                text += f"Duration: {m.discharge.duration_days} Days "
            lines.append(Phrase(text, (_DISCHARGE,)))
        elif m.intent == "held" and m.reason and m.home and author.chance(0.5):
            until = _until(m, author)
            text = (
                f"{n}. HELD- {_regimen(m.drug, m.home)} This medication was held. \n"
                f"Do not restart {m.drug} until {until}"
            )
            label = Label("held-line", "med_intent_held", "stated", "restart")
            lines.append(Phrase(text, (label,)))
    return lines


def changes(medications: Sequence[Medication], author: Author) -> Changes:
    """Sentences on every change that the note explains, and on nothing else."""
    said = Changes()
    for m in medications:
        found = _intent(m)
        if found is None:
            continue
        fact, value, state = found
        slots = _slots(m, author)
        sections = author.one([("bhc",), ("bhc", "transitional"), ("transitional", "dinstr")])
        if state is not None:
            sections = ()
        pattern = author.pick(fact, value, state=state, sections=sections)
        _complete(m, pattern, slots)
        said.add(pattern.sections[0], author.say(pattern, slots))
        if value == "stated" and state is None and author.chance(0.5):
            again = author.pick(fact, value, sections=("dinstr", "bhc"))
            if again.id != pattern.id:
                _complete(m, again, slots)
                said.add(again.sections[0], author.say(again, slots))
    kept = [m for m in medications if m.intent == "continued" and m.home == m.discharge]
    if kept and author.chance(0.5):
        pattern = author.pick("med_intent_continued", "stated", sections=("bhc",))
        said.add("bhc", author.say(pattern, {"drug": plain(author.one(kept).drug)}))
    return said


def _complete(m: Medication, pattern: Pattern, slots: Mapping[str, Any]) -> None:
    """Refuse a plan that leaves open what its sentence says: a default would be a false dose."""
    for name in ("reason", "was", "now"):
        if name in pattern.slots and slots[name] is None:
            wanted = {"reason": "reason", "was": "home", "now": "discharge"}[name]
            raise SpecError(
                f"The medication `{m.drug}` is {m.intent} and has no `{wanted}`.",
                remedy=f"Give `{wanted}`, or the intent `silent`.",
            )


def invented(admission: Admission, author: Author) -> list[Medication]:
    """A regimen for a patient of whom none was planned; every change has its reason."""
    names = admission.home or tuple(
        d for d in admission.ordered if _known(d) and author.chance(0.6)
    )
    taken: set[str] = set()
    found: list[Medication] = []
    for name in names[:14]:
        drug = _known(name) or capital(name)
        if drug in taken:
            continue
        taken.add(drug)
        found.append(_kept_or_changed(drug, author))
    for name in admission.ordered:
        drug = _known(name)
        if drug and drug not in taken and _group(drug) == "minor" and author.chance(0.2):
            taken.add(drug)
            reason = author.one(["comfort", "constipation", "mild pain", "nutrition"])
            regimen = _usual(drug, author)
            found.append(Medication(drug=drug, discharge=regimen, intent="new", reason=reason))
    return found


def plain(drug: str) -> str:
    """A drug's name as prose has it."""
    return re.sub(r"\s*\(.*?\)", "", drug).lower()


def _kept_or_changed(drug: str, author: Author) -> Medication:
    home = _usual(drug, author)
    reasons = data("drugs")["reasons"].get(_group(drug))
    roll = author.rng.random()
    if reasons is None or roll > 0.14:
        return Medication(drug=drug, home=home, discharge=home, intent="continued")
    if roll < 0.05:
        return Medication(
            drug=drug, home=home, intent="stopped", reason=author.one(reasons["stop"])
        )
    if roll < 0.09:
        return Medication(drug=drug, home=home, intent="held", reason=author.one(reasons["hold"]))
    other = _usual(drug, author)
    if other.dose == home.dose:
        return Medication(drug=drug, home=home, discharge=home, intent="continued")
    return Medication(
        drug=drug,
        home=home,
        discharge=other,
        intent="changed",
        reason=author.one(reasons["change"]),
    )


def _intent(m: Medication) -> tuple[str, str, str | None] | None:
    """Fact, value and state that the note has to say, None where it is silent."""
    listed = None if m.reason else "listed"
    match m.intent:
        case "stopped":
            return "med_intent_stopped", "stated", listed
        case "held":
            return (
                ("med_intent_held", "stated", None)
                if m.reason
                else ("med_intent_held", "silent", "no_restart")
            )
        case "changed":
            return "med_intent_changed", "stated", listed
        case "new":
            return ("med_intent_started", "stated", None) if m.reason else None
        case "substituted":
            return ("med_intent_changed", "stated", "substituted") if m.reason else None
        case "silent" | "continued":
            return None


def _slots(m: Medication, author: Author) -> dict[str, Any]:
    return {
        "drug": plain(m.drug),
        "reason": m.reason,
        "other": plain(m.reason or ""),
        "was": _amount(m.home),
        "now": _amount(m.discharge),
        "restart": _until(m, author) if m.intent == "held" else None,
    }


def _until(m: Medication, author: Author) -> str:
    reasons = data("drugs")["reasons"].get(_group(_known(m.drug) or m.drug))
    key = f"until {m.drug}"
    if key not in author.known:
        author.known[key] = author.one(reasons["until"] if reasons else ["seen by your PCP"])
    return author.known[key]


def _amount(regimen: Regimen | None) -> str | None:
    if regimen is None:
        return None
    return f"{_number(regimen.dose)} {regimen.unit} {regimen.frequency}"


def _regimen(drug: str, regimen: Regimen) -> str:
    if regimen.dose is None:
        return f"{drug} unknown oral unknown"
    # the lists of a summary write the route that the patient uses at home
    route = "PO" if regimen.route == "PO/NG" else regimen.route
    return f"{drug} {_number(regimen.dose)} {regimen.unit} {route} {regimen.frequency}"


def _number(dose: object) -> str:
    return f"{dose:g}" if isinstance(dose, int | float) else str(dose)


def _usual(drug: str, author: Author) -> Regimen:
    known = data("drugs")["drugs"].get(drug)
    if known is None:
        return Regimen()
    dose, unit = author.one(known["doses"])
    return Regimen(
        dose=dose,
        unit=str(unit),
        route=known.get("route", "PO"),
        frequency=known["frequency"],
    )


def _group(drug: str) -> str:
    return str(data("drugs")["drugs"].get(drug, {}).get("as", ""))


@cache
def _known(name: str) -> str | None:
    """The drug of the phrase file that a name in a list or an order means."""
    low = name.lower()
    best: tuple[int, str] | None = None
    for drug, each in data("drugs")["drugs"].items():
        for alias in (drug.lower(), *each["also"]):
            if low.startswith(alias) and (best is None or len(alias) > best[0]):
                best = (len(alias), drug)
    return best[1] if best else None
