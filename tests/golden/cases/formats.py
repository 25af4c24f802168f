"""Every tool format and prompt format: what is shown, and what is read from good and bad replies.

The sentences of the published prompts are not repeated here: of texts that hold them the length and
a digest stand in the record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from tests.golden.plain import plain, shortened, sparse, tried, worded
from tests.parity import damaged_replies, damaged_text

from toolmark.agents import executor_prompts
from toolmark.core import json_codec, seeds
from toolmark.core.records import Call, Image, Message, Reply, Result, Text, Tool, ToolFormat
from toolmark.formats import executor_json, prompt_format
from toolmark.formats.executor_json import ExecutorJsonFormat
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.parse import (
    bfcl_json_calls,
    bfcl_xml_calls,
    java_calls,
    javascript_calls,
    python_calls,
    reply_parser,
    reply_text,
    rough_call_parser,
)
from toolmark.formats.prompt_format import PromptFormat, PromptVariant
from toolmark.formats.render import call_text, tool_docs
from toolmark.official_bfcl import official_data, official_prompt, prompt_formats

GRAMMARS = True
FORMS: tuple[reply_parser.CallForm, ...] = get_args(reply_parser.CallForm)
DRAWN = 90  # damaged replies of each form, with a tag and without


def record(folder: Path) -> dict[str, Any]:
    """Return what every tool format shows and reads."""
    official = official_prompt.make_tool_formats(
        tuple(prompt_formats.all_variants()),
        official_data.read_prompt_wording(official_data.fetch_wheel()),
    )
    own = {
        name: PromptFormat(form, name=name) for name, form in prompt_formats.all_variants().items()
    }
    return {
        "docs": _docs(),
        "own-prompts": {name: _prompt(each, whole=at % 8 == 0)
                        for at, (name, each) in enumerate(own.items())},
        "published-prompts": {name: _prompt(each, whole=False) for name, each in official.items()},
        "conversation": _conversations(official),
        "written": _written(),
        "python": dict(_python()),
        "xml": dict(_xml()),
        "json": dict(_json()),
        "replies": dict(_replies(own, official)),
        "replies-drawn": dict(_drawn()),
        "executor": dict(_staged()),
        "executor-words": _words(),
        "frame": dict(_frame()),
        "names": _names(),
        "java": dict(_foreign("java", java_calls)),
        "javascript": dict(_foreign("javascript", javascript_calls)),
    }  # fmt: skip


# --- what is shown ----------------------------------------------------------------------


def _schema(required: Any = ("a",), **properties: Any) -> dict[str, Any]:
    listed = {} if required is None else {"required": list(required)}
    return {"type": "object", "properties": properties, **listed}


TOOLS = (
    Tool(name="empty"), Tool(name="bare", description="No schema", parameters={"type": "object"}),
    Tool(name="places.find", description="Find é, <a> & \"b\"", parameters=_schema(
        a={"type": "string", "description": "The city, by name", "enum": ["x", "y, z"]},
        b={"type": "integer", "default": 5}, c={"type": "number", "description": "Rate"},
        d={"type": "boolean", "default": False}, e={"type": "array", "items": {"type": "string"}},
        f={"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        g={"type": "object", "additionalProperties": {"type": "number"}},
        h={"type": "dict", "additionalProperties": True}, i={"type": ["string", "null"]},
        j={"type": "object", "description": "Nested", "required": ["k"], "properties": {
            "k": {"type": "string", "default": "a, b"}, "l": {"type": "object", "properties": {
                "m": {"type": "float"}}}}},
        n={"description": "No type"}, o={"type": "tuple", "items": {"type": "dict"}},
        p={"type": "array"}, q={"type": "list", "items": {}}, r={"items": True, "type": "any"},
    )),
    Tool(name="all_needed", parameters=_schema(None, x={"type": "string"}, y={"type": "number"})),
    Tool(name="published", description="told", source={
        "name": "published", "description": "as published", "parameters": {
            "type": "dict", "properties": {"a": {"type": "float", "description": "A"}},
            "required": ["a"]}}),
    Tool(name="odd_source", description="d", source="not a doc", parameters=_schema((), x={})),
)  # fmt: skip
SETS: dict[str, tuple[Tool, ...]] = {
    "none": (), "empty": TOOLS[:1], "rich": TOOLS[2:3], "all": TOOLS, "published": TOOLS[4:5],
}  # fmt: skip


def _docs() -> dict[str, Any]:
    return {
        f"{name} {form}": tried(_lines, tools, form)
        for name, tools in SETS.items()
        for form in get_args(tool_docs.ToolDocForm)
        if form != "xml" or all(tool.parameters for tool in tools)
    }


def _lines(tools: Sequence[Tool], form: tool_docs.ToolDocForm) -> list[str]:
    return tool_docs.render_docs([prompt_format.tool_document(tool) for tool in tools], form).split(
        "\n"
    )


SYSTEM = Message(role="system", parts=(Text("Be brief."), Text(" Please.")))
USER = Message(role="user", parts=(Text("Where is it? é"),))
PICTURE = Image(sha256="0" * 64, mime="image/png", size_bytes=5)


def _prompt(spoken: PromptFormat, *, whole: bool) -> Any:
    shown: dict[str, Any] = {"form": plain(prompt_form(spoken.variant))}
    for name in ("none", "rich", "published"):
        messages, offered = spoken.render_opening((SYSTEM, USER), SETS[name])
        later, more = spoken.render_turn((USER, USER), SETS[name])
        said = [messages[0].text, later[0].text if later else ""]
        # of the published prompts only lengths and digests are held
        shown[name] = [
            each.split("\n") if whole and name == "published" else _measured(each) for each in said
        ]
        shown[f"{name}, rest"] = [len(messages), len(offered), len(later), len(more)]
    return shown


def prompt_form(form: PromptVariant) -> dict[str, Any]:
    """Return the axes of a format."""
    return {
        name: getattr(form, name)
        for name in ("call_form", "has_tag", "tool_doc_form", "layout", "style")
    }


def _measured(said: str) -> str:
    return shortened("\n" * 401 + said)[404:].strip()


def _message(message: Message) -> Any:
    return sparse(message)


def _asked(found: tuple[tuple[Message, ...], tuple[Tool, ...]]) -> Any:
    messages, tools = found
    return {"messages": [_message(each) for each in messages], "tools": [t.name for t in tools]}


CALLS = (
    Call(name="f", arguments='{"a": 1, "b": "it\'s <é> & \\"q\\"", "c": [true, null, 1.5]}',
    id="x"),
    Call(name="g.h", arguments="{}", id="x"), Call(name="broken", arguments='{"a": ', id=""),
    Call(name="list", arguments="[1]", id="call_3"),
    Call(name="n<&>", arguments='{"d": {"e": {"f": [{"g": 1}]}}, "s": "a\\nb\\tc", "t": -1e-7}'),
)  # fmt: skip
RESULTS = (
    Result(parts=(Text("ok"), Text(" é\n'quoted'"))),
    Result(parts=(Text("no such city"),), is_error=True),
    Result(structured={"a": [1, float("nan")]}), Result(parts=(Text("see"), PICTURE)), Result(),
)  # fmt: skip


def _conversations(official: Mapping[str, PromptFormat]) -> dict[str, Any]:
    spoken: dict[str, ToolFormat] = {
        "native": NATIVE_FORMAT,
        "own": PromptFormat(),
        "executor": ExecutorJsonFormat(),
        "strict": ExecutorJsonFormat(lenient=False),
    }
    for form in FORMS:
        spoken[f"own {form}"] = PromptFormat(PromptVariant(call_form=form, has_tag=form == "json"))
    found = {name: _conversation(each) for name, each in spoken.items()}
    readable = CALLS[0], CALLS[1]
    for name, each in official.items():
        if "prompt_fmt=plaintext&style=classic" in name or name == "prompt":
            said = each.render_calls(readable)
            found[f"published {name}"] = {
                "read": plain(each.parse_reply(said, ())),
                "answer": [_message(x) for x in each.render_results(said, readable, RESULTS[:2])],
                "no results": [_message(x) for x in each.render_results(said, readable, ())],
                "later, no tools": _asked(each.render_turn((USER, SYSTEM), ())),
            }
    return found


def _conversation(spoken: ToolFormat) -> dict[str, Any]:
    found: dict[str, Any] = {"name": spoken.name}
    if not isinstance(spoken, PromptFormat):
        found["open"] = _asked(spoken.render_opening((SYSTEM, USER), TOOLS[:2]))
    found["later, tools"] = _asked(spoken.render_turn((USER, USER), TOOLS[2:3]))
    found["later, no messages"] = _asked(spoken.render_turn((), TOOLS[4:5]))
    found["later, no tools"] = _asked(spoken.render_turn((USER, SYSTEM), ()))
    wrote = spoken.render_calls(CALLS)
    found["written"] = sparse(wrote)
    found["read back"] = plain(spoken.parse_reply(wrote, TOOLS))
    said = Reply(text="Words.", calls=CALLS)
    for n_calls, n_results in ((0, 0), (1, 1), (5, 5), (5, 3), (2, 0), (1, 2)):
        answered = spoken.render_results(said, CALLS[:n_calls], RESULTS[:n_results])
        found[f"{n_calls} calls, {n_results} results"] = [_message(each) for each in answered]
    silent = spoken.render_results(Reply(), (), ())
    found["nothing said"] = [_message(each) for each in silent]
    ids = ("", "a", "a", "call_1", "call_0", "")
    named = tuple(Call(name="f", id=each) for each in ids)
    results = (RESULTS[0],) * len(ids)
    found["ids"] = [_message(each) for each in spoken.render_results(Reply(), named, results)]
    for missing in (("", "a"), ("",), ("a", "call_1", "")):
        some = tuple(Call(name="f", id=each) for each in missing)
        found[f"ids {missing}"] = [
            _message(x) for x in spoken.render_results(Reply(), some, results)
        ]
    fine = tuple(Call(name="f", id=each) for each in ("p", "q"))
    found["ids that differ"] = [
        _message(each) for each in spoken.render_results(Reply(text=" "), fine, results[:2])
    ]
    return found


# --- what is written --------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    True, False, None, 0, -5, 1.5, -1e-7, 1e22, "", "x", "it's", 'q"q', "a\nb\tc\r", "<&>", "é", [],
    [1, "a", None], {}, {"k": [1, {"l": 2}]}, 2**70, "\ud800",
)  # fmt: skip


def _written() -> dict[str, Any]:
    found: dict[str, Any] = {f"label {shortened(repr(x))}": call_text.type_label(x) for x in VALUES}
    for form in FORMS:
        for tag in (False, True):
            for count in range(len(CALLS) + 1):
                said = call_text.render_calls(CALLS[:count], form, tag=tag)
                found[f"{form}, tag {tag}, {count} calls"] = said
        for value in VALUES:
            given = json_codec.escape_surrogates(json.dumps({"k": value}))
            said = call_text.render_calls([Call(name="f", arguments=given)], form)
            found[f"{form} {shortened(repr(value))}"] = plain(said)
    return found


# --- what is read -----------------------------------------------------------------------


def _tried(read: Callable[..., Any], *given: Any, **named: Any) -> str:
    """Return what was read as Python writes it, or what kind of failure it was, and why."""
    try:
        return shortened(repr(read(*given, **named)))
    except reply_text.UnreadableCalls as error:
        return f"{type(error).__name__}: {worded(str(error))}"


PYTHON = (
    "", "[]", "()", "{}", "f()", "[f()]", "(f(), g())", "{f(), g()}", "f(), g()", "[f(), 1]", "[1]",
    "f(1)", "f(1, a=2)", "f(*x)", "f(**x)", "f(**{'a': 1})", "f(**{'a': 1}, b=2)", "f(a=1, a=2)",
    "a.b.c(d=1)", "f(x)(y=2)", "f()[0]", "'f()'", "''f(a=1)''", "f(a=-1)", "f(a=+1)", "f(a=~1)",
    "f(a=not True)", "f(a=- -1)", "f(a=-x)", "f(a=-1.5)", "f(a=-2j)", "f(a=...)", "f(a=x)",
    "f(a=x.y)",
    "f(a=[1, [2]])", "f(a=(1,))", "f(a={1: 2})", "f(a={1, 2})", "f(a={**x})", "f(a={[1]: 2})",
    "f(a=g())", "f(a=g(1))", "f(a=g(b=1))", "f(a=g(1, b=2))", "f(a=x[0])", "f(a=x[1:2])",
    "f(a=1 + 2)", "f(a=1 + x)", "f(a='a' + 'b')", "f(a='a' * 3)", "f(a=3 * 'a')", "f(a='a' * 'b')",
    "f(a='%s' % 1)", "f(a=1 / 0)", "f(a=7 // 2)", "f(a=7 % 4)", "f(a=2 ** 10)", "f(a=2 ** 4096)",
    "f(a=2 ** -1)", "f(a=10 ** 10 ** 10)", "f(a=2 ** 4094)", "f(a=1 << 2)", "f(a=(1 + 2) * 3)",
    "f(a=-(1))", "f(a=not 1 + 1)", "f(a=1 - -1)", "f(a=~1 + 1)", "f(a='x' * 65536)",
    "f(a='x' * 65537)",
    "f(a='x' * True)", "f(a=1.5 ** 2)", "f(a=1 if x else 2)", "f(a=lambda: 1)", "f(a=f'{x}')",
    "f(a='a' 'b')", "f(a=b'x')", "f(a=1_000)", "f(a=0x1f)", "f(a=1e400)", "f(a=None, b=True)",
    "f(" + "(" * 150 + "1" + ")" * 150 + ")", "f(a=" + "[" * 90 + "]" * 90 + ")", "x" * 2_000_000,
    "[f(a=1)" + " " * 5000 + "]", "```[f(a=1)]```", "`f(a=1)`", "[f(a=1)", "f(a=1)]", "f(a=1",
    "f a",
    "[f(a='\ud800')]", "f(a=1)\x00", "f(a='\\d')", "await f()", "f(a=+True)", "f(a=+'x')",
    "f(a=~1.5)",
    "f(a={'b': {'c': 1}})", "f(a={})", "f(a={'b': {}})", "f(a={'b': 1, 'c': {}})",
    "f(a={'x': 'y'})",
    "f(a={'b': {'c': {'d': {}}}, 'e': {}})", "f(a=[{}])", "f(a=" + "9" * 5000 + ")",
    "f(a=-" + "9" * 4400 + ")",
)  # fmt: skip


def _python() -> Iterator[tuple[str, Any]]:
    for said in (*PYTHON, *(f"f(k={piece})" for piece in damaged_replies.PIECES)):
        read = _tried(python_calls.parse_reply, said)
        name = shortened(said)
        yield (
            name,
            {
                "calls": read,
                "parse": _tried(python_calls.parse_calls, said),
                "whole": _tried(python_calls.parse_written_calls, said),
                "run": _tried(_executed, said) if read.startswith("[") else None,
                "attempted": reply_parser.looks_like_calls(said[:5000]),
            },
        )


def _executed(said: str) -> list[str]:
    return python_calls.executor_strings(python_calls.parse_reply(said))


def _xml() -> Iterator[tuple[str, Any]]:
    for label in (*damaged_text.LABELS, "x"):
        for piece in (
            "1",
            "1.5",
            " 7 ",
            "true",
            "TRUE",
            "yes",
            "",
            "[1, 2]",
            "{'a': 1}",
            "nan",
            "x",
        ):
            yield f"cast {label} {piece!r}", _performers(piece, label)
    for said in XML:
        for name, read in (
            ("verbose", bfcl_xml_calls.parse_verbose),
            ("concise", bfcl_xml_calls.parse_concise),
        ):
            yield f"{name} {shortened(said)}", _tried(read, said)


XML = (
    "", "<functions></functions>", "<functions><function/></functions>", "<functions>",
    "</functions>",
    "x <functions><function name='f'/></functions> <functions><function name='g'/></functions>",
    '<functions><function name="f"><params><param name="a" value="1" type="integer"/></params>'
    '<param name="b" value="2"/></function><other/></functions>',
    '<functions><function name="f"><param name="a" type="integer"> 1 </param>'
    '<param type="x">y</param></function></functions>',
    '<functions><function name="f"><param name="a" value="x" type="integer"/></function>'
    "</functions>",
    '<functions><function name="f"><param name="a" type="integer">x</param></function></functions>',
    '<functions><function name="f"><param value="1"/><param name="n"/></function></functions>',
    '<functions><function name="f"><param name="a">b<i/>c</param></function></functions>',
    '<functions><!DOCTYPE x><function name="f"/></functions>', "<functions>" + "<a>" * 500,
    '<functions><function name="f"><param name="a">&lt;&amp;&#65;</param></function></functions>',
    '<functions><function name="f">&nope;</function></functions>', "<functions><f></functions>",
    "<functions>" + "<a>" * 2000 + "</a>" * 2000 + "</functions>",
)  # fmt: skip


def _performers(piece: str, label: str) -> str:
    try:
        return repr(bfcl_xml_calls.convert_value(piece, label))
    except (ValueError, SyntaxError, TypeError) as error:
        return type(error).__name__


JSON = (
    "", "[]", "{}", "null", "5", '"x"', "[1, 2]", "[{}]", '[{"function": "f", "parameters": {}}]',
    '{"function": "f", "parameters": {"a": 1}}', '[{"function": "f"}]', '[{"parameters": {}}]',
    '[{"function": ["f"], "parameters": {}}]', '[{"function": {"a": 1}, "parameters": {}}]',
    '[{"function": null, "parameters": {}}]', '[{"function": 5, "parameters": {}}]',
    '[{"function": "f", "parameters": [1]}]', '[{"function": "f", "parameters": null}]',
    '[{"function": "f", "parameters": {"a": [{"b": 1}]}}]',
    'x [{"function": "f", "parameters": {}} ] y',
    '[{"function": "f", "parameters": {}}, 5, {"function": "g", "parameters": {"a": true}}]',
    '[1] [{"function": "f", "parameters": {}}]', '[{"function": "f", "parameters": {"a": NaN}}]',
    '[{"function": "f", "parameters": {"a": "}]"}}]', '[{"function": "f", "parameters": {"a": 1}',
    '[{"function": "f", "parameters": {"a": ' + "9" * 5000 + "}}]", "[" * 300 + "]" * 300, "] [",
    '[ \n {"function": "f", "parameters": {}} \n ]', '[{"function": "f", "parameters": {}}}]', "[{",
    '[{"function": "f", "parameters": {"a": ' + "[" * 250 + "]" * 250 + "}}]",
)  # fmt: skip


def _json() -> Iterator[tuple[str, Any]]:
    for said in JSON:
        yield (
            shortened(said),
            {
                "parse": _tried(bfcl_json_calls.parse_calls, said),
                "whole": _tried(bfcl_json_calls.parse_complete_calls, said),
            },
        )


GOOD = (
    Call(name="f", arguments='{"a": 1, "b": "x y"}'),
    Call(name="g.h", arguments='{"c": [true]}'),
)
WORDS = ("", "Hello.", "I would call f(a=1).", "[]", "[1]", "f", "f(", "5", "json [f(a=1)]",
         "python f(1)",
         '{"function": "f"}', "<functions", "<function name", "<TOOLCALL>",
         "<TOOLCALL>x</TOOLCALL>",
         "<toolcall>[f()]</toolcall>", "\ud800", "[f(a='\ud800')]", "{}", "no (call)",
         "```json\n[]\n```",
         "<TOOLCALL> [f(a=1)] </TOOLCALL> <TOOLCALL>[g()]</TOOLCALL>",
         "<TOOLCALL>[f(a=1)]")  # fmt: skip


def _replies(
    own: Mapping[str, PromptFormat], official: Mapping[str, PromptFormat]
) -> Iterator[tuple[str, Any]]:
    """Read every form's text in every form, as a tool format does."""
    texts = [*WORDS]
    for form in FORMS:
        for tag in (True, False):
            right = call_text.render_calls(GOOD, form, tag=tag)
            texts += [
                right,
                right[:-3],
                f"Sure: {right}",
                f"```\n{right}\n```",
                right.replace('"', "'"),
            ]
    for name, each in own.items():
        if "func_doc_fmt=json&prompt_fmt=plaintext&style=classic" not in name:
            continue
        for said in dict.fromkeys(texts):
            one = each.parse_reply(Reply(text=json_codec.escape_surrogates(said)), ())
            other = official[name].parse_reply(Reply(text=json_codec.escape_surrogates(said)), ())
            reported = [_reading(one)] if one == other else [_reading(one), _reading(other)]
            yield f"{name} {plain(said)}", reported


