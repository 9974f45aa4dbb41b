"""Many runs at one address: each token leads to its own chart, or to nothing."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from chartproof.chart.chart import Chart
from chartproof.chart.cut import cut
from chartproof.chart.store import Store
from chartproof.errors import RunError
from chartproof.records.trace import Called, Event
from chartproof.tools.endpoint import LARGEST, Endpoint, Tcp
from chartproof.tools.gateway import Gateway

BOMB = "select count(*) from range(1000000) a, range(1000000) b"


class Unix(http.client.HTTPConnection):
    """HTTP through a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def send(
    to: Endpoint | Path,
    token: str | None,
    body: dict[str, Any] | bytes,
    path: str = "/mcp",
    method: str = "POST",
    **headers: str,
) -> tuple[int, Any]:
    """One request; status, and the answer as JSON where it is some."""
    connection = (
        Unix(to)
        if isinstance(to, Path)
        else http.client.HTTPConnection("127.0.0.1", to.port, timeout=20)
    )
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    given |= {"Authorization": f"Bearer {token}"} if token else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, raw, given)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    is_json = "json" in (response.getheader("content-type") or "")
    return response.status, json.loads(text) if is_json else text.decode()


def asking(tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def call(to: Endpoint | Path, token: str, tool: str, **arguments: Any) -> str:
    status, answer = send(to, token, asking(tool, **arguments))
    assert status == 200, answer
    return answer["result"]["content"][0]["text"]


@pytest.fixture(scope="module")
def two(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Chart]]:
    """Charts of two patients of one store."""
    place = tmp_path_factory.mktemp("two")
    for subject in (9000001, 9000002):
        cut(store, subject, place / f"{subject}.chart")
    charts = [Chart.open(place / f"{subject}.chart") for subject in (9000001, 9000002)]
    yield charts
    for chart in charts:
        chart.close()


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(Tcp()) as listening:
        yield listening


class Run:
    """A run at an endpoint, and what it recorded."""

    def __init__(self, endpoint: Endpoint, chart: Chart) -> None:
        self.events: list[Event] = []
        self.failures: list[Exception] = []
        self.token = endpoint.add(
            Gateway(chart, {}, self.events.append, clock=None), self.failures.append
        )

    @property
    def calls(self) -> list[Called]:
        return [event for event in self.events if isinstance(event, Called)]


@pytest.fixture
def start(endpoint: Endpoint) -> Iterator[Callable[[Chart], Run]]:
    made: list[Run] = []

    def run(chart: Chart) -> Run:
        made.append(Run(endpoint, chart))
        return made[-1]

    yield run
    endpoint.remove(*(each.token for each in made), grace=0)


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x",
     "Bearer {token} {token}", "Bearer \xff"],
)  # fmt: skip
def test_without_the_token_of_a_run_there_is_nothing(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart], authorization: str | None
) -> None:
    run = start(two[0])
    headers = {"Authorization": authorization.format(token=run.token)} if authorization else {}
    status, answer = send(endpoint, None, asking("patient"), **headers)
    assert (status, answer["error"]) == (401, "invalid_token")
    assert not run.events


def test_two_runs_with_two_patients_are_never_mixed(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart]
) -> None:
    runs = [start(chart) for chart in two]

    def work(n: int) -> list[str]:
        return [call(endpoint, runs[n % 2].token, "patient") for _ in range(5)]

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(work, range(8)))
    for n, run in enumerate(runs):
        mine, other = ("9000001", "9000002") if n == 0 else ("9000002", "9000001")
        told = [text for each in texts[n::2] for text in each]
        assert len(told) == 20
        assert all(mine in text and other not in text for text in told)
        assert [each.call for each in run.calls] == list(range(1, 21))
        assert sorted(text for text in told) == sorted(each.answer.text for each in run.calls)


def test_a_slow_query_of_one_run_delays_no_other(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart]
) -> None:
    slow, quick = start(two[0]), start(two[1])
    call(endpoint, slow.token, "sql", query="select 1")
    thread = threading.Thread(target=send, args=(endpoint, slow.token, asking("sql", query=BOMB)))
    thread.start()
    time.sleep(0.2)
    for _ in range(3):
        assert "9000002" in call(endpoint, quick.token, "patient")
    assert thread.is_alive(), "the bomb had ended already: nothing was shown"
    assert len(slow.calls) == 1
    since = time.perf_counter()
    endpoint.remove(slow.token, grace=0)
    thread.join(timeout=5)
    assert time.perf_counter() - since < 2
    assert len(slow.calls) == 1, "what was cut off is no answer"
    assert not slow.failures


