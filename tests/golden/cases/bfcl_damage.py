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
from tests.parity import mutate, text
from tests.parity import test_agentic as agentic_answers
from tests.parity import test_multi_turn as turned

from toolmark import codec, seeds
from toolmark.dialects.render.calls import write
from toolmark.suites.bfcl import (
    agentic,
    data,
    formats,
    handlers,
    instruments,
    multi_turn,
    suite,
)
from toolmark.suites.bfcl.stored import Reader, Row
from toolmark.suites.bfcl.stored import score as graded
from toolmark.types import Call, Ending, Label, Reply, Step, StopReason, Task, Trajectory, Verdict

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
    tasks = list(suite.load(category=("single_turn",)))
    for task in tasks:
        if task.reference is None:
            n = RELEVANCE.get(task.category, 1)
            yield from _several(task.category, task, _relevance, n)
            continue
        yield from _several(f"{task.category}-native", task, _native, NATIVE.get(task.category, 2))
        yield from _several(f"{task.category}-text", task, _text, WRITTEN.get(task.category, 2))
    entries = formats.read(data.fetch(), formats.official()[:1], "200")[0].base
    for task in entries:
        yield from _several("format_sensitivity", task, _formatted, FORMATS)
    turns = list(multi_turn.read(data.fetch(), multi_turn.CATEGORIES)[0])
    truths = [turned.played(task, seeds.of(SEED, task.id, 0, "truth")) for task in turns]

    def one(task: Task, rng: Random) -> Drawn:
        return _turned(task, truths, rng)

    for task in turns:
        yield from _several(task.category, task, one, TURNS)
    for name in agentic.CATEGORIES:
        for task in agentic.read(data.fetch(), name)[0]:
            if task.kind == "scored":
                yield from _several(name, task, _agentic, AGENTIC)
    yield from _imported(tasks)


def _several(where: str, task: Task, draw: Any, n: int) -> Iterator[tuple[str, Line]]:
    for repeat in range(n):
        damage, asked, played = draw(task, seeds.of(SEED, task.id, repeat, f"golden {where}"))
        yield where, (f"{asked.id}#{repeat}", _line(damage, played, graded(asked, played)))


# --- what a line says -------------------------------------------------------------------


def _line(damage: str, played: Trajectory, verdicts: Mapping[str, Verdict]) -> str:
    told = {rule: _told(verdict) for rule, verdict in verdicts.items()}
    if len(set(told.values())) == 1:
        told = {"+".join(told): next(iter(told.values()))}
    why = [
        [rule, verdict.parts, [worded(label.evidence) for label in verdict.labels]]
        for rule, verdict in verdicts.items()
    ]
    said = [[step.turn, step.reply, step.calls, step.fault] for step in played.steps]
    verdict = "; ".join(f"{rule}: {each}" for rule, each in told.items())
    return f"{damage} {_digest([played.dialect, played.ending, said])} | {verdict} | {_digest(why)}"


def _told(verdict: Verdict) -> str:
    return " ".join([verdict.outcome, f"{verdict.value:g}", *map(_label, verdict.labels)])


def _label(label: Label) -> str:
    return f"{label.cause}{'*' if label.primary else ''}={label.native}"


def _digest(value: Any) -> str:
    written = msgspec.json.encode(value, order="sorted")
    return hashlib.sha256(_ADDRESS.sub(b"0x", written)).hexdigest()[:8]


# --- single replies ---------------------------------------------------------------------


def _played(task: Task, reply: Reply, dialect: str) -> Trajectory:
    return Trajectory(task=task.id, dialect=dialect, steps=(Step(reply=reply),))


def _damaged(task: Task, rng: Random) -> tuple[str, mutate.Calls]:
    """Return what was done to the right calls, and the calls; as `mutate.calls` draws."""
    made, names = instruments.right(task), []
    steps = [mutate.literal] * 6 + [mutate.option] * 3 + [mutate.keyword] * 3
    steps += [mutate.order, mutate.name]
    if task.category in mutate.SCRAPS:
        steps += [mutate.code] * 12 + [mutate.written] * 6
    for _ in range(seeds.between(rng, 0, 2)):
        step = seeds.choice(rng, steps)
        made = step(made, task, rng)
        names.append(step.__name__)
    return "+".join(names) or "none", made


def _native(task: Task, rng: Random) -> Drawn:
    damage, made = _damaged(task, rng)
    calls = [Call(name=name, arguments=_json(given)) for name, given in made]
    if calls and seeds.below(rng, 20) == 0:
        at = seeds.below(rng, len(calls))
        odd = seeds.choice(rng, ("{", "[1]", "null", '"{}"', "", '{"a": NaN}', '{"a": 1e999}'))
        calls[at] = msgspec.structs.replace(calls[at], arguments=odd)
        damage += "+arguments"
    words = "Done." if not calls and seeds.below(rng, 2) else ""
    reply = Reply(text=words, calls=tuple(calls), stop=seeds.choice(rng, STOPS))
    return damage, task, _played(task, reply, "native")


