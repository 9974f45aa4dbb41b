"""What the command line shows: tables, progress, complaints."""

import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal may obey, but for line feeds and tabs."""


class Literal(Console):
    """A console that prints text as it stands, whoever wrote it: what is bold is told by `style`.

    Square brackets and names between colons mean nothing, and nothing that a terminal would obey
    reaches it.
    """

    def __init__(self, *, stderr: bool = False, picture: bool = False) -> None:
        super().__init__(
            stderr=stderr,
            markup=False,
            emoji=False,
            record=picture,
            width=136 if picture else None,
            file=StringIO() if picture else None,
        )

    def render_str(self, text: str, **how: Any) -> Text:
        """Text to be measured and printed: what a terminal may obey has a sign in its place."""
        return super().render_str(_CONTROL.sub("\ufffd", text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield what is printed, without what a terminal may obey but rich did not mean."""
        for each in super().render(renderable, options):
            if each.control is None and _CONTROL.search(each.text):
                yield each._replace(text=_CONTROL.sub("\ufffd", each.text))
            else:
                yield each


out = Literal()
err = Literal(stderr=True)


def complain(what: str, remedy: str) -> None:
    """Say what happened, then what to do."""
    err.print(what, style="bold red", soft_wrap=True)
    err.print(remedy, soft_wrap=True)


def aside(text: str) -> None:
    """Say in passing what holds the work up, on its own line beside the progress."""
    err.print(text, style="dim", soft_wrap=True)


SHORT = 24
"""Cells up to so many characters, identifiers above all, stay on one line."""


def table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    """Print a plain table; long cells are folded, short ones stay whole."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for n, column in enumerate(columns):
        longest = max((len(row[n]) for row in rows), default=0)
        whole = max(longest, len(column)) if longest <= SHORT else None
        made.add_column(column, overflow="fold", min_width=whole)
    for row in rows:
        made.add_row(*row)
    out.print(made, crop=False)


def picture(shown: RenderableType) -> str:
    """What the terminal would show, as SVG."""
    recorder = Literal(picture=True)
    recorder.print(shown)
    drawn = recorder.export_svg(title="chartproof", unique_id="leaderboard")
    return re.sub(r"@font-face \{.*?\}", "", drawn, flags=re.DOTALL)  # loads nothing from afar


@contextmanager
def stages() -> Generator[Callable[[str], Callable[[int, int], None]]]:
    """Bars one below the other: a name gives the function that its bar is told by.

    Nothing is drawn before something is told, so that a refusal stands alone.
    """
    bar = Progress(
        TextColumn("{task.description:<28}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
    )

    def stage(what: str) -> Callable[[int, int], None]:
        tasks: list[TaskID] = []

        def told(done: int, all_: int) -> None:
            if not tasks:
                bar.start()
                tasks.append(bar.add_task(what, total=None))
            bar.update(tasks[0], completed=done, total=all_)

        return told

    try:
        yield stage
    finally:
        if bar.live.is_started:
            bar.stop()


@contextmanager
def progress(what: str) -> Generator[Callable[[int, int], None]]:
    """One bar that is told how many are done and how many there are."""
    with stages() as stage:
        yield stage(what)
