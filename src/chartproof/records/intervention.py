"""Entries of the intervention catalogue: what changes in a packet, and what has to follow from it.

One entry has up to three editions: as published (`v1`), with the repairs that the paper announces
(`v1cr`), and ours (`v2`). Patterns are kept as written; `{{NAME}}` in one stands for a term of the
lexicon. Regular expressions are compiled by `interventions/patterns.py`.

Source: Causal Sensitivity Score §2.2 (intervention fields), App. A (two printed entries), App. J
(no-ops, incomplete propagation, incoherence), App. M (announced repairs).
"""

from typing import Literal

from pydantic import Field, model_validator

from chartproof.records.board import Cancer, Fact
from chartproof.records.record import Document, Record

Family = Literal[
    "A_biomarker_flip",
    "B_prior_treatment_failure",
    "C_biomarker_strip",
    "D_surgery_status",
    "E_stage_perturbation",
]
Provenance = Literal["printed", "reconstructed", "css-open"]
"""Printed in the paper; rebuilt by us in the style of what is printed; ours."""
Mutation = Literal["replace", "delete", "insert"]
Severity = Literal["error", "warn", "info"]
AuditName = Literal[
    "noop", "semantic_noop", "residual", "missing", "incoherent", "collateral", "invisible"
]
"""The text is equal; the fact is equal; the old fact still stands somewhere; a word that has to be
there is not; two facts contradict each other; another fact changed too; the change is in no part
of the sections that an agent can read."""
Words = dict[str, str]
Effect = dict[str, Fact | dict[str, str] | list[str]]
"""Field or fact → value; `prior: {add: …}` adds a failed treatment, `line: +1` counts it."""
Listing = Literal[
    "must_drop", "must_add", "must_add_any_of", "must_drop_timing", "timing_must_shift"
]


# ------------------------------------------------------------------ shared terms


class Lexicon(Document):
    """`lexicon.yaml`: named pieces of patterns; a piece may name others, never itself."""

    about: str
    terms: dict[str, str]


class Guard(Record):
    """A reason to leave a match alone, by what stands around it in its sentence.

    Attributes:
        where: Searched text: the whole sentence, what precedes the match in it, or the forty
            characters of it that follow.
    """

    where: Literal["window", "pre", "post"]
    pattern: str


class ProbeValue(Record):
    """A value of a probe.

    Attributes:
        mask: Phrases that are blanked out before the patterns are tried.
        state: Field or fact of the state → its values of which a text tells this one.
    """

    value: str
    state: dict[str, tuple[Fact, ...]] = Field(default_factory=dict)
    patterns: tuple[str, ...] = Field(min_length=1)
    mask: tuple[str, ...] = ()


class Probe(Record):
    """How a fact is read from the text of a packet.

    Attributes:
        rule: `latest`: of all hits, the one in the newest entry decides; `any`: the first value in
            order that is hit at all.
        scope: Kinds of entries that are read; all where empty.
        line: Whether the whole entry or its first line alone is read.
        veto: An entry that matches one of these is not read.
    """

    about: str
    rule: Literal["latest", "any"]
    guards: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    line: Literal["all", "header"] = "all"
    veto: tuple[str, ...] = ()
    values: tuple[ProbeValue, ...] = Field(min_length=1)


class Probes(Document):
    """`probes.yaml`: guards, and the facts that the audits read back from a text.

    Attributes:
        prose: Of the probes that read entries of a packet alone, how a text without entries tells
            the same.
    """

    about: str
    guards: dict[str, Guard]
    probes: dict[str, Probe]
    prose: dict[str, Probe] = Field(default_factory=dict)


# ------------------------------------------------------------------ invented patients


class Axes(Record):
    """Invented patients of one cancer: every combination of these values, in every situation.

    Attributes:
        facts: Field or fact → its values.
        by_M: Fact → its value without and with distant disease.
        situations: Instead of those of the grid.
    """

    facts: dict[str, tuple[Fact, ...]]
    by_M: dict[str, dict[Literal["M0", "M1"], Fact]] = Field(default_factory=dict)  # noqa: N815
    situations: tuple[dict[str, Fact], ...] = ()


