"""The hostile agent over MCP, by hand: it writes what no client library would let it write."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.redteam.attacks import ATTACKS, STRANGER, Attack
from tests.redteam.conftest import CANARY, Canaries
from tests.redteam.test_agent import stopped
from tests.tools.conftest import POLICIES, SUBJECT

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.records.trace import Called, Event
from chartproof.tools.endpoint import WAITING, Endpoint, Tcp
from chartproof.tools.gateway import Gateway
from chartproof.tools.trace import read

QUICK = [attack for attack in ATTACKS if not attack.slow]
AT_LENGTH = "CHARTPROOF_STATEMENTS" in os.environ
"""`make test-wire` sends all of them over stdio too, `make test` some."""


def calling(tool: str, arguments: Any, number: int = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Run:
    """A run behind an endpoint, and what it recorded."""

    def __init__(self, endpoint: Endpoint, chart: Chart) -> None:
        self.events: list[Event] = []
        self.failures: list[Exception] = []
        self.gateway = Gateway(chart, POLICIES, self.events.append, clock=None)
        self.token = endpoint.add(self.gateway, self.failures.append)
        self.url = endpoint.url

    def post(self, body: Any, **headers: str) -> tuple[int, str]:
        """Status and text of what comes back."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {self.token}",
            **headers,
        }
        request = urllib.request.Request(self.url, data=sent, headers=given)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except urllib.error.URLError as error:
            if not isinstance(error.reason, BrokenPipeError | ConnectionResetError):
                raise
            return 413, ""  # the server hung up before it had all of it

    def call(self, tool: str, arguments: Any) -> str | None:
        """The text of an answer; None where the protocol itself refused."""
        status, body = self.post(calling(tool, arguments))
        return text_of(json.loads(body)) if status == 200 else None

    @property
    def calls(self) -> list[Called]:
        return [event for event in self.events if isinstance(event, Called)]


def text_of(message: dict[str, Any]) -> str | None:
    if "result" not in message:
        assert message["error"]["code"] in (-32602, -32700)
        return None
    assert message["result"]["isError"] is False
    (content,) = message["result"]["content"]
    return content["text"]


@pytest.fixture(scope="module")
def theirs(crowded: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chart]:
    """The stranger's chart, served to another run of the same process."""
    path = tmp_path_factory.mktemp("theirs") / "c.chart"
    cut(crowded, STRANGER, path)
    with Chart.open(path) as chart:
        yield chart


@pytest.fixture(scope="module")
def runs(sealed: Chart, theirs: Chart) -> Iterator[tuple[Run, Run]]:
    with Endpoint(Tcp()) as endpoint:
        yield Run(endpoint, sealed), Run(endpoint, theirs)


@pytest.mark.parametrize("attack", QUICK, ids=lambda attack: attack.id)
def test_over_http_it_is_stopped(runs: tuple[Run, Run], canaries: Canaries, attack: Attack) -> None:
    mine, other = runs
    before = len(mine.calls)
    arguments = attack.filled(**canaries.filled())
    text = mine.call(attack.tool, arguments)
    if text is None:  # no object, or deeper than the protocol reads: it never became a call
        assert attack.id in ("resource-arguments-no-object", "resource-arguments-deep",
                             "resource-arguments-huge-number")  # fmt: skip
        assert len(mine.calls) == before
    else:
        stopped(attack, text)
        assert len(mine.calls) == before + 1
        assert mine.calls[-1].answer.text == text
    assert other.calls == []
    assert mine.failures == []


def test_two_runs_of_one_process_see_one_patient_each(runs: tuple[Run, Run]) -> None:
    mine, other = runs
    told: dict[str, list[str]] = {"mine": [], "other": []}

    def ask(name: str, run: Run) -> None:
        for _ in range(8):
            for tool, arguments in (
                ("patient", {}),
                ("labs", {"items": ["creatinine"]}),
                ("sql", {"query": "select distinct subject_id from labevents"}),
            ):
                text = run.call(tool, arguments)
                assert text is not None
                told[name].append(text)

    threads = [
        threading.Thread(target=ask, args=each) for each in (("mine", mine), ("other", other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told["mine"]) == len(told["other"]) == 24
    assert not any(CANARY in text or str(STRANGER) in text for text in told["mine"])
    assert not any(str(SUBJECT) in text for text in told["other"])
    assert any(f"{CANARY}-lab" in text for text in told["other"])


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (calling("patient", {}), {"Authorization": ""}, 401),
        (calling("patient", {}), {"Authorization": "Bearer "}, 401),
        (calling("patient", {}), {"Authorization": "Bearer x"}, 401),
        (calling("patient", {}), {"Authorization": "Basic eDp5"}, 401),
        (calling("patient", {}), {"Authorization": "Bearer " + "x" * 50_000}, 401),
        (calling("patient", {}), {"Host": "attacker.invalid"}, 421),
        (calling("patient", {}), {"Origin": "http://attacker.invalid"}, 403),
        (b"[" * 100_000 + b"]" * 100_000, {}, 400),
        (b"\xff\xfe\x00", {}, 400),
        (b"", {}, 400),
        (b"x" * 3_000_000, {}, 413),
        ([calling("patient", {})] * 2, {}, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"labs","arguments":'
         b'{"page":' + b"9" * 5_000 + b"}}}", {}, 400),
    ],
)  # fmt: skip
def test_what_is_no_request_of_the_run_is_turned_away_unheard(
    runs: tuple[Run, Run], body: Any, headers: dict[str, str], status: int
) -> None:
    mine, _ = runs
    before = len(mine.calls)
    got, text = mine.post(body, **headers)
    assert got == status or (status == 401 and got in (400, 431))
    assert len(text) < 2_000
    assert len(mine.calls) == before
    assert mine.call("patient", {}) is not None  # and the next is answered


