"""Runs as official files: results that the official evaluator accepts, scores, leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolmark import codec
from toolmark.errors import DataError, UsageError
from toolmark.files import atomic_file
from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import decode, stored
from toolmark.suites.bfcl.handlers import Shape
from toolmark.suites.bfcl.interchange import CATEGORIES
from toolmark.suites.bfcl.leaderboard import UNSCORED
from toolmark.suites.bfcl.log import Told, log
from toolmark.suites.bfcl.sheets import formats
from toolmark.types import Call, Reply, Score, Step, Task, Trajectory, Verdict

_NUMBER = re.compile(r".*_(\d{1,9})(?:-[^_]*)?", re.DOTALL)


def owner(model: str) -> str:
    """Return the name of a model's folder. Raises UsageError for one that is no folder's name."""
    name = model.replace("/", "_")
    if name in ("", ".", "..") or "\\" in name or not name.isprintable():
        raise UsageError(f"a model named {model!r} has no folder; name another: --model NAME")
    return name


def folder(category: str) -> Path:
    """Return the folder of a category below the model's, as the official layout has it.

    Raises DataError for a category that BFCL does not have: a run folder's word is no path.
    """
    if category.removesuffix("_prereq") not in CATEGORIES:
        raise DataError(f"no category {category!r} in BFCL V4; nothing was written")
    if category == UNSCORED:
        return Path(UNSCORED)
    if category.startswith("memory_"):
        return Path("agentic/memory") / category.removeprefix("memory_").removesuffix("_prereq")
    if category.startswith("web_search_"):
        return Path("agentic")
    if category.startswith("multi_turn_"):
        return Path("multi_turn")
    return Path("live" if category.startswith("live_") else "non_live")


class Kept(NamedTuple):
    """What the files hold of an episode: the result row, and the score file's line on failure."""

    category: str
    place: int
    row: dict[str, Any]
    failure: dict[str, Any] | None


def kept(
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    *,
    mangled: bool,
    shape: Shape = "text",
) -> Kept:
    """Return what the files hold of an episode; set-up episodes have a category of their own.

    `mangled` writes dots of tool names in structured calls as underscores, as endpoints that take
    no dots return them; `shape` is that of the arguments.
    """
    category = f"{task.category}_prereq" if task.kind == "setup" else task.category
    made = row(task, trajectory, mangled=mangled, shape=shape)
    verdict = score.readings.get("official") if score else None
    failed = verdict is not None and verdict.outcome == "incorrect"
    failure = _failure(task, verdict, made["result"]) if verdict and failed else None
    return Kept(category, _place(task.id), made, failure)


def _place(id: str) -> int:
    """Return an entry's number in its category: the digits before any dash."""
    found = _NUMBER.match(id.partition(":")[0])
    if found is None:
        raise DataError(f"{id!r} is no id of a BFCL entry; nothing was written")
    return int(found[1])


def row(
    task: Task, trajectory: Trajectory, *, mangled: bool, shape: Shape = "text"
) -> dict[str, Any]:
    """Return one episode as a line of a result file.

    Turns hold a list of steps each; a conversation that outgrew the model is, as officially, an
    error in the place of the result.
    """
    if stored.failed(trajectory):
        return {"id": task.id, "result": codec.restore(trajectory.answer), "traceback": ""}
    native = trajectory.dialect == "native"
    names = {t.name: t.name.replace(".", "_") for t in task.tools} if native and mangled else {}
    names |= {plain: name for name, plain in names.items() if plain not in names}
    steps = [(step, _result(step, names, shape if native else "")) for step in trajectory.steps]
    if task.category.startswith(stored.NESTED):
        return {"id": task.id} | _nested(task, trajectory, steps)
    step, result = steps[0] if steps else (Step(reply=Reply()), "")
    thought = codec.restore(step.reply.reasoning)
    return {"id": task.id, "result": result} | _spent(step) | _thought(thought)


def _nested(task: Task, trajectory: Trajectory, steps: Told) -> dict[str, Any]:
    if trajectory.ending == "over_long":
        return {"result": f"{stored.ERROR}: the context length is exceeded"}
    turns = [
        [(step, said) for step, said in steps if step.turn == turn]
        for turn in range(steps[-1][0].turn + 1 if steps else 0)
    ]
    found: dict[str, Any] = {"result": [[said for _, said in turn] for turn in turns]}
    told = log(task, trajectory, turns)
    if told is not None:
        found["inference_log"] = told
    spent = [[_spent(step) for step, _ in turn] for turn in turns]
    found |= {name: [[each[name] for each in turn] for turn in spent] for name in stored.SPENT}
    thoughts = [[codec.restore(step.reply.reasoning) for step, _ in turn] for turn in turns]
    return found | _thought(thoughts if any(map(any, thoughts)) else "")


def _thought(said: Any) -> dict[str, Any]:
    return {"reasoning_content": said} if said else {}


def _spent(step: Step) -> dict[str, float]:
    used = step.reply.usage
    return dict(zip(stored.SPENT, (used.input, used.output, step.reply.latency_s), strict=True))


def _result(step: Step, names: Mapping[str, str], shape: Shape) -> Any:
    """Return what a reply is stored as; what was imported without a word, as it was taken."""
    reply = step.reply
    if shape and (reply.calls or (step.fault == decode.EMPTY and not reply.text)):
        return [_call(call, names, shape) for call in reply.calls]
    if step.fault == decode.UNREAD and not reply.text:
        return None
    return codec.restore(reply.text)


def _call(call: Call, names: Mapping[str, str], shape: Shape) -> dict[str, Any]:
    """Return a call; arguments that are no object stay text, which no other shape reads."""
    name = codec.restore(names.get(call.name, call.name))
    given: Any = codec.restore(call.arguments)
    if shape != "text":
        with suppress(codec.BadJson):
            found = codec.loads(given)
            given = found if isinstance(found, dict) else given
    return {"tool_name": name, "parameters": given} if shape == "parameters" else {name: given}


def header(category: str, columns: Columns) -> dict[str, Any]:
    """Return a score file's first line, nothing where no entry was judged."""
    ran = columns.where((columns.category == category) & columns.run)
    n, n_correct = len(ran), int(ran.correct.sum())
    if not n:
        return {}
    counted = {"accuracy": n_correct / n, "correct_count": n_correct, "total_count": n}
    return counted | (formats(ran) if category == UNSCORED else {})


def _failure(task: Task, verdict: Verdict, result: Any) -> dict[str, Any]:
    label = next(x for x in verdict.labels if x.primary)
    why = {"error": [codec.restore(label.evidence)], "error_type": label.native}
    asked = [[{"role": m.role, "content": m.text} for m in turn.messages] for turn in task.turns]
    return {
        "id": task.id,
        "test_category": task.category,
        "valid": False,
        **why,
        "prompt": {"id": task.id, "question": asked},
        "model_result_raw": result,
        "possible_answer": None if task.reference is None else task.reference["truth"],
    }


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines, in ASCII: the official evaluator reads in the machine's own encoding."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as draft, draft.open("w", encoding="ascii") as file:
            file.writelines(json.dumps(each) + "\n" for each in rows)
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
