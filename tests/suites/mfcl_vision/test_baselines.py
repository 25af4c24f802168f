"""Agents that need no model: real recognition of drawn lettering, then a search for the answer."""

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
from toolmark.core import external_commands
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Limits, Message, Sampling, Task, Text, Tool, Turn
from toolmark.environments.page_corpus import PageCorpus
from toolmark.environments.search_environment import SearchEnvironment, search_tools
from toolmark.formats.native_format import NativeFormat
from toolmark.suites.mfcl_vision.baselines import (
    fact_search,
    page_facts,
    question_analysis,
    sign_candidates,
    text_recognition,
)
from toolmark.suites.mfcl_vision.baselines.search_agents import (
    UNKNOWN_ANSWER,
    BlindSearchAgent,
    TextSearchAgent,
)
from toolmark.suites.model_registry import make_model

BOLD = ImageFont.truetype("DejaVuSans-Bold.ttf", 44)
PLAIN = ImageFont.truetype("DejaVuSans.ttf", 24)
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


def link(name: str) -> str:
    return f'<a href="/{name.lower().replace(" ", "-")}">{name}</a>'


PAGES = (
    leaf("Varnholt Museum", ("City", link("Torvel")), ("Architect", link("Ila Brendt")),
         ("Opened", "14 March 1987"), ("Exhibits", "3,215")),
    leaf("Varnholt Theatre", ("City", link("Ostrim")), ("Architect", link("Jor Maskel")),
         ("Opened", "2 May 1991"), ("Seats", "1,410")),
    leaf("Ila Brendt", ("Born", "3 June 1944"), ("Birthplace", link("Kessin"))),
    leaf("Jor Maskel", ("Born", "19 July 1951"), ("Birthplace", link("Torvel"))),
    leaf("Torvel", ("Population", "48,120"), ("Mayor", "Anke Sorrel")),
    leaf("Ostrim", ("Population", "61,905"), ("Mayor", "Pell Dunmore")),
    leaf("Kessin", ("Population", "120,400"), ("Mayor", "Hale Orvig")),
)  # fmt: skip


def drawn(*said: tuple[str, tuple[int, int], str, str]) -> bytes:
    """Return a PNG with lettering: words, place, colour of the ground, colour of the letters."""
    image = Image.new("RGB", (1100, 700), "#9fb4c8")
    pen = ImageDraw.Draw(image)
    for words, (x, y), ground, ink in said:
        left, top, right, bottom = pen.textbbox((x, y), words, font=BOLD)
        pen.rectangle((left - 20, top - 14, right + 20, bottom + 14), fill=ground)
        pen.text((x, y), words, font=BOLD, fill=ink)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


MUSEUM = drawn(("Varnholt Museum", (120, 300), "#8e2433", "#fff4dc"))
BOTH = drawn(
    ("Varnholt Museum", (60, 200), "#8e2433", "#fff4dc"),
    ("Varnholt Theatre", (620, 420), "#f4ecd0", "#20324a"),
)


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
    world = SearchEnvironment(tools, PageCorpus(pages), snippets=True, parted=parted)
    done = asyncio.run(run_tool_loop(task, model, NativeFormat(), world, Sampling()))
    return done.answer


@pytest.fixture
def media(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MediaStore:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))
    return MediaStore(tmp_path / "media")


QUESTIONS = [
    ("When did the building in the picture open?", "14 March 1987"),
    ("How many exhibits does this museum have?", "3,215"),
    ("Who designed it?", "Ila Brendt"),
    ("In which city was the architect of this building born?", "Kessin"),
    ("How large is the population of the city in which its architect was born?", "120,400"),
]


@pytest.mark.parametrize(("asked", "wanted"), QUESTIONS)
def test_reads_the_sign_searches_and_follows_links(
    asked: str, wanted: str, media: MediaStore
) -> None:
    said = json.loads(answer(TextSearchAgent(media), asked, MUSEUM, media))
    assert said["answer"] == wanted
    assert said["context"].startswith("Varnholt Museum")


MANY = (
    *(leaf(f"{name} Museum", ("City", name), ("Architect", f"{name} Brendt"),
           ("Opened", f"{n + 3} May 1990"), ("Exhibits", f"{n + 4},215"))
      for n, name in enumerate(("Orvane", "Halsk", "Tembrin", "Quell", "Sundra", "Pargo"))),
    *PAGES,
)  # fmt: skip


