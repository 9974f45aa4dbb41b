"""The catalogue of interventions, compiled: entries in their editions, guards and probes.

Source: Causal Sensitivity Score §2.2, App. A, App. M.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from chartproof.catalog.intervention_files import (
    INTERVENTIONS,
    NAMES,
    InterventionFiles,
    read_interventions,
)
from chartproof.errors import SpecError
from chartproof.interventions.passages import Reader
from chartproof.interventions.patterns import Pattern
from chartproof.interventions.ready import (
    Ours,
    Published,
    ReadyApplicability,
    ReadyAudits,
    ReadyEdit,
    ReadyPassage,
    ReadyProbe,
    ReadyRefusal,
)
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.recognise import recognised
from chartproof.records.board import Cancer
from chartproof.records.intervention import (
    Applicability,
    Entry,
    ExpectedChange,
    Guard,
    Incoherence,
    Passage,
    PassageEdit,
    Probe,
    ProbeValue,
    RefusalCredit,
)
from chartproof.records.sensitivity import Edition

Keys = tuple[str | int, ...]
SLOT = re.compile(r"\{(\w+)\}")
"""A slot of an inserted passage."""
_DATED = frozenset({"d1", "d2", "d3", "deleted_date"})
"""Slots that are filled from the dates of the packet."""


class Names(Protocol):
    """What the catalogue asks of the treatment knowledge."""

    def known(self, name: str) -> bool:
        """Whether it is a drug, regimen, modality or `@CLASS`."""
        ...

    def is_class(self, name: str) -> bool:
        """Whether it is a class, or a group of options."""
        ...


@dataclass(frozen=True)
class Intervention:
    """One entry in all its editions. An entry that is `state_only` has none."""

    entry: Entry
    v1: Published | None = None
    v1cr: Published | None = None
    v2: Ours | None = None
    audits: ReadyAudits | None = None

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.entry.id

    def published(self, edition: Edition) -> Published | None:
        """The edition, where it is one of the published two."""
        return {"v1": self.v1, "v1cr": self.v1cr}.get(edition)

    def expected(self, edition: Edition) -> ExpectedChange | None:
        """What has to change, as that edition declares it; twins are scored by ours."""
        published = self.published(edition)
        if published is not None:
            return published.said.expected_change
        return self.v2.said.expected_change if self.v2 else self.entry.expected_change

    def scoring_rule(self, edition: Edition) -> dict[float, str]:
        """What earns 1, 0.5 and 0; empty where none is written."""
        published = self.published(edition)
        if published is not None:
            return published.said.scoring_rule
        return self.v2.said.scoring_rule if self.v2 else {}


class Catalogue:
    """All interventions of one catalogue, ready to be applied.

    Attributes:
        files: As they were read.
        interventions: By their ids, in the order of the file.
        digest: SHA-256 over its files, in the order of their names.
    """

    def __init__(self, files: InterventionFiles) -> None:
        """Compile every pattern.

        Raises:
            SpecError: One does not compile, names an unknown term, guard or probe, or a template
                has an unknown slot. The message names file, line and key.
        """
        self.files = files
        self.guards: dict[str, tuple[Guard, Pattern]] = {
            name: (guard, self._pattern(guard.pattern, "probes", ("guards", name, "pattern")))
            for name, guard in files.probes.guards.items()
        }
        for term, source in files.lexicon.terms.items():
            self._pattern(source, "lexicon", ("terms", term))
        self.probes = {
            name: self._probe("probes", name, probe) for name, probe in files.probes.probes.items()
        }
        self._known(files.probes.prose, files.probes.probes, "probe", "probes", ("prose",))
        self.prose = {
            name: self._probe("prose", name, probe) for name, probe in files.probes.prose.items()
        }
        self.interventions = {
            entry.id: Intervention(
                entry,
                self._published(entry.id, "v1"),
                self._published(entry.id, "v1cr"),
                self._ours(entry.id),
                self._audits(entry.id),
            )
            for entry in files.entries.entries
        }
        self.digest = hashlib.sha256(
            b"\0".join((files.folder / f"{name}.yaml").read_bytes() for name in NAMES)
        ).hexdigest()

    def __getitem__(self, id_: str) -> Intervention:
        """An intervention, by its id or by the beginning of it (`A2`).

        Raises:
            SpecError: There is none, or several begin so.
        """
        if id_ in self.interventions:
            return self.interventions[id_]
        begins = [each for each in self.interventions if each.split("_")[0] == id_]
        if len(begins) != 1:
            raise SpecError(
                f"There is no intervention `{id_}`.",
                remedy=f"Known: {', '.join(self.interventions)}.",
            )
        return self.interventions[begins[0]]

    def reader(self) -> Reader:
        """A new memory for one packet and its changes."""
        return Reader(self.guards)

    def with_text(self) -> tuple[Intervention, ...]:
        """The interventions that have editions of a text."""
        return tuple(each for each in self.interventions.values() if not each.entry.state_only)

    def refusal_credit(self, edition: Edition) -> RefusalCredit | None:
        """What a refusal earns in an edition; as published, nothing."""
        return {
            "v1cr": self.files.v1cr.refusal_credit,
            "v2": self.files.v2.refusal_credit,
            "twin": self.files.v2.refusal_credit,
        }.get(edition)

    def refusal(self, id_: str, edition: Edition, audits: Collection[str]) -> ReadyRefusal | None:
        """How an answer to a changed packet earns the refusal credit.

        Args:
            id_: Of the intervention.
            edition: Whose rule it is.
            audits: That the changed packet failed.

        Returns:
            None where nothing earns it: the edition has no such rule, the rule is not for this
            kind of change, no audit says that the packet is incoherent, or the entry does not say
            what the fact is.
        """
        credit, entry = self.refusal_credit(edition), self[id_]
        ours, published = entry.v2, entry.published(edition)
        if credit is None or ours is None or not set(audits) & set(credit.requires_audit):
            return None
        said = published.said if published else ours.said
        fact = ours.said.expected_change.rationale_must_mention
        if fact is None or said.mutation_type not in credit.applies_to_mutation_types:
            return None
        file = "v1cr" if edition == "v1cr" else "v2"
        key = ("entries", id_, "expected_change", "rationale_must_mention")
        return ReadyRefusal(
            self._pattern(fact, "v2", key),
            self._pattern(credit.conflict, file, ("refusal_credit", "conflict")),
            self._pattern(credit.conflict_denied, file, ("refusal_credit", "conflict_denied")),
        )

    def check_names(self, names: Names) -> None:
        """Refuse an expected change that names what the treatment knowledge does not know.

        An entry as published may use any name that an answer may use (`platinum-pemetrexed`, `HER2
        testing`); what is no name has to stand under its `words`.

        Raises:
            SpecError: Naming file, line and key.
        """
        for file, keys, name in self._named():
            if not (names.known(name) or names.is_class(name) or names.known(f"@{name}")):
                raise SpecError(
                    f"{self.files.place(file, keys)}: `{name}` is no drug, regimen, modality or "
                    "class of the treatment knowledge.",
                    remedy="Write it as catalog/board/knowledge.yaml does, by its generic name.",
                )
        for id_, said in self.files.v1.entries.items():
            above: Keys = ("entries", id_)
            used = list(_names(said.expected_change, "v1", (*above, "expected_change")))
            for file, keys, name in used:
                if name not in said.words and not (names.known(name) or _is_name(name)):
                    raise SpecError(
                        f"{self.files.place(file, keys)}: `{name}` is no name of a treatment that "
                        "catalog/board/knowledge.yaml or names.yaml knows.",
                        remedy="Correct it; what is meant as words stands under `words` of the "
                        "entry, too.",
                    )
            for number, word in enumerate(said.words):
                if word not in {name for _, _, name in used} or _is_name(word):
                    raise SpecError(
                        f"{self.files.place('v1', (*above, 'words', number))}: `{word}` is no "
                        "words of the expected change, or names a treatment.",
                        remedy="Mark only what the expected change says and no name is.",
                    )

    def _named(self) -> Iterator[tuple[str, Keys, str]]:
        """Every name in an expected change of ours, and where it stands."""
        for id_, ours in self.files.v2.entries.items():
            above: Keys = ("entries", id_, "expected_change")
            yield from _names(ours.expected_change, "v2", above)
            asked = ours.applicability.requires_baseline_recommendation_any_of
            key = "requires_baseline_recommendation_any_of"
            for number, name in enumerate(asked):
                yield "v2", ("entries", id_, "applicability", key, number), name
        for number, entry in enumerate(self.files.entries.entries):
            if entry.expected_change is not None:
                yield from _names(
                    entry.expected_change, "entries", ("entries", number, "expected_change")
                )

    # ---------------------------------------------------------------- compiling

    def _pattern(self, source: str, file: str, keys: Keys) -> Pattern:
        return Pattern(source, self.files.lexicon.terms, lambda: self.files.place(file, keys))

    def _maybe(self, source: str | None, file: str, keys: Keys) -> Pattern | None:
        return None if source is None else self._pattern(source, file, keys)

    def _each(self, sources: Sequence[str], file: str, keys: Keys) -> tuple[Pattern, ...]:
        return tuple(self._pattern(each, file, (*keys, n)) for n, each in enumerate(sources))

    def _probe(self, section: str, name: str, probe: Probe) -> ReadyProbe:
        keys: Keys = (section, name)
        self._known(probe.guards, self.guards, "guard", "probes", (*keys, "guards"))
        values: list[tuple[ProbeValue, tuple[Pattern, ...], tuple[Pattern, ...]]] = []
        for number, value in enumerate(probe.values):
            at: Keys = (*keys, "values", number)
            values.append(
                (
                    value,
                    self._each(value.patterns, "probes", (*at, "patterns")),
                    self._each(value.mask, "probes", (*at, "mask")),
                )
            )
        return ReadyProbe(
            f"{section}.{name}",
            probe,
            tuple(values),
            self._each(probe.veto, "probes", (*keys, "veto")),
        )

    def _published(self, id_: str, edition: Edition) -> Published | None:
        said = self.files.v1.entries.get(id_)
        if said is None:
            return None
        file = "v1"
        amended = self.files.v1cr.entries.get(id_) if edition == "v1cr" else None
        if amended is not None:
            file = "v1cr"
            over = amended.applicability
            changed = {key: getattr(over, key) for key in over.model_fields_set}
            said = said.model_copy(
                update={"applicability": said.applicability.model_copy(update=changed)}
            )
        return Published(
            said,
            self._applicability(said.applicability, file, ("entries", id_, "applicability")),
            self._maybe(said.mutation_pattern, "v1", ("entries", id_, "mutation_pattern")),
        )

    def _ours(self, id_: str) -> Ours | None:
        said = self.files.v2.entries.get(id_)
        if said is None:
            return None
        above: Keys = ("entries", id_)
        whole = self.files.v2
        slots: dict[str, dict[str, str]] = {"": dict(whole.slots)}
        cancers: set[Cancer] = {*whole.slots_by_cancer, *said.slots_by_cancer}
        for cancer in cancers:
            by_cancer = whole.slots_by_cancer.get(cancer, {})
            own = said.slots_by_cancer.get(cancer, {})
            slots[cancer] = {**whole.slots, **by_cancer, **own}
        self._maybe(
            said.expected_change.rationale_must_mention, "v2",
            (*above, "expected_change", "rationale_must_mention"),
        )  # fmt: skip
        for number, passage in enumerate(said.inserts):
            for cancer in said.applicability.cancer_type or ("",):
                self._known_slots(
                    passage.template,
                    slots.get(cancer, slots[""]),
                    (*above, "inserts", number, "template"),
                )
        return Ours(
            said,
            self._applicability(said.applicability, "v2", (*above, "applicability")),
            tuple(self._edit(e, (*above, "edits", n)) for n, e in enumerate(said.edits)),
            tuple(self._passage(e, (*above, "inserts", n)) for n, e in enumerate(said.inserts)),
            slots,
        )

    def _applicability(self, said: Applicability, file: str, keys: Keys) -> ReadyApplicability:
        for key, probes in (
            ("requires_probe", said.requires_probe),
            ("forbids_probe", said.forbids_probe),
            ("exempt", said.exempt),
        ):
            self._known(probes, self.files.probes.probes, "probe", file, (*keys, key))
        self._known(said.forbids_guards, self.guards, "guard", file, (*keys, "forbids_guards"))
        forbids = self._each(
            said.forbids_match_in_packet_any, file, (*keys, "forbids_match_in_packet_any")
        )
        one = self._maybe(said.forbids_match_in_packet, file, (*keys, "forbids_match_in_packet"))
        return ReadyApplicability(
            said,
            self._maybe(said.requires_match_in_packet, file, (*keys, "requires_match_in_packet")),
            (*((one,) if one else ()), *forbids),
        )

    def _edit(self, said: PassageEdit, keys: Keys) -> ReadyEdit:
        self._known(said.guards, self.guards, "guard", "v2", (*keys, "guards"))
        return ReadyEdit(
            said,
            self._pattern(said.pattern, "v2", (*keys, "pattern")),
            self._maybe(said.block_guard_not, "v2", (*keys, "block_guard_not")),
            self._maybe(said.salvage_sentences, "v2", (*keys, "salvage_sentences")),
        )

    def _passage(self, said: Passage, keys: Keys) -> ReadyPassage:
        return ReadyPassage(
            said,
            self._maybe(said.when_match, "v2", (*keys, "when_match")),
            self._maybe(said.when_no_match, "v2", (*keys, "when_no_match")),
        )

    def _audits(self, id_: str) -> ReadyAudits | None:
        ours = self.files.v2.entries.get(id_)
        if ours is None:
            return None
        said, keys = ours.audits, ("entries", id_, "audits")
        self._known(said.residual_guards, self.guards, "guard", "v2", (*keys, "residual_guards"))
        asked = [said.target.probe] if said.target.probe else []
        self._known(asked, self.probes, "probe", "v2", (*keys, "target"))
        incoherence: list[tuple[Incoherence, tuple[Pattern, ...], tuple[Pattern, ...]]] = []
        for number, each in enumerate(said.incoherence):
            at: Keys = (*keys, "incoherence", number)
            self._known(each.probe_is, self.probes, "probe", "v2", (*at, "probe_is"))
            incoherence.append(
                (
                    each,
                    self._each(each.any_of, "v2", (*at, "any_of")),
                    self._each(each.none_of, "v2", (*at, "none_of")),
                )
            )
        return ReadyAudits(
            self._each(said.residual, "v2", (*keys, "residual")),
            said.residual_guards,
            self._maybe(said.residual_ignore, "v2", (*keys, "residual_ignore")),
            self._each(said.required, "v2", (*keys, "required")),
            tuple(incoherence),
            said.target.probe,
            said.target.must_become,
            self._maybe(said.target.new_fact, "v2", (*keys, "target", "new_fact")),
        )

    def _known_slots(self, template: str, slots: Mapping[str, str], keys: Keys) -> None:
        known = {*slots, *_DATED, *(["operation_lc"] if "operation" in slots else [])}
        for name in SLOT.findall(template):
            if name not in known:
                raise SpecError(
                    f"{self.files.place('v2', keys)}: nothing fills the slot `{{{name}}}`.",
                    remedy="Give it under `slots`, or for each cancer under `slots_by_cancer`. "
                    f"Known: {', '.join(sorted(known))}.",
                )

    def _known(
        self, names: Iterable[str], among: Iterable[str], noun: str, file: str, keys: Keys
    ) -> None:
        known = tuple(among)
        for name in names:
            if name not in known:
                raise SpecError(
                    f"{self.files.place(file, keys)}: there is no {noun} `{name}`.",
                    remedy=f"Known: {', '.join(known)}.",
                )


def _names(change: ExpectedChange, file: str, keys: Keys) -> Iterator[tuple[str, Keys, str]]:
    for key in ("must_drop", "must_add", "must_add_any_of"):
        for number, name in enumerate(getattr(change, key)):
            yield file, (*keys, key, number), name
    if change.exception is not None:
        yield file, (*keys, "exception", "class"), change.exception.class_
    for key, of in change.unasked.items():
        for number, name in enumerate(of.names):
            yield file, (*keys, "unasked", key, "names", number), name


def _is_name(text: str) -> bool:
    """Whether a text is the name of a treatment from end to end, as in an answer."""
    found = recognised(text, item=True)
    return any(each.start == 0 and each.end == len(text) for each in found)


@cache
def catalogue(folder: Path = INTERVENTIONS) -> Catalogue:
    """The catalogue of a folder, compiled once, its names known.

    Raises:
        SpecError: One of its files is wrong, or an expected change names an unknown treatment.
    """
    made = Catalogue(read_interventions(folder))
    made.check_names(knowledge())
    return made
