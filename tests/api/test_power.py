"""Planning a study from recorded runs or from what is supposed."""

import pytest

from chartproof.api.power import Discordance, plan
from chartproof.errors import SpecError


def test_a_row_tells_the_cases_that_a_difference_needs_and_what_a_size_tells_apart() -> None:
    table = plan(5, [Discordance(0.2, "")], cases=750)
    share, needed, power, apart = table.rows[0]
    assert (share.value, needed.value) == (0.2, 658)
    assert power.value == pytest.approx(0.852, abs=0.001)
    assert apart.value == pytest.approx(4.7)


def test_more_comparisons_need_more_cases() -> None:
    one, fifteen = (
        plan(5, [Discordance(0.2, "")], comparisons=n).rows[0][1].value for n in (1, 15)
    )
    assert one is not None
    assert fifteen is not None
    assert fifteen > 1.5 * one


def test_without_a_size_its_columns_are_dashes() -> None:
    assert [cell.text for cell in plan(5, [Discordance(0.2, "")]).rows[0][2:]] == ["–", "–"]


def test_a_difference_that_cannot_be_is_refused_with_a_remedy() -> None:
    with pytest.raises(SpecError, match="more than the discordant share"):
        plan(25, [Discordance(0.2, "")])
