"""Where packets differ, by how much, and packets that are changed in some places alone."""

from hypothesis import given
from hypothesis import strategies as st
from tests.interventions.charts import EXAMPLE, subject

from chartproof.interventions.applying import apply
from chartproof.interventions.arms import Arm, Arms, NoArm
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.passages import Packet
from chartproof.interventions.places import Extent, drawn, extent, partly, places
from chartproof.records.sensitivity import doses

CATALOGUE = catalogue()
BEFORE = Packet.of(EXAMPLE)
AFTER = apply(CATALOGUE["A2"], "v2", subject(EXAMPLE, "breast")).packet


def test_all_places_together_give_the_changed_packet_and_none_the_original() -> None:
    for entry in ("A2", "C1", "D1", "E1"):
        after = apply(CATALOGUE[entry], "v2", subject(EXAMPLE, "breast")).packet
        found = places(BEFORE, after)
        assert partly(BEFORE, found).text == after.text
        assert partly(BEFORE, ()).text == EXAMPLE
    assert places(BEFORE, BEFORE) == ()


def test_each_further_place_changes_a_block_more_and_no_other() -> None:
    order = drawn(places(BEFORE, AFTER), "a seed")
    assert len(order) > 2
    for n in range(len(order)):
        one, next_ = partly(BEFORE, order[:n]), partly(BEFORE, order[: n + 1])
        (place,) = places(one, next_)
        assert place.parts == order[n].parts
    assert drawn(places(BEFORE, AFTER), "a seed") == order


def test_an_extent_counts_the_characters_that_are_others_word_by_word() -> None:
    text = EXAMPLE.replace("Female", "Feminine", 1)
    assert extent(BEFORE, Packet.of(text)) == Extent(len("Female"), len("Feminine"))
    passage = "[Encounter] 2024-01-05 | Desk | Note\nNothing.\n---\n"
    at = EXAMPLE.index("[Encounter]")
    assert extent(BEFORE, Packet.of(EXAMPLE[:at] + passage + EXAMPLE[at:])).added == len(passage)
    assert extent(BEFORE, Packet.of(EXAMPLE[:at] + passage + EXAMPLE[at:])).removed == 0


@given(st.integers(0, 60))
def test_doses_grow_to_all_places_and_are_four_at_most(count: int) -> None:
    found = doses(count)
    assert list(found) == sorted(set(found))
    assert len(found) <= 4
    assert (not found) == (count < 2)
    assert not found or (found[0] >= 1 and found[-1] == count)


def test_a_dose_is_an_arm_by_its_name_and_tells_what_it_left() -> None:
    of = Arms("X", EXAMPLE, "breast", CATALOGUE)
    count = len(places(BEFORE, AFTER))
    low, whole = of.arm(f"dose:A2:{doses(count)[0]}"), of.arm(f"dose:A2:{count}")
    assert isinstance(low, Arm)
    assert isinstance(whole, Arm)
    assert low.audit is not None
    assert "residual" in low.audit.failed
    assert (whole.text, whole.dose, whole.places) == (AFTER.text, count, count)
    other = of.arm(f"dose:A2:{count + 1}")
    assert isinstance(other, NoArm)
    assert f"{count} places tell it" in other.reasons[0]
