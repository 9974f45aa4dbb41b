"""`chartproof serve` as its users start it, spoken to by clients that nobody here wrote.

The MCP Inspector and fastmcp are programs of others; the official SDK's client stands beside them.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from chartproof import api
from chartproof.cases.build import load
from chartproof.tools.gateway import Gateway, specs
from chartproof.tools.trace import read

PROGRAM = [str(Path(sys.executable).with_name("chartproof")), "serve"]
CASE = "post-ct-aki"
OTHER = "med-reconciliation"
BOMB = "select count(*) from range(1000000) a, range(1000000) b"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("patient", {}),
    ("encounters", {}),
    ("labs", {"items": ["creatinine"]}),
    ("search_notes", {"text": "contrast"}),
    ("sql", {"query": "select itemid, count(*) as n from labevents group by all order by all"}),
    ("policy_search", {"query": "acute kidney injury"}),
    ("labs", {}),
    ("no_such_tool", {}),
]


@pytest.fixture
def own(home: Path, tmp_path: Path) -> Path:
    """A home with the cases of the shared one and runs of its own."""
    for name in ("cases", "store"):
        (tmp_path / name).symlink_to(home / name)
    return tmp_path


@dataclass
class Serving:
    """A server that listens, as its file of tokens tells."""

    process: "subprocess.Popen[str]"
    config: Path
    home: Path

    @property
    def servers(self) -> dict[str, Any]:
        return json.loads(self.config.read_text())["mcpServers"]

    def of(self, n: int) -> tuple[str, str]:
        """Address and authorization of the n-th run."""
        server = self.servers[f"chart-{n}"]
        return server["url"], server["headers"]["Authorization"]

    def stop(self, number: int = signal.SIGTERM) -> str:
        """What it said until its end."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=30)
        return out


