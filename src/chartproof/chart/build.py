"""Build a store from a source: resumable, and whole or absent.

Work goes on in `<out>.building/`, where each finished table leaves a marker with the fingerprint of
what it was made from. At the end `store.json` is written and the folder renamed. A build that was
killed therefore resumes, and nothing ever reads half a store.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import duckdb
from pydantic import ValidationError

from chartproof.chart.alone import alone
from chartproof.chart.interrupt import interruptible
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.source import Source
from chartproof.chart.store import DIGESTS, INFO, LAYOUT, TIER, Store
from chartproof.chart.write import explained, write
from chartproof.errors import ChartError, DiskError
from chartproof.records.record import Document
from chartproof.records.store import Coverage, StoreInfo

PATIENTS_A_BUCKET = 150
MOST_BUCKETS = 64
SHARE_OF_TEXT = 0.9
"""Bytes needed on disk per byte of source text: the staged table and its Parquet."""
TEXT_A_PATIENT = 10_000_000
"""More text than a patient has: thirty times the mean of MIMIC-IV."""

Progress = Callable[[str, int], None]
"""Called with a table's name and its rows when it is done."""


def build(
    source: Source,
    out: Path,
    patients: Sequence[int] | None = None,
    *,
    progress: Progress = lambda _table, _rows: None,
    replace: bool = False,
    memory_limit: str = "3GB",
) -> StoreInfo:
    """Build a store in the folder `out`, or recognise the one that is there.

    Args:
        source: Where the records come from.
        out: The folder of the store; beside it `<out>.building` holds the work.
        patients: Only these; None takes all.
        progress: Told of every table that is done.
        replace: Whether a store of another source may be replaced.
        memory_limit: For DuckDB, as it writes it; what does not fit spills to disk.

    Raises:
        ChartError: The source is bad, or the folder is taken.
        DiskError: There is too little disk or memory.
    """
    wanted = None if patients is None else tuple(sorted(set(patients)))
    origin = _origin(source, wanted)
    standing = _standing(out, origin, replace=replace)
    if standing:
        return standing
    work = out.with_name(out.name + ".building")
    work.mkdir(parents=True, exist_ok=True)
    busy = ChartError(
        f"Another build is at work in `{work}`.",
        remedy="Wait for it, or build into another folder.",
    )
    with alone(work / "lock", busy), _disk_errors(work):
        _preflight(source, work, wanted)
        info = _Build(source, work, wanted, origin, progress, memory_limit).run()
        _publish(work, out)
    return info


class _Done(Document):
    """The marker of a finished table."""

    fingerprint: str
    rows: int
    warnings: tuple[str, ...]
    files: dict[str, str]
    """Path below the store → SHA-256."""