def _reading(found: Any) -> Any:
    if found.calls:
        return [f"{call.id} {call.name}({call.arguments})" for call in found.calls]
    return worded(found.fault)


def _drawn() -> Iterator[tuple[str, Any]]:
    for form in FORMS:
        for tag in (True, False):
            spoken = PromptFormat(PromptVariant(call_form=form, has_tag=tag))
            for number in range(DRAWN):
                rng = seeds.make_rng(15, f"{form} {tag}", number, "golden reply")
                calls = [
                    Call(
                        name=seeds.draw_one(rng, ("f", "g.h", "places")),
                        arguments=json.dumps(
                            {
                                key: seeds.draw_one(rng, VALUES[:19])
                                for key in "ab"[: seeds.draw_below(rng, 3)]
                            }
                        ),
                    )
                    for _ in range(seeds.draw_between(rng, 1, 2))
                ]
                said = damaged_text.damage(call_text.render_calls(calls, form, tag=tag), form, rng)
                if seeds.draw_below(rng, 3) == 0:
                    said = damaged_text.damage(said, form, rng)
                yield (
                    f"{form} {tag} {number} {shortened(said)}",
                    {
                        "read": _tried(reply_parser.parse_reply, said, form, tag=tag),
                        "whole": _tried(reply_parser.parse_written_calls, said, form, tag=tag),
                        "told": _reading(
                            spoken.parse_reply(Reply(text=json_codec.escape_surrogates(said)), ())
                        ),
                    },
                )


