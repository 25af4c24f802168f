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

from toolmark.core.errors import Unavailable
from toolmark.core.model import Model
from toolmark.core.records import Reply, Request
from toolmark.runs.run_plan import Plan
from toolmark.runs.suite import Suite
from toolmark.studio.vision_tuning import author_edits, tuning_folder, tuning_loop
from toolmark.studio.vision_tuning.item_edits import HARDER_EDITS
from toolmark.studio.vision_tuning.tuning_folder import TuningFolder
from toolmark.studio.vision_tuning.tuning_records import ReviewMark, TuningRequest
from toolmark.suites import suite_registry

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
class Scripted(Model):
    """Knows every answer, but where `thrown` says of the question that it does not."""

    thrown: Callable[[str], bool] = lambda question: False
    instead: str = '{"answer": "Nowhere"}'
    dead: bool = False
    asked: list[str] = field(default_factory=list)

    async def __call__(self, request: Request, /) -> Reply:
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


def suite(source: Path, **parameters: Any) -> Suite:
    return suite_registry.load_suite(
        "mfcl-vision", source=str(source), variations="base", **parameters
    )


def request(source: Suite, models: Mapping[str, Model], **more: Any) -> TuningRequest:
    attempts = more.pop("attempts", 2)
    plan = Plan(
        suite=source.name,
        model="",
        tool_format="native",
        parameters=dict(source.parameters),
        repeats=attempts,
    )
    asked: dict[str, Any] = {
        "edits": HARDER_EDITS,
        "rounds": 4,
        "seed": source.provenance.seed,
        "hashes": dict(source.provenance.hashes),
    }
    return TuningRequest(plan=plan, models=tuple(models), **(asked | more))


def tuned(path: Path, source: Path, models: Mapping[str, Model], **more: Any) -> TuningFolder:
    """Tune once, as the command does, and return the folder as it is on the disk then."""
    loaded = suite(source, **more.pop("parameters", {}))
    further, watch = more.pop("further", tuning_loop.redraw_item), more.pop("watch", None)
    tuning = tuning_folder.open_or_create(path, request(loaded, models, **more))
    known = {task.item for task in loaded.tasks}
    with tuning.open_writer() as writer:
        tuning_loop.make_items(tuning, writer, loaded)
        editor = tuning_loop.ItemEditor(
            tuning, writer, loaded, author_edits.read_author_edits(source, known), further
        )
        editor.edit_items()
        work = tuning_loop.run_tuning(
            tuning, writer, loaded, models, editor, n_concurrent=3, watch=watch
        )
        with ThreadPoolExecutor(1) as thread:  # a browser's test has a loop in this one
            thread.submit(asyncio.run, work).result()
    return TuningFolder(path)


def mark(tuning: TuningFolder, item: str, verdict: Any) -> None:
    """Say so of the version that stands."""
    from toolmark.studio.review_log import ReviewLog

    number = tuning.items[item].latest_version.number
    said = ReviewMark(item=item, version=number, verdict=verdict, reviewer="ada", time="2026-01-01")
    ReviewLog(tuning.path / tuning_folder.MARKS_FILE, ReviewMark).append(said)
