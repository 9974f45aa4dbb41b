"""Treatment knowledge: from what is true of a patient to what a board would agree on.

Synthetic; not reviewed by an oncologist; not for care. All clinical content is data, read from
`catalog/board/knowledge.yaml`; here is only how its rules are applied.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast, get_args

from chartproof.catalog.read import ROOT, parse_yaml, read_text, validated
from chartproof.errors import SpecError
from chartproof.oncology.conditions import fields_of, fits, holds
from chartproof.oncology.soundness import faults
from chartproof.records.board import Consensus, Fact, Level, Listed, Option, State, Timing
from chartproof.records.treatment import Certainty, GlobalRule, Rule, TreatmentModel

LEVELS: tuple[Level, ...] = get_args(Level)
TIMINGS: tuple[Timing, ...] = get_args(Timing)
GOOD: tuple[Level, ...] = ("strong", "tacit")
_LEAST: tuple[Certainty, ...] = ("low", "moderate", "high")
_LEAST_FIRST = {certainty: n for n, certainty in enumerate(_LEAST)}


@dataclass(frozen=True)
class Derived:
    """What a change of the patient changes in the consensus.

    Attributes:
        settings: Before and after.
        must_drop: Strong or tacit before; afterwards neither, nor divided.
        now_refused: Refused afterwards, and not before.
        must_add: Strong afterwards; before neither strong nor tacit.
        keep: Strong before and after.
        drop_members: Drugs and modalities that no strong, tacit or mixed option holds any more.
        add_members: Those of strong options that no strong or tacit one held before.
        vacuous: The strong and tacit options are the same: nothing has to change.
    """

    settings: tuple[str | None, str | None]
    must_drop: tuple[Option, ...]
    now_refused: tuple[Option, ...]
    must_add: tuple[Option, ...]
    keep: tuple[Option, ...]
    drop_members: frozenset[str]
    add_members: frozenset[str]
    vacuous: bool


@dataclass
class _Entry:
    """An option on its way to a list."""

    option: Option
    level: Level
    rules: list[str]
    certainties: list[Certainty]
    sources: list[str]
    since: str | None


class Knowledge:
    """The treatment model, ready to be asked.

    Attributes:
        model: As it was read.
        classes: Every class that drugs or modalities name → its members.
    """

    def __init__(self, model: TreatmentModel, *, name: str) -> None:
        """Check that every name in the model refers to something.

        Args:
            model: What was read.
            name: Of the file, for a message.

        Raises:
            SpecError: Naming rule and what it refers to.
        """
        self.model = model
        named = [(each, one.classes) for each, one in model.drugs.items()]
        named += [(each, one.classes) for each, one in model.modalities.items()]
        classes: dict[str, set[str]] = {}
        for each, of in named:
            for class_ in of:
                classes.setdefault(class_, set()).add(each)
        self.classes: dict[str, frozenset[str]] = {k: frozenset(v) for k, v in classes.items()}
        self._options: dict[str, Option] = {}
        for where, what, remedy in faults(self):
            raise SpecError(f"{name}: {where}: {what}.", remedy=remedy)

    # names

    def known(self, name: str) -> bool:
        """Whether a component may be called so: a drug, regimen, modality or `@CLASS`."""
        if name.startswith("@"):
            return name[1:] in self.classes
        return name in self.model.drugs or name in self.model.regimens or self.is_modality(name)

    def is_modality(self, name: str) -> bool:
        """Whether it is a component that is no drug."""
        return name in self.model.modalities

    def is_class(self, name: str) -> bool:
        """Whether it is a class of drugs or modalities, or a group of options."""
        return name in self.classes or name in self.model.classes

    def expand(self, name: str) -> frozenset[str]:
        """Drugs and modalities that a component may stand for: all of a regimen, any of a class.

        A name that is unknown stands for itself.
        """
        if name.startswith("@"):
            return self.classes.get(name[1:], frozenset())
        if name in self.model.regimens:
            return frozenset().union(*map(self.expand, self.model.regimens[name].drugs))
        return frozenset({name})

    def members(self, options: Iterable[Option | Listed]) -> frozenset[str]:
        """Drugs and modalities of options, every alternative among them."""
        found: set[str] = set()
        for each in options:
            option = each.option if isinstance(each, Listed) else each
            for alternatives in option.components:
                found.update(*map(self.expand, alternatives))
        return frozenset(found)

    def option(self, text: str) -> Option:
        """Read an option as it is written: `neoadjuvant: carboplatin|cisplatin + pembrolizumab`.

        Raises:
            SpecError: There is no such timing, or a name is no drug, regimen, modality or class.
        """
        if text in self._options:
            return self._options[text]
        timing, colon, body = text.partition(": ")
        if not colon or timing not in TIMINGS:
            raise SpecError(
                f"The option `{text}` has no timing that is known.",
                remedy=f"Write `<timing>: a + b|c`; timings are {', '.join(TIMINGS)}.",
            )
        components = tuple(
            tuple(name.strip() for name in part.split("|")) for part in body.split(" + ")
        )
        for name in (each for part in components for each in part):
            if not self.known(name):
                raise SpecError(
                    f"The option `{text}` names `{name}`, which is no drug, regimen, modality or "
                    "class of the treatment knowledge.",
                    remedy=self.like(name),
                )
        made = Option(timing=timing, components=components)
        self._options[text] = made
        return made

    def like(self, name: str) -> str:
        """What may have been meant by a name that is unknown, as a remedy."""
        from difflib import get_close_matches  # noqa: PLC0415  needed only for a message

        names = [*self.model.drugs, *self.model.regimens, *self.model.modalities]
        names += [f"@{each}" for each in self.classes]
        by_surface = {
            surface.lower(): drug
            for drug, one in self.model.drugs.items()
            for surface in (*one.brands, *one.synonyms)
        }
        if name.lower() in by_surface:
            return f"Write `{by_surface[name.lower()]}`."
        near = get_close_matches(name, names, n=3, cutoff=0.6)
        return (
            f"Perhaps {' or '.join(f'`{each}`' for each in near)} is meant."
            if near
            else "Use a name of catalog/board/knowledge.yaml."
        )

    # what counts as what

    def belongs(self, option: Option, to: str) -> bool:
        """Whether an option counts as a class, group, regimen, drug or modality.

        A class, drug or modality: some alternative may stand for a member. A regimen: all its
        drugs are there. A group: as it is written under `classes`.
        """
        name = to.removeprefix("@")
        if name in self.model.classes:
            return self._in_group(option, name)
        if name in self.classes:
            return bool(self.members([option]) & self.classes[name])
        if name in self.model.regimens:
            return self._has_regimen(option, name)
        return name in self.members([option])

    def _has_regimen(self, option: Option, name: str) -> bool:
        if any(name in part for part in option.components):
            return True
        return self._has(option, [(drug,) for drug in self.model.regimens[name].drugs])

    def _has(self, option: Option, wanted: Iterable[tuple[str, ...]]) -> bool:
        """Whether each wanted component meets one of the option's."""
        ours = [self._stands_for(part) for part in option.components]
        return all(any(self._stands_for(part) & each for each in ours) for part in wanted)

    def _stands_for(self, alternatives: Iterable[str]) -> frozenset[str]:
        return frozenset().union(*map(self.expand, alternatives))

    def _in_group(self, option: Option, name: str) -> bool:
        group = self.model.classes[name]
        if option.timing in group.timing:
            return True
        if any(self._has_regimen(option, each) for each in group.regimens):
            return True
        if set(group.drugs) & self.members([option]):
            return True
        for each in map(self.option, group.options):
            alone = not group.mono or len(option.components) == len(each.components)
            same_time = option.timing == each.timing or "any" in {option.timing, each.timing}
            if same_time and alone and self._has(option, each.components):
                return True
        return False

    # from a state to a consensus

    def setting(self, state: State) -> str | None:
        """Where the patient stands: the first setting that fits; None where none does."""
        return self._setting(fields_of(state), self._failed(state.prior))

    def _setting(self, fields: dict[str, Fact], failed: frozenset[str]) -> str | None:
        for rule in self.model.settings:
            if holds(rule.when, fields, failed):
                return rule.setting
        return None

    def consensus(self, state: State) -> Consensus:
        """What a board would agree on for this patient, by level, in the order of the rules.

        Source: Causal Sensitivity Score §2 for the levels; the rules name their own.
        """
        failed = self._failed(state.prior)
        fields = fields_of(state)
        setting = self._setting(fields, failed)
        if setting is not None:
            fields["setting"] = setting
        entries = self._listed(state, fields, failed)
        for rule in self.model.global_rules:
            if holds(rule.when, fields, failed):
                self._moved(rule, state, fields, failed, entries)
        lists: dict[Level, list[Listed]] = {level: [] for level in LEVELS}
        for entry in entries.values():
            lists[entry.level].append(
                Listed(
                    option=entry.option,
                    rules=tuple(entry.rules),
                    certainty=min(entry.certainties, key=_LEAST_FIRST.__getitem__),
                    sources=tuple(dict.fromkeys(entry.sources)),
                    since=entry.since,
                )
            )
        return Consensus(**{level: tuple(lists[level]) for level in LEVELS})

    def fired(self, state: State) -> tuple[str, ...]:
        """Ids of the cancer's rules that hold."""
        failed = self._failed(state.prior)
        fields = fields_of(state)
        fields["setting"] = self._setting(fields, failed) or ""
        return tuple(r.id for r in self._rules(state) if holds(r.when, fields, failed))

    def _rules(self, state: State) -> tuple[Rule, ...]:
        return self.model.rules.get(state.cancer, ())

    def _listed(
        self, state: State, fields: dict[str, Fact], failed: frozenset[str]
    ) -> dict[str, _Entry]:
        order = self.model.conflict_order
        entries: dict[str, _Entry] = {}
        for rule in self._rules(state):
            if not holds(rule.when, fields, failed):
                continue
            for level in LEVELS:
                for text in rule.of(level):
                    new = _Entry(
                        self.option(text), level, [rule.id], [rule.certainty],
                        list(rule.sources), rule.labile.get(text),
                    )  # fmt: skip
                    old = entries.get(text)
                    if old is None or order.index(level) < order.index(old.level):
                        entries[text] = new
                    elif level == old.level:
                        old.rules.append(rule.id)
                        old.certainties.append(rule.certainty)
                        old.sources.extend(rule.sources)
        return entries

    def _moved(
        self,
        rule: GlobalRule,
        state: State,
        fields: dict[str, Fact],
        failed: frozenset[str],
        entries: dict[str, _Entry],
    ) -> None:
        spared = {e.drug for e in rule.exceptions if holds(e.when, fields, failed)}
        hits = set(rule.hits)
        if rule.same_prior:
            hits |= set(state.prior)
        hits -= spared
        for text, entry in list(entries.items()):
            if entry.level not in rule.moves:
                continue
            if rule.same_prior and len(entry.option.components) != 1:
                continue
            struck = [
                tuple(name for name in part if self._hit(name, hits, by_name=rule.same_prior))
                for part in entry.option.components
            ]
            if any(
                len(of) == len(part)
                for of, part in zip(struck, entry.option.components, strict=True)
            ):
                entry.level = rule.to
                entry.rules.append(rule.id)
                entry.certainties.append(rule.certainty)
                entry.sources.extend(rule.sources)
            elif any(struck) and not rule.same_prior:
                del entries[text]
                self._split(rule, entry, struck, entries)
        for level, texts in rule.adds.items():
            for text in texts:
                entries.setdefault(
                    text,
                    _Entry(
                        self.option(text), level, [rule.id], [rule.certainty],
                        list(rule.sources), None,
                    ),
                )  # fmt: skip

    def _split(
        self,
        rule: GlobalRule,
        entry: _Entry,
        struck: list[tuple[str, ...]],
        entries: dict[str, _Entry],
    ) -> None:
        """Leave an option the alternatives that are not hit, and move those that are."""
        parts = entry.option.components
        left = tuple(
            tuple(name for name in part if name not in of)
            for part, of in zip(parts, struck, strict=True)
        )
        kept = Option(timing=entry.option.timing, components=left)
        gone = Option(
            timing=entry.option.timing,
            components=tuple(of or part for of, part in zip(struck, parts, strict=True)),
        )
        entries[str(kept)] = _Entry(
            kept, entry.level, list(entry.rules), list(entry.certainties), list(entry.sources),
            entry.since,
        )  # fmt: skip
        entries.setdefault(
            str(gone),
            _Entry(
                gone, rule.to, [*entry.rules, rule.id], [*entry.certainties, rule.certainty],
                [*entry.sources, *rule.sources], entry.since,
            ),
        )  # fmt: skip

    def _hit(self, name: str, hits: set[str], *, by_name: bool) -> bool:
        """Whether a component cannot be had without something that is hit."""
        if name in hits:
            return True
        if by_name:
            return False
        if name.startswith("@"):
            return all(self._hit(each, hits, by_name=False) for each in self.classes[name[1:]])
        if name in self.model.regimens:
            return any(
                self._hit(each, hits, by_name=False) for each in self.model.regimens[name].drugs
            )
        return any(hit.startswith("@") and name in self.expand(hit) for hit in hits)

    def _failed(self, prior: Iterable[str]) -> frozenset[str]:
        """What a condition on prior treatment may ask for: names, drugs, classes, regimens."""
        found: set[str] = set()
        for each in prior:
            drugs = self.classes.get(each) or self.expand(each)
            found |= {each, *drugs}
            if each in self.model.regimens:
                found |= {name.removeprefix("@") for name in self.model.regimens[each].drugs}
            if each in self.model.drugs or each in self.model.regimens:
                for drug in drugs:
                    found |= set(self._classes_of(drug))
        return frozenset(found)

    def _classes_of(self, name: str) -> tuple[str, ...]:
        if name in self.model.drugs:
            return self.model.drugs[name].classes
        return self.model.modalities[name].classes if name in self.model.modalities else ()

    # changing a patient

    def changed(self, state: State, effect: Mapping[str, object]) -> State:
        """What is true of the patient once something is otherwise.

        Facts that say a changed fact more finely go. Distant disease makes stage IV and a first
        line; without it, the stage is that of the primary. An operation that is taken away leaves
        a primary that can be resected.

        Args:
            state: As it is.
            effect: Field or fact → value; None or an empty list takes a fact away. `prior:
                {add: NAME}` is a failure on it, `line: "+1"` counts it.

        Raises:
            SpecError: It names no field or fact, or a value that there is not.
        """
        fields: dict[str, Any] = state.model_dump()
        facts: dict[str, Fact] = fields["facts"]
        for name in effect:
            for detail in self.model.details.get(name, ()):
                facts.pop(detail, None)
        for name, value in effect.items():
            match name:
                case "prior":
                    add = cast("Mapping[str, str]", value)["add"]
                    fields["prior"] = (*fields["prior"], add)
                case "line":
                    fields["line"] = state.line + 1 if value == "+1" else value
                case "surgery":
                    fields |= _operated(state, none=value == "none")
                case "M":
                    self._staged(state, value == "M1", fields)
                case _ if name in State.model_fields:
                    fields[name] = value
                case _ if value is None or value == []:
                    facts.pop(name, None)
                case _:
                    facts[name] = (
                        ", ".join(map(str, cast("list[object]", value)))
                        if isinstance(value, list)
                        else cast("Fact", value)
                    )
        made = validated(fields, State, "the changed state")
        self.check(made)
        return made

    def _staged(self, state: State, distant: bool, fields: dict[str, Any]) -> None:
        facts: dict[str, Fact] = fields["facts"]
        if distant and state.M == "M0":
            facts["local_stage"] = state.stage
            fields |= {"M": "M1", "stage": "IV", "line": 1, "metastasis": "late"}
        elif not distant and state.M == "M1":
            fields |= {"M": "M0", "stage": facts.pop("local_stage", "III")}
            fields["metastasis"] = "baseline"

    def derive(self, before: State, after: State) -> Derived:
        """What has to change in an answer where the patient is changed."""
        was, now = self.consensus(before), self.consensus(after)
        good = [
            {str(e.option): e.option for lv in GOOD for e in getattr(c, lv)} for c in (was, now)
        ]
        strong = [{str(e.option): e.option for e in c.strong} for c in (was, now)]
        refused = [{str(e.option): e.option for e in c.refusal} for c in (was, now)]
        mixed = {str(e.option) for e in now.mixed}
        return Derived(
            settings=(self.setting(before), self.setting(after)),
            must_drop=_in_order(good[0], good[0].keys() - good[1].keys() - mixed),
            now_refused=_in_order(refused[1], refused[1].keys() - refused[0].keys()),
            must_add=_in_order(strong[1], strong[1].keys() - good[0].keys()),
            keep=_in_order(strong[0], strong[0].keys() & strong[1].keys()),
            drop_members=self.members(good[0].values())
            - self.members([*good[1].values(), *(each.option for each in now.mixed)]),
            add_members=self.members(strong[1].values()) - self.members(good[0].values()),
            vacuous=good[0].keys() == good[1].keys(),
        )

    # checks

    def check(self, state: State) -> None:
        """Refuse a state that tells something of which the model knows nothing.

        Raises:
            SpecError: Naming fact or prior treatment, and what there is.
        """
        for name, value in state.facts.items():
            values = self.model.facts.get(name)
            if values is None:
                raise SpecError(
                    f"`{name}` is no fact of the treatment knowledge.",
                    remedy=f"Facts are {', '.join(self.model.facts)}.",
                )
            if not fits(value, values):
                wanted = values if isinstance(values, str) else ", ".join(map(str, values))
                raise SpecError(
                    f"`{name}` is {value!r}, which it cannot be.", remedy=f"It may be: {wanted}."
                )
        for each in state.prior:
            if not (self.known(each) or each in self.classes):
                raise SpecError(
                    f"`prior` names `{each}`, which is no drug, regimen or class.",
                    remedy=self.like(each),
                )

    def exported(self) -> dict[str, Any]:
        """All of it as JSON would hold it, for an interpreter that has no more than that.

        Beside the file's own keys: `members`, every class → its drugs and modalities, sorted.
        """
        return {
            **self.model.model_dump(mode="json"),
            "members": {name: sorted(of) for name, of in sorted(self.classes.items())},
        }


@cache
def knowledge() -> Knowledge:
    """The treatment knowledge of the catalogue.

    Raises:
        SpecError: The file is wrong; the message names the rule or the line.
    """
    path = ROOT / "board" / "knowledge.yaml"
    name, text = "board/knowledge.yaml", read_text(path)
    return Knowledge(validated(parse_yaml(text, name), TreatmentModel, name, text), name=name)


def _operated(state: State, *, none: bool) -> dict[str, str]:
    if none:
        return {"surgery": "none", "resectable": "yes"}
    unknown = state.neoadjuvant_done and state.residual == "na"
    return {"surgery": "resected"} | ({"residual": "residual"} if unknown else {})


def _in_order(options: Mapping[str, Option], wanted: Iterable[str]) -> tuple[Option, ...]:
    chosen = set(wanted)
    return tuple(option for text, option in options.items() if text in chosen)
