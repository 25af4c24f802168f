"""Made-up runs of a picture suite, hostile text and pictures among them; and a served desk."""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolmark.core import json_codec
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Call,
    Image,
    Label,
    Message,
    Reply,
    Result,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
    Verdict,
)
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Presentation, Scorer
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Metric
from toolmark.studio.review_server import ReviewServer, ReviewSession

HOSTILE = (
    "</script></textarea><img src=x onerror=\"document.title='owned'\"><script>alert(1)</script>"
)
LONE = json_codec.escape_surrogates("half a pair \ud83d of surrogates")
Maker = Callable[..., Run]


def png(width: int, height: int, colour: tuple[int, int, int]) -> bytes:
    """Make a picture of one colour with a white cross."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(">I", zlib.crc32(whole))

    def pixel(x: int, y: int) -> bytes:
        return b"\xff\xff\xff" if abs(x * height - y * width) < 2 * width else bytes(colour)

    rows = b"".join(b"\0" + b"".join(pixel(x, y) for x in range(width)) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def task(index: int, media: MediaStore) -> Task:
    shown = media.add_image(png(160, 120, (40 + index * 30 % 200, 90, 160)), "image/png")
    odd = f" {HOSTILE} {LONE}" if index == 0 else ""
    steps = [
        {"calls": [{"name": "ocr/read", "arguments": {"path": f"images/shelf-{index}.png"}}]},
        {"calls": [
            {"name": "shop/search", "arguments": {"query": "cola", "n": 3}},
            {"name": "shop/search", "arguments": {"query": "lemonade", "n": 3}},
        ]},
    ]  # fmt: skip
    return Task(
        id=f"0000{index:04}", item=f"0000{index:04}", suite="shelves", category="prices",
        turns=(Turn(messages=(
            Message(role="system", parts=(Text("You may call tools."),)),
            Message(role="user", parts=(
                Text(f"What do the drinks on shelf {index} cost?{odd}"), shown)),
        )),),
        tools=tuple(Tool(name=name) for name in ("ocr/read", "shop/search", "paint/crop")),
        data={"steps": steps, "answer": "Cola 2 €, lemonade 3 €.",
                   "images": (f"shelf-{index}.png",)},
        axes={"hops": "multi"},
    )  # fmt: skip


def trajectory(
    index: int, media: MediaStore, *, right: bool, words: Mapping[int, str]
) -> Trajectory:
    cut = media.add_image(png(80, 60, (200, 80, 40 + index)), "image/png")
    odd = HOSTILE if index == 0 else "2.00"
    first = Call(name="ocr/read", arguments=json.dumps({"path": f"images/shelf-{index}.png"}))
    wanted = ("cola", "lemonade") if right else ("water", "juice")
    then = tuple(
        Call(name="shop/search", arguments=json.dumps({"n": 3, "query": query})) for query in wanted
    )
    steps = (
        Step(reply=Reply(text="I shall read the labels.", reasoning="Look first."), calls=(first,),
             results=(Result(parts=(Text(f"cola, lemonade {LONE}"), cut)),)),
        Step(reply=Reply(), calls=then, results=(
            Result(parts=(Text(json.dumps({"price": odd})),)),
            Result(parts=(Text("no such drink"),), is_error=True),
        )),
        Step(reply=Reply(text=words.get(index, "Cola 2 €, lemonade 3 €."))),
    )  # fmt: skip
    return Trajectory(
        task=f"0000{index:04}", steps=steps, answer=words.get(index, "Cola 2 €, lemonade 3 €.")
    )


def score(episode: Episode) -> Mapping[str, Verdict]:
    if "cola" in episode.trajectory.steps[1].calls[0].arguments:
        return {"official": Verdict(outcome="correct", value=1.0)}
    label = Label(cause="wrong_value", primary=True)
    return {"official": Verdict(outcome="incorrect", value=0.0, labels=(label,))}


SCORER = Scorer(
    rules=("official",),
    score=score,
    metrics=lambda columns: [Metric("success")],
    presentation=Presentation(tables=lambda readings: ()),
)


def make(
    parent: Path, *, n: int = 5, model: str = "test/one", wrong: Sequence[int] = (),
    words: Mapping[int, str] | None = None,
) -> Run:  # fmt: skip
    """Make a scored run of n tasks; those of `wrong` are answered wrongly."""
    plan = Plan(suite="shelves", model=model, tool_format="native")
    path = run_folders.claim_folder(parent, plan)
    source = MediaStore(parent / "source")
    run_folders.write_run(path, plan, (task(i, source) for i in range(n)), media=source, seed=1)
    own = MediaStore(path / "media")
    done = RecordAppender(path / "trajectories.jsonl")
    for i in reversed(range(n)):  # they end in another order than that of the tasks
        done.append(trajectory(i, own, right=i not in wrong, words=words or {}))
    done.close()
    run = Run(path)
    run_finalization.rescore_run(run, SCORER)
    return Run(path)


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    return lambda **shape: make(tmp_path / "runs", **shape)


@dataclass
class Served:
    server: ReviewServer
    thread: threading.Thread

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def end(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[[ReviewSession], Served]]:
    """Serve desks in threads until the test ends."""
    opened: list[Served] = []

    def start(desk: ReviewSession) -> Served:
        server = ReviewServer(desk)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        opened.append(Served(server, thread))
        return opened[-1]

    yield start
    for served in opened:
        if served.thread.is_alive():
            served.end()


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def picture_of(task: Task) -> Image:
    return next(
        part for turn in task.turns for message in turn.messages for part in message.parts
        if isinstance(part, Image)
    )  # fmt: skip
