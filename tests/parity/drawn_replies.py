"""Replies that are drawn by the hash of a whole conversation: right calls, damaged calls, prose.

Who asks the same gets the same, so two harnesses have the same conversation exactly as long as
their requests are the same. A conversation is read by `Spoken` from any wire.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.core.records import Task
from toolmark.official_bfcl import multi_turn_tasks
from toolmark.official_bfcl.executable_calls import ExecutableCall

RESULTS = "[{'role': 'tool'"  # how a message of the user begins that brings results in text
ENDLESS = 29  # one conversation of so many repeats a call until it is stopped
# the official executor changes the text; what becomes of other types in a memory is the encoder's
ODD_VALUES: tuple[Any, ...] = (
    "see you (soon), sort (all)",
    None,
    [{"a": {"b": 1.5}}],
    [1, "two"],
    True,
)
ODD_DICTIONARIES: tuple[Any, ...] = ({"a": {"b": 1}}, {"a": 1, "b": {"c": 2}})
PROSE = ("I need more information.", "Done.", "It is (probably) done: ls(a='b')?", "", "None")
_LONG_FLOAT = re.compile(r"\d\.\d{5,}")


ReplyForm: TypeAlias = Literal["native", "text", "fenced", "tagged", "listed"]
"""How calls are written: structured, as Python, in fences or tags around it, as a list of JSON."""


class Spoken(NamedTuple):
    """One message: its role, its text, and its calls as pairs of name and arguments in JSON."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


class Drawn(NamedTuple):
    """A reply: text, and calls as pairs of name and arguments in JSON; None is no list of calls."""

    text: str | None
    calls: tuple[tuple[str, str], ...] | None = None


