"""Take a site's own guideline, Markdown or PDF, into a folder of policies, and tell what it lacks.

The Markdown that is written is the document: its lines are cited, its digest enters the run. Beside
it lies `<id>.import.json`, which says from what it was made and what could not be taken over.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from chartproof.catalog import pdf
from chartproof.catalog.read import (
    FRONT,
    POLICY_ID,
    STATUS,
    parse_yaml,
    read_policy,
    shipped_policies,
)
from chartproof.errors import DiskError, SpecError, mend, unread
from chartproof.records.policy import Import, Loss, Policy

LONGEST = 1_000
"""Characters of a line; a longer one is broken, so that a citation of it says something."""
LARGEST = 20 << 20
"""Bytes of a Markdown file."""

_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")


@dataclass(frozen=True)
class Described:
    """What a person says of a document; None takes what the document says."""

    id: str | None = None
    title: str | None = None
    body: str | None = None
    year: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class Added:
    """A document that was taken in."""

    policy: Policy
    path: Path
    made: Import


def add(
    file: Path,
    folder: Path,
    described: Described | None = None,
    *,
    replace: bool = False,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Added:
    """Import a guideline into a folder of policies.

    Args:
        file: A PDF, or Markdown with or without front matter.
        folder: Made if it is not there.
        described: What stands above the text; see `Described`.
        replace: Whether a document of this id in the folder may be replaced.
        progress: Told of the pages that were read.

    Raises:
        SpecError: The file cannot be read, something about it is not known, or the id is taken.
        DiskError: The folder cannot be written.
    """
    described = described or Described()
    try:
        raw = file.read_bytes() if file.stat().st_size <= pdf.LARGEST else b""
    except OSError as error:
        raise SpecError(
            f"{file} cannot be read: {unread(error)}.", remedy="Give a PDF or Markdown file."
        ) from error
    front: dict[str, object] = {}
    pages: int | None = None
    if file.suffix.lower() == ".pdf" or raw.startswith(b"%PDF-"):
        found = pdf.read(file, progress)
        lines, losses, by, pages = found.lines, found.losses, found.by, found.pages
        front["title"] = found.title
    elif file.suffix.lower() in {".md", ".markdown", ".txt"}:
        front, lines, losses = _markdown(file, raw)
        by = "as it stood"
    else:
        raise SpecError(f"{file} is neither PDF nor Markdown.", remedy="Give `.pdf` or `.md`.")
    lines, losses = _broken(lines, losses)
    told = _front(file, front, described, lines)
    path = folder / f"{told['id']}.md"
    if path.exists() and not replace:
        raise SpecError(
            f"{folder} holds a policy `{told['id']}` already.",
            remedy="Give --replace to put this one in its place, or another --id.",
        )
    head = yaml.safe_dump(told, allow_unicode=True, sort_keys=False, width=10_000)
    whole = f"---\n{head}---\n" + "\n".join(lines) + "\n"
    made = Import(
        file=file.name,
        sha256=hashlib.sha256(raw).hexdigest(),
        policy=hashlib.sha256(whole.encode()).hexdigest(),
        by=by,
        pages=pages,
        losses=tuple(losses),
    )
    return Added(_written(path, whole, made), path, made)


def record_of(path: Path) -> Path:
    """Where the account of an import lies, beside the document."""
    return path.with_name(f"{path.stem}.import.json")


def _written(path: Path, whole: str, made: Import) -> Policy:
    half = path.with_name(f".{path.name}.half")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(whole, encoding="utf-8", newline="\n")
        account = made.model_dump_json(indent=1) + "\n"
        record_of(path).write_text(account, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise DiskError(
            f"{path} could not be written: {error.strerror}.",
            remedy=mend(error, "repeat, or choose another folder with --to"),
        ) from error
    return read_policy(path, site=True)


def _markdown(file: Path, raw: bytes) -> tuple[dict[str, object], list[str], list[Loss]]:
    """Front matter, lines and losses of a Markdown file."""
    if not raw.strip() or len(raw) > LARGEST:
        what = "is empty" if not raw.strip() else f"has {len(raw) >> 20} MB"
        raise SpecError(f"{file} {what}.", remedy="Give the guideline's text, up to 20 MB.")
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise SpecError(
            f"{file} is no UTF-8 text (byte {error.start + 1}).", remedy="Save it as UTF-8."
        ) from error
    if "\0" in text:
        raise SpecError(f"{file} holds NUL characters.", remedy="Give a text file.")
    front: dict[str, object] = {}
    parts = text.split("---\n", 2)
    if len(parts) == 3 and not parts[0].strip():
        found = parse_yaml(parts[1], str(file))
        if isinstance(found, dict):
            front = {str(key): value for key, value in found.items() if key in (*FRONT, STATUS)}
            text = parts[2]
    lines = text.strip("\n").split("\n")
    if not any(line.strip() for line in lines):
        raise SpecError(f"{file} holds no text.", remedy="Give the guideline's text.")
    losses = [
        Loss(page=None, kind="picture", what="what the picture shows is not text", lines=(n, n))
        for n, line in enumerate(lines, start=1)
        if _IMAGE.search(line)
    ]
    return front, lines, losses


def _broken(lines: list[str], losses: list[Loss]) -> tuple[list[str], list[Loss]]:
    """Lines of which none is too long to cite; places of losses follow them."""
    made: list[str] = []
    found: list[Loss] = []
    starts: list[int] = []
    for line in lines:
        starts.append(len(made) + 1)
        if len(line) <= LONGEST:
            made.append(line)
            continue
        rest = line
        while len(rest) > LONGEST:
            at = max(rest.rfind(". ", 0, LONGEST) + 1, 0) or rest.rfind(" ", 0, LONGEST)
            at = at if at > 0 else LONGEST
            made.append(rest[:at].rstrip())
            rest = rest[at:].lstrip()
        made.append(rest)
        told = f"a line of {len(line):,} characters was broken"
        place = (starts[-1], len(made))
        found.append(Loss(page=None, kind="long line broken", what=told, lines=place))
    starts.append(len(made) + 1)
    moved = [
        each
        if each.lines is None
        else each.model_copy(
            update={"lines": (starts[each.lines[0] - 1], starts[each.lines[1]] - 1)}
        )
        for each in losses
    ]
    return made, [*moved, *found]


def _front(
    file: Path, front: dict[str, object], described: Described, lines: list[str]
) -> dict[str, str]:
    """What stands above the text. Nothing but id, title and source is guessed."""
    heading = next((each.lstrip("# ") for each in lines if each.startswith("#")), "")
    known = {
        "id": re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:80],
        "title": heading,
        "source": f"Imported from {file.name}",
    }
    told: dict[str, str] = {}
    for key in FRONT:
        given = getattr(described, key) or front.get(key) or known.get(key)
        if not given:
            raise SpecError(
                f"{file} does not say its {_WHAT[key]}.", remedy=f"Say it with --{key}."
            )
        told[key] = " ".join(str(given).split())
    if front.get(STATUS):
        told[STATUS] = " ".join(str(front[STATUS]).split())
    if not POLICY_ID.fullmatch(told["id"]):
        raise SpecError(
            f"`{told['id']}` is no id that can be cited.",
            remedy="Give --id with up to 80 small letters, digits and hyphens.",
        )
    if told["id"] in shipped_policies():
        raise SpecError(
            f"`{told['id']}` is a policy that comes with chartproof.",
            remedy=f"Give another, e.g. --id {told['id']}-site.",
        )
    return told


_WHAT = {
    "id": "id",
    "title": "title",
    "body": "issuing body",
    "year": "year",
    "source": "source",
}
