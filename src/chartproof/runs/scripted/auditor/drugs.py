"""Drug names: brand, generic and salt brought to one ingredient; class and significance."""

import re
from dataclasses import dataclass
from functools import cache

from auditor.knowledge import known

_LEADING = re.compile(r"^[^A-Za-z]*")


@dataclass(frozen=True)
class Drug:
    """An ingredient, and what is known of it."""

    name: str
    kind: str
    significance: str
    limited: bool = False

    @property
    def trivial(self) -> bool:
        """Whether a difference in it never matters."""
        return self.significance == "trivial"


@cache
def _index() -> tuple[re.Pattern[str], dict[str, Drug]]:
    """One expression for every name known, and name → drug."""
    drugs: dict[str, Drug] = {}
    for kind, about in known("drugs").items():
        for ingredient, others in about["drugs"].items():
            drug = Drug(ingredient, kind, about["significance"], about.get("limited", False))
            for name in [ingredient, *others]:
                drugs.setdefault(name.lower(), drug)
    names = sorted(drugs, key=lambda name: (-len(name), name))
    joined = "|".join(re.escape(name).replace(r"\ ", r"[\s-]+") for name in names)
    return re.compile(rf"(?<![a-z])(?:{joined})(?![a-z])", re.IGNORECASE), drugs


def named(text: str) -> list[Drug]:
    """Every known drug that a text names, in order, each once."""
    expression, drugs = _index()
    found: dict[str, Drug] = {}
    for match in expression.finditer(text):
        drug = drugs.get(re.sub(r"[\s-]+", " ", match[0].lower())) or drugs.get(match[0].lower())
        if drug is not None:
            found.setdefault(drug.name, drug)
    if len(found) > 1:
        found.pop("insulin", None)  # the bare word beside the kind
    return list(found.values())


def of_name(text: str) -> list[Drug]:
    """The drugs of one list entry; a drug of its own name where none is known."""
    found = named(text)
    if found:
        if "flush" in text.lower() or "ophth" in text.lower() or "eye" in text.lower():
            return [Drug(d.name + " (local)", "topical", "trivial") for d in found]
        return found
    bare = re.split(r"\d|\(|,|\bPO\b|\bmg\b", _LEADING.sub("", text))[0].strip().lower()
    bare = re.sub(r"\s+(tablet|capsule|cap|tab|oral|er|xr|sr|cr|hcl)\b.*$", "", bare)
    return [Drug(bare, "unknown", "moderate")] if re.search(r"[a-z]{3}", bare) else []


def speaks_of(text: str, drug: Drug) -> bool:
    """Whether a text names a drug, or its class."""
    if any(d.name == drug.name for d in named(text)):
        return True
    about = known("drugs").get(drug.kind)
    if about is None:
        return drug.name in text.lower()
    return bool(re.search(about["called"], text, re.IGNORECASE))


def reasons(drug: Drug) -> re.Pattern[str]:
    """What in a text is an indication for a drug."""
    about = known("drugs").get(drug.kind)
    return re.compile(about["reasons"] if about else r"(?!)", re.IGNORECASE)
