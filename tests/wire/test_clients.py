"""The clients of others are there and start."""

import subprocess


def test_the_inspector_starts_with_the_node_that_was_installed(inspector: list[str]) -> None:
    said = subprocess.run(
        [*inspector, "--help"], check=False, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    assert "--tool-name" in said.stdout


def test_fastmcp_imports_in_the_venv_that_was_made_for_it(wire_python: str) -> None:
    code = "import fastmcp; print(fastmcp.__version__)"
    said = subprocess.run(
        [wire_python, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("4.")
