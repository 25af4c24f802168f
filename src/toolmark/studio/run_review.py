"""Review of one run: accept, edit or reject what the model did."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.number_format import format_count, pluralize
from toolmark.reports.table_format import visible_text
from toolmark.runs.run_store import Run
from toolmark.studio import review_edit_check, review_episodes, review_pages, review_view
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import Choice, Decision, ReviewLog, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession

CHOICES = (("accept", "Accept", "a", "good"), ("reject", "Reject", "r", "bad"))
_STATUS_LABELS = {"accept": "accepted", "edit": "edited", "reject": "rejected"}


def open_review_log(run: Run) -> ReviewLog[Decision]:
    """Return the decisions on a run."""
    return ReviewLog(run.path / "reviews.jsonl", Decision)


class RunReview(ReviewSession):
    """Every scored episode of a run, in the order of its tasks."""

    def __init__(self, run: Run, reviewer: str, ids: Sequence[str] = ()) -> None:
        """Find the episodes. Raises UsageError when there is none, or an id is unknown."""
        self.run = run
        self.reviewer = reviewer
        self.episodes = ReviewEpisodes(run, ids)
        self.log = open_review_log(run)
        self.media = (MediaStore(run.path / "media"),)

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.episodes)

    def next_open(self, after: int = 0) -> str:
        """Return the next open episode, else the first open one, else `end`."""
        last = self.log.latest_by_key()
        open_ = [n for n, key in enumerate(self.episodes.keys, 1) if key not in last]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def render_question(self, n: int) -> str:
        """Return the page of one episode."""
        key = self.episodes.keys[n - 1]
        last = self.log.latest_by_key()
        decision = last.get(key)
        task, trajectory = self.run.task(key[0]), self.episodes.trajectory(key)
        is_edited = decision and decision.decision == "edit"
        steps = (
            list(decision.steps)
            if decision and is_edited
            else review_episodes.executed_steps(trajectory)
        )
        return review_pages.render_page(
            "single.html.j2",
            title=f"{visible_text(task.id)} · review",
            where=visible_text(self.run.path.name),
            n_done=sum(known in last for known in self.episodes.keys),
            n_all=len(self),
            n=n,
            task=task,
            repeat=key[1],
            said=review_view.question_view(task),
            made=review_view.trajectory_view(trajectory),
            wanted=review_view.reference_view(task),
            choices=CHOICES,
            note=decision.note if decision else "",
            status_text=_decision_label(decision),
            edit=_editor_text(steps),
        )

    def render_overview(self) -> str:
        """Return the overview: the decisions, and the command that exports references from them."""
        statuses = self._episode_statuses()
        n_references = sum(status in ("accepted", "edited") for status in statuses)
        export = ["toolmark", "review", str(self.run.path), "--export", "truth.json"]
        return review_pages.render_overview(
            title="Review",
            folder=visible_text(self.run.path.name),
            heading="Review of " + visible_text(self.run.path.name),
            lines=self.summary_lines(),
            entries=[
                (_episode_label(task, repeat), status)
                for (task, repeat), status in zip(self.episodes.keys, statuses, strict=True)
            ],
            next_page=self.next_open(),
            command=shlex.join(export) if n_references else "",
        )

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store a decision. Accepted or edited steps must have the shape of a reference."""
        task, repeat = self.episodes.keys[n - 1]
        choice = _check_choice(answer.choice)
        steps = self._checked_steps((task, repeat), choice, answer.steps)
        self.log.append(
            Decision(
                task=task,
                repeat=repeat,
                decision=choice,
                reviewer=self.reviewer,
                time=utc_now(),
                note=answer.note,
                steps=steps if choice == "edit" else (),
            )
        )

    def _checked_steps(
        self, key: tuple[str, int], choice: Choice, text: str
    ) -> tuple[dict[str, object], ...]:
        if choice == "reject":
            return ()
        trajectory = self.episodes.trajectory(key)
        tools = review_episodes.offered_tool_names(self.run.task(key[0]), trajectory)
        if choice == "edit":
            return review_edit_check.parse_steps(text, tools)
        return review_edit_check.check_steps(review_episodes.executed_steps(trajectory), tools)

    def summary_lines(self) -> tuple[str, ...]:
        """Return the counts of decisions."""
        return (tally_statuses(self._episode_statuses()),)

    def _episode_statuses(self) -> list[str]:
        last = self.log.latest_by_key()
        decisions = (last.get(key) for key in self.episodes.keys)
        return [_STATUS_LABELS[decision.decision] if decision else "open" for decision in decisions]


def export_references(run: Run, path: Path, ids: Sequence[str] = ()) -> str:
    """Write the references from a run's reviews to a file and return a summary."""
    from toolmark.studio import review_reference_export

    exported = review_reference_export.write_references(
        ReviewEpisodes(run, ids), open_review_log(run), path
    )
    omitted = (
        (exported.n_rejected, "rejected"),
        (exported.n_open, "not decided"),
        (exported.n_repeats, "further repeats"),
    )
    omitted_text = ", ".join(f"{format_count(n)} {word}" for n, word in omitted if n)
    message = f"{path}  {pluralize(exported.n_accepted + exported.n_edited, 'reference')}, "
    return (
        message
        + f"{format_count(exported.n_edited)} of them edited"
        + (f"; left out: {omitted_text}" if omitted_text else "")
    )


def tally_statuses(statuses: Sequence[str]) -> str:
    """Return "3 accepted, 1 edited, 2 rejected, 4 open"."""
    return ", ".join(
        f"{statuses.count(word)} {word}" for word in (*_STATUS_LABELS.values(), "open")
    )


def _check_choice(word: str) -> Choice:
    match word:
        case "accept" | "edit" | "reject":
            return word
        case _:
            raise UsageError(f"no decision {word!r}; known: accept, edit, reject")


def _decision_label(decision: Decision | None) -> str:
    if decision is None:
        return ""
    status, reviewer = _STATUS_LABELS[decision.decision], visible_text(decision.reviewer)
    return f"{status} by {reviewer}, {decision.time}; deciding again replaces it"


def _episode_label(task: str, repeat: int) -> str:
    return visible_text(task) + (f", repeat {repeat}" if repeat else "")


def _editor_text(steps: Sequence[dict[str, object]]) -> str:
    """Return the steps as the editor shows them, lone surrogates as escapes."""
    text = json.dumps(steps, ensure_ascii=False, indent=2)
    return text.encode("utf-8", "backslashreplace").decode()
