"""10,000 damaged BFCL answers over every category that is graded offline, under both rules.

An answer is drawn from its seed alone, by the generators of the differential tests. A line holds
the damage, a digest of the answer, and the verdicts; the last digest is that of all evidence and
parts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from tests.golden.plain import worded
from tests.parity import damaged_replies, damaged_text, test_agentic, test_multi_turn

import toolmark as tm
from toolmark.core import json_codec, seeds
from toolmark.core.records import (
    Call,
    Ending,
    Label,
    Reply,
    Step,
    StopReason,
    Task,
    Trajectory,
    Verdict,
)
from toolmark.formats.render.call_text import render_calls
from toolmark.official_bfcl import (
    bfcl_controls,
    handler_replies,
    multi_turn_tasks,
    official_data,
    prompt_formats,
)
from toolmark.scoring.episode import Episode
from toolmark.studio.bfcl_interchange import official_handlers
from toolmark.studio.bfcl_interchange.result_rows import ResultRow, RowReader
from toolmark.suites.bfcl import agentic_tasks
from toolmark.suites.bfcl.bfcl_scorer import score_episode

LONG = True

GRAMMARS = True
_ADDRESS = re.compile(rb"0x[0-9a-f]*")  # of an object in Python's memory, in some evidence

Line = tuple[str, str]  # id and what is recorded of it
Drawn = tuple[str, Task, Trajectory]  # damage, and what is graded

SEED = 15
NATIVE = {"simple_java": 9, "simple_javascript": 18, "live_parallel": 12,
          "live_parallel_multiple": 8, "parallel": 3, "parallel_multiple": 3,
          "live_multiple": 1}  # fmt: skip
WRITTEN = {"simple_java": 5, "simple_javascript": 10, "live_parallel": 4, "live_multiple": 1}
RELEVANCE = {"live_irrelevance": 1, "irrelevance": 2, "live_relevance": 12}
FORMATS = 5  # of each entry that is asked in many formats
TURNS = 1
AGENTIC = 2
STOPS: tuple[StopReason, ...] = (
    "stop",
    "stop",
    "stop",
    "stop",
    "length",
    "refused",
    "malformed",
    "over_long",
)
ENDINGS: tuple[Ending, ...] = (
    "answered", "answered", "answered", "steps", "calls", "length", "refused", "malformed",
    "over_long",
)  # fmt: skip


def record(folder: Path) -> dict[str, Any]:
    """Return a line per answer, by category and way of asking."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for where, (name, line) in _lines():
        found[where][name] = line
    return dict(found)


def _lines() -> Iterator[tuple[str, Line]]:
    tasks = list(tm.load("bfcl", category=("single_turn",)))
    for task in tasks:
        if task.data is None:
            n = RELEVANCE.get(task.category, 1)
            yield from _several(task.category, task, _relevance, n)
            continue
        yield from _several(f"{task.category}-native", task, _native, NATIVE.get(task.category, 2))
        yield from _several(f"{task.category}-text", task, _text, WRITTEN.get(task.category, 2))
    entries = prompt_formats.read_tasks(
        official_data.fetch_wheel(), prompt_formats.official_format_names()[:1], "200"
    )[0].entries
    for task in entries:
        yield from _several("format_sensitivity", task, _formatted, FORMATS)
    turns = list(
        multi_turn_tasks.read_tasks(official_data.fetch_wheel(), multi_turn_tasks.CATEGORIES)[0]
    )
    truths = [
        test_multi_turn.played(task, seeds.make_rng(SEED, task.id, 0, "truth")) for task in turns
    ]

    def one(task: Task, rng: Random) -> Drawn:
        return _turned(task, truths, rng)

    for task in turns:
        yield from _several(task.category, task, one, TURNS)
    for name in agentic_tasks.CATEGORIES:
        for task in agentic_tasks.read_tasks(official_data.fetch_wheel(), name)[0]:
            if task.kind == "scored":
                yield from _several(name, task, _agentic, AGENTIC)
    yield from _imported(tasks)


def _several(where: str, task: Task, draw: Any, n: int) -> Iterator[tuple[str, Line]]:
    for repeat in range(n):
        damage, asked, played = draw(task, seeds.make_rng(SEED, task.id, repeat, f"golden {where}"))
        yield (
            where,
            (f"{asked.id}#{repeat}", _line(damage, played, score_episode(Episode(asked, played)))),
        )


