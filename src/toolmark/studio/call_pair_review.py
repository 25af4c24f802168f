"""Review of uncertain matches of calls: do they do the same? The labels calibrate the metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.reports.table_format import visible_text
from toolmark.scoring import alignment
from toolmark.studio import review_episodes, review_pages, review_view
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import ReviewLog, SameCallLabel, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession

Encoder: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

WEAK_THRESHOLD, STRONG_THRESHOLD = 0.6, 0.8
CHOICES = (("same", "The same", "s", "good"), ("different", "Different", "d", "bad"))


@dataclass(frozen=True, slots=True)
class UncertainMatch:
    """A call of the reference and the model's call that was matched with it."""

    task: str
    repeat: int
    tool: str
    a: str
    b: str
    similarity: float

    @property
    def key(self) -> tuple[str, str, str]:
        """The subject of the question: as `SameCallLabel.key`."""
        return self.tool, self.a, self.b


class CallPairReview(ReviewSession):
    """Matched calls of a run with a similarity between weak and strong, each asked once."""

    def __init__(
        self, found: ReviewEpisodes, encoder: Encoder, reviewer: str, *,
        weak: float = WEAK_THRESHOLD, strong: float = STRONG_THRESHOLD,
    ) -> None:  # fmt: skip
        """Find the matches. Raises UsageError when no pair is between weak and strong."""
        self.run = found.run
        self.reviewer = reviewer
        self.pairs = list(
            {pair.key: pair for pair in uncertain_matches(found, encoder, weak, strong)}.values()
        )
        if not self.pairs:
            raise UsageError(
                f"{self.run.path}: no call is matched with a similarity from {weak} to below "
                f"{strong}: nothing is unsure (or the tasks have no reference steps)"
            )
        self.log = ReviewLog(self.run.path / "pairs.jsonl", SameCallLabel)
        self.media = (MediaStore(self.run.path / "media"),)

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def next_open(self, after: int = 0) -> str:
        """Return the next open pair, else the first open one, else `end`."""
        last = self.log.latest_by_key()
        open_ = [n for n, pair in enumerate(self.pairs, 1) if pair.key not in last]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def render_question(self, n: int) -> str:
        """Return the page of one pair. The similarity is not shown: it would bias the answer."""
        pair = self.pairs[n - 1]
        last = self.log.latest_by_key()
        task = self.run.task(pair.task)
        label = last.get(pair.key)
        return review_pages.render_page(
            "pair.html.j2",
            title=f"{visible_text(pair.tool)} · pairs",
            where=visible_text(self.run.path.name),
            n_done=sum(known.key in last for known in self.pairs),
            n_all=len(self),
            n=n,
            task=task,
            pair=pair,
            a=review_view.clip_text(
                review_view.format_json(review_episodes.arguments_value(pair.a))
            ),
            b=review_view.clip_text(
                review_view.format_json(review_episodes.arguments_value(pair.b))
            ),
            said=review_view.question_view(task),
            choices=CHOICES,
            note=label.note if label else "",
            status_text=f"decided: {_label_status(label)}, {label.time}; deciding again replaces it"
            if label
            else "",
        )

    def render_overview(self) -> str:
        """Return the overview, and the command that uses the labels."""
        last = self.log.latest_by_key()
        statuses = [_label_status(last.get(pair.key)) for pair in self.pairs]
        return review_pages.render_overview(
            title="Pairs",
            folder=visible_text(self.run.path.name),
            heading="Pairs of " + visible_text(self.run.path.name),
            lines=self.summary_lines(),
            entries=[
                (visible_text(pair.tool), status)
                for pair, status in zip(self.pairs, statuses, strict=True)
            ],
            next_page=self.next_open(),
            command=f"toolmark calibrate {self.log.path}"
            if len(set(statuses) - {"open"}) > 1
            else "",
        )

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store a label. Raises UsageError for an unknown one."""
        pair = self.pairs[n - 1]
        if answer.choice not in ("same", "different"):
            raise UsageError(f"no label {answer.choice!r}; known: same, different")
        self.log.append(
            SameCallLabel(
                tool=pair.tool,
                a=pair.a,
                b=pair.b,
                similarity=pair.similarity,
                same=answer.choice == "same",
                task=pair.task,
                repeat=pair.repeat,
                reviewer=self.reviewer,
                time=utc_now(),
                note=answer.note,
            )
        )

    def summary_lines(self) -> tuple[str, ...]:
        """Return the counts of labels."""
        last = self.log.latest_by_key()
        statuses = [_label_status(last.get(pair.key)) for pair in self.pairs]
        return (
            ", ".join(
                f"{statuses.count(status)} {status}" for status in ("same", "different", "open")
            ),
        )


def uncertain_matches(
    found: ReviewEpisodes, encoder: Encoder, weak: float, strong: float
) -> Iterator[UncertainMatch]:
    """Yield the matched pairs from weak to below strong; all texts are encoded in one call."""
    texts: dict[str, None] = {}
    for key in found.keys:
        for calls in _reference_and_model_calls(found, key):
            texts |= dict.fromkeys(text for _, text in calls)
    embedding_by_text = dict(zip(texts, encoder(list(texts)), strict=True)) if texts else {}

    def text_similarities(one: Sequence[str], other: Sequence[str]) -> NDArray[np.float32]:
        left, right = (
            np.stack([embedding_by_text[text] for text in side]) for side in (one, other)
        )
        return alignment.cosine_matrix(left, right)

    for key in found.keys:
        reference_calls, model_calls = _reference_and_model_calls(found, key)
        steps = _reference_and_model_steps(found, key)
        for i, j, similarity in alignment.align_trajectory(
            *steps, text_similarities, weak=weak, strong=strong
        )["matches"]:
            if similarity < strong:
                yield UncertainMatch(
                    *key,
                    reference_calls[i][0],
                    reference_calls[i][1],
                    model_calls[j][1],
                    similarity,
                )


def _reference_and_model_steps(
    found: ReviewEpisodes, key: tuple[str, int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the steps of the reference, [] where the task has none, and the executed steps."""
    reference_steps, _ = review_episodes.reference_steps(found.run.task(key[0]))
    return reference_steps, review_episodes.executed_steps(found.trajectory(key))


def _reference_and_model_calls(
    found: ReviewEpisodes, key: tuple[str, int]
) -> list[list[tuple[str, str]]]:
    """Return the calls of the reference and of the model, in order, as (tool, text)."""
    return [
        [
            (str(call.get("name", "")), alignment.arguments_text(call.get("arguments")))
            for step in steps
            for call in step["calls"]
        ]
        for steps in _reference_and_model_steps(found, key)
    ]


def _label_status(label: SameCallLabel | None) -> str:
    return "open" if label is None else "same" if label.same else "different"
