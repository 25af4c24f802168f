"""How a page and a terminal call runs: by the least that tells them apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from toolmark import codec
from toolmark.report.tables import visible
from toolmark.runs.store import Run

LONGEST = 30  # letters of a setting in a name


def short(model: str) -> str:
    """Return what stands after the '#' of an address, the whole of any other model's name."""
    address, _, name = model.partition("#")
    return name if name and address.startswith(("http://", "https://")) else model


def host(model: str) -> str:
    """Return the host and port of an address, nothing for any other model's name."""
    scheme, sign, rest = model.partition("://")
    return re.split("[/?#]", rest)[0] if sign and scheme.startswith("http") else ""


def tell(runs: Sequence[Run]) -> list[str]:
    """Name each run by its model; by host, suite and dialect too where those tell runs apart.

    What is the same in all says nothing. Runs that are alike in all this are told apart by the
    settings that differ between them, such as "mode=probs", else all by their folders: nothing
    shorter was found then.
    """
    plans = [run.info.plan for run in runs]
    models = [short(plan.model) for plan in plans]
    hosts = [host(plan.model) for plan in plans]
    suites, dialects = [plan.suite for plan in plans], [plan.dialect for plan in plans]
    more = [each for each in (hosts, suites, dialects) if len(set(each)) > 1]
    ways = [[models, *some] for n in range(len(more) + 1) for some in combinations(more, n)]
    named = [
        [" · ".join(filter(None, row)) for row in zip(*columns, strict=True)] for columns in ways
    ]
    for told in (*named, *(_longer(runs, names) for names in named)):
        if len(set(told)) == len(told):
            return [visible(name) for name in told]
    return [visible(run.path.name) for run in runs]


def models(runs: Sequence[Run]) -> list[str]:
    """Name each run's model, by its host too where models at several hosts are called alike."""
    every = [(short(run.info.plan.model), host(run.info.plan.model)) for run in runs]
    hosts = {name: {at for known, at in every if known == name} for name, _ in every}
    return [
        visible(" · ".join(filter(None, (name, at if len(hosts[name]) > 1 else ""))))
        for name, at in every
    ]


def apart(runs: Sequence[Run], told: Sequence[str]) -> list[dict[str, str]]:
    """Return of each run the settings that tell it from others of its suite with the same name."""
    keys = [(name, run.info.plan.suite) for name, run in zip(told, runs, strict=True)]
    every = [_asked(run) for run in runs]
    made = []
    for key, own in zip(keys, every, strict=True):
        alike = [other for other, of in zip(every, keys, strict=True) if of == key]
        differing = (n for n in own if any(other.get(n) != own[n] for other in alike))
        made.append({visible(name): visible(_worded(own[name])) for name in differing})
    return made


def _longer(runs: Sequence[Run], told: Sequence[str]) -> list[str]:
    """Add to each name the settings by which it is told apart."""
    settings = (", ".join(f"{k}={v}" for k, v in each.items()) for each in apart(runs, told))
    return [" · ".join(filter(None, pair)) for pair in zip(told, settings, strict=True)]


def _asked(run: Run) -> dict[str, Any]:
    """Return a run's settings, those that say most first; what is unset says nothing."""
    plan = run.info.plan
    sampling = msgspec.to_builtins(plan.sampling)
    found = {
        **plan.knobs, **sampling, "dialect": plan.dialect, "seed": run.info.seed,
        "repeats": plan.repeats, "limit": plan.limit, "sample": plan.sample, "tasks": plan.tasks,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in _UNSET}


_UNSET: tuple[Any, ...] = (None, "", [], (), {})


def _worded(value: Any) -> str:
    text = value if isinstance(value, str) else codec.encode(codec.plain(value)).decode()
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def failure(native: str, natives: Mapping[str, str]) -> str:
    """Return a suite's own class of failure, with the suite's words for it where it has some."""
    return visible(" ".join(filter(None, (native, natives.get(native, "")))))


def sampled(n: int | None) -> str:
    """Say how a sample of n was drawn; nothing where all tasks were asked."""
    return f"a sample of {n}, every category in proportion" if n else ""
