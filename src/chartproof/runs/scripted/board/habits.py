"""What sets the systems apart: each habit is a way of reading or of planning, and knows no case."""

import hashlib
from collections import Counter
from collections.abc import Callable

from board.talk import Habit
from board.treatment import State, Treatment

OPERATION = ("surgery", "resectable", "neoadjuvant_done", "residual", "breast_op", "N")
COURSE = ("line", "prior")
EXTENT = ("M", "stage")
NEEDED = ("cancer", "ECOG", "age", "packet")
"""What no habit overlooks: without it there is no plan at all, or it never changes."""
NOISE = 0.2
"""How often the noisy one plans something else."""
MOST = 8
"""Recommendations that the prompt allows."""


class Oracle:
    """Plans what the knowledge holds for the facts that it read."""

    at_once = 1

    def __init__(self, treatment: Treatment) -> None:
        self.treatment = treatment

    def plan(self, state: State, mark: str) -> list[str]:  # noqa: ARG002  not of the text
        """See `Habit`."""
        lists = self.treatment.lists(self.taken(state))
        return [*lists["strong"], *lists["tacit"]][:MOST]

    def taken(self, state: State) -> State:
        """See `Habit`."""
        return state


class Constant(Oracle):
    """Plans the same for everybody with the cancer."""

    def taken(self, state: State) -> State:
        """See `Habit`."""
        return {"cancer": state["cancer"]}

    def plan(self, state: State, mark: str) -> list[str]:  # noqa: ARG002  neither counts
        """See `Habit`."""
        return self.treatment.plans(state["cancer"])[0]


class EvidenceBlind(Oracle):
    """Reads and reports every fact, and plans what most of those with the cancer would get."""

    def plan(self, state: State, mark: str) -> list[str]:  # noqa: ARG002  told, and never used
        """See `Habit`."""
        plans = self.treatment.plans(state["cancer"])
        usual = Counter(option for plan in plans for option in plan)
        return [option for option, _ in usual.most_common(3)]


class Replanner(Constant):
    """Plans something at random, anew for each text."""

    def plan(self, state: State, mark: str) -> list[str]:
        """See `Habit`."""
        plans = self.treatment.plans(state["cancer"])
        return plans[drawn("plan", mark) % len(plans)]


class Noisy(Oracle):
    """Plans rightly, but for some texts something at random; reads two sections at a time."""

    at_once = 2

    def plan(self, state: State, mark: str) -> list[str]:
        """See `Habit`."""
        if drawn("noise", mark) % 1000 < 1000 * NOISE:
            return Replanner(self.treatment).plan(state, mark)
        return super().plan(state, mark)


class BlindToOperations(Oracle):
    """Takes every patient for one who has not been operated on yet."""

    def taken(self, state: State) -> State:
        """See `Habit`."""
        kept = {name: value for name, value in state.items() if name not in OPERATION}
        assumed = {"surgery": "none", "resectable": "yes", "neoadjuvant_done": False}
        return {**kept, **assumed, "residual": "na"}


class Half(Oracle):
    """Overlooks, of each patient, about half of what there is to see."""

    def taken(self, state: State) -> State:
        """See `Habit`."""
        seen = {
            name: value
            for name, value in state.items()
            if name in NEEDED or not drawn(kind(name), str(state.get("packet"))) % 2
        }
        return {**unseen(), **seen}


class Lister(Constant):
    """Recommends whatever is ever given for the cancer."""

    def plan(self, state: State, mark: str) -> list[str]:  # noqa: ARG002  everything, always
        """See `Habit`."""
        return self.treatment.every(state["cancer"])


def drawn(what: str, of: str) -> int:
    """A number that hangs on a text alone."""
    return int(hashlib.sha256(f"{what} {of}".encode()).hexdigest()[:12], 16)


def kind(name: str) -> str:
    """What a fact is overlooked together with."""
    groups = {"operation": OPERATION, "course": COURSE, "extent": EXTENT}
    return next((group for group, names in groups.items() if name in names), name)


def unseen() -> State:
    """What is assumed where nothing was seen: an untreated primary of the middle stage."""
    return {
        "stage": "II", "M": "M0", "surgery": "none", "resectable": "yes", "line": 1, "prior": [],
        "neoadjuvant_done": False, "residual": "na", "ECOG": 1,
        **dict.fromkeys(("HER2", "EGFR", "ALK", "ROS1", "MSI"), "unknown"),
    }  # fmt: skip


HABITS: dict[str, Callable[[Treatment], Habit]] = {
    "board-oracle": Oracle,
    "board-constant": Constant,
    "board-replanner": Replanner,
    "board-evidence-blind": EvidenceBlind,
    "board-blind-d": BlindToOperations,
    "board-half": Half,
    "board-noisy": Noisy,
    "board-lister": Lister,
}
"""Name of the system → its habit."""
