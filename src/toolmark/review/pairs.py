"""Calls that the metric matches without being sure: do they do the same? Labels to calibrate by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.media import Media
from toolmark.report.tables import visible
from toolmark.review import episodes, pages, view
from toolmark.review.episodes import Episodes
from toolmark.review.log import Likeness, Log, now
from toolmark.review.server import Answer
from toolmark.score import align

Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

WEAK, STRONG = 0.6, 0.8
CHOICES = (("same", "The same", "s", "good"), ("different", "Different", "d", "bad"))


@dataclass(frozen=True, slots=True)
class Unsure:
    """A call of the reference and the one of the model that was matched with it."""

    task: str
    repeat: int
    tool: str
    a: str
    b: str
    similarity: float

    @property
    def key(self) -> tuple[str, str, str]:
        """What is asked: as `Likeness.key`."""
        return self.tool, self.a, self.b


class Pairs:
    """Matched calls of a run whose similarity lies between weak and strong, each asked once."""

    def __init__(
        self, found: Episodes, encoder: Encoder, reviewer: str, *,
        weak: float = WEAK, strong: float = STRONG,
    ) -> None:  # fmt: skip
        """Match and gather. Raises UsageError when no pair lies between."""
        self.run = found.run
        self.reviewer = reviewer
        self.pairs = list(
            {pair.key: pair for pair in unsure(found, encoder, weak, strong)}.values()
        )
        if not self.pairs:
            raise UsageError(
                f"{self.run.path}: no call is matched with a similarity from {weak} to below "
                f"{strong}: nothing is unsure (or the tasks have no reference steps)"
            )
        self.log = Log(self.run.path / "pairs.jsonl", Likeness)
        self.media = (Media(self.run.path / "media"),)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def next(self, after: int = 0) -> str:
        """Return the next open pair, else the first open one, else `end`."""
        last = self.log.last()
        open_ = [n for n, pair in enumerate(self.pairs, 1) if pair.key not in last]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def page(self, n: int) -> str:
        """Return the page of one pair. The similarity is not shown: it would lead the answer."""
        pair = self.pairs[n - 1]
        last = self.log.last()
        task = self.run.task(pair.task)
        given = last.get(pair.key)
        return pages.render(
            "pair.html.j2",
            title=f"{visible(pair.tool)} · pairs",
            where=visible(self.run.path.name),
            n_done=sum(known.key in last for known in self.pairs),
            n_all=len(self),
            n=n,
            task=task,
            pair=pair,
            a=view.clip(view.pretty(episodes.value(pair.a))),
            b=view.clip(view.pretty(episodes.value(pair.b))),
            said=view.question(task),
            choices=CHOICES,
            note=given.note if given else "",
            told=f"decided: {_word(given)}, {given.time}; deciding again replaces it"
            if given
            else "",
        )

    def end(self) -> str:
        """Return the overview and what to do with the labels."""
        last = self.log.last()
        words = [_word(last.get(pair.key)) for pair in self.pairs]
        return pages.render(
            "end.html.j2",
            title="Pairs",
            where=visible(self.run.path.name),
            n_done=len(words) - words.count("open"),
            n_all=len(self),
            heading="Pairs of " + visible(self.run.path.name),
            lines=self.lines(),
            command=f"toolmark calibrate {self.log.path}" if len(set(words) - {"open"}) > 1 else "",
            next=self.next(),
            grids=(),
            listed=[
                (n, visible(pair.tool), word)
                for n, (pair, word) in enumerate(zip(self.pairs, words, strict=True), 1)
            ],
        )

    def decide(self, n: int, answer: Answer) -> None:
        """Keep a label."""
        pair = self.pairs[n - 1]
        if answer.choice not in ("same", "different"):
            raise UsageError(f"no label {answer.choice!r}; known: same, different")
        self.log.add(
            Likeness(
                tool=pair.tool,
                a=pair.a,
                b=pair.b,
                similarity=pair.similarity,
                same=answer.choice == "same",
                task=pair.task,
                repeat=pair.repeat,
                reviewer=self.reviewer,
                time=now(),
                note=answer.note,
            )
        )

    def lines(self) -> tuple[str, ...]:
        """Return what was decided."""
        last = self.log.last()
        words = [_word(last.get(pair.key)) for pair in self.pairs]
        return (", ".join(f"{words.count(word)} {word}" for word in ("same", "different", "open")),)


def unsure(found: Episodes, encoder: Encoder, weak: float, strong: float) -> Iterator[Unsure]:
    """Go through the matched pairs from weak to below strong; all texts are encoded at once."""
    known: dict[str, None] = {}
    for key in found.keys:
        for calls in _sides(found, key):
            known |= dict.fromkeys(words for _, words in calls)
    rows = dict(zip(known, encoder(list(known)), strict=True)) if known else {}

    def alike(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        left, right = (np.stack([rows[words] for words in side]) for side in (one, other))
        return align.cosine(left, right)

    for key in found.keys:
        truth, made = _sides(found, key)
        steps = _steps(found, key)
        for i, j, similarity in align.trajectory(*steps, alike, weak=weak, strong=strong)[
            "matches"
        ]:
            if similarity < strong:
                yield Unsure(*key, truth[i][0], truth[i][1], made[j][1], similarity)


def _steps(
    found: Episodes, key: tuple[str, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the steps of the reference, none where the task has none, and those that were made."""
    truth, _ = episodes.reference(found.run.task(key[0]))
    return truth, episodes.steps(found.trajectory(key))


def _sides(found: Episodes, key: tuple[str, int]) -> list[list[tuple[str, str]]]:
    """Return the calls of both sides, in order, as (tool, text)."""
    return [
        [
            (str(call.get("name", "")), align.text(call.get("arguments")))
            for step in steps
            for call in step["calls"]
        ]
        for steps in _steps(found, key)
    ]


def _word(given: Likeness | None) -> str:
    return "open" if given is None else "same" if given.same else "different"
