"""Formulas and scores beside implementations that nobody here wrote.

medcalc-bench 1.7.0 (Apache-2.0, the calculators of ncbi-nlp/MedCalc-Bench) computes beside ours.
pyAKI 0.0.2 (MIT) asks for libraries of its own time, so what it said was written down. ISTH, 4Ts
and Tokyo are set beside published tables, and the points that cliot 1.0.0 (R) documents. Where one
differs from ours, the difference stands here as a figure; neither was tuned.
"""

import itertools
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from medcalc.caprini_score import (  # pyright: ignore[reportMissingTypeStubs]
    caprini_score_explanation,
    param_full_name,
)
from medcalc.ckd_epi_2021_creatinine import (  # pyright: ignore[reportMissingTypeStubs]
    ckd_epi_2021,
)
from medcalc.curb_65 import curb_65_explanation  # pyright: ignore[reportMissingTypeStubs]
from medcalc.ideal_body_weight import ibw_explanation  # pyright: ignore[reportMissingTypeStubs]
from medcalc.mdrd_gfr import mrdr_gfr_explanation  # pyright: ignore[reportMissingTypeStubs]
from tests.rules import (
    test_acute_cholecystitis_tg18,
    test_dic_isth,
    test_hit_4ts,
    test_vte_prophylaxis_caprini,
)

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


def caprini(*codes: str, **more: Any) -> int:
    made = test_vte_prophylaxis_caprini.ward(*codes, **more)
    return int(test_vte_prophylaxis_caprini.fact(made, "smin"))


@pytest.mark.parametrize(
    ("codes", "items"),
    [
        ((), ()),
        (("C189",), ("malignancy",)),
        (("J449", "I509"), ("copd", "chf")),
        (("C189", "K5090", "D6851"), ("malignancy", "inflammatory_bowel_disease",
                                      "positive_factor_v")),
        (("I8390",), ("varicose_veins",)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("age", [40, 74])
def test_the_caprini_points_of_an_operated_patient_are_theirs(
    age: int, codes: tuple[str, ...], items: tuple[str, ...]
) -> None:
    """Their sum leaves out the points that their own table gives an item; they are added here."""
    given = {"sex": "Male", "age": (age, "years"), "surgery_type": "major", "bmi": (22.0, "kg/m^2")}
    theirs = asked(caprini_score_explanation, **given)
    theirs += sum(int(param_full_name[item][1]) for item in items)
    assert caprini(*codes, age=age) == theirs


def test_a_body_mass_index_above_25_has_one_point_of_ours_and_two_of_theirs() -> None:
    """One point in the score of 2005, which the governing digest follows."""
    given = {"sex": "Male", "age": (58, "years"), "surgery_type": "major", "bmi": (31.0, "kg/m^2")}
    assert caprini(age=58, bmi="31.0") == 4
    assert asked(caprini_score_explanation, **given) == 5


def isth(plt: float, pt: float, fibrinogen: float, dimer: float) -> int:
    """Points by the table of PMC5011102 (table 1): seconds beyond normal, g/L, times the limit.

    The table leaves open what a strong increase of the fibrin marker is; ten times the limit is
    ours (an operational choice).
    """
    return (
        (0 if plt >= 100 else 1 if plt >= 50 else 2)
        + (0 if pt < 3 else 1 if pt < 6 else 2)
        + (0 if fibrinogen >= 1 else 1)
        + (0 if dimer <= 1 else 2 if dimer < 10 else 3)
    )


@pytest.mark.parametrize(
    ("plt", "pt", "fibrinogen", "dimer"),
    [
        (100, 2.9, 1.01, 1), (99, 2.9, 1.01, 2), (99, 3.0, 0.99, 2), (50, 5.9, 2.0, 9.9),
        (50, 6.0, 0.5, 10), (49, 6.0, 0.99, 10), (49, 2.9, 4.0, 1), (300, 6.0, 0.99, 10),
    ],
)  # fmt: skip
def test_the_points_of_isth_are_those_of_a_published_table(
    plt: float, pt: float, fibrinogen: float, dimer: float
) -> None:
    made = test_dic_isth.panel(
        test_dic_isth.ward(), plt=plt, pt=12.5 + pt, fib=100 * fibrinogen, dimer=500 * dimer
    )
    points = isth(plt, pt, fibrinogen, dimer)
    assert test_dic_isth.sets(made) == [[points, points]]


def test_a_fibrinogen_of_exactly_1_has_a_point_here_and_in_one_published_table_only() -> None:
    """None by PMC5011102 and ASH-SAP, which give it below 1 g/L; one by the CCJM's, up to 1 g/L."""
    made = test_dic_isth.panel(test_dic_isth.ward(), plt=200, pt=12.5, fib=100, dimer=500)
    assert test_dic_isth.sets(made) == [[1, 1]]
    assert isth(200, 0, 1, 1) == 0


@pytest.mark.parametrize(
    ("baseline", "lowest", "points"),
    [(240, 100, 2), (240, 150, 1), (240, 200, 0), (45, 20, 2), (45, 15, 1), (45, 9, 0)],
)
def test_the_points_of_a_fall_are_those_of_cliot(
    baseline: float, lowest: float, points: int
) -> None:
    """cliot 1.0.0, `hit_4ts`: > 50 % and at least 20: 2; 30 to 50 % or 10 to 19: 1; else 0."""
    counts = {0: baseline, 5: baseline, 6: lowest, 7: lowest}
    made = test_hit_4ts.course(test_hit_4ts.ward(), counts, tested=7)
    assert test_hit_4ts.fact(made, "t1") == [points, points]


@pytest.mark.parametrize(
    ("values", "graded"),
    [
        ({"white": 18.0, "creatinine": 2.0, "platelets": 100.0}, False),
        ({"white": 18.1}, True),
        ({"creatinine": 2.1}, True),
        ({"platelets": 99.0}, True),
    ],
)
def test_the_limits_of_tokyo_are_those_of_a_published_table(
    values: dict[str, Any], graded: bool
) -> None:
    """PMC10380792, table 1 (TG18): above 18,000/mm3, above 2.0 mg/dL, below 100,000/mm3."""
    made = test_acute_cholecystitis_tg18.ward(**values)
    rule = test_acute_cholecystitis_tg18.rule(made)
    assert rule == ("YES-1" if graded else "NO-1")
