"""The packets of a board study: every case as it stands, and changed in every way that is asked.

Packets lie below `packets/arms/` by their digests, so that a name tells nothing; what each of them
is, and what was ineligible or changed nothing, lies apart in `gold/arms/`.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from chartproof.errors import SpecError, mend
from chartproof.interventions.arms import Arm as Made
from chartproof.interventions.arms import ArmPlan, Arms, NoArm, all_ladders
from chartproof.interventions.catalogue import Catalogue
from chartproof.interventions.passages import Packet
from chartproof.interventions.places import extent
from chartproof.oncology.render import rendered
from chartproof.oncology.sections import changed_in, section_texts
from chartproof.records.board import BoardCase, State
from chartproof.records.board_study import ArmsHead, BoardStudy, StudyArm
from chartproof.records.record import misfit
from chartproof.records.trace import digest
from chartproof.runs import cells

Count = Callable[[int, int], None]
"""Progress: how many are done, how many there are."""
_ASIDE = ("ladder", "round", "placebo", "hard", "dose")
"""Kinds of arms that a case may lack without a word: nobody counts those."""


@dataclass(frozen=True)
class Told:
    """A case with all that is known of it.

    Attributes:
        state: None for a packet that was not rendered here: it has no twin.
        lenient: Its packet is another's, and is read as such.
    """

    case: BoardCase
    text: str
    state: State | None
    lenient: bool = False

    def rendered(self, state: State) -> str:
        """Another patient's packet, with the seed and size of this case."""
        assert self.case.seed is not None, "only a rendered packet has a state"
        return rendered(
            state,
            seed=self.case.seed,
            size=self.case.size or "medium",
            strata=self.case.strata,
            id_=self.case.id,
        )


def arms_of(told: Told, study: BoardStudy, catalogue: Catalogue) -> Iterator[tuple[StudyArm, str]]:
    """Every arm of a case with its text, which is empty where there is none."""
    plan = ArmPlan(
        editions=study.editions,
        entries=study.interventions,
        replicates=study.replicates,
        placebos=study.placebos,
        hard=study.hard_placebos,
        ladders=all_ladders() if study.ladders else (),
        round_trips=study.round_trips,
        evidence_doses=study.evidence_doses,
        seed=study.seed,
    )
    case = told.case
    engine = Arms(
        case.id,
        told.text,
        case.cancer,
        catalogue,
        state=told.state if case.seed is not None else None,
        rendered=told.rendered,
        lenient=told.lenient,
    )
    shown = section_texts(told.text, lenient=told.lenient)
    original = engine.subject.packet
    for made in engine.planned(plan):
        if isinstance(made, NoArm):
            if made.name.split(":")[0] not in _ASIDE:
                yield _absent(case.id, made), ""
            continue
        arm = _present(case.id, made)
        if made.change not in {None, "replicate"}:
            others = section_texts(made.text, lenient=told.lenient)
            size = extent(original, Packet.of(made.text, lenient=told.lenient))
            arm = arm.model_copy(
                update={
                    "sections": changed_in(shown, others),
                    "removed": size.removed,
                    "added": size.added,
                }
            )
        yield arm, made.text


def _absent(case: str, made: NoArm) -> StudyArm:
    return StudyArm(
        case=case,
        name=made.name,
        change="active",
        intervention=made.intervention,
        family=made.family,
        edition=made.edition,
        unscored="noop" if made.noop else "ineligible",
        reason="; ".join(made.reasons),
    )


def _present(case: str, made: Made) -> StudyArm:
    return StudyArm(
        case=case,
        name=made.name,
        change=made.change,
        intervention=made.intervention,
        family=made.family,
        edition=made.edition,
        audits=made.audit.failed if made.audit else (),
        state=made.state,
        dose=made.dose,
        places=made.places,
    )


# ------------------------------------------------------------------ on disk


def place(home: Path, study: str) -> Path:
    """The file that tells the arms of a study."""
    return home / "gold" / "arms" / f"{study}.jsonl"


