"""The public names are there, and cost nothing until they are used."""

import subprocess
import sys

import pytest

from chartproof import api


@pytest.mark.parametrize("name", api.__all__)
def test_every_public_name_is_importable(name: str) -> None:
    assert callable(getattr(api, name))


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = api.no_such_thing


def test_opening_a_chart_loads_no_statistics() -> None:
    code = (
        "import sys; from chartproof import api; api.open_case; "
        "sys.exit('scipy' in sys.modules or 'chartproof.leaderboards.audit' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
