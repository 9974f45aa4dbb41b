from typing import Any

import pytest


def test_the_four_sources_are_four_tools(ask: Any) -> None:
    tables = [
        ask(tool).answer.scope.tables
        for tool in ("home_medications", "medication_orders", "administrations", "infusions")
    ]
    assert tables == [
        ("medrecon",),
        ("prescriptions", "pharmacy"),
        ("emar", "emar_detail"),
        ("inputevents",),
    ]


@pytest.mark.parametrize(
    ("window", "drugs"),
    [
        ({"since": "2150-03-03 08:59"}, ["Metoprolol"]),
        ({"since": "2150-03-03 09:00"}, []),
        ({"until": "2150-03-01 09:00"}, []),
        # it stops before it starts: the start alone is believed
        ({"since": "2150-03-02 09:00", "until": "2150-03-02 10:00"}, ["Metoprolol", "Aspirin"]),
    ],
)
def test_an_order_is_in_a_window_in_which_it_is_in_force(
    ask: Any, window: dict[str, str], drugs: list[str]
) -> None:
    rows = ask("medication_orders", **window).answer.rows
    assert [r.cells["drug"] for r in rows if r.cells["source"] == "prescriptions"] == drugs


def test_an_order_keeps_its_dose_as_it_was_written(ask: Any) -> None:
    row = ask("medication_orders", drug="METOPR").answer.rows[0]
    assert (row.cells["dose"], row.cells["unit"]) == ("25-50", "mg")


def test_a_dose_not_given_is_shown_as_not_given(ask: Any) -> None:
    rows = ask("administrations", drug=["metoprolol"]).answer.rows
    assert [row.cells.get("event_txt") for row in rows] == [
        "Not Given",
        "Administered",
        None,
        None,
    ]
    assert [row.cells["source"] for row in rows] == ["emar", "emar", "emar_detail", "emar_detail"]
    assert rows[3].cells["dose_given"] == "___"


def test_an_admission_without_any_emar_row_is_named(ask: Any) -> None:
    notes = ask("administrations", hadm_id=8000011).answer.notes
    assert "no eMAR row at all in admission 8000011: silence there is no absence" in notes
    assert not any("no eMAR" in n for n in ask("administrations", hadm_id=8000010).answer.notes)


def test_a_drug_may_be_given_by_several_names(ask: Any) -> None:
    assert len(ask("infusions", drug=["levophed", "norepi"]).answer.rows) == 1
    assert not ask("infusions", drug=["levo%phed"]).answer.rows


def test_an_infusion_is_in_a_window_in_which_it_runs(ask: Any) -> None:
    assert ask("infusions", since="2150-03-01 11:30").answer.rows
    assert not ask("infusions", since="2150-03-01 12:00").answer.rows


def test_home_medications_show_each_class_of_a_drug(ask: Any) -> None:
    rows = ask("home_medications", stay_id=7500010).answer.rows
    assert [row.cells["etcdescription"] for row in rows] == ["Beta Blockers", "Antihypertensives"]
    assert len({row.ref for row in rows}) == 2
    assert rows[0].cells["gsn"] == "004489"


def test_what_the_ed_cabinet_gave_out_stands_apart(ask: Any) -> None:
    assert ask("dispensed").answer.rows[0].cells["name"] == "Morphine"
