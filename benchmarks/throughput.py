"""Two-request tool-calling samples per CPU second: toolmark, two bare loops, the openai SDK.

    python benchmarks/throughput.py [ROUNDS]

The server runs in its own process and answers at once; each client runs in its own process, in
turn, and only its own CPU time counts (user and system, all threads). All send the same ten
tools and decode the reply. toolmark makes a whole run: tasks and trajectories stored, episodes
scored, requests paced and retried. Exit code 1 if a bar is missed.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import uvloop

HERE = Path(__file__).resolve().parent
CONNECTIONS = 16
SAMPLES = {"pyreqwest": 6000, "aiohttp": 3000, "toolmark": 6000, "openai": 300}
QUESTION = "What is the weather in Paris over the next three days?"
RESULT = '{"forecast": ["sunny", "sunny", "rain"]}'
SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "The city, in English."},
        "days": {"type": "integer", "description": "How many days ahead.", "minimum": 1},
        "units": {"type": "string", "enum": ["metric", "imperial"]},
    },
    "required": ["city"],
}
ABOUT = "Return what is known about the weather in a city for some days ahead."
TOOLS = [
    {
        "type": "function",
        "function": {"name": f"tool_{i}", "description": ABOUT, "parameters": SCHEMA},
    }
    for i in range(10)
]
Post = Callable[[bytes], Awaitable[bytes]]


async def sample(post: Post) -> None:
    """Ask, answer the call, ask again: the least that any client must do."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    while True:
        body = msgspec.json.encode({"model": "fake", "messages": messages, "tools": TOOLS})
        message = msgspec.json.decode(await post(body))["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return
        for call in message["tool_calls"]:
            json.loads(call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})


async def crowd(one: Callable[[], Awaitable[None]], n: int) -> None:
    """Do it n times, as many at once as there are connections."""
    left = iter(range(n))

    async def worker() -> None:
        for _ in left:
            await one()

    await asyncio.gather(*(worker() for _ in range(CONNECTIONS)))


async def pyreqwest(url: str, n: int) -> None:
    """Run a bare loop over pyreqwest."""
    from pyreqwest.client import ClientBuilder

    headers = {"authorization": "Bearer none", "content-type": "application/json"}
    async with ClientBuilder().default_headers(headers).build() as client:

        async def post(body: bytes) -> bytes:
            answer = await client.post(f"{url}/chat/completions").body_bytes(body).build().send()
            return (await answer.bytes()).to_bytes()

        await crowd(lambda: sample(post), n)


async def aiohttp(url: str, n: int) -> None:
    """Run a bare loop over aiohttp."""
    import aiohttp as library

    headers = {"authorization": "Bearer none", "content-type": "application/json"}
    async with library.ClientSession(headers=headers) as client:

        async def post(body: bytes) -> bytes:
            async with client.post(f"{url}/chat/completions", data=body) as answer:
                data: bytes = await answer.read()
                return data

        await crowd(lambda: sample(post), n)


async def openai(url: str, n: int) -> None:
    """Run the loop over the openai SDK."""
    from openai import AsyncOpenAI

    client: Any = AsyncOpenAI(base_url=url, api_key="none")

    async def one() -> None:
        messages: list[Any] = [{"role": "user", "content": QUESTION}]
        while True:
            answer = await client.chat.completions.create(
                model="fake", messages=messages, tools=TOOLS
            )
            message = answer.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                return
            for call in message.tool_calls:
                json.loads(call.function.arguments)
                messages.append({"role": "tool", "tool_call_id": call.id, "content": RESULT})

    await crowd(one, n)
    await client.close()


async def toolmark(url: str, n: int) -> None:
    """Make a whole run of toolmark, and check that it ran."""
    from toolmark.api import arun

    with tempfile.TemporaryDirectory() as folder:
        # floors are samples of other agents
        run = await arun(
            make_suite(n), f"{url}#fake", log_dir=folder, max_connections=CONNECTIONS, floors="off"
        )
        assert len(run.completed_episodes()) == n


