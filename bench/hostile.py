"""The red team at full length: 20,000 hostile statements to the SQL fallback, 20,000 spoilt calls.

Nothing may be written, nothing foreign read, and every call must be on the trace. Prints what was
sent in how long. `CHARTPROOF_STATEMENTS=n` sends another number.
"""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
SENT = os.environ.get("CHARTPROOF_STATEMENTS", "20000")


def main() -> None:
    for what in ("test_sql.py", "test_arguments.py"):
        since = perf_counter()
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "pytest",
                "-q",
                "-n",
                "0",
                "--timeout=0",
                f"tests/redteam/{what}",
            ],
            check=False,
            cwd=ROOT,
            env={**os.environ, "CHARTPROOF_STATEMENTS": SENT},
        )
        held = "all held" if done.returncode == 0 else "NOT ALL HELD"
        print(f"{what}: {SENT} generated, {held}, {perf_counter() - since:.0f} s")
        if done.returncode:
            sys.exit(1)


if __name__ == "__main__":
    main()
