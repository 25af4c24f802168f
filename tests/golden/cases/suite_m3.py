"""M3-Bench on small real servers and their recording; both agents; scripted judges."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.golden import observe, scripted, suites
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play
from tests.servers import mcp_fault
from tests.suites.m3 import endpoints

import toolmark as tm
from toolmark.runs import judge_panels
from toolmark.runs.run_store import Run

MARKERS = ("servers", "slow")

FAULT = str(Path(mcp_fault.__file__))
# by task: steps of calls (server/tool, arguments)
STEPS: dict[str, list[list[tuple[str, dict[str, Any]]]]] = {
    "00000000": [
        [("one/echo", {"text": "red shelf"}), ("two/echo", {"text": "blue shelf"})],
        [("one/echo", {"text": "price of red"})],
        [("two/count", {}), ("one/echo", {"text": "done"})],
    ],
    "00010000": [[("one/echo", {"text": "a"})], [("one/echo", {"text": "b"})]],
    "00020000": [[("two/wrong", {})], [("two/echo", {"text": "after an error"})]],
    "00030000": [[("one/count", {}), ("one/count", {}), ("two/count", {})]],
    "00040000": [[("gone/echo", {"text": "no such server"})]],
    "00050000": [[("one/echo", {"text": str(n), "more": [n]})] for n in range(1)],
}


def _entry(id: str) -> dict[str, Any]:
    return {
        "id": id, "question": f"What of {id}?", "prompt": f"Call them all for {id}.", "image": "",
        "final_reply": f"It is {id}.",
        "steps": [
            {"calls": [{"name": name, "arguments": given} for name, given in step]}
            for step in STEPS[id]
        ],
    }  # fmt: skip


def _prepared(folder: Path) -> dict[str, Any]:
    entry = {"command": sys.executable, "args": [FAULT]}
    servers = {
        "one": entry, "two": {**entry, "stateful": False},
        "gone": {"command": sys.executable, "needs": ["NO_SUCH_KEY"]},
    }  # fmt: skip
    (folder / "truths.json").write_text(json.dumps([_entry(id) for id in STEPS]))
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    return {"truths": str(folder / "truths.json"), "similarity": "exact"}


def record(folder: Path) -> dict[str, Json]:
    parameters = _prepared(folder)
    live = {"servers": str(folder / "mcp.json")}
    tape = {"cassette": str(folder / "tape.jsonl"), "mode": "record"}
    faults = ("missing_call", "unknown_tool", "format", "no_answer")
    replay = {"cassette": str(folder / "tape.jsonl"), "agent": "loop"}
    made = suites.played(
        folder, "m3", parameters,
        {
            "loop-live": Play("control/oracle", {**live, **tape, "agent": "loop"}, tasks=True,
                              requests=True),
            "executor-live": Play("control/oracle", live, tasks=True, requests=True),
            "damaged-live": Play(DAMAGED, {**live, "agent": "loop"}, {"repeats": 4}),
            "loop-replayed": Play("control/oracle", replay, requests=True),
            "null": Play("control/null", replay),
            "null-executor": Play("control/null", live),
            "always-call": Play("control/always-call", replay),
            **{
                f"faulty-{kind}": Play(
                    f"control/faulty?class={kind}&rate=0.6", {**live, "agent": "loop"}
                )
                for kind in faults
            },
            "wire": Play(WIRE, replay),
            "wire-executor": Play(WIRE, live, {"limit": 2}),
            "explicit": Play("control/oracle", {**replay, "fuzzy": False}, tasks=True),
        },
    )  # fmt: skip
    made["judged"] = _judged(folder, {**parameters, **live, "agent": "loop"})
    return made


def _says(completion: str, grounding: str) -> endpoints.Answer:
    return lambda body: grounding if endpoints.grounding(body) else completion


@contextmanager
def _watched() -> Iterator[list[Json]]:
    """Note the progress of judging after each answer."""
    noted: list[Json] = []
    collect = judge_panels.collect_judgements

    async def watched(*given: Any, **more: Any) -> Any:
        def note(seen: Any) -> None:
            noted.append([seen.n_run, seen.n_not_run, seen.input_tokens, seen.output_tokens])

        return await collect(*given, **more | {"watch": note})

    with mock.patch.object(judge_panels, "collect_judgements", watched):
        yield noted


def _judged(folder: Path, parameters: dict[str, Any]) -> Json:
    """Have four judges rate a run, one of which talks nonsense and one of which fails."""
    tidy = Normaliser(folder)
    run = tm.run(
        tm.load("m3", **parameters), "control/faulty?class=missing_call&rate=0.5",
        log_dir=folder / "judged", max_connections=1,
    )  # fmt: skip
    made: dict[str, Json] = {}
    panels: dict[str, dict[str, endpoints.Answer]] = {
        "four": {"a": _says(r"\boxed{1}", "0.2"), "b": _says(r"\boxed{4}", "0.4"),
                 "c": _says("six of ten: 6", r"\boxed{0.6}"), "d": _says(r"\boxed{10}", "0.8")},
        "some-fail": {"a": _says("no idea", "none"), "e": lambda body: 503,
                      "f": _says(r"\boxed{11}", r"\boxed{1}"), "g": lambda body: 401},
        "twice": {"h": _says(r"\boxed{1}", "0.2")},
    }  # fmt: skip
    for name, models in panels.items():
        with (
            endpoints.serving(**models) as served,
            scripted.hurried() as waits,
            _watched() as counts,
        ):
            judges = [word for model in models for word in ("-j", served[model])]
            words = ["judge", str(run.path), *judges, "--max-retries", "1"]
            words += ["--max-connections", "1"]
            reported = observe.command(words, tidy)
            asked = {model: served.asked.get(model, [])[:2] for model in models}
            if name == "twice":  # all of it is answered
                before = sum(map(len, served.asked.values()))
                made["again"] = {
                    "command": observe.command(words, tidy),
                    "n_asked": sum(map(len, served.asked.values())) - before,
                }
        found = Run(run.path)
        made[name] = {
            "command": reported,
            "waits_s": waits,
            "progress": {"n": len(counts), "last": counts[-1]},
            "asked": tidy.value(asked),
            "run": observe.run(found, tidy, tasks=False),
            "report": observe.report([found], tidy, episodes=2),
        }
    return made
