"""What a generated set must ask of its solver: neither question nor picture is enough alone."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core import seeds, worker_processes
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Sampling, Task
from toolmark.environments.search_environment import SearchEnvironment, search_tools
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.suites.mfcl_vision import final_answer, item_generator, prompts
from toolmark.suites.mfcl_vision.generation_parameters import GenerationParameters
from toolmark.suites.mfcl_vision.item_records import ItemPlan
from toolmark.suites.mfcl_vision.search_baselines import BlindSearchAgent
from toolmark.suites.mfcl_vision.templates import item_templates

BAR = 0.02
LONGEST = 6  # words of an answer that could be copied
SEEDS = (41, 42)
TEXT = GenerationParameters(clue=("text",), hops=(1, 2, 3))


@pytest.fixture(scope="module")
def plans() -> list[list[ItemPlan]]:
    """Return the plans of two sets, two of each template."""
    return [list(_plans(seed)) for seed in SEEDS]


def _plans(seed: int) -> Iterator[ItemPlan]:
    collected = item_generator.world_setup(seed, TEXT.distractors)
    for number in range(2 * len(item_templates())):
        template, attempt = item_templates()[number // 2], 0
        while True:
            rng = seeds.make_rng(seed, template.name, attempt, f"test {number}")
            attempt += 1
            assert attempt < 200, template.name
            try:
                yield item_generator.draw_plan(collected, template, TEXT, rng, str(number))
                break
            except ValueError:
                continue


@pytest.mark.long
def test_no_words_of_question_and_picture_are_the_answer(plans: list[list[ItemPlan]]) -> None:
    for plan in plans[0]:
        asked = prompts.question_text(plan.question)
        seen = [words for sign in plan.setting.signs for words in (*sign.lines, sign.symbol)]
        for text in (asked, *seen):
            assert not [
                said
                for said in _pieces(text)
                if final_answer.is_right_by_paper_rule(said, plan.answers)
            ]
            assert not [
                said
                for said in _pieces(text)
                if final_answer.is_right_by_fair_rule(said, plan.answers)
            ]


def _pieces(text: str) -> Iterator[str]:
    words = text.split()
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST, len(words)) + 1):
            yield " ".join(words[start:end])


@pytest.mark.long
def test_answers_of_another_set_tell_nothing(plans: list[list[ItemPlan]]) -> None:
    """Who knows another set by heart answers what was right most often there, by template."""
    known, asked = plans
    usual = {
        template.name: Counter(
            plan.answers[0] for plan in known if plan.template == template.name
        ).most_common(1)[0][0]
        for template in item_templates()
    }
    right = sum(
        final_answer.is_right_by_fair_rule(usual[plan.template], plan.answers) for plan in asked
    )
    assert right <= BAR * len(asked)


# --- agents that follow no second page --------------------------------------------------


def _right(plan: ItemPlan, model: Model, media: MediaStore) -> bool:
    """Play a plan in its own world; tell whether the answer is right."""
    tools = search_tools()
    turn = prompts.make_first_turn(plan.question, media.add_image(b"not looked at", "image/png"))
    task = Task(id=plan.id, suite="mfcl-vision", turns=(turn,), tools=tools)
    world = SearchEnvironment(
        tools, item_generator.world_setup(SEEDS[0], TEXT.distractors).corpus, snippets=True
    )
    done = asyncio.run(run_tool_loop(task, model, NATIVE_FORMAT, world, Sampling()))
    return final_answer.is_right_by_paper_rule(
        final_answer.parse_final_message(done.answer).answer, plan.answers
    )


@pytest.mark.long
def test_the_question_alone_is_not_enough(plans: list[list[ItemPlan]], tmp_path: Path) -> None:
    right = sum(_right(plan, BlindSearchAgent(), MediaStore(tmp_path)) for plan in plans[0])
    assert right <= BAR * len(plans[0])


# --- with a real recogniser ---------------------------------------------------------------


@pytest.mark.long
def test_edges_cost_the_reader_its_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(
        worker_processes, "available_cores", lambda: 1
    )  # the world is drawn once, in this process
    parameters: dict[str, Any] = {
        "items": 20, "variations": "base,edges", "seed": SEEDS[0], "clue": "text", "hops": "1",
        "clue_size": "large", "lookalikes": "0", "depth": "0",
    }  # fmt: skip
    run = tm.run(tm.load("mfcl-vision", **parameters), "baseline/ocr-search", log_dir=tmp_path)
    right = Counter(
        score.axes["variation"] for score in run.scores() if score.verdicts["paper"].value == 1
    )
    assert run.summary()["n_run"] == 40
    assert right["base"] >= 5 and right["edges"] < right["base"], json.dumps(right)
