"""Serve a case to somebody's own agent: its chart, the tools on it, and a trace of its own."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from chartproof.api.charts import open_case
from chartproof.api.corpora import corpus_of
from chartproof.cases.build import find, load
from chartproof.cases.prompt import prompt as prompt_text
from chartproof.catalog.read import prompt, scenario
from chartproof.chart.chart import Chart
from chartproof.errors import ChartproofError, RunError, mend
from chartproof.interventions.audit import Audit
from chartproof.records.case import Case
from chartproof.records.study import Study
from chartproof.records.trace import Ended, Started, digest
from chartproof.runs import cells
from chartproof.runs.run import code
from chartproof.tools import corpus
from chartproof.tools.gateway import Gateway
from chartproof.tools.python import Shell
from chartproof.tools.trace import TraceWriter

STUDY = "served"
SYSTEM = "mcp"
EDITED = "edited"
"""Arm of a case that is served with edits."""
TEMPLATE: str = Study.model_fields["prompt"].default
"""The prompt that a study gives where it names none."""


@dataclass
class Session:
    """A case that is being served.

    Attributes:
        folder: Holds `trace.jsonl`, the prompt to give to the agent, and the edits if any.
        audit: What the edits touched and left behind, where there were any.
        failure: What ended it, where that was our fault.
    """

    case: Case
    gateway: Gateway
    folder: Path
    audit: Audit | None = None
    failure: Exception | None = None

    def fail(self, error: Exception) -> None:
        """Keep what ended it."""
        self.failure = error


@contextmanager
def serve_case(
    home: Path,
    case_id: str,
    *,
    edits: Path | None = None,
    shell: Shell | None = None,
    policies: Path | None = None,
    clock: Callable[[], float],
) -> Generator[Session]:
    """Open a case for an agent of somebody else, with a trace in a new folder.

    The folder is `runs/served/mcp/<case>/<arm>/<n>` of the home. The trace is closed at the end of
    the `with`, whichever way that comes.

    Args:
        home: Where `cases/` lies; `runs/` is made there.
        case_id: As for `open_case`.
        edits: YAML file of edits, applied to a copy of the chart.
        shell: Lets the agent run Python in a jail; see `shell`.
        policies: Folder of a site's own policies; None takes the home's `policies/`, if any.
        clock: Seconds, for the times of the trace.

    Raises:
        SpecError: No such case, or the edits do not fit.
        ChartError: The chart or the store is missing.
        RunError: The folder or the trace cannot be written.
    """
    with _opened(home / "cases", case_id, edits) as (case, chart, audit):
        arm = "factual" if edits is None else EDITED
        text = prompt_text(case, scenario(case.scenario).scenario, prompt(TEMPLATE))
        known = corpus_of(home, policies)
        folder, attempt = _folder(home / "runs", case.id, arm)
        beside = {cells.PROMPT: text.encode()}
        try:
            if edits is not None:
                beside[cells.EDITS] = edits.read_bytes()
            for name, content in beside.items():
                (folder / name).write_bytes(content)
        except OSError as error:
            raise _unwritable(folder, error) from error
        corpus.keep(cells.study(folder) / corpus.KEPT, known)
        with TraceWriter(folder / cells.TRACE) as writer:
            gateway = Gateway(
                chart, known, writer.write, clock=clock, shell=shell, files=folder / cells.FILES
            )
            began = clock()
            writer.write(
                Started(
                    system=SYSTEM,
                    case=case.id,
                    arm=arm,
                    attempt=attempt,
                    digests={
                        "tools": digest(gateway.specs()),
                        "chart": chart.digest(),
                        "policies": corpus.fingerprint(known),
                        "shell": shell.digest() if shell else "off",
                        "code": code(),
                        **{name: sha256(content).hexdigest() for name, content in beside.items()},
                    },
                )
            )
            session = Session(case, gateway, folder, audit)
            try:
                yield session
            finally:
                gateway.close()
                writer.write(_ended(session.failure, clock() - began))


@contextmanager
def _opened(
    cases: Path, case_id: str, edits: Path | None
) -> Generator[tuple[Case, Chart, Audit | None]]:
    """A case and its chart; the rules are asked only where edits may name their facts."""
    if edits is None:
        case = find(load(cases), case_id)
        with Chart.open(cases / "charts" / case.charts["factual"]) as chart:
            yield case, chart, None
        return
    with open_case(cases, case_id, edits) as opened:
        yield opened.case, opened.chart, opened.audit


def _folder(runs: Path, case: str, arm: str) -> tuple[Path, int]:
    """A new folder, and its number; another server may be making one at the same time."""
    attempt = 1
    while True:
        folder = cells.place(runs, STUDY, SYSTEM, case, arm, attempt)
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            attempt += 1
        except OSError as error:
            raise _unwritable(folder, error) from error
        else:
            return folder, attempt


def _unwritable(folder: Path, error: OSError) -> RunError:
    return RunError(
        f"{error.filename or folder} could not be written: {error.strerror}.",
        remedy=mend(error, "serve again"),
    )


def _ended(failure: Exception | None, seconds: float) -> Ended:
    if failure is None:
        return Ended(outcome="served", seconds=round(seconds, 3))
    told = failure if isinstance(failure, ChartproofError) else type(failure).__name__
    return Ended(outcome="infrastructure", reason=str(told), seconds=round(seconds, 3))