# --- the executor's own JSON ------------------------------------------------------------

ONE = '{"tool_calls": [{"name": "a/b", "arguments": {"x": 1}}]}'
BARE = '[{"name": "a/b", "arguments": {"x": 1}}]'
STAGED = (
    ONE, BARE, "", "words", "3", "null", "{}", "[]", '{"tool_calls": []}', '{"calls": []}',
    ONE[:-1],
    f"<think>no {{}}</think>{ONE}", f"no opening</think>{ONE}", f"<think>{ONE}",
    f"```json\n{ONE}\n```",
    f"```\n{BARE}\n``` and ```more```", f"```{ONE}```", f"```json{ONE}", f"a ```x``` b ```{ONE}```",
    f"<|begin_of_box|>{ONE}<|end_of_box|>", f"<|begin_of_box|>```json\n{BARE}\n```", f"{ONE} {ONE}",
    '[{"name": "a", "arguments": "{\\"x\\": 1}"}]', '[{"name": "a", "arguments": null}]',
    '[{"name": "a", "arguments": 5}, {"name": "b"}, 4]',
    '[{"name": " a ", "arguments": {}, "id": 7}]',
    '{"tool_calls": [{"name": "a", "arguments": {}, "more": 1}]}', '[{"name": 3, "arguments": {}}]',
    '{"tool_calls": {"name": "a", "arguments": {}}}',
    '{"tool_calls": [{"name": "a", "arguments": []}]}',
    '[{"name": "a", "arguments": {"t": "</think> ```"}}]', "[" * 300,
    f"<think>a</think><think>b</think>{ONE}",
    f"<think>a</think>```json\n{ONE}\n```",
    "```json\n[{\"name\": \"a\", \"arguments\": {\"t\": \"```\"}}]\n```",
    "```json\n[{\"name\": \"a\", \"arguments\": {\"t\": \"</think>\"}}]\n```",
    f"x <think>y</think> {BARE}",
    '{"tool_calls": [{"name": "a", "arguments": {"n": NaN, "s": "\\ud800"}}]}',
    f"```py 3\n{ONE}\n```",
)  # fmt: skip