# --- what a line says -------------------------------------------------------------------


def _line(damage: str, played: Trajectory, verdicts: Mapping[str, Verdict]) -> str:
    reported = {rule: _reported(verdict) for rule, verdict in verdicts.items()}
    if len(set(reported.values())) == 1:
        reported = {"+".join(reported): next(iter(reported.values()))}
    why = [
        [rule, verdict.parts, [worded(label.evidence) for label in verdict.labels]]
        for rule, verdict in verdicts.items()
    ]
    said = [[step.turn, step.reply, step.calls, step.fault] for step in played.steps]
    verdict = "; ".join(f"{rule}: {each}" for rule, each in reported.items())
    reply = _digest([played.tool_format, played.ending, said])
    return f"{damage} {reply} | {verdict} | {_digest(why)}"


def _reported(verdict: Verdict) -> str:
    return " ".join([verdict.outcome, f"{verdict.value:g}", *map(_label, verdict.labels)])


def _label(label: Label) -> str:
    return f"{label.cause}{'*' if label.primary else ''}={label.suite_cause}"


def _digest(value: Any) -> str:
    written = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(_ADDRESS.sub(b"0x", written)).hexdigest()[:8]


# --- single replies ---------------------------------------------------------------------


def _played(task: Task, reply: Reply, tool_format: str) -> Trajectory:
    return Trajectory(task=task.id, tool_format=tool_format, steps=(Step(reply=reply),))


def _damaged(task: Task, rng: Random) -> tuple[str, damaged_replies.Calls]:
    """Return what was done to the right calls, and the calls; as `damaged_replies.calls` draws."""
    made, names = bfcl_controls.expected_calls(task), []
    steps = (
        [damaged_replies.literal] * 6 + [damaged_replies.option] * 3 + [damaged_replies.keyword] * 3
    )
    steps += [damaged_replies.order, damaged_replies.name]
    if task.category in damaged_replies.SCRAPS:
        steps += [damaged_replies.code] * 12 + [damaged_replies.written] * 6
    for _ in range(seeds.draw_between(rng, 0, 2)):
        step = seeds.draw_one(rng, steps)
        made = step(made, task, rng)
        names.append(step.__name__)
    return "+".join(names) or "none", made


def _native(task: Task, rng: Random) -> Drawn:
    damage, made = _damaged(task, rng)
    calls = [Call(name=name, arguments=_json(given)) for name, given in made]
    if calls and seeds.draw_below(rng, 20) == 0:
        at = seeds.draw_below(rng, len(calls))
        odd = seeds.draw_one(rng, ("{", "[1]", "null", '"{}"', "", '{"a": NaN}', '{"a": 1e999}'))
        calls[at] = msgspec.structs.replace(calls[at], arguments=odd)
        damage += "+arguments"
    words = "Done." if not calls and seeds.draw_below(rng, 2) else ""
    reply = Reply(text=words, calls=tuple(calls), stop=seeds.draw_one(rng, STOPS))
    return damage, task, _played(task, reply, "native")


def _json(given: Mapping[Any, Any]) -> str:
    named = {str(key): value for key, value in given.items()}
    return json_codec.escape_surrogates(json.dumps(named, default=repr, ensure_ascii=False))


def _calls(task: Task) -> list[Call]:
    return [
        Call(name=name, arguments=_json(given))
        for name, given in bfcl_controls.expected_calls(task)
    ]


def _text(task: Task, rng: Random) -> Drawn:
    foreign = task.category.removeprefix("simple_")
    if task.category in damaged_replies.SCRAPS:
        name, truth = next(iter(task.data["truth"][0].items()))
        said = f"[{damaged_text.source(name, truth, rng)}]"
        if seeds.draw_below(rng, 4):
            said = damaged_text.damage(said, foreign, rng)
        return (
            foreign,
            task,
            _played(task, Reply(text=json_codec.escape_surrogates(said)), "prompt"),
        )
    damage, made = _damaged(task, rng)
    listed = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
        for name, given in made
    ]
    said = f"[{', '.join(listed)}]"
    if seeds.draw_below(rng, 3):
        said, damage = damaged_replies.damage(said, rng), f"{damage}+text"
    reply = Reply(text=json_codec.escape_surrogates(said), stop=seeds.draw_one(rng, STOPS))
    return damage, task, _played(task, reply, "prompt")


