"""Cohorts of tumour-board cases: the synthetic one, made from a plan, and those of others.

Synthetic; not reviewed by an oncologist; not for care. Packets and gold lie apart: whoever answers
is handed packets, and never the folder `gold`.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any, cast, get_args

from pydantic import ValidationError

from chartproof.catalog.read import ROOT, line_of, parse_yaml, read_text, read_yaml, validated
from chartproof.errors import DiskError, SpecError, mend
from chartproof.oncology.dice import Dice
from chartproof.oncology.knowledge import LEVELS, knowledge
from chartproof.oncology.packet import preamble, read_packet
from chartproof.oncology.render import rendered
from chartproof.records.board import (
    BoardCase,
    BoardGold,
    Cancer,
    Cohort,
    Consensus,
    Fact,
    Level,
    Listed,
    Size,
    State,
    Stratum,
)
from chartproof.records.cohort import (
    CohortPlan,
    FrozenCohort,
    FrozenPacket,
    Group,
    OwnCase,
    OwnCohort,
)
from chartproof.records.record import misfit

PLAN = ROOT / "board" / "cohort.yaml"
MANIFEST = ROOT / "suites" / "board.json"
COHORT = "cohort.json"
OWN = "consensus.json"
GOLD = "gold/consensus.json"
PACKETS = "packets"
_MAKERS = ("cohort", "conditions", "dice", "entries", "knowledge", "render", "telling", "wording")
"""Modules of this package that decide what a packet says."""
_OWN_FIELDS = set(State.model_fields) - {"facts"}
Told = Callable[[int, int], None]


@dataclass(frozen=True)
class Made:
    """A synthetic case, with what is true of it."""

    case: BoardCase
    gold: BoardGold
    text: str


@dataclass(frozen=True)
class BoardCohort:
    """A cohort in a folder, without its gold.

    Attributes:
        lenient: Its packets are others', and are read as such.
    """

    folder: Path
    cohort: Cohort
    lenient: bool

    def case(self, id_: str) -> BoardCase:
        """A case by its id.

        Raises:
            SpecError: There is none of that id.
        """
        if id_ not in self._by_id:
            raise SpecError(
                f"The cohort {self.cohort.id} has no case `{id_}`.",
                remedy=f"Its first cases are {', '.join(list(self._by_id)[:5])}.",
            )
        return self._by_id[id_]

    @cached_property
    def _by_id(self) -> dict[str, BoardCase]:
        return {case.id: case for case in self.cohort.cases}

    def packet(self, case: BoardCase) -> str:
        """The text of a case.

        Raises:
            SpecError: It is not the one that the cohort was made of.
        """
        path = self.folder / case.packet
        text = read_text(path)
        if _sha256(text) != case.sha256:
            raise SpecError(
                f"{path} is not the packet that {self.cohort.id} was made of.",
                remedy="Write the cohort anew, or give back the file.",
            )
        return text


# the synthetic cohort


def plan() -> CohortPlan:
    """The plan of the synthetic cohort.

    Raises:
        SpecError: It names a base that there is not.
    """
    read = read_yaml(PLAN, CohortPlan)
    for group in read.groups:
        if group.base is not None and group.base not in read.bases:
            raise SpecError(
                f"board/cohort.yaml: the group {group.id} has the unknown base `{group.base}`.",
                remedy=f"Bases are {', '.join(read.bases)}.",
            )
    return read


def plan_of_size(size: Size) -> CohortPlan:
    """The plan with packets of a size. Another size than the plan's makes another cohort."""
    whole = plan()
    if size == whole.size:
        return whole
    return whole.model_copy(update={"id": f"{whole.id}-{size}", "size": size})


