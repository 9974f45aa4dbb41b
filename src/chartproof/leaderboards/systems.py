"""Tables with one row a system. Source of the measures: CliniCARE-Bench §5."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from chartproof.leaderboards import cells
from chartproof.metrics import abstention, grounding, policy, process, verdict
from chartproof.metrics.calibration import calibration
from chartproof.metrics.interval import DRAWS
from chartproof.metrics.rate import grounding_scoreable, referenced, report_present
from chartproof.metrics.spread import ece_interval, macro_f1_interval, scenario_macro_interval
from chartproof.records.scored import Scored
from chartproof.records.table import Cell, Table

Runs = Sequence[Scored]
BySystem = Mapping[str, Runs]

NO_REPORT = "No run has a readable verdict."
NOT_SCOREABLE = "No run has both a readable verdict and a retrieved row."


class Column(NamedTuple):
    """A measure: its heading, what it is, and how one system's cell is made."""

    title: str
    about: str
    cell: Callable[[Runs, int], Cell]


def table(
    by_system: BySystem,
    id_: str,
    title: str,
    population: str,
    columns: Sequence[Column],
    *,
    notes: tuple[str, ...] = (),
    draws: int = DRAWS,
) -> Table:
    """One row a system."""
    return Table(
        id=id_,
        title=title,
        population=population,
        columns=("System", *(column.title for column in columns)),
        rows=tuple(
            (cells.words(system), *(column.cell(runs, draws) for column in columns))
            for system, runs in by_system.items()
        ),
        notes=notes,
        about=("", *(column.about for column in columns)),
    )


def _accuracy(runs: Runs, draws: int) -> Cell:
    return cells.rate(verdict.accuracy(runs), "No reference verdict.", draws=draws, shown=True)


def _scenario_macro(runs: Runs, draws: int) -> Cell:
    value = verdict.scenario_macro_accuracy(runs)
    n = len({run.scenario for run in referenced(runs)})
    interval = scenario_macro_interval(runs, draws=draws)
    return cells.share(value, f"mean over {n} scenarios (all runs)", interval)


def _macro_f1(runs: Runs, draws: int) -> Cell:
    value, classes = verdict.macro_f1(runs)
    behind = f"mean over {classes} of 4 verdicts with support (all runs)"
    return cells.share(value, behind, macro_f1_interval(runs, draws=draws))


def _over_commitment(runs: Runs, draws: int) -> Cell:
    return cells.rate(abstention.over_commitment(runs), "No reference defers.", draws=draws)


def _over_abstention(runs: Runs, draws: int) -> Cell:
    return cells.rate(abstention.over_abstention(runs), "No reference is definitive.", draws=draws)


def _ece(runs: Runs, draws: int) -> Cell:
    found = calibration(runs)
    behind = f"{found.brier.of} runs with a confidence (report-present), 10 bins"
    absent = "No run gave a readable confidence."
    return cells.share(found.ece, behind, ece_interval(runs, draws=draws), absent=absent)


def _p_record(runs: Runs, draws: int) -> Cell:
    absent = "No report cites an identifier." if grounding_scoreable(runs) else NOT_SCOREABLE
    return cells.rate(grounding.p_record(runs), absent, draws=draws)


def _r_retrieval(runs: Runs, draws: int) -> Cell:
    return cells.rate(grounding.r_retrieval(runs), NOT_SCOREABLE, draws=draws)


def _r_finding(runs: Runs, draws: int) -> Cell:
    return cells.bounds(grounding.r_finding(runs), NOT_SCOREABLE, what="findings", draws=draws)


def _p_claim(runs: Runs, draws: int) -> Cell:
    found = grounding.claims(runs).precision
    return cells.bounds(found, NOT_SCOREABLE, what="claims", draws=draws)


def _contradicted(runs: Runs, draws: int) -> Cell:
    return cells.rate(grounding.contradicted(runs), NOT_SCOREABLE, draws=draws)


def _claims(grade: str) -> Callable[[Runs, int], Cell]:
    def cell(runs: Runs, draws: int) -> Cell:
        del draws
        found = grounding.claims(runs)
        return cells.count(getattr(found, grade), f"of {found.precision.items} claims")

    return cell


def _resolution(runs: Runs, draws: int) -> Cell:
    absent = "No report cites a policy." if report_present(runs) else NO_REPORT
    return cells.rate(policy.resolution(runs), absent, draws=draws)


def _unresolved(runs: Runs, draws: int) -> Cell:
    del draws
    n = sum(run.policy.cited for run in report_present(runs))
    return cells.count(policy.unresolved(runs), f"of {n} distinct policy citations of a run")


def _p_doc(runs: Runs, draws: int) -> Cell:
    absent = "No report cites a document of the corpus." if report_present(runs) else NO_REPORT
    return cells.rate(policy.p_doc(runs), absent, draws=draws)


def _r_doc(runs: Runs, draws: int) -> Cell:
    return cells.rate(policy.r_doc(runs), "No scenario has a governing document.", draws=draws)


def _support(runs: Runs, draws: int) -> Cell:
    del runs, draws
    return cells.dash("Whether a passage supports a claim is a judge's to say; none has graded.")


def _process(runs: Runs, draws: int) -> Cell:
    found = process.process(runs)
    return cells.bounds(found, "No criterion was graded.", what="criteria", draws=draws)