def _staged() -> Iterator[tuple[str, Any]]:
    for said in STAGED:
        found = {
            "thoughtless": executor_json.strip_thoughts(said),
            "lenient": _found(executor_json.parse_calls(said)),
            "strict": _found(executor_json.parse_calls(said, lenient=False)),
        }
        yield shortened(said), found
    parsed = Reply(text=ONE, calls=(Call(name="z"),))
    yield "calls of the endpoint's own", _reading(ExecutorJsonFormat().parse_reply(parsed, ()))
    rng = seeds.make_rng(15, "executor", 0, "golden reply")
    for number in range(80):
        said = damaged_text.damage(seeds.draw_one(rng, STAGED[:20]), "json", rng)
        yield f"{number} {shortened(said)}", _found(executor_json.parse_calls(said))


def _found(found: Any) -> Any:
    calls = [f"{call.name}({call.arguments})" for call in found.calls]
    return [*calls, worded(found.fault)] if found.fault else calls


def _words() -> dict[str, Any]:
    return {
        "plan": executor_prompts.plan_prompt(2, 5, TOOLS[:3]).split("\n"),
        "process": executor_prompts.process_prompt(TOOLS[1:3], 4, ()).split("\n"),
        "process, pictures": executor_prompts.process_prompt((), 1, ("a.png", "b.png")).split("\n"),
        "again": executor_prompts.retry_prompt("no JSON"),
        "lost": executor_prompts.lost_round_prompt("no JSON"),
        "decide": executor_prompts.decide_prompt("Where?").split("\n"),
        "final": executor_prompts.FINAL_PROMPT.split("\n"),
        "marks": executor_prompts.PHASE_MARKS,
    }


