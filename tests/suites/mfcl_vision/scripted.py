"""Scripted agents that commit one failure mode each, on the web of generated items.

What they go by is not what the detectors go by: who is who in the world, scenes, and word lists of
their own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, TypeAlias

import msgspec

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core import seeds
from toolmark.core.errors import DataError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Sampling, Task, Trajectory
from toolmark.environments.search_environment import FETCH_TOOL, SEARCH_TOOL, search_tools
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.suites.mfcl_vision import item_generator, oracle_control, prompts, task_maker
from toolmark.suites.mfcl_vision.generation_parameters import GenerationParameters
from toolmark.suites.mfcl_vision.item_records import ItemPlan, ItemTruth, SignMark
from toolmark.suites.mfcl_vision.templates import item_templates
from toolmark.suites.mfcl_vision.web_environment import WebEnvironment

SEED, DISTRACTORS = 5, 1
OPTIONS = GenerationParameters(
    lookalikes=(1, 2), depth=(1,), hops=(1, 2, 3), distractors=DISTRACTORS
)
AIMLESS = (
    "interesting facts online", "official information website", "famous landmarks list",
    "background details summary", "frequently searched things", "travel guide tips",
    "general knowledge quiz", "latest news today", "useful encyclopedia entries",
)  # fmt: skip
LOOKS = (
    "red sign", "yellow banner", "big poster", "blue jersey", "white label", "wooden door",
    "green shop window", "brick building with sign", "large screen",
)  # fmt: skip
WRONG = ("Quorvane Hill", "Belmoth Ranstead", "4 April 1804", "77", "Zuvakka")
VOWELS = "aeiou"

Play: TypeAlias = Iterator[tuple[Call, ...] | str]
Agent: TypeAlias = Callable[[Task, Random], Play | None]


# --- items without pictures -------------------------------------------------------------


@cache
def tasks(n: int) -> tuple[Task, ...]:
    """Return items that keep the laws, as tasks whose picture is not drawn."""
    collected = item_generator.world_setup(SEED, DISTRACTORS)
    made: list[Task] = []
    number = 0
    while len(made) < n:
        rng = seeds.make_rng(SEED, f"scripted {number}", 0, "plan")
        template = item_templates()[number * 7 % len(item_templates())]
        try:
            plan = item_generator.draw_plan(collected, template, OPTIONS, rng, f"item-{number}")
            made.append(_task(plan, collected.fictional_world))
        except (ValueError, DataError):
            pass
        number += 1
    return tuple(made)


def _task(plan: ItemPlan, environment: Any) -> Task:
    truth = ItemTruth(
        answers=plan.answers, question=plan.question, hops=plan.hops, variation="base",
        marks=tuple(
            SignMark(
                role=sign.role, text=" ".join(sign.lines), symbol=sign.symbol, answer=sign.answer,
                hrefs=(environment.page(sign.entity).href,) if sign.entity else (),
            )
            for sign in plan.setting.signs
        ),
    )  # fmt: skip
    return Task(
        id=f"{plan.id}@base", item=plan.id, suite=task_maker.SUITE_NAME, category=plan.domain,
        turns=(prompts.make_first_turn(truth.question, None),), tools=search_tools(), seed=SEED,
        data=msgspec.to_builtins(truth), axes={"variation": "base"}, limits=task_maker.LIMITS,
    )  # fmt: skip


def truth_of(task: Task) -> ItemTruth:
    """Return what is known of an item."""
    return msgspec.convert(task.data, ItemTruth)


def corpus() -> Any:
    """Return the pages."""
    return item_generator.world_setup(SEED, DISTRACTORS).corpus


# --- playing ----------------------------------------------------------------------------


class Script(Model):
    """Says what a play says: calls, then a text."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._n = 0

    async def __call__(self, request: Request, /) -> Reply:
        """Say the next thing."""
        said = next(self._play)
        if isinstance(said, str):
            return Reply(text=said)
        self._n += 1
        named = [
            msgspec.structs.replace(call, id=f"call_{self._n}_{k}") for k, call in enumerate(said)
        ]
        return Reply(calls=tuple(named))


def play(task: Task, model: Model) -> Trajectory:
    """Play an episode on the pages of the world."""
    world = WebEnvironment(task.tools, corpus(), snippets=True)
    played: Coroutine[Any, Any, Trajectory] = run_tool_loop(
        task, model, NATIVE_FORMAT, world, Sampling()
    )
    return asyncio.run(played)


def right(task: Task) -> Trajectory:
    """Return how the oracle plays."""
    return play(task, oracle_control.make_oracle(task, 0, {}))


def spoilt(task: Task, name: str) -> Trajectory | None:
    """Return how the agent of a mode plays; None where its mode is not possible there."""
    found = AGENTS[name](task, seeds.make_rng(SEED, task.item, 0, f"agent {name}"))
    return None if found is None else play(task, Script(found))


def search(words: str) -> tuple[Call, ...]:
    """Return a search."""
    return (Call(name=SEARCH_TOOL, arguments=json.dumps({"keywords": words})),)


def fetch(href: str) -> tuple[Call, ...]:
    """Return the opening of a page."""
    return (Call(name=FETCH_TOOL, arguments=json.dumps({"url": href, "mode": "truncate"})),)


def reported(answer: str) -> str:
    """Return an answer as it is asked for."""
    return json.dumps({"answer": answer, "context": "from what I found"})


