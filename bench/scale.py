"""Full scale: MIMIC-IV's proportions, built from compressed CSV, and charts of stores of any size.

    python bench/scale.py [--patients 100 1000] [--bucket-of 100000 364627] [--at FOLDER]

The largest number is written as compressed CSV and built by `chartproof store build --mimic` in a
process of its own, beside `zcat | wc -l` of the same files: rows, processor seconds and the peak of
memory are the operating system's. The smaller ones are built without the CSV. Then the same patients
are cut, opened and asked in stores of every size, in turn; a ratio near 1 says that they do not feel
how many others there are.

`--patients 100 1000 10000` writes 26 million rows (3 GB of disk, some minutes), `--patients 100 1000
10000 100000` 260 million (25 GB, an hour or more). With `--at` the CSV is kept and taken again.
`--bucket-of N` builds of a store of N patients only the one bucket in which the patients asked for
lie, with its rows in full: what is read of it is what would be read of the whole. 364,627 is the full
release.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

from chartproof.chart import build as building
from chartproof.chart.build import MOST_BUCKETS, build
from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.hospital.source import SyntheticSource
from chartproof.tools.gateway import Gateway

sys.path.insert(0, str(Path(__file__).parent))
from proportions import SUBJECT, Multitude

POOL = 60
"""Background patients of the synthetic hospital whose rows are drawn from."""
CUTS = 24
MOST_MEMORY = 4e9
FLAT = 1.3


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took, as the operating system counts it."""

    wall: float
    cpu: float
    peak: float
    """Bytes of the largest single process."""


