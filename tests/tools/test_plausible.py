import pytest

from chartproof.tools.plausible import doubt, limits


@pytest.mark.parametrize(
    ("kind", "item", "value", "is_doubted"),
    [
        # worked by hand from vitalsign.sql: heart rates lie strictly between 0 and 300
        ("charted", 220045, 0, True),
        ("charted", 220045, 0.5, False),
        ("charted", 220045, 299.9, False),
        ("charted", 220045, 300, True),
        # saturation may be 100
        ("charted", 220277, 100, False),
        ("charted", 220277, 100.1, True),
        # a fraction or a percentage of oxygen, never none
        ("charted", 223835, 0.21, False),
        ("charted", 223835, 0, True),
        ("labs", 50912, 150, False),
        ("labs", 50912, 151, True),
        # the anion gap alone may be negative
        ("labs", 50868, -2, False),
        ("ed", "temperature", 36.8, True),
        ("ed", "temperature", 98.6, False),
    ],
)
def test_limits_are_kept_to_the_letter(
    kind: str, item: int | str, value: float, is_doubted: bool
) -> None:
    assert (doubt(kind, item, value) is not None) is is_doubted  # type: ignore[arg-type]  # as in data


@pytest.mark.parametrize("value", [None, "NEG", True])
def test_what_is_no_number_is_not_judged(value: object) -> None:
    assert doubt("charted", 220045, value) is None


def test_an_item_without_limits_is_not_judged() -> None:
    assert doubt("labs", 51003, 1e9) is None
    assert 51003 not in limits()["labs"]