class Grid(Document):
    """`grid.yaml`: the patients on whom declared and derived changes are compared."""

    about: str
    situations: tuple[dict[str, Fact], ...]
    cancers: dict[Cancer, tuple[Axes, ...]]


# ------------------------------------------------------------------ entries


class Entry(Record):
    """What one intervention does to a patient, in whatever text it is told.

    Attributes:
        state_effect: Fields of the patient's state and their new values; `prior: {add: …}` adds a
            treatment that failed, `line: +1` moves to the next line.
        inverse: The entry that undoes it.
        state_only: There is no edit of a text; the packet is rendered anew.
        cancers: Of a `state_only` entry; the others say that in each edition.
        expected_change: Likewise.
    """

    id: str = Field(pattern=r"^[A-Z]\d+_[A-Za-z0-9_]+$")
    family: Family
    about: str
    state_effect: Effect = Field(min_length=1)
    inverse: str | None = None
    state_only: bool = False
    cancers: tuple[Cancer, ...] = ()
    expected_change: "ExpectedChange | None" = None

    @property
    def letter(self) -> str:
        """The family, as tables name it."""
        return self.family[0]


class Entries(Document):
    """`entries.yaml`: the interventions themselves, whatever edition carries them."""

    id: str
    about: str
    entries: tuple[Entry, ...] = Field(min_length=1)


# ------------------------------------------------------------------ one edition of an entry


class Applicability(Record):
    """To which packets an edition applies.

    Attributes:
        cancer_type: As written; any cancer where empty.
        forbids_match_in_packet_any: Several patterns, none of which may match.
        forbids_guards: Guarded matches of a forbidden pattern do not forbid.
        exempt: Probe → cancers in which it is not asked.
        requires_state: Fields of the patient's state, where that is known.
        requires_state_diff: Where the state is known, the treatment has to differ by it: else the
            tuple is a hard placebo, and no active change.
        requires_baseline_recommendation_any_of: Classes; a baseline answer without any of them
            makes the tuple vacuous, not ineligible.
    """

    cancer_type: tuple[str, ...] = ()
    forbids_cancer_type: tuple[str, ...] = ()
    requires_match_in_packet: str | None = None
    forbids_match_in_packet: str | None = None
    forbids_match_in_packet_any: tuple[str, ...] = ()
    forbids_guards: tuple[str, ...] = ("family_history",)
    requires_probe: Words = Field(default_factory=dict)
    forbids_probe: Words = Field(default_factory=dict)
    exempt: dict[str, tuple[Cancer, ...]] = Field(default_factory=dict)
    requires_state: dict[str, Fact] = Field(default_factory=dict)
    requires_state_diff: Literal["treatment"] | None = None
    requires_baseline_recommendation_any_of: tuple[str, ...] = ()


class Allowance(Record):
    """A class that may stay although it is to be dropped, unless the packet says otherwise."""

    class_: str = Field(alias="class")
    unless_text: str | None = None


class Unasked(Record):
    """What the treatment knowledge derives beside the declared, and no answer is asked for.

    Attributes:
        names: Drugs, regimens, modalities or classes; each has to be derived on the grid.
    """

    names: tuple[str, ...] = Field(min_length=1)
    why: str = Field(min_length=1)


