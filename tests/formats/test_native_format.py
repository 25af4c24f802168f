"""Native tool calling: nothing is changed, and every result finds its call."""

from __future__ import annotations

from toolmark.core.records import Call, Message, Reply, Result, Text, Tool
from toolmark.formats.native_format import NATIVE_FORMAT

ASKED = (Message(role="user", parts=(Text("hi"),)),)
TOOLS = (Tool(name="a.b"),)


def test_messages_tools_and_calls_pass_through() -> None:
    calls = (Call(name="a.b", arguments='{"x": 1e400', id="7"),)
    assert NATIVE_FORMAT.render_opening(ASKED, TOOLS) == (ASKED, TOOLS)
    assert NATIVE_FORMAT.parse_reply(Reply(calls=calls), TOOLS).calls == calls
    assert NATIVE_FORMAT.render_calls(calls).calls == calls


def test_missing_and_repeated_ids_still_pair_by_position() -> None:
    ids = ["x", "x", "", "call_1", ""]
    calls = tuple(Call(name=f"t{i}", id=id_) for i, id_ in enumerate(ids))
    results = tuple(Result(parts=(Text(str(i)),)) for i in range(len(ids)))
    said, *heard = NATIVE_FORMAT.render_results(Reply(text="so", calls=calls), calls, results)
    given = [call.id for call in said.calls]
    assert len(set(given)) == len(ids)
    assert given[0] == "x" and given[3] == "call_1"
    assert [message.call_id for message in heard] == given
    assert [message.text for message in heard] == list("01234")
    assert said.text == "so"


def test_an_answer_without_calls_is_one_message() -> None:
    assert NATIVE_FORMAT.render_results(Reply(text="done"), (), ()) == (
        Message(role="assistant", parts=(Text("done"),)),
    )
