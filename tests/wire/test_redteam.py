"""The red team at length: 2,000 hostile statements and as many spoilt calls, in fresh processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("what", ["test_sql.py", "test_arguments.py", "test_mcp.py"])
def test_two_thousand_of_them_come_to_nothing(what: str) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", f"tests/redteam/{what}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "CHARTPROOF_STATEMENTS": "2000"},
        timeout=240,
    )
    assert said.returncode == 0, said.stdout[-3000:]
