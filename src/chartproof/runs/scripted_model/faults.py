"""What shall go wrong, when, and how often.

A fault is written `KIND[=VALUE][@TURN][:TIMES]`, as in `429=2@3:once`: the third answer of a
conversation is refused once, with the advice to come back after two seconds.
"""

import hashlib
import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chartproof.errors import SpecError
from chartproof.runs.scripted_model.conversation import Asked

STATUSES = (400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529)
KINDS: dict[str, str] = {
    **{str(status): f"answers with status {status}" for status in STATUSES},
    "delay": "waits so many seconds before it answers, or a time between two: `delay=0.1-0.5`",
    "pace": "waits so many seconds before each part of a stream",
    "cut": "drops the connection in the middle of the answer",
    "unfinished": "ends the stream in its middle, as if that were all",
    "malformed": "sends what is no JSON",
    "wrong-tool": "calls a tool that there is not",
    "bad-arguments": "calls a tool with arguments that are no JSON",
    "loop": "makes its last call again, or its first for ever",
    "big": "answers with so many bytes of text, 1000000 unless told",
    "empty": "answers nothing",
    "refusal": "refuses, as a provider's filter does",
    "length": "ends in the middle of its text, as if no more tokens were allowed",
    "no-usage": "does not tell what it used",
    "aloud": "says what it calls before it calls it",
    "parallel": "makes so many calls at once, 2 unless told, as far as it can guess them",
}
"""Kind → what the server then does."""
TIMES = ("always", "once", "each")
_FORM = re.compile(r"([\w-]+)(?:=([\w.\-]+))?(?:@(\d+))?(?::([\w.]+))?")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?")
_VALUED = ("delay", "pace", "big", "parallel", "429", "503", "529")


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        kind: One of `KINDS`.
        low: Its value; 0 where none is told.
        high: Where the value is drawn from a range, the end of it; else the value.
        turn: The answer that it strikes, from 1; None strikes any.
        times: `once` in a conversation, `each` turn the first time it is tried, or `always`.
        chance: How probable it is that it strikes.
    """

    kind: str
    low: float = 0.0
    high: float = 0.0
    turn: int | None = None
    times: str = "always"
    chance: float = 1.0


def parsed(written: str) -> Fault:
    """Read a fault.

    Raises:
        SpecError: It is none.
    """
    form = _FORM.fullmatch(written.strip())
    if form is None or form[1] not in KINDS:
        raise SpecError(
            f"`{written}` is no fault.",
            remedy=f"Write KIND[=VALUE][@TURN][:TIMES], where KIND is one of {', '.join(KINDS)}.",
        )
    kind, value, turn, times = form.groups()
    low, high = _range(written, kind, value)
    chance = 1.0
    if times is not None and times not in TIMES:
        chance = _chance(written, times)
        times = "always"
    return Fault(kind, low, high, int(turn) if turn else None, times or "always", chance)


def _range(written: str, kind: str, value: str | None) -> tuple[float, float]:
    if value is None:
        if kind in ("delay", "pace"):
            raise SpecError(f"`{written}` tells no time.", remedy=f"Write `{kind}=SECONDS`.")
        default = {"big": 1_000_000.0, "429": 1.0, "parallel": 2.0}.get(kind, 0.0)
        return default, default
    form = _RANGE.fullmatch(value)
    if form is None or kind not in _VALUED:
        raise SpecError(
            f"`{written}` has a value that `{kind}` does not take.",
            remedy=f"Give a number, and only to {', '.join(_VALUED)}.",
        )
    low = float(form[1])
    high = float(form[2] or low)
    if high < low:
        raise SpecError(f"`{written}` ends before it begins.", remedy="Write the less first.")
    return low, high


def _chance(written: str, times: str) -> float:
    try:
        chance = float(times)
    except ValueError:
        chance = -1.0
    if not 0 <= chance <= 1:
        raise SpecError(
            f"`{written}` does not say how often.",
            remedy=f"End it with :{', :'.join(TIMES)} or a probability as :0.2.",
        )
    return chance


class Struck:
    """Which faults have struck; draws what is left to chance, the same for the same seed.

    Args:
        seed: Of what is drawn.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._tries: Counter[str] = Counter()
        self._lock = threading.Lock()

    def striking(self, faults: Sequence[Fault], asked: Asked, label: str) -> dict[str, float]:
        """The faults that strike a request: kind → value.

        Args:
            faults: Those that are in force.
            asked: The request.
            label: What tells its conversation from others that begin alike.
        """
        struck: dict[str, float] = {}
        for fault in faults:
            if fault.turn not in (None, asked.turn):
                continue
            what = f"{label} {asked.conversation} {fault}"
            here = f"{what} {asked.turn}"
            with self._lock:
                self._tries[here] += 1
                tried = self._tries[here]
                if fault.times == "once":
                    self._tries[what] += 1
                    tried = self._tries[what]
            if fault.times != "always" and tried > 1:
                continue
            if self._drawn(f"chance {here} {tried}") < fault.chance:
                span = fault.high - fault.low
                struck[fault.kind] = fault.low + span * self._drawn(f"value {here} {tried}")
        return struck

    def _drawn(self, what: str) -> float:
        """A number from 0 up to 1 that hangs on the seed and a text."""
        whole = hashlib.sha256(f"{self._seed} {what}".encode()).digest()
        return int.from_bytes(whole[:7], "big") / (1 << 56)
