"""Rows of an invented board study: what four systems with known habits would leave behind."""

from collections.abc import Iterator

from chartproof.records.sensitivity import Change, Coverage, Pair, Spent

LENGTHS = {
    # characters removed and added
    "A": (40, 50), "B": (0, 500), "C": (90, 0), "D": (300, 20), "E": (30, 550), "P1": (4, 4),
    "P2": (60, 60), "H2": (8, 8), "re": (0, 0),
}  # fmt: skip
ENTRIES = ("A2_HER2", "B1_FOLFIRINOX", "C1_HER2", "D1_surgery", "D2_surgery", "E1_metastasis")
CANCERS = ("breast", "gastric", "nsclc")
HABITS = {
    # score of an edit, movement on it, movement on a placebo, consensus items hit of 2
    "oracle": (1.0, 1.0, 0.0, 2),
    "constant": (0.0, 0.0, 0.0, 1),
    "half": (0.5, 1.0, 0.0, 2),
    "jumpy": (0.5, 1.0, 1.0, 0),
}
_PAIR = Pair(
    setting="single_shot", system="s", case="c", cancer="breast", change="active",
    intervention="A2", family="A", edition="v2", score=1.0, direction="updated", moved=1.0,
    distance=1.0,
)  # fmt: skip


def pairs(cases: int = 12, systems: tuple[str, ...] = tuple(HABITS)) -> list[Pair]:
    """Every system on every case: six edits in two editions, two placebos, a replicate."""
    return [pair for system in systems for n in range(cases) for pair in _of(system, n)]


def _of(system: str, n: int) -> Iterator[Pair]:
    score, moved, alarm, _ = HABITS[system]
    more = {
        "system": system, "case": f"c{n}", "cancer": CANCERS[n % 3],
        "strata": ("latent",) if n % 4 == 0 else (),
    }  # fmt: skip
    direction = {1.0: "updated", 0.5: "partial", 0.0: "unchanged"}[score]
    for entry in ENTRIES:
        for edition in ("v1", "twin"):
            lost = edition == "v1" and entry.startswith("D") and score == 1.0
            noop = entry == "C1_HER2" and n == 0
            given = None if noop else 0.0 if lost else score
            yield _PAIR.model_copy(update={
                **more, "intervention": entry, "family": entry[0], "edition": edition,
                "score": given, "unscored": "noop" if noop else None,
                "direction": "unchanged" if lost else direction, "moved": moved,
                "distance": moved, "saw_mutation": True,
                "removed": LENGTHS[entry[0]][0], "added": LENGTHS[entry[0]][1],
            })  # fmt: skip
    for name, change, moves in (
        ("P1_phone", "placebo", alarm), ("P2_order", "placebo", alarm),
        ("H2_free", "hard_placebo", alarm), ("replicate-2", "replicate", 0.0),
    ):  # fmt: skip
        yield _PAIR.model_copy(update={
            **more, "intervention": name, "family": "", "change": change, "score": None,
            "direction": None, "moved": moves, "distance": moves,
            "removed": LENGTHS[name[:2]][0], "added": LENGTHS[name[:2]][1],
        })  # fmt: skip


def coverage(cases: int = 12, systems: tuple[str, ...] = tuple(HABITS)) -> list[Coverage]:
    """Each original answer against a consensus of two strong items and a refused one."""
    return [
        Coverage(
            setting="single_shot", system=system, case=f"c{n}", cancer="breast", strong=2,
            strong_hit=HABITS[system][3], tacit=0, tacit_hit=0, refusal=1,
            refusal_hit=int(system == "jumpy"), recommended=2,
            recommended_refused=int(system == "jumpy"),
        )
        for system in systems
        for n in range(cases)
    ]  # fmt: skip


def as_agent(rows: list[Pair], *, gain: float = 0.0) -> list[Pair]:
    """The same systems as agents, some points better where they were not yet right."""
    return [
        row.model_copy(update={
            "setting": "agent", "calls": 7, "steps": 6, "hit_cap": False,
            "score": None if row.score is None else min(1.0, row.score + gain),
        })
        for row in rows
    ]  # fmt: skip


def climb(system: str, case: str, ladder: str, moves: list[float]) -> list[Pair]:
    """A system's steps along a ladder: the first is from level 1 to level 2."""
    return [
        _PAIR.model_copy(update={
            "system": system, "case": case, "change": "ladder", "score": None,
            "intervention": f"{ladder}:{level}", "family": "", "moved": moved, "distance": moved,
        })
        for level, moved in enumerate(moves, start=2)
    ]  # fmt: skip


def doses(system: str, case: str, moves: list[float], *, named: bool = False) -> list[Pair]:
    """A system's answers to one change made in ever more of its places."""
    return [
        _PAIR.model_copy(update={
            "system": system, "case": case, "change": "evidence", "score": None,
            "direction": None, "moved": moved, "distance": moved, "dose": dose,
            "places": len(moves),
            "named_conflict": named if dose < len(moves) else None,
        })
        for dose, moved in enumerate(moves, start=1)
    ]  # fmt: skip


def spent(
    system: str,
    runs: int,
    *,
    change: Change | None = None,
    asked: int = 1,
    calls: int = 0,
    turns: int | None = None,
    work_tokens: int | None = None,
    cost_usd: float | None = None,
) -> list[Spent]:
    """What so many runs of a system took, each alike."""
    return [
        Spent(
            setting="single_shot", system=system, case=f"c{n}", change=change, asked=asked,
            calls=calls, turns=turns, work_tokens=work_tokens, cost_usd=cost_usd,
        )
        for n in range(runs)
    ]  # fmt: skip
