"""Runs of model objects and users' files: what raises, stops, is continued, needs others."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec import structs
from tests.golden import observe, scripted
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json
from tests.golden.scripted import good, on
from tests.runs import mini
from tests.servers import fake

import toolmark as tm
from toolmark.core.environment import EnvironmentFactory, SimulatedUser
from toolmark.core.errors import (
    DataError,
    RateLimited,
    Rejected,
    SimulatedUserError,
    Timeout,
    ToolmarkError,
    TornReply,
    Unavailable,
    UsageError,
)
from toolmark.core.records import (
    Message,
    Reply,
    Request,
    Ruling,
    Sampling,
    Step,
    Task,
    Text,
    Usage,
    Verdict,
)
from toolmark.reports import usage_text
from toolmark.runs import circuit_breaker
from toolmark.runs.costs.run_usage import RunUsage, summary_fields
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress
from toolmark.scoring.episode import Episode

TROUBLES: dict[str, ToolmarkError] = {
    "timeout": Timeout("slow"),
    "torn": TornReply("cut"),
    "unavailable": Unavailable("refused"),
    "unavailable-after": Unavailable("refused", 3.0),
    "rate-limited": RateLimited("slow down", 2.0),
    "rejected-400": Rejected("bad", 400),
    "rejected-401": Rejected("check OPENAI_API_KEY", 401),
    "rejected-402": Rejected("no credit left", 402),
    "rejected-0": Rejected("no status"),
    "usage": UsageError("wrongly asked"),
    "data": DataError("a file is wrong"),
}
FILE = """
from toolmark.core.records import Call, Reply
class Policy:
    name = "mine"
    async def __call__(self, request, /):
        if "What is 2" in request.messages[0].text:
            %s
        return Reply(text="3")
