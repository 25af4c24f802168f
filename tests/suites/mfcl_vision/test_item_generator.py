"""Generated items keep the laws, and depend on seed, number and parameters alone."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.errors import DataError, UsageError
from toolmark.environments import html_conversion
from toolmark.suites.mfcl_vision import item_generator, item_validation, prompts
from toolmark.suites.mfcl_vision.generation_parameters import (
    LETTER_HEIGHT_SHARES,
    QUESTION_PARTS,
    SCENE_NAMES,
    GenerationParameters,
)
from toolmark.suites.mfcl_vision.item_generator import GeneratedItem
from toolmark.suites.mfcl_vision.item_records import (
    DOMAINS,
    QUERY_KINDS,
    Domain,
    Hop,
    ItemPlan,
    PlacedSign,
    QueryKind,
    QuestionParts,
    Sign,
)
from toolmark.suites.mfcl_vision.task_maker import GeneratedItems
from toolmark.suites.mfcl_vision.templates import Template, item_templates, scenes_by_domain

SEED = 11


@cache
def collected() -> item_generator.WorldSetup:
    """Return the world and its corpus; making it takes seconds."""
    return item_generator.world_setup(SEED, 1)


@cache
def pages() -> dict[str, str]:
    """Return the text of each page, by its address."""
    return {
        found.href: html_conversion.html_to_text(found.html)
        for found in collected().fictional_world.pages
    }


def plans(template: Template, parameters: GenerationParameters, n: int = 1) -> Iterator[ItemPlan]:
    """Draw plans that keep the laws."""
    attempt = 0
    while n:
        rng = seeds.make_rng(SEED, template.name, attempt, "test")
        attempt += 1
        assert attempt < 200, f"{template.name}: no plan keeps the laws"
        try:
            yield item_generator.draw_plan(
                collected(), template, parameters, rng, f"{template.name}/{n}"
            )
        except ValueError:
            continue
        n -= 1


def reported(text: str, words: str) -> bool:
    return f" {_plain(words)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.fixture(scope="module")
def items() -> list[GeneratedItem]:
    return list(item_generator.generate_items(SEED, 6, GenerationParameters()))


# --- plans ------------------------------------------------------------------------------


@pytest.mark.parametrize("template", item_templates(), ids=lambda template: template.name)
def test_who_reads_the_clue_and_searches_finds_the_answer(template: Template) -> None:
    (plan,) = plans(template, GenerationParameters())
    clue = next(sign for sign in plan.setting.signs if sign.role == "clue")
    text = ""
    for n, hop in enumerate(plan.hops):
        known = " ".join((*clue.lines, clue.symbol)) if n == 0 else text
        assert set(_plain(hop.query).split()) <= set(_plain(known).split())
        assert hop.href in item_validation.search_hits(collected().corpus, hop.query)
        text = pages()[hop.href]
        assert reported(text, hop.finds)
    assert plan.hops[-1].finds == plan.answers[0] == clue.answer
    assert (plan.template, plan.domain, plan.kind) == (
        template.name, template.domain, template.kind,
    )  # fmt: skip


@pytest.mark.parametrize("template", item_templates(), ids=lambda template: template.name)
def test_question_and_picture_tell_no_answer(template: Template) -> None:
    (plan,) = plans(template, GenerationParameters(lookalikes=(2,), depth=(1,)))
    asked = prompts.question_text(plan.question)
    lettering = [text for sign in plan.setting.signs for text in (*sign.lines, sign.symbol) if text]
    assert not any(
        reported(text, answer) for answer in plan.answers for text in (asked, *lettering)
    )
    assert not any(reported(asked, text) for text in lettering)
    assert "{" not in asked and "  " not in asked
    others = [
        sign.answer for sign in plan.setting.signs if sign.role in ("lookalike", "foreground")
    ]
    assert len(others) >= 3 and not set(others) & set(plan.answers)
    assert not any(reported(pages()[hop.href], plan.answers[0]) for hop in plan.hops[:-1])


@pytest.mark.parametrize("kind", QUERY_KINDS)
def test_one_is_meant_among_several_alike(kind: str) -> None:
    template = next(t for t in item_templates() if t.kind == kind)
    (plan,) = plans(template, GenerationParameters(lookalikes=(2,), clue=("text",)))
    clue = next(sign for sign in plan.setting.signs if sign.role == "clue")
    if kind == "select":
        assert not clue.mark and re.search(r"\bone that\b", plan.question.request)
    else:
        assert re.search(rf"{clue.mark}most name|name .*furthest to the {clue.mark}\b",
                         plan.question.request)  # fmt: skip


def test_parameters_determine_what_plans_contain() -> None:
    template = next(t for t in item_templates() if t.name == "sports-quantify-team")
    for hops in (1, 2, 3, 4):
        parameters = GenerationParameters(
            hops=(hops,), lookalikes=(3,), depth=(1,), clue=("symbol",), sizes=("small",),
        )  # fmt: skip
        (plan,) = plans(template, parameters)
        roles = Counter(sign.role for sign in plan.setting.signs)
        assert len(plan.hops) == hops
        assert (roles["clue"], roles["lookalike"], roles["foreground"]) == (1, 3, 1)
        assert plan.setting.clue_share == LETTER_HEIGHT_SHARES["small"]
        signs = [sign for sign in plan.setting.signs if sign.role != "clutter"]
        assert all(sign.symbol and not sign.lines for sign in signs)
        assert plan.question.context and plan.question.form and plan.question.hint


def test_parts_of_a_question_come_and_go_and_nothing_else_changes() -> None:
    levels = ((True,), (False,), (True, False))
    whole, bare, drawn = (
        [
            item_generator.generate_item(
                SEED, n, GenerationParameters(parts=dict.fromkeys(QUESTION_PARTS, level))
            )
            for n in range(4)
        ]
        for level in levels
    )
    collected = [getattr(item.plan.question, part) for item in drawn for part in QUESTION_PARTS]
    assert any(collected) and not all(collected)
    for full, empty, some in zip(whole, bare, drawn, strict=True):
        assert all(getattr(full.plan.question, part) for part in QUESTION_PARTS)
        assert empty.plan.question == QuestionParts(request=full.plan.question.request)
        assert full.image == empty.image == some.image and full.marks == empty.marks == some.marks
        for part in QUESTION_PARTS:
            assert getattr(some.plan.question, part) in ("", getattr(full.plan.question, part))


def test_no_single_answer_is_right_often() -> None:
    drawn = [
        plan for template in item_templates() for plan in plans(template, GenerationParameters(), 2)
    ]
    (_, most), *_ = Counter(plan.answers[0] for plan in drawn).most_common(1)
    assert most <= 0.02 * len(drawn)


@pytest.mark.parametrize(
    "wrong",
    [
        {"hops": (5,)}, {"hops": ()}, {"lookalikes": (7,)}, {"clue": ("smell",)}, {"depth": (2,)},
        {"sizes": ("huge",)}, {"scenes": ("moon",)}, {"domains": ("space",)}, {"kinds": ("why",)},
        {"distractors": 9}, {"parts": {"mood": (True,)}}, {"parts": {"hint": ()}},
    ],
)  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        GenerationParameters(**wrong)


# --- laws -------------------------------------------------------------------------------


def _plan() -> ItemPlan:
    template = next(t for t in item_templates() if t.name == "media-temporal-film")
    (plan,) = plans(
        template, GenerationParameters(hops=(2,), lookalikes=(1,), depth=(0,), clue=("text",))
    )
    assert item_validation.check_plan(plan, collected().corpus) == ""
    return plan


def _asking(plan: ItemPlan, more: str) -> ItemPlan:
    return replace(plan, question=replace(plan.question, request=f"{plan.question.request} {more}"))


def test_an_answer_in_the_question_is_a_breach() -> None:
    plan = _plan()
    broken = item_validation.check_plan(
        _asking(plan, f"It was {plan.answers[0].upper()}!"), collected().corpus
    )
    assert "is given away" in broken


def test_an_answer_on_a_sign_is_a_breach() -> None:
    plan = _plan()
    sign = Sign(role="clutter", lines=(plan.answers[0],))
    setting = replace(plan.setting, signs=(*plan.setting.signs, sign))
    assert "is given away" in item_validation.check_plan(
        replace(plan, setting=setting), collected().corpus
    )


def test_a_clue_in_the_question_is_a_breach() -> None:
    plan = _plan()
    named = _asking(plan, plan.setting.signs[0].lines[0].lower())
    assert "the question names" in item_validation.check_plan(named, collected().corpus)


def test_a_look_alike_with_the_same_answer_is_a_breach() -> None:
    plan = _plan()
    clue, alike, *rest = plan.setting.signs
    setting = replace(plan.setting, signs=(clue, replace(alike, answer=plan.answers[0]), *rest))
    assert "as well" in item_validation.check_plan(
        replace(plan, setting=setting), collected().corpus
    )


def test_a_step_that_a_search_does_not_find_is_a_breach() -> None:
    plan = _plan()
    lost = replace(plan.hops[0], query="xyzzy plugh")
    broken = item_validation.check_plan(
        replace(plan, hops=(lost, *plan.hops[1:])), collected().corpus
    )
    assert "does not find" in broken


def test_a_page_without_what_the_step_finds_is_a_breach() -> None:
    plan = _plan()
    empty = replace(plan.hops[0], finds="xyzzy")
    broken = item_validation.check_plan(
        replace(plan, hops=(empty, *plan.hops[1:])), collected().corpus
    )
    assert "does not hold" in broken


def test_an_answer_on_an_earlier_page_is_a_breach() -> None:
    plan = _plan()
    hops = (plan.hops[1], plan.hops[1])
    assert "too early" in item_validation.check_plan(replace(plan, hops=hops), collected().corpus)


def test_a_question_that_finds_the_page_alone_is_a_breach() -> None:
    plan = _plan()
    words = plan.hops[1].query
    broken = item_validation.check_plan(_asking(plan, words), collected().corpus)
    assert "question alone" in broken


def test_signs_must_lie_as_the_question_says() -> None:
    plan = _plan()
    signs = (
        Sign(role="clue", lines=("A",), mark="left"), Sign(role="lookalike", lines=("B",))
    )  # fmt: skip
    setting = replace(plan.setting, signs=signs)
    left, right = (10.0, 10.0, 20.0, 20.0), (50.0, 10.0, 60.0, 20.0)
    assert not item_validation.check_sign_positions(
        setting, [PlacedSign(sign=0, box=left), PlacedSign(sign=1, box=right)]
    )
    assert "left" in item_validation.check_sign_positions(
        setting, [PlacedSign(sign=0, box=right), PlacedSign(sign=1, box=left)]
    )
    assert "not seen" in item_validation.check_sign_positions(
        setting, [PlacedSign(sign=0, box=left)]
    )


@given(st.text(alphabet="ab1 ", min_size=1), st.text(alphabet="ab1 "))
def test_words_are_matched_whole(words: str, around: str) -> None:
    assert item_validation.contains_words(
        f"{around} {words.strip() or 'a'} {around}", words.strip() or "a"
    )
    assert not item_validation.contains_words(
        "x" + (words.strip() or "a") + "x", words.strip() or "a"
    )


# --- items ------------------------------------------------------------------------------


def test_domains_and_query_types_come_alike_often() -> None:
    for n in (25, 250):
        cells = Counter(item_generator.item_cell(number) for number in range(n))
        assert len(cells) == 25 and set(cells.values()) == {n // 25}
    head = [item_generator.item_cell(number) for number in range(5)]
    assert {domain for domain, _ in head} == set(DOMAINS) and {kind for _, kind in head} == set(
        QUERY_KINDS
    )


@given(
    st.sets(st.sampled_from(DOMAINS), min_size=1),
    st.sets(st.sampled_from(QUERY_KINDS), min_size=1),
    st.integers(1, 60),
)
def test_a_choice_of_domains_and_kinds_takes_items_of_the_whole_set(
    domains: set[Domain], kinds: set[QueryKind], n: int
) -> None:
    few = GenerationParameters(domains=tuple(domains), kinds=tuple(kinds))
    chosen = list(item_generator.item_numbers(n, few))
    whole = list(item_generator.item_numbers(chosen[-1] + 1, GenerationParameters()))
    assert whole == list(range(chosen[-1] + 1)) and len(chosen) == n
    meant = [
        k
        for k in whole
        if item_generator.item_cell(k)[0] in domains and item_generator.item_cell(k)[1] in kinds
    ]
    assert chosen == meant
    names = GeneratedItems(seed=SEED, n=n, parameters=few).item_headers()
    assert [item_generator.item_number(name.id) for name in names] == chosen
    assert [(name.domain, name.kind) for name in names] == [*map(item_generator.item_cell, chosen)]


def test_an_item_is_the_same_whatever_else_is_chosen(items: list[GeneratedItem]) -> None:
    few = GenerationParameters(domains=("sports",), kinds=("select",))
    (number,) = item_generator.item_numbers(1, few)
    alone = item_generator.generate_item(SEED, number, few)
    assert alone.plan == item_generator.generate_item(SEED, number, GenerationParameters()).plan
    assert (alone.plan.domain, alone.plan.kind) == ("sports", "select")


def test_scenes_come_about_as_often_in_every_domain() -> None:
    first = Counter(
        (
            item_generator.item_cell(n)[0],
            item_generator.scene_order(SEED, n, GenerationParameters())[0],
        )
        for n in range(1_000)
    )
    for domain in DOMAINS:
        counts = [first[domain, scene] for scene in set(scenes_by_domain()[domain])]
        assert min(counts) >= 10 and max(counts) <= 5 * min(counts)
    whole = Counter[str]()
    for (_, scene), n in first.items():
        whole[scene] += n
    assert set(whole) == set(SCENE_NAMES) and max(whole.values()) <= 5 * min(whole.values())


def test_every_scene_of_a_domain_can_be_asked_about_in_every_way() -> None:
    for domain, kind in product(DOMAINS, QUERY_KINDS):
        assert all(
            item_generator.fitting_templates(domain, kind, scene)
            for scene in scenes_by_domain()[domain]
        )


def test_an_item_stands_in_the_scenes_that_are_chosen() -> None:
    plan = item_generator.generate_item(SEED, 3, GenerationParameters(scenes=("trophies",))).plan
    assert (plan.domain, plan.setting.scene) == ("sports", "trophies")
    with pytest.raises(DataError, match="none of its scenes"):
        item_generator.generate_item(SEED, 3, GenerationParameters(scenes=("books",)))


def test_an_item_hangs_on_nothing_made_before_it(items: list[GeneratedItem]) -> None:
    again = item_generator.generate_item(SEED, 4, GenerationParameters())
    assert _digest(again) == _digest(items[4])
    assert again.plan == items[4].plan and again.marks == items[4].marks


def test_items_are_the_same_in_another_process(items: list[GeneratedItem]) -> None:
    code = (
        "from toolmark.suites.mfcl_vision import item_generator; "
        "from toolmark.suites.mfcl_vision.generation_parameters import GenerationParameters as P; "
        "import hashlib; "
        f"made = item_generator.generate_item({SEED}, 2, P()); "
        "print(hashlib.sha256(item_generator.render_item(made, 'base').data).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == _digest(items[2])


def test_seeds_make_other_items(items: list[GeneratedItem]) -> None:
    assert len({_digest(made) for made in items}) == len(items)
    assert (
        item_generator.world_setup(SEED + 1, 1).fictional_world.pages[0]
        != collected().fictional_world.pages[0]
    )


@pytest.mark.parametrize("name", ["base", "crop-16:9", "crop-4:3", "resize-4:3", "gray", "edges"])
def test_the_clue_stays_where_the_question_says(items: list[GeneratedItem], name: str) -> None:
    for made in items:
        shown = item_generator.render_item(made, name)
        truth = item_generator.item_truth(made, name, shown)
        clue = next(mark for mark in truth.marks if mark.role == "clue")
        assert clue.box is not None
        left, top, right, bottom = clue.box
        assert 0 <= left < right <= truth.size[0] and 0 <= top < bottom <= truth.size[1]
        row = [mark.box for mark in truth.marks if mark.role in ("clue", "lookalike") and mark.box]
        mark = next(sign.mark for sign in made.plan.setting.signs if sign.role == "clue")
        places = [box[0] + box[2] for box in row]
        if mark:
            most = min(places) if mark == "left" else max(places)
            assert left + right == most
        assert truth.variation == name and truth.answers == made.plan.answers


def test_pictures_are_bounded(items: list[GeneratedItem]) -> None:
    assert all(max(made.image.size) <= 1536 and made.image.mode == "RGB" for made in items)


def test_parameters_that_no_scene_can_satisfy_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ValueError("no room")

    monkeypatch.setattr("toolmark.suites.mfcl_vision.scenes.render_scene", full)
    parameters = GenerationParameters(sizes=("large",), lookalikes=(6,), depth=(1,))
    with pytest.raises(DataError, match=r"g00000 \(places, locate\)"):
        item_generator.generate_item(SEED, 0, parameters)


def test_steps_name_pages_of_the_world(items: list[GeneratedItem]) -> None:
    hops: list[Hop] = [hop for made in items for hop in made.plan.hops]
    assert {hop.href for hop in hops} <= set(pages())
    hrefs = {href for made in items for mark in made.marks for href in mark.hrefs}
    assert hrefs <= set(pages())


def _digest(made: GeneratedItem) -> str:
    return hashlib.sha256(item_generator.render_item(made, "base").data).hexdigest()
