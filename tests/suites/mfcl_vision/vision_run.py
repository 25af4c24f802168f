"""Vision episodes made by hand: a sign in a street, the pages behind it, agents that differ."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

import msgspec
import numpy as np
from PIL import Image as Pictures
from PIL import ImageDraw

from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Call,
    Image,
    Reply,
    Result,
    Sampling,
    Step,
    Task,
    Text,
    Trajectory,
    Usage,
)
from toolmark.core.task_data import read_task_data
from toolmark.environments.search_environment import search_tools
from toolmark.perturb.image.box_geometry import Box
from toolmark.runs import run_finalization, run_folders
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.suites.mfcl_vision import prompts
from toolmark.suites.mfcl_vision.item_records import (
    DOMAINS,
    QUERY_KINDS,
    Hop,
    ItemTruth,
    QuestionParts,
    SignMark,
)
from toolmark.suites.mfcl_vision.suite import SCORER

SITE = "https://pages.example"
HOSTILE = "</text></svg><script>document.title='owned'</script><img src=x onerror=alert(1)>"
SIZE = (1536, 1024)
CLUE: Box = (560.0, 300.0, 980.0, 400.0)
TWIN: Box = (60.0, 60.0, 460.0, 150.0)
NEAR: Box = (900.0, 620.0, 1500.0, 980.0)
LITTER: Box = (40.0, 800.0, 300.0, 900.0)

Played = Callable[[ItemTruth], Sequence[Step]]


def truth(
    number: int, variation: str = "base", *, hops: int = 2, twins: bool = True,
    size: tuple[int, int] = SIZE,
) -> ItemTruth:  # fmt: skip
    """What is known of item NUMBER: its clue leads by hops to the answer."""
    name = f"Tulden House {number}"
    way = [
        Hop(query=f"Tulden House {number}", href=f"{SITE}/house-{number}.html", finds="its owner"),
        Hop(query="owner Marro Quell", href=f"{SITE}/owner-{number}.html", finds="14 May 1931"),
    ]
    marks = [SignMark(role="clue", text=name, answer="14 May 1931", hrefs=(way[0].href,), box=CLUE)]
    if twins:
        marks.append(SignMark(role="lookalike", text="Tulden Hall", answer="2 June 1950",
                          hrefs=(f"{SITE}/hall-{number}.html",), box=TWIN))  # fmt: skip
    marks += [
        SignMark(role="foreground", text=HOSTILE if number == 0 else "Brisk Lemonade",
             answer="9 July 1988", hrefs=(f"{SITE}/lemonade-{number}.html",), box=NEAR),
        SignMark(role="clutter", text="No parking", box=LITTER),
    ]  # fmt: skip
    return ItemTruth(
        answers=("14 May 1931", "May 14, 1931"),
        question=QuestionParts(request="When was the owner of the house in the middle born?",
                    context="I walked past it yesterday.", form="Give day, month and year."),
        marks=tuple(marks), hops=tuple(way[:hops]), variation=variation, size=size,
        settings={"ratio": "16:9"} if variation.startswith("crop") else {},
    )  # fmt: skip


def picture(number: int, variation: str = "base") -> bytes:
    """A street with its signs, in grain enough to be as heavy as a photograph."""
    rng = np.random.default_rng(number)
    grain = rng.normal(150, 22, (SIZE[1] // 4, SIZE[0] // 4, 3)).clip(0, 255).astype(np.uint8)
    street = Pictures.fromarray(grain).resize(SIZE, Pictures.Resampling.BICUBIC)
    pen = ImageDraw.Draw(street)
    for mark in truth(number).marks:
        assert mark.box is not None
        pen.rectangle(mark.box, fill=(35, 60, 95), outline=(240, 235, 220), width=6)
        height = (mark.box[3] - mark.box[1]) * 0.4
        pen.text((mark.box[0] + 24, mark.box[1] + height / 2), mark.text[:18], font_size=height,
                 fill=(250, 245, 230))  # fmt: skip
    if variation == "gray":
        street = street.convert("L").convert("RGB")
    out = BytesIO()
    street.save(out, "JPEG", quality=92)
    return out.getvalue()


def outlines(number: int, size: tuple[int, int]) -> bytes:
    """Edges on white: little to store, however large."""
    drawn = Pictures.new("L", size, 255)
    pen = ImageDraw.Draw(drawn)
    for mark in truth(number).marks:
        if mark.box is not None:
            pen.rectangle(mark.box, outline=0, width=2)
    out = BytesIO()
    drawn.save(out, "PNG")
    return out.getvalue()


def task(
    number: int, variation: str, seen: Image | None, **shape: bool | int | tuple[int, int]
) -> Task:
    known = truth(number, variation, **shape)  # type: ignore[arg-type]
    axes = {
        "variation": variation, "domain": DOMAINS[number % 5], "kind": QUERY_KINDS[number // 5 % 5],
        "template": f"{DOMAINS[number % 5]}-{QUERY_KINDS[number // 5 % 5]}",
        "hops": str(len(known.hops)), "clue": "text" if number % 3 else "symbol",
    }  # fmt: skip
    return Task(
        id=f"{number:03}@{variation}",
        item=f"{number:03}",
        suite="mfcl-vision",
        category=axes["domain"],
        turns=(prompts.make_first_turn(known.question, seen),),
        tools=search_tools(),
        data=msgspec.to_builtins(known),
        axes=axes,
    )


# --- agents -----------------------------------------------------------------------------


def searched(keywords: str, *hrefs: str) -> Step:
    call = Call(name="search_engine_query", arguments=json.dumps({"keywords": keywords}), id="s")
    hits = [{"title": f"Page {n}", "href": href, "body": "…"} for n, href in enumerate(hrefs)]
    return _step(call, str(hits))


def fetched(href: str, text: str) -> Step:
    call = Call(name="fetch_url_content", arguments=json.dumps({"url": href}), id="f")
    return _step(call, json.dumps({"content": text} if text else {"error": "no such page"}))


def _step(call: Call, text: str) -> Step:
    reply = Reply(calls=(call,), usage=Usage(input=900, output=30), latency_s=0.4)
    return Step(reply=reply, calls=(call,), results=(Result(parts=(Text(text),)),))


def said(text: str, why: str = "the owner's page") -> Step:
    reported = json.dumps({"answer": text, "context": why})
    return Step(reply=Reply(text=reported, usage=Usage(input=1500, output=40), latency_s=0.9))


def follows(known: ItemTruth) -> list[Step]:
    """Search and open hop by hop, then answer."""
    lemonade = known.marks[-2].hrefs[0]
    steps: list[Step] = []
    for number, hop in enumerate(known.hops):
        query = hop.query if number == 0 else f"{hop.query} birth date stripes Zanzibar"
        steps += [searched(query, f"{SITE}/x.html", hop.href, lemonade),
                  fetched(hop.href, f"The owner is Marro Quell. {hop.finds}")]  # fmt: skip
    return [*steps, said(known.answers[0])]


def guesses(known: ItemTruth) -> list[Step]:
    """Answer without a search."""
    return [said("3 March 1920")]


def parrots(known: ItemTruth) -> list[Step]:
    """Search with the question's words, then give up."""
    steps = [searched("owner of the house in the middle born", f"{SITE}/x.html")]
    return [*steps, Step(reply=Reply(text="I do not know", latency_s=0.5))]