@dataclass(slots=True)
class _Build:
    """One run of a build inside its work folder."""

    source: Source
    work: Path
    wanted: tuple[int, ...] | None
    origin: str
    progress: Progress
    memory_limit: str
    warnings: list[str] = field(default_factory=list[str])
    buckets: int = 1
    patients: int = 0

    def run(self) -> StoreInfo:
        """Build what is not built yet, then seal it."""
        covered = self._coverage()
        scratch = self.work / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self.memory_limit,
            "temp_directory": str(scratch / "spill"),
        }
        with interruptible(duckdb.connect(str(scratch / "staging.duckdb"), config=config)) as db:
            self._want(db)
            self._count_patients(db)
            done = {spec.name: self._table(db, spec) for spec in covered.values()}
        shutil.rmtree(scratch)
        self.source.beside(self.work)
        return self._seal(done)

    def _coverage(self) -> dict[str, TableSpec]:
        said = {each.table: each for each in self.source.coverage()}
        if said.keys() != tables().keys():
            odd = ", ".join(sorted(said.keys() ^ tables().keys()))
            raise ChartError(
                f"The source {self.source.name} does not state its coverage of: {odd}.",
                remedy="Its `coverage()` must name each of the 41 tables once.",
            )
        for must in ("patients", "admissions"):
            if not said[must].covered:
                raise ChartError(
                    f"The source {self.source.name} has no table {must}. {said[must].why}".rstrip(),
                    remedy="A store needs patients and their admissions.",
                )
        return {name: spec for name, spec in tables().items() if said[name].covered}

    def _want(self, db: duckdb.DuckDBPyConnection) -> None:
        if self.wanted is not None:
            db.execute(
                "create temp table wanted as select unnest($ids)::integer as subject_id",
                {"ids": list(self.wanted)},
            )

    def _count_patients(self, db: duckdb.DuckDBPyConnection) -> None:
        """Stage the patients first: their number decides the buckets."""
        patients = tables()["patients"]
        self._stage(db, patients)
        with explained(db, patients, self.source):
            found = db.execute("select distinct subject_id from staged").fetchall()
        ids = {row[0] for row in found}
        self.patients = len(ids)
        if not ids:
            raise ChartError(
                "The source has none of the patients that were asked for."
                if self.wanted
                else "The source has no patients.",
                remedy="Check the source and the file of patients.",
            )
        self.buckets = min(MOST_BUCKETS, math.ceil(len(ids) / PATIENTS_A_BUCKET))
        unknown = [each for each in self.wanted or () if each not in ids]
        if unknown:
            shown = ", ".join(map(str, unknown[:20])) + (" …" if len(unknown) > 20 else "")
            self.warnings.append(
                f"patients: {len(unknown)} of {len(self.wanted or ())} asked for are not in the "
                f"source: {shown}"
            )

    def _stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        _unstage(db)
        self.source.stage(db, table)
        if self.wanted is not None and table.per_patient and not _is_view(db):
            db.execute("delete from staged where subject_id not in (select subject_id from wanted)")

    def _table(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> _Done:
        """Write one table unless a marker says that it is written."""
        marker = self.work / "done" / f"{table.name}.json"
        fingerprint = _digest(
            LAYOUT, self.buckets, self.wanted, self.source.fingerprint(table.name)
        )
        done = _marker(marker, fingerprint)
        if done is None:
            marker.unlink(missing_ok=True)
            self._stage(db, table)
            folder = self.work / "tables" / table.name
            written = write(db, table, folder, buckets=self.buckets, source=self.source)
            _unstage(db)
            files = {
                file.relative_to(self.work).as_posix(): file_digest(file)
                for file in sorted(folder.rglob("*.parquet"))
            }
            done = _Done(
                fingerprint=fingerprint,
                rows=written.rows,
                warnings=written.warnings,
                files=files,
            )
            write_atomically(marker, done.model_dump_json(indent=1))
        self.progress(table.name, done.rows)
        return done

    def _seal(self, done: dict[str, _Done]) -> StoreInfo:
        files = {path: digest for each in done.values() for path, digest in each.files.items()}
        listed = "".join(f"{digest}  {path}\n" for path, digest in sorted(files.items()))
        for each in done.values():
            self.warnings += each.warnings
        coverage = tuple(
            Coverage.model_validate(
                {**each.model_dump(), "rows": done[each.table].rows if each.covered else 0}
            )
            for each in self.source.coverage()
        )
        info = StoreInfo(
            source=self.source.name,
            version=self.source.version,
            tier=self.source.tier,
            digest=hashlib.sha256(listed.encode()).hexdigest(),
            code=LAYOUT,
            buckets=self.buckets,
            patients=self.patients,
            years=None,
            coverage=coverage,
            origin=self.origin,
            accounts=self.source.accounts(),
        )
        store = Store(self.work, info)
        with interruptible(duckdb.connect()) as db:
            odd = _odd_admissions(db, store.relation("admissions"))
            info = info.model_copy(
                update={
                    "years": _years(db, store.relation("admissions")),
                    "warnings": (*self.source.warnings(), *self.warnings, *odd),
                }
            )
        write_atomically(self.work / DIGESTS, listed)
        write_atomically(self.work / INFO, info.model_dump_json(indent=1) + "\n")
        return info


def _is_view(db: duckdb.DuckDBPyConnection) -> bool:
    found = db.execute("select 1 from duckdb_views() where view_name = 'staged'").fetchone()
    return found is not None


def _unstage(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(f"drop {'view' if _is_view(db) else 'table'} if exists staged")


def _years(db: duckdb.DuckDBPyConnection, admissions: str) -> tuple[int, int] | None:
    row = db.execute(f"select min(year(admittime)), max(year(admittime)) from {admissions}")
    low, high = cast("tuple[int | None, int | None]", row.fetchone())
    return None if low is None or high is None else (low, high)


def _odd_admissions(db: duckdb.DuckDBPyConnection, admissions: str) -> tuple[str, ...]:
    """What is odd in the source and stays as it is: real records hold such admissions."""
    odd = {
        "dischtime < admittime": "end before they begin",
        "admittime < before": "begin before an earlier one of the same patient ends",
        "admittime is null": "have no admittime",
    }
    said: list[str] = []
    for condition, what in odd.items():
        row = db.execute(f"""
            select count(*), min(hadm_id), arg_min(subject_id, hadm_id)
            from (
                select *, max(dischtime) over (
                    partition by subject_id order by admittime, hadm_id
                    rows between unbounded preceding and 1 preceding) as before
                from {admissions})
            where {condition}""").fetchone()
        count, hadm_id, subject_id = cast("tuple[int, int, int]", row)
        if count:
            first = f"the first is hadm_id {hadm_id} of patient {subject_id}"
            said.append(f"admissions: {count} {what}; {first}.")
    return tuple(said)


def _origin(source: Source, wanted: tuple[int, ...] | None) -> str:
    coverage = [each.model_dump(exclude={"rows"}) for each in source.coverage()]
    prints = {each["table"]: source.fingerprint(each["table"]) for each in coverage}
    return _digest(source.name, source.version, source.tier, LAYOUT, wanted, coverage, prints)


def _standing(out: Path, origin: str, *, replace: bool) -> StoreInfo | None:
    """The store that stands in `out` already, None where one is to be built."""
    if not out.exists():
        return None
    if not (out / INFO).exists():
        if out.is_dir() and not any(out.iterdir()):
            return None
        raise ChartError(
            f"`{out}` exists and is no store.",
            remedy="Choose another folder; nothing is overwritten that was not built here.",
        )
    if replace:
        return None
    info = Store.open(out).info
    if info.origin == origin:
        return info
    raise ChartError(
        f"`{out}` holds a store of another source or choice of patients "
        f"({info.source} {info.version}, {info.patients} patients).",
        remedy="Choose another folder, or give `--replace` to build anew in its place.",
    )


def _publish(work: Path, out: Path) -> None:
    """Put the finished folder in its place; an old store leaves only then."""
    shutil.rmtree(work / "done")
    old = out.with_name(out.name + ".replaced")
    shutil.rmtree(old, ignore_errors=True)
    if out.exists():
        _keep_tier(out, work)
        out.rename(old)
    work.rename(out)
    (out / "lock").unlink(missing_ok=True)
    shutil.rmtree(old, ignore_errors=True)


def _keep_tier(old: Path, new: Path) -> None:
    """What was allowed for data of a tier holds for data of the same tier that replace them."""
    if not (old / TIER).is_file():
        return
    before, after = (
        StoreInfo.model_validate_json((each / INFO).read_bytes()).tier for each in (old, new)
    )
    if before == after:
        shutil.copyfile(old / TIER, new / TIER)


@contextmanager
def _disk_errors(work: Path) -> Generator[None]:
    """Say in words what the disk or the memory refused. The work done so far is kept."""
    try:
        yield
    except duckdb.OutOfMemoryException as e:
        raise DiskError(
            f"The build ran out of memory or of room to spill: {first_line(e)}",
            remedy="Free memory and disk space, then build again: it resumes.",
        ) from e
    except (duckdb.Error, OSError) as e:
        # DuckDB passes a full disk on as IOException or, while it commits, as another of its errors
        if "no space left" in str(e).lower():
            raise DiskError(
                f"The disk of `{work}` is full: No space left on device.",
                remedy="Free space, then build again: it resumes.",
            ) from e
        if not isinstance(e, (duckdb.IOException, OSError)):
            raise
        raise DiskError(
            f"The build could not read or write in `{work}`: {first_line(e)}",
            remedy="Check disk space and permissions, then build again: it resumes.",
        ) from e


def _preflight(source: Source, work: Path, wanted: tuple[int, ...] | None) -> None:
    kept = source.size()
    if wanted is not None:
        kept = min(kept, len(wanted) * TEXT_A_PATIENT)
    need = int((kept + source.aside()) * SHARE_OF_TEXT)
    free = shutil.disk_usage(work).free
    if need > free:
        raise DiskError(
            f"The build needs about {need / 1e9:.1f} GB of disk; `{work.parent}` has "
            f"{free / 1e9:.1f} GB free.",
            remedy="Free space, build on another disk, or take fewer with `--patients FILE`.",
        )


def _marker(path: Path, fingerprint: str) -> _Done | None:
    """What a marker says, None where it is absent, torn or of another input."""
    try:
        done = _Done.model_validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None
    return done if done.fingerprint == fingerprint else None


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def first_line(error: BaseException) -> str:
    """The first line of a message that may run over many."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()
