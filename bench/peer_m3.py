"""Beside a peer: the same questions, over the same rows, to `chartproof serve` and to m3-mcp.

    python bench/peer_m3.py [--patients 1000] [--calls 200] [--at FOLDER]

m3-mcp 0.4.0 is installed in a virtual environment of its own below the user's cache folder, and
makes its database from the same compressed CSV as our store, by its own command (of the laboratory's
tables; each is a file of its own to it). Both servers are asked over stdio, in turn, so that a noisy
moment falls on both: the creatinine of a patient; an item's results, another item at each call; and
all of a patient's labs with their names. Before anything is timed, both must have told as many
results.

Each question is asked by two clients, the same for both servers: the SDK's own, whose work for a call
is counted with the server's, and a bare one, which writes a line and reads a line. Of eight clients
at once the first kind is one program on one processor, so that they wait for each other; the bare
ones hardly do.

m3 holds everybody's rows and filters by patient; `chartproof serve` holds one patient's chart, cut
beforehand, and writes every call on a trace. What the cut takes is told apart. Our store holds the
patients asked for alone: no chart has any other.
"""

import argparse
import asyncio
import json
import os
import re
import selectors
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

import duckdb
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
Question = tuple[str, dict[str, object]]


@dataclass(frozen=True, slots=True)
class Patient:
    """Whose labs are asked for, and of which items there are some."""

    subject: int
    admission: int
    items: tuple[int, ...]

    def item(self, n: int) -> int:
        """Another item at each turn."""
        return self.items[n % len(self.items)]


@dataclass(frozen=True, slots=True)
class Server:
    """How a server is started, and how it is asked about a patient at the n-th turn."""

    name: str
    start: Callable[[int], StdioServerParameters]
    questions: dict[str, Callable[[Patient, int], Question]]
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

    def ask(sql: str) -> Question:
        return "execute_mimic_query", {"sql_query": sql}

    def of_item(subject: int, item: int) -> str:
        return (
            "SELECT labevent_id, charttime, storetime, value, valuenum, valueuom, flag, comments "
            f"FROM hosp_labevents WHERE subject_id = {subject} AND itemid = {item} "
            "ORDER BY charttime"
        )

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
            "creatinine": lambda patient, _n: ask(of_item(patient.subject, CREATININE)),
            "another item": lambda patient, n: ask(of_item(patient.subject, patient.item(n))),
            "labs and names": lambda patient, _n: ask(
                "SELECT l.labevent_id, l.charttime, d.label, d.fluid, l.value, l.valuenum, "
                "l.valueuom, l.flag FROM hosp_labevents l LEFT JOIN hosp_d_labitems d "
                f"ON d.itemid = l.itemid WHERE l.subject_id = {patient.subject} "
                "ORDER BY l.charttime"
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
            "creatinine": lambda _patient, _n: ("labs", {"items": [CREATININE]}),
            "another item": lambda patient, n: ("labs", {"items": [patient.item(n)]}),
            "labs and names": lambda _patient, _n: ("labs", {"items": ["%"]}),
        },
        told,
    )


async def text_of(session: ClientSession, question: Question) -> str:
    result = await session.call_tool(*question)
    return "\n".join(getattr(part, "text", "") for part in result.content)  # type: ignore[union-attr]


