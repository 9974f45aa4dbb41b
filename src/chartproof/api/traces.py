"""Prove the traces of finished runs, and make their calls again."""

import hashlib
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from chartproof.api.board_arms import packet_place
from chartproof.api.charts import open_case
from chartproof.api.charts import shell as opened_shell
from chartproof.api.serving import EDITED
from chartproof.cases.build import load
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.errors import ChartError, ChartproofError, RunError, SpecError
from chartproof.judges import store as grades
from chartproof.oncology.sections import section_texts
from chartproof.records.case import POLICY, Case
from chartproof.records.policy import Policy
from chartproof.records.proof import Fault, Verified
from chartproof.records.trace import Started, Trace, digest
from chartproof.reports.audit import parse
from chartproof.runs import cells
from chartproof.runs import verify as proofs
from chartproof.runs.run import code
from chartproof.tools import corpus
from chartproof.tools.python import Shell
from chartproof.tools.replay import Replayed, replay_sections, shell_was_on
from chartproof.tools.replay import replay as make_again
from chartproof.tools.trace import OTHER_FORM

CASES, PACKETS = "cases/cases.json", "packets/arms"
"""What the home of audits holds, and that of a study of tumour boards."""
Count = Callable[[int, int], None]
"""Progress: how many are done, how many there are."""


def _silent(_done: int, _all: int) -> None:
    """No progress is shown."""


def verify(paths: Sequence[Path] | Path, *, progress: Count = _silent) -> list[Verified]:
    """Check every byte of finished runs: hash chain, digests, schema, cell, report, grades.

    A run that was killed, or whose grader was, is `cut off`, and what stands of it is proved; one
    that was altered is `faulty`, and each fault names file, line, event and what is wrong. A run of
    another version may be `of another form`: its chain holds, and nothing more can be told here.

    Args:
        paths: Folders of runs or of studies, or one of them.
        progress: Told how many are done and how many there are.

    Raises:
        SpecError: There is no run there.
    """
    every = _folders(paths)
    done: list[Verified] = []
    first: dict[tuple[str | int, ...], Path] = {}
    for n, folder in enumerate(every):
        progress(n, len(every))
        checked = proofs.verify(folder)
        faults = list(checked.found.faults) or _beside(folder, checked)
        if checked.cell is not None:
            cell = checked.cell
            key = (str(folder.parent.parent), cell.system, cell.case, cell.arm, cell.attempt)
            other = first.setdefault(key, folder)
            if other != folder:
                what = f"is of the same run as {other}"
                faults.append(Fault(file=cells.CELL, event="the file", what=what))
        found = checked.found.model_copy(update={"faults": tuple(faults)})
        done.append(_graded(folder, found.model_copy(update={"state": "faulty"} if faults else {})))
    progress(len(every), len(every))
    return done


def _folders(paths: Sequence[Path] | Path) -> list[Path]:
    given = [paths] if isinstance(paths, Path) else paths
    return list(dict.fromkeys(each for path in given for each in proofs.folders(path)))


def _graded(folder: Path, found: Verified) -> Verified:
    """The same, with a word of a grade that was being written when its grader was killed."""
    line = grades.torn(folder) if found.state == "whole" else None
    if line is None:
        return found
    told = f"{grades.NAME}, line {line} is torn: its grader was killed; grading again mends it"
    return found.model_copy(update={"state": "cut off", "notes": (*found.notes, told)})


def _beside(folder: Path, checked: proofs.Checked) -> list[Fault]:
    """What is wrong with the grades beside a sound trace."""
    if checked.trace is None or checked.trace.started is None:
        return []
    claims = parse(checked.trace.report or "").claims
    known = {f"claim:{each.n}": digest(each.text)[:16] for each in claims}
    return list(grades.faults(folder, digest(checked.trace.started.digests), known))


