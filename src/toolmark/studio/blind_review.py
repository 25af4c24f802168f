"""Two runs side by side, with hidden names: which is better, and does the metric agree?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolmark.core import number_format, seeds
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.number_format import pluralize
from toolmark.core.records import Estimate, Table
from toolmark.reports import run_names, table_format
from toolmark.reports.table_format import visible_text
from toolmark.runs.run_store import Run
from toolmark.statistics.confidence_intervals import ratio_interval, wilson
from toolmark.studio import review_pages, review_view
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import Preference, PreferenceChoice, ReviewLog, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession

CHOICES = (
    ("left", "Left is better", "l", ""),
    ("tie", "No difference", "t", ""),
    ("right", "Right is better", "r", ""),
)
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class BlindReviewResult:
    """The result of the preferences: shares are among those that preferred a side.

    `agreement` is over the preferences where the metric also prefers a side. `table` counts
    each preference by the preference of the metric.
    """

    n: int
    n_a: int
    n_b: int
    n_ties: int
    share_a: Estimate
    agreement: Estimate
    table: Table


class BlindReview(ReviewSession):
    """The common episodes of two runs; the run on the left is drawn for each."""

    def __init__(
        self, a: Run, b: Run, reviewer: str, *, ids: Sequence[str] = (), seed: int = 0
    ) -> None:
        """Find the pairs. Raises UsageError for no pair, one run twice or equal folder names.

        Episodes whose task has another question in the other run are omitted and counted in
        `n_differing`.
        """
        if a.path.resolve() == b.path.resolve():
            raise UsageError(f"{a.path}: two different runs are compared")
        self.a, self.b = a, b
        self.reviewer = reviewer
        self.seed = seed
        self.names = (a.path.resolve().name, b.path.resolve().name)
        if len(set(self.names)) == 1:
            raise UsageError(f"both run folders are named {self.names[0]!r}; rename one")
        self.sides = (ReviewEpisodes(a, ids), ReviewEpisodes(b))
        both = [key for key in self.sides[0].keys if key in self.sides[1]]
        self.keys = [key for key in both if a.task(key[0]).turns == b.task(key[0]).turns]
        self.n_differing = len(both) - len(self.keys)
        if not self.keys:
            raise UsageError(f"{a.path} and {b.path} have no episode of the same task in common")
        self.log = ReviewLog(a.path / "preferences.jsonl", Preference)
        self.media = (MediaStore(a.path / "media"), MediaStore(b.path / "media"))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def left_run(self, key: _Key) -> Literal["a", "b"]:
        """Return the run on the left, drawn from the seed for the task and repeat."""
        return "b" if seeds.draw_below(seeds.make_rng(self.seed, *key, "blind"), 2) else "a"

    def next_open(self, after: int = 0) -> str:
        """Return the reviewer's next open pair, else the first open one, else `end`."""
        own_preferences = self._own_preferences()
        open_ = [n for n, key in enumerate(self.keys, 1) if key not in own_preferences]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def _own_preferences(self) -> dict[_Key, Preference]:
        return {
            (p.task, p.repeat): p for p in self.latest_preferences() if p.reviewer == self.reviewer
        }

    def latest_preferences(self) -> list[Preference]:
        """Return the last preference of every reviewer on these pairs."""
        known = set(self.keys)
        return [
            p
            for p in self.log.latest_by_key().values()
            if (p.a, p.b) == self.names and (p.task, p.repeat) in known
        ]

    def render_question(self, n: int) -> str:
        """Return the page of one pair; nothing on it identifies a run."""
        key = self.keys[n - 1]
        own_preferences = self._own_preferences()
        task = self.a.task(key[0])
        trajectories = [review_view.trajectory_view(found.trajectory(key)) for found in self.sides]
        first = "ab".index(self.left_run(key))
        preference = own_preferences.get(key)
        return review_pages.render_question(
            "blind.html.j2",
            "blind review",
            task,
            key[1],
            progress=(n, len(own_preferences), len(self)),
            note=preference.note if preference else "",
            left=trajectories[first],
            right=trajectories[1 - first],
            choices=CHOICES,
            status_text=_preference_label(preference),
        )

    def render_overview(self) -> str:
        """Return the result once every pair is decided; before that only the open pairs."""
        own_preferences = self._own_preferences()
        done = len(own_preferences) == len(self)
        return review_pages.render_overview(
            title="Blind review",
            folder="blind review",
            heading="Result" if done else "Blind review",
            lines=self.summary_lines(),
            entries=[
                (
                    visible_text(task) + (f", repeat {repeat}" if repeat else ""),
                    _pair_status(own_preferences, (task, repeat)),
                )
                for task, repeat in self.keys
            ],
            next_page=self.next_open(),
            grids=[table_format.make_grid(self.result().table)] if done else (),
        )

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Store a preference."""
        key = self.keys[n - 1]
        left = self.left_run(key)
        self.log.append(
            Preference(
                a=self.names[0],
                b=self.names[1],
                task=key[0],
                repeat=key[1],
                item=self.a.task(key[0]).item or key[0],
                choice=_preference_choice(answer.choice, left),
                left=left,
                reviewer=self.reviewer,
                time=utc_now(),
                note=answer.note,
            )
        )

    def summary_lines(self) -> tuple[str, ...]:
        """Return the result in sentences; while pairs are open, only their number."""
        n_open = len(self) - len(self._own_preferences())
        if n_open:
            return (
                f"{pluralize(n_open, 'pair')} open: the names and the result are shown at the end",
            )
        found = self.result()
        a, b = run_names.distinct_run_names([self.a, self.b])
        if a == b:  # the same model twice: only the folders differ
            a, b = map(visible_text, self.names)
        sentences = [
            f"A is {a}, B is {b}.",
            f"A was preferred {pluralize(found.n_a, 'time')}, B {pluralize(found.n_b, 'time')}, "
            f"{pluralize(found.n_ties, 'tie')} (n = {number_format.format_count(found.n)}).",
        ]
        if found.share_a.value is not None:
            sentences.append(
                f"A among those that preferred a side: {number_format.format_share(found.share_a)}."
            )
        if found.agreement.value is not None:
            sentences.append(
                f"The metric agrees with {number_format.format_share(found.agreement)} of the "
                f"preferences (n = {found.agreement.n} where both set one side above the other)."
            )
        if self.n_differing:
            sentences.append(
                f"{pluralize(self.n_differing, 'episode')} left out: asked differently."
            )
        return tuple(sentences)

    def result(self) -> BlindReviewResult:
        """Count the preferences and compare them with the metric."""
        preferences = self.latest_preferences()
        counts = Counter(p.choice for p in preferences)
        values = [_headline_values(run) for run in (self.a, self.b)]
        metric = [_metric_preference(values, (p.task, p.repeat)) for p in preferences]
        agreements = [
            (p.choice == word, p.item)
            for p, word in zip(preferences, metric, strict=True)
            if p.choice != "tie" and word in ("a", "b")
        ]
        prefers_a = [(p.choice == "a", p.item) for p in preferences if p.choice != "tie"]
        return BlindReviewResult(
            n=len(preferences),
            n_a=counts["a"],
            n_b=counts["b"],
            n_ties=counts["tie"],
            share_a=_share_estimate("A preferred", prefers_a),
            agreement=_share_estimate("agreement with the metric", agreements),
            table=_preference_table(preferences, metric),
        )


def _preference_table(preferences: Sequence[Preference], metric: Sequence[str]) -> Table:
    counts: Counter[tuple[str, str]] = Counter(
        (p.choice, word) for p, word in zip(preferences, metric, strict=True)
    )
    columns = ("a", "b", "tie", "")
    rows = (("A preferred", "a"), ("B preferred", "b"), ("no difference", "tie"))
    return Table(
        title="Preferences by what the metric says",
        head=("", "metric: A higher", "metric: B higher", "metric: equal", "not scored"),
        rows=tuple((name, *(counts[choice, word] for word in columns)) for name, choice in rows),
        note="The metric is the value in the first rule of the runs’ scores.",
    )


def _share_estimate(name: str, hits: Sequence[tuple[bool, Any]]) -> Estimate:
    """Return a share with Wilson's interval; with repeated items, an interval over items."""
    n, k = len(hits), sum(hit for hit, _ in hits)
    if not n:
        return Estimate(name=name)
    items = [item for _, item in hits]
    has_distinct_items = len(set(items)) == n
    low, high = (
        wilson(k, n)
        if has_distinct_items
        else ratio_interval([hit for hit, _ in hits], [1.0] * n, items)
    )
    return Estimate(name=name, value=k / n, low=low, high=high, n=n)