def _json(given: Mapping[Any, Any]) -> str:
    named = {str(key): value for key, value in given.items()}
    return codec.escape(json.dumps(named, default=repr, ensure_ascii=False))


def _calls(task: Task) -> list[Call]:
    return [Call(name=name, arguments=_json(given)) for name, given in instruments.right(task)]


def _text(task: Task, rng: Random) -> Drawn:
    foreign = task.category.removeprefix("simple_")
    if task.category in mutate.SCRAPS:
        name, truth = next(iter(task.reference["truth"][0].items()))
        said = f"[{text.source(name, truth, rng)}]"
        if seeds.below(rng, 4):
            said = text.damage(said, foreign, rng)
        return foreign, task, _played(task, Reply(text=codec.escape(said)), "prompt")
    damage, made = _damaged(task, rng)
    listed = [
        f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"
        for name, given in made
    ]
    said = f"[{', '.join(listed)}]"
    if seeds.below(rng, 3):
        said, damage = mutate.damage(said, rng), f"{damage}+text"
    reply = Reply(text=codec.escape(said), stop=seeds.choice(rng, STOPS))
    return damage, task, _played(task, reply, "prompt")


def _formatted(task: Task, rng: Random) -> Drawn:
    name = seeds.choice(rng, tuple(formats.every()))
    form = formats.every()[name]
    calls = _calls(task)
    right = write(calls, form.calls, tag=form.tag)
    damage = seeds.choice(rng, ("none", "text", "text", "text", "tag", "native"))
    said = {
        "none": right,
        "text": text.damage(right, form.calls, rng),
        "tag": write(calls, form.calls, tag=not form.tag),
        "native": "",
    }[damage]
    reply = Reply(text=codec.escape(said), calls=tuple(calls) if damage == "native" else ())
    asked = msgspec.structs.replace(
        task, id=f"{task.id}:{name}", item=task.id, category=formats.CATEGORY, dialect=name
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
    stop = seeds.choice(rng, STOPS)
    tool = seeds.choice(rng, task.tools) if task.tools else None
    name = tool.name if tool else "some_tool"
    keys = list(tool.parameters.get("properties", {})) if tool else []
    if seeds.below(rng, 3) == 0:
        given = seeds.choice(rng, ("{}", '{"a": 1}', "{", "[]"))
        calls = (Call(name=name, arguments=given),) * seeds.below(rng, 3)
        said = seeds.choice(rng, ("", "words"))
        return "native", task, _played(task, Reply(text=said, calls=calls, stop=stop), "native")
    said = seeds.choice(rng, WORDS).format(name=name, key=keys[0] if keys else "a")
    return "text", task, _played(task, Reply(text=said, stop=stop), "prompt")


# --- several replies --------------------------------------------------------------------


def _turned(task: Task, others: list[turned.Played], rng: Random) -> Drawn:
    made = turned.damage(turned.played(task, rng), task, others, rng)
    native = seeds.below(rng, 3) > 0
    _, replies = turned.native(made) if native else turned.text(made, rng)
    steps = tuple(Step(reply=reply, turn=at, calls=reply.calls) for at, reply in replies)
    ending: Ending = "over_long" if seeds.below(rng, 20) == 0 else "answered"
    form = "native" if native else "prompt"
    played = Trajectory(task=task.id, dialect=form, steps=steps, ending=ending)
    return form, task, played


def _agentic(task: Task, rng: Random) -> Drawn:
    played = agentic_answers.played(task, seeds.below(rng, 1000))
    ending = seeds.choice(rng, ENDINGS)
    state = {"core": {"a": seeds.choice(rng, task.reference["truth"])}, "n": [1]}
    kept = seeds.choice(rng, (None, {}, state))
    return played.dialect, task, msgspec.structs.replace(played, ending=ending, state=kept)


# --- as official result files hold replies ----------------------------------------------


def _imported(tasks: list[Task]) -> Iterator[tuple[str, Line]]:
    """Go through replies as stored files hold them, errors in the place of a reply included."""
    dialects = suite.load(category=("simple_python",)).dialects
    way = handlers.Way("prompt", handlers.written, "text", True)
    reader = Reader(dialects, way)
    for task in tasks[::60]:
        for number, result in enumerate(("Error during inference: 500", "[]", "f(a=1)", None)):
            row = Row(id=task.id, result=result)
            played = reader.trajectory(task, row)
            yield "imported", (f"{task.id}#{number}", _line("row", played, graded(task, played)))
