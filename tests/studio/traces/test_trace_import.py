"""Every form of trace proposes the same rows, and what cannot be read says where and why."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from toolmark.core.errors import DataError, UsageError
from toolmark.studio.traces import json_documents, trace_import
from toolmark.studio.traces.trace_faults import MAX_LISTED_FAULTS, TraceFaults
from toolmark.studio.traces.trace_import import ImportSettings, ImportSummary

DATA = Path(__file__).parents[2] / "data" / "traces"
TOOLS = trace_import.read_tool_file(DATA / "tools.json")
FORMS = {
    "spans.json": trace_import.OTLP,
    "spans_structured.jsonl": trace_import.OTLP,
    "span_events.jsonl": trace_import.OTLP,
    "log_events.jsonl": trace_import.OTLP,
    "chat_pairs.jsonl": "OpenAI chat completions",
    "chat_conversations.jsonl": "OpenAI chat completions",
    "responses_pairs.jsonl": "OpenAI Responses",
    "anthropic_pairs.jsonl": "Anthropic Messages",
}
OPENING = [
    {"role": "system", "content": "Answer with the tools."},
    {"role": "user", "content": "Weather in Oslo?"},
]
CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}
Row = dict[str, Any]


class Imported:
    """What an import wrote and said."""

    def __init__(self, rows: list[Row], summary: ImportSummary, faults: TraceFaults) -> None:
        self.rows = rows
        self.summary = summary
        self.faults = faults


def import_files(tmp_path: Path, *files: Path, **settings: Any) -> Imported:
    output, faults = tmp_path / "rows.jsonl", TraceFaults()
    chosen = ImportSettings(**{"tools": TOOLS, **settings})
    summary = trace_import.import_traces(files, output, chosen, faults)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    return Imported(rows, summary, faults)


def write_lines(path: Path, *values: Any) -> Path:
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def conversation(question: str, *calls: Row, tools: Any = None) -> Row:
    """Return a record of chat completions in which a model made these calls."""
    asked = [
        {"id": f"x{n}", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}}
        for n, c in enumerate(calls)
    ]
    messages = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": "", "tool_calls": asked},
    ]
    return {"messages": messages, "tools": tools or [{"name": c["name"]} for c in calls]}


# --- forms ------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FORMS)
def test_every_form_proposes_the_same_rows(tmp_path: Path, file: str) -> None:
    found = import_files(tmp_path, DATA / file, with_silence=True)
    assert found.faults.lines == [] and found.summary.left_out == {}
    assert set(found.summary.forms[file]) == {FORMS[file]}
    by_calls = {len(row["expected"]): row for row in found.rows}
    assert len(found.rows) == len(by_calls) == 2
    call, answer = by_calls[1], by_calls[0]
    assert call["messages"] == OPENING
    assert call["expected"] == [CALL] and answer["expected"] == []
    assert call["category"] == "get_weather" and answer["category"] == "no call"
    assert [tool["function"]["name"] for tool in call["tools"]] == ["get_weather"]
    assert call["tools"][0]["function"]["parameters"]["required"] == ["city"]
    assert call["review"] == answer["review"] == "proposed"
    assert call["group"] == answer["group"] != ""
    assert call["source"]["file"] == file and call["source"]["form"] == FORMS[file]
    made, result = answer["messages"][-2:]
    assert answer["messages"][:-2] == OPENING
    assert made["tool_calls"][0]["id"] == result["tool_call_id"] == "call_1"
    assert json.loads(made["tool_calls"][0]["function"]["arguments"]) == CALL["arguments"]
    assert result["role"] == "tool" and result["content"] == "rain, 7 degrees"


def test_equal_replies_of_all_forms_are_one_row(tmp_path: Path) -> None:
    found = import_files(tmp_path, *(DATA / file for file in FORMS))
    (row,) = found.rows
    assert row["n_seen"] == len(FORMS)
    assert found.summary.n_replies == 2 * len(FORMS)
    assert found.summary.n_silent == len(FORMS)
    assert found.summary.n_duplicates == len(FORMS) - 1


def test_ids_do_not_depend_on_the_file_or_its_order(tmp_path: Path) -> None:
    lines = [conversation(f"q{n}", {"name": "f", "arguments": {"n": n}}) for n in range(5)]
    there = import_files(tmp_path, write_lines(tmp_path / "a.jsonl", *lines))
    back = import_files(tmp_path, write_lines(tmp_path / "b.jsonl", *reversed(lines)))
    assert {row["id"] for row in there.rows} == {row["id"] for row in back.rows}
    assert len({row["id"] for row in there.rows}) == 5


def test_a_span_is_found_by_its_id(tmp_path: Path) -> None:
    (row,) = import_files(tmp_path, DATA / "spans.json").rows
    assert row["source"]["span"] == "00000000000000a1"
    assert row["group"] == row["source"]["trace"]


def test_tools_come_from_an_ancestor_over_spans_of_others(tmp_path: Path) -> None:
    """In `spans.json` a span of HTTP lies between the reply and the agent with the tools."""
    found = import_files(tmp_path, DATA / "spans.json", tools=None)
    assert len(found.rows) == 1
    found = import_files(tmp_path, DATA / "chat_pairs.jsonl", tools=None)
    assert len(found.rows) == 1
    with pytest.raises(DataError):  # nothing says which tools there were
        import_files(tmp_path, write_lines(tmp_path / "x.jsonl", {"x": 1}), tools=None)
    found = import_files(tmp_path, DATA / "span_events.jsonl", tools=None)
    assert found.rows == [] and sum(found.summary.left_out.values()) == 1


def test_calls_of_one_reply_are_one_row(tmp_path: Path) -> None:
    calls = ({"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}})
    (row,) = import_files(
        tmp_path, write_lines(tmp_path / "x.jsonl", conversation("q", *calls))
    ).rows
    assert row["expected"] == list(calls) and row["category"] == "f+g"


def test_white_space_and_the_order_of_keys_make_no_other_row(tmp_path: Path) -> None:
    one = conversation("what  is\nit", {"name": "f", "arguments": {"a": 1, "b": 2}})
    two = conversation("what is it", {"name": "f", "arguments": {"b": 2, "a": 1}})
    other = conversation("what is it", {"name": "f", "arguments": {"b": 2, "a": "1"}})
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", one, two, other))
    assert [row["n_seen"] for row in found.rows] == [2, 1]
    assert found.summary.n_disputed_histories == 1


def test_a_conversation_is_a_group(tmp_path: Path) -> None:
    steps = ({"name": "f", "arguments": {"a": n}} for n in range(2))
    first = conversation("start", next(steps))
    second = json.loads(json.dumps(first))
    second["messages"] += [
        {"role": "tool", "tool_call_id": "x0", "content": "0"},
        {"role": "user", "content": "again"},
        conversation("", next(steps))["messages"][1],
    ]
    other = conversation("another", {"name": "f", "arguments": {"a": 0}})
    named = {**conversation("third", {"name": "f", "arguments": {}}), "conversation_id": "c-9"}
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", second, other, named))
    groups = [row["group"] for row in found.rows]
    assert groups[0] == groups[1] and len(set(groups)) == 3 and groups[-1] == "c-9"
    # a name that is a digest holds no secret
    assert all(re.fullmatch("conversation-[0-9a-f]{16}", each) for each in groups[:-1])


# --- drawing ----------------------------------------------------------------------------


def many(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "many.jsonl",
        *(
            conversation(f"q{n}", *({"name": t, "arguments": {"n": n}} for t in tools))
            for n in range(40)
            for tools in (("f",), ("g",), ("f", "g"))
        ),
    )


def test_no_tool_has_more_rows_than_asked_for(tmp_path: Path) -> None:
    found = import_files(tmp_path, many(tmp_path), per_tool=7)
    counts = Counter(call["name"] for row in found.rows for call in row["expected"])
    assert counts == {"f": 7, "g": 7}
    assert found.summary.n_rows + found.summary.n_not_drawn == 120


def test_the_draw_depends_on_the_seed_and_not_on_the_order(tmp_path: Path) -> None:
    file = many(tmp_path)
    lines = file.read_text().splitlines()
    turned = write_lines(tmp_path / "turned.jsonl", *reversed(lines))
    first, again, other = (
        {row["id"] for row in import_files(tmp_path, path, per_tool=7, seed=seed).rows}
        for path, seed in ((file, 1), (turned, 1), (file, 2))
    )
    assert first == again != other


# --- what is left out -------------------------------------------------------------------

BAD_CALL = conversation("q", {"name": "f", "arguments": {}})
BAD_CALL["messages"][1]["tool_calls"][0]["function"]["arguments"] = "{not json"
LIST_CALL = conversation("q", {"name": "f", "arguments": {}})
LIST_CALL["messages"][1]["tool_calls"][0]["function"]["arguments"] = "[1]"
PICTURE = conversation("q", {"name": "f", "arguments": {}})
PICTURE["messages"][0]["content"] = [{"type": "image_url", "image_url": {"url": "data:,"}}]
ORPHAN = conversation("q", {"name": "f", "arguments": {}})
ORPHAN["messages"].insert(1, {"role": "tool", "tool_call_id": "none", "content": "x"})
UNANSWERED = conversation("q", {"name": "f", "arguments": {}})
UNANSWERED["messages"] += [{"role": "user", "content": "?"}, UNANSWERED["messages"][1]]
LATER = {
    "request": {"input": "q", "previous_response_id": "gone", "tools": []},
    "response": {"id": "r", "output": []},
}


@pytest.mark.parametrize(
    "record",
    [
        BAD_CALL, LIST_CALL, PICTURE, ORPHAN, LATER,
        conversation("q", {"name": "f", "arguments": {}}, tools=[{"name": "g"}]),
        {"request": BAD_CALL, "response": {"error": {"message": "overloaded"}}},
    ],
)  # fmt: skip
def test_a_reply_that_is_no_row_is_counted_with_its_reason(tmp_path: Path, record: Row) -> None:
    good = conversation("good", {"name": "f", "arguments": {}})
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", record, good))
    assert len(found.rows) == 1 and sum(found.summary.left_out.values()) == 1
    assert found.faults.n_malformed == 0


def test_a_history_with_an_unanswered_call_gives_its_first_reply_only(tmp_path: Path) -> None:
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", UNANSWERED))
    assert len(found.rows) == 1 and sum(found.summary.left_out.values()) == 1


# --- malformed files --------------------------------------------------------------------

GOOD_SPAN = json.loads((DATA / "spans_structured.jsonl").read_text().splitlines()[-1])


def with_span(**changes: Any) -> Row:
    found: Row = json.loads(json.dumps(GOOD_SPAN))
    span = found["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span |= {"traceId": "1" * 32, **changes}
    return found


def text_attribute(name: str, value: Any) -> Row:
    return {"key": name, "value": value}


MALFORMED: dict[str, Any] = {
    "cut off": json.dumps(GOOD_SPAN)[:-40],
    "no JSON": "hello",
    "a number": 17,
    "an unknown object": {"x": 1},
    "resourceSpans is a number": {"resourceSpans": 5},
    "spans is text": {"resourceSpans": [{"scopeSpans": [{"spans": "x"}]}]},
    "a span is a number": {"resourceSpans": [{"scopeSpans": [{"spans": [5]}]}]},
    "scopeSpans is an object": {"resourceSpans": [{"scopeSpans": {"spans": []}}]},
    "no trace id": with_span(traceId=None),
    "an id that is a number": with_span(spanId=5),
    "an id without end": with_span(spanId="a" * 10_000),
    "a time that is text": with_span(startTimeUnixNano="today"),
    "attributes are an object": with_span(attributes={"a": 1}),
    "a value that is plain": with_span(attributes=[text_attribute("gen_ai.system", "x")]),
    "an integer beyond 64 bits": with_span(
        attributes=[text_attribute("gen_ai.usage.input_tokens", {"intValue": "9" * 19})]
    ),
    "messages that are cut": with_span(
        attributes=[text_attribute("gen_ai.output.messages", {"stringValue": '[{"role"'})]
    ),
    "messages that are a number": with_span(
        attributes=[text_attribute("gen_ai.output.messages", {"intValue": 5})]
    ),
    "its own parent": with_span(spanId="00" * 8, parentSpanId="00" * 8),
    "text that is a number": with_span(
        attributes=[text_attribute("gen_ai.output.messages", {"stringValue": 5})]
    ),
    "messages are text": {"messages": "x"},
    "messages are true": {"messages": True},
    "a call of the user": {
        "messages": [{"role": "user", "content": [{"type": "tool_use", "name": "f"}]}]
    },
    "an unknown role": {"messages": [{"role": "wizard", "content": "x"}]},
    "a call without a name": {
        "messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]
    },
    "choices are a number": {"request": {"messages": []}, "response": {"choices": [5]}},
    "a body that is not JSON": {"request": "{", "response": {"choices": []}},
    "a tool without a name": {**conversation("q"), "tools": [{"type": "function"}]},
    "a schema that is a list": {**conversation("q"), "tools": [{"name": "f", "parameters": []}]},
    "nested without end": '{"messages": ' + "[" * 300 + "]" * 300 + "}",
    "digits without end": '{"messages": [' + "9" * 6000 + "]}",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_record_is_one_line_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    good = conversation("good", {"name": "f", "arguments": {}})
    path = write_lines(tmp_path / "x.jsonl", good, MALFORMED[name], good)
    found = import_files(tmp_path, path)
    (line,) = found.faults.listed_lines()
    assert line.startswith("x.jsonl, line 2") and "\n" not in line
    assert [row["n_seen"] for row in found.rows] == [2]


def test_what_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    good = json.dumps(conversation("good", {"name": "f", "arguments": {}})).encode()
    path.write_bytes(good + b'\n{"messages": "\xff"}\n' + good)
    found = import_files(tmp_path, path)
    assert found.faults.lines[0].startswith("x.jsonl, line 2: not UTF-8")
    assert [row["n_seen"] for row in found.rows] == [2]


def test_parents_in_a_cycle_are_named_and_missing_parents_are_not(tmp_path: Path) -> None:
    one, two = "0" * 15 + "1", "0" * 15 + "2"
    lines = [
        with_span(spanId=one, parentSpanId=two, traceId="2" * 32),
        with_span(spanId=two, parentSpanId=one, traceId="2" * 32, attributes=[]),
        with_span(spanId=one, parentSpanId="f" * 16, traceId="3" * 32),
    ]
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", *lines))
    (line,) = found.faults.lines
    assert f"line 1, resourceSpans[0].scopeSpans[0].spans[0], span {one}" in line
    assert [row["source"]["trace"] for row in found.rows] == ["3" * 32]


def test_a_span_that_stands_there_twice_counts_once(tmp_path: Path) -> None:
    same = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", GOOD_SPAN, GOOD_SPAN))
    assert same.faults.lines == [] and same.rows[0]["n_seen"] == 1
    changed = json.loads(json.dumps(GOOD_SPAN).replace("Weather in Oslo?", "Weather in Rome?"))
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", GOOD_SPAN, changed))
    assert len(found.faults.lines) == 1 and "line 2" in found.faults.lines[0]
    assert found.rows[0]["messages"] == OPENING


def test_malformed_records_are_listed_up_to_a_limit(tmp_path: Path) -> None:
    good = conversation("good", {"name": "f", "arguments": {}})
    found = import_files(tmp_path, write_lines(tmp_path / "x.jsonl", good, *["{"] * 500))
    assert found.summary.n_malformed == 500
    assert len(found.faults.listed_lines()) == MAX_LISTED_FAULTS + 1


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello", b"\x00\x01", b"[]", b"{}", b"\xff"])
def test_a_file_without_replies_writes_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x\.bin"):
        import_files(tmp_path, path)
    assert not (tmp_path / "rows.jsonl").exists()


def test_an_older_file_stays_where_the_import_fails(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("old\n")
    with pytest.raises(DataError):
        import_files(tmp_path, write_lines(tmp_path / "x.jsonl", {}))
    assert (tmp_path / "rows.jsonl").read_text() == "old\n"


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a*"])
def test_a_pattern_that_is_not_re2s_or_matches_nothing_is_refused(
    tmp_path: Path, pattern: str
) -> None:
    with pytest.raises(UsageError):
        import_files(tmp_path, DATA / "spans.json", redact_patterns=(pattern,))


# --- size -------------------------------------------------------------------------------


def test_one_huge_object_is_read_span_by_span(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is lowered: what counts is that the object is larger than it."""
    spans = [
        with_span(spanId=f"{n:016x}")["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        for n in range(300)
    ]
    export = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    path = tmp_path / "huge.json"
    path.write_text(json.dumps(export))
    whole = import_files(tmp_path, path)
    monkeypatch.setattr(json_documents, "MAX_VALUE_BYTES", 2**14)
    parts = import_files(tmp_path, path)
    assert whole.rows[0]["n_seen"] == parts.rows[0]["n_seen"] == 300
    path.write_text(json.dumps(export)[:-1000])
    cut = import_files(tmp_path, path)
    assert cut.rows[0]["n_seen"] == 299 and cut.faults.n_malformed == 1


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    def peak(n: int) -> int:
        path = tmp_path / f"{n}.jsonl"
        padding = "x" * 2000
        with path.open("w") as file:
            for k in range(n):
                span = with_span(spanId=f"{k:016x}", traceId=f"{k:032x}", name=padding)
                text = json.dumps(span).replace("Weather in Oslo?", f"Weather {k}? {padding}")
                file.write(text + "\n")
        tracemalloc.start()
        try:
            import_files_without_reading(path)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def import_files_without_reading(path: Path) -> None:
        found = trace_import.import_traces(
            [path], tmp_path / "rows.jsonl", ImportSettings(), TraceFaults()
        )
        assert found.n_rows > 0

    small, large = peak(100), peak(1000)
    assert large < 1.5 * small + 2**20
