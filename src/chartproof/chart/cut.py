"""Cut one patient out of a store, apply edits, seal: one small file per case and arm.

The file is all that a run may know. It holds this patient's rows of every table, the two item
dictionaries whole and of the others what the patient's rows use. Tables are written anew in order
of time after the edits, so that no gap betrays one.
"""

from collections.abc import Iterable
from pathlib import Path

import duckdb

from chartproof.chart.edits import Bind, apply
from chartproof.chart.reference import stem
from chartproof.chart.schema import TableSpec, tables
from chartproof.chart.store import Store, quoted
from chartproof.errors import ChartError, DiskError, mend
from chartproof.records.edit import Edit, Touched

USED = {
    "d_icd_diagnoses": (
        "(icd_code, icd_version) in (select icd_code, icd_version from diagnoses_icd "
        "union select icd_code, icd_version from diagnosis)"
    ),
    "d_icd_procedures": (
        "(icd_code, icd_version) in (select icd_code, icd_version from procedures_icd)"
    ),
    "d_hcpcs": "code in (select hcpcs_cd from hcpcsevents)",
    "d_items": "true",
    "d_labitems": "true",
    "provider": (
        "provider_id in (select order_provider_id from labevents "
        "union select order_provider_id from poe union select admit_provider_id from admissions)"
    ),
    "caregiver": "caregiver_id in (select caregiver_id from chartevents)",
}
"""Dictionary → which of its rows a chart holds, as SQL over the patient's own tables."""


def cut(
    store: Store,
    subject_id: int,
    path: Path,
    edits: Iterable[Edit] = (),
    bind: Bind | None = None,
) -> tuple[Touched, ...]:
    """Write the sealed chart of one patient to `path`, and say what each edit touched.

    Args:
        store: Where the rows come from.
        subject_id: The patient.
        path: A new file; written beside itself first and renamed whole.
        edits: Applied in order before the seal.
        bind: Anchors and facts that expressions in the edits name.

    Raises:
        ChartError: The store has no such patient.
        DiskError: The disk is full.
        SpecError: An edit does not fit the tables.
    """
    half = path.with_name(path.name + ".half")
    half.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    edits = tuple(edits)
    try:
        with duckdb.connect() as db:
            _copy(db, store, subject_id, edited=bool(edits))
            db.execute(f"attach {quoted(str(half))} as slice (block_size 16384)")
            # an edit is text from outside: from here on nothing but these tables can be reached
            db.execute(
                "set TimeZone = 'UTC'"
            )  # with that of the machine a cast would tell another hour
            db.execute("set enable_external_access = false")
            db.execute("set lock_configuration = true")
            touched = apply(db, edits, subject_id=subject_id, bind=bind or {})
            _write(db, store)
        half.replace(path)
    except duckdb.InvalidInputException as error:
        raise ChartError(
            f"The store at {store.path} cannot be read: {str(error).splitlines()[0]}",
            remedy="`chartproof store check` tells what is damaged; build the store again.",
        ) from error
    except (OSError, duckdb.IOException) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error).splitlines()[0]
        raise DiskError(
            f"The chart of patient {subject_id} could not be written: {reason}.",
            remedy=(
                mend(error, "repeat: what is complete is kept")
                if isinstance(error, OSError)
                else "Free disk space, and repeat: what is complete is kept."
            ),
        ) from error
    finally:
        half.unlink(missing_ok=True)
        half.with_name(half.name + ".wal").unlink(missing_ok=True)
    return touched


def _copy(db: duckdb.DuckDBPyConnection, store: Store, subject_id: int, *, edited: bool) -> None:
    """Copy what the chart may hold. Only an edit can bring in a code that no row has yet."""
    for table in _own():
        _copy_own(db, store, table, subject_id)
    for name, used in USED.items():
        db.execute(
            f"create temp table all_{name} as select * from {store.relation(name)} "
            f"where {'true' if edited else used}"
        )
    if not db.execute("select 1 from patients").fetchone():
        raise ChartError(
            f"The store has no patient {subject_id}.",
            remedy="`chartproof store show` names what it holds.",
        )


def _copy_own(
    db: duckdb.DuckDBPyConnection, store: Store, table: TableSpec, subject_id: int
) -> None:
    """Copy the patient's rows. To number like references costs most, and few tables have any."""
    make, patient = f"create or replace temp table {table.name} as", {"subject": subject_id}
    stored = None if table.key else store.stored(table.name, subject_id)
    if stored:
        cells = f"{', '.join(table.columns)}, {stem(table)} as row_ref"
        db.execute(f"{make} select {cells} from {stored} where subject_id = $subject", patient)
        row = db.execute(f"select count(*) = count(distinct row_ref) from {table.name}").fetchone()
        if row and row[0]:
            return
    rows = store.relation(table.name, subject_id)
    db.execute(f"{make} select * from {rows} where subject_id = $subject", patient)


def _write(db: duckdb.DuckDBPyConnection, store: Store) -> None:
    db.execute("begin")  # one wait for the disk instead of eighty
    for table in _own():
        db.execute(
            f"create table slice.{table.name} as select * from {table.name} "
            f"order by {_order(table)}"
        )
    for name, used in USED.items():
        db.execute(f"create table slice.{name} as select * from all_{name} where {used} order by 1")
    coverage = store.info.coverage
    db.execute(
        'create table slice.coverage as select unnest($names::varchar[]) as "table", '
        "unnest($modules::varchar[]) as module, unnest($covered::boolean[]) as covered, "
        "unnest($missing::varchar[][]) as missing, unnest($why::varchar[]) as why, "
        "unnest($first::integer[]) as first_year, unnest($whole::integer[]) as whole_year, "
        "unnest($last::integer[]) as last_year",
        {
            "names": [each.table for each in coverage],
            "modules": [each.module for each in coverage],
            "covered": [each.covered for each in coverage],
            "missing": [list(each.missing) for each in coverage],
            "why": [each.why for each in coverage],
            "first": [each.era.first if each.era else None for each in coverage],
            "whole": [each.era.whole if each.era else None for each in coverage],
            "last": [each.era.last if each.era else None for each in coverage],
        },
    )
    db.execute("commit")
    db.execute("detach slice")


def _own() -> list[TableSpec]:
    return [each for each in tables().values() if each.per_patient]


def _order(table: TableSpec) -> str:
    return f"{table.times[0]}, row_ref" if table.times else "row_ref"
