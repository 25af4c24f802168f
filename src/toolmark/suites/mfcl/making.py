"""From written tasks to spoken ones: every utterance made once, on all cores, in order.

`Maker.item` maps the tasks of one base item to the same tasks as they are asked, and hangs on
nothing else: whoever shards tasks elsewhere calls it there unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from itertools import chain, groupby, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from toolmark.perturb.text.facts import facts_of
from toolmark.suites.mfcl import items, whitelist, wording
from toolmark.suites.mfcl.booth import Booth, Job, Recipe, Uttered
from toolmark.suites.mfcl.items import TEXT
from toolmark.types import Message, Record, Task, Text

Form = Literal["transcript", "sound"]
_FEW = 3  # items that are not worth starting processes for


class Maker(Record, frozen=True, kw_only=True):
    """Makes tasks ready to be asked, by transcript or by sound; `prompt` is said first, if any.

    `home` is the folder in which speech is kept.
    """

    recipe: Recipe
    form: Form
    home: str
    prompt: str = ""

    def __call__(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Finish tasks in their order, the items on all cores; items that are kept cost little."""
        units = (tuple(unit) for _, unit in groupby(tasks, key=lambda task: task.item))
        first = list(islice(units, _FEW))
        workers = len(os.sched_getaffinity(0))
        if len(first) < _FEW or workers == 1:
            for unit in chain(first, units):
                yield from self.item(unit)
            return
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for made in pool.map(self.item, chain(first, units), chunksize=2):
                yield from made

    def item(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the tasks of one item as they are asked; equal utterances are made once."""
        ears = tuple(dict.fromkeys(filter(None, (t.axes.get("recogniser", "") for t in tasks))))
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
        asked = items.said(replace(task, reference=reference), said)
        return _headed(asked, self.prompt) if self.prompt else asked

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
    if len(task.turns) > 1:
        return list(whitelist.turns(items.plain(task), written))
    return [whitelist.of(items.truths(task)[0], written[0])]


def _told(done: Uttered, ear: str) -> dict[str, Any]:
    """Return the record of an utterance as the task's reference keeps it."""
    held: dict[str, Any] = msgspec.to_builtins(done)
    heard = held.pop("heard", {}).get(ear, {})
    if heard:
        held |= {"recogniser": ear, "transcript": heard["text"], "simulated": heard["simulated"]}
        held |= {"wer": heard["wer"], "entity_wer": heard.get("entity_wer")}
    ratios = [e.detail["snr_db"] for e in done.timeline if e.name == "bed"]
    return held | ({"snr_db": ratios[0]} if ratios else {})


def _headed(task: Task, prompt: str) -> Task:
    first, *rest = task.turns
    system = Message(role="system", parts=(Text(prompt),))
    return replace(task, turns=(replace(first, messages=(system, *first.messages)), *rest))


def prompt(hears: wording.Hears | Literal["none"]) -> str:
    """Return the system prompt, none where none is wanted."""
    return "" if hears == "none" else wording.system(hears)