@pytest.mark.parametrize(("asked", "wanted"), QUESTIONS[:3])
def test_without_the_picture_nothing_of_it_is_known(
    asked: str, wanted: str, media: MediaStore
) -> None:
    said = answer(BlindSearchAgent(), asked, MUSEUM, media, MANY)
    assert said == UNKNOWN_ANSWER or json.loads(said)["answer"] != wanted
    assert (
        json.loads(answer(TextSearchAgent(media), asked, MUSEUM, media, MANY))["answer"] == wanted
    )


def test_a_query_in_parts_is_asked_too(media: MediaStore) -> None:
    asked, wanted = QUESTIONS[3]
    said = answer(TextSearchAgent(media), asked, MUSEUM, media, tools=search_tools(parted=True))
    assert json.loads(said)["answer"] == wanted


def test_the_same_request_gets_the_same_reply(media: MediaStore) -> None:
    asked, _ = QUESTIONS[4]
    one, two = (answer(TextSearchAgent(media), asked, BOTH, media) for _ in range(2))
    assert one == two


def test_without_tools_it_answers_with_what_is_written(media: MediaStore) -> None:
    said = answer(TextSearchAgent(media), "Who is named on the right?", BOTH, media, tools=())
    assert json.loads(said)["answer"] == "Varnholt Theatre"


@pytest.mark.parametrize(("side", "wanted"), [("left", "14 March 1987"), ("right", "2 May 1991")])
def test_takes_the_sign_that_the_question_means(side: str, wanted: str, media: MediaStore) -> None:
    asked = f"Several signs can be seen. When did the building on the {side} open?"
    assert json.loads(answer(TextSearchAgent(media), asked, BOTH, media))["answer"] == wanted


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("I mean the one that opened first. Who was its architect?", "Ila Brendt"),
        ("I mean the one that opened last. Who was its architect?", "Jor Maskel"),
        ("Take the one that is the newest. In which city is it?", "Ostrim"),
    ],
)
def test_chooses_among_signs_by_what_the_pages_say(
    asked: str, wanted: str, media: MediaStore
) -> None:
    assert json.loads(answer(TextSearchAgent(media), asked, BOTH, media))["answer"] == wanted


def test_a_picture_without_words_is_searched_by_the_question_alone(media: MediaStore) -> None:
    bare = drawn()
    assert answer(TextSearchAgent(media), "When did it open?", bare, media) == answer(
        BlindSearchAgent(), "When did it open?", bare, media
    )


def test_both_are_found_by_name(media: MediaStore) -> None:
    assert isinstance(make_model("baseline/ocr-search", media=media), TextSearchAgent)
    assert isinstance(make_model("baseline/blind", media=media), BlindSearchAgent)
    with pytest.raises(UsageError, match="ocr-search wants pictures"):
        make_model("baseline/ocr-search")


# --- reading pictures ---------------------------------------------------------------------


def test_light_and_dark_large_and_small_letters_are_read(media: MediaStore) -> None:
    image = Image.open(BytesIO(BOTH))
    ImageDraw.Draw(image).text((640, 90), "Kestrel Lane", font=PLAIN, fill="black")
    out = BytesIO()
    image.save(out, "PNG")
    page = text_recognition.Tesseract().read(out.getvalue(), "a picture")
    assert {line.text for line in page.lines} == {
        "Varnholt Museum", "Varnholt Theatre", "Kestrel Lane",
    }  # fmt: skip
    assert page.size == (1100, 700)
    left, top, right, bottom = next(x.box for x in page.lines if x.text == "Varnholt Museum")
    assert 50 < left < 80 and 190 < top < 240 and 420 < right < 560 and 230 < bottom < 280


def test_a_picture_is_read_once(media: MediaStore, monkeypatch: pytest.MonkeyPatch) -> None:
    first = text_recognition.Tesseract(looks=text_recognition.RECOGNITION_PASSES[:1])
    page = first.read(MUSEUM, "one")
    version = first.version
    monkeypatch.setattr(
        external_commands, "run_command", lambda *_, **__: f"{version}\n"
    )  # it reads nothing
    assert (
        text_recognition.Tesseract(looks=text_recognition.RECOGNITION_PASSES[:1]).read(
            MUSEUM, "one"
        )
        == page
    )
    with pytest.raises(OSError, match=r"words\.tsv"):
        text_recognition.Tesseract(looks=text_recognition.RECOGNITION_PASSES[:2]).read(
            MUSEUM, "one"
        )