@contextmanager
def serving(home: Path, *cases: str, options: tuple[str, ...] = ()) -> Iterator[Serving]:
    """Start a server over HTTP and wait until it can be used."""
    config = home / "mcp.json"
    process = subprocess.Popen(
        [*PROGRAM, *cases, "--in", str(home), "--http", "--port", "0", "--config", str(config),
         *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not config.exists():
            assert process.poll() is None, process.stdout and process.stdout.read()
            assert time.monotonic() < until, "it does not listen"
            time.sleep(0.05)
        yield Serving(process, config, home)
    finally:
        if process.poll() is None:
            process.kill()
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


def expected(home: Path, case: str = CASE) -> list[str]:
    """What an agent in this process reads."""
    with api.open_case(home / "cases", case) as opened:
        gateway = Gateway(opened.chart, api.policies(), lambda _event: None)
        told = [gateway.call(name, given) for name, given in CALLS]
        gateway.close()
    return told


def traces(home: Path) -> list[Path]:
    return sorted((home / "runs").rglob("trace.jsonl"))


def post(address: tuple[str, str], name: str, timeout: float = 30, **given: Any) -> dict[str, Any]:
    """One call by hand."""
    url, authorization = address
    place = url.split("/")[2]
    connection = http.client.HTTPConnection(place, timeout=timeout)
    params = {"name": name, "arguments": given}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(connection):
        connection.request(
            "POST", "/mcp", json.dumps(body), headers | {"Authorization": authorization}
        )
        return json.loads(connection.getresponse().read())


async def ask_all(client: Client) -> tuple[list[Any], list[str]]:
    listed = [
        {"name": each.name, "description": each.description, "parameters": each.input_schema}
        for each in (await client.list_tools()).tools
    ]
    told: list[str] = []
    for name, given in CALLS:
        result = await client.call_tool(name, given)
        assert not result.is_error
        told.append(result.content[0].text)
    return listed, told


def test_both_transports_show_the_sdk_client_what_this_process_shows(own: Path) -> None:
    async def over_stdio() -> tuple[list[Any], list[str]]:
        server = StdioServerParameters(command=PROGRAM[0], args=["serve", CASE, "--in", str(own)])
        async with Client(stdio_client(server), mode="legacy") as client:
            return await ask_all(client)

    async def over_http(url: str, authorization: str) -> tuple[list[Any], list[str]]:
        async with (
            httpx2.AsyncClient(headers={"Authorization": authorization}) as through,
            Client(streamable_http_client(url, http_client=through), mode="legacy") as client,
        ):
            return await ask_all(client)

    here = expected(own)
    listed, told = anyio.run(over_stdio)
    assert json.dumps(listed) == json.dumps(specs())
    assert told == here
    with serving(own, CASE) as server:
        listed, told = anyio.run(over_http, *server.of(1))
        assert json.dumps(listed) == json.dumps(specs())
        assert told == here
        server.stop()
    for path in traces(own):
        (checked,) = api.verify(path.parent)
        assert (checked.state, checked.calls) == ("whole", len(CALLS))
    assert all(each.identical for each in api.replay(own / "runs", home=own))


def inspect(
    inspector: list[str], target: list[str], *asked: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*inspector, *target, *asked], check=False, capture_output=True, text=True, timeout=90
    )


Inspect = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(params=["stdio", "http"])
def inspected(request: Any, inspector: list[str], own: Path) -> Iterator[Inspect]:
    """The Inspector at a server, over either transport, each time a client of its own."""
    if request.param == "stdio":
        target = ["--", *PROGRAM, CASE, "--in", str(own)]
        yield lambda *asked: inspect(inspector, [], *asked, *target)
        return
    with serving(own, CASE) as server:
        url, authorization = server.of(1)
        target = [url, "--transport", "http", "--header", f"Authorization: {authorization}"]
        yield lambda *asked: inspect(inspector, target, *asked)


def test_the_inspector_lists_the_tools_and_calls_them(inspected: Inspect, own: Path) -> None:
    said = inspected("--method", "tools/list")
    assert said.returncode == 0, said.stdout + said.stderr
    listed = json.loads(said.stdout)["tools"]
    assert [
        {
            "name": each["name"],
            "description": each["description"],
            "parameters": each["inputSchema"],
        }
        for each in listed
    ] == specs()
    said = inspected(
        "--method", "tools/call", "--tool-name", "labs", "--tool-arg", 'items=["creatinine"]'
    )
    assert said.returncode == 0, said.stdout + said.stderr
    text = json.loads(said.stdout)["content"][0]["text"]
    assert text == expected(own)[2].replace("call 3 ", "call 1 ")


def test_the_inspector_reads_a_refusal_as_an_answer(inspected: Inspect) -> None:
    said = inspected(
        "--method", "tools/call", "--tool-name", "read_note", "--tool-arg", "note_id=none"
    )
    answer = json.loads(said.stdout)
    assert answer["content"][0]["text"].startswith("call 1 · read_note · refused\nnote: ")
    assert not answer.get("isError")


def test_the_inspector_is_shut_out_without_the_token(inspector: list[str], own: Path) -> None:
    with serving(own, CASE) as server:
        url, authorization = server.of(1)
        for header in ([], ["--header", f"Authorization: {authorization}x"]):
            said = inspect(
                inspector, [url, "--transport", "http", *header], "--method", "tools/list"
            )
            assert said.returncode != 0
            assert "creatinine" not in said.stdout
            assert "401" in said.stdout + said.stderr or "auth" in (said.stdout + said.stderr)
        server.stop()
    assert read(traces(own)[0]).calls == ()


FASTMCP = """
import asyncio, json, sys
from fastmcp import Client

async def main(config, calls):
    async with Client(config) as client:
        listed = [
            {"name": t.name, "description": t.description, "parameters": t.inputSchema}
            if hasattr(t, "inputSchema") else
            {"name": t.name, "description": t.description, "parameters": t.input_schema}
            for t in await client.list_tools()
        ]
        told = []
        for name, given in calls:
            result = await client.call_tool_mcp(name, given)
            told.append(result.content[0].text)
    print(json.dumps([listed, told]))

asyncio.run(main(*json.load(sys.stdin)))
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_fastmcp_reads_what_this_process_reads(wire_python: str, own: Path, transport: str) -> None:
    def ask(config: dict[str, Any]) -> tuple[list[Any], list[str]]:
        said = subprocess.run(
            [wire_python, "-c", FASTMCP], input=json.dumps([config, CALLS]),
            check=False, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)

    if transport == "stdio":
        command = {"command": PROGRAM[0], "args": ["serve", CASE, "--in", str(own)]}
        listed, told = ask({"mcpServers": {"chart-1": command}})
    else:
        with serving(own, CASE) as server:
            listed, told = ask({"mcpServers": server.servers})  # the file, as it stands
            server.stop()
    assert listed == specs()
    assert told == expected(own)


def test_two_cases_at_one_address_are_never_mixed(own: Path) -> None:
    cases = {each.id: each for each in load(own / "cases").cases}
    with serving(own, CASE, OTHER) as server:
        addresses = [server.of(1), server.of(2)]

        def work(n: int) -> list[str]:
            told = [post(addresses[n % 2], "patient") for _ in range(5)]
            return [each["result"]["content"][0]["text"] for each in told]

        with ThreadPoolExecutor(8) as pool:
            texts = list(pool.map(work, range(8)))
        server.stop()
    for path in traces(own):
        trace = read(path)
        assert trace.started is not None
        n = 0 if trace.started.case.startswith(CASE) else 1
        subject = str(cases[trace.started.case].anchor.subject_id)
        told = [text for each in texts[n::2] for text in each]
        assert sorted(told) == sorted(call.answer.text for call in trace.calls)
        assert all(subject in text for text in told)


def test_one_slow_query_delays_no_other_case(own: Path) -> None:
    with serving(own, CASE, OTHER) as server, ThreadPoolExecutor(1) as pool:
        slow = pool.submit(post, server.of(1), "sql", query=BOMB)
        time.sleep(0.5)
        for _ in range(3):
            assert "result" in post(server.of(2), "patient")
        assert not slow.done(), "the bomb had ended already: nothing was shown"
        assert "refused" in slow.result()["result"]["content"][0]["text"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_calls_in_flight_and_says_where_the_traces_are(
    own: Path, number: int
) -> None:
    with serving(own, CASE, OTHER) as server, ThreadPoolExecutor(1) as pool:
        tokens = [server.of(n)[1].split()[1] for n in (1, 2)]
        assert server.config.stat().st_mode & 0o777 == 0o600
        arguments = Path(f"/proc/{server.process.pid}/cmdline").read_text()
        post(server.of(1), "sql", query="select 1")
        slow = pool.submit(_quietly, server.of(1))
        time.sleep(0.5)
        since = time.monotonic()
        said = server.stop(number)
        assert time.monotonic() - since < 15
        slow.result()
        assert server.process.returncode == 0, said
        assert not server.config.exists()
    plain = "".join(said.split())
    for path in traces(own):
        assert str(path.parent) in plain
        trace = read(path)
        assert trace.ended is not None
        assert trace.ended.outcome == "served"
        assert len(trace.calls) == (1 if trace.started and CASE in trace.started.case else 0)
        assert not any(token in path.read_text() for token in tokens)
    assert not any(token in said + arguments for token in tokens)
    assert _left(own) == []


def _quietly(address: tuple[str, str]) -> None:
    """A call whose server goes away."""
    try:
        post(address, "sql", query=BOMB)
    except (OSError, http.client.HTTPException, ValueError):
        return


def _left(home: Path) -> list[str]:
    """Processes that still name a home on their command line."""
    found: list[str] = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = each.read_text()
        except OSError:
            continue
        if str(home) in text and each.parent.name != str(os.getpid()):
            found.append(text)
    return found


@contextmanager
def stdio(home: Path) -> Iterator["subprocess.Popen[str]"]:
    """A server over stdio, spoken to by hand, that has said hello."""
    process = subprocess.Popen(
        [*PROGRAM, CASE, "--in", str(home)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    hello = {"protocolVersion": "2025-06-18", "capabilities": {},
             "clientInfo": {"name": "by hand", "version": "1"}}  # fmt: skip
    try:
        say(process, "initialize", hello, 0)
        assert hear(process)["id"] == 0
        say(process, "notifications/initialized", {}, None)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        process.wait()


def say(process: "subprocess.Popen[str]", method: str, params: Any, n: int | None) -> None:
    assert process.stdin is not None
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    process.stdin.write(json.dumps(message | ({} if n is None else {"id": n})) + "\n")
    process.stdin.flush()


def hear(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("how", ["stdin", "SIGINT", "SIGTERM"])
def test_a_client_over_stdio_that_leaves_ends_the_run(own: Path, how: str) -> None:
    with stdio(own) as process:
        for n in range(1, 4):
            say(process, "tools/call", {"name": "patient", "arguments": {}}, n)
        if how == "stdin":
            assert process.stdin is not None
            process.stdin.close()
            answers = [hear(process) for _ in range(3)]
        else:
            answers = [hear(process) for _ in range(3)]
            process.send_signal(getattr(signal, how))
        assert process.wait(timeout=20) == 0
    assert [each["id"] for each in answers] == [1, 2, 3]
    (path,) = traces(own)
    trace = read(path)
    assert (len(trace.calls), trace.ended and trace.ended.outcome) == (3, "served")


@pytest.mark.parametrize("wait", [0.05, 0.5])
def test_a_server_that_is_killed_loses_the_event_in_flight_at_most(own: Path, wait: float) -> None:
    with serving(own, CASE) as server, ThreadPoolExecutor(1) as pool:
        address = server.of(1)
        seen: list[str] = []

        def work() -> None:
            try:
                while True:
                    told = post(address, "labs", items=["creatinine"])
                    seen.append(told["result"]["content"][0]["text"])
            except (OSError, http.client.HTTPException, ValueError):
                return

        busy = pool.submit(work)
        while not seen:
            time.sleep(0.01)
        time.sleep(wait)
        server.process.kill()
        busy.result()
    (path,) = traces(own)
    trace = read(path)
    assert trace.ended is None
    answers = [call.answer.text for call in trace.calls]
    assert answers[: len(seen)] == seen, "what the agent saw is on the trace"
    assert len(answers) <= len(seen) + 1
    (checked,) = api.verify(path.parent)
    assert checked.state == "cut off"


def test_an_address_of_all_machines_is_warned_of(own: Path) -> None:
    with serving(own, CASE, options=("--host", "0.0.0.0", "--name", "ward.example")) as server:
        assert server.of(1)[0].startswith("http://ward.example:")
        said = server.stop()
    assert "can be reached from other machines" in said


def test_a_port_that_is_taken_is_said_and_nothing_is_left_open(own: Path) -> None:
    with serving(own, CASE) as server:
        port = server.of(1)[0].split(":")[2].split("/")[0]
        said = subprocess.run(
            [*PROGRAM, CASE, "--in", str(own), "--http", "--port", port],
            check=False, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    assert said.returncode == 1
    assert f"127.0.0.1:{port} cannot be listened at" in said.stderr
    assert "Traceback" not in said.stderr
