"""Refuse to commit anything that could be a patient.

MIMIC-IV numbers patients 1xxxxxxx, admissions 2xxxxxxx and stays 3xxxxxxx. Invented ones are
numbered 9…, 8… and 7…, so such a number standing alone is a leak until shown otherwise. Whole
tokens only: a digest, a date or a decimal is none.
"""

import re
import sys
from pathlib import Path

IDENTIFIER = re.compile(r"(?<![\w.\-])[123]\d{7}(?![\w.\-])")
TABLES = {".gz", ".parquet", ".duckdb", ".db", ".chart"}
DATES = re.compile(r"(19|20|21)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$")
PUBLIC = {"src/chartproof/chart/items.csv"}
"""Vocabulary that may hold eight-digit codes."""


def main(names: list[str]) -> int:
    """Return 1 if any file is a table or holds an identifier."""
    found = [name for name in names if Path(name).suffix in TABLES]
    for name in sorted(set(names) - set(found) - PUBLIC):
        path = Path(name)
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="ignore")
        hits = [
            hit for hit in IDENTIFIER.findall(text) if not DATES.match(hit) and hit[1:].strip("0")
        ]
        found += [f"{name}: {hit}" for hit in hits]
    for each in found:
        print(f"{each} looks like patient data. Keep it outside the repository.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