def test_a_torn_cache_is_read_anew(media: MediaStore, tmp_path: Path) -> None:
    eyes = text_recognition.Tesseract(looks=text_recognition.RECOGNITION_PASSES[:1])
    page = eyes.read(MUSEUM, "one")
    (kept,) = (tmp_path / "cache" / "ocr").rglob("*.json")
    kept.write_bytes(kept.read_bytes()[:-9])
    assert eyes.read(MUSEUM, "one") == page


@pytest.mark.parametrize("data", [b"", MUSEUM[:200], b"no picture at all"])
def test_bad_pictures_are_refused_by_name(data: bytes, media: MediaStore) -> None:
    with pytest.raises(DataError, match=r"^shelf\.png: "):
        text_recognition.Tesseract().read(data, "shelf.png")


def test_the_smallest_picture_holds_no_words(media: MediaStore) -> None:
    out = BytesIO()
    Image.new("RGB", (1, 1)).save(out, "PNG")
    assert text_recognition.Tesseract().read(out.getvalue(), "dot.png").lines == ()


def test_a_missing_recogniser_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UsageError, match="tesseract is not installed: apt-get install"):
        TextSearchAgent(MediaStore(Path()))


LINES = st.lists(
    st.builds(
        lambda x, y, wide, high, sure, text: text_recognition.TextLine(
            text=text, sure=sure, box=(x, y, x + wide, y + high)
        ),
        st.integers(0, 900), st.integers(0, 600), st.integers(1, 200), st.integers(1, 60),
        st.floats(0.3, 1), st.text("abc XY", min_size=1),
    ),
    max_size=12,
)  # fmt: skip


@given(LINES)
def test_merging_keeps_one_reading_of_each_place_and_is_stable(
    lines: list[text_recognition.TextLine],
) -> None:
    once = text_recognition.merge_lines(lines)
    assert set(once) <= set(lines)
    assert text_recognition.merge_lines(once) == once
    assert bool(once) == bool(lines)


@given(LINES)
def test_signs_lie_in_the_picture_and_are_ranked(lines: list[text_recognition.TextLine]) -> None:
    found = sign_candidates.find_candidates(
        text_recognition.RecognisedText(size=(1100, 660), lines=tuple(lines))
    )
    assert all(0 <= sign.x <= 1 and 0 <= sign.y <= 1 and 0 <= sign.plain <= 1 for sign in found)
    assert [sign.plain for sign in found] == sorted((x.plain for x in found), reverse=True)


def test_lines_below_each_other_are_one_sign_and_those_beside_are_not() -> None:
    def line(text: str, left: int, top: int) -> text_recognition.TextLine:
        return text_recognition.TextLine(text=text, sure=0.9, box=(left, top, left + 200, top + 40))

    page = text_recognition.RecognisedText(
        size=(1000, 600),
        lines=(line("Varnholt", 50, 100), line("Museum", 60, 150), line("Kestrel", 500, 130)),
    )
    found = [sign.text for sign in sign_candidates.find_candidates(page)]
    assert found[:2] in (["Varnholt Museum", "Kestrel"], ["Kestrel", "Varnholt Museum"])
    assert {"Varnholt", "Museum"} <= set(found)


# --- reading questions and pages ----------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "want", "fits", "not_fits"),
    [
        ("When did it open?", "date", "14 March 1987", "Torvel"),
        ("How many seats does it have?", "number", "1,410", "14 March 1987"),
        ("In which city does it stand?", "place", "Torvel", "1,410"),
        ("Who built it?", "name", "Ila Brendt", "3,215"),
        ("I took this on a day out. Who built it?", "name", "Ila Brendt", "2 May 1991"),
    ],
)
def test_what_is_wanted(asked: str, want: str, fits: str, not_fits: str) -> None:
    read = question_analysis.analyse_question(asked)
    assert read.answer_kind == want
    assert question_analysis.is_of_kind(fits, read.answer_kind)
    assert not question_analysis.is_of_kind(not_fits, read.answer_kind)


