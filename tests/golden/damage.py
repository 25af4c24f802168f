"""A model that is right but for damage drawn by a seed: it reaches what graders look at."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from msgspec.structs import replace

from toolmark.core.model import Control, ReplyFunction
from toolmark.core.records import Call, Reply, Request, StopReason, Task, Usage

Maker = Callable[[Task, int, Mapping[str, str]], ReplyFunction]
Damage = Callable[[Random, Reply, Request], Reply]
STOPS: tuple[StopReason, ...] = ("length", "refused", "malformed", "over_long")


class Damaged(Control):
    """An instrument around a suite's oracle; `rate` is the share of replies that are damaged."""

    name = "golden/damaged"

    def __init__(self, oracle: Maker, rate: float = 0.7, kinds: tuple[str, ...] = ()) -> None:
        self._oracle = oracle
        self._rate = rate
        self._kinds = kinds or tuple(KINDS)

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        """Return the player of one episode."""
        player = self._oracle(task, repeat, {})
        rng = Random(f"{task.id} {repeat}")

        async def play(request: Request, /) -> Reply:
            reply: Reply = await player(request)
            if rng.random() < self._rate:
                reply = KINDS[rng.choice(self._kinds)](rng, reply, request)
            n = len(request.messages)
            return replace(
                reply, usage=Usage(input=10 * n, output=n, reasoning=n % 3, cached=n % 2)
            )

        return play


def _each(change: Callable[[Random, Call], Call]) -> Damage:
    """Return the damage that changes one call; without calls the text is changed."""

    def damage(rng: Random, reply: Reply, request: Request) -> Reply:
        if not reply.calls:
            return _text(rng, reply, request)
        at = rng.randrange(len(reply.calls))
        calls = [change(rng, call) if i == at else call for i, call in enumerate(reply.calls)]
        return replace(reply, calls=tuple(calls))

    return damage


def _given(change: Callable[[Random, dict[str, Any]], None]) -> Damage:
    """Return the damage that changes the arguments of one call."""

    def changed(rng: Random, call: Call) -> Call:
        given = json.loads(call.arguments)
        change(rng, given)
        return replace(call, arguments=json.dumps(given, ensure_ascii=False))

    return _each(changed)


def _value(rng: Random, given: dict[str, Any]) -> None:
    if given:
        key = rng.choice(sorted(given))
        given[key] = _other(rng, given[key])


def _other(rng: Random, value: Any) -> Any:
    match value:
        case bool():
            return rng.choice([not value, str(value), int(value)])
        case int():
            return rng.choice([value + 1, float(value), str(value), -value, 10**20])
        case float():
            return rng.choice([value + 0.001, int(value), str(value), value * 2])
        case str():
            return rng.choice(
                [f" {value} ", value.upper(), value[:-1], f"{value}.", "", [value], f"not {value}"]
            )
        case list() if value:
            changed = [_other(rng, value[0]), *value[1:]]
            return rng.choice([value[1:], value[::-1], changed, [*value, value[0]], tuple(value)])
        case dict() if value:
            key = rng.choice(sorted(value))
            less = {k: v for k, v in value.items() if k != key}
            return rng.choice([less, {**value, key: _other(rng, value[key])}, {**value, "more": 1}])
        case _:
            return rng.choice([None, 0, "x", {}])


def _drop_argument(rng: Random, given: dict[str, Any]) -> None:
    if given:
        del given[rng.choice(sorted(given))]


def _add_argument(rng: Random, given: dict[str, Any]) -> None:
    given[rng.choice(["invented", "verbose", "unit"])] = rng.choice([1, "x", None, True])


def _drop_call(rng: Random, reply: Reply, request: Request) -> Reply:
    if not reply.calls:
        return _text(rng, reply, request)
    at = rng.randrange(len(reply.calls))
    return replace(reply, calls=reply.calls[:at] + reply.calls[at + 1 :])


def _double_call(rng: Random, reply: Reply, request: Request) -> Reply:
    if not reply.calls:
        return _text(rng, reply, request)
    again = replace(rng.choice(reply.calls), id=f"again_{rng.randrange(10**6)}")
    return replace(reply, calls=(*reply.calls, again))


def _swap(rng: Random, reply: Reply, request: Request) -> Reply:
    return replace(reply, calls=reply.calls[::-1])


def _tool(rng: Random, reply: Reply, request: Request) -> Reply:
    names = [tool.name for tool in request.tools] or ["unknown_tool"]
    name = rng.choice([*names[:3], "unknown_tool", "Mixed.Case"])
    if not reply.calls:
        return replace(reply, calls=(Call(name=name, arguments="{}", id="call_x"),))
    return _each(lambda rng, call: replace(call, name=name))(rng, reply, request)


def _broken(rng: Random, reply: Reply, request: Request) -> Reply:
    texts = ["{", "[]", "null", '{"a": 1} x', "", '{"a": NaN}', "{'a': 1}"]
    return _each(lambda rng, call: replace(call, arguments=rng.choice(texts)))(rng, reply, request)


def _text(rng: Random, reply: Reply, request: Request) -> Reply:
    words = reply.text
    said = [
        "", f"{words} indeed", words.upper(), words[: len(words) // 2], "I cannot do that.",
        "Which one do you mean?", "42", f"**{words}**", words.replace(" ", ""), "A", "0, 0, 0",
    ]  # fmt: skip
    return replace(reply, text=rng.choice(said), calls=())


def _both(rng: Random, reply: Reply, request: Request) -> Reply:
    return replace(reply, text="Let me think about it first. Then I call.")


def _stop(rng: Random, reply: Reply, request: Request) -> Reply:
    return replace(reply, stop=rng.choice(STOPS), calls=())


def spoilt(rng: Random, text: str) -> str:
    """Return a text with one to three places changed, of which a parser may or may not care."""
    marks = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        ",",
        "=",
        ":",
        "<",
        ">",
        "\n",
        " ",
        "\\",
        "```",
    ]
    frames = [
        "{}", "Sure! {}", "{}\nDone.", "```json\n{}\n```", "```\n{}\n```",
        "<think>x</think>{}", "[{}]", "({})", "{} {}", "{}\n{}", "`{}`", " {} ",
    ]  # fmt: skip
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        mark = rng.choice(marks)
        match rng.randrange(6):
            case 0:
                text = text[:at] + text[at + 1 :]
            case 1:
                text = text[:at] + mark + text[at:]
            case 2:
                text = text.replace(mark, rng.choice(marks), rng.choice([1, -1]))
            case 3:
                text = rng.choice(frames).replace("{}", text)
            case 4:
                text = text[: rng.randint(len(text) // 2, len(text))]
            case _:
                text = text.replace(mark, "", 1)
    return text


KINDS: dict[str, Damage] = {
    "value": _given(_value),
    "value again": _given(_value),
    "drop argument": _given(_drop_argument),
    "add argument": _given(_add_argument),
    "drop call": _drop_call,
    "double call": _double_call,
    "swap": _swap,
    "tool": _tool,
    "broken": _broken,
    "text": _text,
    "both": _both,
    "stop": _stop,
}