def _formatted(task: Task, rng: Random) -> Drawn:
    name = seeds.draw_one(rng, tuple(prompt_formats.all_variants()))
    form = prompt_formats.all_variants()[name]
    calls = _calls(task)
    right = render_calls(calls, form.call_form, tag=form.has_tag)
    damage = seeds.draw_one(rng, ("none", "text", "text", "text", "tag", "native"))
    said = {
        "none": right,
        "text": damaged_text.damage(right, form.call_form, rng),
        "tag": render_calls(calls, form.call_form, tag=not form.has_tag),
        "native": "",
    }[damage]
    reply = Reply(
        text=json_codec.escape_surrogates(said), calls=tuple(calls) if damage == "native" else ()
    )
    asked = msgspec.structs.replace(
        task,
        id=f"{task.id}:{name}",
        item=task.id,
        category=prompt_formats.CATEGORY,
        tool_format=name,
    )
    return damage, asked, _played(asked, reply, name)


WORDS = (
    "None of the tools fits this request.", "", "[]", "I need more information: which city?",
    "[{name}()]", "{name}()", "[{name}({key}=1)", "[{name}({key}=1)]", "Sure: [{name}({key}=1)]",
    "```python\n[{name}(1, {key}=2", "[unknown(a=1)]", "call {name} with {key}", "[{name}(1)]",
    '[{{"function": "{name}", "parameters": {{}}}}]', "<functions><function name=\"{name}\"/>",
)  # fmt: skip


def _relevance(task: Task, rng: Random) -> Drawn:
    """Return words or calls where the question is whether anything fits."""
    stop = seeds.draw_one(rng, STOPS)
    tool = seeds.draw_one(rng, task.tools) if task.tools else None
    name = tool.name if tool else "some_tool"
    keys = list(tool.parameters.get("properties", {})) if tool else []
    if seeds.draw_below(rng, 3) == 0:
        given = seeds.draw_one(rng, ("{}", '{"a": 1}', "{", "[]"))
        calls = (Call(name=name, arguments=given),) * seeds.draw_below(rng, 3)
        said = seeds.draw_one(rng, ("", "words"))
        return "native", task, _played(task, Reply(text=said, calls=calls, stop=stop), "native")
    said = seeds.draw_one(rng, WORDS).format(name=name, key=keys[0] if keys else "a")
    return "text", task, _played(task, Reply(text=said, stop=stop), "prompt")


# --- several replies --------------------------------------------------------------------


def _turned(task: Task, others: list[test_multi_turn.Played], rng: Random) -> Drawn:
    made = test_multi_turn.damage(test_multi_turn.played(task, rng), task, others, rng)
    native = seeds.draw_below(rng, 3) > 0
    _, replies = test_multi_turn.native(made) if native else test_multi_turn.text(made, rng)
    steps = tuple(Step(reply=reply, turn=at, calls=reply.calls) for at, reply in replies)
    ending: Ending = "over_long" if seeds.draw_below(rng, 20) == 0 else "answered"
    form = "native" if native else "prompt"
    played = Trajectory(task=task.id, tool_format=form, steps=steps, ending=ending)
    return form, task, played


def _agentic(task: Task, rng: Random) -> Drawn:
    played = test_agentic.played(task, seeds.draw_below(rng, 1000))
    ending = seeds.draw_one(rng, ENDINGS)
    state = {"core": {"a": seeds.draw_one(rng, task.data["truth"])}, "n": [1]}
    saved = seeds.draw_one(rng, (None, {}, state))
    return played.tool_format, task, msgspec.structs.replace(played, ending=ending, state=saved)


# --- as official result files hold replies ----------------------------------------------


def _imported(tasks: list[Task]) -> Iterator[tuple[str, Line]]:
    """Go through replies as stored files hold them, errors in the place of a reply included."""
    tool_formats = tm.load("bfcl", category=("simple_python",)).tool_formats
    way = official_handlers.HandlerFormat("prompt", handler_replies.read_text_reply, "text", True)
    reader = RowReader(tool_formats, way)
    for task in tasks[::60]:
        for number, result in enumerate(("Error during inference: 500", "[]", "f(a=1)", None)):
            row = ResultRow(id=task.id, result=result)
            played = reader.read_trajectory(task, row)
            yield (
                "imported",
                (f"{task.id}#{number}", _line("row", played, score_episode(Episode(task, played)))),
            )
