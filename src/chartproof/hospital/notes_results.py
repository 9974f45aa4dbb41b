"""Pertinent Results: panel lines, whose clock is kept and whose date is scrubbed, and cultures."""

from collections.abc import Iterable

from chartproof.hospital.notes_patient import Admission, Lab
from chartproof.hospital.notes_phrases import data


def panel_lines(admission: Admission) -> tuple[list[str], list[str]]:
    """Lines of the first and of the last draw of every panel; one draw gives the first only."""
    first: list[str] = []
    last: list[str] = []
    for panel in data("discharge")["panels"]:
        names = {itemid: name for name, itemid in panel["items"].items()}
        draws: dict[object, list[Lab]] = {}
        for lab in admission.labs:
            if lab.itemid in names:
                draws.setdefault(lab.charttime, []).append(lab)
        if not draws:
            continue
        times = sorted(draws, key=str)
        first.append(_line(panel["specimen"], names, draws[times[0]]))
        if len(times) > 1:
            last.append(_line(panel["specimen"], names, draws[times[-1]]))
    return first, last


def culture_lines(admission: Admission) -> list[str]:
    """Cultures of the admission, once each, in the block capitals of the laboratory."""
    lines: list[str] = []
    for culture in admission.cultures:
        grown = culture.organism or "NO GROWTH."
        line = f"___ {culture.specimen} {culture.test}-FINAL: \n{grown}"
        if line not in lines:
            lines.append(line)
    return lines[:5]


def _line(specimen: str, names: dict[int, str], draw: Iterable[Lab]) -> str:
    labs = list(draw)
    values = {lab.itemid: f"{_value(lab)}{'*' if lab.abnormal else ''}" for lab in labs}
    told = [f"{name}-{values[itemid]}" for itemid, name in names.items() if itemid in values]
    clock = labs[0].charttime.strftime("%I:%M%p")
    lines = [f"___ {clock} {specimen}"]
    for each in told:
        if len(lines[-1]) + len(each) + 1 > 76:
            lines[-1] += " "
            lines.append(each)
        else:
            lines[-1] += f" {each}"
    return "\n".join(lines)


def _value(lab: Lab) -> str:
    if lab.number is None:
        return lab.value
    return f"{lab.number:g}"
