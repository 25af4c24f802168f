"""Agents that need no model: one search, one page, one answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Limits, Message, Sampling, Task, Text, Tool, Turn
from toolmark.environments.page_corpus import PageCorpus
from toolmark.environments.search_environment import SearchEnvironment, search_tools
from toolmark.formats.native_format import NativeFormat
from toolmark.suites.mfcl_vision.final_answer import UNKNOWN
from toolmark.suites.mfcl_vision.search_baselines import (
    BlindSearchAgent,
    TextSearchAgent,
    best_answer,
)
from toolmark.suites.model_registry import make_model

BOLD = ImageFont.truetype("DejaVuSans-Bold.ttf", 44)
TOOLS = search_tools()


class Leaf(NamedTuple):
    href: str
    title: str
    html: str
    text: str = ""


def leaf(name: str, *facts: tuple[str, str]) -> Leaf:
    rows = "".join(f"<li>{label}: {value}</li>" for label, value in facts)
    html = f"<html><title>{name}</title><h1>{name}</h1><p>About it.</p><ul>{rows}</ul></html>"
    return Leaf(f"https://web.example/{name.lower().replace(' ', '-')}", name, html)


PAGES = (
    leaf("Varnholt Museum", ("City", '<a href="/torvel">Torvel</a>'), ("Architect", "Ila Brendt"),
         ("Opened", "14 March 1987"), ("Exhibits", "3,215")),
    leaf("Ostrim Theatre", ("City", "Ostrim"), ("Architect", "Jor Maskel"),
         ("Opened", "2 May 1991"), ("Exhibits", "1,410")),
)  # fmt: skip


def drawn(words: str = "") -> bytes:
    """Return a PNG with these words on it."""
    image = Image.new("RGB", (1100, 700), "#9fb4c8")
    ImageDraw.Draw(image).text((120, 300), words, font=BOLD, fill="black")
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


MUSEUM = drawn("Varnholt Museum")


def answer(
    model: Model,
    asked: str,
    picture: bytes,
    media: MediaStore,
    pages: Sequence[Leaf] = PAGES,
    tools: tuple[Tool, ...] = TOOLS,
) -> str:
    parts = (media.add_image(picture, "image/png"), Text(asked))
    task = Task(
        id="one", suite="own", tools=tools, limits=Limits(steps=12),
        turns=(Turn(messages=(Message(role="user", parts=parts),)),),
    )  # fmt: skip
    parted = bool(tools) and "query_text" in tools[0].parameters["properties"]
    world = SearchEnvironment(tools, PageCorpus(pages), snippets=True, takes_parts=parted)
    done = asyncio.run(run_tool_loop(task, model, NativeFormat(), world, Sampling()))
    return done.answer


@pytest.fixture
def media(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path / "media")


QUESTIONS = [
    ("When was it opened?", "14 March 1987"),
    ("How many exhibits are there?", "3,215"),
    ("What is the name of its architect?", "Ila Brendt"),
    ("In which city is it?", "Torvel"),
]


@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize(("asked", "wanted"), QUESTIONS)
def test_the_words_of_the_picture_are_searched_for(
    asked: str, wanted: str, parted: bool, media: MediaStore
) -> None:
    tools = search_tools(takes_parts=parted)
    said = answer(TextSearchAgent(media), asked, MUSEUM, media, tools=tools)
    assert json.loads(said)["answer"] == wanted


def test_without_the_picture_the_page_is_not_found(media: MediaStore) -> None:
    for asked, wanted in QUESTIONS:
        said = answer(BlindSearchAgent(), asked, MUSEUM, media, PAGES[::-1])
        assert said == UNKNOWN or json.loads(said)["answer"] != wanted


def test_a_picture_without_words_is_searched_by_the_question_alone(media: MediaStore) -> None:
    asked = "When was the Ostrim Theatre opened?"
    said = answer(TextSearchAgent(media), asked, drawn(), media)
    assert said == answer(BlindSearchAgent(), asked, drawn(), media)
    assert json.loads(said)["answer"] == "2 May 1991"


def test_what_it_cannot_find_it_does_not_know(media: MediaStore) -> None:
    for model in (TextSearchAgent(media), BlindSearchAgent()):
        assert answer(model, "Whose waltz rhymes?", drawn(), media) == UNKNOWN
        assert answer(model, QUESTIONS[0][0], MUSEUM, media, tools=()) == UNKNOWN


def test_both_are_found_by_name(media: MediaStore) -> None:
    assert isinstance(make_model("baseline/ocr-search", media=media), TextSearchAgent)
    assert isinstance(make_model("baseline/blind", media=media), BlindSearchAgent)
    with pytest.raises(UsageError, match="ocr-search wants pictures"):
        make_model("baseline/ocr-search")


@pytest.mark.parametrize("data", [MUSEUM[:200], b"no picture at all"])
def test_bad_pictures_are_refused_by_name(data: bytes, media: MediaStore) -> None:
    with pytest.raises(DataError, match=r"^picture \w+: "):
        answer(TextSearchAgent(media), "What is it?", data, media)


def test_a_missing_recogniser_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="tesseract is not installed: apt-get install"):
        TextSearchAgent(MediaStore(Path()))


@given(st.text(max_size=300), st.text(max_size=50))
def test_no_page_is_beyond_reading(page: str, question: str) -> None:
    said = best_answer(page, question)
    assert said == UNKNOWN or json.loads(said)["answer"] in page
