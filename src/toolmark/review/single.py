"""Review of one run: accept, edit or reject what the model did."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from toolmark.errors import UsageError
from toolmark.media import Media
from toolmark.report.tables import plural, visible
from toolmark.review import edit, episodes, pages, view
from toolmark.review.episodes import Episodes
from toolmark.review.log import Choice, Decision, Log, now
from toolmark.review.server import Answer
from toolmark.runs.store import Run

CHOICES = (("accept", "Accept", "a", "good"), ("reject", "Reject", "r", "bad"))
_DONE = {"accept": "accepted", "edit": "edited", "reject": "rejected"}


def log(run: Run) -> Log[Decision]:
    """Return the decisions on a run."""
    return Log(run.path / "reviews.jsonl", Decision)


class Single:
    """Every scored episode of a run, in the order of its tasks."""

    def __init__(self, run: Run, reviewer: str, ids: Sequence[str] = ()) -> None:
        """Find the episodes. Raises UsageError when there is none, or an id is unknown."""
        self.run = run
        self.reviewer = reviewer
        self.episodes = Episodes(run, ids)
        self.log = log(run)
        self.media = (Media(run.path / "media"),)

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.episodes)

    def next(self, after: int = 0) -> str:
        """Return the next open episode, else the first open one, else `end`."""
        last = self.log.last()
        open_ = [n for n, key in enumerate(self.episodes.keys, 1) if key not in last]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def page(self, n: int) -> str:
        """Return the page of one episode."""
        key = self.episodes.keys[n - 1]
        last = self.log.last()
        decision = last.get(key)
        task, trajectory = self.run.task(key[0]), self.episodes.trajectory(key)
        edited = decision and decision.decision == "edit"
        steps = list(decision.steps) if decision and edited else episodes.steps(trajectory)
        return pages.render(
            "single.html.j2",
            title=f"{visible(task.id)} · review",
            where=visible(self.run.path.name),
            n_done=sum(known in last for known in self.episodes.keys),
            n_all=len(self),
            n=n,
            task=task,
            repeat=key[1],
            said=view.question(task),
            made=view.side(trajectory),
            wanted=view.reference(task),
            choices=CHOICES,
            note=decision.note if decision else "",
            told=_told(decision),
            edit=_ascii(steps),
        )

    def end(self) -> str:
        """Return the overview: what was decided, and how to make a truth file of it."""
        words = self._words()
        kept = sum(word in ("accepted", "edited") for word in words)
        export = ["toolmark", "review", str(self.run.path), "--export", "truth.json"]
        return pages.render(
            "end.html.j2",
            title="Review",
            where=visible(self.run.path.name),
            n_done=len(words) - words.count("open"),
            n_all=len(self),
            heading="Review of " + visible(self.run.path.name),
            lines=self.lines(),
            command=shlex.join(export) if kept else "",
            next=self.next(),
            grids=(),
            listed=[
                (n, _label(task, repeat), word)
                for n, ((task, repeat), word) in enumerate(
                    zip(self.episodes.keys, words, strict=True), 1
                )
            ],
        )

    def decide(self, n: int, answer: Answer) -> None:
        """Keep a decision. What is accepted or edited must have the shape of a reference."""
        task, repeat = self.episodes.keys[n - 1]
        choice = _choice(answer.choice)
        steps = self._steps((task, repeat), choice, answer.steps)
        self.log.add(
            Decision(
                task=task,
                repeat=repeat,
                decision=choice,
                reviewer=self.reviewer,
                time=now(),
                note=answer.note,
                steps=steps if choice == "edit" else (),
            )
        )

    def _steps(
        self, key: tuple[str, int], choice: Choice, text: str
    ) -> tuple[dict[str, object], ...]:
        if choice == "reject":
            return ()
        trajectory = self.episodes.trajectory(key)
        tools = episodes.offered(self.run.task(key[0]), trajectory)
        if choice == "edit":
            return edit.read(text, tools)
        return edit.check(episodes.steps(trajectory), tools)

    def lines(self) -> tuple[str, ...]:
        """Return what was decided."""
        return (tally(self._words()),)

    def _words(self) -> list[str]:
        last = self.log.last()
        made = (last.get(key) for key in self.episodes.keys)
        return [_DONE[one.decision] if one else "open" for one in made]


def export(run: Run, path: Path, ids: Sequence[str] = ()) -> str:
    """Write the truth file of a run's reviews and return what to say of it."""
    from toolmark.review import truth

    made = truth.write(Episodes(run, ids), log(run), path)
    left = (
        (made.n_rejected, "rejected"),
        (made.n_open, "not decided"),
        (made.n_repeats, "further repeats"),
    )
    out = ", ".join(f"{n} {word}" for n, word in left if n)
    told = f"{path}  {plural(made.n_accepted + made.n_edited, 'reference')}, "
    return told + f"{made.n_edited} of them edited" + (f"; left out: {out}" if out else "")


def tally(words: Sequence[str]) -> str:
    """Return "3 accepted, 1 edited, 2 rejected, 4 open"."""
    return ", ".join(f"{words.count(word)} {word}" for word in (*_DONE.values(), "open"))


def _choice(word: str) -> Choice:
    match word:
        case "accept" | "edit" | "reject":
            return word
        case _:
            raise UsageError(f"no decision {word!r}; known: accept, edit, reject")


def _told(decision: Decision | None) -> str:
    if decision is None:
        return ""
    done, who = _DONE[decision.decision], visible(decision.reviewer)
    return f"{done} by {who}, {decision.time}; deciding again replaces it"


def _label(task: str, repeat: int) -> str:
    return visible(task) + (f", repeat {repeat}" if repeat else "")


def _ascii(steps: Sequence[dict[str, object]]) -> str:
    """Return the steps as the editor shows them, lone surrogates as escapes."""
    text = json.dumps(steps, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode()