# --- what all readers have in common ----------------------------------------------------


def _frame() -> Iterator[tuple[str, Any]]:
    for said in (
        "",
        "f()",
        "[f()",
        "f()]",
        "[f()]",
        "```f()```",
        "\n `f()` \n",
        "x" * (2**20 + 1),
        "`",
    ):
        yield f"bracketed {shortened(said)!r}", _tried(reply_text.add_brackets, said)
    for said in ("", "<TOOLCALL>", "<TOOLCALL></TOOLCALL>", "a<TOOLCALL> b </TOOLCALL>c</TOOLCALL>",
                 "</TOOLCALL><TOOLCALL>", "<TOOLCALL>a<TOOLCALL>b</TOOLCALL>"):  # fmt: skip
        yield f"tagged {said!r}", _tried(reply_text.tag_content, said)
    for said in ("", "a", "'a'", '"a"', "'a\"", "'", "''", "'a'b'"):
        yield f"bare {said!r}", reply_text.strip_quotes(said)
    for n in (9, 10, 11):
        yield f"bounded {n} of 10", _tried(reply_text.check_length, "x" * n, 10)
    given = {"a": "1"}
    yield "put", _tried(reply_text.add_argument, given, "b", "2")
    yield "put again", _tried(reply_text.add_argument, given, "a", "2")
    for said in (*WORDS, *PYTHON[:40], *JSON[:12], *XML[:6]):
        yield f"attempted {plain(shortened(said))!r}", reply_parser.looks_like_calls(said)


