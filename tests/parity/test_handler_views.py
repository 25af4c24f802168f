"""Replies of entries whose handlers read texts in ways of their own: judged here as officially."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.parity.process import Ask
from tests.parity.test_handlers import SINGLE, Calls, inside, items, written

from toolmark import api
from toolmark.core import json_codec
from toolmark.core.records import Reply, Step, Task, Trajectory
from toolmark.official_bfcl import bfcl_controls, handler_views
from toolmark.scoring.episode import Episode
from toolmark.suites.bfcl import bfcl_scorer

ENTRIES = {
    "gemini-2.5-flash": "prompt",
    "nvidia/llama-3.1-nemotron-ultra-253b-v1": "nemotron",
    "DM-Cito-8B-v3": "dm_cito",
}
_LISTED = re.compile(r"<tool_calls>\n(.*?)\n</tool_calls>", re.DOTALL)


def replies(calls: Calls) -> Iterator[str]:
    """Return texts that hold the calls in the form of any entry, whole or damaged."""
    yield from inside(calls)
    for text in (written(calls), json.dumps(items(calls)), json.dumps(items(calls)[:1]), "[]", ""):
        yield from (f"<TOOLCALL>{text}</TOOLCALL>", f"x <TOOLCALL>\n{text}\n</TOOLCALL> y")
        yield from (
            f"<TOOLCALL>{text}</TOOLCALL><TOOLCALL>[g(a=1)]</TOOLCALL>",
            f"<TOOLCALL>{text}",
        )
        yield from (f"<tool_calls>\n{text}\n</tool_calls>", f"<tool_calls>{text}</tool_calls>")
        yield from (f"<think>\nHm.\n</think>\n<tool_calls>\n  {text}  \n</tool_calls>", text)
        yield from (f"<tool_calls>\n{text}", f"<tool_calls>\n{text[:-1]}\n</tool_calls>")
        yield f"<tool_calls>\n{text}\n</tool_calls>\n<tool_calls>\n[]\n</tool_calls>"
        yield from (f"```tool_code\n{text}\n```", f"Sure\n{text}\n```", f"```tool_code\n{text}")


def stored(entry: str, text: str) -> Any:
    """Return what the official harness stores of a reply: its handler may store what it parsed."""
    if ENTRIES[entry] != "dm_cito":
        return text
    found = _LISTED.search(text)
    inner = found[1].strip() if found else text
    try:
        return json.loads(inner)
    except ValueError:
        return inner


@pytest.mark.parametrize("entry", ENTRIES)
def test_single_replies_are_judged_as_the_handler_judges_them(handled: Ask, entry: str) -> None:
    view = handler_views.view_of_entry(entry)
    assert view is not None
    jobs, episodes = [], []
    for category in SINGLE:
        for row, task in enumerate(api.load("bfcl", category=category)):
            if row % 40 != 7 and category != "live_relevance":
                continue
            calls: Calls = list(bfcl_controls.expected_calls(task)) or [("sum", {"a": 1})]
            wrong = [(name, {**given, "unasked": 1}) for name, given in calls]
            for text in (*replies(calls), *replies(wrong)):
                jobs.append(("one", entry, category, row, stored(entry, text)))
                episodes.append(Episode(task, said(task, ENTRIES[entry], text)))
    counts: Counter[str] = Counter()
    apart = []
    for job, theirs, episode in zip(jobs, handled(jobs), episodes, strict=True):
        verdict = bfcl_scorer.score_view(view, episode)["official"]
        mine = [verdict.outcome == "correct", "".join(x.suite_cause for x in verdict.labels[:1])]
        counts[f"{theirs[0]}"] += 1
        if theirs[0] != "evaluated" and theirs != mine:
            apart.append((job, theirs, mine))
    print(entry, len(jobs), dict(counts))
    assert not apart, f"{len(apart)} differ, such as {apart[:3]}"
    assert len(jobs) > 3000 and min(counts["True"], counts["False"]) > 100


def said(task: Task, tool_format: str, text: str) -> Trajectory:
    step = Step(reply=Reply(text=json_codec.escape_surrogates(text)))
    return Trajectory(task=task.id, tool_format=tool_format, steps=(step,), answer=text)
