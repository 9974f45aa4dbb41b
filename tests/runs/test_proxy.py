"""What passes between an agent and its model, what is told of it, and what is refused."""

import gzip
import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import anyio
import httpx2
import pytest

from chartproof.errors import RunError, SpecError
from chartproof.models.egress import Guard
from chartproof.models.ledger import Ledger, Spent
from chartproof.models.ledger import read as read_ledger
from chartproof.models.prices import Prices
from chartproof.models.providers import Upstream
from chartproof.records.price import Price
from chartproof.records.study import Budget
from chartproof.records.trace import Event, Turn
from chartproof.runs.exchanges import body as kept_body
from chartproof.runs.process import AgentFailure, RateLimited
from chartproof.runs.proxy import Line, ModelProxy, Way
from chartproof.runs.scripted_model.server import ModelServer
from chartproof.tools.endpoint import Tcp

KEY = "sk-real-0123456789abcdef"
OPEN = Guard("synthetic", None)
PRICES = Prices({f"{name}/m": Price(input=1, cached=0.1, output=10) for name in ("openai", "x")})
CHAT = {"model": "m", "messages": [{"role": "user", "content": "How is patient 9000001?"}]}
ANSWER: dict[str, Any] = {
    "model": "m-2026-01-01",
    "choices": [{"index": 0, "message": {"content": "well"}, "finish_reason": "stop"}],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 40},
    },
}
Handler = Callable[[httpx2.Request], httpx2.Response]


class Pieces(httpx2.AsyncByteStream):
    """An answer that comes in pieces, and may break off or never end."""

    def __init__(self, *pieces: bytes, then: str = "") -> None:
        self._pieces, self._then = pieces, then

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
            await anyio.sleep(0)
        if self._then == "breaks":
            raise httpx2.ReadError("gone")
        if self._then == "hangs":
            await anyio.sleep(60)


