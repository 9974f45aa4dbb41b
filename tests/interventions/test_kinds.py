"""What an edit alters, by stream of the record."""

from chartproof.chart.schema import tables
from chartproof.interventions.kinds import kinds, streams
from chartproof.records.edit import DeleteRows, SetRows, Touched


def touched(n: int, *rows: str) -> Touched:
    return Touched(edit=n, kind="set", table="labevents", rows=rows)


EDITS = (
    SetRows(kind="set", table="labevents", values={"valuenum": 1.0}),
    DeleteRows(kind="delete", table="diagnoses_icd"),
    SetRows(kind="set", table="emar", values={"charttime": "2150-01-01"}),
)


def test_every_table_of_patients_belongs_to_one_stream() -> None:
    assert set(streams()) == {each.name for each in tables().values() if each.per_patient}


def test_only_edits_that_touched_a_row_count() -> None:
    assert kinds(EDITS, [touched(1, "labevents:1"), touched(2), touched(3)]) == ("laboratory",)


def test_an_edit_of_times_alone_is_of_time_whatever_its_table() -> None:
    done = [touched(n, "x") for n in (1, 2, 3)]
    assert kinds(EDITS, done) == ("code", "laboratory", "time")