@dataclass(frozen=True)
class Again:
    """One run whose calls were made again.

    Attributes:
        result: What came of it; None where nothing could be made again.
        trouble: Why not; empty otherwise.
        notes: What is worth knowing beside it.
    """

    folder: Path
    result: Replayed | None = None
    trouble: str = ""
    notes: tuple[str, ...] = ()

    @property
    def identical(self) -> bool:
        """Whether every call that can be made again gave the same bytes."""
        return self.result is not None and not self.result.different


def replay(
    paths: Sequence[Path] | Path,
    *,
    home: Path | None = None,
    policies: Mapping[str, Policy] | None = None,
    progress: Count = _silent,
) -> list[Again]:
    """Make every call of finished runs again on the same charts, and compare byte for byte.

    A run of a tumour board is made again on the sections of its packet; the packet is compared with
    the run's digest first. A chart whose file is gone or damaged is cut again from the store. Its
    digest is compared with the run's before any call is made. Programs that the agent wrote run
    again in the jail, where this machine can hold one.

    Args:
        paths: Folders of runs or of studies, or one of them.
        home: Whose cases the runs are of; None looks for the home in which they lie.
        policies: The corpus of runs beside which none is kept, if it is theirs.
        progress: Told how many are done and how many there are.

    Raises:
        SpecError: There is no run there.
    """
    found = sorted(_folders(paths), key=lambda each: (each.parents[1].name, each))  # by case
    done: list[Again] = []
    jail = _Jail()
    with _Charts() as charts:
        for n, folder in enumerate(found):
            progress(n, len(found))
            try:
                done.append(_again(folder, home, policies or {}, charts, jail))
            except ChartproofError as error:
                done.append(Again(folder, trouble=f"{error.what} {error.remedy}"))
    progress(len(found), len(found))
    return done


def _again(
    folder: Path,
    home: Path | None,
    policies: Mapping[str, Policy],
    charts: "_Charts",
    jail: "_Jail",
) -> Again:
    checked = proofs.verify(folder)
    if checked.found.state == "of another form":
        return Again(folder, trouble=f"{checked.found.notes[0]}. {OTHER_FORM}")
    if checked.found.faults or checked.trace is None or checked.trace.started is None:
        told = str(checked.found.faults[0]) if checked.found.faults else "It holds no event."
        return Again(folder, trouble=f"The run is not sound. {told}")
    began = checked.trace.started
    if "packet" in began.digests:
        return _sections_again(folder, home or _home(folder, PACKETS), checked.trace, began)
    notes: list[str] = []
    chart, mark, how = charts.of(home or _home(folder, CASES), began, folder / cells.EDITS)
    if how:
        notes.append(how)
    if mark != began.digests.get("chart", mark):
        return Again(
            folder,
            trouble="The chart says something else than the chart of the run did.",
            notes=tuple(notes),
        )
    known = _corpus(folder, began, policies)
    if began.digests.get("code", code()) != code():
        notes.append("run by another version of the tools")
    shell = None
    if shell_was_on(checked.trace):
        shell = jail.shell
        notes += [jail.trouble] if shell is None else []
        if shell is not None and shell.digest() != began.digests.get("shell", shell.digest()):
            notes.append("its programs ran with other versions or limits")
    result = make_again(chart, known, checked.trace, shell=shell)
    return Again(folder, result, notes=tuple(notes))


def _sections_again(folder: Path, home: Path, trace: Trace, began: Started) -> Again:
    """Make the calls of a run of a tumour board again, on the sections of its packet."""
    place = packet_place(home, began.digests["packet"])
    try:
        raw = place.read_bytes()
    except OSError as error:
        return Again(
            folder,
            trouble=f"Its packet {place} cannot be read: {error.strerror}. Run the study again: it "
            "writes the packets of its arms anew.",
        )
    if hashlib.sha256(raw).hexdigest() != began.digests["packet"]:
        return Again(folder, trouble=f"Its packet {place} was altered.")
    notes: list[str] = []
    if began.digests.get("code", code()) != code():
        notes.append("run by another version of the tools")
    told = began.digests.get("sections", "off")
    if told == "off":
        notes.append("it was asked in stages and made no calls")
        return Again(folder, Replayed(0), notes=tuple(notes))
    for lenient in (False, True):  # as its cohort is read, which the run does not tell
        try:
            shown = section_texts(raw.decode("utf-8"), lenient=lenient)
        except SpecError:
            continue
        if digest(shown) == told:
            return Again(folder, replay_sections(shown, trace), notes=tuple(notes))
    return Again(
        folder,
        trouble="The sections of its packet are others than the run read.",
        notes=tuple(notes),
    )