def make_suite(n: int) -> Any:
    """Return a suite of n tasks whose world answers every call alike."""
    from toolmark.core import records as t
    from toolmark.formats.native_format import NATIVE_FORMAT
    from toolmark.runs.suite import EnvironmentSource, Presentation, Scorer, Suite
    from toolmark.statistics.metric_formulas import Metric

    tools = tuple(t.Tool(name=f"tool_{i}", description=ABOUT, parameters=SCHEMA) for i in range(10))
    said = t.Message(role="user", parts=(t.Text(QUESTION),))

    class Tasks:
        def __len__(self) -> int:
            return n

        def __iter__(self) -> Iterator[t.Task]:
            turns = (t.Turn(messages=(said,)),)
            for i in range(n):
                yield t.Task(id=f"t{i}", item=f"t{i}", suite="bench", turns=turns, tools=tools)

    def judge(episode: Any) -> dict[str, t.Verdict]:
        assert len(episode.trajectory.steps) == 2
        return {"official": t.Verdict(outcome="correct", value=1.0)}

    scorer = Scorer(
        rules=("official",),
        score=judge,
        metrics=lambda columns: (Metric("success"),),
        presentation=Presentation(tables=lambda columns: ()),
    )
    return Suite(
        name="bench",
        tasks=Tasks(),
        environment=EnvironmentSource(_site()),
        scorer=scorer,
        tool_formats={"native": NATIVE_FORMAT},
    )


def _site() -> Any:
    """Return the opener of a site whose worlds answer every call alike."""
    from toolmark.core import records as t
    from toolmark.core.environment import Environment, EnvironmentFactory

    heard = t.Result(parts=(t.Text(RESULT),))

    class World(Environment):
        async def tools(self) -> tuple[t.Tool, ...]:
            return ()

        async def call(self, call: t.Call, /) -> t.Result:
            json.loads(call.arguments)
            return heard

    class Site(EnvironmentFactory):
        @asynccontextmanager
        async def open_environment(
            self, task: t.Task, needed: Mapping[str, Any], /
        ) -> AsyncIterator[Environment]:
            yield World()

    @asynccontextmanager
    async def site(media: object) -> AsyncIterator[EnvironmentFactory]:
        yield Site()

    return site


KINDS = {"pyreqwest": pyreqwest, "aiohttp": aiohttp, "toolmark": toolmark, "openai": openai}


def client(kind: str, url: str, samples: str = "") -> None:
    """Measure one client in this process; writes one line of JSON."""
    n = int(samples) if samples else SAMPLES[kind]
    uvloop.run(KINDS[kind](url, CONNECTIONS))  # imports and first connections do not count
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    uvloop.run(KINDS[kind](url, n))
    cpu_s, wall_s = time.process_time() - cpu_s, time.perf_counter() - wall_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rate": n / cpu_s, "wall": n / wall_s, "peak": peak}))


def measure(rounds: int) -> dict[str, list[dict[str, float]]]:
    """Run every client `rounds` times, in turn."""
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    try:
        for _ in range(rounds):
            for kind, rows in found.items():
                command = [sys.executable, __file__, "--client", kind, url]
                done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                rows.append(json.loads(done.stdout.splitlines()[-1]))
    finally:
        server.communicate()
    return found


def main(rounds: int) -> int:
    """Print the table and the bars."""
    found = measure(rounds)
    print(f"{'client':<12}{'samples per CPU s':>20}{'spread':>18}{'per wall s':>12}{'peak MB':>9}")
    rate = {}
    for kind, rows in found.items():
        rates = sorted(row["rate"] for row in rows)
        rate[kind] = statistics.median(rates)
        spread = f"{rates[0]:,.0f} - {rates[-1]:,.0f}"
        wall = statistics.median(row["wall"] for row in rows)
        peak = max(row["peak"] for row in rows)
        print(f"{kind:<12}{rate[kind]:>20,.0f}{spread:>18}{wall:>12,.0f}{peak:>9.0f}")
    own = rate["toolmark"]
    bars = [
        ("bare aiohttp", own / rate["aiohttp"], 1.0),
        ("the fastest bare loop", own / max(rate["aiohttp"], rate["pyreqwest"]), 0.55),
        ("the openai SDK", own / rate["openai"], 12.0),
    ]
    for name, ratio, bar in bars:
        word = "met" if ratio >= bar else "MISSED"
        print(f"toolmark / {name}: {ratio:.2f} (bar {bar:g}: {word})")
    return int(any(ratio < bar for _, ratio, bar in bars))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        client(*sys.argv[2:])
    else:
        sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 5))
