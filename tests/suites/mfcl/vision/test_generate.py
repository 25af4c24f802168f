"""Generated items keep the laws, and hang on seed, number and knobs alone."""

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

from toolmark import seeds
from toolmark.errors import DataError, UsageError
from toolmark.suites.mfcl.vision import generate, laws, wording
from toolmark.suites.mfcl.vision.generate import Item
from toolmark.suites.mfcl.vision.item import (
    DOMAINS,
    KINDS,
    Asked,
    Domain,
    Hop,
    Kind,
    Plan,
    Seen,
    Sign,
)
from toolmark.suites.mfcl.vision.knobs import PARTS, SCENES, SHARES, Knobs
from toolmark.suites.mfcl.vision.making import Generated
from toolmark.suites.mfcl.vision.templates import SHOWN, TEMPLATES, Template
from toolmark.worlds import page

SEED = 11


@cache
def held() -> generate.Setup:
    """Return the world and its corpus; making it takes seconds."""
    return generate.setup(SEED, 1)


@cache
def pages() -> dict[str, str]:
    """Return the text of each page, by its address."""
    return {found.href: page.bare(found.html) for found in held().world.pages}


def plans(template: Template, knobs: Knobs, n: int = 1) -> Iterator[Plan]:
    """Draw plans that keep the laws."""
    attempt = 0
    while n:
        rng = seeds.of(SEED, template.name, attempt, "test")
        attempt += 1
        assert attempt < 200, f"{template.name}: no plan keeps the laws"
        try:
            yield generate.planned(held(), template, knobs, rng, f"{template.name}/{n}")
        except ValueError:
            continue
        n -= 1


def told(text: str, words: str) -> bool:
    return f" {_plain(words)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(generate.items(SEED, 6, Knobs()))