class ExpectedChange(Record):
    """What has to change in the recommendations.

    Names are drugs, regimens, modalities or classes of the knowledge model; in an edition `v1` they
    are the paper's words.

    Attributes:
        derive_from: The lists are completed from the knowledge model, case by case.
        must_add_any_of: One is enough; nothing declared where the knowledge model says it alone.
        timing_must_shift: Pairs from → to, alternatives by `|`.
        conditional_allowed: "If the marker is positive, add the drug" is a right answer.
        exception: See `Allowance`.
        allowed: Recommendations that are right although a drug to be dropped is in them.
        only_where: List → alternatives of the state, of which one has to hold for the list to be
            asked for.
        timing_kept_with: A timing that is to be shifted may stay in an answer that recommends one
            of these, too: adjuvant treatment after an operation that is still to come.
        never_on_grid: Name in `must_drop` that no invented patient loses → why it is there.
        unasked: Derived drops and additions that are not what the entry is about.
    """

    derive_from: Literal["knowledge"] | None = None
    must_drop: tuple[str, ...] = ()
    must_add: tuple[str, ...] = ()
    must_add_any_of: tuple[str, ...] = ()
    must_drop_timing: tuple[str, ...] = ()
    timing_must_shift: tuple[tuple[str, str], ...] = ()
    rationale_must_mention: str | None = None
    conditional_allowed: bool = False
    exception: Allowance | None = None
    allowed: tuple[str, ...] = ()
    only_where: dict[Listing, tuple[dict[str, Fact], ...]] = Field(default_factory=dict)
    timing_kept_with: tuple[str, ...] = ()
    never_on_grid: Words = Field(default_factory=dict)
    unasked: dict[Literal["must_drop", "must_add"], Unasked] = Field(default_factory=dict)
    note: str = ""


class Printed(Record):
    """An entry of the published form: one pattern, or one inserted passage.

    Attributes:
        printed_verbatim: The paper's characters, which no YAML reader accepts (OP-06).
        known_defects: What is wrong with it, kept as published.
        words: Entries of the expected change that are words, and name no treatment that is known.
    """

    provenance: Provenance
    applicability: Applicability
    mutation_type: Mutation
    mutation_pattern: str | None = None
    mutation_replacement: str | None = None
    insertion_template: str | None = None
    position: Literal["end_of_chart"] | None = None
    expected_change: ExpectedChange
    scoring_rule: dict[float, str]
    known_defects: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    printed_verbatim: str | None = None
    note: str = ""

    @model_validator(mode="after")
    def _has_what_its_type_needs(self) -> "Printed":
        needed = {
            "replace": (self.mutation_pattern, self.mutation_replacement),
            "delete": (self.mutation_pattern,),
            "insert": (self.insertion_template,),
        }[self.mutation_type]
        if any(each is None for each in needed):
            raise ValueError(
                f"a mutation of type `{self.mutation_type}` needs "
                + {
                    "replace": "mutation_pattern and mutation_replacement",
                    "delete": "mutation_pattern",
                    "insert": "insertion_template",
                }[self.mutation_type]
            )
        return self


class Amended(Record):
    """What the announced repairs change in a published entry; the rest stays."""

    applicability: Applicability
    note: str = ""


class PassageEdit(Record):
    """One change of the text of a packet's entries.

    Attributes:
        scope: `all`, or kinds of entries; `last:Encounter` is the newest of a kind.
        op: `replace` and `delete` act on each match inside one entry; `delete_block` removes an
            entry whose beginning matches.
        guards: A match that one of them holds is left alone.
        block_guard_not: Keeps an entry from being removed.
        salvage_sentences: Sentences of a removed entry that stay, under `salvage_title`.
    """

    id: str
    scope: Literal["all"] | tuple[str, ...]
    op: Literal["replace", "delete", "delete_block"]
    pattern: str
    replacement: str = ""
    guards: tuple[str, ...] = ()
    block_guard_not: str | None = None
    salvage_sentences: str | None = None
    salvage_title: str = "Results of a removed entry"


class Passage(Record):
    """An entry that is put into the packet, in the order of dates.

    Attributes:
        template: With slots: `{d1}` … (days after the last dated entry, see `Repaired.days`),
            `{deleted_date}` and the slots of the edition.
        when_match: Inserted only if the edited text matches.
        when_no_match: Inserted only if it does not.
    """

    template: str
    placement: Literal["chronological"] = "chronological"
    when_match: str | None = None
    when_no_match: str | None = None


