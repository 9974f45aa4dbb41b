"""Formulas and scores beside implementations that nobody here wrote.

medcalc-bench 1.7.0 (Apache-2.0, the calculators of ncbi-nlp/MedCalc-Bench) computes beside ours.
pyAKI 0.0.2 (MIT) asks for libraries of its own time, so what it said was written down. Where one
differs from ours, the difference stands here as a figure; neither was tuned.
"""

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from medcalc.ckd_epi_2021_creatinine import (  # pyright: ignore[reportMissingTypeStubs]
    ckd_epi_2021,
)
from medcalc.curb_65 import curb_65_explanation  # pyright: ignore[reportMissingTypeStubs]
from medcalc.ideal_body_weight import ibw_explanation  # pyright: ignore[reportMissingTypeStubs]
from medcalc.mdrd_gfr import mrdr_gfr_explanation  # pyright: ignore[reportMissingTypeStubs]

from chartproof.catalog.read import scenario
from chartproof.rules.decide import Outcome, decide
from chartproof.rules.formulas import define
from chartproof.rules.state import complete

CREATININE = (0.4, 0.7, 0.8, 0.9, 1.0, 1.3, 2.1, 4.7, 9.9)
AGES = (18, 37, 54, 66, 79, 91)
SEXES = ("Male", "Female")


def asked(function: Any, **given: Any) -> float:
    return float(function(given)["Answer"])


def formula(sql: str, rows: Sequence[tuple[float, int, str]]) -> list[float]:
    """A macro for creatinine, age and sex."""
    with duckdb.connect() as db:
        define(db)
        return [
            float(found[0])
            for creatinine, age, sex in rows
            if (
                found := db.execute(
                    f"select {sql}", {"c": creatinine, "a": age, "f": sex == "Female"}
                ).fetchone()
            )
        ]


def outcomes(id_: str, states: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    spec = scenario(id_).scenario
    with duckdb.connect() as db:
        define(db)
        return decide(db, spec, [complete(spec, state) for state in states])


def test_the_egfr_of_2021_is_theirs() -> None:
    rows = list(itertools.product(CREATININE, AGES, SEXES))
    theirs = [
        ckd_epi_2021({"sex": s, "age": (a, "years"), "creatinine": (c, "mg/dL")})
        for c, a, s in rows
    ]
    ours = formula("ckd_epi_2021($c, $a, $f)", rows)
    assert ours == pytest.approx(theirs, abs=0.051)


def test_the_mdrd_of_the_baseline_differs_from_theirs_by_its_older_constant_alone() -> None:
    """A baseline at an assumed eGFR of 75 is solved with 186; theirs has 175, re-expressed 2006."""
    rows = list(itertools.product(CREATININE, AGES, SEXES))
    theirs = [
        asked(mrdr_gfr_explanation, sex=s, age=(a, "years"), creatinine=(c, "mg/dL"))
        for c, a, s in rows
    ]
    ours = formula("mdrd_egfr($c, $a, $f)", rows)
    assert ours == pytest.approx([each * 186 / 175 for each in theirs], rel=2e-3, abs=6e-3)


def test_a_baseline_solved_for_an_egfr_has_that_egfr() -> None:
    rows = [(0.0, age, sex) for age, sex in itertools.product(AGES, SEXES)]
    solved = formula("mdrd_creatinine(75, $a, $f) + 0 * $c", rows)
    again = formula(
        "mdrd_egfr($c, $a, $f)",
        [(c, age, sex) for c, (_, age, sex) in zip(solved, rows, strict=True)],
    )
    assert again == pytest.approx([75.0] * len(rows), rel=0.01)  # creatinine is rounded to 0.01


def test_curb_65_is_theirs_at_every_edge() -> None:
    grid = itertools.product(
        (19.0, 19.1, 42.0), (29, 30), (89, 90, 120), (60, 61), (64, 65), (False, True)
    )
    states, theirs = [], []
    for bun, rate, systolic, diastolic, age, confused in grid:
        states.append(
            {
                "bun": Decimal(str(bun)), "rr": rate, "sbp": systolic, "dbp": diastolic,
                "age": age, "confusion": "yes" if confused else "no",
            }
        )  # fmt: skip
        theirs.append(
            asked(
                curb_65_explanation,
                bun=(bun, "mg/dL"), respiratory_rate=(rate, "breaths per minute"),
                sys_bp=(systolic, "mm hg"), dia_bp=(diastolic, "mm hg"), age=(age, "years"),
                confusion=confused,
            )
        )  # fmt: skip
    ours = [float(each.derived["smin_c0"]) for each in outcomes("pneumonia-curb65", states)]
    assert ours == theirs


def test_predicted_body_weight_is_their_ideal_one_but_for_the_rounded_inch() -> None:
    """ARDSNet's 0.91 kg a centimetre stands for 2.3 kg an inch, 0.9055: at 2 m 0.2 kg more."""
    for height, sex in itertools.product((152.4, 160, 175, 188, 200), SEXES):
        ours = (50 if sex == "Male" else 45.5) + 0.91 * (height - 152.4)
        theirs = asked(ibw_explanation, height=(height, "cm"), sex=sex)
        assert 0 <= round(ours - theirs, 2) <= 0.22
    facts = scenario("ards-lung-protective").facts_sql
    assert "if(stay.gender = 'M', 50, 45.5) + 0.91 * (h.cm - 152.4)" in facts


STAGED: dict[float, tuple[tuple[float, int], ...]] = {
    0.4: ((0.48, 0), (0.58, 0), (0.6, 1), (0.69, 1), (0.7, 1), (0.9, 2), (1.4, 3)),
    0.5: ((0.72, 0), (0.74, 0), (0.75, 1), (0.8, 1), (1.0, 2), (1.5, 3)),
    0.6: ((0.85, 0), (0.89, 0), (0.9, 1), (1.1, 1), (1.6, 2)),
    0.7: ((0.99, 0), (1.0, 1), (1.04, 1), (1.2, 1), (1.7, 2)),
    0.9: ((1.19, 0), (1.2, 1), (1.34, 1), (1.9, 2)),
    1.1: ((1.35, 0), (1.39, 0), (1.4, 1), (1.64, 1), (2.1, 1)),
    1.3: ((1.59, 0), (1.6, 1), (1.94, 1), (2.3, 1)),
    2.0: ((2.25, 0), (2.29, 0), (2.3, 1), (2.98, 1), (3.1, 1)),
    3.5: ((3.75, 0), (3.79, 0), (3.8, 1), (4.2, 3)),
}
"""Baseline → creatinine and the KDIGO stage that pyAKI 0.0.2 gave, the larger of its two probes."""


def test_a_qualifying_rise_is_what_pyaki_stages() -> None:
    pairs = [(base, value, stage) for base, of in STAGED.items() for value, stage in of]
    states = [
        {"tier1": [Decimal(str(base))], "post": [Decimal(str(value))]} for base, value, _ in pairs
    ]
    found = [each.derived["rise_lo"] for each in outcomes("post-ct-aki", states)]
    assert found == [stage > 0 for _, _, stage in pairs]
