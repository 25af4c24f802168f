"""Trajectories as OpenTelemetry GenAI spans: OTLP JSON, one trace per line and episode.

A trajectory stores durations, not instants. The spans of an episode are laid end to end, and each
episode begins when its run was created; an attribute of the root span says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.files import atomic_file
from toolmark.core.records import (
    Audio,
    Call,
    Image,
    Message,
    Part,
    Result,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Usage,
)
from toolmark.core.version import TOOLMARK_VERSION
from toolmark.runs.run_store import Run
from toolmark.studio.traces import conventions as names
from toolmark.studio.traces.chat_messages import json_text
from toolmark.studio.traces.foreign_json import parse_foreign_json

TIME_BASIS = "durations laid end to end from the creation of the run; instants are not measured"
SCHEMA_URL = "https://opentelemetry.io/schemas/1.37.0"
_INTERNAL, _CLIENT = 1, 3  # SpanKind of the protocol
_OK, _ERROR = 1, 2  # StatusCode of the protocol
_PROVIDERS = {"gemini": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai"}
_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "refused": "content_filter",
    "malformed": "error",
    "over_long": "error",
}


def write_traces(runs: Sequence[Run], output: Path, *, with_content: bool) -> int:
    """Write the completed episodes of runs and return their number. Raises DataError."""
    n = 0
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(output) as draft, draft.open("wb") as file:
        for run in runs:
            for trajectory in run.trajectories():
                task = run.task(trajectory.task)
                export = export_episode(run, task, trajectory, with_content=with_content)
                file.write(json_codec.encode_record(export) + b"\n")
                n += 1
    return n


def export_episode(
    run: Run, task: Task, trajectory: Trajectory, *, with_content: bool
) -> dict[str, Any]:
    """Return one episode as an export of spans: an agent, its replies and its calls."""
    spans = _EpisodeSpans(run, task, trajectory, with_content).spans()
    service = {"service.name": "toolmark", "service.version": TOOLMARK_VERSION}
    scope = {"name": "toolmark", "version": TOOLMARK_VERSION}
    scope_spans = {"scope": scope, "spans": spans, "schemaUrl": SCHEMA_URL}
    resource = {"attributes": _attributes(service)}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [scope_spans]}]}


class _EpisodeSpans:
    """Makes the spans of one episode; `now_ns` is the end of what was made so far."""

    def __init__(self, run: Run, task: Task, trajectory: Trajectory, with_content: bool) -> None:
        self.plan = run.info.plan
        self.task = task
        self.trajectory = trajectory
        self.with_content = with_content
        self.trace = _sha256_of(
            self.plan.hash, run.info.created, run.info.tasks_sha256, task.id, trajectory.repeat
        )[:32]
        self.start_ns = self.now_ns = _creation_ns(run.info.created)
        self.root = self._span_id("agent")
        self.history: list[dict[str, Any]] = []

    def spans(self) -> list[dict[str, Any]]:
        """Return the spans, the root first."""
        inner = [
            span for n, step in enumerate(self.trajectory.steps) for span in self._step(n, step)
        ]
        return [self._agent_span(), *inner]

    def _agent_span(self) -> dict[str, Any]:
        attributes = {
            names.OPERATION_NAME: names.INVOKE_AGENT,
            names.PROVIDER_NAME: _provider(self.plan.model),
            names.AGENT_NAME: "toolmark",
            names.REQUEST_MODEL: self.plan.model,
            "toolmark.suite": self.plan.suite,
            "toolmark.task": self.task.id,
            "toolmark.repeat": self.trajectory.repeat,
            "toolmark.tool_format": self.trajectory.tool_format,
            "toolmark.ending": self.trajectory.ending,
            "toolmark.time_basis": TIME_BASIS,
            **_usage_attributes(self.trajectory.usage),
        }
        return self._span(
            self.root, f"{names.INVOKE_AGENT} toolmark", _INTERNAL, attributes,
            self.start_ns, self.now_ns,
        )  # fmt: skip

    def _step(self, n: int, step: Step) -> Iterator[dict[str, Any]]:
        """Yield the spans of the model's replies and those of the calls.

        An agent under test may have asked several times, or never.
        """
        self.history += [_message(message) for message in step.new_messages]
        calls = _with_ids(step.calls, n)
        if step.asked is None:
            yield self._chat_span(f"reply/{n}", step, calls)
        else:
            for k, reply in enumerate(step.asked):
                own = replace(step, reply=reply, calls=reply.calls, fault="")
                yield self._chat_span(f"reply/{n}/{k}", own, reply.calls)
        self.history.append(_reply_message(step, calls))
        durations_s = step.call_durations_s or (0.0,) * len(step.results)
        for k, (call, result) in enumerate(zip(calls, step.results, strict=False)):
            duration_s = durations_s[k] if k < len(durations_s) else 0.0
            yield self._tool_span(n, k, call, result, duration_s)
            response = {"type": "tool_call_response", "id": call.id, "response": _result(result)}
            self.history.append({"role": "tool", "parts": [response, *_media(result.parts)]})

    def _chat_span(self, key: str, step: Step, calls: Sequence[Call]) -> dict[str, Any]:
        reply, sampling = step.reply, self.plan.sampling
        attributes: dict[str, Any] = {
            names.OPERATION_NAME: names.CHAT,
            names.PROVIDER_NAME: _provider(self.plan.model),
            names.REQUEST_MODEL: self.plan.model,
            names.RESPONSE_MODEL: reply.model or None,
            names.REQUEST_TEMPERATURE: sampling.temperature,
            names.REQUEST_TOP_P: sampling.top_p,
            names.REQUEST_MAX_TOKENS: sampling.max_tokens,
            names.RESPONSE_FINISH_REASONS: [_finish_reason(step)],
            **_usage_attributes(reply.usage),
            "toolmark.turn": step.turn,
            "toolmark.fault": step.fault or None,
        }
        if self.with_content:
            output = {**_reply_message(step, calls), "finish_reason": _finish_reason(step)}
            tools = [_tool_definition(tool) for tool in self._offered_tools(step.turn)]
            attributes[names.OUTPUT_MESSAGES] = json_text([output])
            if step.asked is None:  # what an agent under test sent is its own
                attributes[names.INPUT_MESSAGES] = json_text(self.history)
                attributes[names.TOOL_DEFINITIONS] = json_text(tools)
        is_error = _FINISH_REASONS[reply.stop] == "error"
        return self._timed_span(
            key, f"{names.CHAT} {self.plan.model}", _CLIENT, attributes,
            reply.latency_s, reply.stop if is_error else "",
        )  # fmt: skip

    def _tool_span(
        self, n: int, k: int, call: Call, result: Result, duration_s: float
    ) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            names.OPERATION_NAME: names.EXECUTE_TOOL,
            names.TOOL_NAME: call.name,
            names.TOOL_TYPE: "function",
            names.TOOL_CALL_ID: call.id,
        }
        if self.with_content:
            attributes[names.TOOL_CALL_ARGUMENTS] = call.arguments
            attributes[names.TOOL_CALL_RESULT] = _result(result)
        return self._timed_span(
            f"call/{n}/{k}", f"{names.EXECUTE_TOOL} {call.name}", _INTERNAL, attributes,
            duration_s, "tool_error" if result.is_error else "",
        )  # fmt: skip

    def _timed_span(
        self, key: str, name: str, kind: int, attributes: dict[str, Any], duration_s: float,
        error: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Return a span that begins where the last one ended."""
        begin_ns = self.now_ns
        self.now_ns += max(0, round(duration_s * 1e9))
        if error:
            attributes[names.ERROR_TYPE] = error
        span = self._span(self._span_id(key), name, kind, attributes, begin_ns, self.now_ns)
        if error:
            span["status"] = {"code": _ERROR, "message": error}
        return {**span, "parentSpanId": self.root}

    def _span(
        self, id: str, name: str, kind: int, attributes: dict[str, Any], start_ns: int, end_ns: int
    ) -> dict[str, Any]:
        return {
            "traceId": self.trace,
            "spanId": id,
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(end_ns),
            "attributes": _attributes(attributes),
            "status": {"code": _OK},
        }

    def _span_id(self, key: str) -> str:
        return _sha256_of(self.trace, key)[:16]

    def _offered_tools(self, turn: int) -> list[Tool]:
        if self.trajectory.tools:
            return list(self.trajectory.tools)
        turns = self.task.turns[: turn + 1]
        return [*self.task.tools, *(tool for each in turns for tool in each.tools)]