def test_a_removed_run_is_gone_and_the_others_go_on(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart]
) -> None:
    gone, stays = start(two[0]), start(two[1])
    call(endpoint, gone.token, "patient")
    endpoint.remove(gone.token, "no such token")
    assert send(endpoint, gone.token, asking("patient"))[0] == 401
    assert "9000002" in call(endpoint, stays.token, "patient")


def test_a_call_in_flight_is_given_time_to_end(endpoint: Endpoint, two: list[Chart]) -> None:
    begun = threading.Event()

    def slow_disk(_event: Event) -> None:
        begun.set()
        time.sleep(0.3)

    token = endpoint.add(Gateway(two[0], {}, slow_disk), pytest.fail)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call, endpoint, token, "patient")
        assert begun.wait(5)
        endpoint.remove(token, grace=20)
        assert "9000001" in answer.result()


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"path": "/"}, 404),
        ({"path": "/.well-known/oauth-protected-resource"}, 404),
        ({"method": "GET"}, 405),
        ({"method": "DELETE"}, 405),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:80"}, 421),
        ({"Host": "127.0.0.1.evil.example"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 400),
        ({"body": b"x" * (LARGEST + 1)}, 413),
        ({"body": b"{"}, 400),
        ({"body": b"[" * 100_000}, 400),
        ({"body": b""}, 400),
    ],
)
def test_what_is_no_call_is_refused_before_the_gateway_hears_of_it(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart], asked: Any, status: int
) -> None:
    run = start(two[0])
    asked = {"body": asking("patient"), **asked}
    assert send(endpoint, run.token, **asked)[0] == status
    assert not run.events


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:9"])
def test_a_loopback_name_is_meant_whatever_its_port(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart], host: str
) -> None:
    assert send(endpoint, start(two[0]).token, asking("patient"), Host=host)[0] == 200


def test_oversize_arguments_are_refused_by_the_gateway_and_recorded(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart]
) -> None:
    run = start(two[0])
    text = call(endpoint, run.token, "search_notes", text="x" * 70_000)
    assert "at most 65,536 are read" in text
    assert [each.refused for each in run.calls] == [True]


def test_a_lone_surrogate_is_answered(
    endpoint: Endpoint, start: Callable[[Chart], Run], two: list[Chart]
) -> None:
    run = start(two[0])
    body = json.dumps(asking("search_notes", text="a\ud800")).encode()
    status, answer = send(endpoint, run.token, body)
    assert (status, answer["result"]["isError"]) == (200, False)
    assert run.calls[0].arguments == {"text": "a\ufffd"}


def test_a_failure_of_ours_is_told_to_the_owner_and_hidden_from_the_agent(
    endpoint: Endpoint, two: list[Chart]
) -> None:
    failures: list[Exception] = []

    def broken(_event: Event) -> None:
        raise RunError("/secret is full.", remedy="Free space.")

    token = endpoint.add(Gateway(two[0], {}, broken), failures.append)
    told = [send(endpoint, token, asking("patient"))[1]["error"]["message"] for _ in range(2)]
    assert told == ["This run has ended; no tool answers any more."] * 2
    assert [str(each) for each in failures] == ["/secret is full. Free space."]
    endpoint.remove(token)


def test_a_unix_socket_is_for_its_owner_and_goes_with_the_endpoint(
    two: list[Chart], tmp_path: Path
) -> None:
    path = tmp_path / "mcp.sock"
    with Endpoint(path) as listening:
        run = Run(listening, two[0])
        assert path.stat().st_mode & 0o777 == 0o600
        assert "9000001" in call(path, run.token, "patient")
        assert send(path, "wrong", asking("patient"))[0] == 401
    assert not path.exists()


@pytest.mark.parametrize("place", ["taken", "nowhere/mcp.sock", "x" * 200])
def test_where_nothing_can_listen_that_is_said(
    endpoint: Endpoint, tmp_path: Path, place: str
) -> None:
    where = Tcp(port=endpoint.port or 0) if place == "taken" else tmp_path / place
    with pytest.raises(RunError, match=r"cannot be listened at.*Choose another"):
        Endpoint(where)


def test_an_endpoint_that_ends_closes_its_runs(two: list[Chart]) -> None:
    with Endpoint(Tcp()) as listening:
        gateway = Gateway(two[0], {}, lambda _event: None)
        listening.add(gateway, pytest.fail)
        assert listening.url == f"http://127.0.0.1:{listening.port}/mcp"
    with pytest.raises(RunError, match="was closed"):
        gateway.call("patient", {})


def test_an_address_for_all_machines_is_known_by_the_names_given() -> None:
    with Endpoint(Tcp("0.0.0.0"), names=["ward.example"]) as listening:
        assert listening.url == f"http://ward.example:{listening.port}/mcp"
        assert send(listening, None, {}, Host="ward.example")[0] == 401
        assert send(listening, None, {}, Host="other.example")[0] == 421
