"""Calls per episode and success by weekday, over the calendar of Inspect."""

from inspect_ai import Task, task, task_with
from inspect_ai.scorer import Score, Scorer, Target, accuracy, ci_wilson, grouped, mean, scorer
from inspect_ai.solver import TaskState
from inspect_calendar import Calendar, calendar


@scorer(
    metrics={
        "right": [accuracy(), ci_wilson(), grouped(accuracy(), "category", all=False)],
        "calls": [mean()],
    }
)
def right_state_and_calls() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        right = state.store_as(Calendar).events == state.metadata["expected"]
        replies = [message for message in state.messages if message.role == "assistant"]
        calls = sum(len(reply.tool_calls or []) for reply in replies)
        return Score(value={"right": right, "calls": calls})

    return score


@task
def measured_calendar() -> Task:
    return task_with(calendar(), scorer=right_state_and_calls())
