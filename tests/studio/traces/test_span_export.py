"""Exported spans are what the protocol and the conventions define, and come back as they were."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import opentelemetry.semconv._incubating.attributes.gen_ai_attributes as published
import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtocolSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from opentelemetry.semconv.attributes import error_attributes
from tests.reports import made_runs
from tests.runs import mini

import toolmark as tm
from toolmark.agents.agent_session import AgentSession
from toolmark.core.records import Usage
from toolmark.runs.run_store import Run
from toolmark.studio.traces import chat_messages, conventions, span_export, trace_import
from toolmark.studio.traces.trace_faults import TraceFaults
from toolmark.studio.traces.trace_import import ImportSettings

Spans = list[dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_runs.make(tmp_path_factory.mktemp("runs"), n=12, repeats=2)


def values_of(path: Path) -> list[Any]:
    with path.open() as file:  # str.splitlines also splits at U+2028, which JSON may contain
        return [json.loads(line) for line in file]


def export(run: Run, path: Path, *, with_content: bool = True) -> list[Spans]:
    """Return the spans by trace."""
    span_export.write_traces([run], path, with_content=with_content)
    return [value["resourceSpans"][0]["scopeSpans"][0]["spans"] for value in values_of(path)]


def attributes(span: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: next(iter(pair["value"].values())) for pair in span["attributes"]}


def test_the_names_are_those_of_the_conventions() -> None:
    known = {value for name, value in vars(published).items() if name.startswith("GEN_AI_")}
    ours = {
        value
        for name, value in vars(conventions).items()
        if isinstance(value, str) and value.startswith("gen_ai.") and name != "PREFIX"
    }
    events = {
        conventions.INFERENCE_DETAILS_EVENT,
        conventions.CHOICE_EVENT,
        conventions.EVENT_CONTENT,
    }
    assert ours - events <= known and len(ours - events) > 20
    operations = {value.value for value in published.GenAiOperationNameValues}
    assert {
        *conventions.INFERENCE_OPERATIONS, conventions.EXECUTE_TOOL, conventions.INVOKE_AGENT
    } <= operations  # fmt: skip
    assert error_attributes.ERROR_TYPE == conventions.ERROR_TYPE


def test_every_line_is_a_request_of_the_protocol(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "x.jsonl")
    for value in values_of(tmp_path / "x.jsonl"):
        for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            # ids are hexadecimal in OTLP JSON, and base64 in that of protocol buffers
            for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
                span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
        parsed = json_format.ParseDict(value, ExportTraceServiceRequest())
        for parsed_span in parsed.resource_spans[0].scope_spans[0].spans:
            assert len(parsed_span.trace_id) == 16 and len(parsed_span.span_id) == 8
            assert parsed_span.end_time_unix_nano >= parsed_span.start_time_unix_nano > 0


def test_kinds_and_codes_are_those_of_the_protocol() -> None:
    assert span_export._INTERNAL == ProtocolSpan.SPAN_KIND_INTERNAL
    assert span_export._CLIENT == ProtocolSpan.SPAN_KIND_CLIENT
    assert (span_export._OK, span_export._ERROR) == (
        Status.STATUS_CODE_OK,
        Status.STATUS_CODE_ERROR,
    )


def test_an_episode_is_a_tree_of_agent_replies_and_calls(run: Run, tmp_path: Path) -> None:
    traces = export(run, tmp_path / "x.jsonl")
    trajectories = list(run.trajectories())
    assert len({spans[0]["traceId"] for spans in traces}) == len(traces) == len(trajectories)
    for spans, trajectory in zip(traces, trajectories, strict=True):
        root, *inner = spans
        assert "parentSpanId" not in root
        assert {span["parentSpanId"] for span in inner} == {root["spanId"]}
        assert len({span["spanId"] for span in spans}) == len(spans)
        operations = Counter(attributes(span)["gen_ai.operation.name"] for span in spans)
        n_calls = sum(len(step.results) for step in trajectory.steps)
        assert operations == Counter(
            invoke_agent=1, chat=len(trajectory.steps), execute_tool=n_calls
        )
        errors = [span for span in inner if span["status"]["code"] == 2]
        n_errors = sum(result.is_error for step in trajectory.steps for result in step.results)
        assert len(errors) == n_errors
        tokens = [int(attributes(s)["gen_ai.usage.input_tokens"]) for s in inner if s["kind"] == 3]
        assert tokens == [step.reply.usage.input for step in trajectory.steps]


def test_spans_lie_end_to_end_from_the_creation_of_the_run(run: Run, tmp_path: Path) -> None:
    for spans, trajectory in zip(
        export(run, tmp_path / "x.jsonl"), run.trajectories(), strict=True
    ):
        root, *inner = spans
        times = [(int(s["startTimeUnixNano"]), int(s["endTimeUnixNano"])) for s in inner]
        assert times[0][0] == int(root["startTimeUnixNano"])
        assert [end for _, end in times[:-1]] == [begin for begin, _ in times[1:]]
        assert times[-1][1] == int(root["endTimeUnixNano"])
        calls_s = [s for step in trajectory.steps for s in step.call_durations_s]
        total_s = sum(step.reply.latency_s for step in trajectory.steps) + sum(calls_s)
        assert (times[-1][1] - times[0][0]) / 1e9 == pytest.approx(total_s)
        assert attributes(root)["toolmark.time_basis"] == span_export.TIME_BASIS


def test_ids_are_the_same_at_every_export(run: Run, tmp_path: Path) -> None:
    one = export(run, tmp_path / "a.jsonl")
    bare = export(run, tmp_path / "b.jsonl", with_content=False)
    assert [[span["spanId"] for span in spans] for spans in one] == [
        [span["spanId"] for span in spans] for spans in bare
    ]


def test_without_content_nothing_that_was_said_is_written(run: Run, tmp_path: Path) -> None:
    export(run, tmp_path / "x.jsonl", with_content=False)
    text = (tmp_path / "x.jsonl").read_text()
    assert "Find value" not in text and "fizul" not in text and "bujxye" not in text
    assert "lookup_alpha" in text  # names of tools are not content


def test_what_is_exported_and_imported_proposes_exactly_the_calls_of_the_run(
    run: Run, tmp_path: Path
) -> None:
    export(run, tmp_path / "x.jsonl")
    faults = TraceFaults()
    trace_import.import_traces(
        [tmp_path / "x.jsonl"], tmp_path / "rows.jsonl", ImportSettings(with_silence=True), faults
    )
    assert faults.lines == [] and not faults.reasons
    proposed: Counter[str] = Counter()
    for row in values_of(tmp_path / "rows.jsonl"):
        n_earlier = sum(len(m.get("tool_calls", ())) for m in row["messages"])
        question = next(m["content"] for m in row["messages"] if m["role"] == "user")
        proposed[json.dumps([question, n_earlier, row["expected"]])] += row["n_seen"]
    made: Counter[str] = Counter()
    for trajectory in run.trajectories():
        question = run.task(trajectory.task).turns[0].messages[-1].text
        n_earlier = 0
        for step in trajectory.steps:
            calls = [
                {"name": call.name, "arguments": json.loads(call.arguments)} for call in step.calls
            ]
            made[json.dumps([question, n_earlier, calls])] += 1
            n_earlier += len(calls)
    assert proposed == made


def test_results_come_from_the_spans_of_tools_where_messages_lack_them(
    run: Run, tmp_path: Path
) -> None:
    """Some applications record each call's result in its own span only."""
    path = tmp_path / "x.jsonl"
    export(run, path)
    lines = []
    for value in values_of(path):
        for span in value["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for pair in span["attributes"]:
                if pair["key"] == conventions.INPUT_MESSAGES:
                    messages = json.loads(pair["value"]["stringValue"])
                    left = [m for m in messages if m["role"] != "tool"]
                    pair["value"]["stringValue"] = chat_messages.json_text(left)
        lines.append(json.dumps(value))
    (tmp_path / "y.jsonl").write_text("\n".join(lines))
    for name in ("x", "y"):
        trace_import.import_traces(
            [tmp_path / f"{name}.jsonl"], tmp_path / f"{name}.rows", ImportSettings(), TraceFaults()
        )
    ids = [{row["id"] for row in values_of(tmp_path / f"{name}.rows")} for name in ("x", "y")]
    assert ids[0] == ids[1] != set()


async def ask_twice(session: AgentSession) -> str:
    for _ in range(2):
        await session.model(tm.Request(messages=session.messages))
    return (await session.call("add", {"of": [1]})).text


async def answer_one(request: tm.Request) -> tm.Reply:
    return tm.Reply(text="1", model="m", usage=Usage(input=10, output=1))


def test_each_request_of_an_agent_under_test_is_a_span_of_its_own(tmp_path: Path) -> None:
    played = tm.run(
        mini.load(n=1), answer_one, agent=ask_twice, log_dir=str(tmp_path), floors="off"
    )
    (spans,) = export(played, tmp_path / "x.jsonl")
    chats = [attributes(each) for each in spans if each["name"].startswith(conventions.CHAT)]
    assert [each[conventions.USAGE_INPUT_TOKENS] for each in chats] == ["10", "10"]
    assert attributes(spans[0])[conventions.USAGE_INPUT_TOKENS] == "20"
    assert len({each["spanId"] for each in spans}) == len(spans) == 4
    # what the agent sent is its own
    assert all(conventions.INPUT_MESSAGES not in each for each in chats)
