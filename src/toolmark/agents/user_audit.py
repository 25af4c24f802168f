"""Faults of a simulated user, found after the episode and without a model, and what follows.

An episode in which the user had a fault may say nothing about the model under test. It counts in
the headline; a second number leaves it out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.agents.simulated_user import UserDescription, conversation_of_user
from toolmark.agents.user_wording import user_wording
from toolmark.core.called_code import CodeHolder
from toolmark.core.records import Audio, Chart, Drawing, Ruling, Step, Table, Verdict
from toolmark.core.text_excerpt import shorten_text
from toolmark.formats.executor_json import strip_thoughts
from toolmark.scoring.episode import Episode
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.metric_formulas import Mean, Metric, UnboundedMean
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, with_values

EpisodeViews: TypeAlias = Callable[[Episode], Sequence[Table | Drawing | Audio]]
ScoreFunction: TypeAlias = Callable[[Episode], Mapping[str, Verdict]]

FAULT_PART = "user_fault"
MESSAGES_PART = "user_messages"
MEANING_BY_FAULT = {
    "as_assistant": "spoke as the assistant",
    "tool_call": "wrote a call of a tool",
    "disclosed": "said what it does not know",
    "ended_unanswered": "ended the conversation before the assistant answered",
    "over_max_turns": "sent more messages than max_turns",
    "empty": "said nothing",
    "cut": "was cut at the token limit of its model",
}
MIN_REPEATED_CHARS = 40  # of a reply of the assistant that a user repeats
MAX_SHOWN_CHARS = 300  # of one message of the user in the table of an episode
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SaidByUser:
    """One text of the user, and what was said before it, both sides, as words.

    How the user opened the conversation is not in it: what it discloses there is a fault there.
    """

    ruling: Ruling
    said_before: str
    last_reply: str


def find_user_faults(episode: Episode, description: UserDescription) -> tuple[str, ...]:
    """Return the faults of the user in an episode, the keys of MEANING_BY_FAULT."""
    said = list(_texts_of_user(episode))
    tools = [tool.name for tool in episode.trajectory.tools or episode.task.tools]
    hidden = [_as_words(value) for value in description.hidden_values(episode.task)]
    profile = description.write_profile(episode.task)
    known = _as_words(" ".join((profile.goal, profile.persona, profile.knows, profile.stop)))
    hidden = [value for value in hidden if value.strip() and value not in known]
    found = {
        "as_assistant": any(map(_speaks_as_assistant, said)),
        "tool_call": any(_writes_call(each.ruling, tools) for each in said),
        "disclosed": any(_is_disclosure(each, hidden) for each in said),
        "ended_unanswered": any(_ends_unanswered(each) for each in said),
        "over_max_turns": count_messages(episode) > description.max_turns,
        "empty": any(each.ruling.ending == "empty" for each in said),
        "cut": any("cut" in each.ruling.faults for each in said),
    }
    return tuple(name for name in MEANING_BY_FAULT if found[name])


def count_messages(episode: Episode) -> int:
    """Return how many messages the user sent in an episode, the first of each turn included."""
    steps = episode.trajectory.steps
    n_turns = len({step.turn for step in steps})
    return n_turns + sum(step.ruling is not None and step.ruling.allowed for step in steps)


def _texts_of_user(episode: Episode) -> Iterator[SaidByUser]:
    """Yield what the user's model said in an episode, in its order."""
    steps = episode.trajectory.steps
    for number, step in enumerate(steps):
        if step.opening is not None:
            yield SaidByUser(step.opening, "", "")
        if step.ruling is not None:
            before = _without_last_answer(steps[: number + 1])
            lines = conversation_of_user(episode.task, step.turn, before)
            yield SaidByUser(
                step.ruling,
                _as_words(" ".join(line.text for line in lines)),
                strip_thoughts(step.reply.text),
            )


def _without_last_answer(steps: Sequence[Step]) -> list[Step]:
    return [*steps[:-1], replace(steps[-1], ruling=None)]


def _speaks_as_assistant(said: SaidByUser) -> bool:
    """Return whether a text has a label or a phrase of the assistant, or repeats its reply."""
    words = user_wording()
    text = said.ruling.reply.casefold()
    if any(line.lstrip(" *").startswith(words.assistant_labels) for line in text.splitlines()):
        return True
    if any(phrase in text for phrase in words.assistant_phrases):
        return True
    reply = _as_words(said.last_reply)
    return len(reply) >= MIN_REPEATED_CHARS and reply in _as_words(said.ruling.reply)


def _writes_call(ruling: Ruling, tools: Iterable[str]) -> bool:
    if "tool_call" in ruling.faults:
        return True
    text = ruling.reply.casefold()
    return any(mark in text for mark in user_wording().call_marks) or any(
        f"{tool.casefold()}(" in text for tool in tools
    )


def _is_disclosure(said: SaidByUser, hidden: Iterable[str]) -> bool:
    """Return whether a text has a hidden value that nobody has said before."""
    text = _as_words(said.ruling.reply)
    return any(value in text and value not in said.said_before for value in hidden)


def _ends_unanswered(said: SaidByUser) -> bool:
    ruling = said.ruling
    return ruling.ending in ("done", "not_possible") and not said.last_reply


