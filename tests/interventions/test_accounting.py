"""What becomes of cases and entries adds up."""

import pytest
from pydantic import ValidationError
from tests.interventions.charts import CHARTS, packet, subject

from chartproof.interventions.accounting import accounted, accounts
from chartproof.interventions.catalogue import catalogue
from chartproof.records.packet_account import Account

BARE = packet(
    "breast", "q", "- 2025-01-01 | Breast cancer | active", "[Vitals] 2025-01-02 | Ward\nx"
)


def test_eligible_is_noops_and_scored_in_every_line() -> None:
    rows = [
        row
        for n, (cancer, text) in enumerate((*CHARTS, ("breast", BARE)))
        for row in accounted(str(n), subject(text, cancer), catalogue())
    ]
    found = accounts(rows)
    assert len(rows) == 7 * 12 * 3
    for account in found:
        assert account.asked >= account.eligible == account.noop + account.scored
        assert account.clean <= account.scored
    for edition in ("v1", "v1cr", "v2"):
        lines = [each for each in found if each.edition == edition]
        whole = next(each for each in lines if not each.family)
        for part in (
            [each for each in lines if each.family and not each.entry],
            [each for each in lines if each.entry],
        ):
            for count in ("asked", "eligible", "noop", "scored", "clean"):
                assert sum(getattr(each, count) for each in part) == getattr(whole, count)


def test_a_published_strip_by_cancer_type_alone_has_the_noops() -> None:
    rows = accounted("x", subject(BARE, "breast"), catalogue(), ("v1",))
    assert [row.entry[:2] for row in rows if row.outcome == "noop"] == ["C1"]


def test_an_account_that_does_not_add_up_cannot_be_made() -> None:
    with pytest.raises(ValidationError, match="eligible is not no-ops and scored"):
        Account(
            edition="v1", family="", entry="", asked=9, eligible=5, noop=1, scored=3, clean=0,
            failed={},
        )  # fmt: skip
