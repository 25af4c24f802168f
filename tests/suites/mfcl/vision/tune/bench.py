"""Items in a folder, with pages, and models that know the answers until something throws them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from toolmark import suites
from toolmark.errors import Unavailable
from toolmark.runs.plan import Plan
from toolmark.runs.suite import Suite
from toolmark.suites.mfcl.vision.tune import folder as folders
from toolmark.suites.mfcl.vision.tune import loop, own
from toolmark.suites.mfcl.vision.tune.edits import HARDER
from toolmark.suites.mfcl.vision.tune.folder import Tuning
from toolmark.suites.mfcl.vision.tune.records import Mark, Request
from toolmark.types import Model, Reply
from toolmark.types import Request as Asked

CITIES = ("Koladin", "Rizisk", "Hepomen", "Banelask")
CLUE = (230, 20, 60)
SIZE = (800, 500)
BOX = (520, 60, 640, 120)


def row(n: int, **more: Any) -> dict[str, Any]:
    href = f"https://www.guide.example/inn-{n}"
    return {
        "id": f"inn-{n}", "image": f"inn-{n}.png", "answer": CITIES[n],
        "question": f"In which city is inn number {n + 1} of my album?",
        "domain": "places", "query_type": "locate", "boxes": [BOX],
        "trace": [{"query": f"Inn Stimada {'i' * n}", "href": href, "finds": CITIES[n]}],
    } | more  # fmt: skip


def items(path: Path, n: int = 3, rows: Mapping[int, Mapping[str, Any]] | None = None) -> Path:
    """Write a folder in the published layout; `rows` holds what is other in some."""
    pages = path / "pages" / "www.guide.example"
    pages.mkdir(parents=True)
    lines = []
    for i in range(n):
        image = Image.new("RGB", SIZE, (200, 210, 190 + i))
        ImageDraw.Draw(image).rectangle(BOX, CLUE)
        image.save(path / f"inn-{i}.png")
        html = f"<title>Inn {i}</title><p>Inn Stimada {'i' * i} stands in {CITIES[i]}.</p>"
        (pages / f"inn-{i}.html").write_text(html)
        lines.append(json.dumps(row(i, **(rows or {}).get(i, {}))))
    (path / "items.jsonl").write_text("\n".join(lines) + "\n")
    return path


@dataclass
class Scripted:
    """Knows every answer, but where `thrown` says of the question that it does not."""

    thrown: Callable[[str], bool] = lambda question: False
    instead: str = '{"answer": "Nowhere"}'
    dead: bool = False
    asked: list[str] = field(default_factory=list)

    async def __call__(self, request: Asked, /) -> Reply:
        if self.dead:
            raise Unavailable("the endpoint is down")
        said = next(m for m in request.messages if m.role == "user").text
        self.asked.append(said)
        if self.thrown(said):
            return Reply(text=self.instead)
        city = next(CITIES[i] for i in range(len(CITIES)) if f"number {i + 1} of" in said)
        return Reply(text=json.dumps({"answer": city}))


def always(question: str) -> bool:
    return True


def chatted(question: str) -> bool:
    """Thrown by whatever stands before the question."""
    return not question.startswith("In which")


swayed = Scripted(chatted)
shy = Scripted(always, "I do not know")


def suite(source: Path, **knobs: Any) -> Suite:
    return suites.load("mfcl-vision", source=str(source), variations="base", **knobs)


def request(source: Suite, models: Mapping[str, Model], **more: Any) -> Request:
    attempts = more.pop("attempts", 2)
    plan = Plan(suite=source.name, model="", dialect="native", knobs=dict(source.knobs),
                repeats=attempts)  # fmt: skip
    asked: dict[str, Any] = {
        "edits": HARDER,
        "rounds": 4,
        "seed": source.seed,
        "hashes": dict(source.hashes),
    }
    return Request(plan=plan, models=tuple(models), **(asked | more))


def tuned(path: Path, source: Path, models: Mapping[str, Model], **more: Any) -> Tuning:
    """Tune once, as the command does, and return the folder as it is on the disk then."""
    loaded = suite(source, **more.pop("knobs", {}))
    further, watch = more.pop("further", loop.further), more.pop("watch", None)
    tuning = folders.begun(path, request(loaded, models, **more))
    known = {task.item for task in loaded.tasks}
    with tuning.writing() as writer:
        loop.fill(tuning, writer, loaded)
        editor = loop.Editor(tuning, writer, loaded, own.read(source, known), further)
        editor.edit()
        work = loop.tune(tuning, writer, loaded, models, editor, at_once=3, watch=watch)
        with ThreadPoolExecutor(1) as thread:  # a browser's test has a loop in this one
            thread.submit(asyncio.run, work).result()
    return Tuning(path)


def mark(tuning: Tuning, item: str, verdict: Any) -> None:
    """Say so of the version that stands."""
    from toolmark.review.log import Log

    number = tuning.items[item].last.number
    said = Mark(item=item, version=number, verdict=verdict, reviewer="ada", time="2026-01-01")
    Log(tuning.path / folders.MARKS, Mark).add(said)
