"""`chartproof`: the command line, a thin door above the API.

Exit status: 0 done, 1 a failure, 2 the input is at fault, 130 interrupted, 143 ended by SIGTERM.
"""

import errno
import os
import signal
import sys
from pathlib import Path
from traceback import walk_tb
from types import FrameType
from typing import Annotated

import typer

from chartproof.cli import (
    board,
    cases,
    chart,
    demo,
    model,
    policy,
    runs,
    scenario,
    selftest,
    serve,
    shell,
    store,
    study,
    systems,
    traces,
)
from chartproof.cli.screen import complain
from chartproof.errors import ChartproofError, mend, unread

INTERRUPTED = 128 + signal.SIGINT
LIBRARY = str(Path(os.__file__).parent)
"""Where the functions lie that ask the system for a file."""
CHANGES = (
    "write",
    "mkdir",
    "makedirs",
    "touch",
    "rename",
    "replace",
    "unlink",
    "rmdir",
    "rmtree",
    "_rmtree",
    "copy",
    "symlink",
    "link",
    "mkdtemp",
    "_mkstemp",
)

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help=(
        "Tells whether a clinical AI can be trusted with a patient's chart.\n\n"
        "Begin with [bold]chartproof demo[/]: it needs no data, no key and no network. Then\n"
        "[bold]chartproof cases show[/], [bold]chartproof chart show CASE[/],\n"
        "[bold]chartproof tool CASE labs items=creatinine[/]."
    ),
)


@app.callback(invoke_without_command=True)
def about(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and end.")
    ] = False,
    scenarios: Annotated[
        Path | None,
        typer.Option(
            envvar="CHARTPROOF_SCENARIOS",
            help="Folder of a site's own scenarios (`chartproof scenario new`), beside those that "
            "come with chartproof.",
        ),
    ] = None,
) -> None:
    """Options of the program itself."""
    if version:
        from importlib.metadata import version as of

        typer.echo(f"chartproof {of('chartproof')}")
        raise typer.Exit
    if scenarios is not None:
        os.environ["CHARTPROOF_SCENARIOS"] = str(scenarios)  # so that worker processes see it


app.add_typer(store.app, name="store")
app.add_typer(cases.app, name="cases")
app.add_typer(chart.app, name="chart")
app.add_typer(scenario.app, name="scenario")
app.add_typer(policy.app, name="policy")
app.add_typer(study.app, name="study")
app.add_typer(board.app, name="board")
app.add_typer(model.app, name="model")
app.add_typer(systems.app, name="systems")
app.command("tool")(chart.tool)
app.command("serve")(serve.serve)
app.command("run")(runs.run)
app.command("egress")(runs.egress)
app.command("shell")(shell.shell)
app.command("grade")(runs.grade)
app.command("report")(runs.report)
app.command("verify")(traces.verify)
app.command("replay")(traces.replay)
app.command("demo")(demo.demo)
app.command("selftest")(selftest.selftest)


def main() -> None:
    """Run a command; every failure names its remedy."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        app()
    except SystemExit as end:
        if end.code == INTERRUPTED:  # what Typer makes of Ctrl-C
            interrupted()
        raise
    except ChartproofError as error:
        complain(error.what, error.remedy)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        interrupted()
    except RecursionError:
        complain("What was given is nested too deeply.", "Give a file or argument that is flatter.")
        sys.exit(2)
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # how DuckDB passes Ctrl-C on from a query
            raise
        interrupted()
    except OSError as error:
        refused(error)
    except MemoryError:
        complain("There is not enough memory.", "Free memory or give fewer --workers, then repeat.")
        sys.exit(1)


def refused(error: OSError) -> None:
    """Say which file the system refused, and why."""
    reason = error.strerror or str(error) or type(error).__name__
    if writing(error):
        complain(
            f"{error.filename or 'A file'} could not be written: {reason}.",
            mend(error, "repeat"),
        )
        sys.exit(1)
    complain(
        f"{error.filename or 'A file'} could not be read: {unread(error)}.",
        "Give a file or folder that is there and readable.",
    )
    sys.exit(2)


def writing(error: OSError) -> bool:
    """Whether it befell a write; a number alone, such as that of no permission, does not tell."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EEXIST):
        return True
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return any(
        frame.f_code.co_name.startswith(CHANGES) or str(frame.f_locals.get("mode", "r"))[0] in "wax"
        for frame in frames
        if frame.f_code.co_filename.startswith(LIBRARY)
    )


def interrupted() -> None:
    """Say that nothing is lost, and end as a shell expects."""
    what = "Ended by SIGTERM." if _ended_by_sigterm else "Interrupted."
    complain(what, "What is complete is kept: the same command goes on from there.")
    sys.exit(128 + signal.SIGTERM if _ended_by_sigterm else INTERRUPTED)


def _terminated(_number: int, _frame: FrameType | None) -> None:
    """End as on Ctrl-C: the work in hand is let go in order, and nothing is left behind."""
    _ended_by_sigterm.append(True)
    raise KeyboardInterrupt


_ended_by_sigterm: list[bool] = []
