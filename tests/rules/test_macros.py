"""Formulas that scenarios share, where another room has the same knowledge."""

import duckdb

from chartproof.rules.formulas import define
from chartproof.tools.medications import events


def test_rules_and_tools_agree_on_what_was_given() -> None:
    words = sorted({word for each in events().values() for word in each} | {"Delayed"})
    with duckdb.connect() as db:
        define(db)
        found = db.execute(
            "select word from (select unnest($words) as word) where administered(word)",
            {"words": words},
        ).fetchall()
    assert {word for (word,) in found} == {*events()["yes"], *events()["partly"]}
