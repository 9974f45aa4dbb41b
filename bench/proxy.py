"""What the recording proxy adds to a request: bare and through it, in turn, in one run.

    python bench/proxy.py [REQUESTS] [PIECES]

A server on loopback answers at once, whole or as a stream of so many pieces, as a model would with
40 kB of history before it: what is measured is the way, not the model. Bare and proxied requests
take turns, over connections that are kept open. For a stream the first piece counts too: until it
comes, an agent waits.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from time import perf_counter, process_time

import anyio.from_thread
import httpx2
import uvicorn
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from chartproof.models.egress import Guard
from chartproof.models.ledger import Ledger
from chartproof.models.prices import shipped
from chartproof.models.providers import Upstream
from chartproof.records.study import Budget
from chartproof.runs.proxy import ModelProxy, Way
from chartproof.tools.endpoint import Tcp, listening
from chartproof.tools.trace import TraceWriter

HISTORY = [{"role": "user", "content": "One line of an invented chart. " * 1_300}]
USAGE = {"prompt_tokens": 10_000, "completion_tokens": 200, "total_tokens": 10_200}


def piece(delta: dict[str, str], finish: str | None = None) -> bytes:
    chunk = {"model": "gpt-5", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


class Answering:
    """Answers at once."""

    def __init__(self, pieces: int) -> None:
        self._stream = [piece({"content": "a word or two "})] * pieces
        self._stream += [
            piece({}, "stop"),
            b"data: "
            + json.dumps({"model": "gpt-5", "choices": [], "usage": USAGE}).encode()
            + b"\n\n",
            b"data: [DONE]\n\n",
        ]
        message = {"role": "assistant", "content": "a word or two " * pieces}
        whole = {
            "model": "gpt-5",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": USAGE,
        }
        self._whole = json.dumps(whole).encode()

    async def _pieces(self) -> AsyncIterator[bytes]:
        for each in self._stream:
            yield each

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = json.loads(await Request(scope, receive).body())
        if asked["stream"]:
            answer: Response = StreamingResponse(self._pieces(), media_type="text/event-stream")
        else:
            answer = Response(self._whole, media_type="application/json")
        await answer(scope, receive, send)


def asked(client: httpx2.Client, url: str, *, stream: bool) -> tuple[float, float]:
    """Milliseconds to the first piece, and to the end."""
    body = {"model": "gpt-5", "messages": HISTORY, "stream": stream}
    since = perf_counter()
    with client.stream("POST", url, json=body) as answer:
        first, end = 0.0, 0
        for each in answer.iter_raw():
            first = first or perf_counter() - since
            end += len(each)
        assert answer.status_code == 200, answer.status_code
        assert end > 500, end
    return first * 1000, (perf_counter() - since) * 1000


def told(name: str, bare: list[float], through: list[float]) -> None:
    tenth = [statistics.quantiles(each, n=10)[0] for each in (bare, through)]
    half = [statistics.median(each) for each in (bare, through)]
    print(f"{name:32}" + "".join(f"{a:9.2f}{b:9.2f}{b - a:9.2f}" for a, b in (tenth, half)))


def main() -> None:
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    pieces = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    here = listening(Tcp())
    server = uvicorn.Server(
        uvicorn.Config(Answering(pieces), lifespan="off", log_level="critical", access_log=False)
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        anyio.from_thread.start_blocking_portal() as portal,
    ):
        serving = portal.start_task_soon(server.serve, [here])
        base = f"http://127.0.0.1:{here.getsockname()[1]}/v1"
        with (
            TraceWriter(Path(folder) / "trace.jsonl") as trace,
            ModelProxy(Tcp()) as proxy,
            httpx2.Client(trust_env=False, timeout=60) as client,
        ):
            way = Way(
                run="a/b/factual/1",
                upstream=Upstream("openai/gpt-5", base, "no-key"),
                guard=Guard("synthetic", None),
                ledger=Ledger(Path(folder) / "study"),
                folder=Path(folder) / "cell",
                record=trace.write,
                clock=perf_counter,
                budget=Budget(seconds=3_600),
                prices=shipped(),
            )
            line = proxy.open(way)
            urls = (f"{base}/chat/completions", f"{proxy.origin}{line.path}/v1/chat/completions")
            print(
                f"{requests} requests of {len(json.dumps(HISTORY)):,} bytes each way; streams of {pieces} pieces; milliseconds\n"
            )
            print(f"{'':32}" + "".join(f"{each:>9}" for each in ("bare", "proxied", "added") * 2))
            print(f"{'':32}{'quickest tenth':>27}{'median':>27}")
            for stream in (False, True):
                found: list[list[tuple[float, float]]] = [[], []]
                for n in range(requests + 5):
                    for at, url in enumerate(urls):
                        took = asked(client, url, stream=stream)
                        if n >= 5:  # connections are open, caches warm
                            found[at].append(took)
                how = "streamed" if stream else "whole"
                told(f"{how}, to the first piece", *([each[0] for each in one] for one in found))
                told(f"{how}, to the end", *([each[1] for each in one] for one in found))
            since = process_time()
            for _ in range(requests):
                asked(client, urls[0], stream=True)
            plain = process_time() - since
            since = process_time()
            for _ in range(requests):
                asked(client, urls[1], stream=True)
            print(
                f"\nprocessor time of a streamed request, client and server within: bare {plain / requests * 1000:.2f} ms, proxied {(process_time() - since) / requests * 1000:.2f} ms"
            )
            proxy.close(line)
            spend = way.ledger.spend()
            assert spend.open == 0
            assert len(spend.requests) == 2 * (requests + 5) + requests
            assert line.usage.tokens_in == 10_000 * len(spend.requests), line.usage
        server.should_exit = True
        serving.result()


if __name__ == "__main__":
    main()
