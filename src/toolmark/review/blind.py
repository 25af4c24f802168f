"""Two runs side by side, their names hidden: which is better, and does the metric agree?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolmark import seeds
from toolmark.errors import UsageError
from toolmark.media import Media
from toolmark.report import names, tables
from toolmark.report.tables import plural, visible
from toolmark.review import pages, view
from toolmark.review.episodes import Episodes
from toolmark.review.log import Log, Preference, Side, now
from toolmark.review.server import Answer
from toolmark.runs.store import Run
from toolmark.stats import figures
from toolmark.stats.interval import ratio, wilson
from toolmark.types import Estimate, Table

CHOICES = (
    ("left", "Left is better", "l", ""),
    ("tie", "No difference", "t", ""),
    ("right", "Right is better", "r", ""),
)
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the preferences say: shares are among those that preferred a side.

    `agreement` is over those where the metric, too, sets one side above the other. `table` counts
    each preference by what the metric says.
    """

    n: int
    n_a: int
    n_b: int
    n_ties: int
    share_a: Estimate
    agreement: Estimate
    table: Table


class Blind:
    """The episodes that two runs have in common; which stands on the left is drawn for each."""

    def __init__(
        self, a: Run, b: Run, reviewer: str, *, ids: Sequence[str] = (), seed: int = 0
    ) -> None:
        """Find the pairs. Raises UsageError when there is none, or the runs cannot be told apart.

        Episodes whose task asks something else in the other run are left out: `n_unlike`.
        """
        if a.path.resolve() == b.path.resolve():
            raise UsageError(f"{a.path}: two different runs are compared")
        self.a, self.b = a, b
        self.reviewer = reviewer
        self.seed = seed
        self.names = (a.path.resolve().name, b.path.resolve().name)
        if len(set(self.names)) == 1:
            raise UsageError(f"both run folders are named {self.names[0]!r}; rename one")
        self.sides = (Episodes(a, ids), Episodes(b))
        both = [key for key in self.sides[0].keys if key in self.sides[1]]
        self.keys = [key for key in both if a.task(key[0]).turns == b.task(key[0]).turns]
        self.n_unlike = len(both) - len(self.keys)
        if not self.keys:
            raise UsageError(f"{a.path} and {b.path} have no episode of the same task in common")
        self.log = Log(a.path / "preferences.jsonl", Preference)
        self.media = (Media(a.path / "media"), Media(b.path / "media"))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def left(self, key: _Key) -> Literal["a", "b"]:
        """Return which run stands on the left: drawn from the seed for the task and repeat."""
        return "b" if seeds.below(seeds.of(self.seed, *key, "blind"), 2) else "a"

    def next(self, after: int = 0) -> str:
        """Return the reviewer's next open pair, else the first open one, else `end`."""
        mine = self._mine()
        open_ = [n for n, key in enumerate(self.keys, 1) if key not in mine]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def _mine(self) -> dict[_Key, Preference]:
        return {(p.task, p.repeat): p for p in self.given() if p.reviewer == self.reviewer}

    def given(self) -> list[Preference]:
        """Return the last preference of every reviewer on these pairs."""
        known = set(self.keys)
        return [
            p
            for p in self.log.last().values()
            if (p.a, p.b) == self.names and (p.task, p.repeat) in known
        ]

    def page(self, n: int) -> str:
        """Return the page of one pair; nothing on it tells which run is which."""
        key = self.keys[n - 1]
        mine = self._mine()
        task = self.a.task(key[0])
        shown = [view.side(found.trajectory(key)) for found in self.sides]
        first = "ab".index(self.left(key))
        given = mine.get(key)
        return pages.render(
            "blind.html.j2",
            title=f"{visible(task.id)} · blind review",
            where="blind review",
            n_done=len(mine),
            n_all=len(self),
            n=n,
            task=task,
            repeat=key[1],
            said=view.question(task),
            left=shown[first],
            right=shown[1 - first],
            choices=CHOICES,
            note=given.note if given else "",
            told=_told(given),
        )

    def end(self) -> str:
        """Return the result once every pair is decided; before that only what is open."""
        mine = self._mine()
        done = len(mine) == len(self)
        return pages.render(
            "end.html.j2",
            title="Blind review",
            where="blind review",
            n_done=len(mine),
            n_all=len(self),
            heading="Result" if done else "Blind review",
            lines=self.lines(),
            command="",
            next=self.next(),
            grids=[tables.grid(self.outcome().table)] if done else (),
            listed=[
                (n, visible(task) + (f", repeat {repeat}" if repeat else ""), _word(mine, key))
                for n, key in enumerate(self.keys, 1)
                for task, repeat in (key,)
            ],
        )

    def decide(self, n: int, answer: Answer) -> None:
        """Keep a preference."""
        key = self.keys[n - 1]
        left = self.left(key)
        self.log.add(
            Preference(
                a=self.names[0],
                b=self.names[1],
                task=key[0],
                repeat=key[1],
                item=self.a.task(key[0]).item or key[0],
                choice=_choice(answer.choice, left),
                left=left,
                reviewer=self.reviewer,
                time=now(),
                note=answer.note,
            )
        )

    def lines(self) -> tuple[str, ...]:
        """Return the result in sentences; while pairs are open, only how many."""
        n_open = len(self) - len(self._mine())
        if n_open:
            return (
                f"{plural(n_open, 'pair')} open: the names and the result are shown at the end",
            )
        found = self.outcome()
        a, b = names.tell([self.a, self.b])
        if a == b:  # one model twice: only the folders differ
            a, b = map(visible, self.names)
        told = [
            f"A is {a}, B is {b}.",
            f"A was preferred {plural(found.n_a, 'time')}, B {plural(found.n_b, 'time')}, "
            f"{plural(found.n_ties, 'tie')} (n = {found.n}).",
        ]
        if found.share_a.value is not None:
            told.append(f"A among those that preferred a side: {figures.share(found.share_a)}.")
        if found.agreement.value is not None:
            told.append(
                f"The metric agrees with {figures.share(found.agreement)} of the preferences "
                f"(n = {found.agreement.n} where both set one side above the other)."
            )
        if self.n_unlike:
            told.append(f"{plural(self.n_unlike, 'episode')} left out: asked differently.")
        return tuple(told)

    def outcome(self) -> Outcome:
        """Count the preferences and hold them against the metric."""
        given = self.given()
        counts = Counter(p.choice for p in given)
        values = [_values(run) for run in (self.a, self.b)]
        metric = [_higher(values, (p.task, p.repeat)) for p in given]
        clear = [
            (p.choice == word, p.item)
            for p, word in zip(given, metric, strict=True)
            if p.choice != "tie" and word in ("a", "b")
        ]
        sided = [(p.choice == "a", p.item) for p in given if p.choice != "tie"]
        return Outcome(
            n=len(given),
            n_a=counts["a"],
            n_b=counts["b"],
            n_ties=counts["tie"],
            share_a=_share("A preferred", sided),
            agreement=_share("agreement with the metric", clear),
            table=_table(given, metric),
        )