def _process_graded(runs: Runs, draws: int) -> Cell:
    return cells.rate(process.process_graded(runs), "No criterion was graded.", draws=draws)


def _defect_free(runs: Runs, draws: int) -> Cell:
    found = process.defects(runs).defect_free
    return cells.bounds(found, NO_REPORT, what="runs' must-nots", always=True, draws=draws)


def _defect_gap(runs: Runs, draws: int) -> Cell:
    del draws
    found = process.defects(runs)
    if found.gap is None:
        return cells.dash(NO_REPORT)
    low, high = found.gap
    text = f"{low:.2f}" if abs(high - low) < 1e-9 else f"{low:.2f}–{high:.2f}"
    why = "accuracy less defect-free accuracy, report-present: unknown clean, unknown defective"
    return Cell(text=text, value=low if low == high else None, why=why, low=low, high=high)


def _state(name: str) -> Callable[[Runs, int], Cell]:
    def cell(runs: Runs, draws: int) -> Cell:
        del draws
        found = process.defects(runs)
        return cells.count(getattr(found, name), f"of {found.accuracy.of} runs (report-present)")

    return cell


def _brier(runs: Runs, draws: int) -> Cell:
    return cells.rate(calibration(runs).brier, "No run gave a readable confidence.", draws=draws)


def _distinct(runs: Runs, draws: int) -> Cell:
    del draws
    return cells.count(calibration(runs).distinct, "different confidences given")


def _modal(runs: Runs, draws: int) -> Cell:
    del draws
    found = calibration(runs)
    return cells.share(found.modal, f"of {found.brier.of} runs with a confidence", None)


def _without(runs: Runs, draws: int) -> Cell:
    del draws
    return cells.count(calibration(runs).without, "report-present runs left out of ECE and Brier")


ACCURACY = Column("Accuracy", "Exact four-class agreement; all runs; rule.", _accuracy)
OVER_COMMITMENT = Column(
    "Over commit", "Yes or No where the reference defers; all such runs; rule.", _over_commitment
)
OVER_ABSTENTION = Column(
    "Over abstain", "Defers where the reference does not; all such runs; rule.", _over_abstention
)
ECE = Column("ECE", "Expected calibration error; report-present with a confidence; rule.", _ece)
P_RECORD = Column(
    "P record", "Identifiers cited that were retrieved; grounding-scoreable; rule.", _p_record
)
R_RETRIEVAL = Column(
    "R retrieval", "Required sources looked at in scope; grounding-scoreable; rule.", _r_retrieval
)
R_DOC = Column("R doc", "Governing documents that are cited; all runs; rule.", _r_doc)
PROCESS = Column(
    "Process",
    "Process score; report-present; from worst to best while criteria are ungraded; rule.",
    _process,
)
DEFECT_FREE = Column(
    "Defect free",
    "Right and no must-not committed; report-present; from unknown defective to unknown clean; "
    "rule.",
    _defect_free,
)

LEADERBOARD = (
    ACCURACY,
    Column("Macro-F1", "Mean F1 of the verdicts with support; all runs; rule.", _macro_f1),
    OVER_COMMITMENT,
    OVER_ABSTENTION,
    ECE,
    P_RECORD,
    R_RETRIEVAL,
    R_DOC,
    PROCESS,
    DEFECT_FREE,
)
VERDICTS = (
    ACCURACY,
    Column("Scenario-macro", "Mean of the scenarios' accuracies; all runs; rule.", _scenario_macro),
    ECE,
    Column("Brier", "Mean squared error of the confidence; report-present; rule.", _brier),
    Column("Distinct", "Number of different confidences; report-present.", _distinct),
    Column("Modal share", "Share of the commonest confidence; report-present.", _modal),
    Column("No confidence", "Report-present runs without a readable confidence.", _without),
)
GROUNDING = (
    P_RECORD,
    R_RETRIEVAL,
    Column("R finding", "Required findings addressed; grounding-scoreable; rule.", _r_finding),
    Column("P claim", "Claims supported by what they cite; grounding-scoreable; rule.", _p_claim),
    Column("Contradicted", "Claims that a cited row contradicts, at least; rule.", _contradicted),
    Column("Supported", "Claims, counted.", _claims("supported")),
    Column("Contradicted n", "Claims, counted.", _claims("contradicted")),
    Column("Unverifiable", "Claims, counted.", _claims("unverifiable")),
    Column("Ungraded", "Claims that no rule settles, counted.", _claims("ungraded")),
)
POLICY = (
    Column("Resolved", "Policy citations that resolve; report-present that cite.", _resolution),
    Column("Unresolved n", "Policy citations that do not, counted.", _unresolved),
    Column("Support", "Whether the passage supports the claim; judge.", _support),
    Column("P doc", "Documents cited that govern; report-present that cite one; rule.", _p_doc),
    R_DOC,
)
PROCESS_COLUMNS = (
    PROCESS,
    Column("Graded only", "Process score over graded criteria alone; rule.", _process_graded),
    Column("Defective", "Runs that committed a must-not, counted.", _state("defective")),
    Column("Clean", "Runs of which every must-not is graded not met.", _state("clean")),
    Column("Unknown", "Runs with an ungraded must-not and none met.", _state("unknown")),
    DEFECT_FREE,
    Column("Defect gap", "Accuracy less defect-free accuracy; report-present.", _defect_gap),
)
