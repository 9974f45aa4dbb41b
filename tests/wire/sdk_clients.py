"""Works cases by the SDKs of three providers: `python sdk_clients.py`, JSON in and out.

It knows nothing of chartproof.
"""

import json
import sys
from typing import Any

import anthropic
import openai
from google import genai
from google.genai import types

MOST = 40


def chat(asked: dict[str, Any], stream: bool) -> dict[str, Any]:
    client = openai.OpenAI(base_url=f"{asked['url']}/v1", api_key="none", max_retries=1)
    tools = [{"type": "function", "function": spec} for spec in asked["specs"]]
    history: list[Any] = [{"role": "user", "content": asked["prompt"]}]
    calls = []
    for _ in range(MOST):
        how = {"model": "m-1", "messages": history, "tools": tools}
        if stream:
            with client.chat.completions.stream(
                **how, stream_options={"include_usage": True}
            ) as events:
                for _event in events:
                    pass
                said = events.get_final_completion()
        else:
            said = client.chat.completions.create(**how)
        (choice,) = said.choices
        if choice.finish_reason != "tool_calls":
            usage = [said.usage.prompt_tokens, said.usage.prompt_tokens_details.cached_tokens]
            return told(said.model, choice.message.content, calls, usage)
        (call,) = choice.message.tool_calls
        calls.append([call.function.name, json.loads(call.function.arguments)])
        history += [
            {"role": "assistant", "tool_calls": [{
                "id": call.id, "type": "function", "function": {
                    "name": call.function.name, "arguments": call.function.arguments}}]},
            {"role": "tool", "tool_call_id": call.id, "content": asked["answer"]},
        ]  # fmt: skip
    raise SystemExit("There was no end.")


def responses(asked: dict[str, Any], stream: bool) -> dict[str, Any]:
    client = openai.OpenAI(base_url=f"{asked['url']}/v1", api_key="none", max_retries=1)
    tools = [{"type": "function", "strict": False, **spec} for spec in asked["specs"]]
    history: list[Any] = [{"role": "user", "content": asked["prompt"]}]
    calls = []
    for _ in range(MOST):
        how = {"model": "m-1", "input": history, "tools": tools}
        if stream:
            with client.responses.stream(**how) as events:
                for _event in events:
                    pass
                said = events.get_final_response()
        else:
            said = client.responses.create(**how)
        made = [item for item in said.output if item.type == "function_call"]
        if not made:
            usage = [said.usage.input_tokens, said.usage.input_tokens_details.cached_tokens]
            return told(said.model, said.output_text, calls, usage)
        (call,) = made
        calls.append([call.name, json.loads(call.arguments)])
        history += [
            {"type": "function_call", "call_id": call.call_id, "name": call.name,
             "arguments": call.arguments},
            {"type": "function_call_output", "call_id": call.call_id, "output": asked["answer"]},
        ]  # fmt: skip
    raise SystemExit("There was no end.")


def messages(asked: dict[str, Any], stream: bool) -> dict[str, Any]:
    client = anthropic.Anthropic(base_url=asked["url"], api_key="none", max_retries=1)
    tools = [
        {"name": s["name"], "description": s["description"], "input_schema": s["parameters"]}
        for s in asked["specs"]
    ]
    history: list[Any] = [{"role": "user", "content": asked["prompt"]}]
    counted = client.messages.count_tokens(model="m-1", messages=history, tools=tools)
    first = None
    calls = []
    for _ in range(MOST):
        how = {"model": "m-1", "max_tokens": 8000, "messages": history, "tools": tools}
        if stream:
            with client.messages.stream(**how) as events:
                said = events.get_final_message()
        else:
            said = client.messages.create(**how)
        first = first or said.usage.input_tokens
        if said.stop_reason != "tool_use":
            assert counted.input_tokens == first
            (block,) = said.content
            cached = said.usage.cache_read_input_tokens
            return told(said.model, block.text, calls, [said.usage.input_tokens + cached, cached])
        (block,) = said.content
        calls.append([block.name, block.input])
        history += [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": block.id, "content": asked["answer"]}]},
        ]  # fmt: skip
    raise SystemExit("There was no end.")


def gemini(asked: dict[str, Any], stream: bool) -> dict[str, Any]:
    client = genai.Client(
        api_key="none",
        http_options=types.HttpOptions(
            base_url=asked["url"],
            retry_options=types.HttpRetryOptions(attempts=2, initial_delay=0.1),
        ),
    )
    declared = [
        types.FunctionDeclaration(
            name=s["name"], description=s["description"], parameters_json_schema=s["parameters"]
        )
        for s in asked["specs"]
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declared)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    history = [types.Content(role="user", parts=[types.Part(text=asked["prompt"])])]
    calls = []
    for _ in range(MOST):
        how = {"model": "m-1", "contents": history, "config": config}
        if stream:
            chunks = list(client.models.generate_content_stream(**how))
        else:
            chunks = [client.models.generate_content(**how)]
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts]
        made = [part.function_call for part in parts if part.function_call]
        last = chunks[-1]
        if not made:
            usage = last.usage_metadata
            text = "".join(part.text or "" for part in parts)
            counts = [usage.prompt_token_count, usage.cached_content_token_count]
            return told(last.model_version, text, calls, counts)
        (call,) = made
        calls.append([call.name, call.args])
        response = types.FunctionResponse(name=call.name, response={"output": asked["answer"]})
        history += [
            types.Content(role="model", parts=[types.Part(function_call=call)]),
            types.Content(role="user", parts=[types.Part(function_response=response)]),
        ]
    raise SystemExit("There was no end.")


def told(model: str, report: str, calls: list[Any], usage: list[Any]) -> dict[str, Any]:
    return {"model": model, "report": report, "calls": calls, "usage": usage}


def failed(asked: dict[str, Any], _stream: bool) -> dict[str, str]:
    """The name of what each SDK raises."""
    names = {}
    for name, work in WORKS.items():
        try:
            work({**asked, "specs": asked["specs"][:1]}, False)
            names[name] = "nothing"
        except Exception as error:
            names[name] = type(error).__name__
    return names


WORKS = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}

if __name__ == "__main__":
    given = json.load(sys.stdin)
    done = []
    for task in given["tasks"]:
        whole = {**given, **task}
        work = failed if task["what"] == "failed" else WORKS[task["what"]]
        done.append(work(whole, task.get("stream", False)))
    json.dump(done, sys.stdout)