def made(of: CohortPlan, *, only: frozenset[str] | None = None) -> Iterator[Made]:
    """Make the cases of a plan, in its order.

    Args:
        of: The plan.
        only: Ids of the cases to make; None for all.

    Raises:
        SpecError: A group's state is none, or a board would have nothing to recommend.
    """
    known = knowledge()
    numbers: dict[Cancer, int] = {}
    for group in of.groups:
        for n in range(group.count):
            numbers[group.cancer] = number = numbers.get(group.cancer, 0) + 1
            id_ = f"SYN-{group.cancer[:3].upper()}-{number:04}"
            if only is not None and id_ not in only:
                continue
            dice = Dice(of.seed)
            state = _state(of, group, n, dice)
            known.check(state)
            agreed = known.consensus(state)
            if not (agreed.strong or agreed.tacit):
                raise SpecError(
                    f"board/cohort.yaml: the group {group.id} has a state for which nothing is "
                    f"recommended: {state.model_dump_json(exclude_defaults=True)}.",
                    remedy="Tell it more, or take it out.",
                )
            told = _told_as(of, id_, dice)
            seed = dice.number(f"{id_}/seed", 1_000_000, 9_999_999)
            text = rendered(state, seed=seed, size=of.size, strata=told, id_=id_)
            strata: tuple[Stratum, ...] = (*told, "mixed") if agreed.mixed else told
            yield Made(
                BoardCase(
                    id=id_, cancer=group.cancer, packet=f"{PACKETS}/{id_}.txt",
                    sha256=_sha256(text), strata=strata, seed=seed, size=of.size,
                ),
                BoardGold(case=id_, consensus=agreed, state=state),
                text,
            )  # fmt: skip


def _state(of: CohortPlan, group: Group, n: int, dice: Dice) -> State:
    told: dict[str, Any] = dict(of.bases[group.base]) if group.base is not None else {}
    told |= group.fixed
    for name, options in {**of.always, **group.drawn}.items():
        # each value is taken in turn, from a place of the group's own: small groups vary too
        order = dice.shuffled(f"{group.id}/{name}", options)
        value = order[(n + dice.number(f"{group.id}/{name}/{n}", 0, 1)) % len(order)]
        if name not in group.fixed and value is not None:
            told[name] = value
    told["cancer"] = group.cancer
    for each in of.implied:
        if all(told.get(name) == value for name, value in each.when.items()):
            told |= each.then
    own = {name: value for name, value in told.items() if name in _OWN_FIELDS}
    facts = cast("dict[str, Fact]", {k: v for k, v in told.items() if k not in _OWN_FIELDS})
    return validated({**own, "facts": facts}, State, f"group {group.id}")


def _told_as(of: CohortPlan, id_: str, dice: Dice) -> tuple[Stratum, ...]:
    told: list[Stratum] = []
    if dice.share(f"{id_}/latent") < of.latent:
        told.append("latent")
    if dice.share(f"{id_}/hard") < of.hard:
        told.append("hard")
    return tuple(told)


def made_by() -> str:
    """Digest of what makes the synthetic cohort: plan, phrases, knowledge and their code."""
    whole = hashlib.sha256()
    here = Path(__file__).parent
    files = [*sorted((ROOT / "board").rglob("*.yaml")), *(here / f"{m}.py" for m in _MAKERS)]
    for path in files:
        whole.update(f"{path.name} {_sha256(path.read_text(encoding='utf-8'))}\n".encode())
    return whole.hexdigest()


