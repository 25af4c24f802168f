"""Every way in which an endpoint fails, answers oddly, or ends an episode."""

from __future__ import annotations

import json
from pathlib import Path

from tests.golden import scripted
from tests.golden.paths import Json
from tests.golden.scripted import after, always, error, first, good, ok, on
from tests.servers import fake

NEVER = fake.send(b"", then="stall")
RESET = fake.send(b"", then="reset")
CLOSED = fake.send(b"", then="close")
TORN = fake.send(b'HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{"choices": [', then="close")
HALF = fake.send(b"HTTP/1.1 200 OK\r\ncontent-le", then="close")
TOO_LONG = "This model's maximum context length is 4096 tokens, you asked for 9000"
TEMPERATURE = error(
    400, "Unsupported value: 'temperature' does not support 0.5", param="temperature",
    code="unsupported_value",
)  # fmt: skip


def message(finish: str = "stop", **fields: object) -> bytes:
    """Write a completion whose message has these fields."""
    return ok(fake.reply({"role": "assistant", "content": None, **fields}, finish))


def call(**function: object) -> bytes:
    """Write a completion with one call."""
    return message("tool_calls", tool_calls=[{"id": "c", "type": "function", "function": function}])


REFUSALS: dict[str, scripted.Behaviour] = {
    "status-401": always(error(401, "Incorrect API key provided: sk-abc", code="invalid_api_key")),
    "status-402": always(error(402, "Payment required")),
    "status-403": after(4, error(403, "You may not use this model")),
    "status-404": always(error(404, "The model `m` does not exist", code="model_not_found")),
    "status-404-html": always(fake.raw(404, b"<html><h1>Not Found</h1></html>")),
    "status-400-always": always(error(400, "bad schema")),
    "status-400-three-words": lambda said: error(400, f"bad thing number {said.item}"),
    "status-400-one-item": on([2], error(400, "bad schema")),
    "status-400-pictures": always(error(400, "At most 0 image(s) may be provided")),
    "status-400-no-body": always(fake.raw(400, b"")),
    "status-400-list": always(fake.raw(400, b'[{"error": {"code": 400, "message": "listed"}}]')),
    "status-400-detail": always(fake.raw(400, b'{"detail": [{"loc": ["body"], "msg": "no"}]}')),
    "status-400-later": after(3, error(400, "bad schema")),
    "status-422": always(error(422, "Unprocessable: tools")),
    "status-413": always(error(413, "Request too large")),
    "status-418": always(error(418, "teapot")),
    "status-301": always(fake.raw(301, b"", {"location": "http://127.0.0.1:1/v1"})),
    "status-204": always(fake.raw(204, b"")),
    "quota-429": always(error(429, "You exceeded your current quota", code="insufficient_quota")),
    "context-first": on([1, 3], error(400, TOO_LONG, code="context_length_exceeded")),
    "context-always": always(error(400, TOO_LONG)),
    "context-500": on([1], error(500, "the request exceeds the available context size")),
    "max-tokens-too-large": always(error(
        400, "max_tokens is too large: 9000. maximum context length is 4096 tokens")),
    "filter-400": on([1, 4], error(400, "flagged", code="content_filter")),
    "tool-use-failed": on([1], error(
        400, "Failed to call a function", code="tool_use_failed", failed_generation="<add>")),
    "error-in-200": on([1, 2], ok({"error": {"message": "upstream died", "code": 502}})),
    "error-in-200-refused": always(ok({"error": {"message": "no key", "code": "invalid_api_key"}})),
}  # fmt: skip
PASSING: dict[str, scripted.Behaviour] = {
    "status-408": first(1, error(408, "Request timeout")),
    "status-409": first(1, error(409, "Conflict")),
    "status-429": first(2, error(429, "slow down")),
    "status-429-after": first(1, error(429, "slow down", {"retry-after": "3"})),
    "status-429-after-ms": first(1, error(429, "slow down", {"retry-after-ms": "1500"})),
    "status-429-tomorrow": on([1], error(429, "slow down", {"retry-after": "86400"})),
    "status-429-odd-after": first(1, error(429, "slow down", {"retry-after": "soon"})),
    "status-429-negative-after": first(1, error(429, "slow down", {"retry-after": "-5"})),
    "status-429-always": on([1, 2], error(429, "Rate limit reached for requests")),
    "status-500": first(1, error(500, "internal")),
    "status-502": on([1], fake.raw(502, b"<html>Bad Gateway</html>")),
    "status-503": first(2, error(503, "loading", {"retry-after": "2"})),
    "status-503-worker": on([1], error(503, "upstream vision worker: 422: out of memory")),
    "status-504": on([1], error(504, "gateway timeout")),
    "status-529": first(1, error(529, "overloaded", type="overloaded_error")),
    "reset": on([1], RESET),
    "closed": on([1], CLOSED),
    "torn": on([1], TORN),
    "half-a-head": on([1], HALF),
    "not-json": on([1], ok(b"<html>hello</html>")),
    "not-utf8": on([1], ok(b'{"choices": "\xff\xfe"}')),
    "empty-body": on([1], ok(b"")),
    "json-list": on([1], ok([])),
    "json-null": on([1], ok(None)),
    "no-choices": on([1], ok({"choices": []})),
    "choices-null": on([1], ok({"choices": None})),
}  # fmt: skip
ENDINGS: dict[str, scripted.Behaviour] = {
    "good": good,
    "filter": on([1], message("content_filter", content="I")),
    "refusal": on([1], message(refusal="I will not")),
    "length": on([1], message("length", content="It is")),
    "length-in-a-call": on([1], message("length", tool_calls=[
        {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"of": ['}}])),
    "no-content": on([1], message()),
    "content-parts": on([1], message(content=[{"type": "text", "text": "2"}])),
    "content-number": on([1], message(content=2)),
    "reasoning": on([1], message(content="2", reasoning_content="1 + 1")),
    "think": on([1], message(content="<think>hm</think>2")),
    "unknown-finish": on([1], message("whatever", content="2")),
    "call-without-name": on([1], call(arguments="{}")),
    "call-with-object": on([1], call(name="add", arguments={"of": [1, 1]})),
    "call-with-null": on([1], call(name="add", arguments=None)),
    "call-no-json": on([1], call(name="add", arguments="{of: [1, 1]")),
    "call-list": on([1], call(name="add", arguments="[1, 1]")),
    "call-unknown-tool": on([1], call(name="subtract", arguments="{}")),
    "calls-not-a-list": on([1], message("tool_calls", tool_calls={"name": "add"})),
    "old-function-call": on([1], message(
        "function_call", function_call={"name": "add", "arguments": '{"of": [1, 1]}'})),
    "calls-for-ever": lambda said: ok(fake.calls(("add", json.dumps({"of": [said.item, 1]})))),
    "many-calls": on([1, 2], ok(fake.calls(*[("add", '{"of": [1, 1]}')] * 5))),
    "wrong-answers": lambda said: ok(fake.says(str(said.item + said.item % 2))),
    "nothing": always(ok(fake.says(""))),
    "usage-odd": on([1], ok({**fake.says("2"), "usage": {"prompt_tokens": "x"}})),
    "usage-none": on([1], ok({**fake.says("2"), "usage": None})),
    "model-names": lambda said: ok({**fake.says("2"), "model": f"served-{said.item % 2}"}),
}  # fmt: skip
SETTINGS = ("--temperature", "0.5", "--top-p", "0.9", "--max-tokens", "50")


def record(folder: Path) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for group in (REFUSALS, PASSING, ENDINGS):
        for name, behave in group.items():
            made[name] = scripted.command(folder / name, behave)
    dropped = {
        "dropped-temperature": TEMPERATURE,
        "dropped-top-p": error(400, "`temperature` and `top_p` cannot both be specified"),
        "dropped-max-tokens": error(
            400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            param="max_tokens"),
        "out-of-range": error(400, "temperature must be less than 0.4", param="temperature"),
    }  # fmt: skip
    keys = {"dropped-temperature": "temperature", "dropped-top-p": "top_p",
            "dropped-max-tokens": "max_tokens", "out-of-range": "temperature"}  # fmt: skip
    for name, response in dropped.items():
        made[name] = scripted.command(
            folder / name,
            lambda said, name=name, response=response: (  # type: ignore[misc]
                response if keys[name] in said.body else good(said)
            ),
            *SETTINGS,
        )
    made["breaker"] = scripted.command(
        folder / "breaker", always(error(503, "overloaded")), "--max-retries", "0", n=30
    )
    made["breaker-later"] = scripted.command(
        folder / "breaker-later", after(8, RESET), "--max-retries", "0", n=30
    )
    made["breaker-not-in-a-row"] = scripted.command(
        folder / "breaker-not-in-a-row",
        lambda said: good(said) if said.item % 10 == 0 else error(503, "flaky"),
        "--max-retries", "0", n=40,
    )  # fmt: skip
    made["timeout"] = scripted.command(
        folder / "timeout", on([1], NEVER), "--timeout", "3", "--max-retries", "0", n=2
    )
    made["time-limit"] = scripted.command(
        folder / "time-limit", on([1], NEVER), "--time-limit", "3", n=2
    )
    made["unreachable"] = scripted.command(
        folder / "unreachable", good, "--max-retries", "1",
        model=f"http://127.0.0.1:{fake.unused()}/v1#m",
    )  # fmt: skip
    made["json"] = scripted.command(folder / "json", on([1], error(400, "bad")), "--json")
    made["fail-under"] = scripted.command(
        folder / "fail-under", ENDINGS["wrong-answers"], "--fail-under", "0.9"
    )
    made["repeats"] = scripted.command(
        folder / "repeats", lambda said: ok(fake.says(str(1 + said.n % 3))), "--repeats", "4"
    )
    made["selection"] = scripted.command(
        folder / "selection", good, "--ids", "sum-1,sum-4", "--limit", "1"
    )
    return made
