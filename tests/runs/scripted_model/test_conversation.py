"""What clients send is read for what it is, however they wrap it and whatever they name it."""

import json

import pytest

from chartproof.errors import SpecError
from chartproof.runs.scripted_model import chat, gemini, messages, responses
from chartproof.runs.scripted_model.conversation import (
    Asked,
    Call,
    Exchange,
    Offered,
    Reply,
    fitting,
    unwrapped,
)
from chartproof.runs.scripted_model.naming import called, recognised

ANSWER = 'call 3 · labs · 1 row · complete\n[labevents:101] | a | {"x": [1]}\nnote: "quoted"'


@pytest.mark.parametrize(
    "wrapped",
    [
        ANSWER,
        [{"type": "text", "text": ANSWER}],
        json.dumps([{"type": "text", "text": ANSWER}]),
        json.dumps({"content": [{"type": "text", "text": ANSWER}]}),
        f"Wall time: 0.1 seconds\nOutput:\n{json.dumps([{'type': 'text', 'text': ANSWER}])}",
        f"Wall time: 0.1 seconds\nOutput:\n{ANSWER}",
        [{"text": "Wall time: 0.1 seconds\nOutput:"}, {"type": "input_text", "text": ANSWER}],
        {"output": f"<untrusted_context>\n{ANSWER}\n</untrusted_context>"},
        f"{ANSWER}\n\n<system-reminder>\nMind the date.\n</system-reminder>",
    ],
)
def test_an_answer_is_taken_out_of_its_wrapping(wrapped: object) -> None:
    assert unwrapped(wrapped) == ANSWER


def test_what_is_no_answer_of_ours_is_left_as_it_is() -> None:
    assert unwrapped({"error": "No such tool [x] {y}"}) == "No such tool [x] {y}"
    assert unwrapped(None) == ""


def test_tools_are_known_by_the_end_of_their_names() -> None:
    for prefix in ("", "mcp__ehr__", "ehr_", "mcp_ehr_", "chart-1."):
        offered = [Offered(prefix + name) for name in ("orders", "medication_orders", "labs")]
        found = recognised(offered)
        assert {own: tool.name for own, tool in found.items()} == {
            "orders": f"{prefix}orders",
            "medication_orders": f"{prefix}medication_orders",
            "labs": f"{prefix}labs",
        }
    assert called("mcp__ehr__medication_orders") == "medication_orders"
    assert recognised([Offered("Bash"), Offered("relabs"), Offered("update_topic")]) == {}


def test_a_tool_of_the_clients_own_does_not_stand_for_one_of_ours() -> None:
    offered = [Offered("notes"), *(Offered(f"mcp__ehr__{name}") for name in ("notes", "labs"))]
    assert recognised(offered)["notes"].name == "mcp__ehr__notes"
    assert recognised(list(reversed(offered)))["notes"].name == "mcp__ehr__notes"


def test_the_prompt_is_found_among_what_a_client_adds() -> None:
    prompt = "# Role\n\nYou audit.\n\n# Question\n\nDid it?\n"
    reminder = "<system-reminder>As you answer, mind:\n# Memory\nnone</system-reminder>"
    body = {
        "model": "m",
        "messages": [
            {"role": "user", "content": [{"text": reminder}, {"text": prompt}, {"text": "Go."}]},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "Please go on."},
        ],
    }
    assert chat.read(body).prompt == prompt
    assert messages.read(body).prompt == prompt
    told = {"instructions": prompt, "input": [{"role": "user", "content": "Please go on."}]}
    assert responses.read(told).prompt == prompt
    assert responses.read({"input": "Just this"}).prompt == "Just this"


def test_turns_are_counted_by_answers_of_the_model_not_by_their_parts() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "labs", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "x"}
    said = {"role": "assistant", "content": [{"type": "output_text", "text": "Well."}]}
    items = [{"role": "user", "content": "Go"}, said, call, {**call, "call_id": "d"}, answer]
    asked = responses.read({"input": items})
    assert asked.turn == 2
    assert [each.answer for each in asked.exchanges] == ["x", None]


