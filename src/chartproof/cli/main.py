"""`chartproof`: the command line, a thin door above the API.

Exit status: 0 done, 1 a failure, 2 the input is at fault, 130 interrupted.
"""

import errno
import sys

import typer

from chartproof.cli import cases, chart, demo, runs, scenario, store
from chartproof.cli.screen import complain
from chartproof.errors import ChartproofError

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
app.add_typer(store.app, name="store")
app.add_typer(cases.app, name="cases")
app.add_typer(chart.app, name="chart")
app.add_typer(scenario.app, name="scenario")
app.command("tool")(chart.tool)
app.command("run")(runs.run)
app.command("grade")(runs.grade)
app.command("report")(runs.report)
app.command("demo")(demo.demo)


def main() -> None:
    """Run a command; every failure names its remedy."""
    try:
        app()
    except ChartproofError as error:
        complain(error.what, error.remedy)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        interrupted()
    except RuntimeError as error:
        if str(error) != "Query interrupted":  # how DuckDB passes Ctrl-C on from a query
            raise
        interrupted()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT):
            raise
        complain(
            f"{error.filename or 'A file'} could not be written: {error.strerror}.",
            "Free disk space or choose another folder, then repeat.",
        )
        sys.exit(1)


def interrupted() -> None:
    """Say that nothing is lost, and end as a shell expects."""
    complain("Interrupted.", "What is complete is kept: the same command goes on from there.")
    sys.exit(130)