# --- values -----------------------------------------------------------------------------


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return attributes; those that are None are left out."""
    return [{"key": n, "value": _any_value(v)} for n, v in values.items() if v is not None]


def _any_value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_any_value(each) for each in value]}}
        case _:
            return {"stringValue": str(value)}


def _usage_attributes(usage: Usage) -> dict[str, Any]:
    if usage == Usage():
        return {}
    return {
        names.USAGE_INPUT_TOKENS: usage.input,
        names.USAGE_OUTPUT_TOKENS: usage.output,
        names.USAGE_CACHE_READ_INPUT_TOKENS: usage.cached or None,
        names.USAGE_REASONING_OUTPUT_TOKENS: usage.reasoning or None,
    }


def _message(message: Message) -> dict[str, Any]:
    parts = [{"type": "text", "content": message.text}] if message.text else []
    return {"role": message.role, "parts": [*parts, *_media(message.parts)]}


def _reply_message(step: Step, calls: Sequence[Call]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if step.reply.reasoning:
        parts.append({"type": "reasoning", "content": step.reply.reasoning})
    if step.reply.text:
        parts.append({"type": "text", "content": step.reply.text})
    for call in calls:
        parts.append(
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": _arguments(call)}
        )
    return {"role": "assistant", "parts": parts}


def _arguments(call: Call) -> Any:
    """Return the arguments as an object, else as the text that the model sent."""
    try:
        return parse_foreign_json(call.arguments)
    except json_codec.InvalidJson:
        return call.arguments


def _media(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return references to pictures and sound; the files stay in the run."""
    return [
        {
            "type": "file",
            "modality": "image" if isinstance(part, Image) else "audio",
            "mime_type": part.mime,
            "file_id": f"sha256:{part.sha256}",
        }
        for part in parts
        if isinstance(part, Image | Audio)
    ]


def _result(result: Result) -> str:
    if result.structured is not None and not result.text:
        return json_text(result.structured)
    return "".join(part.text for part in result.parts if isinstance(part, Text))


def _tool_definition(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _with_ids(calls: Sequence[Call], n: int) -> list[Call]:
    """Return calls whose ids are unique in the trace: a tool format may begin again at 0."""
    return [
        Call(name=c.name, arguments=c.arguments, id=f"call_{n}_{k}") for k, c in enumerate(calls)
    ]


def _finish_reason(step: Step) -> str:
    reason = _FINISH_REASONS[step.reply.stop]
    return "tool_call" if step.calls and reason == "stop" else reason


def _provider(model: str) -> str:
    name, slash, _ = model.partition("/")
    if "://" in model or not slash:
        return "openai" if "://" in model else "toolmark"
    return "toolmark" if name in ("baseline", "control") else _PROVIDERS.get(name, name)


def _creation_ns(created: str) -> int:
    """Return the run's creation in nanoseconds since 1970, 0 where it is not recorded."""
    try:
        return int(datetime.fromisoformat(created).timestamp()) * 10**9
    except ValueError:
        return 0


def _sha256_of(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()
