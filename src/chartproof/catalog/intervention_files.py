"""The reader of `catalog/interventions/`, or of another folder with the same files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chartproof.catalog.read import ROOT, line_of, read_text, read_yaml
from chartproof.errors import SpecError
from chartproof.records.intervention import (
    AmendedEdition,
    Entries,
    Grid,
    Lexicon,
    Probes,
    PublishedEdition,
    RepairedEdition,
)
from chartproof.records.placebo import Ladders, Placebos

INTERVENTIONS = ROOT / "interventions"
NAMES = ("lexicon", "probes", "entries", "grid", "v1", "v1cr", "v2")


@dataclass(frozen=True)
class InterventionFiles:
    """One catalogue of interventions, as its files say it; patterns are not compiled yet."""

    folder: Path
    lexicon: Lexicon
    probes: Probes
    entries: Entries
    grid: Grid
    v1: PublishedEdition
    v1cr: AmendedEdition
    v2: RepairedEdition

    def place(self, file: str, keys: Sequence[str | int]) -> str:
        """Where a key stands, for a message: file, line and key.

        Args:
            file: Its name without `.yaml`.
            keys: Keys and positions from the top.
        """
        path = self.folder / f"{file}.yaml"
        shown = f"interventions/{file}.yaml" if self.folder == INTERVENTIONS else str(path)
        line = line_of(read_text(path), keys)
        return f"{shown}, line {line}, `{'.'.join(str(key) for key in keys)}`"


@cache
def read_interventions(folder: Path = INTERVENTIONS) -> InterventionFiles:
    """Read a catalogue of interventions.

    Raises:
        SpecError: A file is missing or does not fit its schema, an id is given twice, an edition
            has an entry that nobody declared, or a declared one is in no edition.
    """
    files = InterventionFiles(
        folder,
        read_yaml(folder / "lexicon.yaml", Lexicon),
        read_yaml(folder / "probes.yaml", Probes),
        read_yaml(folder / "entries.yaml", Entries),
        read_yaml(folder / "grid.yaml", Grid),
        read_yaml(folder / "v1.yaml", PublishedEdition),
        read_yaml(folder / "v1cr.yaml", AmendedEdition),
        read_yaml(folder / "v2.yaml", RepairedEdition),
    )
    _agree(files)
    return files


@cache
def read_placebos(folder: Path = INTERVENTIONS) -> Placebos:
    """Read the changes that must change no answer.

    Raises:
        SpecError: The file is missing or does not fit its schema.
    """
    return read_yaml(folder / "placebos.yaml", Placebos)


@cache
def read_ladders(folder: Path = INTERVENTIONS) -> Ladders:
    """Read the ladders and the round trips.

    Raises:
        SpecError: The file is missing or does not fit its schema.
    """
    return read_yaml(folder / "ladders.yaml", Ladders)


def _agree(files: InterventionFiles) -> None:
    """Refuse files that speak of different entries."""
    ids = [each.id for each in files.entries.entries]
    for number, id_ in enumerate(ids):
        if id_ in ids[:number]:
            raise SpecError(
                f"{files.place('entries', ('entries', number, 'id'))}: `{id_}` is declared twice.",
                remedy="Give one of them another id.",
            )
    for number, entry in enumerate(files.entries.entries):
        if entry.inverse is not None and entry.inverse not in ids:
            raise SpecError(
                f"{files.place('entries', ('entries', number, 'inverse'))}: there is no entry "
                f"`{entry.inverse}`.",
                remedy=f"Known: {', '.join(ids)}.",
            )
    with_text = [each.id for each in files.entries.entries if not each.state_only]
    for name, given in (
        ("v1", files.v1.entries),
        ("v1cr", files.v1cr.entries),
        ("v2", files.v2.entries),
    ):
        for id_ in given:
            if id_ not in with_text:
                raise SpecError(
                    f"{files.place(name, ('entries', id_))}: there is no such entry, or it is "
                    "declared `state_only`.",
                    remedy=f"Declare it in entries.yaml. Known: {', '.join(with_text)}.",
                )
        missing = [id_ for id_ in with_text if id_ not in given]
        if missing and name != "v1cr":
            raise SpecError(
                f"{files.place(name, ('entries',))}: `{missing[0]}` is missing.",
                remedy="Write it, or declare it `state_only: true` in entries.yaml.",
            )
