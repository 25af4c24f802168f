"""`tm.judge`: a scorer whose verdicts come from a judge model, corrected by labels of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any, get_args

from toolmark.core.called_code import CodeHolder
from toolmark.core.errors import ToolmarkError, UsageError, mark_stage, suggest_names
from toolmark.core.failure import Failure
from toolmark.core.model import Model
from toolmark.core.number_format import format_short
from toolmark.core.records import Judgement, Reply, Request, Task, Trajectory, Verdict
from toolmark.judging import rubric_presentation, rubric_question
from toolmark.judging.episode_labels import read_labels
from toolmark.judging.judge_asking import ask_until_usable, make_judgement
from toolmark.judging.rubric_presentation import (
    DISAGREEMENT_PART,
    LABEL_PART,
    SENSITIVITY_PART,
    SPECIFICITY_PART,
)
from toolmark.judging.rubric_question import SECTIONS, RubricQuestion, Scale
from toolmark.runs import judge_panels
from toolmark.runs.judging_plan import JudgingPlan
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Presentation, ScoreFunction, Scorer
from toolmark.scoring.episode import Episode
from toolmark.scoring.episode_scorer import RULE, incorrect

Answers = Mapping[str, Mapping[str, Judgement]]
"""The judgements of one episode by kind and judge."""
NOT_ASKED = Failure(stage="judge", kind="judge", message="no judge was asked about it yet")


class NotJudged(ToolmarkError):
    """An episode has no verdict, because a judge did not answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.kind, self.status, self.subject = failure.kind, failure.status, failure.subject
        self.request_id = failure.request_id
        mark_stage(self, "judge")


def judge(
    rubric: str | Sequence[str],
    *,
    scale: Scale = "pass",
    show: Sequence[str] = SECTIONS,
    model: str = "",
    swap_order: bool = True,
    n_votes: int = 1,
) -> Scorer:
    """Return a scorer that asks a judge model whether each episode meets a rubric.

    The judge is asked when all episodes are played. `toolmark run --judge-model NAME`, or
    `judge_model=` of `tm.run`, names it. Until at least 100 episodes have labels of people
    (`toolmark review RUN --labels`), the number is the judge's and is called uncalibrated.

    Args:
        rubric: What the work must fulfil: a sentence, or several points.
        scale: "pass" for pass or fail, "points" for 0 to 10 points.
        show: What the judge sees: of `question`, `calls`, `answer`, `state` and `expected`, or
            other fields of `task.data`.
        model: The judge where the user names none.
        swap_order: Ask a second time with the points of the rubric, the answers to choose from and
            the evidence in reversed order. How often both answers differ is a number of its own.
        n_votes: How often each order is asked.

    Raises:
        UsageError: An argument is not as described.
    """
    question = RubricQuestion(
        criteria=_check_rubric(rubric),
        scale=_check_scale(scale),
        show=_check_names(show),
        swap_order=bool(swap_order),
        n_votes=_check_votes(n_votes),
    )
    return _make_scorer(question, model)


def _make_scorer(question: RubricQuestion, default_model: str) -> Scorer:
    scoring = RubricScoring(question)
    return Scorer(
        rules=(RULE,),
        score=scoring,
        metrics=partial(rubric_presentation.list_metrics, question),
        presentation=Presentation(
            evidence=partial(rubric_presentation.judging_tables, question),
            caution=rubric_presentation.describe_cautions,
        ),
        prepare=scoring.prepare_scoring,
        judging=JudgingPlan(
            question.forms(),
            scoring.ask_judge,
            is_required=True,
            rubric=question.criteria,
            shown=question.show,
            default_model=default_model,
            check_task=partial(rubric_question.check_task, question),
        ),
    )