@pytest.mark.parametrize(
    ("less", "more"),
    [("3 May 1990", "2 June 1990"), ("1 January 2001", "1 January 2002"), ("950", "1,410 seats")],
)
def test_values_are_put_in_order(less: str, more: str) -> None:
    one, two = question_analysis.value_order(less), question_analysis.value_order(more)
    assert one is not None and two is not None and one < two


@given(st.text(max_size=60))
def test_no_value_is_beyond_ordering(text: str) -> None:
    assert (
        question_analysis.value_order(text) is None
        or question_analysis.is_of_kind(text, "date")
        or text.strip()
    )


def test_facts_of_a_page_keep_their_links() -> None:
    page = page_facts.read_page_facts(
        "# Varnholt Museum\n\nIt was built by [Ila Brendt](/ila-brendt) in 1987.\n\n"
        "* **City**: [Torvel](/torvel)\n* Opened: 14 March 1987\n\n| Seats | 1,410 |\n",
        "https://web.example/varnholt-museum",
    )
    assert page.title == "Varnholt Museum"
    facts = {fact.value: fact for fact in page.facts}
    assert facts["Torvel"].label == "City"
    assert facts["Torvel"].href == "https://web.example/torvel"
    assert facts["14 March 1987"].label == "Opened"
    assert facts["1,410"].label == "Seats"
    assert facts["Ila Brendt"].href == "https://web.example/ila-brendt"
    assert facts["Ila Brendt"].said.split() == ["It", "was", "built", "by", "in", "1987."]


def test_a_fact_knows_the_sentence_that_tells_it() -> None:
    page = page_facts.read_page_facts(
        "# Varnholt Arch\n\nIt was paid for by Nelvik. It is of 3,215 stones.\n\n"
        "* Donor: Nelvik\n* Blocks: 3,215 stones\n",
        "https://web.example/varnholt-arch",
    )
    said = {fact.label: " ".join(fact.said.split()) for fact in page.facts}
    assert said == {"Donor": "It was paid for by .", "Blocks": "It is of stones."}


@given(st.text(max_size=300))
def test_no_page_is_beyond_reading(text: str) -> None:
    assert isinstance(page_facts.read_page_facts(text, "https://web.example/x").facts, tuple)


@pytest.mark.parametrize(
    ("words", "title", "like"),
    [
        ("Varnholt Museum", "Varnholt Museum", True),
        ("Varnhoit Museum", "Varnholt Museum", True),
        ("VARNHOLT MUSEUM OPEN DAILY", "Varnholt Museum", True),
        ("Varnholt Museum", "Kestrel Lane", False),
        ("OPEN DAILY", "Varnholt Museum", False),
        ("", "Varnholt Museum", False),
    ],
)
def test_titles_are_known_through_misread_letters(words: str, title: str, like: bool) -> None:
    assert (fact_search.likeness(words, title) >= fact_search.MIN_TITLE_LIKENESS) is like


@pytest.mark.parametrize("n", [590, 601, 900, 1900])
def test_a_link_leads_where_it_says_or_nowhere(n: int) -> None:
    href = f"https://web.example/{'a' * n}"
    for title in ("", ' "Torvel"'):
        page = page_facts.read_page_facts(
            f"# Varnholt\n\n* City: [Torvel]({href}{title})\n", "https://web.example/"
        )
        assert [fact.href for fact in page.facts] == [href]
    far = page_facts.read_page_facts(
        f"* City: [Torvel]({href}{'a' * 2000})\n", "https://web.example/"
    )
    assert [fact.href for fact in far.facts] == [""]


@pytest.mark.parametrize("blank", ["", " ", "\t", "\xa0"])
def test_a_rule_between_rows_is_no_fact(blank: str) -> None:
    rows = (("City", "Torvel"), ("---", ":---"), ("Opened", "1987"))
    text = "\n".join(f"|{blank}{one}{blank}|{blank}{two}{blank}|" for one, two in rows)
    assert [fact[:2] for fact in page_facts.read_page_facts(text, "").facts][:2] == [
        rows[0],
        rows[2],
    ]


def test_a_label_may_be_one_letter() -> None:
    assert page_facts.read_page_facts("* b: blue\n* c : red\n", "").facts[:2] == (
        page_facts.PageFact("b", "blue"), page_facts.PageFact("c", "red"),
    )  # fmt: skip
