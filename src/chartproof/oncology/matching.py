"""Whether a recommendation is what a list, class or group of the treatment knowledge names."""

from collections.abc import Collection, Iterable

from chartproof.errors import SpecError
from chartproof.oncology.knowledge import knowledge
from chartproof.oncology.recognise import compatible, naming, timing_of
from chartproof.records.board import Listed, Option, Timing
from chartproof.records.recommendation import Recommendation

_SUPPORTIVE = "SUPPORTIVE"


def time_of(given: Recommendation) -> Timing | None:
    """Its time, of the vocabulary; None where none is given or it is another word."""
    return timing_of(given.timing)


def stands_for(items: Collection[str], name: str) -> bool:
    """Whether what was recognised includes a drug, a modality, all of a regimen, any of a class."""
    known = knowledge()
    if name in items:
        return True
    if name.startswith("@"):
        return bool(known.classes.get(name[1:], frozenset()) & set(items))
    if name in known.model.regimens:
        return all(stands_for(items, drug) for drug in known.model.regimens[name].drugs)
    if known.is_modality(name):
        return any(f"@{each}" in items for each in known.model.modalities[name].classes)
    return False


def has_components(items: Collection[str], option: Option) -> bool:
    """Whether every component of an option is there, in any of its alternatives."""
    return all(any(stands_for(items, name) for name in part) for part in option.components)


def meets(given: Recommendation, option: Option) -> bool:
    """Whether a recommendation is an option: all its components, at a time that is compatible.

    A recommendation without a time that is known is compatible with any.
    """
    time = time_of(given)
    return (time is None or compatible(time, option.timing)) and has_components(given.items, option)


def met(given: Recommendation, listed: Iterable[Listed]) -> tuple[Option, ...]:
    """The options of a list that a recommendation is."""
    return tuple(each.option for each in listed if meets(given, each.option))


def systemic(items: Iterable[str]) -> frozenset[str]:
    """Drugs among them."""
    return frozenset(items) & knowledge().model.drugs.keys()


def that_count(items: Iterable[str]) -> frozenset[str]:
    """All but supportive care."""
    return frozenset(items) - knowledge().classes.get(_SUPPORTIVE, frozenset())


def classes_of(items: Iterable[str]) -> frozenset[str]:
    """Drug classes of the systemic treatment among them, also of classes that are named alone."""
    known = knowledge()
    found = {each[1:] for each in items if each.startswith("@")}
    for drug in systemic(items):
        found |= set(known.model.drugs[drug].classes)
    return frozenset(found)


def named(names: Iterable[str]) -> tuple[str, ...]:
    """An expected change's words as names of the knowledge model.

    Raises:
        SpecError: A word is no drug, regimen, modality, class or group.
    """
    known, phrases = knowledge(), naming().phrases
    found: list[str] = []
    for name in names:
        if known.is_class(name.removeprefix("@")) or known.known(name):
            found.append(name.removeprefix("@"))
        elif name in phrases:
            found += phrases[name]
        else:
            raise SpecError(
                f"The expected change names `{name}`, which is no drug, regimen, modality, class "
                "or group of the treatment knowledge.",
                remedy="Use a name of board/knowledge.yaml, or explain the words in "
                "board/names.yaml under `phrases`.",
            )
    return tuple(dict.fromkeys(found))


def parts_in(given: Recommendation, name: str) -> frozenset[str]:
    """What of a recommendation counts as a class, group, regimen, drug or modality; empty if none.

    Members of a class one by one; a regimen or a group as one whole.
    """
    known, items = knowledge(), given.items
    if name in known.classes:
        found = known.classes[name] & set(items)
        return found or (frozenset({f"@{name}"}) if f"@{name}" in items else frozenset())
    if name in known.model.classes:
        whole = "+".join(sorted(systemic(items)) or sorted(items)) or given.treatment.casefold()
        return frozenset({whole}) if _in_group(given, name) else frozenset()
    return frozenset({name}) if stands_for(items, name) else frozenset()


def is_timed(name: str) -> bool:
    """Whether a group is told by its time."""
    group = knowledge().model.classes.get(name)
    return group is not None and bool(group.timing)


def _in_group(given: Recommendation, name: str) -> bool:
    known = knowledge()
    group = known.model.classes[name]
    if time_of(given) in group.timing:
        return bool(that_count(given.items)) or not given.items
    if any(stands_for(given.items, each) for each in (*group.regimens, *group.drugs)):
        return True
    for option in map(known.option, group.options):
        if meets(given, option) and not (group.mono and _beside(given.items, option)):
            return True
    return False


def _beside(items: Collection[str], option: Option) -> frozenset[str]:
    """Systemic treatment that is no alternative of the option."""
    own = knowledge().members([option])
    named_alone = {each for each in items if each.startswith("@")}
    allowed = {name for part in option.components for name in part}
    return (systemic(items) - own) | frozenset(named_alone - allowed)
