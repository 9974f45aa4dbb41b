"""Which systems answer which packets of a cohort, in which settings, under which changes."""

from pydantic import Field, field_validator

from chartproof.records.board import State
from chartproof.records.record import Document, Gold, once
from chartproof.records.sensitivity import Change, Edition, Setting, Unscored
from chartproof.records.system import Compared

UNREGISTERED = "unregistered"
"""What every output of a study is marked with that was run without its lock."""


class BoardStudy(Compared, Document):
    """`board.yaml`. Paths are relative to the file.

    Attributes:
        cohort: Folder of a cohort.
        systems: Names of scripted systems, or whole systems; see `records/system.py`.
        contrasts: Pairs of them that are to be compared, named before the run.
        cases: Only these; empty takes all.
        most: At most so many cases of each cancer, in the order of the cohort.
        editions: Texts that carry the active changes.
        interventions: Only these entries; empty takes the whole catalogue.
        placebos: Of each case, so many edits that keep the meaning.
        hard_placebos: Of each case, so many that look like an active edit and decide nothing.
        replicates: Of each case, so many more answers to the packet as it stands.
        ladders: Whether the ladders are run.
        round_trips: Whether changes are made and undone.
        evidence_doses: Whether changes are also made in some of the places that tell the fact.
        cap: Calls that an agent may make.
        seconds: A run may take, at most a day.
        seed: Of the choice among placebos.
        lock: File with the digests that hold for this study; see `chartproof board lock`.
        hypotheses: Named before the run, kept with the results.
    """

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=100)
    cohort: str = "cohort"
    settings: tuple[Setting, ...] = Field(default=("single_shot",), min_length=1)
    cases: tuple[str, ...] = ()
    most: int | None = Field(default=None, ge=1)
    editions: tuple[Edition, ...] = ("v1", "v2", "twin")
    interventions: tuple[str, ...] = ()
    placebos: int = Field(default=2, ge=0, le=15)
    hard_placebos: int = Field(default=1, ge=0, le=8)
    replicates: int = Field(default=1, ge=0, le=10)
    ladders: bool = False
    round_trips: bool = False
    evidence_doses: bool = False
    cap: int = Field(default=8, ge=1, le=100)
    seconds: float = Field(default=120, ge=0.1, le=86_400, allow_inf_nan=False)
    seed: int = 1
    prompt_summary: str = "board-summary-v1"
    prompt_recommend: str = "board-recommend-v1"
    prompt_agent: str = "board-agent-v1"
    lock: str = "board.lock"
    hypotheses: tuple[str, ...] = ()

    @field_validator("settings", "cases", "editions", "interventions")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """One cell has one place: named twice, it would be run twice at once."""
        return once(names)

    @field_validator("cohort", "lock")
    @classmethod
    def _a_path(cls, path: str) -> str:
        if "\0" in path:
            raise ValueError("a path holds no NUL character")
        return path


class StudyArm(Gold):
    """One packet of a study: a case as it stands, or changed in one way; or why there is none.

    Attributes:
        change: None for the packet as it stands.
        intervention: Id of the catalogue's entry, of the placebo, or of the ladder's step.
        family: Of an active change, its letter.
        packet: SHA-256 of the text, which is the name of its file; empty where there is none.
        unscored: Why there is none, or why it cannot be scored.
        reason: The same in words.
        audits: Audits that the changed packet failed.
        removed: Characters that the change took away, and
        added: that it put there.
        dose: In how many places an `evidence` change was made, of
        places: so many that tell the fact.
        sections: Those that differ from the packet as it stands, below their cap.
        state: What is true of the patient after the change; None where that is not known.
    """

    case: str
    name: str
    change: Change | None = None
    intervention: str = ""
    family: str = ""
    edition: Edition = "v2"
    packet: str = ""
    unscored: Unscored | None = None
    reason: str = ""
    audits: tuple[str, ...] = ()
    removed: int | None = None
    added: int | None = None
    dose: int | None = None
    places: int | None = None
    sections: tuple[str, ...] = ()
    state: State | None = None


class ArmsHead(Gold):
    """The first line of the file that tells a study's arms.

    Attributes:
        basis: Digest of all that decides them: the lock, the study, the cases.
        arms: Digest of the lines below.
        hypotheses: As they were named when the arms were made, before the first run.
    """

    basis: str
    arms: str
    hypotheses: tuple[str, ...] = ()
