"""A judge that needs no key: a function of the evidence, for tests and for trying a suite."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from toolmark.core.model import Model
from toolmark.core.number_format import format_short
from toolmark.core.records import Reply, Request
from toolmark.judging.evidence_fence import TOKEN_LENGTH, read_fenced
from toolmark.judging.rubric_question import MAX_POINTS

JudgingRule: TypeAlias = Callable[[Mapping[str, Any]], bool | float]
_TOKEN = re.compile(rf"\b[0-9a-f]{{{TOKEN_LENGTH}}}\b")


class ScriptedJudge(Model):
    """Answers as a judge model does, by a function of the evidence.

    The function gets the fields that the judge is shown, such as `question` and `answer`, and
    returns True or False, or a number from 0 to 1 where the scale is points.
    """

    def __init__(self, rule: JudgingRule, name: str = "scripted-judge") -> None:
        self.rule = rule
        self.name = name

    async def __call__(self, request: Request, /) -> Reply:
        """Read the evidence and answer in the form that the request asks for."""
        system, shown = request.messages[0].text, request.messages[-1].text
        token = _TOKEN.findall(system)[-1]
        value = float(self.rule(read_fenced(shown, token)))
        answer = {"token": token, "reason": f"the rule gives {format_short(value)}"}
        if '"verdict"' in system.rpartition("\n")[2]:
            return Reply(text=json.dumps({**answer, "verdict": "pass" if value == 1 else "fail"}))
        return Reply(text=json.dumps({**answer, "points": round(value * MAX_POINTS)}))
