"""Make planted rows look as the hospital's own do.

A creatinine does not come alone but with its panel. It takes over the nearest panel whose
creatinine a recipe took out; those that are left stay, as panels in which creatinine was not
measured. So the number of panels tells nothing of how many results a recipe plants. Urea stays as
the hospital planned it: one that followed the planted creatinine would be more like a patient's,
and tell the verdict where no rule looks. Orders and administrations are numbered in order of time.
Without this, a planted row would betray itself by standing alone or at the end.
"""

import random
from functools import cache

import duckdb

from chartproof.hospital.encounters import provider
from chartproof.hospital.vocabulary import Lab, labs
from chartproof.records.edit import Edit, InsertRows, Value

CREATININE = 50912
_MATES = [lab.itemid for lab in labs()["chem"] if lab.itemid != CREATININE]


def measured(edit: Edit) -> Edit:
    """Give an inserted result the unit and the reference range that the laboratory has for it."""
    if not isinstance(edit, InsertRows) or edit.table != "labevents":
        return edit
    return edit.model_copy(update={"rows": tuple(_measured(row) for row in edit.rows)})


def _measured(row: dict[str, Value]) -> dict[str, Value]:
    lab = _items().get(row.get("itemid"))
    if lab is None:
        return row
    return {
        "valueuom": lab.unit,
        "ref_range_lower": lab.low,
        "ref_range_upper": lab.high,
        "priority": "ROUTINE",
        **row,
    }


@cache
def _items() -> dict[Value, Lab]:
    return {lab.itemid: lab for items in labs().values() for lab in items}


def panels(db: duckdb.DuckDBPyConnection, subject_id: int) -> set[int]:
    """Specimens in which the patient's serum creatinine was measured."""
    found = db.execute(
        "select distinct specimen_id from labevents where subject_id = $s and itemid = $i",
        {"s": subject_id, "i": CREATININE},
    ).fetchall()
    return {row[0] for row in found}


def after(
    db: duckdb.DuckDBPyConnection, subject_id: int, before: set[int], rng: random.Random
) -> None:
    """Bring a patient's tables into order after a recipe."""
    db.execute(
        "update labevents set storetime = charttime + to_minutes(25 + specimen_id % 97) "
        "where subject_id = $s and storetime = charttime + interval 55 minute",
        {"s": subject_id},
    )
    db.execute(
        "update poe set order_provider_id = $p where subject_id = $s and order_provider_id is null",
        {"s": subject_id, "p": provider(rng)},
    )
    _panels(db, subject_id, before, rng)
    _renumber(
        db, subject_id, "poe", "ordertime", ("prescriptions", "pharmacy", "emar", "poe_detail")
    )
    _renumber(db, subject_id, "emar", "charttime", ("emar_detail",))


def _panels(
    db: duckdb.DuckDBPyConnection, subject_id: int, before: set[int], rng: random.Random
) -> None:
    now = panels(db, subject_id)
    left, moved, copied = sorted(before - now), dict[int, int](), dict[int, int]()
    donors = [
        s
        for (s,) in db.execute(
            "select specimen_id from labevents where subject_id = $s and itemid = any($mates) "
            "group by 1 having count(*) >= 5 order by 1",
            {"s": subject_id, "mates": _MATES},
        ).fetchall()
    ]
    at = dict(
        db.execute(
            "select specimen_id, min(charttime) from labevents where subject_id = $s "
            "and itemid = any($chem) group by 1",
            {"s": subject_id, "chem": [*_MATES, CREATININE]},
        ).fetchall()
    )
    for came in sorted(now - before, key=lambda specimen: (at[specimen], specimen)):
        free = [each for each in left if each in at]
        if free:
            nearest = min(free, key=lambda each: (abs(at[each] - at[came]), each))
            left.remove(nearest)
            moved[came] = nearest
        elif donors:
            copied[came] = rng.choice(donors)
    _copy(db, subject_id, copied)
    _copy(db, subject_id, moved)
    db.execute(
        "delete from labevents where subject_id = $s and specimen_id = any($old) "
        "and itemid = any($mates)",
        {"s": subject_id, "old": list(moved.values()), "mates": _MATES},
    )


def _copy(db: duckdb.DuckDBPyConnection, subject_id: int, donors: dict[int, int]) -> None:
    """Give specimens with a creatinine the rest of other panels: specimen → donor."""
    db.execute(
        """
        insert into labevents by name
        select l.* replace (
                p.specimen as specimen_id, n.charttime as charttime, n.hadm_id as hadm_id,
                n.storetime as storetime, n.priority as priority,
                l.labevent_id + 1000000000 as labevent_id,
                'labevents:' || (l.labevent_id + 1000000000) || '-' || p.specimen as row_ref)
        from (select unnest($came) as specimen, unnest($donors) as donor) p
        join labevents l on l.specimen_id = p.donor and l.itemid = any($mates)
        join labevents n on n.specimen_id = p.specimen and n.itemid = $creatinine
        where l.subject_id = $s and n.subject_id = $s
            -- what the recipe measured with it is not measured again
            and not exists (
                from labevents o
                where o.subject_id = $s and o.itemid = l.itemid and o.charttime = n.charttime)
        """,
        {
            "came": list(donors),
            "donors": list(donors.values()),
            "mates": _MATES,
            "creatinine": CREATININE,
            "s": subject_id,
        },
    )


def _renumber(
    db: duckdb.DuckDBPyConnection, subject_id: int, table: str, time: str, others: tuple[str, ...]
) -> None:
    """Number a patient's orders or administrations in order of time, gaps as they were."""
    key, seq = f"{table}_id", f"{table}_seq"
    subject = {"s": subject_id}
    db.execute(
        f"""
        create or replace temp table renumbered as
        with mine as (
            select {key} as old, {seq} as seq, {time} as since,
                least({seq}, 800000) as kept from {table} where subject_id = $s),
        free as (select row_number() over (order by kept, seq) as n, kept from mine),
        spread as (
            select n, kept + row_number() over (partition by kept order by n) - 1 as number
            from free),
        low as (select coalesce(max({seq}), 0) as top from {table}
            where subject_id = $s and {seq} < 800000)
        select m.old, if(s.number >= 800000, low.top + s.number - 799999, s.number)::integer as new
        from (select *, row_number() over (order by since, seq) as n from mine) m
        join spread s using (n), low
        """,
        subject,
    )
    _rename(db, table, key, seq)
    for other in others:
        _rename(
            db, other, key, seq if other in ("prescriptions", "poe_detail", "emar_detail") else ""
        )
    if table == "poe":
        for column in ("discontinue_of_poe_id", "discontinued_by_poe_id"):
            _rename(db, table, column, "")


def _rename(db: duckdb.DuckDBPyConnection, table: str, key: str, seq: str) -> None:
    also = f", {seq} = new" if seq else ""
    db.execute(
        f"update {table} set {key} = split_part(old, '-', 1) || '-' || new{also} "
        f"from renumbered where {table}.{key} = old"
    )
