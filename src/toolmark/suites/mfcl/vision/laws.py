"""What every generated item keeps to: told before it is drawn, and by where its signs came to lie.

Nothing in question or picture tells the answer, the question does not tell the clue, a search leads
from each step to the next page within three hits, no earlier page holds the answer, and what else
is seen leads to other answers.
"""

from __future__ import annotations

import re
from collections.abc import Coroutine, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from toolmark.suites.mfcl.vision import wording
from toolmark.suites.mfcl.vision.item import Hop, Plan, Seen, Setting, Sign
from toolmark.worlds import page
from toolmark.worlds.corpus import Corpus

T = TypeVar("T")

HITS = 3  # within so many the page of a step is found


def broken(plan: Plan, corpus: Corpus) -> str:
    """Return which law a plan breaks, "" for none."""
    asked = wording.question(plan.asked)
    return (
        _told(plan, asked)
        or _named(plan.setting.signs, asked)
        or _ambiguous(plan.setting.signs, plan.answers)
        or _early(plan.hops, plan.answers, corpus)
        or _lost(plan.hops, corpus)
        or _guessed(plan, corpus)
    )


def _told(plan: Plan, asked: str) -> str:
    """The answer stands neither in the question nor on any sign."""
    shown = [asked, *(text for sign in plan.setting.signs for text in (*sign.lines, sign.symbol))]
    for answer in plan.answers:
        if any(holds(text, answer) for text in shown):
            return f"the answer {answer!r} is told"
    return ""


def _named(signs: Iterable[Sign], asked: str) -> str:
    """The question holds no line of a sign, nor the words of an emblem."""
    for sign in signs:
        for line in (*sign.lines, sign.symbol):
            if line and holds(asked, line):
                return f"the question names {line!r}"
    return ""


def _ambiguous(signs: Iterable[Sign], answers: Sequence[str]) -> str:
    """Whatever else is seen leads to other answers."""
    for sign in signs:
        if sign.role != "clue" and sign.answer in answers:
            return f"a {sign.role} leads to the answer as well"
    return ""


def _early(hops: Sequence[Hop], answers: Sequence[str], corpus: Corpus) -> str:
    """No page before the last holds the answer."""
    for hop in hops[:-1]:
        text = _text(corpus, hop.href)
        if any(holds(text, answer) for answer in answers):
            return f"{hop.href} holds the answer too early"
    return ""


def _lost(hops: Iterable[Hop], corpus: Corpus) -> str:
    """Each step's words find its page, and the page holds what the step finds."""
    for hop in hops:
        if hop.href not in found(corpus, hop.query):
            return f"{hop.query!r} does not find {hop.href}"
        if not holds(_text(corpus, hop.href), hop.finds):
            return f"{hop.href} does not hold {hop.finds!r}"
    return ""


def _guessed(plan: Plan, corpus: Corpus) -> str:
    """The words of the question alone, whole or bare, do not find the page with the answer."""
    for question in (wording.question(plan.asked), plan.asked.request):
        if plan.hops[-1].href in found(corpus, question):
            return "the question alone finds the page"
    return ""


def misplaced(setting: Setting, seen: Sequence[Seen]) -> str:
    """Return what is wrong with where signs came to lie, "" for nothing.

    All are seen, and a sign with a mark lies as the mark says among all that lead somewhere, those
    that stand nearer included.
    """
    boxes = {each.sign: each.box for each in seen}
    lost = [n for n, _ in enumerate(setting.signs) if n not in boxes]
    if lost:
        return f"sign {lost[0]} is not seen"
    leading = [n for n, sign in enumerate(setting.signs) if sign.role != "clutter"]
    row = sorted(leading, key=lambda n: boxes[n][0] + boxes[n][2])
    ends = {"left": row[0], "right": row[-1]}
    for n in leading:
        mark = setting.signs[n].mark
        if mark and ends.get(mark) != n:
            return f"sign {n} does not stand {mark}"
    return ""


def holds(text: str, words: str) -> bool:
    """Tell whether a text holds words, whatever their case, not as a part of longer ones."""
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text, re.IGNORECASE) is not None


def found(corpus: Corpus, query: str) -> list[str]:
    """Return the addresses of the first hits of a search."""
    return [hit.href for hit in _now(corpus.find(query, "")).hits[:HITS]]


def _text(corpus: Corpus, href: str) -> str:
    return _bare(_now(corpus.fetch(href)).content)


@lru_cache(maxsize=2_000)
def _bare(html: str) -> str:
    return page.bare(html)


def _now(asked: Coroutine[Any, Any, T]) -> T:
    """Return what was asked of a corpus: it answers at once, with or without a running loop."""
    try:
        asked.send(None)
    except StopIteration as done:
        answer: T = done.value
        return answer
    raise AssertionError("a corpus waits for nothing")
