"""FuncBenchGen: oracle, faulty, null, baselines, and what goes over the wire."""

from __future__ import annotations

from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

OPTIONS = {"core": 5, "depth": 3, "connected": 3, "disconnected": 2, "graphs": 3, "seed": 7}
MANY = {"graphs": 12, "root_inputs": 2}


def record(folder: Path) -> dict[str, Json]:
    return suites.played(
        folder, "funcbench", OPTIONS,
        {
            "oracle": Play("control/oracle", tasks=True, requests=True),
            "one-call": Play("control/oracle?order=call"),
            "null": Play("control/null"),
            "always-call": Play("control/always-call"),
            "planner": Play("baseline/planner"),
            "eager": Play("baseline/eager"),
            "damaged": Play(DAMAGED, MANY, {"repeats": 2}),
            **{
                f"faulty-{kind}": Play(f"control/faulty?class={kind}&rate=0.5")
                for kind in ("not_found", "wrong_inputs", "ill_typed", "not_known", "incorrect")
            },
            "preset": Play(DAMAGED, {"preset": "by-depth", "graphs": 1, **dict.fromkeys(
                ("core", "depth", "connected", "disconnected"))}, {"limit": 12}),
            "restate": Play("baseline/planner", {"preset": "restate5", "graphs": 1, **dict.fromkeys(
                ("core", "depth", "connected", "disconnected"))}, {"limit": 4}),
            "efforts": Play(WIRE, {"efforts": ["minimal", "high"], "graphs": 1}),
            "wire": Play(WIRE, {"graphs": 1}, {"temperature": 0.5, "max_tokens": 99}),
            "prompt": Play(WIRE, {"graphs": 1}, {"tool_format": "prompt"}),
        },
    )  # fmt: skip