def _home(folder: Path, holds: str) -> Path:
    for each in folder.resolve().parents:
        if (each / holds).exists():
            return each
    raise RunError(
        f"{folder} lies in no home: no folder above it holds {holds}.",
        remedy="Name the home whose cases it is of with --in.",
    )


def _corpus(
    folder: Path, began: Started, policies: Mapping[str, Policy]
) -> Mapping[str, Policy] | None:
    """The corpus that a run read; None where nobody has it any more."""
    mark = began.digests.get("policies", "")
    place = proofs.kept_in(folder)
    kept = corpus.kept(place, mark) if place and mark else None
    if kept is None and mark == corpus.fingerprint(policies):
        return policies
    return kept


class _Jail:
    """The shell of this machine, asked for when the first run needs it."""

    def __init__(self) -> None:
        self.trouble = ""

    @cached_property
    def shell(self) -> Shell | None:
        """None where there is none; `trouble` says why."""
        try:
            return opened_shell()
        except RunError as error:
            self.trouble = f"its programs were not run again. {error.what} {error.remedy}"
            return None


class _Charts:
    """Charts by home, case and arm, the last one held open: runs of one case lie side by side."""

    def __init__(self) -> None:
        self._key: tuple[Path, str, str, Path | None] | None = None
        self._held: tuple[Chart, str, str] | None = None
        self._open = ExitStack()

    def __enter__(self) -> "_Charts":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def of(self, home: Path, began: Started, edits: Path) -> tuple[Chart, str, str]:
        """The chart that a run read, its digest, and how it was come by where that is unusual.

        Args:
            home: Whose case it is.
            began: What the run says of itself.
            edits: Beside a run of a case that was edited for it alone: what was edited.

        Raises:
            SpecError: The home has no cases.
            ChartError: The chart is gone and cannot be cut again.
            RunError: The run is of a case that the home does not have.
        """
        key = (home, began.case, began.arm, edits if began.arm == EDITED else None)
        if self._held is None or self._key != key:
            self._open.close()
            self._held = None
            self._held = self._opened(*key)
            self._key = key
        return self._held

    def _opened(
        self, home: Path, case_id: str, arm: str, edits: Path | None
    ) -> tuple[Chart, str, str]:
        if edits is not None:
            chart = self._open.enter_context(open_case(home / "cases", case_id, edits)).chart
            return chart, chart.digest(), "its chart was edited again"
        manifest = load(home / "cases")
        case = next((each for each in manifest.cases if each.id == case_id), None)
        if case is None or arm not in case.charts:
            raise RunError(
                f"{home} has no case {case_id} with an arm {arm}.",
                remedy="Name the home whose cases the run is of with --in.",
            )
        how = ""
        try:
            chart = Chart.open(home / "cases" / "charts" / case.charts[arm])
        except ChartError as error:
            chart = self._open.enter_context(_cut(case, arm, Path(manifest.store_path), error))
            how = "its chart was cut again from the store"
        else:
            self._open.enter_context(chart)
        return chart, chart.digest(), how


@contextmanager
def _cut(case: Case, arm: str, store: Path, why: ChartError) -> Generator[Chart]:
    """A chart that is gone, cut again in a place of its own."""
    if arm != "factual" and not arm.startswith(POLICY):
        raise ChartError(
            f"{why.what} An edited chart is not cut again here.",
            remedy="Make the arms again with `chartproof cases twins`.",
        )
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "chart"
        cut(Store.open(store), case.anchor.subject_id, path)
        with Chart.open(path) as chart:
            yield chart
