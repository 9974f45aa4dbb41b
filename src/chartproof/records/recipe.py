"""How the synthetic hospital plants a branch of a rule in a background patient.

A recipe orders a fitting patient (`needs`), draws its numbers (`draw`, `let`), clears and inserts
rows in the one edit vocabulary (`edits`), has examinations performed (`exams`), gives medications
(`medications`) and tells the writer of notes what a note must state (`say`). Blocks are named parts
that recipes share; an adversarial control is a block that bears the control's id.

Every string that begins with `=` is a DuckDB expression; `$name` in it is bound to

- the anchor: `$subject_id`, `$hadm_id`, `$stay_id` (ICU), `$ed_stay_id`, and the times
  `$admittime`, `$dischtime`, `$intime`, `$outtime` (ICU), `$ed_intime`, `$ed_outtime`
  (NULL where there is no such stay);
- every admission by time, the first is 1: `$hadm_1`, `$admit_1`, `$disch_1`, `$hadm_2` …;
- `$sex` (`F`/`M`), `$age` (at the anchor admission), `$icd` (9 or 10, of the anchor admission);
- what `draw` drew and `let` computed.

Order of work: background rows → draws → let → edits of the blocks in `use` order, then of the
recipe → medications → exams' orders and ICU events → notes, written from the tables as they then
stand.
"""

from typing import Any, Literal

from pydantic import Field, FiniteFloat, field_validator

from chartproof.records.edit import Edit, Value
from chartproof.records.record import Document, Gold, Record


def _in_order(ends: tuple[float, float]) -> tuple[float, float]:
    """Refuse a range that is written from its high end to its low one."""
    if ends[0] > ends[1]:
        raise ValueError(f"the low end, {ends[0]:g}, is above the high one, {ends[1]:g}")
    return ends