class Incoherence(Record):
    """Two facts that contradict each other once the change is made.

    Attributes:
        any_of: Patterns of which one is in the changed text,
        none_of: unless one of these is.
        probe_is: Facts of the original packet.
        check: A check of dates, by name.
    """

    id: str
    severity: Severity
    any_of: tuple[str, ...] = ()
    none_of: tuple[str, ...] = ()
    probe_is: Words = Field(default_factory=dict)
    check: Literal["inserted_dates_within_chart", "no_negative_staging_after_insert"] | None = None
    note: str = ""

    @model_validator(mode="after")
    def _asks_something(self) -> "Incoherence":
        if not (self.any_of or self.probe_is or self.check):
            raise ValueError("it asks nothing: give any_of, probe_is or check")
        return self


class Target(Record):
    """The fact that has to be different afterwards.

    Attributes:
        probe: Of the probes; `must_become` None means that the text no longer tells it.
        new_fact: A pattern that the original does not match and the changed text does, for facts
            that no probe reads.
    """

    probe: str | None = None
    must_become: str | None = None
    new_fact: str | None = None


class AuditPlan(Record):
    """What is examined in a changed packet; see `AuditName`."""

    residual: tuple[str, ...] = ()
    residual_guards: tuple[str, ...] = ()
    residual_ignore: str | None = None
    required: tuple[str, ...] = ()
    incoherence: tuple[Incoherence, ...] = ()
    target: Target


class Propagation(Record):
    """Where else the fact is told: what has to change with it, and what may stay. For readers."""

    must_change: tuple[str, ...] = ()
    may_stay: tuple[str, ...] = ()


class Repaired(Record):
    """Our edition of an entry."""

    provenance: Provenance = "css-open"
    applicability: Applicability
    mutation_type: Mutation
    days: tuple[int, int, int] = (3, 4, 5)
    edits: tuple[PassageEdit, ...] = ()
    inserts: tuple[Passage, ...] = ()
    slots_by_cancer: dict[Cancer, Words] = Field(default_factory=dict)
    expected_change: ExpectedChange
    scoring_rule: dict[float, str]
    propagation: Propagation
    audits: AuditPlan


class RefusalCredit(Record):
    """Half a point for an answer that names the contradiction and changes nothing.

    Attributes:
        requires_audit: Credited only where the packet fails one of these.
        conflict: How a sentence says that two facts do not go together; `conflict_denied`, that
            they do.
    """

    score: float
    when: str
    applies_to_mutation_types: tuple[Mutation, ...]
    requires_audit: tuple[AuditName, ...] = ()
    conflict: str
    conflict_denied: str
    note: str = ""


class PublishedEdition(Document):
    """`v1.yaml`."""

    about: str
    regex_flags: tuple[Literal["IGNORECASE"], ...]
    placement: Literal["end_of_chart"]
    noop_policy: Literal["drop"]
    scoring_levels: dict[float, str]
    entries: dict[str, Printed]


class AmendedEdition(Document):
    """`v1cr.yaml`: only what differs from `v1.yaml`."""

    about: str
    refusal_credit: RefusalCredit
    entries: dict[str, Amended]


class RepairedEdition(Document):
    """`v2.yaml`.

    Attributes:
        exclude: Audits whose failure takes a tuple out of the primary mean.
        slots: Of inserted passages, for any cancer; `slots_by_cancer` goes before.
    """

    about: str
    vintage: str
    regex_flags: tuple[Literal["IGNORECASE"], ...]
    placement: Literal["chronological"]
    noop_policy: Literal["drop_and_report"]
    exclude: tuple[AuditName, ...]
    slots: Words
    slots_by_cancer: dict[Cancer, Words] = Field(default_factory=dict)
    refusal_credit: RefusalCredit
    entries: dict[str, Repaired]
