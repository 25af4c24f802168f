"""From written tasks to spoken ones: every utterance made once, on all cores, in order.

`Maker.item` maps the tasks of one base item to the same tasks as they are asked, and hangs on
nothing else: whoever shards tasks elsewhere calls it there unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from toolmark import workers
from toolmark.perturb.text.facts import facts_of
from toolmark.suites.mfcl import items, whitelist, wording
from toolmark.suites.mfcl.booth import Booth, Job, Recipe, Uttered
from toolmark.suites.mfcl.items import TEXT
from toolmark.types import Message, Record, Task, Text

Form = Literal["transcript", "sound"]
_FEW = 3  # items that are not worth starting processes for
_AHEAD = 64  # items that are worded at a time; between, what is made so far is told


class Maker(Record, frozen=True, kw_only=True):
    """Makes tasks ready to be asked, by transcript or by sound; `prompt` is said first, if any.

    `home` is the folder in which speech is kept. By sound, `ears` are recognisers whose transcripts
    are kept beside it.
    """

    recipe: Recipe
    form: Form
    home: str
    prompt: str = ""
    ears: tuple[str, ...] = ()

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Finish tasks in their order, the items on all cores; items that are kept cost little.

        Raises UsageError, before any is made, for what is missing to speak with.
        """
        bare = (tuple(unit) for _, unit in groupby(tasks, key=lambda task: task.item))
        head = list(islice(bare, 1))
        if any(task.axes["condition"] != TEXT for unit in head for task in unit):
            booth(self.recipe, self.home).ready()
        units = self._worded(chain(head, bare))
        for made in workers.each(self.item, units, workers.cores(), few=_FEW):
            yield from made

    def _worded(self, units: Iterator[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
        """Pass items on; of a model that words them, have it word many at once first."""
        if not self.recipe.rewriter:
            yield from units
            return
        while held := list(islice(units, _AHEAD)):
            spoken = [task for unit in held for task in unit if task.axes["condition"] != TEXT]
            first = {task.item: task for task in reversed(spoken)}.values()
            jobs = (job for task in first for job in _jobs(task, "", ()) if job)
            booth(self.recipe, self.home).ahead(jobs)
            yield from held

    def item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one item as they are asked; equal utterances are made once."""
        asked = filter(None, (task.axes.get("recogniser", "") for task in tasks))
        ears = tuple(dict.fromkeys((*asked, *self.ears)))
        lists = _lists(tasks[0])
        uttered: dict[str, list[Uttered | None]] = {}
        made = []
        for task in tasks:
            condition = task.axes["condition"]
            if condition != TEXT and condition not in uttered:
                jobs = _jobs(task, condition, ears)
                spoken = booth(self.recipe, self.home)
                uttered[condition] = [spoken.utter(job) if job else None for job in jobs]
            made.append(self._finished(task, uttered.get(condition), lists))
        return made

    def _finished(
        self, task: Task, turns: Sequence[Uttered | None] | None, lists: Sequence[Mapping[str, Any]]
    ) -> Task:
        reference = {**task.reference, "whitelist": list(lists)}
        said: list[Message | None] = [None] * len(task.turns)
        if turns is not None:
            ear = task.axes.get("recogniser", "")
            said = [self._message(done, ear) if done else None for done in turns]
            failed = next((done.failed for done in turns if done and done.failed), "")
            told = [_told(done, ear) if done else {} for done in turns]
            reference["speech"] = {"turns": told} | ({"failed": failed} if failed else {})
        drawn = replace(task, reference=reference, seed=self.recipe.seed)
        return self.headed(items.said(drawn, said))

    def headed(self, task: Task) -> Task:
        """Return the task with the system prompt before all else; an entry's own is joined to it.

        Some endpoints take one system message, and that as the first.
        """
        if not self.prompt:
            return task
        first, *rest = task.turns
        own = [m.text for m in first.messages if m.role == "system"]
        system = Message(role="system", parts=(Text("\n\n".join((self.prompt, *own))),))
        others = tuple(m for m in first.messages if m.role != "system")
        return replace(task, turns=(replace(first, messages=(system, *others)), *rest))

    def _message(self, done: Uttered, ear: str) -> Message:
        if self.form == "sound" and done.audio is not None:
            return Message(role="user", parts=(done.audio,))
        text = done.heard[ear].text if ear in done.heard else ""
        return Message(role="user", parts=(Text(text),))


@lru_cache(maxsize=2)
def booth(recipe: Recipe, home: str) -> Booth:
    """Return this process's booth: voices and models are loaded once."""
    return Booth(recipe, Path(home))


def _jobs(task: Task, condition: str, ears: tuple[str, ...]) -> Iterator[Job | None]:
    """Go through the utterances of a task; None for a turn in which the user says nothing."""
    truth = items.truths(task)
    tools = task.tools
    for turn, written in enumerate(task.reference["written"]):
        tools += task.turns[turn].tools
        if not written.strip():
            yield None
            continue
        yield Job(
            item=task.item,
            turn=turn,
            written=written,
            condition=condition,
            facts=facts_of(truth[turn]),
            tools=tuple(replace(tool, source=None) for tool in tools),
            ears=ears,
        )


def _lists(task: Task) -> list[dict[str, Any]]:
    """Return the whitelist of each turn; where no call is due the user has nothing to tell."""
    written = task.reference["written"]
    if task.reference["bfcl"] is None:
        return [{} for _ in written]
    if items.turned(task):
        return list(whitelist.turns(items.plain(task), written))
    return [whitelist.of(items.truths(task)[0], written[0])]


def _told(done: Uttered, ear: str) -> dict[str, Any]:
    """Return the record of an utterance as the task's reference keeps it."""
    held: dict[str, Any] = msgspec.to_builtins(done)
    transcripts = held.pop("heard", {})
    heard = transcripts.get(ear, {})
    if transcripts and not ear:
        held["transcripts"] = transcripts
    if heard:
        held |= {"recogniser": ear, "transcript": heard["text"], "simulated": heard["simulated"]}
        held |= {"wer": heard["wer"], "entity_wer": heard.get("entity_wer")}
    return held | _ratio(done)


def _ratio(done: Uttered) -> dict[str, float]:
    """Return the dB of the speech over all beds and other talkers together; bursts do not count."""
    found = [float(e.detail["snr_db"]) for e in done.timeline if e.name in ("bed", "talker")]
    if not found:
        return {}
    loud = sum(10 ** (-ratio / 10) for ratio in found)
    return {"snr_db": found[0] if len(found) == 1 else -10 * math.log10(loud)}


def broken(task: Task) -> str:
    """Return why a task could not be spoken when it was made, "" if it was."""
    return str(task.reference.get("speech", {}).get("failed", ""))


def effort(tasks: Iterable[Task]) -> str:
    """Say how many clips these tasks need: one for each item, condition and turn with words."""
    clips = sum(
        bool(written.strip())
        for _, unit in groupby(tasks, key=lambda task: (task.item, task.axes["condition"]))
        if (task := next(unit)).axes["condition"] != TEXT
        for written in task.reference["written"]
    )
    return f"{clips:,} clips to be spoken, but for those that are kept" if clips else ""


def prompt(hears: wording.Hears | Literal["none"]) -> str:
    """Return the system prompt, none where none is wanted."""
    return "" if hears == "none" else wording.system(hears)