def _names() -> dict[str, Any]:
    asked: tuple[tuple[str, ...], ...] = (
        ("official",),
        ("all",),
        (),
        ("officia",),
        (prompt_formats.official_format_names()[3],) * 2,
        ("ret_fmt=json",),
        ("ret_fmt=jso&tool_call_tag=True&func_doc_fmt=pyth&prompt_fmt=plaintext&style=classic",),
        ("official", "all"),
    )
    tasks = [("simple_java", "prompt"), ("simple_javascript", "prompt"), ("multiple", "native"),
             ("multiple", "prompt:x"), ("simple_java", "native")]  # fmt: skip
    return {
        "short": {name: prompt_formats.short_label(name) for name in prompt_formats.all_variants()},
        "official": list(prompt_formats.official_format_names()),
        "named": {
            " ".join(each): tried(prompt_formats.select_format_names, each) for each in asked
        },
        "form": {
            name: tried(lambda given: repr(prompt_formats.variant_of_format(given)), name)
            for name in (*dict(tasks).values(), "odd", "")
        },
        "levels": prompt_formats.axis_levels(PromptVariant(call_form="json", has_tag=True)),
        "spread": [
            [prompt_formats.max_delta(x), prompt_formats.standard_deviation(x)]
            for x in ([], [0.5], [0.25, 0.75], [0.1, 0.2, 0.4])
        ],
        "grammars": [java_calls.is_grammar_installed(), javascript_calls.is_grammar_installed()],
    }


