"""Where the treatment knowledge refers to nothing that there is."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, get_args

from chartproof.errors import SpecError
from chartproof.oncology.conditions import AT_LEAST, OWN, fits
from chartproof.records.board import Level
from chartproof.records.treatment import GlobalRule, Rule, When

if TYPE_CHECKING:
    from chartproof.oncology.knowledge import Knowledge


def faults(known: "Knowledge") -> Iterator[tuple[str, str, str]]:
    """Where the model refers to nothing: place, what, remedy."""
    for name, regimen in known.model.regimens.items():
        for each in regimen.drugs:
            if not known.known(each):
                yield f"regimens.{name}", f"`{each}` is unknown", known.like(each)
    for name, group in known.model.classes.items():
        for each in (*group.regimens, *group.drugs):
            if not known.known(each):
                yield f"classes.{name}", f"`{each}` is unknown", known.like(each)
        yield from _bad_options(known, f"classes.{name}", group.options)
    seen: set[str] = set()
    for cancer, rules in known.model.rules.items():
        for rule in rules:
            yield from _rule_faults(known, cancer, rule)
            if cancer != "gej" and rule.id in seen:
                yield f"rules.{cancer}", f"the id {rule.id} is given twice", "Rename one."
            seen.add(rule.id)
    for rule in known.model.global_rules:
        yield from _global_faults(known, rule)


def _rule_faults(known: "Knowledge", cancer: str, rule: Rule) -> Iterator[tuple[str, str, str]]:
    where = f"rules.{cancer}, rule {rule.id}"
    texts = [text for level in get_args(Level) for text in rule.of(level)]
    yield from _bad_options(known, where, [*texts, *rule.labile])
    for each in rule.sources:
        if each not in known.model.sources:
            yield where, f"the source `{each}` is unknown", "List it under `sources`."
    for narrow in rule.labile:
        if not any(_narrower(known, narrow, text) for text in texts):
            yield where, f"`labile` names `{narrow}`, no option of it", "Name an option."
    yield from _bad_when(known, where, rule.when)


def _global_faults(known: "Knowledge", rule: GlobalRule) -> Iterator[tuple[str, str, str]]:
    where = f"global_rules.{rule.id}"
    for each in (*rule.hits, *(e.drug for e in rule.exceptions)):
        if not known.known(each):
            yield where, f"`{each}` is unknown", known.like(each)
    for texts in rule.adds.values():
        yield from _bad_options(known, where, texts)
    for when in (rule.when, *(e.when for e in rule.exceptions)):
        yield from _bad_when(known, where, when)


def _narrower(known: "Knowledge", narrow: str, text: str) -> bool:
    """Whether it is an option, with no others than its alternatives."""
    a, b = known.option(narrow), known.option(text)
    return (
        a.timing == b.timing
        and len(a.components) == len(b.components)
        and all(set(x) <= set(y) for x, y in zip(a.components, b.components, strict=True))
    )


def _bad_options(
    known: "Knowledge", where: str, texts: Iterable[str]
) -> Iterator[tuple[str, str, str]]:
    for text in texts:
        try:
            known.option(text)
        except SpecError as error:
            yield where, error.what.rstrip("."), error.remedy


def _bad_when(known: "Knowledge", where: str, when: When) -> Iterator[tuple[str, str, str]]:
    settings = {each.setting for each in known.model.settings}
    for name, wanted in when.items():
        values = wanted if isinstance(wanted, tuple) else (wanted,)
        if name in {"prior_has", "prior_lacks"}:
            for each in map(str, values):
                if not (known.known(each) or each in known.classes):
                    yield where, f"`{name}` names the unknown `{each}`", known.like(each)
        elif name == "setting":
            for each in map(str, values):
                if each not in settings:
                    yield where, f"there is no setting `{each}`", "Name one of `settings`."
        elif name in known.model.facts:
            allowed = known.model.facts[name]
            for each in values:
                bare = each.removeprefix("!") if isinstance(each, str) else each
                if isinstance(allowed, tuple) and not (
                    fits(bare, allowed) or AT_LEAST.fullmatch(str(bare))
                ):
                    yield where, f"`{name}` cannot be `{each}`", "Name one of its values."
        elif name not in OWN:
            yield where, f"`{name}` is no field or fact", "List it under `facts`."
