"""What a packet calls the facts of a patient: words drawn by name, so that a seed keeps them.

Synthetic; not reviewed by an oncologist; not for care. All words are data.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

from chartproof.oncology.dice import Dice
from chartproof.oncology.knowledge import Knowledge, knowledge
from chartproof.oncology.wording import Phrases, phrases, sentence, together, wrapped
from chartproof.records.board import Fact, State, Stratum
from chartproof.records.phrases import CancerPhrases, Course, Operation, Organ, Sex, Surface

FIRST = date(2023, 7, 3)
"""No diagnosis is earlier."""


class Teller:
    """How one packet says what is true: every draw by its name, every fact in its words.

    Args:
        state: What is true.
        seed: Of every draw.
        strata: Of the case.
    """

    def __init__(self, state: State, seed: int, strata: frozenset[Stratum]) -> None:
        self.state = state
        self.seed = seed
        self.latent = "latent" in strata
        self.hard = "hard" in strata
        self.dice = Dice(seed)
        self.words: Phrases = phrases()
        self.known: Knowledge = knowledge()
        self.of: CancerPhrases = self.words.cancers[state.cancer]
        self.first_day = FIRST + timedelta(days=self.dice.number("diagnosis", 0, 300))
        self.width = self.dice.number("width", 88, 98)
        self.hyphens = self.dice.share("hyphens") < 0.3
        self.sex: Sex = self.dice.pick("sex", self.of.sexes)
        self.setting = self.known.setting(state) or "localized"
        self.organ: Organ = self.dice.pick(
            "organ",
            [o for o in self.of.organs if self.fits(o)]
            or [o for o in self.of.organs if self.may_be(o)],
        )
        self.diagnosis = self.dice.pick("diagnosis name", self.of.diagnoses)
        self.operation: Operation = next(o for o in self.of.operations if self.fits(o))
        self.before: Course | None = next((c for c in self.of.neoadjuvant if self.fits(c)), None)

    def fits(self, what: Organ | Operation | Course) -> bool:
        """Whether the state is the one that a place, an operation or a course is for."""
        return all(
            str(self.state.facts.get(name)) == str(wanted) for name, wanted in what.when.items()
        )

    def may_be(self, organ: Organ) -> bool:
        """Whether nothing that the state tells speaks against it."""
        told = self.state.facts
        return all(name not in told or told[name] == is_ for name, is_ in organ.when.items())

    # words

    def fill(self, text: str) -> str:
        """A phrase with the organ in its slot."""
        return text.replace("{organ}", together(self.organ.organ))

    def title(self, text: str) -> str:
        """A phrase as a heading, which is never broken."""
        return self.fill(text).replace("~", " ")

    def picked(self, name: str, options: Sequence[str]) -> str:
        """One of several phrases, by the draw of that name."""
        return self.fill(self.dice.pick(name, options))

    def prose(self, *sentences: str) -> tuple[str, ...]:
        """Sentences as the lines of a paragraph."""
        return tuple(wrapped(sentence(sentences), self.width, hyphens=self.hyphens))

    def clinician(self, place: str) -> str:
        """Who saw the patient there."""
        return f"{together(self.dice.pick(place, self.words.common.clinicians))}~(synthetic)"

    def surface(self, name: str, value: Fact) -> Surface | None:
        """How a value of a fact is worded; None where it is not told."""
        values = self.words.markers.markers.get(name, {})
        if str(value) in values:
            return values[str(value)]
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return values.get("number") if number else None

    def line(self, name: str) -> str | None:
        """A fact as a line of a result; None where it is unknown or no result."""
        facts = self.state.facts
        if name not in facts:
            return None
        told = name
        for detail in self.known.model.details.get(name, ()):
            told = detail if detail in facts else told
        surface = self.surface(told, facts[told])
        if surface is None or not surface.lab:
            return None
        return self.dice.pick(f"{name}/lab", surface.lab).replace("{value}", str(facts[told]))

    def markers(self, place: str) -> list[str]:
        """Facts as a sentence of this place names them. A latent result is named nowhere."""
        facts = self.state.facts
        told: list[str] = []
        hidden: set[str] = set()
        for n, joint in enumerate(self.words.markers.joint):
            fits = all(facts.get(name) == value for name, value in joint.when.items())
            if fits and not self.latent and self.dice.share(f"{place}/joint/{n}") < 0.4:
                told.append(self.dice.pick(f"{place}/joint/{n}/words", joint.prose))
                hidden |= joint.when.keys()
        for name in self.of.told:
            if name in hidden or name not in facts:
                continue
            surface = self.surface(name, facts[name])
            if surface is None or not surface.prose or (self.latent and surface.lab):
                continue
            word = self.dice.pick(f"{place}/{name}", surface.prose)
            told.append(word.replace("{value}", str(facts[name])))
        return told

    def stage(self) -> str:
        """Stage group with T, N and M; empty where the cancer has none."""
        if not self.of.staged:
            return ""
        facts = self.state.facts
        local = str(facts.get("local_stage", "III" if self.state.M == "M1" else self.state.stage))
        nodes = self.nodes(local)
        group = self.words.common.stages[self.state.stage]
        return f"stage {group} (c{self.of.tumor[local]} c{nodes} c{self.state.M})"

    def nodes(self, local: str) -> str:
        """The N of a local stage."""
        told = self.state.facts.get("N")
        if told == "N0":
            return "N0"
        nodes = self.of.nodes[local]
        return "N1" if told == "N+" and nodes == "N0" else nodes

    def names(self, prior: Iterable[str]) -> str:
        """Treatments as a sentence names them."""
        as_told = self.words.medications.told_as
        return ", ".join(together(as_told.get(each, each.replace("_", " "))) for each in prior)

    # persons, dates and places

    def date(self, day: int) -> str:
        """The date of a day, counted from the diagnosis."""
        return (self.first_day + timedelta(days=day)).isoformat()

    def age(self) -> Fact:
        """Age at diagnosis."""
        return self.state.facts.get("age", self.dice.number("age", 44, 69))

    def person(self) -> str:
        """Woman or man."""
        return "woman" if self.sex == "Female" else "man"

    def lower(self, text: str) -> str:
        """A phrase within a sentence."""
        return text[0].lower() + text[1:]

    def comorbid(self) -> list[str]:
        """Sentences of what the patient has besides."""
        facts = self.state.facts
        told = [
            c.prose for name, c in self.words.common.comorbid.items() if facts.get(name) is True
        ]
        return [*told, f"LVEF {facts['LVEF']}%."] if "LVEF" in facts else told

    def site_names(self) -> list[str]:
        """Where distant disease is."""
        told = self.state.facts.get("sites")
        known = self.words.common.sites
        if isinstance(told, str) and told:
            return [each.strip() for each in told.split(",")]
        return [self.dice.pick("site", [s for s in self.of.spreads if s in known] or ["liver"])]

    def sites(self) -> list[str]:
        """Sentences of where distant disease is."""
        known = self.words.common.sites
        return [
            self.dice.pick(f"site/{each}", known.get(each, (f"Multiple {each} metastases.",)))
            for each in self.site_names()
        ]
