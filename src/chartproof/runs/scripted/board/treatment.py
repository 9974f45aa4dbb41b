"""Treatment knowledge, asked without any library: from facts of a patient to lists of options.

The knowledge lies beside this file as `knowledge.json`, put there when a run starts. Synthetic; not
reviewed by an oncologist; not for care.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

LEVELS = ("strong", "tacit", "mixed", "refusal")
State = dict[str, Any]
"""Facts of a patient by name, `cancer` and `prior` (a list) among them."""
Parts = tuple[tuple[str, ...], ...]
"""Components of an option, each with its alternatives."""

_COMPARED = re.compile(r"(>=|<)(\d+)|(\d+)-(\d+)")


class Treatment:
    """What is known of treatment.

    Args:
        told: The content of `knowledge.json`.
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        self.cancers: tuple[str, ...] = tuple(told["rules"])
        self.members: Mapping[str, list[str]] = told["members"]
        self.drugs: Mapping[str, Any] = told["drugs"]
        self.regimens: Mapping[str, Any] = told["regimens"]
        self.facts: Mapping[str, Any] = told["facts"]
        self._modalities: Mapping[str, Any] = told["modalities"]
        self._settings: list[Any] = told["settings"]
        self._rules: Mapping[str, list[Any]] = told["rules"]
        self._everywhere: list[Any] = told["global_rules"]
        self._order: list[str] = told["conflict_order"]

    def setting(self, state: State) -> str:
        """Where a patient stands; empty where no setting fits."""
        known = _Known(self, state)
        return next((each["setting"] for each in self._settings if known.fits(each["when"])), "")

    def lists(self, state: State) -> dict[str, list[str]]:
        """Options by level, in the order of the rules."""
        known = _Known(self, {**state, "setting": self.setting(state)})
        level_of: dict[str, str] = {}
        for rule in self._rules[state["cancer"]]:
            if not known.fits(rule["when"]):
                continue
            for level in LEVELS:
                for option in rule[level]:
                    held = level_of.get(option)
                    if held is None or self._order.index(level) < self._order.index(held):
                        level_of[option] = level
        for rule in self._everywhere:
            if known.fits(rule["when"]):
                self._move(rule, known, level_of)
        return {
            level: [option for option, held in level_of.items() if held == level]
            for level in LEVELS
        }

    def every(self, cancer: str) -> list[str]:
        """Every option that any rule of a cancer names as strong, tacit or mixed."""
        found = [
            option
            for rule in self._rules[cancer]
            for level in ("strong", "tacit", "mixed")
            for option in rule[level]
        ]
        return list(dict.fromkeys(found))

    def plans(self, cancer: str) -> list[list[str]]:
        """What each rule of a cancer would have done: its strong options, else its tacit ones."""
        found = [rule["strong"] or rule["tacit"] for rule in self._rules[cancer]]
        return [plan for n, plan in enumerate(found) if plan and plan not in found[:n]]

    def missed(self, cancer: str) -> set[str]:
        """Facts whose absence decides something: some rule of the cancer asks for `unknown`."""
        return {
            name
            for rule in self._rules[cancer]
            for name, wanted in rule["when"].items()
            if "unknown" in (wanted if isinstance(wanted, list) else [wanted])
        }

    def expand(self, name: str) -> set[str]:
        """Drugs and modalities for which a name may stand."""
        if name.startswith("@"):
            return set(self.members.get(name[1:], ()))
        if name in self.regimens:
            return set().union(*(self.expand(each) for each in self.regimens[name]["drugs"]))
        return {name}

    def classes(self, name: str) -> set[str]:
        """Classes of a drug or modality."""
        held = self.drugs.get(name) or self._modalities.get(name) or {"classes": ()}
        return set(held["classes"])

    def _move(self, rule: Any, known: "_Known", level_of: dict[str, str]) -> None:
        """Apply one rule that holds for every cancer."""
        spared = {each["drug"] for each in rule["exceptions"] if known.fits(each["when"])}
        again = rule["same_prior"]
        hit = ({*rule["hits"], *known.prior} if again else set(rule["hits"])) - spared
        for option, level in list(level_of.items()):
            timing, parts = read(option)
            if level not in rule["moves"] or (again and len(parts) != 1):
                continue
            struck = [
                tuple(
                    name for name in part if name in hit or (not again and self._falls(name, hit))
                )
                for part in parts
            ]
            if any(len(gone) == len(part) for gone, part in zip(struck, parts, strict=True)):
                level_of[option] = rule["to"]
            elif any(struck) and not again:
                left, gone = _split(timing, parts, struck)
                level_of[left] = level_of.pop(option)
                level_of.setdefault(gone, rule["to"])
        for level, options in rule["adds"].items():
            for option in options:
                level_of.setdefault(option, level)

    def _falls(self, name: str, hit: set[str]) -> bool:
        """Whether a component cannot be given without something that is hit."""
        if name in hit:
            return True
        if name.startswith("@"):
            return all(self._falls(each, hit) for each in self.members[name[1:]])
        if name in self.regimens:
            return any(self._falls(each, hit) for each in self.regimens[name]["drugs"])
        return any(each.startswith("@") and name in self.expand(each) for each in hit)