# --- Java and JavaScript ----------------------------------------------------------------

TRUTH: dict[str, list[Any]] = {
    "name": ["Ann", "ann"], "count": [5, "5L"], "list": [["a", "b"], [1, 2]], "map": [{"k": ["v"]}],
    "flag": [True], "made": ["new Widget(1)", "new ArrayList<>()"], "rate": [1.5], "other": [""],
}  # fmt: skip
CODE = (
    "", "f", "f()", "f();", "f(1)", "f(a)", "f(a = 1)", "f(a = 1, a = 2)", "f(a = 1); g(b = 2)",
    "f(a = 1), g(b = 2)", "(f())", "x.y.f(a = 1)", "this.f(a = 'x')", "new F(a = 1)",
    "f(a = g(b = 1))",
    "f(a == 1)", "f(a = )", "f(= 1)", "f(a = 1", "f a", "f(a = 1) x", "f(A.class)", "f(A . class)",
    "f(a = A . class)",
    "f(a = g . h( 1 ))", "f(a = new  A( ))", "f(a = new A<B>)",
    "f(a = \"é\", b = 1)",
    "f(é = 1)", "return f(a = 1);", "if (x) { f(a = 1); }", "f(x => y)", "f(true)", "f(a, b, a)",
    "f({})",
    "f(a = {b: 1})", "f(a = [1, [2]])", "f(a = `t`)", "f(a = new int[]{1, 2})", "f(a = new int[2])",
    "f(a = new A<B>(1, \"x\") { int y; })", "f(a = new A())", "f(a = (int) 1)", "f(a = -1)",
    "f(a = !b)",
    "f(a.b = 1)", "f(a[0] = 1)", "\ud800", "f(a = \"\ud800\")", "f(" + "(" * 300 + ")" * 300 + ")",
    "f(a = '" + "x" * 17_000 + "')", "await f(a = 1)", "f(...a)", "f(a = async () => 1)",
    "f?.(a = 1)",
    "f<T>(a = 1)", "super.f(a = 1)", "f(a = b = 1)", "f(a += 1)", "a = f(b = 1)", "// f(a = 1)",
    "f(/* c */)",
)  # fmt: skip


def _foreign(language: str, reader: Any) -> Iterator[tuple[str, Any]]:
    for said in (*CODE, *(f"f(k = {piece})" for piece in damaged_text.PIECES[language])):
        yield shortened(plain(said)), _read(said, reader)
    for number in range(160):
        rng = seeds.make_rng(15, language, number, "golden code")
        keys = [key for key in TRUTH if seeds.draw_below(rng, 3)]
        said = damaged_text.source("f", {key: TRUTH[key] for key in keys}, rng)
        if number % 4:
            said = damaged_text.damage(said, language, rng)
        yield f"{number} {shortened(plain(said))}", _read(said, reader)


def _read(said: str, reader: Any) -> dict[str, Any]:
    return {
        "exact": _tried(reader.parse_call, reply_text.add_brackets(said)),
        "rough": _tried(reader.parse_roughly, said),
        "sketch": _tried(rough_call_parser.parse_call, said),
    }
