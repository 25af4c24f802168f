"""Synthetic result files in the official format: right answers, and every kind of wrong one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from toolmark.core.records import Call, Task
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import bfcl_controls
from toolmark.runs.suite import Suite
from toolmark.studio.bfcl_interchange import result_export

Result = Any
WORDS = "I would need more information for this."
FAULTS: tuple[Callable[[list[Call]], list[Call]], ...] = (
    lambda calls: calls[1:],
    lambda calls: [*calls, *calls[:1]],
    lambda calls: calls[::-1],
    lambda calls: [Call(name=c.name + "x", arguments=c.arguments) for c in calls],
    lambda calls: [Call(name=c.name, arguments="{}") for c in calls],
    lambda calls: [Call(name=c.name, arguments='{"nonsense": 1}') for c in calls],
)


def draw(id: str, n: int) -> int:
    """Return a number below n that depends on the id alone."""
    return zlib.crc32(id.encode()) % n


def rows(suite: Suite, form: str, tasks: Iterable[Task]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return (category, row) of a result file for each task; four in ten are wrong in some way."""
    for task in tasks:
        name = f"{task.category}_prereq" if task.kind == "setup" else task.category
        said = result(suite, form, task)
        yield name, {"id": task.id, "result": said, **spent(task, said)}


def spent(task: Task, said: Result) -> dict[str, Any]:
    """Return tokens and seconds: one number, or one per step of each turn; an error has none."""
    k = draw(task.id, 97)
    once = {"input_token_count": 100 + k, "output_token_count": k, "latency": k / 7}
    if isinstance(said, str) and said.startswith("Error"):
        return {"traceback": "Traceback: ..."}
    if not task.category.startswith(("multi_turn_", "memory_", "web_search_")):
        return once
    return {
        name: [[n + i for i, _ in enumerate(turn)] for turn in said] for name, n in once.items()
    }


def result(suite: Suite, form: str, task: Task) -> Result:
    """Return what the model said in a task: right in six of ten, else wrong in some way."""
    kind = draw(task.id, 20)
    if kind == 0:
        return "Error during inference: the server hung up"
    if task.category.startswith("multi_turn_"):
        return turns(form, task, kind)
    if task.category.startswith(("memory_", "web_search_")):
        return spoken(form, task, kind)
    calls = [
        Call(name=name, arguments=json.dumps(given))
        for name, given in bfcl_controls.expected_calls(task)
    ]
    if kind in (1, 2):
        return [WORDS, ""][kind - 1]
    if kind == 3 and calls:
        return said(suite, form, task, calls)[:-1] if form == "prompt" else WORDS
    if kind < 9:
        calls = FAULTS[kind % len(FAULTS)](calls)
    return said(suite, form, task, calls) if calls else WORDS


def said(suite: Suite, form: str, task: Task, calls: Sequence[Call]) -> Result:
    """Write calls as the official files hold them."""
    if form == "native" and not task.tool_format:
        return [{call.name.replace(".", "_"): call.arguments} for call in calls]
    return suite.tool_formats[task.tool_format or "prompt"].render_calls(tuple(calls)).text


def turns(form: str, task: Task, kind: int) -> Result:
    """Replay the truth, one step per turn; some turns lack a call, repeat one, or go astray."""
    found: list[list[Any]] = []
    for number, texts in enumerate(task.data["truth"]):
        texts = list(texts)
        if number == kind % 3 and kind < 9:
            texts = [texts[1:], texts * 2, [*texts, "ls()"], []][kind % 4]
        steps: list[Any] = [step(form, texts)] if texts else []
        found.append([*steps, WORDS])
    return found[:-1] if kind == 5 else found


def step(form: str, texts: Sequence[str]) -> Any:
    if form == "prompt":
        return f"[{', '.join(texts)}]"
    calls = [call for text in texts for call in python_calls.parse_reply(text)]
    return [{name: json.dumps(given)} for name, given in calls]


def spoken(form: str, task: Task, kind: int) -> Result:
    """Call something, then answer; some answers are wrong, only hinted at, or missing."""
    truth = task.data["truth"][0] if task.data else "noted"
    answer = truth if kind > 8 else ["I do not know", truth[1:], f"x{truth}", ""][kind % 4]
    called = step(form, ["core_memory_retrieve_all()"])
    last = json.dumps({"answer": answer, "context": "found"}) if answer else ""
    return [[called, last]] * (2 if kind == 7 else 1)


def write(root: Path, model: str, found: Iterable[tuple[str, dict[str, Any]]]) -> None:
    """Write rows below ROOT/result, in the official layout."""
    files: dict[Path, list[dict[str, Any]]] = {}
    for category, row in found:
        folder = root / "result" / model.replace("/", "_") / result_export.category_folder(category)
        files.setdefault(folder / f"BFCL_v4_{category}_result.json", []).append(row)
    for path, collected in files.items():
        result_export.write_json_lines(path, collected)