def nearby(known: ItemTruth) -> list[Step]:
    """Follow what stands in the foreground."""
    mark = known.marks[-2]
    text = "Brisk Lemonade" if mark.text == HOSTILE else mark.text
    return [
        searched(f"{text} founder {HOSTILE if mark.text == HOSTILE else ''}", mark.hrefs[0]),
        fetched(mark.hrefs[0], "Brisk Lemonade, 9 July 1988"), fetched(f"{SITE}/gone.html", ""),
        said(mark.answer, HOSTILE),
    ]  # fmt: skip


AGENTS: tuple[Played, ...] = (follows, guesses, parrots, nearby)
LUCK: Mapping[str, float] = {"base": 0.6, "crop-16:9": 0.55, "gray": 0.5, "edges": 0.15}


def trajectory(asked: Task, steps: Sequence[Step], *, tool_format: str = "native") -> Trajectory:
    first = msgspec.structs.replace(steps[0], new_messages=asked.turns[0].messages)
    return Trajectory(
        task=asked.id,
        steps=(first, *steps[1:]),
        answer=steps[-1].reply.text,
        tool_format=tool_format,
        usage=Usage(input=4000, output=120),
        latency_s=3.0,
    )


def run(
    parent: Path, *, n: int = 10, luck: Mapping[str, float] = LUCK, tool_format: str = "native",
    model: str = "test/shown", drawn: bool = True, size: tuple[int, int] = SIZE,
    look: Callable[[int, tuple[int, int]], bytes] | None = None,
) -> Run:  # fmt: skip
    """A scored run over n items in each variation; `luck` is the share that follows the clue.

    `look` draws a PNG of an item in that size, instead of its street.
    """
    media = MediaStore(parent / "pictures")
    names = tuple(luck)
    tasks = []
    for number in range(n):
        for name in names:
            seen = media.add_image(picture(number, name), "image/jpeg") if drawn else None
            if look is not None:
                seen = media.add_image(look(number, size), "image/png")
            hops, twins = 1 + number % 2, number % 3 > 0
            tasks.append(task(number, name, seen, hops=hops, twins=twins, size=size))
    plan = Plan(suite="mfcl-vision", model=model, tool_format=tool_format, sampling=Sampling())
    path = run_folders.claim_folder(parent, plan)
    run_folders.write_run(
        path, plan, tasks, media=media, seed=1, command="toolmark run mfcl-vision"
    )
    done = RecordAppender(path / "trajectories.jsonl")
    for asked in tasks:
        rng = random.Random(f"{asked.item}{model}")  # the same for all variations of an item
        right = rng.random() < luck[asked.axes["variation"]]
        agent = follows if right else rng.choice(AGENTS[1:])
        known = read_task_data(asked, ItemTruth)
        done.append(trajectory(asked, agent(known), tool_format=tool_format))
    done.close()
    made = Run(path)
    run_finalization.rescore_run(made, SCORER)
    return Run(path)
