"""On BFCL's own requests no argument value is lost, and the laws of the controller hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import pytest

from toolmark.core import seeds
from toolmark.core.records import Task, Tool, Turn
from toolmark.language import value_survival
from toolmark.language.argument_facts import Fact, extract_facts
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.perturb.text import disfluency_selection, spoken_rewrite
from toolmark.perturb.text.disfluencies import CLASSES

SINGLE = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple",
          "live_multiple", "live_parallel", "live_parallel_multiple")  # fmt: skip
MULTI = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param")
QUICK = ("simple_python", "live_parallel", "multi_turn_base")  # the others are long tests
STEP = {"live_multiple": 4, "multi_turn_miss_func": 3, "multi_turn_miss_param": 3}
CLASS = {name: kind for kind, features in CLASSES.items() for name in features}
SAVED = {
    "simple_python": 399,
    "live_simple": 244,
    "live_parallel": 14,
    "live_parallel_multiple": 22,
}


SAID = {
    "pause": "um|uh|er|uhm|ah|hmm|let me see|let me think|how do I put it|hang on|hold on|"
    "bear with me|let's see",
    "marker": "you know|I mean|like|well|right|you see",
}


def _heard(words: str) -> Counter[str]:
    """Count the classes whose words stand in a text as fillers do: before a pause."""
    return Counter(
        kind for kind, said in SAID.items()
        for _ in re.finditer(rf"(?i)(?<![\w'])(?:{said}),", words)
    )  # fmt: skip


class Ask(NamedTuple):
    id: str
    text: str
    facts: tuple[Fact, ...]
    tools: tuple[Tool, ...]


@lru_cache
def _tasks(category: str) -> tuple[Task, ...]:
    read = multi_turn_tasks.read_tasks if category in MULTI else official_data.read_tasks
    return tuple(read(official_data.fetch_wheel(), (category,))[0])


def _said(turn: Turn) -> str:
    return " ".join(message.text for message in turn.messages if message.role == "user")


def _asks(category: str) -> Iterator[Ask]:
    for task in _tasks(category)[:: STEP.get(category, 1)]:
        truth = task.data["truth"]
        facts = extract_facts(truth[0] if category in MULTI else truth)
        tools = () if category in MULTI else tuple(task.tools)
        yield Ask(task.id, _said(task.turns[0]), facts, tools)


@pytest.mark.parametrize(
    "category",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.long)
        for name in (*SINGLE, *MULTI)
    ],
)
def test_every_argument_value_survives(category: str) -> None:
    stated = 0
    for ask in _asks(category):
        said = spoken_rewrite.rewrite_request(
            ask.text, ask.facts, seeds.make_rng(0, ask.id, 0, "spoken")
        )
        rng = seeds.make_rng(0, ask.id, 0, "disfluency")
        out = disfluency_selection.add_disfluencies(said, ask.facts, ask.tools, rng)
        assert not value_survival.lost_facts(ask.text, said.text, ask.facts), ask.id
        assert not value_survival.lost_facts(ask.text, out.text, ask.facts), ask.id
        made = out.changes[len(said.changes) :]
        assert len({CLASS[change.feature] for change in made}) == len(made)
        assert len(made) <= disfluency_selection.change_budget(said.text)
        more = _heard(out.text) - _heard(said.text)
        assert all(n == 1 for n in more.values()), (ask.id, out.text)
        words = out.text.split()
        for change in made:
            after = change.after.split()
            assert words[change.at : change.at + len(after)] == after, ask.id
        states = [value_survival.fact_state(ask.text, out.text, fact) for fact in ask.facts]
        stated += states.count("preserved")
    assert stated > 20


def test_what_is_cut_out_is_missed() -> None:
    missed = total = 0
    for ask in _asks("simple_python"):
        said = spoken_rewrite.rewrite_request(
            ask.text, ask.facts, seeds.make_rng(0, ask.id, 0, "spoken")
        ).text
        for fact in ask.facts:
            if value_survival.fact_state(ask.text, said, fact) != "preserved":
                continue
            spans = [
                span for value in fact.values for span in value_survival.value_spans(said, value)
            ]
            cut = "".join(
                c if not any(a <= n < b for a, b in spans) else "," for n, c in enumerate(said)
            )
            total += 1
            missed += value_survival.fact_state(ask.text, cut, fact) == "lost"
    assert total > 400
    assert missed / total > 0.98  # a spelled name may still be heard


def test_most_requests_keep_the_whole_rewrite() -> None:
    asks = [ask for category in ("simple_python", "live_simple") for ask in _asks(category)]
    bare = sum(
        not spoken_rewrite.rewrite_request(
            ask.text, ask.facts, seeds.make_rng(0, ask.id, 0, "spoken")
        ).changes
        and any(c.isdigit() for c in ask.text)
        for ask in asks
    )
    assert bare <= len(asks) // 100


@pytest.mark.parametrize("category", SAVED)
def test_few_requests_are_special(category: str) -> None:
    saved = [
        task
        for task in _tasks(category)
        if not any(map(spoken_rewrite.exclusion_reason, map(_said, task.turns)))
    ]
    assert len(saved) == SAVED[category]
