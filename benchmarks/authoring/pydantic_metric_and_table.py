"""Calls per episode and success by weekday, over the calendar of pydantic-evals."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from pydantic_ai import FunctionToolset
from pydantic_calendar import Calendar, agent, dataset
from pydantic_evals import Dataset, increment_eval_metric
from pydantic_evals.evaluators import ReportEvaluator, ReportEvaluatorContext
from pydantic_evals.reporting import ReportCase, TableResult


async def play(row: dict[str, Any]) -> dict[str, Any]:
    calendar = Calendar(row["data"]["events"])
    tools = FunctionToolset([calendar.add_event, calendar.move_event, calendar.delete_event])
    result = await agent.run(row["question"], toolsets=[tools])
    increment_eval_metric("calls", result.usage.tool_calls)
    return calendar.events


@dataclass
class SuccessByWeekday(ReportEvaluator):
    def evaluate(self, ctx: ReportEvaluatorContext) -> TableResult:
        by_day: dict[str, list[ReportCase]] = defaultdict(list)
        for case in ctx.report.cases:
            by_day[case.metadata["weekday"]].append(case)
        return TableResult(
            title="Success by weekday",
            columns=["weekday", "episodes", "right"],
            rows=[
                [day, len(cases), sum(case.assertions["EqualsExpected"].value for case in cases)]
                for day, cases in by_day.items()
            ],
        )


measured = Dataset(
    name="measured calendar",
    cases=dataset.cases,
    evaluators=dataset.evaluators,
    report_evaluators=[SuccessByWeekday()],
)

if __name__ == "__main__":
    measured.evaluate_sync(play).print()