def _table(given: Sequence[Preference], metric: Sequence[str]) -> Table:
    counts: Counter[tuple[str, str]] = Counter(
        (p.choice, word) for p, word in zip(given, metric, strict=True)
    )
    columns = ("a", "b", "tie", "")
    rows = (("A preferred", "a"), ("B preferred", "b"), ("no difference", "tie"))
    return Table(
        title="Preferences by what the metric says",
        head=("", "metric: A higher", "metric: B higher", "metric: equal", "not scored"),
        rows=tuple((name, *(counts[choice, word] for word in columns)) for name, choice in rows),
        note="The metric is the value in the first reading of the runs’ scores.",
    )


def _share(name: str, hits: Sequence[tuple[bool, Any]]) -> Estimate:
    """Return a share with Wilson's interval; where an item stands twice, one over items."""
    n, k = len(hits), sum(hit for hit, _ in hits)
    if not n:
        return Estimate(name=name)
    items = [item for _, item in hits]
    alone = len(set(items)) == n
    low, high = wilson(k, n) if alone else ratio([hit for hit, _ in hits], [1.0] * n, items)
    return Estimate(name=name, value=k / n, low=low, high=high, n=n)


def _values(run: Run) -> dict[_Key, float]:
    """Return the value of every scored episode in the headline reading; none without scores."""
    if not (run.path / "summary.json").exists():
        return {}
    reading = run.summary().get("reading", "")
    return {
        (score.task, score.repeat): score.readings[reading].value
        for score in run.scores()
        if reading in score.readings
    }


def _higher(values: Sequence[dict[_Key, float]], key: _Key) -> Side | Literal[""]:
    a, b = (side.get(key) for side in values)
    if a is None or b is None:
        return ""
    return "tie" if a == b else "a" if a > b else "b"


def _choice(word: str, left: Literal["a", "b"]) -> Side:
    match word:
        case "tie":
            return "tie"
        case "left":
            return left
        case "right":
            return "b" if left == "a" else "a"
        case _:
            raise UsageError(f"no preference {word!r}; known: left, right, tie")


def _word(mine: dict[_Key, Preference], key: _Key) -> str:
    return "decided" if key in mine else "open"


def _told(given: Preference | None) -> str:
    """Say what was preferred by the side on which it stood."""
    if given is None:
        return ""
    word = (
        "no difference"
        if given.choice == "tie"
        else "left is better"
        if given.choice == given.left
        else "right is better"
    )
    return f"decided: {word}, {given.time}; deciding again replaces it"