def whole(body: object = ANSWER, status: int = 200, **headers: str) -> Handler:
    given = {"content-type": "application/json", "set-cookie": "s=1"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: httpx2.Response(status, headers=given, content=json.dumps(body).encode())


def streamed(*pieces: bytes, then: str = "") -> Handler:
    return lambda _: httpx2.Response(
        200, headers={"content-type": "text/event-stream"}, stream=Pieces(*pieces, then=then)
    )


def event(data: object) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


@dataclass
class Place:
    """A proxy with one line, and all that it wrote."""

    proxy: ModelProxy
    line: Line
    folder: Path
    events: list[Event]
    sent: list[httpx2.Request] = field(default_factory=list[httpx2.Request])

    def ask(
        self,
        body: object = CHAT,
        path: str = "/v1/chat/completions",
        method: str = "POST",
        **headers: str,
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=10)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"content-type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, raw, given)
            answer = connection.getresponse()
            try:
                return answer.status, answer.read()
            except http.client.IncompleteRead as cut:
                return answer.status, cut.partial + b"<cut>"
        finally:
            connection.close()

    def asked(self, body: object = CHAT, path: str = "/v1/chat/completions") -> tuple[int, bytes]:
        return self.ask(body, self.line.path + path)

    @property
    def turns(self) -> list[Turn]:
        return [each for each in self.events if isinstance(each, Turn)]

    def kept(self) -> list[dict[str, Any]]:
        lines = (self.folder / "cell" / "model" / "requests.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@contextmanager
def place(
    folder: Path,
    handler: Handler,
    *,
    guard: Guard = OPEN,
    budget: Budget | None = None,
    budget_usd: float | None = None,
    upstream: Upstream | None = None,
) -> Iterator[Place]:
    sent: list[httpx2.Request] = []
    events: list[Event] = []

    def noted(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        return handler(request)

    way = Way(
        run="s/case/factual/1",
        upstream=upstream or Upstream("openai/m", "https://api.example.org/v1", KEY),
        guard=guard,
        ledger=Ledger(folder / "study", budget_usd),
        folder=folder / "cell",
        record=events.append,
        clock=perf_counter,
        budget=budget or Budget(seconds=20),
        prices=PRICES,
    )
    client = lambda: httpx2.AsyncClient(transport=httpx2.MockTransport(noted))  # noqa: E731
    with ModelProxy(Tcp(), client) as proxy:
        yield Place(proxy, proxy.open(way), folder, events, sent)


def test_an_answer_passes_as_it_is_and_is_read_on_the_side(tmp_path: Path) -> None:
    with place(tmp_path, whole(x_request_id="7")) as at:
        status, body = at.asked({**CHAT, "temperature": 0.5, "seed": 3})
        at.proxy.close(at.line)
    assert (status, body) == (200, json.dumps(ANSWER).encode())
    (turn,) = at.turns
    assert (turn.model, turn.served, turn.finish) == ("m", "m-2026-01-01", "stop")
    assert (turn.tokens_in, turn.tokens_cached, turn.tokens_out) == (100, 40, 10)
    assert turn.settings == {"seed": 3, "temperature": 0.5}
    assert turn.cost_usd == pytest.approx((60 * 1 + 40 * 0.1 + 10 * 10) / 1e6, abs=1e-12)
    at.line.conclude(reported=True)


def test_the_agent_never_has_the_key_and_no_record_holds_it(tmp_path: Path) -> None:
    error = {"error": {"message": f"Incorrect key {KEY}", "type": "auth"}}
    with place(tmp_path, whole(error, 401)) as at:
        status, body = at.asked()
    assert status == 401
    assert KEY.encode() not in body
    assert at.sent[0].headers["authorization"] == f"Bearer {KEY}"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    for path in files:
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        assert KEY.encode() not in text
        assert at.line.token.encode() not in text


def test_headers_and_parameters_that_may_hold_a_secret_do_not_pass(tmp_path: Path) -> None:
    with place(tmp_path, whole()) as at:
        at.ask(
            CHAT,
            f"{at.line.path}/v1/chat/completions?key=AIza-secret&beta=true",
            cookie="c=1",
            x_api_key="other",
            openai_organization="org",
            user_agent="cli/1",
        )
    request = at.sent[0]
    assert str(request.url) == "https://api.example.org/v1/chat/completions?beta=true"
    assert request.headers["user-agent"] == "cli/1"
    assert not {"cookie", "x-api-key", "openai-organization"} & set(request.headers)
    assert at.kept()[0]["query"] == {"beta": "true"}
    assert "set-cookie" not in at.kept()[0]["answer_headers"]


def test_bodies_are_kept_by_what_they_say(tmp_path: Path) -> None:
    with place(tmp_path, whole()) as at:
        at.asked()
        at.asked()
    first, second = at.kept()
    assert first["request"] == second["request"]
    assert json.loads(kept_body(tmp_path / "cell", first["request"]["sha256"])) == CHAT
    assert json.loads(kept_body(tmp_path / "cell", second["answer"]["sha256"])) == ANSWER
    assert len(list((tmp_path / "cell" / "model" / "bodies").iterdir())) == 2


STREAM = (
    event({"model": "m", "choices": [{"delta": {"content": "w"}, "finish_reason": None}]}),
    event({"model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]}),
    event({"model": "m", "choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}),
    b"data: [DONE]\n\n",
)


def test_a_stream_passes_byte_by_byte_however_it_is_cut(tmp_path: Path) -> None:
    joined = b"".join(STREAM)
    pieces = [joined[n : n + 7] for n in range(0, len(joined), 7)]
    with place(tmp_path, streamed(*pieces)) as at:
        status, body = at.asked({**CHAT, "stream": True})
    assert (status, body) == (200, joined)
    (turn,) = at.turns
    assert (turn.tokens_in, turn.tokens_out, turn.finish) == (9, 2, "stop")


def test_a_piece_is_passed_on_before_the_next_has_come(tmp_path: Path) -> None:
    with place(tmp_path, streamed(STREAM[0], then="hangs"), budget=Budget(seconds=20)) as at:
        connection = http.client.HTTPConnection("127.0.0.1", at.proxy.port, timeout=5)
        connection.request(
            "POST",
            f"{at.line.path}/chat/completions",
            json.dumps({**CHAT, "stream": True}),
        )
        assert connection.getresponse().read1() == STREAM[0]
        connection.close()


def test_a_turn_is_on_the_trace_before_its_stream_ends(tmp_path: Path) -> None:
    with place(tmp_path, streamed(*STREAM, then="hangs"), budget=Budget(seconds=20)) as at:
        connection = http.client.HTTPConnection("127.0.0.1", at.proxy.port, timeout=5)
        body = json.dumps({**CHAT, "stream": True})
        connection.request("POST", f"{at.line.path}/chat/completions", body)
        answer, seen = connection.getresponse(), b""
        while b"[DONE]" not in seen:
            seen += answer.read1()
        assert [turn.finish for turn in at.turns] == ["stop"]
        connection.close()


def test_a_stream_that_breaks_off_breaks_off_for_the_agent(tmp_path: Path) -> None:
    with place(tmp_path, streamed(STREAM[0], then="breaks")) as at:
        status, body = at.asked({**CHAT, "stream": True})
        at.proxy.close(at.line)
    assert (status, body) == (200, STREAM[0] + b"<cut>")
    (turn,) = at.turns
    assert (turn.finish, turn.tokens_out, turn.cost_usd) == ("cut", None, None)
    with pytest.raises(RunError, match="infrastructure: 1 of 1 requests to https"):
        at.line.conclude(reported=False)


def test_a_word_that_stands_for_no_key_is_left_in_the_answer(tmp_path: Path) -> None:
    own = Upstream("x/m", "https://api.example.org/v1", "none")
    said = {**ANSWER, "choices": [{"index": 0, "message": {"content": "Allergies: none"}}]}
    with place(tmp_path, whole(said), upstream=own) as at:
        _, body = at.asked()
    assert b"Allergies: none" in body


def test_usage_is_asked_for_only_where_a_limit_needs_it(tmp_path: Path) -> None:
    with place(tmp_path / "a", streamed(*STREAM)) as at:
        at.asked({**CHAT, "stream": True})
    assert "stream_options" not in json.loads(at.sent[0].content)
    with place(tmp_path / "b", streamed(*STREAM), budget=Budget(tokens=1_000)) as at:
        at.asked({**CHAT, "stream": True})
    assert json.loads(at.sent[0].content)["stream_options"] == {"include_usage": True}


def test_what_nobody_counted_is_told_as_unknown(tmp_path: Path) -> None:
    with place(tmp_path, streamed(STREAM[0], STREAM[1], STREAM[3])) as at:
        at.asked({**CHAT, "stream": True})
    (turn,) = at.turns
    assert (turn.tokens_in, turn.tokens_out, turn.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (Budget(requests=2), "The limit of 2 requests to the model was reached."),
        (Budget(tokens=200), "The limit of 200 tokens was reached."),
        (Budget(usd=0.0003), "The limit of $0.0003 was reached."),
    ],
)
def test_a_limit_ends_the_run_with_an_error_that_is_final(
    tmp_path: Path, budget: Budget, said: str
) -> None:
    with place(tmp_path, whole(), budget=budget) as at:
        assert [at.asked()[0] for _ in range(2)] == [200, 200]
        status, body = at.asked()
        assert at.asked()[0] == 400
        at.proxy.close(at.line)
    assert (status, json.loads(body)["error"]["type"]) == (400, "invalid_request_error")
    assert json.loads(body)["error"]["message"] == said
    assert len(at.sent) == 2
    with pytest.raises(AgentFailure, match=said.replace("$", r"\$")):
        at.line.conclude(reported=True)


def test_time_is_a_limit_for_a_provider_that_never_ends(tmp_path: Path) -> None:
    handler = streamed(STREAM[0], then="hangs")
    with place(tmp_path, handler, budget=Budget(seconds=0.3)) as at:
        status, body = at.asked({**CHAT, "stream": True})
        at.proxy.close(at.line)
    assert (status, body) == (200, STREAM[0] + b"<cut>")
    with pytest.raises(AgentFailure, match="time limit"):
        at.line.conclude(reported=False)


def test_the_budget_of_a_study_ends_its_runs_without_a_cell(tmp_path: Path) -> None:
    with place(tmp_path, whole(), budget_usd=0.0003) as at:
        while at.asked()[0] == 200:
            pass
        at.proxy.close(at.line)
    with pytest.raises(Spent, match=r"budget of \$0.0003") as caught:
        at.line.conclude(reported=True)
    assert "budget_usd" in caught.value.remedy
    spend = read_ledger(tmp_path / "study")
    assert spend.known_usd == pytest.approx(at.line.usage.cost_usd)
    assert spend.known_usd <= 0.0003


def test_a_limit_of_money_without_a_price_is_refused_at_once(tmp_path: Path) -> None:
    odd = Upstream("openai/unheard-of", "https://api.example.org/v1", KEY)
    with (
        pytest.raises(SpecError, match=r"prices.yaml"),
        place(tmp_path, whole(), budget=Budget(usd=1), upstream=odd),
    ):
        pass


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_refusals_of_the_provider_pass_and_a_run_of_them_is_infrastructure(
    tmp_path: Path, status: int
) -> None:
    said = {"error": {"message": "later"}}
    with place(tmp_path, whole(said, status, retry_after="1")) as at:
        assert at.asked() == (status, json.dumps(said).encode())
        at.proxy.close(at.line)
    assert at.kept()[0]["answer_headers"]["retry-after"] == "1"
    assert at.turns == []
    with pytest.raises(RunError, match="infrastructure") as caught:
        at.line.conclude(reported=True)
    assert not isinstance(caught.value, AgentFailure)
    # such a run is made again after a pause; one whose provider broke is not, within the command
    assert getattr(caught.value, "seconds", None) == (None if status == 500 else 1)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry_after_ms": "1500"}, 1.5), ({"retry_after": "Wed, 21 Oct 2150 07:28:00 GMT"}, 0)],
)
def test_a_provider_tells_its_pause_in_several_ways(
    tmp_path: Path, headers: dict[str, str], seconds: float
) -> None:
    with place(tmp_path, whole({}, 429, **headers)) as at:
        at.asked()
        at.proxy.close(at.line)
    with pytest.raises(RateLimited) as caught:
        at.line.conclude(reported=False)
    assert caught.value.seconds == seconds


def test_a_request_that_was_wrong_is_the_agents(tmp_path: Path) -> None:
    with place(tmp_path, whole({"error": {"message": "context too long"}}, 400)) as at:
        at.asked()
        at.proxy.close(at.line)
    at.line.conclude(reported=False)


def test_a_rate_limit_that_passed_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    answers = iter([whole({}, 429), whole()])
    with place(tmp_path, lambda request: next(answers)(request)) as at:  # noqa: PLW0108  one after the other
        assert [at.asked()[0], at.asked()[0]] == [429, 200]
        at.proxy.close(at.line)
    at.line.conclude(reported=False)
    spend = read_ledger(tmp_path / "study")
    assert [each.finished.status for each in spend.requests if each.finished] == [429, 200]


def test_a_provider_that_cannot_be_reached_costs_nothing(tmp_path: Path) -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused", request=request)

    with place(tmp_path, refuse) as at:
        status, body = at.asked()
        at.proxy.close(at.line)
    assert (status, json.loads(body)["error"]["message"]) == (502, "No answer came: ConnectError.")
    assert read_ledger(tmp_path / "study").bound_usd == 0
    with pytest.raises(RunError, match="ConnectError"):
        at.line.conclude(reported=False)


def test_data_go_nowhere_that_their_store_does_not_allow(tmp_path: Path) -> None:
    guard = Guard("credentialed", ("https://other.example.org",), "store/tier.yaml")
    with (
        pytest.raises(SpecError, match=r"nothing was sent to https://api\.example\.org/v1") as no,
        place(tmp_path, whole(), guard=guard),
    ):
        pass
    assert "store/tier.yaml" in str(no.value)
    assert not (tmp_path / "cell").exists()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/files", 404),
        ("GET", "/v1/models", 404),
        ("POST", "/v1/chat/completions/../files", 404),
        ("POST", "/v1/models/m:embedContent", 404),
        ("POST", "/v1beta/models/..%2f..%2fupload:generateContent", 404),
        ("POST", "//elsewhere.example.org/v1/chat/completions", 404),
        ("GET", "/v1/chat/completions", 405),
        ("HEAD", "/", 200),
    ],
)
def test_nothing_passes_but_what_models_are_asked_by(
    tmp_path: Path, method: str, path: str, status: int
) -> None:
    with place(tmp_path, whole()) as at:
        assert at.ask(CHAT, at.line.path + path, method)[0] == status
    assert at.sent == []


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/v1/responses", {"model": "m", "tools": [{"type": "web_search"}]}, "web_search"),
        (
            "/v1/responses",
            {"model": "m", "input": [{"type": "additional_tools", "tools": [{"type": "mcp"}]}]},
            "mcp",
        ),
        ("/v1/messages", {"model": "m", "tools": [{"type": "web_fetch_20250910"}]}, "web_fetch"),
        ("/v1/messages", {"model": "m", "mcp_servers": [{"url": "https://x"}]}, "mcp_servers"),
        ("/v1beta/models/m:generateContent", {"tools": [{"googleSearch": {}}]}, "googleSearch"),
        ("/v1/chat/completions", {"model": "m", "web_search_options": {}}, "web_search_options"),
    ],
)
def test_tools_that_a_provider_would_run_are_refused(
    tmp_path: Path, path: str, body: object, said: str
) -> None:
    with place(tmp_path, whole()) as at:
        status, answer = at.asked(body, path)
    assert (status, at.sent) == (400, [])
    assert f"no tool of the provider's: {said}" in answer.decode()
    assert len(at.line.refused) == 1


def test_a_token_leads_to_one_line_and_anything_else_to_nothing(tmp_path: Path) -> None:
    with place(tmp_path, whole()) as at:
        path = "/v1/chat/completions"
        assert at.ask(CHAT, path)[0] == 401
        assert at.ask(CHAT, f"/run/wrong{path}")[0] == 401
        assert at.ask(CHAT, path, authorization="Bearer wrong")[0] == 401
        for name in ("x_api_key", "x_goog_api_key", "api_key"):
            assert at.ask(CHAT, path, **{name: at.line.token})[0] == 200
        assert at.ask(CHAT, path, authorization=f"Bearer {at.line.token}")[0] == 200
        assert at.ask(CHAT, path, api_key=at.line.token, origin="http://127.0.0.1")[0] == 421
        assert at.ask(CHAT, path, api_key=at.line.token, host="evil.example.org")[0] == 421
        at.proxy.close(at.line)
        assert at.ask(CHAT, path, authorization=f"Bearer {at.line.token}")[0] == 401


def test_a_packed_request_is_unpacked_and_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = "/v1/chat/completions"
    with place(tmp_path, whole()) as at:
        packed = gzip.compress(json.dumps(CHAT).encode())
        assert at.ask(packed, at.line.path + path, content_encoding="gzip")[0] == 200
        assert at.ask(packed, at.line.path + path, content_encoding="zstd")[0] == 415
        assert at.ask(b"\x1f\x8bno", at.line.path + path, content_encoding="gzip")[0] == 400
        assert at.ask(b"[1]", at.line.path + path)[0] == 400
    assert json.loads(at.sent[0].content) == CHAT


def test_counting_tokens_is_no_turn_and_no_request_of_the_limit(tmp_path: Path) -> None:
    with place(tmp_path, whole({"input_tokens": 5}), budget=Budget(requests=1)) as at:
        for _ in range(3):
            assert at.asked({"model": "m", "messages": []}, "/v1/messages/count_tokens")[0] == 200
    assert at.turns == []
    assert read_ledger(tmp_path / "study").bound_usd == 0


def test_an_agent_that_hangs_up_leaves_its_request_on_the_ledger(tmp_path: Path) -> None:
    with place(tmp_path, streamed(STREAM[0], then="hangs")) as at:
        raw = json.dumps({**CHAT, "stream": True}).encode()
        with socket.create_connection(("127.0.0.1", at.proxy.port or 0), timeout=5) as client:
            head = (
                f"POST {at.line.path}/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Length: {len(raw)}\r\n\r\n"
            )
            client.sendall(head.encode() + raw)
            assert b"200 OK" in client.recv(65_536)
        for _ in range(200):
            if at.turns:
                break
            threading.Event().wait(0.01)
        at.proxy.close(at.line)
    assert [turn.finish for turn in at.turns] == ["cut"]
    (request,) = read_ledger(tmp_path / "study").requests
    assert request.finished is not None
    assert request.finished.error == "The agent hung up."
    at.line.conclude(reported=True)


def test_a_disk_that_refuses_ends_the_run_as_ours(tmp_path: Path) -> None:
    with place(tmp_path, whole()) as at:
        (tmp_path / "cell").mkdir()
        (tmp_path / "cell" / "model").write_text("in the way")
        at.asked()
        at.proxy.close(at.line)
    with pytest.raises(RunError, match="could not be written"):
        at.line.conclude(reported=True)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer("evidence-blind", served="m-2026-01-01", key=KEY) as serving:
        yield serving


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/responses", {"model": "m", "input": "How is patient 9000001?"}),
        (
            "/v1/messages",
            {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "How?"}]},
        ),
        (
            "/v1beta/models/m:{verb}",
            {"contents": [{"role": "user", "parts": [{"text": "How is patient 9000001?"}]}]},
        ),
    ],
)
def test_the_four_protocols_pass_to_a_server_over_the_network(
    tmp_path: Path, server: ModelServer, path: str, body: dict[str, Any], *, streams: bool
) -> None:
    verb = "streamGenerateContent?alt=sse" if streams else "generateContent"
    asked = {**body, "stream": streams} if "{verb}" not in path else body
    events: list[Event] = []
    with ModelProxy(tmp_path / "proxy.sock") as proxy:
        way = Way(
            run="s/case/factual/1",
            upstream=Upstream("x/m", server.url, KEY),
            guard=OPEN,
            ledger=Ledger(tmp_path / "study"),
            folder=tmp_path,
            record=events.append,
            clock=perf_counter,
            budget=Budget(tokens=1_000_000),
            prices=PRICES,
        )
        line = proxy.open(way)
        transport = httpx2.HTTPTransport(uds=str(tmp_path / "proxy.sock"))
        with httpx2.Client(transport=transport) as client:
            url = f"http://localhost{line.path}{path.format(verb=verb)}"
            answer = client.post(url, json=asked)
            answer.raise_for_status()
        proxy.close(line)
    (turn,) = [each for each in events if isinstance(each, Turn)]
    assert (turn.model, turn.served, turn.served_otherwise) == ("m", "m-2026-01-01", False)
    assert turn.tokens_in
    assert turn.tokens_out
    assert turn.cost_usd
    assert turn.finish not in ("cut", "error")
    line.conclude(reported=True)
