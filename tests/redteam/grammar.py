"""Statements that an attacker would send: whole skeletons of SQL with hostile pieces at any place.

`{file}`, `{folder}` and `{chart}` in a piece are paths that exist and must stay as they are.
"""

from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st


def lines(name: str) -> tuple[str, ...]:
    """The lines of a file of statements, without its remarks."""
    text = (Path(__file__).parent / "sql" / name).read_text(encoding="utf-8")
    told = (line for line in text.splitlines() if line and not line.startswith(("# ", "-- ")))
    return tuple(line.replace("\\n", "\n") for line in told)


EXPRESSIONS = lines("expressions.txt")
TABLES = lines("tables.txt")
STATEMENTS = lines("statements.txt")
SKELETONS = lines("skeletons.txt")

_LOOK_ALIKE = str.maketrans({"a": "а", "e": "е", "o": "о", "c": "с", "_": "＿", "(": "（"})


def _mixed(text: str) -> str:
    return "".join(c.upper() if n % 2 else c for n, c in enumerate(text))


DISGUISES: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    str.upper,
    _mixed,
    lambda text: text.replace(" ", "/**/"),
    lambda text: text.replace(" ", "\n--'\n"),
    lambda text: text.replace("(", " /* ' */ (", 1),
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: text.replace("_", "\u200b_", 1),
    lambda text: text.translate(_LOOK_ALIKE),
    lambda text: "\ufeff" + text,
    lambda text: f'"{text.partition("(")[0]}"' + "".join(text.partition("(")[1:]),
    lambda text: "main." + text,
    lambda text: "system.main." + text,
    lambda text: "pg_catalog." + text,
    lambda text: f"({text})",
    lambda text: f"(({text}))",
    lambda text: "'" + text.replace("'", "''") + "'",
    lambda text: f"$${text}$$",
    lambda text: f"$tag$ {text} $tag$",
    lambda text: "E'" + text.replace("'", "\\'") + "'",
    lambda text: f"/* {text} */ 1",
    lambda text: f"1 /* ' */ ; {text}",
    lambda text: f"'' ; {text} --",
    lambda text: f"1) from labevents; {text} --",
    lambda text: text + "\x00",
    lambda text: text + "; ",
    lambda text: text + " --\r",
    lambda text: text.replace("'", "’"),
    lambda text: text.replace("'", '"'),
    lambda text: text.replace("'", "''"),
)  # fmt: skip
"""Ways to write a piece so that a reader of words would miss it, or so that it is only a text."""


@st.composite
def statements(draw: st.DrawFn) -> str:
    """One statement; `{file}`, `{folder}` and `{chart}` are still to be filled in."""
    text = draw(st.sampled_from(SKELETONS))
    for _ in range(draw(st.integers(0, 2))):
        # a piece of another kind than the slot asks for, or a whole skeleton within a skeleton
        hole = draw(st.sampled_from(("{e}", "{t}", "{s}")))
        inner = draw(st.sampled_from(SKELETONS))
        text = text.replace(hole, f"({inner})", 1)
    for hole, pieces in (("{e}", EXPRESSIONS), ("{t}", TABLES), ("{s}", STATEMENTS)):
        while hole in text:
            piece = draw(st.sampled_from(DISGUISES))(draw(st.sampled_from(pieces)))
            text = text.replace(hole, piece, 1)
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from(SPLICED)) + text[at:]
    return draw(st.sampled_from(DISGUISES))(text) if draw(st.integers(0, 9)) == 0 else text


SPLICED = (
    *(";", "'", '"', "--", "/*", "*/", "$$", "\x00", "\\", "(", ")", ",", "{", "}"),
    *("\ud800", "\u202e", "\ufeff", "\r\n", "' or 1=1 --", "; delete from labevents; "),
    " union all from read_text('{file}') ",
)  # fmt: skip


def filled(statement: str, **paths: str) -> str:
    """A statement with its paths, whatever a disguise made of the braces."""
    for name, path in paths.items():
        for spelled in ("{" + name + "}", "{" + name.upper() + "}", "{" + _mixed(name) + "}"):
            statement = statement.replace(spelled, path)
    return statement.replace("{{}}", "{}")
