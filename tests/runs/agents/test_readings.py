"""What the events of agents' programs are taken for: shapes as those programs wrote them."""

import json
from typing import Any

import pytest

from chartproof.runs.agents.cli import HARNESSES
from chartproof.runs.agents.harness import Reading

REPORT = 'Done.\n\n```json\n{"verdict": "Yes", "confidence": 0.8}\n```'
Events = list[dict[str, Any]]


def read(kind: str, events: Events) -> Reading:
    reading = HARNESSES[kind].reading()
    for event in events:
        reading.line(json.dumps(event).encode())
    return reading


def init(status: str = "connected") -> dict[str, Any]:
    return {
        "type": "system",
        "subtype": "init",
        "model": "claude-sonnet-4-6",
        "tools": ["mcp__chart__labs"] if status == "connected" else [],
        "mcp_servers": [{"name": "chart", "status": status}],
    }


def oc_step(reason: str) -> dict[str, Any]:
    tokens = {"input": 1200, "output": 40, "reasoning": 10, "cache": {"read": 300, "write": 0}}
    return {"type": "step_finish", "part": {"reason": reason, "tokens": tokens}}


WELL: dict[str, Events] = {
    "claude_code": [
        init(),
        {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text"}]}},
        {"type": "assistant", "message": {"id": "m1", "content": [
            {"type": "tool_use", "name": "mcp__chart__labs", "input": {}}]}},
        {"type": "result", "subtype": "success", "is_error": False, "num_turns": 2,
         "result": REPORT, "usage": {"input_tokens": 0, "output_tokens": 0},
         "modelUsage": {"claude-sonnet-4-6": {"inputTokens": 2001, "outputTokens": 100,
                        "cacheReadInputTokens": 600, "cacheCreationInputTokens": 400}}},
    ],
    "codex": [
        {"type": "item.completed", "item": {"type": "error", "message": "deprecated"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Looking."}},
        {"type": "item.completed", "item": {"type": "mcp_tool_call", "server": "chart"}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": REPORT}},
        {"type": "turn.completed", "usage": {"input_tokens": 3001, "cached_input_tokens": 600,
         "output_tokens": 100, "reasoning_output_tokens": 20}},
    ],
    "gemini_cli": [
        {"type": "init", "model": "gemini-2.5-pro"},
        {"type": "message", "role": "user", "content": "The question."},
        {"type": "message", "role": "assistant", "content": "Looking.", "delta": True},
        {"type": "tool_use", "tool_name": "mcp_chart_labs", "parameters": {}},
        {"type": "message", "role": "assistant", "content": REPORT[:9], "delta": True},
        {"type": "message", "role": "assistant", "content": REPORT[9:], "delta": True},
        {"type": "result", "status": "success", "stats": {"total_tokens": 3121,
         "input_tokens": 3001, "output_tokens": 100, "cached": 600,
         "models": {"gemini-2.5-pro-002": {}}}},
    ],
    "opencode": [
        {"type": "step_start", "part": {}},
        {"type": "text", "part": {"text": "Looking."}},
        {"type": "tool_use", "part": {"tool": "chart_labs"}},
        oc_step("tool-calls"),
        {"type": "step_start", "part": {}},
        {"type": "text", "part": {"text": REPORT}},
        oc_step("stop"),
    ],
}  # fmt: skip
TOKENS = {
    "claude_code": (3001, 600, 100, None),
    "codex": (3001, 600, 100, 20),
    "gemini_cli": (3001, 600, 100, 20),
    "opencode": (3000, 600, 100, 20),
}


@pytest.mark.parametrize("kind", WELL)
def test_the_last_text_is_the_report_and_what_is_claimed_is_kept_apart(kind: str) -> None:
    reading = read(kind, WELL[kind])
    assert reading.report == REPORT
    claims = reading.claims
    assert claims.calls == 1
    told = (claims.tokens_in, claims.tokens_cached, claims.tokens_out, claims.tokens_reasoning)
    assert told == TOKENS[kind]


@pytest.mark.parametrize("kind", WELL)
def test_what_was_said_before_the_last_call_is_no_report(kind: str) -> None:
    events = WELL[kind]
    last = max(n for n, each in enumerate(events) if "labs" in json.dumps(each)
               or "mcp_tool_call" in json.dumps(each))  # fmt: skip
    assert read(kind, events[: last + 1]).report is None


FAILED: dict[str, Events] = {
    "claude_code": [
        init(),
        {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 500,
         "result": "API Error: 500 nobody is there"},
    ],
    "codex": [
        {"type": "item.completed", "item": {"type": "agent_message", "text": "Half an"}},
        {"type": "error", "message": "Reconnecting... 1/1"},
        {"type": "turn.failed", "error": {"message": "500 nobody is there"}},
    ],
    "gemini_cli": [
        {"type": "message", "role": "assistant", "content": "Half an", "delta": True},
        {"type": "result", "status": "error", "error": {"message": "500 nobody is there"}},
    ],
    "opencode": [
        {"type": "step_start", "part": {}},
        {"type": "text", "part": {"text": "Half an"}},
        {"type": "error", "error": {"name": "A", "data": {"message": "500 nobody is there"}}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", FAILED)
def test_the_text_of_a_failure_is_a_complaint_and_no_report(kind: str) -> None:
    reading = read(kind, FAILED[kind])
    assert reading.report is None
    assert "nobody is there" in reading.claims.complaints[-1]


def test_claude_that_reached_its_limit_of_turns_reports_nothing() -> None:
    reading = read("claude_code", [init(), {"type": "result", "subtype": "error_max_turns"}])
    assert reading.report is None
    assert reading.claims.complaints == ["error_max_turns"]


@pytest.mark.parametrize(
    ("status", "ready"), [("connected", True), ("pending", False), ("failed", False)]
)
def test_claude_says_before_its_first_turn_whether_the_tools_are_there(
    status: str, ready: bool
) -> None:
    assert read("claude_code", [init(status)]).ready is ready


def test_an_answer_of_opencode_that_was_cut_is_no_report() -> None:
    events = [*WELL["opencode"][:-1], oc_step("unknown")]
    assert read("opencode", events).report is None


@pytest.mark.parametrize("kind", WELL)
def test_lines_that_are_no_events_are_passed_over(kind: str) -> None:
    reading = HARNESSES[kind].reading()
    for raw in (b"", b"Warning: 256 colours", b"[1, 2]", b"null", b'{"type": 7}', b"\xff\xfe",
                b'{"type":"result","stats":7}', b"[" * 5000,
                b'{"type":"item.completed","item":[]}', b'{"message":"x"}'):  # fmt: skip
        reading.line(raw)
    for event in WELL[kind]:
        reading.line(json.dumps(event).encode())
    assert reading.report == REPORT