@pytest.mark.parametrize(
    "method",
    [
        *("resources/list", "resources/read", "resources/templates/list", "prompts/list"),
        *("prompts/get", "completion/complete", "sampling/createMessage", "roots/list"),
        *("logging/setLevel", "elicitation/create", "tasks/list", "../tools/call", ""),
    ],
)
def test_nothing_but_tools_is_served(runs: tuple[Run, Run], method: str) -> None:
    mine, _ = runs
    params = {"uri": "file:///etc/passwd", "name": "x", "level": "debug"}
    status, body = mine.post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert "root:" not in body
    assert status in (200, 400, 202)
    assert "result" not in json.loads(body or "{}") or json.loads(body)["result"] == {}


SERVER = """
import sys
from pathlib import Path
from chartproof.chart.chart import Chart
from chartproof.tools.gateway import Gateway
from chartproof.tools.trace import read
from chartproof.tools.mcp import over_stdio
from chartproof.tools.trace import TraceWriter

with Chart.open(Path(sys.argv[1])) as chart, TraceWriter(Path(sys.argv[2])) as writer:
    over_stdio(Gateway(chart, {}, writer.write, clock=None), failed=print)
"""


def test_over_stdio_all_of_them_are_stopped_in_their_order(
    canaries: Canaries, tmp_path: Path
) -> None:
    every = [a for a in QUICK if isinstance(a.arguments, dict)]
    sent = [
        a
        for a in (every if AT_LENGTH else every[::5])
        if a.id not in ("resource-arguments-deep", "resource-arguments-huge-number")
    ]
    hello = {
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "\x1b[2J", "version": "../.."}},
    }  # fmt: skip
    lines = [hello, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    lines += [
        calling(each.tool, each.filled(**canaries.filled()), n)
        for n, each in enumerate(sent, start=1)
    ]
    noise = [b"not JSON at all", b'{"jsonrpc":"2.0"}', b"[]", b'{"id": 5}', b"\x00\xff"]
    wire = [json.dumps(each).encode() for each in lines]
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(canaries.chart), str(tmp_path / "trace.jsonl")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(b"\n".join([*wire[:2], *noise, b""]))
        for number, attack in enumerate(sent, start=1):
            server.stdin.write(wire[number + 1] + b"\n")
            server.stdin.flush()
            message: dict[str, Any] = {}
            while message.get("id") != number:
                message = json.loads(server.stdout.readline())
            text = text_of(message)
            assert text is not None, attack.id
            assert text.startswith(f"call {number} · ")
            stopped(attack, text)
        server.stdin.close()
    assert server.returncode == 0
    assert len(read(tmp_path / "trace.jsonl").calls) == len(sent)


def test_a_run_that_floods_its_door_is_told_to_wait_and_the_other_is_answered(
    sealed: Chart, theirs: Chart
) -> None:
    with Endpoint(Tcp()) as endpoint:
        mine, other = Run(endpoint, sealed), Run(endpoint, theirs)
        slow = threading.Event()
        gateway_call = mine.gateway.call

        def waits(name: str, arguments: Any) -> str:
            slow.wait(300)
            return gateway_call(name, arguments)

        mine.gateway.call = waits
        told: list[int] = []
        threads = [
            threading.Thread(target=lambda: told.append(mine.post(calling("patient", {}))[0]))
            for _ in range(WAITING + 40)
        ]
        for thread in threads:
            thread.start()
        while len(told) < 40:
            assert other.call("patient", {}) is not None
        slow.set()
        for thread in threads:
            thread.join()
    assert told.count(429) == 40
    assert told.count(200) == WAITING
    assert [call.call for call in mine.calls] == list(range(1, WAITING + 1))
