"""An answer against what a board would agree on."""

from tests.judges.answers import answer

from chartproof.judges.consensus import covered
from chartproof.oncology.knowledge import knowledge
from chartproof.records.board import Consensus, Listed
from chartproof.reports.recommendations import recommendations


def listed(*texts: str, since: str | None = None) -> tuple[Listed, ...]:
    return tuple(
        Listed(option=knowledge().option(text), rules=("X",), certainty="high", sources=("s",),
               since=since)
        for text in texts
    )  # fmt: skip


CONSENSUS = Consensus(
    strong=listed("neoadjuvant: TCHP", "primary: breast_surgery"),
    tacit=listed("neoadjuvant: T-DXd + THP", since="2026-05"),
    mixed=listed("adjuvant: neratinib"),
    refusal=listed("any: pembrolizumab", "adjuvant: T-DM1"),
)


def test_components_and_time_make_a_hit_and_divided_options_are_neither_hit_nor_extra() -> None:
    found = covered(
        answer(
            "neoadjuvant: docetaxel + carboplatin + trastuzumab + pertuzumab",
            "adjuvant: lumpectomy", "adjuvant: neratinib", "adjuvant: Keytruda",
            "maintenance: letrozole",
        ),
        CONSENSUS,
    )  # fmt: skip
    assert (found.strong, found.strong_hit) == (2, 1)
    assert (found.tacit, found.tacit_hit) == (1, 0)
    assert (found.refusal, found.refusal_hit) == (2, 1)
    assert (found.recommended, found.recommended_refused) == (5, 1)
    assert found.extras == ("lumpectomy", "letrozole")


def test_one_recommendation_may_hit_several_options_and_each_counts_once() -> None:
    found = covered(answer("neoadjuvant: TCHP", "preoperative: TCbHP", "TCHP + T-DXd"), CONSENSUS)
    assert (found.strong_hit, found.tacit_hit) == (1, 1)
    assert found.extras == ()


def test_only_what_is_recommended_now_counts() -> None:
    found = covered(
        answer({"treatment": "pembrolizumab", "status": "conditional"}, refused=["T-DM1"]),
        CONSENSUS,
    )
    assert (found.refusal_hit, found.recommended) == (0, 0)


def test_an_option_younger_than_the_system_counts_as_divided() -> None:
    young = answer("neoadjuvant: T-DXd + THP")
    assert covered(young, CONSENSUS, known_until="2026-05").tacit_hit == 1
    found = covered(young, CONSENSUS, known_until="2025-12")
    assert (found.tacit, found.tacit_hit, found.extras) == (0, 0, ())


def test_prose_and_what_cannot_be_read_are_not_counted() -> None:
    assert covered(recommendations("Give TCHP."), CONSENSUS).unscored == "judge_abstained"
    found = covered(recommendations(""), CONSENSUS)
    assert (found.unscored, found.strong, found.strong_hit) == ("judge_parse", 2, 0)