def spent(command: list[str]) -> Spent:
    """Run a command to its end.

    Raises:
        SystemExit: It failed.
    """
    began = perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            said.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{said.read().decode(errors='replace')}")
    return Spent(perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def milliseconds(work: Callable[[], object]) -> tuple[float, float]:
    """By the clock, and of processor time."""
    began, used = perf_counter(), process_time()
    work()
    return (perf_counter() - began) * 1e3, (process_time() - used) * 1e3


def built_from_csv(multitude: Multitude, at: Path) -> Path:
    """Write the CSV, count and build it; print how the two compare."""
    csv, counted = at / "csv", at / "rows"
    began = perf_counter()
    if not counted.exists():
        counted.write_text(str(sum(number for _, number in multitude.write(csv))))
    rows = int(counted.read_text())
    size = sum(file.stat().st_size for file in csv.rglob("*.gz"))
    print(
        f"{multitude.n:,} patients, {rows:,} rows in 41 tables, {size / 1e9:.2f} GB compressed, "
        f"written in {perf_counter() - began:.0f} s; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    chartproof = str(Path(sys.executable).with_name("chartproof"))
    counting = spent(["sh", "-c", f"zcat {csv}/*/*.csv.gz | wc -l"])
    building = spent([chartproof, "store", "build", "--mimic", str(csv), "--in", str(at)])
    for name, took in (("zcat | wc -l", counting), ("store build", building)):
        peak = f"  peak {took.peak / 1e9:.2f} GB" if took is building else ""
        print(
            f"{name:14}{took.wall:8.1f} s {rows / took.wall:12,.0f} rows/s"
            f"{took.cpu:8.1f} processor seconds{peak}"
        )
    print(
        f"{'ratio':14}{building.wall / counting.wall:8.1f} ×{'':20}"
        f"{building.cpu / counting.cpu:7.1f} ×; memory below 4 GB: "
        f"{'yes' if building.peak < MOST_MEMORY else 'NO'}; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    store = Store.open(at / "store")
    if sum(each.rows for each in store.info.coverage) != rows:
        sys.exit("The store has not the rows that were written.")
    on_disk = sum(file.stat().st_size for file in store.path.rglob("*.parquet"))
    print(f"the store takes {on_disk / 1e9:.2f} GB: {on_disk / rows:.1f} bytes a row")
    return store.path


def asked(store: Store) -> list[int]:
    """Patients of the first hundred, of one bucket of the largest stores: most charted rows first."""
    with store.connect() as db:
        found = db.execute(
            "select subject_id, count(*) as charted, sum(charted) over "
            f"(partition by subject_id % {MOST_BUCKETS}) as together from chartevents "
            "where subject_id < $last group by subject_id order by together desc, charted desc",
            {"last": SUBJECT + 100},
        ).fetchall()
    bucket = found[0][0] % MOST_BUCKETS
    return [subject for subject, _, _ in found if subject % MOST_BUCKETS == bucket]


def one_bucket(size: int, pool: Path, bucket: int, at: Path) -> None:
    """Build one bucket of a store of so many patients."""
    most, building.PATIENTS_A_BUCKET = building.PATIENTS_A_BUCKET, 1
    began = perf_counter()
    info = build(Multitude(size, pool, bucket), at)
    building.PATIENTS_A_BUCKET = most
    if info.buckets != MOST_BUCKETS:
        sys.exit(f"{size:,} patients: the bucket holds too few of them.")
    print(
        f"{size:,} patients: one bucket of {info.buckets} with {info.patients:,} of them and "
        f"{sum(each.rows for each in info.coverage):,} rows in {perf_counter() - began:.0f} s",
        flush=True,
    )


def calls() -> list[tuple[str, dict[str, object]]]:
    return [
        ("patient", {}),
        ("encounters", {}),
        ("labs", {"items": ["creatinine"]}),
        ("labs", {"items": ["%"]}),
        ("lab_items", {"label": "creatinine"}),
        ("charted", {"items": ["%"]}),
        ("medication_orders", {}),
        ("administrations", {}),
        ("orders", {}),
        ("notes", {}),
        ("search_notes", {"text": "contrast"}),
    ]


Times = dict[str, dict[int, list[tuple[float, float]]]]
"""What was done → the size of the store → milliseconds by the clock and of processor time."""


def table(title: str, times: Times, sizes: list[int]) -> bool:
    """Print medians, and the largest against the smallest store; whether every ratio is flat."""
    print(f"\n{title:36}" + "".join(f"{size:>10,}" for size in sizes) + "   most :  processor")
    print(f"{'':36}" + "".join(f"{'patients':>10}" for _ in sizes) + "  least       time")
    flat = True
    for name, of in times.items():
        clock, used = (
            [statistics.median(pair[which] for pair in of[size]) for size in sizes]
            for which in (0, 1)
        )
        ratio = max(used) / used[0]
        flat = flat and ratio <= FLAT
        cells = "".join(f"{median:10.2f}" for median in clock)
        print(f"{name:36}{cells}{max(clock) / clock[0]:8.2f}{ratio:11.2f}")
    return flat


def ask(stores: dict[int, Path], patients: list[int], at: Path, repeats: int) -> bool:
    """Cut, open and ask the same patients in stores of every size, in turn."""
    sizes = sorted(stores)
    opened = {size: Store.open(stores[size]) for size in sizes}
    chart = at / "asked.chart"
    times: Times = {name: {size: [] for size in sizes} for name in ("cut a chart", "open it")}
    charts: dict[int, Path] = {}
    for n in range(CUTS + 2):
        patient = patients[n % len(patients)]
        for size in sizes if n % 2 else reversed(sizes):
            took = milliseconds(lambda s=size, p=patient: cut(opened[s], p, chart))
            took_open = milliseconds(lambda: Chart.open(chart).close())
            if n > 1:
                times["cut a chart"][size].append(took)
                times["open it"][size].append(took_open)
    for size in sizes:
        charts[size] = at / f"{size}.chart"
        cut(opened[size], patients[0], charts[size])
    flat = table(f"milliseconds, median of {CUTS}", times, sizes)
    gateways = {size: Gateway(Chart.open(charts[size]), {}, lambda _event: None) for size in sizes}
    rows = Chart.open(charts[sizes[0]]).query(
        "select (select count(*) from labevents) as labs, (select count(*) from chartevents) as charted"
    )[0]
    times = {}
    for name, arguments in calls():
        taken = times[f"{name} {arguments or ''}"[:35]] = {size: [] for size in sizes}
        for n in range(repeats + 2):
            for size in sizes if n % 2 else reversed(sizes):
                took = milliseconds(lambda s=size, c=name, a=arguments: gateways[s].call(c, a))
                if n > 1:
                    taken[size].append(took)
    title = f"tools, {rows['labs']:,} labs, {rows['charted']:,} charted"
    return table(title, times, sizes) and flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--bucket-of", type=int, nargs="*", default=[])
    parser.add_argument("--at", type=Path, help="Folder to work in; kept. Else a temporary one.")
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        at: Path = given.at or Path(temporary)
        pool = at / "pool"
        if not pool.exists():
            build(SyntheticSource(patients=POOL), pool)
        *smaller, largest = sorted(given.patients)
        stores: dict[int, Path] = {}
        for size in (*smaller, largest):
            home = at / str(size)
            home.mkdir(parents=True, exist_ok=True)
            if (home / "store").exists():
                stores[size] = home / "store"
            elif size == largest:
                stores[size] = built_from_csv(Multitude(size, pool), home)
            else:
                stores[size] = home / "store"
                build(Multitude(size, pool), stores[size])
        patients = asked(Store.open(stores[min(stores)]))
        for size in given.bucket_of:
            stores[size] = at / str(size) / "bucket"
            if not stores[size].exists():
                one_bucket(size, pool, patients[0] % MOST_BUCKETS, stores[size])
        flat = ask(stores, patients, at, given.repeats)
    print(
        f"\nevery ratio of processor time at most {FLAT}: {'yes' if flat else 'NO'}; load {os.getloadavg()[0]:.1f}"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"this process, which only cuts and asks: peak {peak:.2f} GB")


if __name__ == "__main__":
    main()
