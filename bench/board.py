"""Interventions of a packet: twelve entries of v2 asked, applied and audited, beside the prototype.

    python bench/board.py [--prototype FOLDER] [--cohort FOLDER] [--cases N]
    python bench/board.py --memory

FOLDER of the prototype holds the dossier's `mutate.py` (it is not part of this repository); without
it only our own figures are printed. With --cohort a whole cohort is asked on two processes. With
--memory nothing else is done: about 28, 112 and 224 large packets are written and asked in all editions,
each number by a process of its own, and the peak of its memory is told.
"""

import argparse
import importlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from chartproof.api.interventions import cohort_accounts
from chartproof.interventions.accounting import accounted
from chartproof.interventions.catalogue import catalogue
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.states import grid
from chartproof.oncology.render import rendered

CHARACTERS = 80_000


def seconds(work, repeats: int = 5) -> float:
    """Median processor time."""
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return statistics.median(taken)


def hostile(packet: str) -> str:
    """The packet, with lines that hold what the patterns are made of, up to the size."""
    line = "HER2 is by of on as the tumor result was and positive nodes ( - : = ) " * 3
    entry = f"[Encounter] 2024-03-01 | Nursing\n{(line + 'No new complaints.' + chr(10)) * 3}---\n"
    return packet.replace("END OF PACKET\n", entry * (CHARACTERS // len(entry)) + "END OF PACKET\n")


def ours(text: str, cancer: str) -> None:
    known = catalogue()
    accounted("x", Subject.of(text, cancer, known), known, ("v2",))


def theirs(module, text: str, cancer: str) -> None:
    for entry in module.CAT["interventions"]:
        if module.v2_eligible(entry, text, cancer)[0]:
            changed, _ = module.v2_apply(entry, text, cancer)
            module.audit(entry, text, changed)


def asked_in(folder: Path) -> str:
    """How much memory asking a cohort took at most, in a process of its own."""
    program = (
        "import resource, sys; from pathlib import Path; "
        "from chartproof.api.interventions import cohort_accounts as asked; "
        "n = sum(1 for _ in asked(Path(sys.argv[1]), ('v1', 'v1cr', 'v2'), workers=1)); "
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024; "
        "print(f'{n:,} tuples, {peak:.0f} MB')"
    )
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def written_to(folder: Path, cases: int) -> str:
    """The same of writing about that many cases of the synthetic cohort: every so many groups."""
    program = (
        "import resource, sys; from pathlib import Path; "
        "from chartproof.oncology.cohort import plan, write_cohort; "
        "whole = plan(); n = int(sys.argv[2]); total = sum(g.count for g in whole.groups); "
        "groups = whole.groups[:: round(total / n)]; "
        "few = whole.model_copy(update={'groups': groups}); "
        "made = write_cohort(Path(sys.argv[1]), few, lambda *_: None); "
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024; "
        "print(f'{len(made.cases)} cases written, {peak:.0f} MB')"
    )
    command = [sys.executable, "-c", program, str(folder), str(cases)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def memory() -> None:
    """Tell the peak of memory for cohorts of several sizes."""
    with tempfile.TemporaryDirectory() as place:
        for cases in (28, 112, 224):
            folder = Path(place) / str(cases)
            print(f"{written_to(folder, cases)}; asked: {asked_in(folder)}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--prototype", type=Path)
    options.add_argument("--cohort", type=Path)
    options.add_argument("--cases", type=int, default=12)
    options.add_argument("--memory", action="store_true")
    given = options.parse_args()
    if given.memory:
        memory()
        return
    known = catalogue()
    states = [each for each in grid(known) if each.resectable != "no"]
    chosen = states[:: max(1, len(states) // given.cases)][: given.cases]
    packets = [(s.cancer, rendered(s, seed=n, size="large")) for n, s in enumerate(chosen)]
    packets.append(
        ("breast", hostile(packets[0][1][:9000].rsplit("---\n", 1)[0] + "---\nEND OF PACKET\n"))
    )
    ours(packets[0][1], packets[0][0])  # patterns are compiled once
    rows = [(len(text), seconds(lambda t=text, c=cancer: ours(t, c))) for cancer, text in packets]
    plain = [took for _, took in rows[:-1]]
    print(
        f"{len(plain)} rendered packets of {statistics.median(n for n, _ in rows[:-1]):,.0f} characters:"
    )
    print(
        f"  12 entries of v2 asked, applied and audited: median {statistics.median(plain) * 1e3:.0f} ms, "
        f"most {max(plain) * 1e3:.0f} ms; {rows[-1][0]:,} hostile characters {rows[-1][1] * 1e3:.0f} ms"
    )
    if given.prototype:
        sys.path.insert(0, str(given.prototype))
        sys.dont_write_bytecode = True
        module = importlib.import_module("mutate")
        ratios = []
        for (cancer, text), (_, took) in zip(packets, rows, strict=True):
            begun = time.process_time()
            theirs(module, text, cancer)
            ratios.append((time.process_time() - begun) / took)
        print(
            f"  the prototype takes {statistics.median(ratios):.0f} times as long (median; "
            f"{min(ratios):.0f} to {max(ratios):.0f})"
        )
    if given.cohort:
        begun = time.perf_counter()
        counted = sum(1 for _ in cohort_accounts(given.cohort, ("v1", "v1cr", "v2"), workers=2))
        took = time.perf_counter() - begun
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        print(
            f"{counted:,} tuples of {given.cohort} on two processes: {took:.1f} s, "
            f"a process at most {peak:.0f} MB"
        )


if __name__ == "__main__":
    main()
