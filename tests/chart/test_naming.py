"""Edits that name what there is not are told without a chart."""

import pytest

from chartproof.chart.naming import misnamed
from chartproof.records.edit import DeleteRows, Edit, InsertRows, ReplaceText, SetRows


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (SetRows(kind="set", table="poe", where={"poe_seq": 1}, values={"order_type": "Lab"}), []),
        (SetRows(kind="set", table="labevents", values={"value_num": 1}), ["`value_num`"]),
        (DeleteRows(kind="delete", table="labs"), ["`labs`, which is no table of patients"]),
        (DeleteRows(kind="delete", table="d_items"), ["which is no table of patients"]),
        (DeleteRows(kind="delete", table="poe", where={"=": "poe_seq > 3"}), []),
        (ReplaceText(kind="replace", table="discharge", where={"note": 1}, find="a", put="b"),
         ["`note`, which discharge does not have"]),
        (InsertRows(kind="insert", table="poe", rows=({"order": 1, "poe_seq": 2}, {"order": 3})),
         ["`order`"]),
    ],
)  # fmt: skip
def test_what_no_table_or_column_bears_is_named_once(edit: Edit, told: list[str]) -> None:
    found = list(misnamed(edit))
    assert len(found) == len(told)
    assert all(words in each for words, each in zip(told, found, strict=True))
