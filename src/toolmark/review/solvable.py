"""Review of tuned vision items: can a person solve what most of the panel fails?"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from toolmark.errors import UsageError, near
from toolmark.report.tables import visible
from toolmark.review import look, pages, view
from toolmark.review.log import Log, now
from toolmark.review.server import Answer
from toolmark.suites.mfcl.vision.item import Mark as Sign
from toolmark.suites.mfcl.vision.item import candidates
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.tune import edits
from toolmark.suites.mfcl.vision.tune.folder import MARKS, Item, Tuning
from toolmark.suites.mfcl.vision.tune.records import VERDICTS, Mark, Trial, Verdict

CHOICES = (
    ("solvable", "Solvable", "s", "good"),
    ("unsolvable", "Not solvable", "x", "bad"),
    ("unclear", "Unclear", "u", ""),
)
_WORDS: dict[Verdict, str] = {
    "solvable": "solvable", "unsolvable": "not solvable", "unclear": "unclear",
}  # fmt: skip
_ASKED = ("waiting", "kept", "unclear", "unsolvable")


class Frame(NamedTuple):
    """A box as a page draws it, in pixels of the picture; `told` is what stands there."""

    left: float
    top: float
    width: float
    height: float
    told: str


class Fared(NamedTuple):
    """How one model fared: what each attempt came to, and what it said."""

    model: str
    attempts: tuple[tuple[str, str, str], ...]


class Solvable:
    """Every item that most of the panel fails, in the order of the folder."""

    def __init__(self, tuning: Tuning, reviewer: str, ids: Sequence[str] = ()) -> None:
        """Find the items. Raises UsageError when there is none, or an id is unknown."""
        self.tuning = tuning
        self.reviewer = reviewer
        for id in ids:
            if id not in tuning.items:
                raise UsageError(f"{tuning.path}: no item {id!r}{near(id, tuning.items)[:400]}")
        self.items = [
            item
            for item in tuning.items.values()
            if item.status(tuning.request) in _ASKED and (not ids or item.id in ids)
        ]
        if not self.items:
            raise UsageError(
                f"{tuning.path}: no item that most of the panel fails; next: {_again(tuning)}"
            )
        self.log = Log(tuning.path / MARKS, Mark)
        self.media = (tuning.media,)
        self._look = look.Look(tuning)

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self.items)

    def next(self, after: int = 0) -> str:
        """Return the next open item, else the first open one, else `end`."""
        words = self._words()
        open_ = [n for n, word in enumerate(words, 1) if word == "open"]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def page(self, n: int) -> str:
        """Return the page of one item."""
        item = self.items[n - 1]
        task, truth = item.last.task, truth_of(item.last.task)
        mark = self.log.last().get((item.id, item.last.number))
        return pages.render(
            "solvable.html.j2",
            title=f"{visible(item.id)} · solvable?",
            where=visible(self.tuning.path.name),
            n_done=len(self) - self._words().count("open"),
            n_all=len(self),
            n=n,
            task=task,
            said=view.question(task),
            answers=[view.clip(answer) for answer in truth.answers],
            rivals=candidates(truth, task.axes.get("kind", "")) if truth.hops else (),
            searched=look.searched(self.tuning.request),
            way=[(view.clip(hop.query), hop.href, view.clip(hop.finds)) for hop in truth.hops],
            leaves=_leaves(item),
            picture=edits.shown(task),
            size=truth.size,
            frames=[_frame(sign) for sign in truth.marks if sign.role == "clue" and sign.box],
            changed=[(v.edit, view.clip(v.told)) for v in item.versions if v.edit],
            panel=[_fared(item, name) for name in self.tuning.request.models],
            choices=CHOICES,
            note=mark.note if mark else "",
            told=_told(mark),
        )

    def search(self, n: int, words: str, page: str) -> str:
        """Return what a search of the item's pages found, and a page of them."""
        item = self.items[n - 1]
        if look.searched(self.tuning.request) != look.OWN:
            raise UsageError("these items have no pages of their own: search the web")
        return pages.render(
            "search.html.j2",
            title=f"{visible(item.id)} · search",
            where=visible(self.tuning.path.name),
            n_done=len(self) - self._words().count("open"),
            n_all=len(self),
            n=n,
            item=visible(item.id),
            asked=words,
            found=self._look.find(item.last.task, words) if words else (),
            href=visible(page),
            text=self._look.read(item.last.task, page) if page else "",
        )

    def end(self) -> str:
        """Return the overview."""
        words = self._words()
        again = f"toolmark tune {self.tuning.request.plan.suite} -o {self.tuning.path}"
        return pages.render(
            "end.html.j2",
            title="Solvable?",
            where=visible(self.tuning.path.name),
            n_done=len(self) - words.count("open"),
            n_all=len(self),
            heading="Review of " + visible(self.tuning.path.name),
            lines=self.lines()[:1],
            command=again,
            next=self.next(),
            grids=(),
            listed=[
                (n, visible(item.id), word)
                for n, (item, word) in enumerate(zip(self.items, words, strict=True), 1)
            ],
        )

    def decide(self, n: int, answer: Answer) -> None:
        """Keep a mark. Raises UsageError for a word that is none."""
        item = self.items[n - 1]
        verdict = next((word for word in VERDICTS if word == answer.choice), None)
        if verdict is None:
            raise UsageError(f"no mark {answer.choice!r}; known: {', '.join(VERDICTS)}")
        self.log.add(
            Mark(
                item=item.id,
                version=item.last.number,
                verdict=verdict,
                reviewer=self.reviewer,
                time=now(),
                note=answer.note,
            )
        )

    def lines(self) -> tuple[str, ...]:
        """Return what was marked, and what makes a set of it."""
        words = self._words()
        counts = ", ".join(f"{words.count(word)} {word}" for word in (*_WORDS.values(), "open"))
        again = _again(self.tuning)
        told = "writes what is solvable to the set, and gives a hint to what is unclear"
        return counts, f"next: {again}  ({told})"

    def _words(self) -> list[str]:
        last = self.log.last()
        made = (last.get((item.id, item.last.number)) for item in self.items)
        return [_WORDS[mark.verdict] if mark else "open" for mark in made]


def _again(tuning: Tuning) -> str:
    """Return the command that goes on with a tuning."""
    return shlex.join(["toolmark", "tune", tuning.request.plan.suite, "-o", str(tuning.path)])


def _leaves(item: Item) -> list[tuple[str, str]]:
    """Return the pages on the way that could be fetched, as (address, text)."""
    own = [leaf for leaf in item.leaves if leaf.version == item.last.number]
    return [(visible(leaf.hop.href), view.clip(leaf.text)) for leaf in own]


def _frame(sign: Sign) -> Frame:
    assert sign.box is not None
    left, top, right, bottom = sign.box
    return Frame(left, top, right - left, bottom - top, view.clip(sign.text or sign.symbol, 300))


def _fared(item: Item, name: str) -> Fared:
    trials = item.of(name, item.last.number)
    return Fared(
        visible(name),
        tuple(
            (trial.outcome.replace("_", "-"), view.clip(_said(trial), 2_000),
             view.clip(" ".join(filter(None, (trial.mode, trial.evidence))), 500))
            for trial in trials
        ),
    )  # fmt: skip


def _told(mark: Mark | None) -> str:
    if mark is None:
        return ""
    who = visible(mark.reviewer)
    return f"{_WORDS[mark.verdict]} says {who}, {mark.time}; marking again replaces it"


def _said(trial: Trial) -> str:
    """Return the answer, or why there is none."""
    return trial.answer or (trial.failure.line if trial.failure else "")
