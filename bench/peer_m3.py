"""Beside a peer: the same questions, over the same rows, to `chartproof serve` and to m3-mcp.

    python bench/peer_m3.py [--patients 1000] [--calls 200] [--at FOLDER]

m3-mcp 0.4.0 is installed in a virtual environment of its own below the user's cache folder, and
makes its database from the same compressed CSV as our store, by its own command (of the laboratory's
tables; each is a file of its own to it). Both servers are
asked over stdio by the official MCP client, in turn, so that a noisy moment falls on both: the
creatinine of a patient, and all of a patient's labs with their names. Before anything is timed, both
must have told as many results.

m3 holds everybody's rows and filters by patient; `chartproof serve` holds one patient's chart, cut
beforehand, and writes every call on a trace. What the cut takes is told apart.
"""

import argparse
import asyncio
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from chartproof.cases.build import build as build_cases
from chartproof.catalog.read import scenario
from chartproof.chart.build import build
from chartproof.chart.sources.mimic import MimicSource
from chartproof.chart.store import Store
from chartproof.hospital.source import SyntheticSource
from chartproof.records.case import Anchor

sys.path.insert(0, str(Path(__file__).parent))
from proportions import Multitude

PEER = "m3-mcp==0.4.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chartproof-bench"
READ = ("admissions", "patients", "labevents", "d_labitems")
"""Tables that the peer is given: those of the questions, and of its own check."""
CREATININE = 50912
CLIENTS = 8
STARTS = 5
AIMS = {"creatinine": 10.0, "labs and names": 10.0, "8 clients": 5.0}


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is started, and how it is asked about a patient."""

    name: str
    start: Callable[[int], StdioServerParameters]
    questions: dict[str, Callable[[int], tuple[str, dict[str, object]]]]
    told: Callable[[str], int]
    """How many results an answer tells of."""


def installed() -> Path:
    """The peer's own environment, made at the first time."""
    home = CACHE / PEER.replace("==", "-")
    if not (home / "bin" / "m3-mcp-server").exists():
        print(f"installing {PEER} in {home} …", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip = [home / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", PEER]
        if subprocess.run(pip, check=False).returncode:
            shutil.rmtree(home)
            sys.exit(f"{PEER} could not be installed: this bench needs a package index.")
    return home / "bin"


def m3(bins: Path, csv: Path, home: Path) -> Server:
    """The peer, over these files."""
    env = {**os.environ, "HOME": str(home), "M3_CONVERT_MAX_WORKERS": "1"}
    database = home / "m3_data" / "databases" / "mimic_iv_full.duckdb"
    if not database.exists():
        source = home / "source"
        (source / "hosp").mkdir(parents=True, exist_ok=True)
        for table in READ:
            (source / "hosp" / f"{table}.csv.gz").symlink_to(
                (csv / "hosp" / f"{table}.csv.gz").resolve()
            )
        began = perf_counter()
        subprocess.run(
            [bins / "m3", "init", "mimic-iv-full", "--src", source],
            env=env, check=True, capture_output=True,
        )  # fmt: skip
        print(f"m3 init took {perf_counter() - began:.0f} s", flush=True)

    def ask(sql: str) -> tuple[str, dict[str, object]]:
        return "execute_mimic_query", {"sql_query": sql}

    def told(text: str) -> int:
        every = re.search(r"\((\d+) total rows", text)
        return int(every[1]) if every else len(text.splitlines()) - 1

    return Server(
        "m3-mcp",
        lambda _subject: StdioServerParameters(
            command=str(bins / "m3-mcp-server"),
            env={**env, "M3_BACKEND": "duckdb", "M3_DB_PATH": str(database)},
        ),
        {
            "creatinine": lambda subject: ask(
                "SELECT labevent_id, charttime, storetime, value, valuenum, valueuom, flag, "
                f"comments FROM hosp_labevents WHERE subject_id = {subject} "
                f"AND itemid = {CREATININE} ORDER BY charttime"
            ),
            "labs and names": lambda subject: ask(
                "SELECT l.labevent_id, l.charttime, d.label, d.fluid, l.value, l.valuenum, "
                "l.valueuom, l.flag FROM hosp_labevents l LEFT JOIN hosp_d_labitems d "
                f"ON d.itemid = l.itemid WHERE l.subject_id = {subject} ORDER BY l.charttime"
            ),
        },
        told,
    )


def ours(home: Path, cases: dict[int, str]) -> Server:
    chartproof = str(Path(sys.executable).with_name("chartproof"))

    def told(text: str) -> int:
        head = text.splitlines()[0]
        every = re.search(r"of (\d+) · page", head) or re.search(r"· (\d+) rows? ·", head)
        return int(every[1]) if every else -1

    return Server(
        "chartproof",
        lambda subject: StdioServerParameters(
            command=chartproof, args=["serve", cases[subject], "--in", str(home)]
        ),
        {
            "creatinine": lambda _subject: ("labs", {"items": [CREATININE]}),
            "labs and names": lambda _subject: ("labs", {"items": ["%"]}),
        },
        told,
    )


async def text_of(session: ClientSession, question: tuple[str, dict[str, object]]) -> str:
    result = await session.call_tool(*question)
    return "\n".join(getattr(part, "text", "") for part in result.content)  # type: ignore[union-attr]


async def milliseconds(work: Callable[[], Awaitable[object]]) -> float:
    began = perf_counter()
    await work()
    return (perf_counter() - began) * 1e3


async def connected(stack: AsyncExitStack, server: Server, subject: int) -> ClientSession:
    """A client of a new process, its greeting done."""
    nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    streams = await stack.enter_async_context(stdio_client(server.start(subject), errlog=nowhere))
    session = await stack.enter_async_context(ClientSession(*streams))
    await session.initialize()
    return session


async def first_answer(server: Server, subject: int) -> float:
    """Milliseconds from the start of a process to its first answer."""
    began = perf_counter()
    async with AsyncExitStack() as stack:
        session = await connected(stack, server, subject)
        await text_of(session, server.questions["creatinine"](subject))
        return (perf_counter() - began) * 1e3


def children() -> dict[int, float]:
    """Processes that this one started → processor seconds that each took so far."""
    found: dict[int, float] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(told[1]) == os.getpid():
            ticks = int(told[11]) + int(told[12])
            found[int(process.name)] = ticks / os.sysconf("SC_CLK_TCK")
    return found


def spread(times: Sequence[float]) -> tuple[float, float]:
    """Median and ninety-fifth percentile."""
    return statistics.median(times), statistics.quantiles(times, n=20)[18]


def line(what: str, times: dict[str, list[float]], aim: float | None = None) -> bool:
    """Print one comparison; whether the aim is met."""
    cells = [f"{name} {spread(of)[0]:8.1f} / {spread(of)[1]:8.1f}" for name, of in times.items()]
    ratio = spread(times["m3-mcp"])[0] / spread(times["chartproof"])[0]
    met = aim is None or ratio >= aim
    word = "" if aim is None else f"  (asked {aim:g} ×: {'yes' if met else 'NO'})"
    print(f"{what:34}{'   '.join(cells)}   {ratio:6.1f} ×{word}", flush=True)
    return met


async def measure(servers: tuple[Server, Server], subjects: list[int], calls: int) -> bool:
    """Time both servers; whether every aim is met."""
    met = True
    print(f"{'milliseconds, p50 / p95':34}(load {os.getloadavg()[0]:.1f})")
    first: dict[str, list[float]] = {server.name: [] for server in servers}
    for _ in range(STARTS):
        for server in servers:
            first[server.name].append(await first_answer(server, subjects[0]))
    line(f"first answer of a new process ×{STARTS}", first)
    async with AsyncExitStack() as stack:
        clients: dict[str, list[ClientSession]] = {}
        processes: dict[str, set[int]] = {}
        for server in servers:
            others = set(children())
            clients[server.name] = [await connected(stack, server, each) for each in subjects]
            processes[server.name] = set(children()) - others

        def used(server: Server) -> float:
            return sum(s for pid, s in children().items() if pid in processes[server.name])

        for name in servers[0].questions:
            for n, subject in enumerate(subjects):  # warms both, and compares
                found = [
                    server.told(
                        await text_of(clients[server.name][n], server.questions[name](subject))
                    )
                    for server in servers
                ]
                if found[0] != found[1] or found[0] < 1:
                    sys.exit(f"{name} of {subject}: {servers[0].name} tells {found[0]}, "
                             f"{servers[1].name} {found[1]}.")  # fmt: skip
            times: dict[str, list[float]] = {server.name: [] for server in servers}
            before = {server.name: used(server) for server in servers}
            for n in range(calls):
                subject = subjects[n % len(subjects)]
                for server in servers:
                    question = server.questions[name](subject)
                    client = clients[server.name][n % len(subjects)]
                    times[server.name].append(
                        await milliseconds(lambda c=client, q=question: text_of(c, q))
                    )
            met = line(name, times, AIMS[name]) and met
            took = {
                server.name: (used(server) - before[server.name]) / calls * 1e3
                for server in servers
            }
            ratio = took["m3-mcp"] / took["chartproof"]
            print(
                f"{'  processor time of the server':34}"
                + "   ".join(f"{name} {each:8.1f}{'':11}" for name, each in took.items())
                + f"   {ratio:6.1f} ×"
            )
        name = "creatinine"
        times = {server.name: [] for server in servers}
        rates = dict.fromkeys(times, 0.0)
        rounds = max(1, calls // CLIENTS // 4)

        async def many(server: Server, n: int) -> None:
            subject = subjects[n % len(subjects)]
            for _ in range(rounds):
                times[server.name].append(
                    await milliseconds(
                        lambda: text_of(
                            clients[server.name][n % len(subjects)], server.questions[name](subject)
                        )
                    )
                )

        for _ in range(4):  # in turn
            for server in servers:
                began = perf_counter()
                await asyncio.gather(*(many(server, n) for n in range(CLIENTS)))
                rates[server.name] += perf_counter() - began
        met = line(f"{CLIENTS} clients at once, {name}", times, AIMS[f"{CLIENTS} clients"]) and met
        print(
            f"{'':34}"
            + "   ".join(f"{name} {len(times[name]) / rates[name]:.0f} answers/s" for name in times)
        )
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--at", type=Path, help="Folder to work in; kept. Else a temporary one.")
    given = parser.parse_args()
    bins = installed()
    with tempfile.TemporaryDirectory() as temporary:
        at: Path = given.at or Path(temporary)
        csv, home = at / "csv", at / "home"
        if not (home / "store").exists():
            build(SyntheticSource(patients=60), at / "pool")
            rows = sum(number for _, number in Multitude(given.patients, at / "pool").write(csv))
            print(f"{given.patients:,} patients, {rows:,} rows", flush=True)
            build(MimicSource(csv), home / "store")
        peer = m3(bins, csv, at / "m3")
        store = Store.open(home / "store")
        with store.connect() as db:
            anchors = [
                Anchor(subject_id=subject, hadm_id=admission)
                for subject, admission in db.execute(
                    "select subject_id, min(hadm_id) from labevents group by subject_id "
                    f"having count(*) > 60 and count_if(itemid = {CREATININE}) > 2 "
                    f"and count(hadm_id) > 0 order by hash(subject_id) limit {CLIENTS}"
                ).fetchall()
            ]
            subjects = [each.subject_id for each in anchors]
            labs, everybody = db.execute(
                "select count(*) filter (list_contains($subjects, subject_id)), count(*) from labevents",
                {"subjects": subjects},
            ).fetchone() or (0, 0)
        began = perf_counter()
        manifest = build_cases(
            store,
            [(scenario("post-ct-aki"), anchor) for anchor in anchors],
            home / "cases",
            name="peer",
        )
        print(
            f"{everybody:,} laboratory rows; {len(subjects)} patients asked for hold {labs:,}; "
            f"their charts were cut in {(perf_counter() - began) / len(subjects) * 1e3:.0f} ms each"
        )
        cases = {case.anchor.subject_id: case.id for case in manifest.cases}
        met = asyncio.run(measure((ours(home, cases), peer), subjects, given.calls))
    print(f"every aim met: {'yes' if met else 'NO'}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