"""
OWN: dict[str, str] = {
    "raises": "raise RuntimeError('broken')",
    "stops": "return Reply(text=next(iter(())))",
    "no-reply": "return 'three'",
    "none": "return None",
    "exit": "raise SystemExit(3)",
    "bad-call": "return Reply(calls=(Call(name='add', arguments='{'),))",
    "surrogate": "return Reply(text='\\ud800')",
    "key-error": "return {}['x']",
    "cancels": "import asyncio; raise asyncio.CancelledError",
}


def outcome(
    folder: Path, act: Callable[[], Run], *, report: bool = False, runs: bool = True
) -> Json:
    """Return what a run did, or how it ended, and every run that is there then."""
    tidy = Normaliser(folder)
    made: dict[str, Json] = {}
    with scripted.hurried() as waits:
        try:
            found = act()
        except (ToolmarkError, Exception) as error:
            made["raised"] = tidy.text(f"{type(error).__name__}: {error}".partition("\n")[0])
        else:
            made["line"] = tidy.text(str(found.summary()))
            if report:
                made["report"] = observe.report([found], tidy, episodes=8)
    made["waits_s"] = waits
    if runs:
        made |= scripted.seen_runs(folder, tidy)
    return made


def asked(folder: Path, model: Any, *, n: int = 5, **more: Any) -> Callable[[], Run]:
    """Return what runs n sums on a model."""
    suite = more.pop("suite", None) or mini.load(n=n)
    settings = {"max_connections": 1, "log_dir": folder / "runs", **more}
    return lambda: tm.run(suite, model, **settings)


def _third(error: ToolmarkError) -> mini.Trouble:
    return lambda item, repeat: error if item == 2 else None


def record(folder: Path) -> dict[str, Json]:
    made: dict[str, Json] = {}

    def note(name: str, model: Any, **more: Any) -> None:
        report = more.pop("report", False)
        made[name] = outcome(folder / name, asked(folder / name, model, **more), report=report)

    for name, error in TROUBLES.items():
        note(name, mini.Adder(_third(error)), repeats=2)
    note("first-fails", mini.Adder(lambda i, r: Timeout("slow") if i < 2 else None))
    note("dead", "control/dead", n=25)
    note("null", "control/null")
    note("always-call", "control/always-call", report=True)
    note("scorer-raises", mini.Adder(
        lambda i, r: "break the scorer" if i == 2 else Timeout("x") if i == 3 else None),
        report=True, max_retries=0)  # fmt: skip
    note("scorer-raises-always", mini.Adder(lambda i, r: "break the scorer"))
    note("world-dies", mini.Adder(), suite=mini.load(n=4, dead=("sum-1", "sum-3")), report=True)
    chain = mini.load(n=3, chain=True)
    note("chain", mini.Adder(), suite=chain, repeats=2)
    note("chain-needs", mini.Adder(lambda i, r: Timeout("x") if i == 1 and not r else None),
         suite=chain, repeats=2, max_retries=0)  # fmt: skip
    note("repeats", mini.Adder(lambda i, r: "no" if (i + r) % 3 == 0 else None), n=8, repeats=4,
         report=True)  # fmt: skip
    note("sample", mini.Adder(lambda i, r: "no" if i % 3 else None), n=30, sample=9, report=True)
    note("bad-limit", mini.Adder(), limit=0)
    note("bad-ids", mini.Adder(), ids=("sum-99",))
    note("time-limit", mini.Adder(wait_s=5), n=2, time_limit_s=0.05)
    with patch.object(circuit_breaker, "MAX_CONSECUTIVE_FAILURES", 3):  # each costs its time limit
        note("time-limit-breaker", mini.Adder(wait_s=5), n=5, time_limit_s=0.5)
    reported = replace(
        mini.SCORER,
        presentation=replace(
            mini.SCORER.presentation, caution=lambda columns, run: "these sums are made up"
        ),
    )
    for name, suite in (("", mini.load(n=2)), ("told", replace(mini.load(n=2), scorer=reported))):
        for sandbox in ("off", "required"):
            loose = replace(
                suite, environment=replace(suite.environment, starts_processes=sandbox == "off")
            )
            note(f"cautions-{name}-{sandbox}", mini.Adder(), suite=loose, sandbox=sandbox)
            note(f"cautions-{name}-{sandbox}-full", _Full(), suite=loose, sandbox=sandbox)
    spoken = replace(mini.load(n=5), environment=replace(mini.load(n=5).environment, open=_spoken))
    note("user", _Asking(), suite=spoken, max_retries=0, report=True)
    made |= {f"verdict-{name}": value for name, value in _verdicts(folder).items()}
    made |= {f"own-{name}": value for name, value in _own(folder).items()}
    made |= _continued(folder)
    made["spent"] = _spent()
    made["stopped"] = _stopped(folder / "stopped")
    made["interrupted"] = _interrupted(folder / "interrupted")
    return made


def _spent() -> Json:
    """Return how a reader is told what runs took, which other records leave out."""
    tokens = Usage(input=12_345, output=678, reasoning=90, cached=12)
    some = RunUsage(
        n_episodes=4, n_requests=9, n_from_cache=2, tokens=tokens, reply_s=3.21, wall_s=65.4
    )
    every = [
        RunUsage(), some, structs.replace(some, wall_s=0.1, reply_s=0.39), structs.replace(
            some, wall_s=0.099, reply_s=0.4, user=tokens, not_run=Usage(input=1)),
        structs.replace(some, wall_s=7_322.6, judges=Usage(output=5), n_from_cache=0),
        structs.replace(some, wall_s=59.96, tokens=Usage()),
    ]  # fmt: skip
    return [
        {
            "line": usage_text.usage_line(each).split("; "),
            "fields": summary_fields(each),
            "each": each.tokens_per_episode,
        }
        for each in every
    ]


def _verdicts(folder: Path) -> dict[str, Json]:
    """Return runs whose scorer says what it may not say."""
    odd: dict[str, Any] = {
        "no-label": Verdict(outcome="incorrect", value=0.0),
        "two-labels": Verdict(outcome="incorrect", value=0.0, labels=(*mini.WRONG.labels,) * 2),
        "label-of-correct": replace_verdict(outcome="correct"),
        "nan": Verdict(outcome="correct", value=float("nan")),
        "graded": Verdict(outcome="correct", value=0.25, parts={"p": 0.5}),
        "unknown-reading": None,
    }
    made: dict[str, Json] = {}
    for name, verdict in odd.items():

        def score(episode: Episode, verdict: Any = verdict) -> Any:
            return {"exact": verdict} if verdict else {"other": mini.WRONG}

        suite = replace(mini.load(n=3), scorer=replace(mini.SCORER, score=score))
        made[name] = outcome(folder / f"v-{name}", asked(folder / f"v-{name}", mini.Adder(),
                                                        suite=suite))  # fmt: skip
    return made


def replace_verdict(**fields: Any) -> Verdict:
    """Return a wrong verdict with other fields."""
    return Verdict(**{"outcome": "incorrect", "value": 0.0, "labels": mini.WRONG.labels, **fields})


def _own(folder: Path) -> dict[str, Json]:
    """Return runs of users' files by the command line."""
    made: dict[str, Json] = {}
    for name, line in OWN.items():
        if name in ("exit", "cancels"):
            continue  # they end the process, not the run
        (folder / f"golden_{name.replace('-', '_')}.py").write_text(FILE % line)
        made[name] = scripted.command(
            folder / f"o-{name}", good, n=5, model=f"golden_{name.replace('-', '_')}:Policy"
        )
    return made


