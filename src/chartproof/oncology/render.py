"""A patient's state as a packet. The same seed and another state: the same patient, otherwise.

Synthetic; not reviewed by an oncologist; not for care. All words are data
(`catalog/board/phrases/`); every draw has a name, so that a changed fact changes only what tells
of it, what was done because of it, and when.
"""

from collections.abc import Iterable

from chartproof.oncology.dice import Stream
from chartproof.oncology.entries import Entry, bulk, cycles, weight
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.packet import END
from chartproof.oncology.telling import Teller
from chartproof.oncology.wording import (
    filled,
    together,
    wrapped,
)
from chartproof.records.board import Fact, Size, State, Stratum
from chartproof.records.phrases import (
    History,
)

SOURCE = "SYNTHETIC - generated for software testing, not a real patient"
_CONSULT, _REVIEW, _NEOADJUVANT = 24, 28, 36


def rendered(
    state: State,
    *,
    seed: int,
    size: Size = "medium",
    strata: Iterable[Stratum] = (),
    id_: str = "SYN-0000",
) -> str:
    """Write the packet of a patient.

    Args:
        state: What is true.
        seed: Decides name, dates, wording and everything beside the state.
        size: `small` has no bulk; `medium` is about 30,000 characters, `large` about 80,000.
        strata: `latent` tells results once, in their report; `hard` puts decoys beside them.
            `mixed` is a matter of the consensus, and changes nothing here.
        id_: Of the packet.

    Raises:
        SpecError: The state tells something of which the treatment knowledge knows nothing.
    """
    knowledge().check(state)
    return _Story(state, seed, size, frozenset(strata)).packet(id_)


