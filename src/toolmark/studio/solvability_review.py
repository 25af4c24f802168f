"""Review of tuned vision items: can a person solve what most of the panel fails?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.task_data import read_task_data
from toolmark.reports.table_format import visible_text
from toolmark.studio import review_pages, review_view, solvability_search
from toolmark.studio.review_log import ReviewLog, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession
from toolmark.studio.vision_tuning import item_edits
from toolmark.studio.vision_tuning.tuning_folder import MARKS_FILE, TunedItem, TuningFolder
from toolmark.studio.vision_tuning.tuning_records import (
    REVIEW_VERDICTS,
    ReviewMark,
    ReviewVerdict,
    Trial,
)
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark, choice_candidates

CHOICES = (
    ("solvable", "Solvable", "s", "good"),
    ("unsolvable", "Not solvable", "x", "bad"),
    ("unclear", "Unclear", "u", ""),
)
_VERDICT_LABELS: dict[ReviewVerdict, str] = {
    "solvable": "solvable", "unsolvable": "not solvable", "unclear": "unclear",
}  # fmt: skip
_REVIEWED_STATUSES = ("waiting", "accepted", "unclear", "unsolvable")


class Frame(NamedTuple):
    """A box as a page draws it, in pixels of the picture; `label` is the text or symbol in it."""

    left: float
    top: float
    width: float
    height: float
    label: str


class ModelAttempts(NamedTuple):
    """The attempts of one model: outcome and text of each."""

    model: str
    attempts: tuple[tuple[str, str, str], ...]


class SolvabilityReview(ReviewSession):
    """Every item that most of the panel fails, in the order of the folder."""

    def __init__(self, tuning: TuningFolder, reviewer: str, ids: Sequence[str] = ()) -> None:
        """Find the items. Raises UsageError when there is none, or an id is unknown."""
        self.tuning = tuning
        self.reviewer = reviewer
        for id in ids:
            if id not in tuning.items:
                raise UsageError(f"{tuning.path}: no item {id!r}{suggest_names(id, tuning.items)}")
        self.items = [
            item
            for item in tuning.items.values()
            if item.status(tuning.request) in _REVIEWED_STATUSES and (not ids or item.id in ids)
        ]
        if not self.items:
            raise UsageError(
                f"{tuning.path}: no item that most of the panel fails; next: "
                f"{_continue_command(tuning)}"
            )
        self.log = ReviewLog(tuning.path / MARKS_FILE, ReviewMark)
        self.media = (tuning.media,)
        self._page_search = solvability_search.PageSearch(tuning)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def next_open(self, after: int = 0) -> str:
        """Return the next open item, else the first open one, else `end`."""
        statuses = self._item_statuses()
        open_ = [n for n, status in enumerate(statuses, 1) if status == "open"]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def render_question(self, n: int) -> str:
        """Return the page of one item."""
        item = self.items[n - 1]
        task, truth = item.latest_version.task, read_task_data(item.latest_version.task, ItemTruth)
        mark = self.log.latest_by_key().get((item.id, item.latest_version.number))
        return review_pages.render_page(
            "solvable.html.j2",
            title=f"{visible_text(item.id)} · solvable?",
            where=visible_text(self.tuning.path.name),
            n_done=len(self) - self._item_statuses().count("open"),
            n_all=len(self),
            n=n,
            task=task,
            said=review_view.question_view(task),
            answers=[review_view.clip_text(answer) for answer in truth.answers],
            rivals=choice_candidates(truth, task.axes.get("kind", "")) if truth.hops else (),
            searched=solvability_search.search_source(self.tuning.request),
            way=[
                (review_view.clip_text(hop.query), hop.href, review_view.clip_text(hop.finds))
                for hop in truth.hops
            ],
            leaves=_fetched_pages(item),
            picture=item_edits.task_picture(task),
            size=truth.size,
            frames=[_clue_frame(sign) for sign in truth.marks if sign.role == "clue" and sign.box],
            changed=[(v.edit, review_view.clip_text(v.change)) for v in item.versions if v.edit],
            panel=[_model_attempts(item, name) for name in self.tuning.request.models],
            choices=CHOICES,
            note=mark.note if mark else "",
            status_text=_mark_label(mark),
        )

    def render_search(self, n: int, query: str, address: str) -> str:
        """Return the results of a search in the item's pages, and the text of one page."""
        item = self.items[n - 1]
        if solvability_search.search_source(self.tuning.request) != solvability_search.OWN_PAGES:
            raise UsageError("these items have no pages of their own: search the web")
        return review_pages.render_page(
            "search.html.j2",
            title=f"{visible_text(item.id)} · search",
            where=visible_text(self.tuning.path.name),
            n_done=len(self) - self._item_statuses().count("open"),
            n_all=len(self),
            n=n,
            item=visible_text(item.id),
            asked=query,
            found=self._page_search.search(item.latest_version.task, query) if query else (),
            href=visible_text(address),
            text=self._page_search.read_page(item.latest_version.task, address) if address else "",
        )

    def render_overview(self) -> str:
        """Return the overview."""
        statuses = self._item_statuses()
        command = f"toolmark tune {self.tuning.request.plan.suite} -o {self.tuning.path}"
        return review_pages.render_overview(
            title="Solvable?",
            folder=visible_text(self.tuning.path.name),
            heading="Review of " + visible_text(self.tuning.path.name),
            lines=self.summary_lines()[:1],
            entries=[
                (visible_text(item.id), status)
                for item, status in zip(self.items, statuses, strict=True)
            ],
            next_page=self.next_open(),
            command=command,
        )

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store a mark. Raises UsageError for an unknown word."""
        item = self.items[n - 1]
        verdict = next((word for word in REVIEW_VERDICTS if word == answer.choice), None)
        if verdict is None:
            raise UsageError(f"no mark {answer.choice!r}; known: {', '.join(REVIEW_VERDICTS)}")
        self.log.append(
            ReviewMark(
                item=item.id,
                version=item.latest_version.number,
                verdict=verdict,
                reviewer=self.reviewer,
                time=utc_now(),
                note=answer.note,
            )
        )

    def summary_lines(self) -> tuple[str, ...]:
        """Return the counts of marks, and the command that makes a set from them."""
        statuses = self._item_statuses()
        counts = ", ".join(
            f"{statuses.count(word)} {word}" for word in (*_VERDICT_LABELS.values(), "open")
        )
        command = _continue_command(self.tuning)
        purpose = "write what is solvable to the set, and give a hint to what is unclear"
        return counts, f"next: {purpose}: {command}"

    def _item_statuses(self) -> list[str]:
        last = self.log.latest_by_key()
        marks = (last.get((item.id, item.latest_version.number)) for item in self.items)
        return [_VERDICT_LABELS[mark.verdict] if mark else "open" for mark in marks]


def _continue_command(tuning: TuningFolder) -> str:
    """Return the command that continues a tuning."""
    return shlex.join(["toolmark", "tune", tuning.request.plan.suite, "-o", str(tuning.path)])


def _fetched_pages(item: TunedItem) -> list[tuple[str, str]]:
    """Return the pages for the hops that could be fetched, as (address, text)."""
    own = [leaf for leaf in item.pages if leaf.version == item.latest_version.number]
    return [(visible_text(leaf.hop.href), review_view.clip_text(leaf.text)) for leaf in own]


def _clue_frame(sign: SignMark) -> Frame:
    assert sign.box is not None
    left, top, right, bottom = sign.box
    return Frame(
        left, top, right - left, bottom - top, review_view.clip_text(sign.text or sign.symbol, 300)
    )


def _model_attempts(item: TunedItem, name: str) -> ModelAttempts:
    trials = item.attempts(name, item.latest_version.number)
    return ModelAttempts(
        visible_text(name),
        tuple(
            (
                trial.outcome.replace("_", "-"),
                review_view.clip_text(_answer_or_failure(trial), 2_000),
                review_view.clip_text(" ".join(filter(None, (trial.mode, trial.evidence))), 500),
            )
            for trial in trials
        ),
    )


def _mark_label(mark: ReviewMark | None) -> str:
    if mark is None:
        return ""
    reviewer = visible_text(mark.reviewer)
    return (
        f"{_VERDICT_LABELS[mark.verdict]} says {reviewer}, {mark.time}; marking again replaces it"
    )


def _answer_or_failure(trial: Trial) -> str:
    """Return the answer, or why there is none."""
    return trial.answer or (trial.failure.summary if trial.failure else "")
