"""How the systems read a chart, and how they name what they recommend.

What words mean is data: `reading.toml`. What is read is what the treatment knowledge asks for.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from board.chart import Entry, Statement, entries, statements
from board.treatment import State, Treatment, read

CANCER_WORDS = {
    "breast": r"\bbreast\b|ductal carcinoma", "gej": r"gastro-?o?esophageal junction|\bGEJ\b",
    "gastric": r"\bgastric\b|\bstomach\b", "nsclc": r"\blung\b|\bNSCLC\b",
    "colorectal": r"\bcolo(?:n|rectal)\b|\brect(?:al|um)\b", "pancreatic": r"\bpancrea",
    "glioma": r"gli(?:oma|oblastoma)|astrocytoma|oligodendroglioma",
    "hepatocellular": r"hepatocellular|\bHCC\b", "prostate": r"\bprostat", "ovarian": r"\bovar",
    "melanoma": r"\bmelanoma\b",
}  # fmt: skip
_LINES = {"next": 2, "second": 2, "third": 3, "fourth": 4, "fifth": 5}
"""Words for a line of treatment; the next one is the second or a later."""
Said = tuple[Statement, str]
"""A statement, and its text in lower case."""


class Words:
    """Reads a chart with the words of `reading.toml`.

    Args:
        treatment: Gives the names of drugs and regimens.
    """

    def __init__(self, treatment: Treatment) -> None:
        path = Path(__file__).with_name("reading.toml")
        self._said: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        self._treatment = treatment
        self._terms: dict[str, str] = self._said["terms"]
        self._guards = [self._compiled(each) for each in self._said["guards"].values()]
        self._course: Mapping[str, Any] = self._said["course"]

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        for _ in range(3):
            for name, term in self._terms.items():
                pattern = pattern.replace(f"{{{name}}}", term)
        return re.compile(pattern, re.IGNORECASE)

    # reading

    def state(self, text: str) -> State:
        """What a chart tells of its patient."""
        found = entries(text)
        said = [(each, each.text.lower()) for each in statements(found)]
        head = next((e for e in found if "cancer type" in " ".join(e.body).lower()), None)
        cancer = self._cancer(head, [each.text for each, _ in said])
        state: State = {"cancer": cancer, "packet": self._packet(head)}
        state.update(dict.fromkeys(self._treatment.missed(cancer), "unknown"))
        state.update(self._facts(cancer, said))
        state.update(self._extent(said))
        state.update(self._operations(found, said))
        state.update(self._courses(found, said))
        return state

    def _about(self, asked: Mapping[str, Any], said: Sequence[Said]) -> Iterator[Statement]:
        """Statements that may tell something, and are of this patient and not of what might be."""
        words, tags = asked["about"], asked.get("tags")
        for each, lower in said:
            if tags and each.tag not in tags:
                continue
            if not any(word in lower for word in words):
                continue
            if not any(guard.search(each.text) for guard in self._guards):
                yield each

    def _told(self, name: str, said: Sequence[Said]) -> Iterator[re.Match[str]]:
        """Where something of the course is told, in order of date."""
        pattern = self._compiled(self._course[name]["pattern"])
        for each in self._about(self._course[name], said):
            yield from pattern.finditer(each.text)

    def _cancer(self, head: Entry | None, said: Sequence[str]) -> str:
        told = re.search(r"^Cancer type: (.+)$", "\n".join(head.body if head else ()), re.M | re.I)
        for text in [told[1]] if told else said:
            word = text.strip().lower()
            if word in self._treatment.cancers:
                return word
            for cancer, pattern in CANCER_WORDS.items():
                if cancer in self._treatment.cancers and re.search(pattern, text, re.IGNORECASE):
                    return cancer
        return self._treatment.cancers[0]

    def _packet(self, head: Entry | None) -> str:
        told = re.search(r"^Packet ID: (.+)$", "\n".join(head.body if head else ()), re.M)
        return told[1].strip() if told else ""

    def _facts(self, cancer: str, said: Sequence[Said]) -> State:
        state: State = {}
        for fact in self._said["fact"]:
            if cancer in fact.get("cancers", (cancer,)):
                value = self._value(fact, said)
                if value is not None:
                    state[fact["name"]] = value
        for number in self._said["number"]:
            if cancer in number.get("cancers", (cancer,)):
                pattern = self._compiled(number["pattern"])
                for each in self._about(number, said):
                    if hit := pattern.search(each.text):
                        state[number["name"]] = int(hit[1])
        for flag in self._said["flag"]:
            pattern, unless = self._compiled(flag["pattern"]), self._compiled(flag["not"])
            if any(
                pattern.search(each.text) and not unless.search(each.text)
                for each in self._about(flag, said)
            ):
                state[flag["name"]] = True
        return state

    def _value(self, fact: Mapping[str, Any], said: Sequence[Said]) -> Any:
        """The value of a fact: of statements that tell it the latest, or the first."""
        values = [
            (value, self._compiled("|".join(f"(?:{each})" for each in patterns)))
            for value, patterns in fact["values"]
        ]
        first = fact.get("rule") == "first"
        found: Any = None
        for each in self._about(fact, said):
            value = next((value for value, pattern in values if pattern.search(each.text)), None)
            if value is None or (value.endswith("?") and found in fact["weaker"]):
                continue
            found = value.removesuffix("?")
            if first:
                return found
        return found

    def _extent(self, said: Sequence[Said]) -> State:
        """Stage and distant disease."""
        masks = [
            self._compiled(self._course[each]["pattern"]) for each in ("no_metastasis", "nodal")
        ]
        distant, stages = (
            self._compiled(self._course[each]["pattern"]) for each in ("metastasis", "stage")
        )
        stage = "II"
        for each in self._about(self._course["metastasis"], said):
            text = each.text
            for mask in masks:
                text = mask.sub(" ", text)
            if distant.search(text):
                return {"M": "M1", "stage": "IV"}
            for told in stages.finditer(text):
                stage = {"1": "I", "2": "II", "3": "III"}.get(told[1], told[1].upper())
        return {"M": "M0", "stage": stage}

    def _operations(self, found: Sequence[Entry], said: Sequence[Said]) -> State:
        done = self._compiled(self._said["operation"]["done"])
        never = self._compiled(self._said["operation"]["not"])
        titles = [e.title for e in found if e.tag == "procedure"]
        operated = any(done.search(title) and not never.search(title) for title in titles)
        given = any(self._told("neoadjuvant_done", said))
        state: State = {
            "surgery": "resected" if operated else "none",
            "resectable": "yes",
            "neoadjuvant_done": given,
            "residual": "na",
        }
        latest = self._latest(("resectable_borderline", "resectable_no", "resectable_yes"), said)
        if latest is not None:
            state["resectable"] = latest.removeprefix("resectable_")
        if operated and given:
            state["residual"] = self._latest(("pCR", "residual"), said) or "na"
        return state

    def _latest(self, names: Sequence[str], said: Sequence[Said]) -> str | None:
        """Which of several courses was told last; in one statement, the first of the names."""
        patterns = [(name, self._compiled(self._course[name]["pattern"])) for name in names]
        about = {"about": [word for name in names for word in self._course[name]["about"]]}
        found: str | None = None
        for each in self._about(about, said):
            now = next((name for name, pattern in patterns if pattern.search(each.text)), None)
            found = now or found
        return found

    def _courses(self, found: Sequence[Entry], said: Sequence[Said]) -> State:
        """Treatment that failed, in its order, and the line that is next.

        Drugs that were begun on one day and failed are one treatment.
        """
        stopped = self._compiled(self._course["stopped"]["pattern"])
        begun: dict[str, list[str]] = {}
        for entry in sorted(found, key=lambda each: each.date):
            if entry.tag == "medication" and any(stopped.search(line) for line in entry.body):
                begun.setdefault(entry.date, []).extend(self._names(entry.title))
        failed = [self._together(names) for names in begun.values()]
        known = {drug for names in failed for name in names for drug in self._drugs(name)}
        for told in self._told("progressed_on", said):
            names = self._names(told[1])
            new = [name for name in names if not self._drugs(name) <= known]
            if new:
                failed.append(self._together(new))
                known |= {drug for name in new for drug in self._drugs(name)}
        line = 1 + len(failed)
        for told in self._told("line", said):
            line = max(line, _LINES.get(told[1].lower(), 1))
        prior = [name for names in failed for name in names]
        return {"prior": list(dict.fromkeys(prior)), "line": line}

    def _drugs(self, name: str) -> set[str]:
        return self._treatment.expand(name)

    def _together(self, names: Sequence[str]) -> list[str]:
        """The regimen that several drugs make, where they make one."""
        given = set(names)
        for name in names:
            if name in self._treatment.regimens:
                return [name]
        for name, regimen in self._treatment.regimens.items():
            parts = [self._drugs(each) for each in regimen["drugs"]]
            if len(parts) == len(given) and all(part & given for part in parts):
                return [name]
        return list(dict.fromkeys(names))

    # names

    @cached_property
    def _surfaces(self) -> tuple[re.Pattern[str], Mapping[str, str]]:
        """Every name of a drug or regimen, longest first, and what it names."""
        names: dict[str, str] = {}
        for name, drug in self._treatment.drugs.items():
            for surface in (name, *drug["brands"], *drug["synonyms"]):
                names.setdefault(surface.lower(), name)
        for name, regimen in self._treatment.regimens.items():
            for surface in (name, *regimen["synonyms"]):
                names[surface.lower()] = name
        longest = sorted(names, key=len, reverse=True)
        either = "|".join(re.escape(each).replace(r"\ ", r"[\s-]+") for each in longest)
        return re.compile(rf"(?<![\w-])(?:{either})(?![\w-])", re.IGNORECASE), names

    def _names(self, text: str) -> list[str]:
        """Drugs that a text names, or the regimens where it names any."""
        pattern, names = self._surfaces
        hits = [names.get(re.sub(r"\s+", " ", hit[0].lower())) for hit in pattern.finditer(text)]
        found = [name for name in hits if name]
        return [name for name in found if name in self._treatment.regimens] or found

    # saying

    def plain(self, state: State) -> str:
        """Some of the facts in plain words."""
        told: Mapping[str, str] = self._said["plain"]
        words = [told.get(f"{name} {value}") for name, value in sorted(state.items())]
        return "; ".join(word for word in words if word)

    def item(self, option: str, state: State, rationale: str) -> dict[str, Any]:
        """An option as one item of the answer."""
        timing, parts = read(option)
        names = [self._one(part, state) for part in parts]
        systemic = timing in {"palliative", "maintenance"}
        return {
            "treatment": " + ".join(self.said(name) for name in names),
            "timing": timing,
            "status": "recommend",
            "condition": None,
            "line": state.get("line") if systemic else None,
            "rationale": rationale,
        }

    def _one(self, part: Sequence[str], state: State) -> str:
        """One of the alternatives, which has not failed where there is one."""
        failed = set(state.get("prior", ()))
        choice: list[str] = []
        for name in part:
            members = self._treatment.expand(name) if name.startswith("@") else {name}
            choice += [each for each in (*self._treatment.drugs, *members) if each in members]
        fresh = [name for name in choice if name not in failed]
        return (fresh or choice)[0]

    def said(self, name: str) -> str:
        """A name of the knowledge in words."""
        words: Mapping[str, str] = self._said["words"]
        if name in words:
            return words[name]
        if name in self._treatment.regimens:
            return self._treatment.regimens[name]["synonyms"][0]
        drug = self._treatment.drugs.get(name, {"synonyms": (), "brands": ()})
        others = [*drug["synonyms"], *drug["brands"]]
        return others[0] if "_" in name and others else name.replace("_", " ")