def _continued(folder: Path) -> dict[str, Json]:
    """Return runs that were begun, continued, begun anew, and scored anew."""
    place = folder / "continued"
    broken = mini.Adder(lambda i, r: Timeout("slow") if (i + r) % 3 == 0 else None)
    made: dict[str, Json] = {}
    for name, model, more in (
        ("begun", broken, {}),
        ("went-on", mini.Adder(), {}),
        ("complete", mini.Adder(), {}),
        ("fresh", mini.Adder(lambda i, r: "no" if i == 4 else None), {"resume": False}),
        ("other-settings", mini.Adder(), {"temperature": 0.5}),
    ):
        act = asked(place, model, n=6, repeats=2, max_retries=0, **more)
        made[f"continued-{name}"] = outcome(place, act) | {"asked": [*map(list, model.asked)]}
    found = next(x for x in scripted.stored(place) if x.info.plan.sampling == Sampling())
    amended = replace(mini.SCORER, score=lambda _: {"exact": mini.WRONG})
    made["continued-rescored"] = outcome(place, lambda: tm.rescore(found, amended))
    made["continued-rescored-by-nobody"] = outcome(place, lambda: tm.rescore(found), runs=False)
    return made


def _stopped(folder: Path) -> Json:
    """Stop a run from within after its third episode."""

    async def main() -> Run:
        stop = asyncio.Event()

        def watch(progress: Progress) -> None:
            if progress.n_run == 3:
                stop.set()

        return await tm.arun(
            mini.load(n=8), _Slow(), log_dir=folder / "runs", stop=stop, watch=watch,
            max_connections=1,
        )  # fmt: skip

    return outcome(folder, lambda: asyncio.run(main()))


class _Full(mini.Adder):
    """Takes no request: each is too long for it."""

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(stop="over_long")


class _Asking(mini.Adder):
    """Asks back; at the second sum it fails once it was answered."""

    async def __call__(self, request: Request, /) -> Reply:
        item = int(re.findall(r"\d+", request.messages[0].text)[0])
        used = Usage(input=100 + item, output=10)
        if request.messages[-1].text.startswith("What"):
            return Reply(text="Which?", usage=used)
        if item == 1:
            raise Timeout("slow")
        return Reply(text=str(item + 1), usage=used)


class _Speaker(SimulatedUser):
    """Answers one question, for tokens; the third sum's is not reached, the fourth's is silent."""

    async def answer(
        self, task: Task, turn: int, steps: Sequence[Step], text: str, /
    ) -> tuple[Ruling, Message | None]:
        if task.id == "sum-2":
            raise SimulatedUserError("the judge: refused")
        asks = text == "Which?" and task.id != "sum-3"
        used = Usage(input=1000, output=20 + turn, reasoning=3, cached=5)
        ruling = Ruling(allowed=asks, reply="That one." if asks else "", judge="j", usage=used)
        return ruling, Message(role="user", parts=(Text("That one."),)) if asks else None


class _Spoken(mini.World):
    user = _Speaker()


@asynccontextmanager
async def _spoken(media: Any) -> AsyncIterator[Any]:
    class Site(EnvironmentFactory):
        @asynccontextmanager
        async def open_environment(self, task: Task, needed: Any, /) -> AsyncIterator[mini.World]:
            yield _Spoken(needed)

    yield Site()


class _Slow(mini.Adder):
    """Waits for ever at the fourth sum."""

    async def __call__(self, request: Request, /) -> Reply:
        if "What is 3" in request.messages[0].text:
            await asyncio.Event().wait()
        return await super().__call__(request)


def _interrupted(folder: Path) -> Json:
    """Press Ctrl-C while the fourth sum is asked."""

    def behave(said: scripted.Said) -> Any:
        if said.item == 3:
            os.kill(os.getpid(), signal.SIGINT)
            return fake.send(b"", then="stall")
        return on([1], fake.raw(500, b"{}"))(said)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return scripted.command(folder, behave, "--max-retries", "0", n=8)
    finally:
        signal.signal(signal.SIGINT, before)
