"""MultiNet's suites on their generated stand-ins: every form, baseline and class of fault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.golden import suites
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY

BOTH = {"form": "both"}
ODDS = ("out_of_range", "dimension", "nan", "sum")
SUITES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "piqa": ({}, ("invalid", "out_of_range")),
    "sqa3d": ({"similarity": "none"}, ("wrong",)),
    "robovqa": ({"similarity": "none"}, ("wrong",)),
    "odinw": ({}, ("invalid", "out_of_range")),
    "bfcl": ({"seed": 3, "similarity": "none"}, ("wrong",)),
    "overcooked": ({"data": "synthetic"}, ("invalid", "out_of_range")),
    "openx": ({}, ("out_of_range", "dimension", "nan")),
}


SEEN = ("sqa3d", "odinw", "openx", "overcooked")  # suites that send pictures


def record(folder: Path, names: Sequence[str]) -> dict[str, Json]:
    made: dict[str, Json] = {}
    known = {str(name): players for name, players in BASELINES_BY_FAMILY.items()}
    for name in names:
        parameters, classes = SUITES[name]
        blind: dict[str, object] = {"pictures": False} if name in SEEN else {}
        plays = {
            "oracle": Play("control/oracle", {"items": 6}, tasks=True, requests=True),
            "null": Play("control/null", {"items": 6, **blind}),
            "damaged": Play(DAMAGED, {"items": 28, **BOTH, **blind}),
            "wire": Play(WIRE, {"items": 5}),
            **{
                f"baseline-{each}": Play(f"baseline/{each}", {"items": 14, **blind}, episodes=0)
                for each in known[name]
            },
            **{
                f"faulty-{kind}": Play(
                    f"control/faulty?class={kind}&rate=0.5",
                    {"items": 12, **BOTH, **blind},
                    episodes=1,
                )
                for kind in classes
            },
        }
        if name == "overcooked":
            odds = {"mode": "probs", "items": 12, "history": 2, "pictures": False}
            plays |= {
                f"odds-{kind}": Play(f"control/faulty?class={kind}&rate=0.5", odds, episodes=1)
                for kind in ODDS
            }
        found = suites.played(folder / name, f"multinet-{name}", {"seed": 5, **parameters}, plays)
        made |= {f"{name}-{scenario}": value for scenario, value in found.items()}
    return made