def _headline_values(run: Run) -> dict[_Key, float]:
    """Return the value of every scored episode under the headline rule, {} without scores."""
    if not (run.path / "summary.json").exists():
        return {}
    rule = run.summary().get("rule", "")
    return {
        (score.task, score.repeat): score.verdicts[rule].value
        for score in run.scores()
        if rule in score.verdicts
    }


def _metric_preference(
    values: Sequence[dict[_Key, float]], key: _Key
) -> PreferenceChoice | Literal[""]:
    a, b = (side.get(key) for side in values)
    if a is None or b is None:
        return ""
    return "tie" if a == b else "a" if a > b else "b"


def _preference_choice(word: str, left: Literal["a", "b"]) -> PreferenceChoice:
    match word:
        case "tie":
            return "tie"
        case "left":
            return left
        case "right":
            return "b" if left == "a" else "a"
        case _:
            raise UsageError(f"no preference {word!r}; known: left, right, tie")


def _pair_status(own_preferences: dict[_Key, Preference], key: _Key) -> str:
    return "decided" if key in own_preferences else "open"


def _preference_label(preference: Preference | None) -> str:
    """Return the text of a preference, by the side on which the preferred run was."""
    if preference is None:
        return ""
    word = (
        "no difference"
        if preference.choice == "tie"
        else "left is better"
        if preference.choice == preference.left
        else "right is better"
    )
    return f"decided: {word}, {preference.time}; deciding again replaces it"