def test_calls_of_gemini_are_answered_in_their_order() -> None:
    def call(n: int) -> dict[str, object]:
        return {"functionCall": {"name": "labs", "args": {"page": n}}}

    def answer(text: str) -> dict[str, object]:
        return {"functionResponse": {"name": "labs", "response": {"output": text}}}

    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "Go"}]},
            {"role": "model", "parts": [call(1), call(2)]},
            {"role": "user", "parts": [answer("one"), answer("two")]},
        ]
    }
    asked = gemini.read(body, "g", stream=False)
    assert [(e.arguments["page"], e.answer) for e in asked.exchanges] == [(1, "one"), (2, "two")]


def test_what_leans_on_an_earlier_request_or_is_none_is_refused() -> None:
    with pytest.raises(SpecError, match="whole history"):
        responses.read({"input": "x", "previous_response_id": "r"})
    for read in (chat.read, messages.read):
        with pytest.raises(SpecError, match="`messages`"):
            read({"model": "m", "messages": "hello"})
    with pytest.raises(SpecError, match="`contents`"):
        gemini.read({}, "g", stream=False)


def test_an_answer_to_a_schema_fits_it() -> None:
    schema = {
        "type": "object",
        "required": ["choice", "score", "parts", "sure"],
        "properties": {
            "choice": {"enum": ["flash", "pro"]},
            "score": {"type": "integer", "minimum": 1},
            "parts": {"type": "array", "minItems": 1, "items": {"type": "STRING"}},
            "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "left out": {"type": "string"},
        },
    }
    assert fitting(schema) == {"choice": "flash", "score": 1, "parts": ["none"], "sure": False}


EXEC = {
    "type": "namespace",
    "name": "functions",
    "tools": [{"type": "custom", "name": "exec", "description": "Run JavaScript. ALL_TOOLS"}],
}


def asked_in_programs(*items: dict[str, object]) -> Asked:
    begun = [{"type": "additional_tools", "role": "developer", "tools": [EXEC]},
             {"role": "user", "content": "# Question\n\nDid patient 9000001?"}]  # fmt: skip
    return responses.read({"model": "m", "input": [*begun, *items]})


def sent(asked: Asked, call: Call) -> dict[str, object]:
    """A call as it goes back, which a client puts into the next request as it is."""
    (item,) = responses.whole(asked, Reply("m", "", (call,), "calls", "1", None))["output"]
    return item


def test_tools_that_are_called_in_programs_are_listed_first_and_then_called() -> None:
    begun = asked_in_programs()
    assert begun.tools == ()
    assert begun.finder is not None
    listing = sent(begun, Call(begun.finder, {}))
    assert listing["type"] == "custom_tool_call"
    listed = {
        "type": "custom_tool_call_output", "call_id": listing["call_id"],
        "output": [{"type": "input_text", "text": "Script completed\nOutput:\n"},
                   {"type": "input_text", "text": "apply_patch mcp__ehr__labs mcp__ehr__sql"}],
    }  # fmt: skip
    then = asked_in_programs(listing, listed)
    assert then.finder is None
    assert then.exchanges == ()
    labs = recognised(then.tools)["labs"]
    assert labs == Offered("mcp__ehr__labs", kind="code")
    call = sent(then, Call(labs, {"items": ["creatinine"]}))
    assert 'await tools.mcp__ehr__labs({"items": ["creatinine"]})' in str(call["input"])
    answer = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": [
        {"type": "input_text", "text": f"Script completed\nOutput:\n{ANSWER}"}]}  # fmt: skip
    last = asked_in_programs(listing, listed, call, answer)
    assert last.exchanges == (Exchange("mcp__ehr__labs", {"items": ["creatinine"]}, ANSWER),)
    assert last.turn == 3


def test_tools_that_are_held_back_are_searched_for_first_and_once() -> None:
    search = {"type": "tool_search", "execution": "client"}
    user = {"role": "user", "content": "Go"}
    begun = responses.read({"input": [user], "tools": [search]})
    assert begun.finder == Offered("tool_search", kind="search")
    call = sent(begun, Call(begun.finder, {"query": "labs", "limit": 9}))
    assert call["type"] == "tool_search_call"
    for found in ([], [{"type": "namespace", "name": "mcp__ehr", "tools": [{"name": "labs"}]}]):
        output = {"type": "tool_search_output", "call_id": call["call_id"], "tools": found}
        then = responses.read({"input": [user, call, output], "tools": [search]})
        assert then.finder is None
        assert then.tools == ((Offered("labs", "mcp__ehr"),) if found else ())