class Draw(Record):
    """A random value. Give `between` for a number, or `one_of`.

    Attributes:
        between: Low and high, both included.
        digits: Decimals that a number is rounded to; 0 makes an integer.
        one_of: Choices. A mapping among them binds `$name_key` for each of its keys.
    """

    between: tuple[FiniteFloat, FiniteFloat] | None = None
    digits: int = Field(default=1, ge=0)
    one_of: tuple[Any, ...] = ()

    @field_validator("between")
    @classmethod
    def _low_first(cls, ends: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if ends is None else _in_order(ends)


class Needs(Record):
    """The background patient that a recipe asks for.

    Attributes:
        sex: Either where None.
        age: At the anchor admission, both ends included.
        admissions: How many, both ends included.
        anchor: Which admission is the case's, 1 is the first, -1 the last.
        gap_days: Between discharge and the next admission.
        los_days: Length of every admission.
        icu: Whether the anchor admission has an ICU stay (None: by chance).
        icu_days: Length of that stay at least and at most; it fits inside the admission.
        ed: Whether the anchor admission came through the ED with an ED record (None: by chance).
        era: `full` – notes, ED and eMAR are all covered; `no_emar` – before eMAR; `no_notes` –
            after the end of the note module; `icd_switch` – ICD-9 at first, ICD-10 at last.
        died: Whether the patient dies in the anchor admission.
    """

    sex: Literal["F", "M"] | None = None
    age: tuple[int, int] = (30, 88)
    admissions: tuple[int, int] = (1, 2)
    anchor: int = -1
    gap_days: tuple[float, float] = (120, 500)
    los_days: tuple[float, float] = (4, 10)
    icu: bool | None = None
    icu_days: tuple[float, float] = (2, 5)
    ed: bool | None = None
    era: Literal["full", "no_emar", "no_notes", "icd_switch"] = "full"
    died: bool = False

    @field_validator("age", "admissions", "gap_days", "los_days", "icu_days")
    @classmethod
    def _low_first(cls, ends: tuple[float, float]) -> tuple[float, float]:
        return _in_order(ends)


class Exam(Record):
    """An imaging examination of the anchor patient, and what of it the record shows.

    Once compiled, `at`, `ordered`, `hadm_id` hold plain values (ISO times, an id or None).

    Attributes:
        name: As in `radiology_detail.exam_name`, e.g. `CT HEAD W/O CONTRAST`.
        modality: CT, CTA, MRI, XR, US, IR, NM, PET or CTGUIDED (needle placement alone).
        at: Study time: charttime of the report.
        ordered: Time of the order; None takes `lead_hours` before the study.
        lead_hours: Hours from order to study where `ordered` is None.
        order: Whether and how `poe` shows it: `active`, `discontinued` (a D/C row follows),
            `none`.
        report: Whether a report is written. False leaves an order or an ICU event alone.
        icu_item: itemid of a `procedureevents` row at the study time (221214, 229582, 223253, …).
        icu_status: Its statusdescription (`FinishedRunning`, `Rewritten`).
        icu_shift_minutes: Start of that row against the study time.
        hadm_id: Encounter of the report; `= $hadm_id` by default, None leaves it NULL.
        about: Fact → value that the report must state (names of the phrase file), beside `say`.
        time_in_text: Time that the report's text gives, where it differs from `at`.
        exam_line: Whether the report begins with an examination line and has an exam_name row.
    """

    name: str
    modality: Literal["CT", "CTA", "MRI", "XR", "US", "IR", "NM", "PET", "CTGUIDED"]
    at: Value
    ordered: Value = None
    lead_hours: float = 1.5
    order: Literal["active", "discontinued", "none"] = "active"
    report: bool = True
    icu_item: int | None = None
    icu_status: str = "FinishedRunning"
    icu_shift_minutes: int = 0
    hadm_id: Value = "= $hadm_id"
    about: dict[str, str] = Field(default_factory=dict)
    time_in_text: Value = None
    exam_line: bool = True


class Say(Record):
    """A fact that a note has to state, or has to leave unsaid.

    Attributes:
        note: Which note; `radiology` means the report of exam number `exam`.
        hadm_id: Encounter of the summary; `= $hadm_id` by default.
        section: Where; None lets the writer choose.
        fact: Name of the fact, value: its assertion class, state: its refinement – as the phrase
            file names them. The value `unsaid` bars the fact from the note.
        slots: What fills the sentence.
        exam: Index into the recipe's exams, for `radiology`.
    """

    note: Literal["discharge", "radiology"] = "discharge"
    hadm_id: Value = "= $hadm_id"
    section: str | None = None
    fact: str
    value: str = "stated"
    state: str | None = None
    slots: dict[str, Value] = Field(default_factory=dict)
    exam: int | None = None


class Regimen(Record):
    """A drug as one list has it."""

    dose: Value = None
    unit: str = "mg"
    route: str = "PO/NG"
    frequency: str = "DAILY"
    duration_days: int | None = None


class Medication(Record):
    """One drug and where the record shows it. The compiler writes its rows and tells the notes.

    Attributes:
        drug: Name in orders, eMAR and note lists. An expression may draw it.
        home_name: Name in the home lists, where it differs (a brand for a generic).
        home: Regimen before admission, None where the patient did not take it.
        home_in: Which sources show it at home: the ED's `medrecon`, the note's admission list.
        etc: Therapeutic classes (code, description) of `medrecon`; several make duplicate rows.
        inpatient: Regimen ordered in hospital, None where never ordered.
        given: Hours before discharge of each administration on the eMAR.
        held: Hours before discharge of each administration refused or held.
        discharge: Regimen on the discharge list, None where it is not on it.
        intent: What the note says of the change; `silent` says nothing.
        reason: Reason that the note gives.
    """

    drug: str
    home_name: str | None = None
    home: Regimen | None = None
    home_in: tuple[Literal["medrecon", "note"], ...] = ("medrecon", "note")
    gsn: str | None = None
    etc: tuple[tuple[str, str], ...] = ()
    inpatient: Regimen | None = None
    given: tuple[float, ...] = ()
    held: tuple[float, ...] = ()
    discharge: Regimen | None = None
    intent: Literal["silent", "continued", "new", "stopped", "held", "changed", "substituted"] = (
        "silent"
    )
    reason: str | None = None


class Block(Record):
    """A part that recipes share.

    Attributes:
        drop_exams: Modalities of background examinations to take out, with their orders and ICU
            events; `*` takes all.
        only_medications: Takes the background's home lists, orders and administrations of the
            anchor admission out, so that `medications` are the whole of them.
    """

    draw: dict[str, Draw] = Field(default_factory=dict)
    let: dict[str, str] = Field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    drop_exams: tuple[str, ...] = ()
    only_medications: bool = False
    medications: tuple[Medication, ...] = ()
    exams: tuple[Exam, ...] = ()
    say: tuple[Say, ...] = ()


class Recipe(Block):
    """One way to plant one rule's branch.

    Attributes:
        rule: Id of the rule that the dossier gives for this patient.
        use: Blocks, applied before the recipe's own parts.
        controls: Ids of the adversarial controls that it always plants; a control with a block of
            its id is applied after the recipe's own parts.
        may: Controls that an instance may bear besides, each by chance.
    """

    id: str
    rule: str
    about: str = ""
    needs: Needs = Needs()
    use: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    may: tuple[str, ...] = ()


class Recipes(Document):
    """`recipes.yaml` of a scenario."""

    scenario: str
    blocks: dict[str, Block] = Field(default_factory=dict)
    recipes: tuple[Recipe, ...]


class Planted(Gold):
    """What was planted in one patient. A run can never read it."""

    scenario: str
    recipe: str
    rule: str
    subject_id: int
    hadm_id: int | None = None
    stay_id: int | None = None
    controls: tuple[str, ...] = ()
    bound: dict[str, Any] = Field(default_factory=dict)

    @property
    def difficulty(self) -> int:
        """How many adversarial controls the chart bears."""
        return len(self.controls)


class Sentence(Gold):
    """The label of a sentence that the hospital wrote, after scrubbing and wrapping."""

    table: Literal["discharge", "radiology"]
    note_id: str
    line_from: int
    line_to: int
    section: str
    pattern: str
    fact: str
    value: str
    state: str | None = None