def packet_place(home: Path, sha256: str) -> Path:
    """The file of an arm's packet."""
    return home / "packets" / "arms" / f"{sha256}.txt"


def planned(
    home: Path,
    study: BoardStudy,
    cases: Sequence[Told],
    catalogue: Catalogue,
    *,
    basis: str,
    progress: Count,
) -> list[StudyArm]:
    """The arms of a study, made once: their packets and what each of them is are written.

    Args:
        home: Where they lie.
        study: What to make.
        cases: Of the cohort.
        catalogue: Of interventions.
        basis: Digest of all that decides them, beside the study; another one makes them anew.
        progress: Told of finished cases.

    Raises:
        SpecError: They cannot be written, or runs of the study stand on others.
    """
    decided = digest([basis, _deciding(study), [each.case.sha256 for each in cases]])
    path = place(home, study.id)
    began = any(True for _ in cells.cells(home / "runs" / study.id))
    if path.is_file():
        head, arms = _read(path)
        if head.basis != decided and began:
            raise SpecError(
                f"Runs of {study.id} stand, and what decides its packets is another than then: "
                "cohort, catalogue, lock, or a key of the study such as `cases` or `seed`.",
                remedy="Give it back as it was, or run under another id.",
            )
        if head.basis == decided and all(
            not arm.packet or packet_place(home, arm.packet).is_file() for arm in arms
        ):
            return arms
    arms: list[StudyArm] = []
    try:
        packet_place(home, "").parent.mkdir(parents=True, exist_ok=True)
        for n, told in enumerate(cases):
            progress(n, len(cases))
            for arm, text in arms_of(told, study, catalogue):
                arms.append(_kept(home, arm, text) if text else arm)
        progress(len(cases), len(cases))
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        body = "".join(f"{arm.model_dump_json()}\n" for arm in arms)
        head = ArmsHead(
            basis=decided, arms=digest(body), hypotheses=() if began else study.hypotheses
        )
        part.write_text(f"{head.model_dump_json()}\n{body}", encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise SpecError(
            f"The arms of study {study.id} could not be written to {home}: {error.strerror}.",
            remedy=mend(error, "run again"),
        ) from error
    return arms


def known(home: Path, study: str) -> tuple[ArmsHead, list[StudyArm]]:
    """The arms of a study that was run, and what was said of them before.

    Raises:
        SpecError: There are none, or they are not as they were written.
    """
    path = place(home, study)
    if not path.is_file():
        raise SpecError(
            f"There is no {path}: study {study} was not run here.",
            remedy="Run it with `chartproof board run`.",
        )
    return _read(path)


def _read(path: Path) -> tuple[ArmsHead, list[StudyArm]]:
    first, _, body = path.read_text(encoding="utf-8").partition("\n")
    arms: list[StudyArm] = []
    n = 1
    try:
        head = ArmsHead.model_validate_json(first)
        for n, line in enumerate(body.splitlines(), 2):  # noqa: B007 the message names it
            arms.append(StudyArm.model_validate_json(line))
    except ValidationError as error:
        raise SpecError(
            f"{path}, line {n} tells of no arm: {misfit(error)}.",
            remedy="Remove the file and run the study again.",
        ) from error
    if head.arms != digest(body):
        raise SpecError(
            f"{path} was altered: its lines do not give the digest of the first.",
            remedy="Remove the file and run the study again: it is made anew.",
        )
    return head, arms


def _deciding(study: BoardStudy) -> Mapping[str, object]:
    """What of a study decides its arms."""
    aside = {"systems", "contrasts", "settings", "cap", "seconds", "hypotheses", "lock"}
    return study.model_dump(mode="json", exclude=aside)


def _kept(home: Path, arm: StudyArm, text: str) -> StudyArm:
    """The arm, with its packet on disk."""
    raw = text.encode()
    mark = hashlib.sha256(raw).hexdigest()
    path = packet_place(home, mark)
    if not path.is_file():
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_bytes(raw)
        part.replace(path)
    return arm.model_copy(update={"packet": mark})
