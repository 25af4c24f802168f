"""Run the tasks of Inspect that are written here, with its own mock model, and print the results.

`python benchmarks/authoring/run_inspect.py oracle` answers what the rows say is right, `null`
answers nothing. One line of JSON is printed for each task, with its metrics by name.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from inspect_ai import eval as run_tasks
from inspect_ai.model import ChatMessage, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall

HERE = Path(__file__).parent
TASKS = {
    "inspect_rows.py@support": HERE / "rows.jsonl",
    "inspect_calendar.py@calendar": HERE / "../../examples/calendar_rows.jsonl",
    "inspect_metric_and_table.py@measured_calendar": HERE / "../../examples/calendar_rows.jsonl",
    "inspect_simulated_user.py@appointments": HERE / "simulated_user_rows.jsonl",
}


def make_output(calls: list[dict[str, Any]], text: str) -> ModelOutput:
    """Return what a model answers: calls, or a text where there are none.

    Without a usage the mock model counts tokens by a vocabulary that it downloads.
    """
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage()
    output.choices[0].message.tool_calls = [
        ToolCall(id=f"call-{at}", function=call["name"], arguments=call["arguments"])
        for at, call in enumerate(calls)
    ]
    return output


def make_oracle(rows: list[dict[str, Any]]) -> Model:
    """Return a mock model that finds its row by the first message and makes the next right step."""

    def answer(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        first = next(message.text for message in messages if message.role == "user")
        row = next(row for row in rows if first in (row.get("question"), opening(row)))
        n_made = sum(message.role == "assistant" for message in messages)
        if "solution" not in row:
            return make_output(row["expected"], "No tool fits." if not row["expected"] else "")
        asked = [] if "question" in row else [None]  # a user is asked first
        steps = [*asked, *row["solution"], None]
        step = steps[n_made]
        return make_output([step], "") if step else make_output([], "When?")

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def make_null() -> Model:
    """Return a mock model that calls nothing."""

    def answer(*_: Any) -> ModelOutput:
        return make_output([], "I do not know.")

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def make_user(rows: list[dict[str, Any]]) -> Model:
    """Return a mock model that says what the script of the row says, then that it is done."""

    def answer(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        row = next(row for row in rows if row["goal"] in messages[0].text)
        n_said = sum(message.role == "assistant" for message in messages)
        return make_output([], [*row["user_script"], "DONE"][n_said])

    return get_model("mockllm/user", custom_outputs=answer, memoize=False)


def opening(row: dict[str, Any]) -> str:
    """Return the first message of a scripted user, "" where the row has none."""
    return str(row.get("user_script", [""])[0])


def main(control: str) -> None:
    """Run every task and print its metrics."""
    for name, path in TASKS.items():
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        model = make_oracle(rows) if control == "oracle" else make_null()
        with tempfile.TemporaryDirectory() as folder:
            (log,) = run_tasks(
                str(HERE / name),
                model=model,
                model_roles={"user": make_user(rows)},
                log_dir=folder,
                display="none",
            )
        if log.results is None:
            raise SystemExit(f"{name}: {log.error.message if log.error else log.status}")
        found = {
            f"{score.name}/{key}": metric.value
            for score in log.results.scores
            for key, metric in score.metrics.items()
        }
        print(json.dumps({"task": name, "metrics": found}))


if __name__ == "__main__":
    main(sys.argv[1])