def write_cohort(folder: Path, of: CohortPlan, told: Told) -> Cohort:
    """Write the cases of a plan: `cohort.json`, `packets/`, and apart from them `gold/`.

    Args:
        folder: Made where it is missing.
        of: The plan.
        told: Hears how many are done, and of how many.

    Raises:
        SpecError: Another cohort stands there.
        DiskError: The disk refuses.
    """
    if (folder / OWN).exists() or _another(folder, of.id):
        raise SpecError(
            f"{folder} holds another cohort.", remedy="Name an empty folder, or remove it first."
        )
    count = sum(group.count for group in of.groups)
    cases: list[BoardCase] = []
    golds: list[BoardGold] = []
    try:
        (folder / PACKETS).mkdir(parents=True, exist_ok=True)
        (folder / GOLD).parent.mkdir(exist_ok=True)
        for n, each in enumerate(made(of)):
            told(n, count)
            (folder / each.case.packet).write_text(each.text, encoding="utf-8", newline="\n")
            cases.append(each.case)
            golds.append(each.gold)
        cohort = Cohort(id=of.id, about=of.about, made_by=made_by(), cases=tuple(cases))
        lines = ",\n".join(gold.model_dump_json() for gold in golds)
        (folder / GOLD).write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        (folder / COHORT).write_text(cohort.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DiskError(
            f"{error.filename or folder} could not be written: {error.strerror}.",
            remedy=mend(error, "repeat"),
        ) from error
    told(count, count)
    return cohort


def _another(folder: Path, id_: str) -> bool:
    path = folder / COHORT
    return path.exists() and read_yaml(path, Cohort).id != id_


# the manifest


def frozen() -> FrozenCohort:
    """The manifest of the synthetic cohort."""
    return read_yaml(MANIFEST, FrozenCohort)


def freeze(of: CohortPlan) -> FrozenCohort:
    """Make all of a plan, and write down what it is."""
    return FrozenCohort(id=of.id, size=of.size, cases=tuple(map(fingerprint, made(of))))


def fingerprint(each: Made) -> FrozenPacket:
    """A case of the manifest."""
    gold = each.gold.model_dump_json(exclude={"schema_", "canary"})
    return FrozenPacket(
        id=each.case.id, seed=cast("int", each.case.seed), packet=each.case.sha256,
        gold=_sha256(gold),
    )  # fmt: skip


def differences(board: BoardCohort, gold: Mapping[str, BoardGold]) -> list[str]:
    """What of a cohort in a folder is not as the manifest says, a sentence each."""
    wanted = {each.id: each for each in frozen().cases}
    found: list[str] = []
    ids = [case.id for case in board.cohort.cases]
    for lacking, what in (
        (wanted.keys() - set(ids), "is missing"),
        (set(ids) - wanted.keys(), "is new"),
    ):
        found += [f"{id_} {what}" for id_ in sorted(lacking)]
    for case in board.cohort.cases:
        if case.id not in wanted:
            continue
        text = board.packet(case)
        now = fingerprint(Made(case, gold[case.id], text))
        if now.packet != wanted[case.id].packet:
            found.append(f"{case.id} has another packet")
        if now.gold != wanted[case.id].gold:
            found.append(f"{case.id} has another state or consensus")
    return found


def counted(
    board: BoardCohort, gold: Mapping[str, BoardGold]
) -> list[tuple[str, tuple[int, int, int, int, int, int]]]:
    """Cases by cancer and of all: how many, of each stratum, with a state; median of characters."""
    by_cancer: dict[str, list[BoardCase]] = {}
    for case in board.cohort.cases:
        by_cancer.setdefault(case.cancer, []).append(case)
    rows = [*by_cancer.items(), ("all", list(board.cohort.cases))]
    return [
        (
            name,
            (
                len(cases),
                sum("latent" in case.strata for case in cases),
                sum("hard" in case.strata for case in cases),
                sum("mixed" in case.strata for case in cases),
                sum(gold[case.id].state is not None for case in cases),
                int(median(len(board.packet(case)) for case in cases)),
            ),
        )
        for name, cases in rows
        if cases
    ]


# reading


def read_cohort(folder: Path) -> BoardCohort:
    """Read a cohort, without its gold: the synthetic one, or a folder of one's own.

    Raises:
        SpecError: It is none, a packet is missing or none, or has no gold, naming file and place.
    """
    if (folder / COHORT).exists():
        return BoardCohort(folder, read_yaml(folder / COHORT, Cohort), lenient=False)
    own, text = _own(folder)
    cases = tuple(_own_case(folder, id_, own, text) for id_ in own.cases)
    about = own.about or "A cohort of one's own."
    return BoardCohort(folder, Cohort(id=own.id, about=about, cases=cases), lenient=True)


def read_gold(folder: Path) -> dict[str, BoardGold]:
    """What the answers of a cohort are scored by, by case. For scorers alone.

    Raises:
        SpecError: It is missing, or an option names what the knowledge does not have.
    """
    if (folder / COHORT).exists():
        path = folder / GOLD
        raw = _json(path)
        if not isinstance(raw, list):
            raise SpecError(f"{path} is no list.", remedy="Write the cohort anew.")
        golds: dict[str, BoardGold] = {}
        for n, each in enumerate(cast("list[Any]", raw)):
            try:
                gold = BoardGold.model_validate(each)
            except ValidationError as error:
                raise SpecError(
                    f"{path}, line {n + 2}: {misfit(error)}.", remedy="Write the cohort anew."
                ) from error
            golds[gold.case] = gold
        missing = {case.id for case in read_cohort(folder).cohort.cases} - golds.keys()
        if missing:
            raise SpecError(
                f"{path} says nothing of {', '.join(sorted(missing)[:5])}.",
                remedy="Write the cohort anew.",
            )
        return golds
    own, text = _own(folder)
    return {id_: _own_gold(folder, id_, own, text) for id_ in own.cases}


def _json(path: Path) -> Any:
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise SpecError(
            f"{path}, line {error.lineno}: {error.msg.lower()}.", remedy="Write the cohort anew."
        ) from error


def _own(folder: Path) -> tuple[OwnCohort, str]:
    path = folder / OWN
    if not path.exists():
        raise SpecError(
            f"{folder} holds no cohort: neither {COHORT} nor {OWN}.",
            remedy="Write the synthetic one with `chartproof board cohort OUT`, or put a "
            f"{OWN} beside your packets; docs/reference/packets.md tells its form.",
        )
    text = read_text(path)
    own = validated(parse_yaml(text, str(path)), OwnCohort, str(path), text)
    files = {each.stem for each in folder.glob("*.txt")}
    for id_ in own.cases:
        if id_ not in files:
            raise SpecError(
                f"{_at(path, text, id_)}: there is no packet {id_}.txt beside it.",
                remedy="Add the file, or take the case out.",
            )
    if extra := sorted(files - own.cases.keys()):
        raise SpecError(
            f"{path} says nothing of {extra[0]}.txt.",
            remedy=f"Add a case `{extra[0]}`, or move the file away.",
        )
    return own, text


def _at(path: Path, text: str, id_: str, *below: str | int) -> str:
    return f"{path}, line {line_of(text, ('cases', id_, *below))}"


def _own_case(folder: Path, id_: str, own: OwnCohort, text: str) -> BoardCase:
    each = own.cases[id_]
    path = folder / f"{id_}.txt"
    packet = read_text(path)
    found = read_packet(packet, str(path), lenient=True)
    cancer = each.cancer or preamble(packet, found).get("cancer type", "").lower()
    if cancer not in get_args(Cancer):
        raise SpecError(
            f"{_at(folder / OWN, text, id_)}: the cancer of {id_} is "
            + (f"`{cancer}`, which is unknown." if cancer else "told neither here nor there."),
            remedy=f"Give `cancer`, one of {', '.join(get_args(Cancer))}.",
        )
    if each.state is not None and each.state.cancer != cancer:
        raise SpecError(
            f"{_at(folder / OWN, text, id_, 'state', 'cancer')}: the state of {id_} is of "
            f"{each.state.cancer} cancer, and the case of {cancer}.",
            remedy="Give the same cancer in both.",
        )
    try:
        return BoardCase(
            id=id_, cancer=cast("Cancer", cancer), packet=path.name, sha256=_sha256(packet),
            strata=each.strata,
        )  # fmt: skip
    except ValidationError as error:
        raise SpecError(
            f"{path}: its name is no id of a case.",
            remedy="Use letters, digits, `-` and `_` only.",
        ) from error


def _own_gold(folder: Path, id_: str, own: OwnCohort, text: str) -> BoardGold:
    each = own.cases[id_]
    path = folder / OWN
    if each.state is not None:
        try:
            knowledge().check(each.state)
        except SpecError as error:
            where = _at(path, text, id_, "state")
            raise SpecError(f"{where}: {error.what}", remedy=error.remedy) from error
    lists = {level: _options(path, text, id_, level, each) for level in LEVELS}
    if not any(lists.values()):
        raise SpecError(
            f"{_at(path, text, id_)}: no option stands on any list.",
            remedy="Write at least one under `strong`, `tacit`, `mixed` or `refusal`.",
        )
    return BoardGold(
        case=id_, consensus=Consensus(**lists), state=each.state, unreviewed=not each.reviewed_by
    )  # fmt: skip


def _options(path: Path, text: str, id_: str, level: Level, each: OwnCase) -> tuple[Listed, ...]:
    known = knowledge()
    listed: list[Listed] = []
    for n, option in enumerate(cast("tuple[str, ...]", getattr(each, level))):
        try:
            read = known.option(option)
        except SpecError as error:
            where = _at(path, text, id_, level, n)
            raise SpecError(f"{where}: {error.what}", remedy=error.remedy) from error
        by = (each.reviewed_by,) if each.reviewed_by else ()
        listed.append(Listed(option=read, rules=(), certainty="high", sources=by))
    return tuple(listed)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