class _Story(Teller):
    """One packet in the making."""

    def __init__(self, state: State, seed: int, size: Size, strata: frozenset[Stratum]) -> None:
        super().__init__(state, seed, strata)
        self.size: Size = size
        self.entries: list[Entry] = []

    def _add(self, day: int, tag: str, title: str, lines: Iterable[str]) -> None:
        self.entries.append(Entry(day, tag, self.title(title), tuple(lines)))  # type: ignore[arg-type]  # one of the five

    # the story

    def packet(self, id_: str) -> str:
        """All of it."""
        board = self._told()
        self.entries.extend(bulk(self.seed, self.size, until=board))
        self.entries.sort(key=lambda entry: entry.place)
        separator = "\n---\n"
        blocks = [
            self._preamble(id_),
            self._demographics(),
            self._conditions(),
            self._allergies(),
            *(entry.text(self.first_day) for entry in self.entries),
            END,
        ]
        return separator.join(blocks) + "\n"

    def _told(self) -> int:
        """Tell the course; the day of the board."""
        self._presented()
        self._reported()
        day = self._operated()
        day = self._spread(day)
        day = self._failed(day)
        self._revised(day + 3)
        board = day + self.dice.number("board", 10, 16)
        self._referred(board)
        return board

    def _presented(self) -> None:
        of, common = self.of, self.words.common
        lives = self.dice.pick("lives", common.lives)
        decoy = common.decoys.family[self.state.cancer] if self.hard else ""
        self._add(-12, "Encounter", "Primary care | Office visit", self.prose(
            f"Chief complaint: {self.picked('complaint', of.complaints)}", decoy,
            lives, "Plan: imaging and referral.",
        ))  # fmt: skip
        self._add(-12, "Vitals", "Primary care office", self._vitals("first"))
        self._add(-6, "Procedure", self.dice.pick("imaging", of.imaging.titles),
                  self.prose(self.picked("imaging/body", of.imaging.bodies)))  # fmt: skip
        self._add(0, "Procedure", self.dice.pick("biopsy", of.biopsies), self.prose(
            "Complications: none.", f"Pathology: {self.lower(self.diagnosis)}.",
        ))  # fmt: skip
        for extra in of.extras:
            lines = [line.replace("{lvef}", str(self._ejection())) for line in extra.lines]
            self._add(extra.day, "Procedure", extra.title, lines)
        if "LVEF" in self.state.facts and not any("{lvef}" in x.lines[0] for x in of.extras):
            self._add(21, "Procedure", "Transthoracic echocardiogram",
                      [f"LVEF {self._ejection()}% (biplane)."])  # fmt: skip

    def _ejection(self) -> Fact:
        return self.state.facts.get("LVEF", self.dice.number("lvef", 58, 66))

    def _reported(self) -> None:
        """Pathology, markers, staging, the first consultation and the surgeon's review."""
        common = self.words.common
        self._add(4, "Lab Results", "Pathology, biopsy",
                  [f"Diagnosis: {self.lower(self.diagnosis)}",
                   self.dice.pick("histology", self.of.histology)])  # fmt: skip
        for panel in self.of.panels:
            lines = [line for name in panel.facts if (line := self.line(name))]
            if panel.facts and not lines:
                continue
            lines += [self._serum(line) for line in panel.also]
            if self.hard and "HER2" in panel.facts and self.line("HER2"):
                lines.append("Assay note: HER2 positive control slide stained appropriately.")
            title = self.dice.pick(f"panel/{panel.id}", panel.titles)
            self._add(panel.day, "Lab Results", title, lines)
        self._baseline()
        at_baseline = self.state.M == "M1" and self.state.metastasis == "baseline"
        found = [f"Primary in the {together(self.organ.organ)}."]
        if self.of.staged:
            found += self.sites() if at_baseline else [self.dice.pick("clear", common.clear)]
        if self.hard and self.state.cancer not in {"glioma", "hepatocellular"}:
            found.append(common.decoys.cyst)
        self._add(10, "Procedure", self.of.scan, self.prose(*found))
        self._consulted(at_baseline)

    def _consulted(self, at_baseline: bool) -> None:
        common = self.words.common
        markers = ", ".join(self.markers("consult"))
        markers = f", {markers}" if markers else ""
        kind = "metastatic " if at_baseline else ""
        self._add(_CONSULT, "Encounter", "Medical oncology | New patient consultation", self.prose(
            f"Assessment: {self.age()}-year-old {self.person()} with {kind}"
            f"{self.lower(self.diagnosis)} of the {together(self.organ.organ)}{markers}.",
            f"ECOG {self.state.ECOG}.", *self.comorbid(),
            "Findings and possible courses were explained; written information given.",
            f"Seen by {self.clinician('oncologist')}.",
        ))  # fmt: skip
        if self.hard:
            self._add(_CONSULT + 1, "Encounter", "Medical oncology | Addendum",
                      self.prose(self.dice.pick("note", common.decoys.note),
                                  self.dice.pick("outside", common.decoys.outside)))  # fmt: skip
        if not at_baseline and (self.of.staged or self.state.surgery == "none"):
            resectable = "yes" if self.state.surgery == "resected" else self.state.resectable
            wish = self.operation.wish if resectable == "yes" else ""
            told = common.reviews[resectable] if self.of.staged else ("Images were reviewed.",)
            self._add(_REVIEW, "Encounter", f"{self.of.surgeon} | Consultation", self.prose(
                self.dice.pick("review", told), wish, f"Seen by {self.clinician('surgeon')}.",
            ))  # fmt: skip

    def _operated(self) -> int:
        """Neoadjuvant treatment and operation, where there were any; the last day told."""
        day = _REVIEW
        given = self.before if self.state.neoadjuvant_done else None
        if given is not None:
            lasts = max(course.cycles * course.every for course in self.of.neoadjuvant)
            day = _NEOADJUVANT + lasts
            ended = self.date(day - 7)
            for drug in given.drugs:
                self._add(_NEOADJUVANT, "Medication", drug, [f"Status: completed {ended}"])
            self._cycled("neoadjuvant", _NEOADJUVANT, given.cycles, given.every, given.name)
            self._add(day + 10, "Procedure", f"{self.of.scan}, restaging",
                      self.prose("Partial response of the primary."
                                  + (" " + self.dice.pick("clear/2", self.words.common.clear))
                                  * self.of.staged))  # fmt: skip
            day += 16
            self._add(day, "Encounter", f"{self.of.surgeon} | Visit after neoadjuvant treatment",
                      self.prose(f"Neoadjuvant {together(given.name)} completed.",
                                  "The operation was discussed and is planned."))  # fmt: skip
        if self.state.surgery == "resected":
            day += 20
            self._cut(day)
            day += 14
        return day

    def _cut(self, day: int) -> None:
        """The operation, its pathology, and the visit after it."""
        title = self.dice.pick("operation", self.operation.titles)
        self._add(day, "Procedure", title, self.prose(
            f"Indication: {self.lower(self.diagnosis)}.", "Complete macroscopic removal.",
            f"Surgeon: {self.clinician('operator')}.",
            f"Blood loss {self.dice.number('blood', 3, 24) * 10} mL. Complications: none.",
        ))  # fmt: skip
        self._add(day + 6, "Lab Results", "Surgical pathology", self._specimen())
        self._add(day + 14, "Encounter", f"{self.of.surgeon} | Post-operative visit", self.prose(
            "Post-op day 14. Incisions healing well.", "Pathology reviewed with the patient.",
            "Plan: back to medical oncology.",
        ))  # fmt: skip
        self._add(day + 14, "Vitals", "Surgical clinic", self._vitals("surgical"))

    def _specimen(self) -> list[str]:
        neo = self.state.neoadjuvant_done and self.before is not None
        lines = [f"{self.diagnosis}. Margins negative (R0)."]
        local = str(self.state.facts.get("local_stage", self.state.stage))
        if self.of.staged and local in self.of.tumor:
            y = "y" if neo else ""
            if neo and self.state.residual == "pCR":
                lines = ["No residual invasive tumor: pathologic complete response."]
                lines.append("Pathologic stage: ypT0 ypN0")
            else:
                lines += ["Residual tumor in the specimen."] * neo
                nodes = self.nodes(local)
                lines.append(f"Pathologic stage: {y}p{self.of.tumor[local]} {y}p{nodes}")
        again = ", ".join(self.markers("specimen"))
        if again and not self.latent:
            lines += wrapped(f"Repeat markers: {again}.", self.width)
        return lines

    def _spread(self, day: int) -> int:
        """Distant disease that was found later; the last day told."""
        if self.state.M != "M1" or self.state.metastasis != "late":
            return day
        day += self.dice.number("late", 60, 120)
        late = self.dice.pick("late/words", self.words.common.late)
        self._add(day, "Procedure", "CT chest, abdomen and pelvis with contrast",
                  self.prose(*self.sites(), late))  # fmt: skip
        site, proven = self.site_names()[0], self.words.common.proven
        where = {"nodes": "distant lymph node"}.get(site, site)
        self._add(day + 7, "Procedure", f"Image-guided core biopsy, {where}",
                  self.prose(f"Pathology: metastatic {self.lower(self.diagnosis)}."))  # fmt: skip
        self._add(day + 14, "Encounter", "Medical oncology | Results visit", self.prose(
            proven.get(site, proven["any"]),
            "Performance status unchanged.",
        ))  # fmt: skip
        return day + 14

    def _failed(self, day: int) -> int:
        """Lines of treatment on which the disease progressed; the last day told."""
        for n, names in enumerate(self._lines_of_prior()):
            start = day + 10
            months = self.dice.number(f"line/{n}/months", 3, 6)
            count, every = months, 28
            day = start + months * 28
            told = self.names(names)
            for name in names:
                titles = self.words.medications.titles.get(
                    name, (f"{self.names([name])}, per protocol".replace("~", " "),)
                )
                for title in titles:
                    self._add(start, "Medication", title.replace("{n}", str(count)), [
                        f"Status: discontinued {self.date(day + 6)}, disease progression on "
                        "treatment"
                    ])  # fmt: skip
            self._cycled(f"line/{n}", start, count, every, told)
            self._add(day + 2, "Procedure", f"{self.of.scan}, restaging", self.prose(
                f"Progressive disease{' by RECIST 1.1' * self.of.staged} on {told}.",
            ))  # fmt: skip
            self._add(day + 6, "Encounter", "Medical oncology | Restaging visit", self.prose(
                f"Disease progression after {months} months of {told}; treatment stopped.",
                "Performance status unchanged.",
            ))  # fmt: skip
            day += 6
        return day

    def _lines_of_prior(self) -> list[tuple[str, ...]]:
        """Failed treatment by line; what is more than the lines was given with the first."""
        prior, lines = self.state.prior, max(self.state.line - 1, 1)
        if not prior:
            return []
        extra = max(len(prior) - lines, 0)
        return [prior[: extra + 1], *((each,) for each in prior[extra + 1 :])]

    def _revised(self, day: int) -> None:
        """Explain drugs against a target that the tumour turned out not to have."""
        her2 = self.state.facts.get("HER2")
        given = self.known.members([]) | frozenset().union(
            *map(self.known.expand, self.state.prior)
        )
        if her2 != "negative" or not given & self.known.classes["HER2_TARGETED"]:
            return
        self._add(day, "Encounter", "Pathology | Central review addendum", self.prose(
            "Receptors re-tested centrally on the original biopsy: HER2-negative (IHC 0, ISH not "
            "amplified).",
            "The outside result on which earlier HER2-targeted drugs were given has been "
            "withdrawn and the chart corrected.",
        ))  # fmt: skip

    def _referred(self, board: int) -> None:
        self._add(board - 4, "Lab Results", "CBC and CMP", self._blood("last"))
        self._add(board, "Vitals", "Medical oncology clinic",
                  [f"{self._vitals('last')[0]} | ECOG {self.state.ECOG}"])  # fmt: skip
        stage = self.stage()
        markers = ", ".join(self.markers("referral"))
        with_stage = f"{stage} " if stage else ""
        self._add(board, "Encounter", "Medical oncology | Tumor board referral", self.prose(
            f"Assessment: {self.age()}-year-old {self.person()} with {with_stage}"
            f"{self.lower(self.diagnosis)} of the {together(self.organ.organ)}"
            f"{', ' + markers if markers else ''}.",
            self._status(), *self.comorbid(),
            f"ECOG performance status {self.state.ECOG}.",
            f"Question: {self._question()}.",
        ))  # fmt: skip

    def _status(self) -> str:
        statuses = self.words.common.statuses
        residuals = self.words.common.residuals
        neo = self.state.neoadjuvant_done
        keys = [self.setting]
        if self.state.prior and self.setting != "recurrent":
            keys = ["later"] if self.setting == "metastatic" else [self.setting, "later"]
        told = [self.dice.pick(f"status/{key}", statuses[key]) for key in keys]
        return (
            " ".join(told)
            .replace("{neo}", together(self.before.name) if self.before and neo else "treatment")
            .replace("{operation}", together(self.operation.short))
            .replace("{residual}", residuals.get(self.state.residual, ""))
            .replace("{prior}", self.names(self.state.prior))
        )

    def _question(self) -> str:
        later = bool(self.state.prior) and self.setting in {"metastatic", "locally_advanced"}
        options = self.words.common.questions["later" if later else self.setting]
        return self.dice.pick("question", options)

    # blocks that are no entries

    def _preamble(self, id_: str) -> str:
        return "\n".join((
            "TUMOR BOARD CASE PACKET",
            f"Packet ID: {id_}",
            "Packet format: css-packet/1",
            f"Cancer type: {self.state.cancer}",
            f"Source: {SOURCE}",
            f"Question to the board: {self._question()}",
        ))  # fmt: skip

    def _demographics(self) -> str:
        common = self.words.common
        first = self.dice.pick("first name", common.first_names[self.sex])
        last = self.dice.pick("last name", common.last_names)
        return "\n".join((
            "PATIENT DEMOGRAPHICS",
            f"Name: {first} {last} (synthetic)",
            f"MRN: SYN-{self.dice.number('mrn', 4_000_000, 4_999_999)}",
            f"Year of birth: {self.first_day.year - int(self.age())}",
            f"Age: {self.age()}",
            f"Sex: {self.sex}",
            f"Phone: 555-{self.dice.number('phone', 100, 199):04d}",
            f"Facility: {self.dice.pick('facility', common.facilities)}",
            f"ECOG performance status: {self.state.ECOG}",
        ))  # fmt: skip

    def _conditions(self) -> str:
        common = self.words.common
        markers = self.markers("condition")
        stage = self.stage()
        about = [*([stage[0].upper() + stage[1:]] if stage else []), *markers]
        lines = [
            f"- {self.date(0)} | {self.diagnosis}, {self.organ.organ} | "
            f"ICD-10 {self.organ.icd10} | active"
        ]
        lines += [
            f"- {self.date(_CONSULT)} | {part.rstrip(',')} | active"
            for part in wrapped(", ".join(map(together, about)), 72)
            if part
        ]
        for name, comorbidity in common.comorbid.items():
            if self.state.facts.get(name) is True:
                lines.append(
                    f"- {self.date(-400)} | {comorbidity.condition} | "
                    f"ICD-10 {comorbidity.icd10} | active"
                )
        for n, each in enumerate(self._histories()):
            lines.append(
                f"- {self.date(-700 - 311 * n)} | {each.text} | ICD-10 {each.icd10} | active"
            )
        remote = self.dice.pick("remote", common.remote)
        lines.append(f"- {self.date(-4800)} | {remote} | resolved")
        return "\n".join(("CONDITIONS", *lines)).replace("~", " ")

    def _histories(self) -> list[History]:
        chosen = self.dice.shuffled("histories", self.words.common.histories)
        return chosen[: self.dice.number("histories/n", 2, 4)]

    def _allergies(self) -> str:
        options = self.dice.shuffled("allergies", self.words.common.allergies)
        chosen = options[: self.dice.number("allergies/n", 1, 2)]
        return "\n".join(("ALLERGIES", *(f"- {each}" for each in chosen)))

    # small things

    def _serum(self, line: str) -> str:
        return line.replace("{ca}", str(self.dice.number("ca", 40, 900))).replace(
            "{afp}", str(self.dice.number("afp", 20, 800))
        )

    def _baseline(self) -> None:
        self._add(6, "Lab Results", "CBC and CMP", self._blood("first"))
        for n, each in enumerate(self._histories()):
            if each.drug is not None:
                self._add(-700 - 311 * n, "Medication", each.drug, ["Status: active"])

    def _blood(self, name: str) -> list[str]:
        stream = Stream(self.seed, f"blood/{name}")
        return [filled(line, stream) for line in self.words.filler.course.panel]

    def _vitals(self, name: str) -> list[str]:
        stream = Stream(self.seed, f"vitals/{name}")
        return [
            filled(line, stream).replace("{weight}", weight(self.seed, stream))
            for line in self.words.filler.course.vitals
        ]

    def _cycled(self, name: str, start: int, count: int, every: int, drug: str) -> None:
        self.entries.extend(
            cycles(self.seed, name, self.size, start=start, count=count, every=every, drug=drug)
        )
