"""Put the catalogue's canary on the first line of every file that decides or plants a case.

Were one of these files ever read where an agent works, or trained on, its canary would tell. A test
names the files that lack it; `python scripts/canary.py` mends them.
"""

from collections.abc import Iterator
from pathlib import Path

from chartproof.records.record import CANARY

PACKAGE = Path(__file__).parents[1] / "src" / "chartproof"
GOLD = (
    "catalog/scenarios/*/*.yaml",
    "catalog/scenarios/*/*.sql",
    "catalog/readings/*.yaml",
    "catalog/board/*.yaml",
    "catalog/board/phrases/*.yaml",
    "catalog/board/phrases/cancers/*.yaml",
    "hospital/phrases/*.yaml",
    "rules/*.yaml",
    "rules/*.sql",
)
MARK = {".yaml": "# ", ".sql": "-- "}


def gold() -> Iterator[Path]:
    """Every such file of the package."""
    for pattern in GOLD:
        yield from sorted(PACKAGE.glob(pattern))


def line(path: Path) -> str:
    """The first line that a file should have."""
    return f"{MARK[path.suffix]}{CANARY}\n"


def without() -> list[Path]:
    """Those that lack it."""
    return [each for each in gold() if not each.read_text(encoding="utf-8").startswith(line(each))]


def main() -> None:
    """Give it to those that lack it."""
    for path in without():
        path.write_text(line(path) + path.read_text(encoding="utf-8"), encoding="utf-8")
        print(path.relative_to(PACKAGE))


if __name__ == "__main__":
    main()