def wrong(task: Task, rng: Random) -> str:
    """Return an answer that is nobody's, or that there is none."""
    return seeds.draw_one(
        rng, [*map(reported, WRONG), "I do not know", "I cannot answer this question"]
    )


def by_role(task: Task, role: str) -> list[SignMark]:
    """Return the signs of a role."""
    return [mark for mark in truth_of(task).marks if mark.role == role]


def said(mark: SignMark) -> str:
    """Return the words of a sign as one searches with them."""
    drop = {"a", "an", "on", "the"}
    return mark.text or " ".join(word for word in mark.symbol.split() if word not in drop)


def asked(task: Task, rng: Random, n: int) -> list[str]:
    """Return words of the request, without small ones."""
    words = [word.strip(".,?!'") for word in truth_of(task).question.request.split()]
    saved = [word for word in words if len(word) > 4 and word.isalpha()]
    return [saved[i] for i in sorted(seeds.sample_indices(rng, len(saved), min(n, len(saved))))]


# --- the agents -------------------------------------------------------------------------


def avoids(task: Task, rng: Random) -> Play:
    """Mode 2: answer at once."""
    yield wrong(task, rng)


def parrots(task: Task, rng: Random) -> Play:
    """Mode 5: search with the question's words."""
    for _ in range(seeds.draw_between(rng, 1, 3)):
        yield search(" ".join(asked(task, rng, 6)))
    yield wrong(task, rng)


def aimless(task: Task, rng: Random) -> Play:
    """Mode 3: search with words that are in neither question nor picture."""
    for k in seeds.sample_indices(rng, len(AIMLESS), seeds.draw_between(rng, 1, 3)):
        tail = " in image" if seeds.draw_below(rng, 3) == 0 else ""
        yield search(AIMLESS[k] + tail)
    yield wrong(task, rng)


def unread(task: Task, rng: Random) -> Play | None:
    """Mode 1B: say how a lettered clue looks."""
    return _unread(task, rng) if by_role(task, "clue")[0].text else None


def _unread(task: Task, rng: Random) -> Play:
    for k in seeds.sample_indices(rng, len(LOOKS), seeds.draw_between(rng, 1, 2)):
        yield search(f"{LOOKS[k]} {' '.join(asked(task, rng, 3))}")
    yield wrong(task, rng)


def confuses(task: Task, rng: Random) -> Play:
    """Mode 1C: look up a look-alike, and give its answer."""
    return _swaps(seeds.draw_one(rng, by_role(task, "lookalike")), rng)


def myopic(task: Task, rng: Random) -> Play:
    """Mode 1D: look up what stands in front, and give its answer."""
    return _swaps(by_role(task, "foreground")[0], rng)


def _swaps(mark: SignMark, rng: Random) -> Play:
    yield search(said(mark))
    yield fetch(mark.hrefs[0])
    answer = mark.answer.upper() if seeds.draw_below(rng, 2) else f"{mark.answer}."
    yield reported(answer)


def biased(task: Task, rng: Random) -> Play:
    """Mode 4: follow something else from the first query on, and stay with it."""
    mark = seeds.draw_one(rng, by_role(task, "lookalike") + by_role(task, "foreground"))
    yield search(f"{said(mark)} {' '.join(asked(task, rng, 2))}")
    yield fetch(mark.hrefs[0])
    if seeds.draw_below(rng, 2):
        yield search(f"{said(mark)} {' '.join(asked(task, rng, 3))}")
    yield wrong(task, rng)


def abandons(task: Task, rng: Random) -> Play:
    """Mode 6: find a page on the way, and give it up."""
    hops = truth_of(task).hops
    last = seeds.draw_below(rng, len(hops))
    for hop in hops[: last + 1]:
        yield search(hop.query)
        if seeds.draw_below(rng, 2):
            yield fetch(hop.href)
    yield wrong(task, rng)


def misreads(task: Task, rng: Random) -> Play | None:
    """Mode 1A: misread every word of the clue, or take its emblem for another one."""
    mark = by_role(task, "clue")[0]
    return _misreads(task, rng, mark)


def _misreads(task: Task, rng: Random, mark: SignMark) -> Play:
    if mark.text:
        yield search(" ".join(misread(word, rng) for word in mark.text.split()))
    else:
        seen = {word for each in truth_of(task).marks for word in each.symbol.split()}
        free = [w for w in ("violin", "teapot", "rooster", "umbrella", "candle") if w not in seen]
        yield search(f"logo with a {seeds.draw_one(rng, free)}")
    yield wrong(task, rng)


def misread(word: str, rng: Random) -> str:
    """Return a word with one letter taken for another."""
    spots = [n for n, letter in enumerate(word) if n and letter in VOWELS] or [len(word) - 1]
    at = seeds.draw_one(rng, spots)
    other = seeds.draw_one(rng, [letter for letter in VOWELS if letter != word[at]])
    return word[:at] + other + word[at + 1 :]


AGENTS: dict[str, Agent] = {
    "2": avoids, "5": parrots, "3": aimless, "1B": unread, "1D": myopic, "1C": confuses,
    "4": biased, "6": abandons, "1A": misreads,
}  # fmt: skip


def modes(labels: Sequence[Any]) -> str:
    """Return the native class of the primary label."""
    return next((label.suite_cause for label in labels if label.primary), "")
