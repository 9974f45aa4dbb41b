"""The lock of a board study: catalogue, prompts, scorer, generator and cohort, by digest.

Whoever may choose among catalogues, prompts or rules after the answers are known can choose the
result. So all of them are fixed before a run by one figure, and a run that finds another is
refused, or marks whatever it writes.
"""

import hashlib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from pydantic import ValidationError

from chartproof.catalog.intervention_files import INTERVENTIONS, NAMES
from chartproof.catalog.read import parse_yaml, read_text
from chartproof.errors import SpecError
from chartproof.records.lock import Lock, LockChange, Locked
from chartproof.records.record import misfit

PACKAGE = Path(str(files("chartproof")))
SHIPPED: Mapping[str, tuple[str, ...]] = {
    "prompts": ("catalog/prompts/board-*.md",),
    "scorer": (
        "catalog/board/cues.yaml",
        "catalog/board/knowledge.yaml",
        "catalog/board/names.yaml",
        "judges/*.py",
        "judges/*.yaml",
        "metrics/*.py",
        "oncology/*.py",
        "reports/*.py",
    ),
    "generator": (
        "catalog/board/**/*.yaml",
        "catalog/suites/board*.json",
        "interventions/*.py",
        "oncology/*.py",
    ),
}
"""Part → files of the package that decide it."""
COHORT = ("cohort.json", "consensus.json", "gold/*", "packets/*.txt", "*.txt")
"""Files of a cohort's folder that decide what is asked and expected."""


def lock(cohort: Path, catalogue: Path = INTERVENTIONS) -> Lock:
    """Take the digests of all that a board study rests on.

    Args:
        cohort: Its folder.
        catalogue: Folder of the interventions.

    Raises:
        SpecError: The folder holds no cohort.
    """
    named: dict[str, dict[str, str]] = {
        "catalogue": _digests(
            (f"interventions/{path.name}", path)
            for path in sorted(catalogue.glob("*.yaml"))
            if path.stem in NAMES or catalogue == INTERVENTIONS
        ),
        **{part: _digests(_matching(PACKAGE, globs)) for part, globs in SHIPPED.items()},
        "cohort": _digests(_matching(cohort, COHORT)),
    }
    if not named["cohort"]:
        raise SpecError(
            f"{cohort} holds no cohort: neither cohort.json nor a packet.",
            remedy="Write one with `chartproof board cohort OUT`, or name the folder of yours.",
        )
    parts = {name: Locked(sha256=_over(of), files=of) for name, of in named.items()}
    return Lock(sha256=_over({name: part.sha256 for name, part in parts.items()}), parts=parts)


def read_lock(path: Path) -> Lock:
    """Read a `board.lock`.

    Raises:
        SpecError: It cannot be read, or its digests do not fit each other.
    """
    try:
        found = Lock.model_validate(parse_yaml(read_text(path), str(path)))
    except ValidationError as error:
        raise SpecError(
            f"{path} is no lock: {misfit(error)}.", remedy="Write one with `chartproof board lock`."
        ) from error
    whole = _over({name: part.sha256 for name, part in found.parts.items()})
    bad = [name for name, part in found.parts.items() if part.sha256 != _over(part.files)]
    if bad or whole != found.sha256:
        raise SpecError(
            f"{path} was altered: its {' and '.join(bad) or 'parts'} do not give its digest.",
            remedy="Take the lock as it was written, or write another with `chartproof board "
            "lock`, which is another registration.",
        )
    return found


def changes(held: Lock, cohort: Path, catalogue: Path = INTERVENTIONS) -> tuple[LockChange, ...]:
    """What is not as it was locked, file by file; nothing where all is."""
    now = lock(cohort, catalogue)
    found: list[LockChange] = []
    for part in sorted({*held.parts, *now.parts}):
        old = held.parts[part].files if part in held.parts else {}
        new = now.parts[part].files if part in now.parts else {}
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                what = (
                    "changed"
                    if name in old and name in new
                    else ("is gone" if name in old else "is new")
                )
                found.append(LockChange(part=part, file=name, what=what))
    return tuple(found)


def check(held: Lock, cohort: Path, catalogue: Path = INTERVENTIONS) -> None:
    """Refuse what is not as it was locked.

    Raises:
        SpecError: Naming part and file of each change.
    """
    found = changes(held, cohort, catalogue)
    if not found:
        return
    told = "; ".join(f"{each.file} ({each.part}) {each.what}" for each in found[:8])
    more = f"; and {len(found) - 8} more" if len(found) > 8 else ""
    raise SpecError(
        f"This is not what was locked: {told}{more}.",
        remedy="Restore it, or lock anew before the first answer with `chartproof board lock`; "
        "with --unregistered, everything that is written is marked so.",
    )


def _matching(root: Path, globs: Iterable[str]) -> Iterable[tuple[str, Path]]:
    found = {path for pattern in globs for path in root.glob(pattern) if path.is_file()}
    return ((path.relative_to(root).as_posix(), path) for path in sorted(found))


def _digests(named: Iterable[tuple[str, Path]]) -> dict[str, str]:
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in named}


def _over(digests: Mapping[str, str]) -> str:
    lines = (f"{name} {digests[name]}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
