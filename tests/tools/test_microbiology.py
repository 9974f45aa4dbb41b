from typing import Any


def test_a_culture_known_by_its_day_is_in_a_window_that_touches_the_day(ask: Any) -> None:
    rows = ask("microbiology", since="2150-03-02 13:00", until="2150-03-02 14:00").answer.rows
    assert [(row.ref, row.cells["charttime"]) for row in rows] == [("microbiologyevents:61", None)]


def test_a_culture_with_a_time_is_in_a_window_of_that_time_only(ask: Any) -> None:
    assert not ask("microbiology", names="e. coli", since="2150-03-01 04:00").answer.rows
    assert ask("microbiology", names="e. coli", until="2150-03-01 04:00").answer.rows


def test_no_growth_stands_in_the_comments(ask: Any) -> None:
    row = ask("microbiology", hadm_id=8000010).answer.rows[0]
    assert (row.cells["org_name"], row.cells["comments"]) == (None, "NO GROWTH.")
