"""Labels for a judge: a person decides whether episodes pass, and sees no verdict and no model.

The episodes come in an order that is drawn, so those labelled first are a random sample: only then
do the labels say something about the other episodes.
"""

from __future__ import annotations

from toolmark.core import number_format, seeds
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task, Trajectory
from toolmark.judging import rubric_question
from toolmark.judging.episode_labels import LABELS_FILE, EpisodeLabel, LabelChoice
from toolmark.reports.table_format import visible_text
from toolmark.runs import judge_panels
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_store import Run
from toolmark.statistics.label_formulas import FEWEST_LABELS
from toolmark.studio import review_pages, review_view
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import ReviewLog, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession

_SHOWN_APART = ("question", "calls", "answer")
CHOICES = (("pass", "Pass", "a", "good"), ("fail", "Fail", "f", "bad"))


class LabelReview(ReviewSession):
    """The scored episodes of a run in a drawn order, the same for every person."""

    def __init__(self, run: Run, reviewer: str, *, seed: int = 0) -> None:
        """Find the episodes. Raises UsageError when there is none, or no rubric."""
        panels = judge_panels.read_panels(run).values()
        asked = next((panel for panel in panels if panel.rubric), None)
        if asked is None:
            raise UsageError(
                f"{run.path}: labels are for runs that a judge scored by a rubric (tm.judge)"
            )
        self.run = run
        self.rubric = asked.rubric
        self.shown = asked.shown
        self.reviewer = reviewer
        self.episodes = ReviewEpisodes(run)
        self.keys = list(self.episodes.keys)
        seeds.shuffle_items(seeds.make_rng(seed, "", 0, "labels"), self.keys)
        self.log = ReviewLog(run.path / LABELS_FILE, EpisodeLabel)
        self.media = (MediaStore(run.path / "media"),)

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.keys)

    def next_open(self, after: int = 0) -> str:
        """Return the first episode that this person has not labelled, else `end`.

        An episode that was passed over comes again: leaving out the hard ones would bias the
        sample.
        """
        labels = self._own_labels()
        return next((str(n) for n, key in enumerate(self.keys, 1) if key not in labels), "end")

    def _own_labels(self) -> dict[tuple[str, int], EpisodeLabel]:
        labels = self.log.latest_by_key().values()
        return {
            (label.task, label.repeat): label for label in labels if label.reviewer == self.reviewer
        }

    def render_question(self, n: int) -> str:
        """Return the page of one episode."""
        task_id, repeat = key = self.keys[n - 1]
        labels = self._own_labels()
        label = labels.get(key)
        task, trajectory = self.run.task(task_id), self.episodes.trajectory(key)
        return review_pages.render_question(
            "label.html.j2",
            "labels",
            task,
            repeat,
            progress=(n, len(labels), len(self)),
            note=label.note if label else "",
            made=review_view.trajectory_view(trajectory),
            rubric=self.rubric,
            fields=self._further_fields(task, trajectory),
            choices=CHOICES,
            status_text=_label_text(label),
        )

    def _further_fields(self, task: Task, trajectory: Trajectory) -> dict[str, str]:
        """Return what the judge sees besides question, calls and answer, as text."""
        names = tuple(name for name in self.shown if name not in _SHOWN_APART)
        evidence = rubric_question.episode_evidence(task, trajectory, names)
        return {
            name: review_view.clip_text(review_view.format_json(value))
            for name, value in evidence.items()
        }

    def render_overview(self) -> str:
        """Return the overview: the labels of this person, and the command that scores with them."""
        labels = self._own_labels()
        return review_pages.render_overview(
            title="Labels",
            folder="labels",
            heading="Labels of " + visible_text(self.reviewer),
            lines=self.summary_lines(),
            entries=[
                (
                    visible_text(task) + (f", repeat {repeat}" if repeat else ""),
                    labels[task, repeat].label if (task, repeat) in labels else "open",
                )
                for task, repeat in self.keys
            ],
            next_page=self.next_open(),
            command=finishing_command(self.run.path, self.run.info.plan.spec),
        )

    def summary_lines(self) -> tuple[str, ...]:
        """Return the counts of labels, and what is missing."""
        labels = self.log.latest_by_key().values()
        labelled = {(label.task, label.repeat) for label in labels}
        n, n_pass = len(labels), sum(label.label == "pass" for label in labels)
        count = number_format.format_count
        lines = (f"{count(n)} labels on {count(len(labelled))} episodes, {count(n_pass)} pass",)
        if len(labelled) < FEWEST_LABELS:
            return (
                *lines,
                f"{count(FEWEST_LABELS - len(labelled))} more episodes until labels correct the "
                "judge",
            )
        command = finishing_command(self.run.path, self.run.info.plan.spec)
        return (*lines, f"next: {command}")

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store a label."""
        task, repeat = self.keys[n - 1]
        self.log.append(
            EpisodeLabel(
                task=task,
                repeat=repeat,
                label=_check_choice(answer.choice),
                reviewer=self.reviewer,
                time=utc_now(),
                note=answer.note,
            )
        )


def _check_choice(word: str) -> LabelChoice:
    match word:
        case "pass" | "fail":
            return word
        case _:
            raise UsageError(f"no label {word!r}; known: pass, fail")


def _label_text(label: EpisodeLabel | None) -> str:
    if label is None:
        return ""
    return f"labelled {label.label}, {label.time}; labelling again replaces it"
