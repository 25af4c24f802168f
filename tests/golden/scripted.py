"""Runs of the small suite of sums against a scripted endpoint: faults, endings, next steps."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import msgspec
from tests.golden import endpoint, observe
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json
from tests.servers import fake

from toolmark.models.request_policies import PacedModel, RetryingModel
from toolmark.runs.run_store import Run

SUITE = "tests.runs.mini:load"
Behaviour = Callable[["Said"], "bytes | fake.Behaviour"]


class Said:
    """One request to the scripted endpoint: which sum it asks, and which attempt it is."""

    def __init__(self, asked: fake.Asked, n: int, tries: int) -> None:
        self.body: dict[str, Any] = json.loads(asked.body) if asked.body else {}
        self.n, self.tries = n, tries
        self.item = item_of(self.body)
        self.last = (self.body.get("messages") or [{}])[-1]
        self.answers = self.last.get("role") == "tool"


def item_of(body: dict[str, Any]) -> int:
    """Return which sum a request asks, -1 for none."""
    text = next((m["content"] for m in body.get("messages", []) if m["role"] == "user"), "")
    found = re.search(r"What is (\d+) \+ 1", text if isinstance(text, str) else json.dumps(text))
    return int(found[1]) if found else -1


def good(said: Said) -> bytes:
    """Add, then say what came of it."""
    if said.answers:
        return ok(fake.says(said.last["content"]))
    return ok(fake.calls(("add", json.dumps({"of": [said.item, 1]}))))


def ok(body: Any) -> bytes:
    """Write a response of status 200."""
    return fake.raw(200, body if isinstance(body, bytes) else json.dumps(body).encode())


def error(status: int, message: str, headers: dict[str, str] | None = None, **more: Any) -> bytes:
    """Write an error as most servers do."""
    return fake.raw(status, json.dumps({"error": {"message": message, **more}}).encode(), headers)


def always(response: bytes | fake.Behaviour) -> Behaviour:
    """Answer every request alike."""
    return lambda said: response


def on(items: Sequence[int], response: bytes | fake.Behaviour) -> Behaviour:
    """Answer the first requests of some sums so, the others well."""
    return lambda said: response if said.item in items and not said.answers else good(said)


def first(n: int, response: bytes | fake.Behaviour) -> Behaviour:
    """Answer the first n attempts of every first request so, then well."""
    return lambda said: response if said.tries < n and not said.answers else good(said)


def after(n: int, response: bytes | fake.Behaviour) -> Behaviour:
    """Answer well n times, then so."""
    return lambda said: good(said) if said.n < n else response


@contextmanager
def hurried() -> Iterator[list[float]]:
    """Let retries wait for nothing; note how long they would have waited."""
    waits: list[float] = []

    async def sleep(wait_s: float) -> None:
        waits.append(round(wait_s, 6))

    inits = RetryingModel.__init__
    quick = functools.partialmethod(inits, sleep=sleep, rng=Random(1))
    without_pause = mock.patch.object(PacedModel, "_pause_requests", lambda *_: None)
    with mock.patch.object(RetryingModel, "__init__", quick), without_pause:
        yield waits


def command(
    folder: Path, behave: Behaviour, *words: str, n: int = 6, model: str = "", serial: bool = True
) -> Json:
    """Run the sums by the command line against the endpoint; return all that is to be seen."""
    tidy = Normaliser(folder)
    seen: dict[bytes, int] = {}
    count = 0

    def answer(asked: fake.Asked) -> bytes | fake.Behaviour:
        nonlocal count
        tries = seen.get(asked.body, 0)
        seen[asked.body] = tries + 1
        count += 1
        return behave(Said(asked, count - 1, tries))

    with endpoint.serving(answer) as server, hurried() as waits:
        name = model or server.model("m")
        line = ["run", SUITE, "-T", f"n={n}", "-m", name, "--log-dir", str(folder / "runs")]
        line += ["--max-connections", "1"] if serial else []
        reported = observe.command([*line, *words], tidy)
        asked = server.asked
    return {
        "command": reported,
        "n_asked": len(asked),
        "waits_s": waits,
        "sent": [_sent(each) for each in asked[:8]],
        **seen_runs(folder, tidy),
    }


def _sent(asked: fake.Asked) -> Json:
    body = json.loads(asked.body) if asked.body else {}
    return {
        "target": asked.target,
        "item": item_of(body),
        "n_messages": len(body.get("messages", [])),
        "settings": {k: v for k, v in body.items() if k not in ("messages", "tools")},
    }


def seen_runs(folder: Path, tidy: Normaliser) -> dict[str, Json]:
    """Return every run below a folder, and the reports' data of the scored ones."""
    found = stored(folder)
    made = {}
    for i, each in enumerate(found):
        reported = observe.run(each, tidy, tasks=False)
        made[f"run {i}" if i else "run"] = {
            name: reported[name] for name in ("info", "endings", "attempts", "scores", "summary")
        }
    return made


def stored(folder: Path) -> list[Run]:
    """Return the runs below a folder in a fixed order."""
    return sorted((Run(x.parent) for x in (folder / "runs").glob("*/run.json")), key=_order)


def _order(run: Run) -> tuple[int, str, bytes]:
    """Sort runs by the number of their folder, then by their settings: its hash says nothing."""
    name, _, n = run.path.name.rpartition("-")
    return int(n), name.rpartition("-")[0], msgspec.json.encode(run.info.plan.sampling)