# --- plans ------------------------------------------------------------------------------


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_who_reads_the_clue_and_searches_finds_the_answer(template: Template) -> None:
    (plan,) = plans(template, Knobs())
    clue = next(sign for sign in plan.setting.signs if sign.role == "clue")
    text = ""
    for n, hop in enumerate(plan.hops):
        known = " ".join((*clue.lines, clue.symbol)) if n == 0 else text
        assert set(_plain(hop.query).split()) <= set(_plain(known).split())
        assert hop.href in laws.found(held().corpus, hop.query)
        text = pages()[hop.href]
        assert told(text, hop.finds)
    assert plan.hops[-1].finds == plan.answers[0] == clue.answer
    assert (plan.template, plan.domain, plan.kind) == (
        template.name, template.domain, template.kind,
    )  # fmt: skip


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_question_and_picture_tell_no_answer(template: Template) -> None:
    (plan,) = plans(template, Knobs(lookalikes=(2,), depth=(1,)))
    asked = wording.question(plan.asked)
    lettering = [text for sign in plan.setting.signs for text in (*sign.lines, sign.symbol) if text]
    assert not any(told(text, answer) for answer in plan.answers for text in (asked, *lettering))
    assert not any(told(asked, text) for text in lettering)
    assert "{" not in asked and "  " not in asked
    others = [
        sign.answer for sign in plan.setting.signs if sign.role in ("lookalike", "foreground")
    ]
    assert len(others) >= 3 and not set(others) & set(plan.answers)
    assert not any(told(pages()[hop.href], plan.answers[0]) for hop in plan.hops[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_one_is_meant_among_several_alike(kind: str) -> None:
    template = next(t for t in TEMPLATES if t.kind == kind)
    (plan,) = plans(template, Knobs(lookalikes=(2,), clue=("text",)))
    clue = next(sign for sign in plan.setting.signs if sign.role == "clue")
    if kind == "select":
        assert not clue.mark and re.search(r"\bone that\b", plan.asked.request)
    else:
        assert re.search(rf"{clue.mark}most name|name .*furthest to the {clue.mark}\b",
                         plan.asked.request)  # fmt: skip


def test_knobs_say_what_plans_hold() -> None:
    template = next(t for t in TEMPLATES if t.name == "sports-quantify-team")
    for hops in (1, 2, 3, 4):
        knobs = Knobs(
            hops=(hops,), lookalikes=(3,), depth=(1,), clue=("symbol",), sizes=("small",),
        )  # fmt: skip
        (plan,) = plans(template, knobs)
        roles = Counter(sign.role for sign in plan.setting.signs)
        assert len(plan.hops) == hops
        assert (roles["clue"], roles["lookalike"], roles["foreground"]) == (1, 3, 1)
        assert plan.setting.clue_share == SHARES["small"]
        signs = [sign for sign in plan.setting.signs if sign.role != "clutter"]
        assert all(sign.symbol and not sign.lines for sign in signs)
        assert plan.asked.context and plan.asked.form and plan.asked.hint


def test_parts_of_a_question_come_and_go_and_nothing_else_changes() -> None:
    levels = ((True,), (False,), (True, False))
    whole, bare, drawn = (
        [generate.item(SEED, n, Knobs(parts=dict.fromkeys(PARTS, level))) for n in range(4)]
        for level in levels
    )
    held = [getattr(item.plan.asked, part) for item in drawn for part in PARTS]
    assert any(held) and not all(held)
    for full, empty, some in zip(whole, bare, drawn, strict=True):
        assert all(getattr(full.plan.asked, part) for part in PARTS)
        assert empty.plan.asked == Asked(request=full.plan.asked.request)
        assert full.image == empty.image == some.image and full.marks == empty.marks == some.marks
        for part in PARTS:
            assert getattr(some.plan.asked, part) in ("", getattr(full.plan.asked, part))


def test_no_single_answer_is_right_often() -> None:
    drawn = [plan for template in TEMPLATES for plan in plans(template, Knobs(), 2)]
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
def test_knobs_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Knobs(**wrong)


# --- laws -------------------------------------------------------------------------------


def _plan() -> Plan:
    template = next(t for t in TEMPLATES if t.name == "media-temporal-film")
    (plan,) = plans(template, Knobs(hops=(2,), lookalikes=(1,), depth=(0,), clue=("text",)))
    assert laws.broken(plan, held().corpus) == ""
    return plan


def _asking(plan: Plan, more: str) -> Plan:
    return replace(plan, asked=replace(plan.asked, request=f"{plan.asked.request} {more}"))


def test_an_answer_in_the_question_is_a_breach() -> None:
    plan = _plan()
    broken = laws.broken(_asking(plan, f"It was {plan.answers[0].upper()}!"), held().corpus)
    assert "is told" in broken


def test_an_answer_on_a_sign_is_a_breach() -> None:
    plan = _plan()
    sign = Sign(role="clutter", lines=(plan.answers[0],))
    setting = replace(plan.setting, signs=(*plan.setting.signs, sign))
    assert "is told" in laws.broken(replace(plan, setting=setting), held().corpus)


def test_a_clue_in_the_question_is_a_breach() -> None:
    plan = _plan()
    named = _asking(plan, plan.setting.signs[0].lines[0].lower())
    assert "the question names" in laws.broken(named, held().corpus)


def test_a_look_alike_with_the_same_answer_is_a_breach() -> None:
    plan = _plan()
    clue, alike, *rest = plan.setting.signs
    setting = replace(plan.setting, signs=(clue, replace(alike, answer=plan.answers[0]), *rest))
    assert "as well" in laws.broken(replace(plan, setting=setting), held().corpus)


def test_a_step_that_a_search_does_not_find_is_a_breach() -> None:
    plan = _plan()
    lost = replace(plan.hops[0], query="xyzzy plugh")
    broken = laws.broken(replace(plan, hops=(lost, *plan.hops[1:])), held().corpus)
    assert "does not find" in broken


def test_a_page_without_what_the_step_finds_is_a_breach() -> None:
    plan = _plan()
    empty = replace(plan.hops[0], finds="xyzzy")
    broken = laws.broken(replace(plan, hops=(empty, *plan.hops[1:])), held().corpus)
    assert "does not hold" in broken


def test_an_answer_on_an_earlier_page_is_a_breach() -> None:
    plan = _plan()
    hops = (plan.hops[1], plan.hops[1])
    assert "too early" in laws.broken(replace(plan, hops=hops), held().corpus)


def test_a_question_that_finds_the_page_alone_is_a_breach() -> None:
    plan = _plan()
    words = plan.hops[1].query
    broken = laws.broken(_asking(plan, words), held().corpus)
    assert "question alone" in broken


def test_signs_must_lie_as_the_question_says() -> None:
    plan = _plan()
    signs = (
        Sign(role="clue", lines=("A",), mark="left"), Sign(role="lookalike", lines=("B",))
    )  # fmt: skip
    setting = replace(plan.setting, signs=signs)
    left, right = (10.0, 10.0, 20.0, 20.0), (50.0, 10.0, 60.0, 20.0)
    assert not laws.misplaced(setting, [Seen(sign=0, box=left), Seen(sign=1, box=right)])
    assert "left" in laws.misplaced(setting, [Seen(sign=0, box=right), Seen(sign=1, box=left)])
    assert "not seen" in laws.misplaced(setting, [Seen(sign=0, box=left)])


@given(st.text(alphabet="ab1 ", min_size=1), st.text(alphabet="ab1 "))
def test_words_are_held_whole(words: str, around: str) -> None:
    assert laws.holds(f"{around} {words.strip() or 'a'} {around}", words.strip() or "a")
    assert not laws.holds("x" + (words.strip() or "a") + "x", words.strip() or "a")


# --- items ------------------------------------------------------------------------------


def test_domains_and_query_types_come_alike_often() -> None:
    for n in (25, 250):
        cells = Counter(generate.cell(number) for number in range(n))
        assert len(cells) == 25 and set(cells.values()) == {n // 25}
    head = [generate.cell(number) for number in range(5)]
    assert {domain for domain, _ in head} == set(DOMAINS) and {kind for _, kind in head} == set(
        KINDS
    )


@given(
    st.sets(st.sampled_from(DOMAINS), min_size=1), st.sets(st.sampled_from(KINDS), min_size=1),
    st.integers(1, 60),
)  # fmt: skip
def test_a_choice_of_domains_and_kinds_takes_items_of_the_whole_set(
    domains: set[Domain], kinds: set[Kind], n: int
) -> None:
    few = Knobs(domains=tuple(domains), kinds=tuple(kinds))
    chosen = list(generate.numbers(n, few))
    whole = list(generate.numbers(chosen[-1] + 1, Knobs()))
    assert whole == list(range(chosen[-1] + 1)) and len(chosen) == n
    meant = [k for k in whole if generate.cell(k)[0] in domains and generate.cell(k)[1] in kinds]
    assert chosen == meant
    names = Generated(seed=SEED, n=n, knobs=few).names()
    assert [generate.numbered(name.id) for name in names] == chosen
    assert [(name.domain, name.kind) for name in names] == [*map(generate.cell, chosen)]


def test_an_item_is_the_same_whatever_else_is_chosen(items: list[Item]) -> None:
    few = Knobs(domains=("sports",), kinds=("select",))
    (number,) = generate.numbers(1, few)
    alone = generate.item(SEED, number, few)
    assert alone.plan == generate.item(SEED, number, Knobs()).plan
    assert (alone.plan.domain, alone.plan.kind) == ("sports", "select")


def test_scenes_come_about_as_often_in_every_domain() -> None:
    first = Counter(
        (generate.cell(n)[0], generate.staged(SEED, n, Knobs())[0]) for n in range(1_000)
    )
    for domain in DOMAINS:
        counts = [first[domain, scene] for scene in set(SHOWN[domain])]
        assert min(counts) >= 10 and max(counts) <= 5 * min(counts)
    whole = Counter[str]()
    for (_, scene), n in first.items():
        whole[scene] += n
    assert set(whole) == set(SCENES) and max(whole.values()) <= 5 * min(whole.values())


def test_every_scene_of_a_domain_can_be_asked_about_in_every_way() -> None:
    for domain, kind in product(DOMAINS, KINDS):
        assert all(generate.fitting(domain, kind, scene) for scene in SHOWN[domain])


def test_an_item_stands_in_the_scenes_that_are_chosen() -> None:
    plan = generate.item(SEED, 3, Knobs(scenes=("trophies",))).plan
    assert (plan.domain, plan.setting.scene) == ("sports", "trophies")
    with pytest.raises(DataError, match="none of its scenes"):
        generate.item(SEED, 3, Knobs(scenes=("books",)))


def test_an_item_hangs_on_nothing_made_before_it(items: list[Item]) -> None:
    again = generate.item(SEED, 4, Knobs())
    assert _digest(again) == _digest(items[4])
    assert again.plan == items[4].plan and again.marks == items[4].marks


def test_items_are_the_same_in_another_process(items: list[Item]) -> None:
    code = (
        "from toolmark.suites.mfcl.vision import generate; "
        "from toolmark.suites.mfcl.vision.knobs import Knobs; import hashlib; "
        f"made = generate.item({SEED}, 2, Knobs()); "
        "print(hashlib.sha256(generate.vary(made, 'base').data).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == _digest(items[2])


def test_seeds_make_other_items(items: list[Item]) -> None:
    assert len({_digest(made) for made in items}) == len(items)
    assert generate.setup(SEED + 1, 1).world.pages[0] != held().world.pages[0]


@pytest.mark.parametrize("name", ["base", "crop-16:9", "crop-4:3", "resize-4:3", "gray", "edges"])
def test_the_clue_stays_where_the_question_says(items: list[Item], name: str) -> None:
    for made in items:
        shown = generate.vary(made, name)
        truth = generate.truth(made, name, shown)
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


def test_pictures_are_bounded(items: list[Item]) -> None:
    assert all(max(made.image.size) <= 1536 and made.image.mode == "RGB" for made in items)


def test_knobs_that_no_scene_can_hold_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise ValueError("no room")

    monkeypatch.setattr("toolmark.suites.mfcl.vision.scenes.render", full)
    knobs = Knobs(sizes=("large",), lookalikes=(6,), depth=(1,))
    with pytest.raises(DataError, match=r"g00000 \(places, locate\).*no room.*look-alikes"):
        generate.item(SEED, 0, knobs)


def test_steps_name_pages_of_the_world(items: list[Item]) -> None:
    hops: list[Hop] = [hop for made in items for hop in made.plan.hops]
    assert {hop.href for hop in hops} <= set(pages())
    hrefs = {href for made in items for mark in made.marks for href in mark.hrefs}
    assert hrefs <= set(pages())


def _digest(made: Item) -> str:
    return hashlib.sha256(generate.vary(made, "base").data).hexdigest()