class RubricScoring(CodeHolder):
    """Asks judges about a rubric, and makes verdicts of what they answered."""

    def __init__(self, question: RubricQuestion) -> None:
        self._question = question

    def settings(self) -> Any:
        """Return the question: other answers belong to another one."""
        fields = self._question.__struct_fields__
        return {name: getattr(self._question, name) for name in fields}

    def __call__(self, episode: Episode) -> dict[str, Verdict]:
        """Raise NotJudged: while episodes are played no judge is asked."""
        raise NotJudged(NOT_ASKED)

    async def ask_judge(
        self, model: Model, kind: str, task: Task, trajectory: Trajectory
    ) -> Judgement:
        """Ask a judge for one kind of judgement. Raises EndpointError."""
        question, kinds = self._question, list(self._question.kinds())
        token = ""

        def request(reason: str, repeat: int) -> Request:
            nonlocal token
            made, token = rubric_question.make_request(
                question, task, trajectory,
                is_reversed=question.kinds()[kind], reason=reason, repeat=repeat,
            )  # fmt: skip
            return made

        def parse(reply: Reply) -> tuple[float | None, str]:
            return rubric_question.parse_reply(reply, question.scale, token)

        # votes in one order are equal requests: their numbers tell them apart in the cache
        repeat = trajectory.repeat * len(kinds) + kinds.index(kind)
        answer = await ask_until_usable(model, request, parse, repeat=repeat)
        return make_judgement(answer, kind, trajectory)

    def prepare_scoring(self, run: Run) -> ScoreFunction:
        """Return the score function of a run, which knows judgements and labels."""
        forms, panels = self._question.forms(), judge_panels.read_panels(run)
        asked = [kind for kind in forms if kind in panels and panels[kind].form == forms[kind]]
        judges = panels[asked[0]].judges if len(asked) == len(forms) else ()
        found: dict[tuple[str, int], dict[str, Mapping[str, Judgement]]] = {}
        for (task, repeat, kind), by_judge in judge_panels.panel_judgements(run).items():
            if kind in asked:
                found.setdefault((task, repeat), {})[kind] = by_judge
        return partial(self._score_episode, judges, found, read_labels(run))

    def _score_episode(
        self,
        judges: Sequence[str],
        answers: Mapping[tuple[str, int], Answers],
        labels: Mapping[tuple[str, int], float],
        episode: Episode,
    ) -> dict[str, Verdict]:
        key = episode.task.id, episode.repeat
        judgements = self._complete_answers(judges, answers.get(key, {}))
        return {RULE: self._verdict(judgements, labels.get(key), episode)}

    def _complete_answers(self, judges: Sequence[str], answers: Answers) -> list[Judgement]:
        """Return all judgements of an episode. Raises NotJudged where one is missing."""
        found = []
        for kind in self._question.kinds():
            for name in judges or ("",):
                judgement = answers.get(kind, {}).get(name)
                if judgement is None or judgement.value is None:
                    raise NotJudged((judgement and judgement.failure) or NOT_ASKED)
                found.append(judgement)
        return found

    def _verdict(
        self, judgements: Sequence[Judgement], label: float | None, episode: Episode
    ) -> Verdict:
        kinds = self._question.kinds()
        value = self._value(judgements)
        parts: dict[str, float] = {}
        if self._question.swap_order:
            one, other = (
                self._value([each for each in judgements if kinds[each.kind] == is_reversed])
                for is_reversed in (False, True)
            )
            parts[DISAGREEMENT_PART] = abs(one - other)
        if label is not None:
            parts |= _label_parts(label, passes=value > 0.5)
        if value > 0.5:
            return Verdict(outcome="correct", value=value, parts=parts)
        reasons = (rubric_question.read_reason(each.text) for each in judgements if not each.value)
        evidence = next(filter(None, reasons), "") or f"the judge gave {format_short(value)}"
        failed = incorrect(episode, evidence, value=value)
        return Verdict(outcome="incorrect", value=value, parts=parts, labels=failed.labels)

    def _value(self, judgements: Sequence[Judgement]) -> float:
        """Return the value of several judgements: their mean, or whether more than half pass."""
        mean = fmean(each.value or 0.0 for each in judgements)
        return mean if self._question.scale == "points" else float(mean > 0.5)


def _label_parts(label: float, *, passes: bool) -> dict[str, float]:
    """Return the label, and whether the judge agrees with it where people agree."""
    parts = {LABEL_PART: label}
    if label == 1:
        parts[SENSITIVITY_PART] = float(passes)
    elif label == 0:
        parts[SPECIFICITY_PART] = float(not passes)
    return parts


# --- arguments --------------------------------------------------------------------------


def _check_rubric(rubric: object) -> tuple[str, ...]:
    points = (rubric,) if isinstance(rubric, str) else rubric
    if not isinstance(points, Sequence) or not points:
        raise UsageError("tm.judge: the rubric is a text, or a list of texts")
    for point in points:
        if not isinstance(point, str) or not point.strip():
            raise UsageError(f"tm.judge: a point of the rubric must be a text, got {point!r}")
    return tuple(" ".join(point.split()) for point in points)


def _check_scale(scale: object) -> Scale:
    known: tuple[Scale, ...] = get_args(Scale)
    for name in known:
        if scale == name:
            return name
    raise UsageError(f"tm.judge: no scale {scale!r}{suggest_names(str(scale), known)}")


def _check_names(show: object) -> tuple[str, ...]:
    if isinstance(show, str) or not isinstance(show, Sequence) or not show:
        raise UsageError("tm.judge: `show` is a list of names, such as ('question', 'answer')")
    names = tuple(map(str, show))
    if len({*names}) < len(names):
        raise UsageError(f"tm.judge: `show` names a field twice: {', '.join(names)}")
    return names


def _check_votes(n_votes: object) -> int:
    if isinstance(n_votes, bool) or not isinstance(n_votes, int) or not 1 <= n_votes <= 99:
        raise UsageError(f"tm.judge: n_votes is a number from 1 to 99, got {n_votes!r}")
    return n_votes
