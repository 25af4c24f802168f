"""Checks of generated items, before drawing and on the positions of their signs.

Neither the question nor the picture contains the answer. The question does not name the clue. A
search leads from each hop to the next page within three hits. No earlier page contains the answer.
All other visible signs lead to other answers.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from toolmark.environments import html_conversion
from toolmark.environments.page_corpus import PageCorpus
from toolmark.suites.mfcl_vision import prompts
from toolmark.suites.mfcl_vision.item_records import Hop, ItemPlan, PlacedSign, SceneSetting, Sign

T = TypeVar("T")

# The page of a hop must be among so many first hits.
MAX_HITS = 3


def check_plan(plan: ItemPlan, corpus: PageCorpus) -> str:
    """Return the first rule that a plan breaks, "" if there is none."""
    question = prompts.question_text(plan.question)
    return (
        _check_answer_hidden(plan, question)
        or _check_clue_unnamed(plan.setting.signs, question)
        or _check_unambiguous(plan.setting.signs, plan.answers)
        or _check_answer_not_early(plan.hops, plan.answers, corpus)
        or _check_searchable(plan.hops, corpus)
        or _check_not_guessable(plan, corpus)
    )


def _check_answer_hidden(plan: ItemPlan, question: str) -> str:
    """Check that neither the question nor any sign contains the answer."""
    visible_texts = [
        question,
        *(text for sign in plan.setting.signs for text in (*sign.lines, sign.symbol)),
    ]
    for answer in plan.answers:
        if any(contains_words(text, answer) for text in visible_texts):
            return f"the answer {answer!r} is given away"
    return ""


def _check_clue_unnamed(signs: Iterable[Sign], question: str) -> str:
    """Check that the question contains no line of a sign and no description of an emblem."""
    for sign in signs:
        for line in (*sign.lines, sign.symbol):
            if line and contains_words(question, line):
                return f"the question names {line!r}"
    return ""


def _check_unambiguous(signs: Iterable[Sign], answers: Sequence[str]) -> str:
    """Check that every other sign leads to another answer."""
    for sign in signs:
        if sign.role != "clue" and sign.answer in answers:
            return f"a {sign.role} leads to the answer as well"
    return ""


def _check_answer_not_early(hops: Sequence[Hop], answers: Sequence[str], corpus: PageCorpus) -> str:
    """Check that no page before the last contains the answer."""
    for hop in hops[:-1]:
        text = _page_text(corpus, hop.href)
        if any(contains_words(text, answer) for answer in answers):
            return f"{hop.href} holds the answer too early"
    return ""


def _check_searchable(hops: Iterable[Hop], corpus: PageCorpus) -> str:
    """Check that each hop's query finds its page, and that the page contains its fact."""
    for hop in hops:
        if hop.href not in search_hits(corpus, hop.query):
            return f"{hop.query!r} does not find {hop.href}"
        if not contains_words(_page_text(corpus, hop.href), hop.finds):
            return f"{hop.href} does not hold {hop.finds!r}"
    return ""


def _check_not_guessable(plan: ItemPlan, corpus: PageCorpus) -> str:
    """Check that the question, complete or request only, does not find the answer's page."""
    for question in (prompts.question_text(plan.question), plan.question.request):
        if plan.hops[-1].href in search_hits(corpus, question):
            return "the question alone finds the page"
    return ""


def check_sign_positions(setting: SceneSetting, placed: Sequence[PlacedSign]) -> str:
    """Return what is wrong with the positions of signs, "" if nothing is wrong.

    Every sign must be visible. A sign with a `mark` must be the outermost on that side among all
    signs that are not clutter, including foreground signs.
    """
    boxes = {position.sign: position.box for position in placed}
    unseen = [n for n, _ in enumerate(setting.signs) if n not in boxes]
    if unseen:
        return f"sign {unseen[0]} is not seen"
    leading = [n for n, sign in enumerate(setting.signs) if sign.role != "clutter"]
    row = sorted(leading, key=lambda n: boxes[n][0] + boxes[n][2])
    ends = {"left": row[0], "right": row[-1]}
    for n in leading:
        mark = setting.signs[n].mark
        if mark and ends.get(mark) != n:
            return f"sign {n} does not stand {mark}"
    return ""


def contains_words(text: str, phrase: str) -> bool:
    """Tell whether a text contains a phrase as complete words, in any case."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None


def search_hits(corpus: PageCorpus, query: str) -> list[str]:
    """Return the addresses of the first hits of a search."""
    return [hit.href for hit in _run_immediately(corpus.find(query, "")).hits[:MAX_HITS]]


def _page_text(corpus: PageCorpus, href: str) -> str:
    return _plain_text(_run_immediately(corpus.fetch(href)).content)


@lru_cache(maxsize=2_000)
def _plain_text(html: str) -> str:
    return html_conversion.html_to_text(html)


def _run_immediately(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, with or without a running event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("a corpus waits for nothing")
