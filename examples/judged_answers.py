"""Answers in free text that a judge model scores by a rubric; the rows are in judged_answers.jsonl.

toolmark run judged_answers.py:replies -m MODEL --judge-model JUDGE
toolmark run judged_answers.py:replies -m MODEL --judge-model judged_answers:fixed_judge

The second judge is a function of this file. It needs no key.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import toolmark as tm

ROWS = Path(__file__).with_suffix(".jsonl")


@tm.suite
def replies(path: str = str(ROWS)) -> tm.Suite:
    """Replies of a shop to its customers."""
    return tm.Suite(
        tasks=tm.read_tasks(path),
        scorer=tm.judge(
            [
                "The reply states every fact of `expected`, and contradicts none.",
                "It promises nothing that `expected` does not contain.",
                "It is polite, and has at most three sentences.",
            ],
            show=("question", "answer", "expected"),
        ),
        metrics=[tm.mean("words", lambda episode: len(episode.answer.split()))],
    )


def has_all_facts(evidence: Mapping[str, Any]) -> bool:
    """Return whether the answer contains every expected fact, word for word."""
    answer = evidence["answer"].casefold()
    return bool(answer) and all(fact.casefold() in answer for fact in evidence["expected"])


fixed_judge = tm.ScriptedJudge(has_all_facts, "fixed-judge")