def _split(timing: str, parts: Parts, struck: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """What is left of an option, and what is struck."""
    pairs = list(zip(parts, struck, strict=True))
    left = tuple(tuple(name for name in part if name not in gone) for part, gone in pairs)
    return write(timing, left), write(timing, tuple(gone or part for part, gone in pairs))


class _Known:
    """What conditions are asked of."""

    def __init__(self, treatment: Treatment, state: State) -> None:
        self._state = state
        self.prior: list[str] = list(state.get("prior", ()))
        self._failed = {word for each in self.prior for word in _words(treatment, each)}

    def fits(self, when: Mapping[str, Any]) -> bool:
        """Whether every condition holds."""
        return all(self._holds(name, wanted) for name, wanted in when.items())

    def _holds(self, name: str, wanted: Any) -> bool:
        if name in {"prior_has", "prior_lacks"}:
            asked = wanted if isinstance(wanted, list) else [wanted]
            return bool(self._failed.intersection(asked)) == (name == "prior_has")
        value = self._state.get(name)
        return any(
            _equal(value, each) for each in (wanted if isinstance(wanted, list) else [wanted])
        )


def _words(treatment: Treatment, name: str) -> Iterable[str]:
    """All by which a condition may call a treatment that failed."""
    yield name
    drugs = set(treatment.members.get(name, ())) or treatment.expand(name)
    yield from drugs
    for each in treatment.regimens.get(name, {"drugs": ()})["drugs"]:
        yield each.removeprefix("@")
    if name in treatment.drugs or name in treatment.regimens:
        for each in drugs:
            yield from treatment.classes(each)


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    word = str(wanted)
    if word.startswith("!"):
        return str(value) != word[1:]
    found = _COMPARED.fullmatch(word)
    if found is None:
        return str(value) == word
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    sign, bound, least, most = found.groups()
    if sign:
        return number >= int(bound) if sign == ">=" else number < int(bound)
    return int(least) <= number <= int(most)


def read(option: str) -> tuple[str, Parts]:
    """An option's timing and components."""
    timing, _, body = option.partition(": ")
    return timing, tuple(
        tuple(name.strip() for name in part.split("|")) for part in body.split(" + ")
    )


def write(timing: str, parts: Parts) -> str:
    """An option as the knowledge writes it."""
    return f"{timing}: " + " + ".join("|".join(part) for part in parts)


def beside() -> Treatment:
    """The knowledge that was laid beside this program."""
    path = Path(__file__).with_name("knowledge.json")
    return Treatment(json.loads(path.read_text(encoding="utf-8")))
