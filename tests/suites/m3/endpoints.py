"""Endpoints by model name in a thread of their own, and made-up runs of M3's kind of task."""

from __future__ import annotations

import json
from asyncio import StreamWriter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers import fake

from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Call,
    Message,
    Reply,
    Result,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
)
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentSource, Suite
from toolmark.suites.m3 import published_tasks
from toolmark.suites.m3.m3_suite import SCORER

Answer = Callable[[dict[str, Any]], "str | int | bytes | dict[str, Any]"]
"""What a model says to a request: a text, a status of failure, or the body of a 200."""


@dataclass
class Said:
    """What a command line said."""

    code: int
    text: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


Command = Callable[..., Said]


@dataclass
class Endpoint:
    """Models by name behind one address; what each was asked, in order."""

    url: str = ""
    models: dict[str, Answer] = field(default_factory=dict)
    asked: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> str:
        return f"{self.url}#{name}"

    def answer(self, body: dict[str, Any]) -> bytes:
        self.asked.setdefault(body["model"], []).append(body)
        said = self.models[body["model"]](body)
        if isinstance(said, int):
            return fake.raw(said, json.dumps({"error": {"message": "out of order"}}).encode())
        if isinstance(said, str):
            said = fake.says(said)
        return fake.raw(200, said if isinstance(said, bytes) else json.dumps(said).encode())


@contextmanager
def serving(**models: Answer) -> Iterator[Endpoint]:
    found = Endpoint(models=models)

    async def behave(asked: fake.Asked, writer: StreamWriter) -> None:
        writer.write(found.answer(asked.json))
        await writer.drain()

    with fake.in_thread(behave) as server:
        found.url = server.url
        yield found


def grounding(body: dict[str, Any]) -> bool:
    """Tell whether a judge was asked for grounding, not completion."""
    return "`reference`" in body["messages"][0]["content"]


def said(body: dict[str, Any]) -> str:
    """Return the text of what a model was asked."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def material(body: dict[str, Any]) -> Any:
    """Return the JSON object that a judge was shown."""
    return json.JSONDecoder().raw_decode(said(body))[0]


def task(index: int, *, picture: MediaStore | None = None) -> Task:
    shown = (picture.add_image(b"\x89PNG\r\n\x1a\n picture", "image/png"),) if picture else ()
    steps = [
        {"calls": [{"name": "ocr/read", "arguments": {"path": f"images/shelf-{index}.png"}}]},
        {"calls": [{"name": "shop/search", "arguments": {"query": "cola"}}]},
    ]
    return Task(
        id=f"0000{index:04}", item=f"0000{index:04}", suite="m3", category="prices",
        turns=(Turn(messages=(Message(
            role="user", parts=(Text(f"What does shelf {index} cost?"), *shown)),)),),
        tools=tuple(Tool(name=name) for name in ("ocr/read", "shop/search")),
        data={"steps": steps, "answer": "Cola 2.", "similarity": "exact"},
    )  # fmt: skip


def trajectory(index: int, answer: str = "Cola 2.", repeat: int = 0) -> Trajectory:
    path = json.dumps({"path": f"images/shelf-{index}.png"})
    calls = (
        Call(name="ocr/read", arguments=path),
        Call(name="shop/search", arguments='{"query": "cola"}'),
    )
    results = (
        Result(parts=(Text("cola, lemonade"),)),
        Result(parts=(Text("no such drink"),), is_error=True),
    )
    steps = tuple(
        Step(reply=Reply(), calls=(call,), results=(result,))
        for call, result in zip(calls, results, strict=True)
    )
    return Trajectory(
        task=f"0000{index:04}", repeat=repeat, answer=answer,
        steps=(*steps, Step(reply=Reply(text=answer))),
    )  # fmt: skip


def run(parent: Path, n: int = 3, *, repeats: int = 1, suite: str = "m3") -> Run:
    """Make a scored run of n tasks."""
    plan = Plan(suite=suite, model="test/one", tool_format="native", repeats=repeats)
    path = run_folders.claim_folder(parent, plan)
    source = MediaStore(parent / "source")
    run_folders.write_run(
        path, plan, (task(i, picture=source) for i in range(n)), media=source, seed=1
    )
    done = RecordAppender(path / "trajectories.jsonl")
    for repeat in range(repeats):
        for i in range(n):
            done.append(trajectory(i, repeat=repeat))
    done.close()
    run_finalization.rescore_run(Run(path), SCORER)
    return Run(path)


# --- a suite to play --------------------------------------------------------------------

SHELVES = {"shelf-0.png": "cola, code 7714", "shelf-1.png": "lemonade, code 8823"}
PRICES = {"7714": "2 euros", "8823": "3 euros"}


class Shop(Environment):
    """Reads shelves and looks codes up; what it does not know is an error."""

    def __init__(self, lost: bool = False) -> None:
        self.lost = lost

    async def tools(self) -> tuple[Tool, ...]:
        return tuple(
            Tool(name=name, description=name, parameters={"type": "object"})
            for name in ("ocr/read", "shop/price", "shop/ping")
        )

    async def call(self, call: Call, /) -> Result:
        if self.lost:
            raise ToolEnvironmentError("the shop is closed")
        given = json.loads(call.arguments)
        if call.name == "shop/ping":
            return Result(parts=(Text("pong"),))
        table, key = (SHELVES, "path") if call.name == "ocr/read" else (PRICES, "code")
        text = table.get(given.get(key, ""))
        return Result(parts=(Text(text or "not found"),), is_error=text is None)

    async def final_state(self) -> None:
        return None


class Street(EnvironmentFactory):
    def __init__(self, lost: tuple[str, ...]) -> None:
        self.lost = lost

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Shop]:
        yield Shop(task.id in self.lost)


def load(*, n: int = 2, lost: tuple[str, ...] = ()) -> Suite:
    """Shelves and prices.

    Args:
        n: how many tasks.
        lost: tasks whose shop is closed.
    """

    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[Street]:
        yield Street(lost)

    return Suite(
        name="shelves",
        tasks=[_asked(i) for i in range(n)],
        scorer=SCORER,
        environment=EnvironmentSource(open=site),
        tool_formats={"native": NATIVE_FORMAT},
        parameters={"n": n, "lost": lost},
    )


def _asked(index: int) -> Task:
    name = f"shelf-{index}.png"
    reported = published_tasks.question_with_picture(
        f"What does the drink on shelf {index} cost?", name
    )
    return Task(
        id=f"0000{index:04}", item=f"0000{index:04}", suite="shelves", category="prices",
        turns=(Turn(messages=(Message(role="user", parts=(Text(reported),)),)),),
        data={"steps": [], "servers": (), "images": (name,), "answer": "",
              "similarity": "exact"},
    )  # fmt: skip
