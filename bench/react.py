"""What `react` adds to a turn: a bare loop, ours, and Inspect's own agent, in turn, in one run.

    python bench/react.py [TURNS] [ROUNDS]

A server on loopback answers at once with one more call, and after so many with a report: what is
measured is the way, not the model. The bare loop posts the history and calls the tool, and keeps
nothing. Ours records the run: proxy, exchanges, ledger, trace, Inspect's log. Inspect's runs in an
`eval()` of one sample, straight at the server, and writes its log.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import anyio.from_thread
import httpx2
import uvicorn
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.tool import ToolDef, ToolParams
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from chartproof import api
from chartproof.catalog.read import policies
from chartproof.chart.chart import Chart
from chartproof.models.egress import Guard
from chartproof.records.study import Budget
from chartproof.records.system import Model, ReactSystem
from chartproof.runs.errand import Errand
from chartproof.runs.makers import Means
from chartproof.runs.react import make
from chartproof.tools.endpoint import Tcp, listening
from chartproof.tools.gateway import Gateway
from chartproof.tools.trace import TraceWriter

PROMPT = "Audit this chart. " * 300


class Calling:
    """Calls `encounters` so many times, then reports."""

    def __init__(self, turns: int) -> None:
        self._turns = turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        body = json.loads(await request.body())
        said = sum(each["role"] == "assistant" for each in body["messages"])
        call = {
            "id": f"c{said}",
            "type": "function",
            "function": {"name": "encounters", "arguments": "{}"},
        }
        more = said < self._turns - 1
        message: dict[str, Any] = {"role": "assistant", "content": "" if more else "**Yes**"}
        if more:
            message["tool_calls"] = [call]
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if more else "stop"}
        usage = {"prompt_tokens": 1_000, "completion_tokens": 10, "total_tokens": 1_010}
        answer = {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
        await JSONResponse(answer)(scope, receive, send)


def bare(url: str, chart: Chart, _folder: Path) -> None:
    gateway = Gateway(chart, policies(), lambda _: None)
    tools = [{"type": "function", "function": spec} for spec in gateway.specs()]
    messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
    with httpx2.Client(trust_env=False) as client:
        while True:
            asked = {"model": "m", "messages": messages, "tools": tools}
            said = client.post(f"{url}/v1/chat/completions", json=asked).json()["choices"][0][
                "message"
            ]
            messages.append(said)
            if "tool_calls" not in said:
                return
            for call in said["tool_calls"]:
                text = gateway.call(
                    call["function"]["name"], json.loads(call["function"]["arguments"])
                )
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})


def ours(url: str, chart: Chart, folder: Path) -> None:
    entry = ReactSystem(
        kind="react", name="m", model=Model(id="bench/m", base_url=f"{url}/v1"), turns=500
    )
    system = make(entry, Means(folder, "s", "synthetic", guard=Guard("synthetic", None)))
    cell = folder / "runs" / "s" / "m" / "c" / "factual" / "1"
    cell.mkdir(parents=True)
    with TraceWriter(cell / "trace.jsonl") as trace:
        gateway = Gateway(chart, policies(), trace.write)
        budget = Budget(calls=1_000, seconds=600)
        system.answer(Errand(PROMPT, gateway, trace.write, cell, budget, perf_counter))


def plain_inspect(url: str, chart: Chart, folder: Path) -> None:
    gateway = Gateway(chart, policies(), lambda _: None)

    def tool(spec: dict[str, Any]) -> ToolDef:
        async def execute(**kwargs: Any) -> str:
            return gateway.call(spec["name"], kwargs)

        given = {
            key: spec["parameters"][key]
            for key in ("properties", "required")
            if key in spec["parameters"]
        }
        return ToolDef(
            execute,
            name=spec["name"],
            description=spec["description"],
            parameters=ToolParams.model_validate(given),
        )

    agent = react(prompt=None, tools=[tool(spec) for spec in gateway.specs()], submit=False)
    model = get_model("openai-api/bench/m", base_url=f"{url}/v1", api_key="none", memoize=False)
    [log] = evaluate(
        Task(dataset=[Sample(input=PROMPT)], solver=agent),
        model=model,
        log_dir=str(folder / "log"),
        display="none",
    )
    assert log.status == "success"


def main(turns: int, rounds: int) -> None:
    ways: dict[str, Callable[[str, Chart, Path], None]] = {
        "bare": bare, "chartproof": ours, "inspect": plain_inspect,
    }  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as place,
        anyio.from_thread.start_blocking_portal() as portal,
    ):
        home = Path(place) / "home"
        source = api.source(synthetic=1, per_rule=1, seed=1, scenarios=["post-ct-aki"])
        api.build_store(source, home, lambda _stage: lambda _done, _all: None)
        cases = api.build_cases(home, scenarios=["post-ct-aki"], per_rule=1, seed=1)
        path = home / "cases" / "charts" / cases.cases[0].charts["factual"]
        socket = listening(Tcp())
        server = uvicorn.Server(
            uvicorn.Config(Calling(turns), lifespan="off", log_level="critical", access_log=False)
        )
        serving = portal.start_task_soon(server.serve, [socket])
        url = f"http://127.0.0.1:{socket.getsockname()[1]}"
        wall: dict[str, list[float]] = {name: [] for name in ways}
        cpu: dict[str, list[float]] = {name: [] for name in ways}
        for n in range(rounds + 1):
            for name, way in ways.items():
                folder = Path(place) / f"{name}{n}"
                folder.mkdir()
                with Chart.open(path) as chart:
                    began, used = perf_counter(), process_time()
                    way(url, chart, folder)
                    if n:  # the first round imports and warms up
                        wall[name].append((perf_counter() - began) * 1_000 / turns)
                        cpu[name].append((process_time() - used) * 1_000 / turns)
        server.should_exit = True
        serving.result()
    print(f"{turns} turns, median of {rounds} rounds; the server's own time is in all")
    for name in ways:
        w, c = statistics.median(wall[name]), statistics.median(cpu[name])
        base = statistics.median(cpu["bare"])
        print(
            f"{name:12} {w:7.1f} ms a turn, {c:6.1f} ms of processor, {c / base:4.1f} times the bare loop"
        )


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    main(*(numbers + [20, 5][len(numbers) :]))
