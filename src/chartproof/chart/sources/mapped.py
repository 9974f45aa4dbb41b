"""A hospital's own tables, brought to the schema by a mapping file that the hospital wrote."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import duckdb

from chartproof.catalog.read import line_of, parse_yaml, read_text, validated
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.sources.fitting import MISFIT, fitted, misfit
from chartproof.chart.sources.hospital_tables import SCHEMA, HospitalTables
from chartproof.chart.sources.official import CORE
from chartproof.chart.sources.selection import Selections, over, sql_of
from chartproof.chart.sources.source import Source, is_of_the_machine, only_wanted
from chartproof.errors import ChartError, SpecError
from chartproof.records.mapping import SourceMapping
from chartproof.records.store import Coverage, Tier

_NEEDED = {"patients": ("subject_id",), "admissions": ("subject_id", "hadm_id", "admittime")}
"""Columns without which no chart can be cut and no case anchored."""


@dataclass(frozen=True, slots=True)
class _Selected:
    """One of the 41 tables as the mapping gives it: SQL, what it reads, and its columns."""

    sql: str
    reads: tuple[str, ...]
    given: dict[str, str]
    line: int


@dataclass
class MappedSource(Source):
    """Tables in a folder, CSV or Parquet, read through a mapping.

    Attributes:
        folder: Where the tables lie.
        mapping: The mapping file.
        allow_missing: Tables of the hospital whose file may be missing; what reads them is then
            not covered.
    """

    folder: Path
    mapping: Path
    allow_missing: Collection[str] = ()
    name: str = ""
    version: str = ""
    tier: Tier = "credentialed"

    def __post_init__(self) -> None:
        """Read the mapping, find the tables, and check every SELECT before any row is read."""
        self._text = read_text(self.mapping)
        raw = parse_yaml(self._text, str(self.mapping))
        self._spec = validated(raw, SourceMapping, str(self.mapping), self._text)
        self.name, self.version, self.tier = self._spec.name, self._spec.version, self._spec.tier
        self._refuse_unknown_names()
        self._hospital = HospitalTables(
            self.folder, self.mapping, self._text, self._spec.sources, self.allow_missing
        )
        self._selected = self._select_all()

    def coverage(self) -> tuple[Coverage, ...]:
        """As the mapping says it in words, and as its SELECTs give it."""
        return tuple(self._cover(spec) for spec in tables().values())

    def fingerprint(self, table: str) -> str:
        """The SELECT, and the declarations and files of what it reads."""
        selected = self._selected.get(table)
        if selected is None:
            return "absent"
        parts = [selected.sql, *map(self._hospital.fingerprint, selected.reads)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def size(self) -> int:
        """Bytes of text in the files, about."""
        return self._hospital.text_bytes()

    def aside(self) -> int:
        """CSV files are read once, into a copy from which each SELECT is answered."""
        return self._hospital.loaded_bytes()

    def warnings(self) -> tuple[str, ...]:
        """Tables of the hospital that were allowed to be missing."""
        return tuple(self._hospital.said)

    def beside(self, store: Path) -> None:
        """Keep the mapping with the store that was made by it."""
        (store / "mapping.yaml").write_text(self._text, encoding="utf-8")

    def stage(self, db: duckdb.DuckDBPyConnection, table: TableSpec) -> None:
        """Answer one SELECT into `staged`."""
        selected = self._selected[table.name]
        db.execute(f"create schema if not exists {SCHEMA}")
        for name in selected.reads:
            self._hospital.load(db, name)
        relation = over(selected.sql, selected.reads, SCHEMA)
        fits = fitted(table.columns, selected.given)
        cells = ", ".join(each.selected for each in fits)
        try:
            db.execute(
                f"create table staged as select * from (select {cells} from {relation})"
                f"{only_wanted(db, table)}"
            )
        except duckdb.Error as e:
            if is_of_the_machine(e):
                raise
            place = f"`{self.mapping}`, line {selected.line}: {table.name}"
            for name in selected.reads:
                self._hospital.name_misfit(db, name, e)
            if MISFIT in str(e):
                row = "'in a row of patient ' || coalesce(subject_id::varchar, '?')"
                bad = misfit(
                    db,
                    relation,
                    fits,
                    place=row if table.per_patient else "'in a row'",
                    order="subject_id" if table.per_patient else "1",
                )
                if bad:
                    raise ChartError(f"{place}, {bad.words}.", remedy=bad.remedy) from e
            raise ChartError(
                f"{place}: the SELECT failed: {str(e).splitlines()[0]}",
                remedy="Correct the SELECT, or the value that it cannot read.",
            ) from e

    def _select_all(self) -> dict[str, _Selected]:
        selections = Selections(self._hospital.columns(), str(self.mapping), self._text)
        try:
            found = {
                name: each
                for name in self._spec.tables
                if (each := self._select(selections, name)) is not None
            }
        finally:
            selections.close()
        for name in CORE:
            lacking = [each for each in _NEEDED[name] if each not in found[name].given]
            if lacking:
                raise SpecError(
                    f"{self.mapping}, line {found[name].line}: {name} gives no "
                    f"{', '.join(lacking)}.",
                    remedy="No chart can be cut without it.",
                )
        return found

    def _select(self, selections: Selections, name: str) -> _Selected | None:
        mapped, spec = self._spec.tables[name], tables()[name]
        line = self._line("tables", name)
        if mapped.source is not None and mapped.source in self._spec.sources:
            selections.refuse_wrong_expression(name, mapped)
        sql = sql_of(mapped)
        reads = selections.reads(name, mapped)
        given = selections.gives(name, sql)
        lost = [each for each in reads if each not in self._hospital.found]
        if lost and name in CORE:
            raise ChartError(
                f"`{self.mapping}`, line {line}: {name} reads {', '.join(lost)}, which is missing.",
                remedy="A store needs patients and admissions: take it out of this SELECT.",
            )
        self._refuse_wrong_columns(spec, given, line)
        missing = [each for each in spec.columns if each not in given]
        if missing and not mapped.coverage.strip():
            raise SpecError(
                f"{self.mapping}, line {line}: {name} gives no {', '.join(missing)}.",
                remedy="Give them, or say under `coverage` in a sentence what is lacking and why.",
            )
        return None if lost else _Selected(sql, reads, given, line)

    def _refuse_wrong_columns(self, spec: TableSpec, given: dict[str, str], line: int) -> None:
        place = f"{self.mapping}, line {line}: {spec.name}"
        unknown = [each for each in given if each not in spec.columns]
        if unknown:
            raise SpecError(
                f"{place} gives {', '.join(unknown)}, which the schema does not have.",
                remedy=f"Its columns are: {', '.join(spec.columns)}.",
            )
        if spec.per_patient and "subject_id" not in given:
            raise SpecError(f"{place} gives no subject_id.", remedy="Every row needs its patient.")
        for each in fitted(spec.columns, given):
            if each.fits == "false":
                raise SpecError(
                    f"{place}: {each.name} is {each.form}, as {each.given}."
                    if each.form.startswith("no ")
                    else f"{place}: {each.name} is {each.form}.",
                    remedy=f"Convert it in the SELECT to {each.wanted}.",
                )

    def _cover(self, spec: TableSpec) -> Coverage:
        selected = self._selected.get(spec.name)
        if selected is not None:
            missing = tuple(each for each in spec.columns if each not in selected.given)
            why = self._spec.tables[spec.name].coverage.strip()
            return Coverage(
                table=spec.name, module=spec.module, covered=True, missing=missing, why=why
            )
        if spec.name in self._spec.tables:
            why = "The source lacks a table that this one is made of."
        else:
            said = self._spec.not_covered
            why = said.get(spec.name) or said[spec.module]
        return Coverage(
            table=spec.name,
            module=spec.module,
            covered=False,
            missing=tuple(spec.columns),
            why=why,
        )

    def _refuse_unknown_names(self) -> None:
        spec = self._spec
        modules = {each.module for each in tables().values()}
        for key, names, known in (
            ("tables", spec.tables, set(tables())),
            ("not_covered", spec.not_covered, set(tables()) | modules),
        ):
            for name in names:
                if name not in known:
                    raise SpecError(
                        f"{self.mapping}, line {self._line(key, name)}: there is no table "
                        f"`{name}`.",
                        remedy=f"The tables are: {', '.join(tables())}.",
                    )
        both = [name for name in spec.tables if name in spec.not_covered]
        if both:
            raise SpecError(
                f"{self.mapping}, line {self._line('not_covered', both[0])}: {both[0]} is under "
                "`tables` too.",
                remedy="Leave it in one of the two.",
            )
        lacking = [name for name in CORE if name not in spec.tables]
        silent = [
            each.name
            for each in tables().values()
            if not {each.name, each.module} & spec.not_covered.keys()
            and each.name not in spec.tables
        ]
        if lacking or silent:
            raise SpecError(
                f"{self.mapping} does not say what becomes of {', '.join(lacking or silent)}.",
                remedy="A store needs patients and admissions: give them under `tables`."
                if lacking
                else "Give each under `tables`, or say under `not_covered` why there is none.",
            )

    def _line(self, *path: str | int) -> int:
        return line_of(self._text, path)


def shipped(name: str) -> str:
    """The text of a mapping that comes with the package.

    Raises:
        SpecError: There is none of this name.
    """
    folder = files("chartproof.chart") / "sources" / "mappings"
    known = sorted(each.name.removesuffix(".yaml") for each in folder.iterdir())
    if name not in known:
        raise SpecError(
            f"There is no mapping `{name}`.", remedy=f"These are shipped: {', '.join(known)}."
        )
    return (folder / f"{name}.yaml").read_text(encoding="utf-8")