def _as_words(text: str) -> str:
    """Return the words of a text in lower case, each between blanks, so that whole words match."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


# --- in scores --------------------------------------------------------------------------


class AuditedScore(CodeHolder):
    """A scorer's function whose verdicts also say what faults the user had."""

    def __init__(self, score: ScoreFunction, description: UserDescription) -> None:
        self._score = score
        self._description = description

    def __call__(self, episode: Episode) -> dict[str, Verdict]:
        """Return the verdicts with the faults among their parts."""
        verdicts = self._score(episode)
        if not episode.trajectory.steps:
            return dict(verdicts)
        faults = find_user_faults(episode, self._description)
        parts = {
            FAULT_PART: float(bool(faults)),
            MESSAGES_PART: float(count_messages(episode)),
            **{fault_part(name): 1.0 for name in faults},
        }
        return {
            rule: replace(verdict, parts=verdict.parts | parts)
            for rule, verdict in verdicts.items()
        }

    def called_code(self) -> Iterable[Any]:
        """Return the scorer's function."""
        return (self._score,)

    def settings(self) -> Any:
        """Return what the faults depend on."""
        return self._description.settings()


class AuditedPreparation(CodeHolder):
    """A scorer's `prepare`, whose function also says what faults the user had."""

    def __init__(
        self, prepare: Callable[[Any], ScoreFunction], description: UserDescription
    ) -> None:
        self._prepare = prepare
        self._description = description

    def __call__(self, run: Any) -> AuditedScore:
        """Return the function that judges all of a run."""
        return AuditedScore(self._prepare(run), self._description)

    def called_code(self) -> Iterable[Any]:
        """Return the scorer's function."""
        return (self._prepare,)

    def settings(self) -> Any:
        """Return what the faults depend on."""
        return self._description.settings()


class AuditedMetrics:
    """A scorer's metrics, and those of the user: its faults, and the headline without them."""

    def __init__(self, metrics: Callable[[Columns], Sequence[Metric]]) -> None:
        self._metrics = metrics

    def __call__(self, columns: Columns) -> list[Metric]:
        """Return the headline, the headline over episodes without a fault, then all others."""
        head, *others = self._metrics(columns)
        no_fault = RowFilter(column=f"parts.{FAULT_PART}", values=(0.0,))
        clean = replace(
            head,
            name=f"{head.name} without user faults",
            title=f"{head.label}, episodes without a fault of the user",
            filters=(*head.filters, no_fault),
        )
        faults = Metric(
            "user faults",
            Mean(part=FAULT_PART),
            "episodes with a fault of the user",
            "episodes",
            lower_is_better=True,
        )
        messages = Metric(
            "user messages",
            UnboundedMean(part=MESSAGES_PART),
            "messages of the user in an episode",
            "episodes",
        )
        return [head, clean, *others, faults, messages]


class AuditedTables(CodeHolder):
    """The tables of a suite, and one of the user's faults."""

    def __init__(self, tables: Callable[[Mapping[str, Columns]], Sequence[Table | Chart]]) -> None:
        self._tables = tables

    def __call__(self, columns_by_rule: Mapping[str, Columns]) -> list[Table | Chart]:
        """Return the tables, that of the faults last where there is any fault."""
        columns = next(iter(columns_by_rule.values()))
        return [*self._tables(columns_by_rule), *fault_tables(columns)]

    def called_code(self) -> Iterable[Any]:
        """Return the function that makes the suite's tables."""
        return (self._tables,)


class AuditedViews(CodeHolder):
    """What a suite shows of an episode, and a table of what its user said."""

    def __init__(self, views: EpisodeViews | None, description: UserDescription) -> None:
        self._views = views
        self._description = description

    def __call__(self, episode: Episode) -> list[Table | Drawing | Audio]:
        """Return the views of an episode, the user's table last where the user said anything."""
        views = [] if self._views is None else [*self._views(episode)]
        return views + _speech_tables(episode, self._description)

    def called_code(self) -> Iterable[Any]:
        """Return the function that draws the suite's views."""
        return () if self._views is None else (self._views,)


def _speech_tables(episode: Episode, description: UserDescription) -> list[Table]:
    rulings = [each.ruling for each in _texts_of_user(episode)]
    if not rulings:
        return []
    faults = find_user_faults(episode, description)
    note = f"Faults: {'; the user '.join(MEANING_BY_FAULT[name] for name in faults)}."
    return [
        Table(
            title="The simulated user",
            head=("model", "says", "ends", "tokens in", "tokens out"),
            rows=tuple(
                (
                    each.judge,
                    shorten_text(each.reply, MAX_SHOWN_CHARS),
                    each.ending.replace("_", " "),
                    each.usage.input,
                    each.usage.output,
                )
                for each in rulings
            ),
            note=note if faults else "",
        )
    ]


def fault_tables(columns: Columns) -> list[Table]:
    """Return the table of the faults by kind; none where the user had none."""
    if not np.nansum(columns.part(FAULT_PART)):
        return []
    rows, parts = [], []
    for name, meaning in MEANING_BY_FAULT.items():
        has_fault = columns.part(fault_part(name)) == 1
        if n := int(has_fault.sum()):
            is_faulty = np.where(columns.run, has_fault, np.nan)
            share = estimate_mean(with_values(columns, is_faulty), "").value
            value = estimate_mean(columns.where(has_fault), "").value
            rows.append((meaning, n, share, value))
            parts.append(columns.where(has_fault))
    table = Table(
        title="Faults of the simulated user",
        head=("the user", "episodes", "share of episodes", "score in them"),
        rows=tuple(rows),
        note="An episode may have several faults. Episodes with faults are not a random "
        "sample: where the two numbers of the headline differ much, try another model of the "
        "user.",
        n_shaded_columns=2,
    )
    return [link_rows(table, columns, parts)]


def fault_part(name: str) -> str:
    """Return the part of a verdict that says that the user had a fault of one kind."""
    return f"{FAULT_PART}.{name}"
