"""A study of a model, killed at fifty random moments and resumed.

    .venv/bin/python bench/kills.py --in out/demo

The model is the scripted model server; the loop is `react`, so the extra `models` is needed. What is
looked at after each kill is told in `tests/wire/killing.py`, which kills ten times in `make
test-wire`: no cell lost, none run twice, and a ledger that tells all that the server answered.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from chartproof.runs.scripted_model.server import Heard, ModelServer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.wire.killing import Killed, exact, home_of, model_study

AT_ONCE = 3


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--in", dest="home", type=Path, default=Path("out/demo"))
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    heard: list[Heard] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ModelServer(heard=heard.append) as server:
        home = home_of(given.home, Path(folder) / "home")
        file = model_study(home, server, attempts=15)
        study = Killed(home, [str(file), "--workers", "1", "--at-once", str(AT_ONCE)])
        for _ in range(given.kills):
            study.kill(draw, 1.0)
            study.look()
        study.finish()
        requests, left = exact(home, heard, given.kills, AT_ONCE)
    print(
        f"{given.kills} kills met {study.cut} runs in flight; {len(study.stood)} runs stand, none "
        f"lost or run twice. The ledger tells {requests} requests, {left} of them cut off; the "
        f"server answered {len(heard)}. {time.monotonic() - began:.0f} s."
    )


if __name__ == "__main__":
    main()
