"""BFCL, memory with its set-up sessions, and web search on pages in a folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tests.golden import suites
from tests.golden.damage import Damaged, Maker
from tests.golden.paths import Json
from tests.golden.suites import DAMAGED, WIRE, Play

from toolmark.core.model import ReplyFunction
from toolmark.core.records import Call, Reply, Request, Task

MEMORY = ["memory_kv", "memory_rec_sum"]
PAGES = {
    "rivers": "<h1>Rivers</h1><p>The longest river of the world is a matter of dispute.</p>",
    "mayors": "<h1>Mayors</h1><p>In 2024 the city elected a new mayor, who was born in 1971.</p>",
    "films": "<h1>Films</h1><p>The film won an award in 2023 for its director.</p>"
    "<p><a href='http://www.example.com/mayors'>mayors</a></p>",
}


def searching(oracle: Maker) -> Maker:
    """Return an oracle that searches and reads two pages before it answers."""

    def make(task: Task, repeat: int, options: Mapping[str, str]) -> ReplyFunction:
        asked = 0
        words = task.turns[-1].messages[-1].text.split()
        page = "http://www.example.com/films"
        calls = [
            ("search_engine_query", {"keywords": " ".join(words[:12]), "max_results": 3}),
            ("fetch_url_content", {"url": page, "mode": ("raw", "markdown", "truncate")[repeat]}),
            ("fetch_url_content", {"url": "http://www.example.com/nowhere", "mode": "truncate"}),
            ("search_engine_query", {"keywords": "mayors of 2024", "max_results": "3"}),
        ]

        async def play(request: Request, /) -> Reply:
            nonlocal asked
            asked += 1
            if asked <= len(calls):
                name, given = calls[asked - 1]
                return Reply(calls=(Call(name=name, arguments=json.dumps(given), id=f"c{asked}"),))
            return await oracle(task, repeat, options)(request)

        return play

    return make


def record(folder: Path) -> dict[str, Json]:
    for name, body in PAGES.items():
        place = folder / "pages" / "www.example.com" / f"{name}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"<html><head><title>{name}</title></head><body>{body}</body></html>")
    (folder / "tmp").mkdir()
    corpus = f"corpus:{folder / 'pages'}"
    memory = suites.played(
        folder, "bfcl", {"category": MEMORY},
        {
            "memory-oracle": Play("control/oracle", settings={"sample": 4}, requests=True),
            "memory-null": Play("control/null", settings={"sample": 4}),
            "memory-faulty": Play(
                "control/faulty?class=wrong_value&rate=0.6", settings={"sample": 6}
            ),
            "memory-damaged": Play(DAMAGED, settings={"sample": 12}),
            "memory-wire": Play(WIRE, {"category": ["memory_kv"]}, {"limit": 1}),
        },
    )  # fmt: skip
    web = suites.played(
        folder, "bfcl", {"category": ["web_search"], "search": corpus},
        {
            "web-oracle": Play("control/oracle", settings={"sample": 4}, tasks=True, requests=True),
            "web-null": Play("control/null", settings={"sample": 4}),
            "web-damaged": Play(DAMAGED, settings={"sample": 12}),
            "web-searching": Play("", settings={"sample": 2, "repeats": 3},
                                  make=lambda own: Damaged(searching(own), 0.0)),
        },
    )  # fmt: skip
    unplayable = suites.played(
        folder, "bfcl", {"category": ["memory_vector", "memory_kv"], "encoder": "no-such-encoder"},
        {"memory-missing": Play("control/oracle", settings={"sample": 4})},
    )  # fmt: skip
    return memory | web | unplayable