class Bare:
    """A client that writes a line and reads a line."""

    def __init__(self, start: StdioServerParameters) -> None:
        self.process = subprocess.Popen(
            [start.command, *start.args], env=start.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._into, self.out = self.process.stdin, self.process.stdout
        self._rest = b""
        self._last = 0
        told = {"capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}}
        self.send("initialize", {"protocolVersion": "2025-06-18", **told})
        self.receive()
        self._write({"method": "notifications/initialized"})

    def send(self, method: str, params: dict[str, object]) -> None:
        self._last += 1
        self._write({"id": self._last, "method": method, "params": params})

    def call(self, question: Question) -> None:
        self.send("tools/call", {"name": question[0], "arguments": question[1]})

    def _write(self, message: dict[str, object]) -> None:
        self._into.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def receive(self) -> bytes:
        """The answer to what was sent last."""
        while True:
            while b"\n" not in self._rest:
                piece = self.out.read(1 << 20)
                if not piece:
                    sys.exit("a server ended")
                self._rest += piece
            line, _, self._rest = self._rest.partition(b"\n")
            if b'"result"' in line or b'"error"' in line:
                return line

    def text(self, question: Question) -> str:
        self.call(question)
        found = json.loads(self.receive())
        return "\n".join(part["text"] for part in found["result"]["content"])

    def close(self) -> None:
        self._into.close()
        self.process.wait()
        self.out.close()


async def connected(stack: AsyncExitStack, server: Server, subject: int) -> ClientSession:
    """A client of a new process, its greeting done."""
    nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
    streams = await stack.enter_async_context(stdio_client(server.start(subject), errlog=nowhere))
    session = await stack.enter_async_context(ClientSession(*streams))
    await session.initialize()
    return session


async def first_answer(server: Server, patient: Patient) -> float:
    """Milliseconds from the start of a process to its first answer."""
    began = perf_counter()
    async with AsyncExitStack() as stack:
        session = await connected(stack, server, patient.subject)
        await text_of(session, server.questions["creatinine"](patient, 0))
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
    load = f"  load {os.getloadavg()[0]:.1f}"
    print(f"{what:38}{'   '.join(cells)}   {ratio:6.1f} ×{word}{load}", flush=True)
    return met


@dataclass(frozen=True, slots=True)
class Asked:
    """Clients of one kind at a server: one a patient, each with a process of its own."""

    server: Server
    ask: Callable[[int, Question], Awaitable[str]]
    """The text that the n-th client is given."""
    crowd: Callable[[int], Awaitable[list[float]]]
    """Milliseconds of so many answers to each client, all asking at once."""
    processes: frozenset[int]

    def used(self) -> float:
        """Processor seconds of the server's processes so far."""
        return sum(s for pid, s in children().items() if pid in self.processes)


async def through_sdk(stack: AsyncExitStack, server: Server, patients: list[Patient]) -> Asked:
    """The official client."""
    others = set(children())
    clients = [await connected(stack, server, each.subject) for each in patients]

    async def ask(n: int, question: Question) -> str:
        return await text_of(clients[n], question)

    async def crowd(rounds: int) -> list[float]:
        times: list[float] = []

        async def one(n: int) -> None:
            for turn in range(rounds):
                began = perf_counter()
                await ask(n, server.questions["creatinine"](patients[n], turn))
                times.append((perf_counter() - began) * 1e3)

        await asyncio.gather(*(one(n) for n in range(len(patients))))
        return times

    return Asked(server, ask, crowd, frozenset(set(children()) - others))


async def through_lines(stack: AsyncExitStack, server: Server, patients: list[Patient]) -> Asked:
    """The bare client."""
    clients = [Bare(server.start(each.subject)) for each in patients]
    for each in clients:
        stack.callback(each.close)

    async def ask(n: int, question: Question) -> str:
        return clients[n].text(question)

    async def crowd(rounds: int) -> list[float]:
        times: list[float] = []
        began = [0.0] * len(clients)
        left = [rounds] * len(clients)

        def call(n: int) -> None:
            left[n] -= 1
            began[n] = perf_counter()
            clients[n].call(server.questions["creatinine"](patients[n], left[n]))

        with selectors.DefaultSelector() as waiting:
            for n, each in enumerate(clients):
                waiting.register(each.out, selectors.EVENT_READ, n)
                call(n)
            while waiting.get_map():
                for key, _ in waiting.select():
                    n = key.data
                    clients[n].receive()
                    times.append((perf_counter() - began[n]) * 1e3)
                    if left[n]:
                        call(n)
                    else:
                        waiting.unregister(key.fileobj)
        return times

    return Asked(server, ask, crowd, frozenset(each.process.pid for each in clients))


async def compare(kind: str, sides: list[Asked], patients: list[Patient], calls: int) -> bool:
    """Time every question by one kind of client; whether every aim is met."""
    met = True
    print(f"-- {kind}; milliseconds, p50 / p95")
    for name in sides[0].server.questions:
        for n, patient in enumerate(patients):  # warms both, and compares
            found = [
                each.server.told(await each.ask(n, each.server.questions[name](patient, 0)))
                for each in sides
            ]
            if found[0] != found[1] or found[0] < 1:
                sys.exit(f"{name} of {patient.subject}: {sides[0].server.name} tells {found[0]}, "
                         f"{sides[1].server.name} {found[1]}.")  # fmt: skip
        times: dict[str, list[float]] = {each.server.name: [] for each in sides}
        before = [each.used() for each in sides]
        for turn in range(calls):
            n = turn % len(patients)
            for each in sides:
                question = each.server.questions[name](patients[n], turn)
                began = perf_counter()
                await each.ask(n, question)
                times[each.server.name].append((perf_counter() - began) * 1e3)
        met = line(name, times, AIMS.get(name)) and met
        took = {
            each.server.name: (each.used() - since) / calls * 1e3
            for each, since in zip(sides, before, strict=True)
        }
        print(
            f"{'  processor time of the server':38}"
            + "   ".join(f"{name} {each:8.1f}{'':11}" for name, each in took.items())
            + f"   {took['m3-mcp'] / took['chartproof']:6.1f} ×"
        )
    times = {each.server.name: [] for each in sides}
    wall = dict.fromkeys(times, 0.0)
    for _ in range(4):  # in turn
        for each in sides:
            began = perf_counter()
            times[each.server.name] += await each.crowd(max(1, calls // CLIENTS // 4))
            wall[each.server.name] += perf_counter() - began
    met = line(f"{CLIENTS} clients at once, creatinine", times, AIMS[f"{CLIENTS} clients"]) and met
    print(
        f"{'':38}"
        + "   ".join(f"{name} {len(times[name]) / wall[name]:.0f} answers/s" for name in times)
    )
    return met


async def measure(servers: tuple[Server, Server], patients: list[Patient], calls: int) -> bool:
    """Time both servers by both kinds of client; whether every aim is met."""
    first: dict[str, list[float]] = {server.name: [] for server in servers}
    for _ in range(STARTS):
        for server in servers:
            first[server.name].append(await first_answer(server, patients[0]))
    line(f"first answer of a new process ×{STARTS}", first)
    met = True
    for kind, through in (("the SDK's client", through_sdk), ("a bare client", through_lines)):
        async with AsyncExitStack() as stack:
            sides = [await through(stack, server, patients) for server in servers]
            met = await compare(kind, sides, patients, calls) and met
    return met


def chosen(csv: Path) -> tuple[list[Patient], int, int]:
    """Patients with labs enough to be asked for, how many labs they have, and all have."""
    with duckdb.connect() as db:
        db.execute(
            "create table labs as select subject_id, hadm_id, itemid from read_csv($file)",
            {"file": str(csv / "hosp" / "labevents.csv.gz")},
        )
        found = db.execute(
            "select subject_id, min(hadm_id), list_sort(list(distinct itemid)), count(*) from labs "
            f"group by subject_id having count(*) > 60 and count_if(itemid = {CREATININE}) > 2 "
            f"and count(hadm_id) > 0 order by hash(subject_id) limit {CLIENTS}"
        ).fetchall()
        (everybody,) = db.execute("select count(*) from labs").fetchone() or (0,)
    patients = [Patient(subject, hadm, tuple(items)) for subject, hadm, items, _ in found]
    return patients, sum(each[3] for each in found), everybody


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
        if not csv.exists():
            build(SyntheticSource(patients=60), at / "pool")
            rows = sum(number for _, number in Multitude(given.patients, at / "pool").write(csv))
            print(f"{given.patients:,} patients, {rows:,} rows", flush=True)
        peer = m3(bins, csv, at / "m3")
        patients, labs, everybody = chosen(csv)
        build(MimicSource(csv), home / "store", [each.subject for each in patients])
        anchors = [Anchor(subject_id=each.subject, hadm_id=each.admission) for each in patients]
        store = Store.open(home / "store")
        began = perf_counter()
        manifest = build_cases(
            store,
            [(scenario("post-ct-aki"), anchor) for anchor in anchors],
            home / "cases",
            name="peer",
        )
        print(
            f"{everybody:,} laboratory rows; {len(patients)} patients asked for hold {labs:,}; "
            f"their charts were cut in {(perf_counter() - began) / len(patients) * 1e3:.0f} ms each"
        )
        cases = {case.anchor.subject_id: case.id for case in manifest.cases}
        met = asyncio.run(measure((ours(home, cases), peer), patients, given.calls))
    print(f"every aim met: {'yes' if met else 'NO'}; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