@dataclass
class Plan:
    """What would be right in one conversation: calls turn by turn, and words of an answer."""

    turns: list[list[ExecutableCall]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


class Replies:
    """Draws the replies of all conversations of some tasks."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.plans: dict[tuple[str, str], Plan] = {}
        for task in tasks:
            said = [x.text for turn in task.turns for x in turn.messages if x.role == "user"]
            plan = self.plans.setdefault((task.category, said[0]), Plan())
            if task.category.startswith("multi_turn"):
                plan.turns = [
                    [ExecutableCall(call.name, json.loads(call.arguments)) for call in turn]
                    for turn in multi_turn_tasks.expected_calls(task)
                ]
            elif task.data is not None:
                plan.answers = list(task.data["truth"])

    def draw(
        self,
        category: str,
        said: Sequence[Spoken],
        tools: Sequence[Mapping[str, Any]],
        *,
        form: ReplyForm,
        whole_arguments: bool = False,
    ) -> Drawn:
        """Return the reply to a conversation; `whole_arguments` draws no broken arguments."""
        if form == "tagged":
            said = self._with_first_question(category, said)
        heard = json.dumps([category, said, tools], sort_keys=True)
        heard = _LONG_FLOAT.sub(lambda found: found[0][:6], heard)
        rng = Random(hashlib.sha256(heard.encode()).hexdigest())
        users = [x.text for x in said if x.role == "user" and not x.text.startswith(RESULTS)]
        plan = self.plans[category, users[0]]
        character = int(hashlib.sha256(users[0].encode()).hexdigest(), 16)
        done = _n_written(said) if form == "tagged" else _n_done(said)
        drawn = self._draw_plain(
            category, plan, users, tools, done, character, rng,
            native=form in ("native", "listed"), whole_arguments=whole_arguments,
        )  # fmt: skip
        return _in_form(drawn, form, rng)

    def _with_first_question(self, category: str, said: Sequence[Spoken]) -> list[Spoken]:
        """Return a conversation with the first question, which ends the first message, apart."""
        first = said[0]
        asked = [text for known, text in self.plans if known == category]
        question = max((text for text in asked if first.text.endswith(text)), key=len)
        return [first, Spoken("user", question), *said[1:]]

    def _draw_plain(
        self,
        category: str,
        plan: Plan,
        users: Sequence[str],
        tools: Sequence[Mapping[str, Any]],
        done: int,
        character: int,
        rng: Random,
        *,
        native: bool,
        whole_arguments: bool,
    ) -> Drawn:
        """Return a reply whose calls are structured or Python."""
        right = self._right_calls(plan, users, tools, done, rng, category)
        if character % ENDLESS == 0 and len(users) > 1:
            return _written(_any_call(plan, tools, rng), native=native)
        calls = right[:1] if character % 2 else right
        match rng.random():
            case x if x < 0.84:
                if calls:
                    return _written(calls, native=native)
                return Drawn(_answer(plan, rng))
            case x if x < 0.94:
                calls = list(calls or _any_call(plan, tools, rng))
                odd: tuple[Any, ...] = ODD_VALUES if plan.turns else ("see you",)
                if native:
                    return _damaged_calls(calls, rng, odd, whole=whole_arguments)
                odd += ODD_DICTIONARIES if plan.turns else ()
                return Drawn(_damaged_text(calls, rng, odd))
            case x if x < 0.97:
                return Drawn(_answer(plan, rng))
        return _written(_any_call(plan, tools, rng), native=native)

    def _right_calls(
        self,
        plan: Plan,
        users: Sequence[str],
        tools: Sequence[Mapping[str, Any]],
        done: int,
        rng: Random,
        category: str,
    ) -> list[ExecutableCall]:
        if plan.turns:
            turn = len(users) - 1
            return plan.turns[turn][done:] if turn < len(plan.turns) else []
        if done > 1 + rng.randrange(3):
            return []
        return [_found_call(category, users[-1], plan, rng) for _ in range(1 + rng.randrange(2))]


def _n_done(said: Sequence[Spoken]) -> int:
    """Return how many results the present turn has brought."""
    n = 0
    for each in reversed(said):
        if each.role == "tool":
            n += 1
        elif each.role == "user" and each.text.startswith(RESULTS):
            n += each.text.count("{'role': 'tool'")
        elif each.role == "user":
            break
    return n


def _n_written(said: Sequence[Spoken]) -> int:
    """Return how many calls the present turn has made, where no result says so."""
    n = 0
    for each in reversed(said):
        if each.role == "user":
            break
        n += each.text.count("(")
    return n


def _in_form(drawn: Drawn, form: ReplyForm, rng: Random) -> Drawn:
    """Return a reply with its calls written in a form, now and then damaged."""
    if form == "listed":
        return Drawn(_listed(drawn, rng))
    text = drawn.text or ""
    if form in ("native", "text") or "(" not in text:
        return drawn
    if form == "fenced":
        fenced = (
            text,
            f"```tool_code\n{text}\n```",
            f"```tool_code\n{text}",
            f"It is\n{text}\n```",
        )
        return Drawn(rng.choices(fenced, (5, 5, 1, 1))[0])
    tagged = f"<TOOLCALL>{text}</TOOLCALL>"
    made = (
        tagged,
        f"Sure:\n{tagged}",
        f"<TOOLCALL>{text}",
        text,
        f"{tagged}{tagged}",
        f"{tagged}!",
    )
    return Drawn(rng.choices(made, (20, 1, 1, 1, 1, 1))[0])


def _listed(drawn: Drawn, rng: Random) -> str:
    """Return calls as a JSON list between tags, after a thought; without calls the text."""
    if drawn.calls is None:
        return drawn.text or ""
    items = [f'{{"name": {json.dumps(x)}, "arguments": {given}}}' for x, given in drawn.calls]
    listed = f"[{', '.join(items)}]"
    tagged = f"<tool_calls>\n{listed}\n</tool_calls>"
    said = drawn.text or ""
    made = (
        f"<think>\nHm.\n</think>\n{tagged}", f"{said}{tagged}", listed, items[0] if items else "[]",
        f"<tool_calls>{listed}</tool_calls>", f"{tagged}\n{tagged}", f"<tool_calls>\n{listed}",
        f"<tool_calls>\n[5, {listed[1:]}\n</tool_calls>",
    )  # fmt: skip
    return rng.choices(made, (20, 2, 1, 1, 1, 1, 1, 1))[0]


def _answer(plan: Plan, rng: Random) -> str:
    words = rng.choice(plan.answers) if plan.answers else rng.choice(PROSE)
    return rng.choice((words, f"{{'answer': '{words}', 'context': 'as found'}}", rng.choice(PROSE)))


def _any_call(plan: Plan, tools: Sequence[Mapping[str, Any]], rng: Random) -> list[ExecutableCall]:
    calls = [call for turn in plan.turns for call in turn]
    if calls:
        return [rng.choice(calls)]
    names = [tool["name"] for tool in tools]
    return [ExecutableCall(rng.choice(names) if names else "no_such_tool", {})]


def _found_call(category: str, question: str, plan: Plan, rng: Random) -> ExecutableCall:
    """Return a call that stores or looks for something."""
    words = re.sub("[()]", "", question).split()
    at = rng.randrange(max(1, len(words) - 4))
    text = " ".join(words[at : at + 4])
    store = rng.choice(("core", "archival"))
    key = re.sub(r"[^a-z]+", "_", text.lower()).strip("_") or "key"
    match category:
        case "memory_kv":
            made = rng.choice((
                ExecutableCall(f"{store}_memory_add", {"key": key, "value": text}),
                ExecutableCall(f"{store}_memory_key_search", {"query": text, "k": 3}),
                ExecutableCall(f"{store}_memory_list_keys", {}),
                ExecutableCall(f"{store}_memory_retrieve", {"key": key}),
            ))  # fmt: skip
        case "memory_vector":
            made = rng.choice((
                ExecutableCall(f"{store}_memory_add", {"text": text}),
                ExecutableCall(f"{store}_memory_retrieve", {"query": text, "top_k": 2}),
                ExecutableCall(f"{store}_memory_update", {"vec_id": 0, "new_text": text}),
            ))  # fmt: skip
        case "memory_rec_sum":
            made = rng.choice((
                ExecutableCall("memory_append", {"text": text}),
                ExecutableCall("memory_replace", {"old_text": text, "new_text": words[0]}),
                ExecutableCall("memory_retrieve", {}),
            ))  # fmt: skip
        case _:
            made = rng.choice((
                ExecutableCall("search_engine_query", {"keywords": text, "max_results": 2}),
                ExecutableCall("search_engine_query", {"keywords": text, "region": "us-en"}),
                ExecutableCall("fetch_url_content", {"url": f"https://a.example/{key}"}),
                ExecutableCall("fetch_url_content", {"url": "ftp://a.example"}),
                ExecutableCall("fetch_url_content", {"url": "https://a.example/none"}),
            ))  # fmt: skip
    return made


# --- as written -------------------------------------------------------------------------


def _written(calls: Sequence[ExecutableCall], *, native: bool) -> Drawn:
    if native:
        return Drawn(None, tuple((x.name, json.dumps(dict(x.arguments))) for x in calls))
    return Drawn(_source(calls))


def _source(calls: Sequence[ExecutableCall]) -> str:
    return f"[{', '.join(executable(call) for call in calls)}]"


def executable(call: ExecutableCall) -> str:
    """Return a call as Python source."""
    return f"{call.name}({', '.join(f'{k}={v!r}' for k, v in call.arguments.items())})"


def _damaged_calls(
    calls: list[ExecutableCall], rng: Random, odd: Sequence[Any], *, whole: bool
) -> Drawn:
    """Return structured calls of which one is damaged."""
    at = rng.randrange(len(calls))
    made = [(x.name, json.dumps(dict(x.arguments))) for x in calls]
    name, given = made[at]
    given_anew = dict(calls[at].arguments) or {"x": 1}
    key = rng.choice(list(given_anew))
    broken = [
        (name, given[:-1]), (name, f"[{given}]"), (name, ""), (name, "null"), (name, "{'a': 1}"),
    ]  # fmt: skip
    sound = [
        (f"{name}_v2", given),
        (name, json.dumps({**given_anew, "unasked": 1})),
        (name, json.dumps({k: v for k, v in given_anew.items() if k != key})),
        *((name, json.dumps({**given_anew, key: value})) for value in odd),
        (name, "{}"),
    ]
    kind = rng.randrange(10)
    if kind < 4 and not whole:
        made[at] = rng.choice(broken)
        return Drawn(rng.choice((None, "Let me see.")), tuple(made))
    if kind == 4:
        return Drawn("Let me see.", tuple(made))
    if kind == 5:
        return Drawn(None, (*made, made[at]))
    if kind == 6 and not whole:
        return rng.choice((Drawn("", ()), Drawn("Hm.", ()), Drawn(None)))
    made[at] = rng.choice(sound)
    return Drawn(None, tuple(made))


def _damaged_text(calls: list[ExecutableCall], rng: Random, odd: Sequence[Any]) -> str:
    """Return calls as text that is damaged."""
    at = rng.randrange(len(calls))
    source, one = _source(calls), calls[at]
    given = dict(one.arguments) or {"x": 1}
    key = rng.choice(list(given))

    def other(value: Any) -> str:
        return _source([*calls[:at], ExecutableCall(one.name, {**given, key: value})])

    return rng.choice((
        source[1:-1], source[:-1], f"```python\n{source}\n```", f"```\n{source}\n```",
        f"Sure: {source}", f"{source} done", f"[{one.name}({given[key]!r})]", f"{one.name}",
        "[]", "", other({}), *map(other, odd),
        _source([ExecutableCall(f"{one.name}_v2", given)]),
        json.dumps([{"function": one.name, "parameters": given}]), source.replace("=", "=-", 1),
    ))  # fmt: skip
