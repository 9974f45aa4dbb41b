"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

HOME = Path("out/demo")
"""Where `chartproof demo` puts what it makes, and where the other commands look first."""

Home = Annotated[
    Path, typer.Option("--in", help="Folder that holds store, cases, labels and runs.")
]
Edits = Annotated[
    Path | None,
    typer.Option("--edits", help="YAML file of edits; the chart is cut anew with them applied."),
]
Policies = Annotated[
    Path | None,
    typer.Option(
        "--policies",
        help="Folder of a site's own policies (`chartproof policy add`), read beside those that "
        "come with chartproof. Without it: the folder `policies` of the home, if there is one.",
    ),
]
CaseId = Annotated[
    str,
    typer.Argument(
        metavar="CASE", help="Id of a case, its beginning, or a scenario for its first case."
    ),
]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes side by side.")]
AtOnce = Annotated[
    int,
    typer.Option(
        "--at-once",
        min=1,
        max=256,
        help="Runs that each process has in hand; more than one pays where systems wait for "
        "models.",
    ),
]
