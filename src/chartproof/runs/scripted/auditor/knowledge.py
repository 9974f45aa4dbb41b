"""What the investigator knows of medicine: data files beside this module."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@cache
def known(name: str) -> dict[str, Any]:
    """The data file of that name."""
    return tomllib.loads((_HERE / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def pattern(file: str, table: str, key: str) -> re.Pattern[str]:
    """Alternatives of a data file as one expression, case-insensitive."""
    given = known(file)[table][key]
    joined = given if isinstance(given, str) else "|".join(f"(?:{one})" for one in given)
    return re.compile(joined, re.IGNORECASE)


def coded(code: str, wanted: list[str]) -> bool:
    """Whether an ICD code, with or without its dot, is among codes; `*` ends a prefix."""
    plain = code.replace(".", "").strip().upper()
    return any(
        plain.startswith(w[:-1]) if w.endswith("*") else plain == w
        for w in (one.replace(".", "").upper() for one in wanted)
    )
