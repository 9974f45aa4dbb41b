"""What a laboratory result says where it is no number, and where it says so.

The words by which laboratories write a comparison stand here.
"""

import re

_BLANK = re.compile(r"[\s_]*")
_NUMBER = (
    r"\s*((?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d*\.?\d+)(?:[eE][+-]?\d+)?)"
    r"(?!\d|[.,:/]\d)"  # a dilution such as 1:640 is no number
)
_BOUNDS = (
    (
        ">=",
        re.compile(rf"\s*(?:>=|=>|≥|(?:greater|more) than or equal to){_NUMBER}", re.IGNORECASE),
    ),
    ("<=", re.compile(rf"\s*(?:<=|=<|≤|less than or equal to){_NUMBER}", re.IGNORECASE)),
    (">", re.compile(rf"\s*(?:>|(?:greater|more) than|above){_NUMBER}", re.IGNORECASE)),
    ("<", re.compile(rf"\s*(?:<|less than|below){_NUMBER}", re.IGNORECASE)),
)
_BETWEEN = re.compile(rf"\bbetween{_NUMBER}\s+and{_NUMBER}", re.IGNORECASE)


def blank(text: str | None) -> bool:
    """Whether a text is missing, empty, or blotted out."""
    return text is None or _BLANK.fullmatch(text) is not None


def found_in(valuenum: float | None, value: str | None, comments: str | None) -> str:
    """Where the result stands: number, value, comments or nowhere."""
    if valuenum is not None:
        return "number"
    if not blank(value):
        return "value"
    return "nowhere" if blank(comments) else "comments"


def bound(valuenum: float | None, value: str | None, comments: str | None) -> str | None:
    """What a result without a number says of it: `< 0.01`, `between 45 and 60`; else None.

    A value that is blotted out says nothing: then what its comment says counts.
    """
    if valuenum is not None:
        return None
    told = comments if blank(value) else value
    if told is None:
        return None
    for sign, pattern in _BOUNDS:
        if found := pattern.match(told):
            return f"{sign} {found[1]}"
    between = _BETWEEN.search(told)
    return f"between {between[1]} and {between[2]}" if between else None
