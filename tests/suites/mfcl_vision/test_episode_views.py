"""One vision episode to look at: in the run's data, as drawings, and in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect
from tests.suites.mfcl_vision import vision_run

from toolmark.core.media import MediaStore
from toolmark.core.records import Drawing, Image, Step, Table, Task
from toolmark.core.task_data import read_task_data
from toolmark.reports import embedded_pictures, episode_block, html_report
from toolmark.runs.run_store import Run
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_vision import episode_views, failure_modes, query_words
from toolmark.suites.mfcl_vision.episode_actions import extract_actions
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark, choice_candidates

SVG = "{http://www.w3.org/2000/svg}"
SEEN = Image(sha256="a" * 64, mime="image/jpeg", size_bytes=9)


def made(
    agent: vision_run.Played, number: int = 1, **shape: bool | int
) -> dict[str, Table | Drawing]:
    asked = vision_run.task(number, "base", SEEN, **shape)
    steps = agent(read_task_data(asked, ItemTruth))
    found = episode_views.build_views(Episode(asked, vision_run.trajectory(asked, steps)))
    return {each.title: each for each in found}


def drawn(view: Table | Drawing) -> ElementTree.Element:
    assert isinstance(view, Drawing)
    return ElementTree.fromstring(view.svg)


def cells(view: Table | Drawing) -> list[tuple[str, ...]]:
    assert isinstance(view, Table)
    return [tuple(map(str, row)) for row in view.rows]


def pairs(view: Table | Drawing) -> dict[str, str]:
    return {row[0]: row[1] for row in cells(view)}


# --- the views --------------------------------------------------------------------------


def test_every_sign_has_its_box_where_it_is_and_the_clue_lies_above() -> None:
    view = made(vision_run.follows)["The picture as the model saw it (base)"]
    root = drawn(view)
    assert isinstance(view, Drawing) and view.background == SEEN
    assert root.get("viewBox") == "0 0 1536 1024"
    roles = ["clutter", "foreground", "lookalike", "clue"]
    boxes = [box for box in root.iter(f"{SVG}rect") if box.get("class") in roles]
    assert [box.get("class") for box in boxes] == roles
    left, top, right, bottom = vision_run.CLUE
    place = [float(boxes[-1].get(name, "")) for name in ("x", "y", "width", "height")]
    assert place == [left, top, right - left, bottom - top]
    named = [text.text for text in root.iter(f"{SVG}text")]
    assert named == [
        "foreground: Brisk Lemonade",
        "look-alike: Tulden Hall",
        "clue: Tulden House 1",
    ]


@given(st.tuples(*[st.integers(-50, 1600)] * 4), st.text(max_size=60))
def test_no_name_of_a_sign_leaves_the_picture(box: tuple[int, int, int, int], text: str) -> None:
    left, top, right, bottom = box
    mark = SignMark(role="clue", text=text, box=(left, top, right, bottom))
    root = ElementTree.fromstring(
        episode_views.draw_sign_boxes([(mark, mark.box or vision_run.CLUE)], vision_run.SIZE)
    )
    (plate,) = (each for each in root.iter(f"{SVG}rect") if each.get("class") == "n")
    x, y, wide, high = (float(plate.get(name, "")) for name in ("x", "y", "width", "height"))
    assert x >= 0 and y >= 0 and y + high <= vision_run.SIZE[1] + 1
    assert wide > vision_run.SIZE[0] or x + wide <= vision_run.SIZE[0] + 1


def test_without_boxes_or_a_picture_there_is_no_drawing_of_it() -> None:
    known = vision_run.truth(1)
    bare = msgspec.structs.replace(
        known, marks=tuple(msgspec.structs.replace(mark, box=None) for mark in known.marks)
    )
    steps = vision_run.follows(known)
    for collected, seen in ((bare, SEEN), (known, None)):
        asked = msgspec.structs.replace(
            vision_run.task(1, "base", seen), data=msgspec.to_builtins(collected)
        )
        titles = [
            view.title
            for view in episode_views.build_views(
                Episode(asked, vision_run.trajectory(asked, steps))
            )
        ]
        assert not any("picture as the model" in title for title in titles)
    published = ItemTruth(answers=("Paris",), question=known.question, variation="base")
    asked = Task(id="p", suite="mfcl-vision", turns=(), data=msgspec.to_builtins(published))
    found = episode_views.build_views(
        Episode(asked, vision_run.trajectory(vision_run.task(1, "base", SEEN), steps))
    )
    assert [view.title for view in found] == ["Question and answer", "Queries", "Pages opened"]


@given(
    st.lists(
        st.text(alphabet=st.sampled_from("aZé's ŉ¨ßΣ\u0345ﬁ ,.-½ \u00a0of the"), max_size=40),
        min_size=1,
        max_size=3,
    )
)
def test_every_word_of_a_query_keeps_its_own_origin(texts: list[str]) -> None:
    asked = vision_run.task(1, "base", SEEN)
    steps = [vision_run.searched(text) for text in texts] + [vision_run.said("x")]
    known, track = (
        vision_run.truth(1),
        extract_actions(vision_run.trajectory(asked, steps)),
    )
    collected = {
        id(query): [source for _, source in reported]
        for query, reported in failure_modes.query_word_origins(known, track)
    }
    for query, line in zip(
        track.queries, episode_views.words_with_origins(known, track), strict=True
    ):
        assert [word.text for word in line] == query.text.split()
        sources = iter(collected.get(id(query), []))
        for word in line:
            taken = [next(sources) for _ in query_words.split_content_words(word.text)]
            assert word.origin == (taken[0] if taken else "")
        assert next(sources, None) is None, "none is left over"


def test_words_are_marked_by_where_they_come_from() -> None:
    root = drawn(made(vision_run.follows)["Queries"])
    reported: dict[str, set[str]] = {}
    for text in root.iter(f"{SVG}text"):
        if float(text.get("y", "0")) > 50:  # below the legend
            reported.setdefault(text.get("class", ""), set()).add(text.text or "")
    assert "Tulden" in reported["text"] and "House" in reported["question"]
    assert {"Marro", "Quell"} <= reported["pages"], "they stood on the page that was read before"
    assert "stripes" in reported["visual"] and "Zanzibar" in reported["other"]
    dashes = {path.get("class") for path in root.iter(f"{SVG}path")}
    assert dashes == {"text", "visual", "pages", "other"}, "a line below says so without colour"
    assert {"at 2: hop 1", "at 3: page of foreground Brisk Lemonade"} <= reported["k"]


@given(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_a_drawing_of_queries_is_as_narrow_as_a_phone_and_obeys_no_letter(texts: list[str]) -> None:
    asked = vision_run.task(1, "base", SEEN)
    steps = [vision_run.searched(f"\u202e{text} \u2066{text}", vision_run.SITE) for text in texts]
    played = vision_run.trajectory(asked, [*steps, vision_run.said("x")])
    (view,) = (
        each
        for each in episode_views.build_views(Episode(asked, played))
        if each.title == "Queries"
    )
    root = drawn(view)
    assert float(root.get("width", "")) <= 324
    for text in root.iter(f"{SVG}text"):
        assert not set(text.text or "") & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068")
        if text.get("class") != "k":
            assert float(text.get("x", "")) + 7.9 * len(text.text or "") <= 320.5
    assert any("\\u202e" in (text.text or "") for text in root.iter(f"{SVG}text"))


def test_the_way_says_what_was_found_and_opened() -> None:
    found = made(vision_run.follows)
    way = "The shortest way, and what was seen of it"
    assert [row[-2:] for row in cells(found[way])] == [
        ("query 1, place 2", "step 2"), ("query 2, place 2", "step 4"),
    ]  # fmt: skip
    assert [row[2] for row in cells(found["Pages opened"])] == ["hop 1", "hop 2"]
    lost = made(vision_run.nearby)
    assert [row[-2:] for row in cells(lost[way])] == [("not found", "not opened")] * 2
    assert [row[2:] for row in cells(lost["Pages opened"])] == [
        ("page of foreground Brisk Lemonade", ""), ("another page", "could not be had"),
    ]  # fmt: skip
    assert "Queries" not in made(vision_run.guesses)


def test_question_and_answer_stand_part_by_part() -> None:
    rows = pairs(made(vision_run.nearby)["Question and answer"])
    assert rows["right"] == "14 May 1931" and rows["also right"] == "May 14, 1931"
    assert rows["answered"] == "9 July 1988 (answer, as JSON)"
    assert rows["why"] == vision_run.HOSTILE and "hint" not in rows
    rows = pairs(made(vision_run.parrots)["Question and answer"])
    assert "unknown" in rows["answered"]


def test_a_flood_of_queries_is_cut_and_says_so() -> None:
    asked = vision_run.task(1, "base", SEEN)
    steps: list[Step] = [vision_run.searched("word " * 500, vision_run.SITE) for _ in range(60)]
    trajectory = vision_run.trajectory(asked, [*steps, vision_run.said("x")])
    (view,) = (
        v for v in episode_views.build_views(Episode(asked, trajectory)) if v.title == "Queries"
    )
    assert isinstance(view, Drawing) and "The first 40 of 60" in view.note
    root = drawn(view)
    lasts = [text.text or "" for text in root.iter(f"{SVG}text")]
    assert any("440 more words" in text for text in lasts)
    assert len(lasts) < 40 * 63


# --- pictures on the page ---------------------------------------------------------------


def test_a_large_picture_is_scaled_and_linked_once_for_all_that_show_it(tmp_path: Path) -> None:
    store = MediaStore(tmp_path / "media")
    seen = store.add_image(vision_run.picture(1), "image/jpeg")
    assert seen.size_bytes > embedded_pictures.MAX_EMBEDDED_BYTES
    asked = vision_run.task(1, "base", seen)
    trajectory = vision_run.trajectory(asked, vision_run.follows(read_task_data(asked, ItemTruth)))
    found = episode_views.build_views(Episode(asked, trajectory))
    block = episode_block.completed_block(0, asked, trajectory, {}, found, store, tmp_path)
    body = json.loads(block.details)
    (over,) = body["views"][0]["pictures"]
    assert over == body["steps"][0]["new_messages"][1]["pictures"][0]
    assert over["description"] == "scaled from 1536 × 1024"
    assert over["file"] == f"./media/{seen.sha256[:2]}/{seen.sha256}"
    collected = json.loads(block.pictures[over["src"].removeprefix("#")])
    assert collected.startswith("data:image/webp;base64,") and len(collected) < seen.size_bytes / 4
    assert sum(name.startswith("src-") for name in block.pictures) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"no picture at all " * 9000,
        vision_run.picture(2)[:300_000],
        b"GIF89a" + b"\x00" * 90_000,
    ],
)
def test_what_cannot_be_read_is_shown_as_it_is(data: bytes, tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    part = store.add_image(data, "image/jpeg")
    assert embedded_pictures.embed_picture(part, store)["src"].startswith("data:image/jpeg;base64,")
    large = store.add_image(data * 5, "image/jpeg")
    assert (
        len(data) * 5 < embedded_pictures.MAX_EMBEDDED_BYTES
        or embedded_pictures.embed_picture(large, store) == {}
    )


def test_scaled_copies_are_embedded_and_not_the_originals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, tuple[bytes, int, int] | None] = {}
    monkeypatch.setattr(embedded_pictures, "_scaled_by_sha256", made)
    monkeypatch.setattr(embedded_pictures, "_MAX_CACHED", 2)
    for n, name in enumerate("abc"):
        store = MediaStore(tmp_path / name)
        data = vision_run.picture(1) + bytes(n)
        first = embedded_pictures.embed_picture(store.add_image(data, "image/jpeg"), store)
        collected = dict(made)
        again = MediaStore(tmp_path / f"{name}2")
        assert embedded_pictures.embed_picture(again.add_image(data, "image/jpeg"), again) == first
        assert made == collected and len(made) == min(n + 1, 2)
        assert all(copy and len(copy[0]) < len(data) / 4 for copy in made.values())


def test_a_picture_of_another_size_than_it_says_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MediaStore(tmp_path)
    part = store.add_image(vision_run.picture(1), "image/jpeg")
    monkeypatch.setattr(MediaStore, "read", lambda *_: pytest.fail("it was read"))
    assert embedded_pictures.embed_picture(replace(part, size_bytes=9), store) == {}


# --- in a browser -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vision")
    runs: list[Run] = [
        vision_run.run(folder, n=6),
        vision_run.run(folder, n=6, tool_format="prompt"),
    ]
    return html_report.write_report(runs, folder / "report.html")


@pytest.fixture(scope="module", params=[(1360, 906), (906, 1360)])
def edges(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a page over drawings of edges, which are small enough to be shown unscaled."""
    folder = tmp_path_factory.mktemp("edges")
    luck = {"edges": 1.0, "gray": 0.0}
    run = vision_run.run(folder, n=1, luck=luck, size=request.param, look=vision_run.outlines)
    return html_report.write_report([run], folder / "report.html")


@pytest.mark.parametrize("width", [400, 1280])
def test_boxes_lie_on_a_picture_that_is_shown_unscaled(
    browser: Browser, edges: Path, width: int
) -> None:
    seen = opened(browser, edges, "000@edges", width=width, n=1)
    image, marks = seen.locator(".layers img.seen"), seen.locator(".layers .over")
    wide, high = image.evaluate("e => e.decode().then(() => [e.naturalWidth, e.naturalHeight])")
    assert max(wide, high) == 1360
    below, above = image.bounding_box(), marks.locator("svg").bounding_box()
    assert below is not None and above is not None
    for side in ("x", "y", "width", "height"):
        assert abs(below[side] - above[side]) <= 3
    assert abs(below["width"] / below["height"] - wide / high) < 0.02
    assert below["width"] <= 641 and below["height"] <= 481
    seen.close()


def test_question_and_queries_fit_a_phone(browser: Browser, report: Path) -> None:
    seen = opened(browser, report, "001@gray", width=400)
    for title in ("Question and answer", "Queries"):
        view = seen.locator(".view", has=seen.get_by_role("heading", name=title, exact=True))
        box = view.locator(".scroll, .drawing")
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth"), title
    seen.close()


def opened(browser: Browser, report: Path, item: str, **shape: object) -> Page:
    width, scheme = shape.get("width", 1280), shape.get("scheme", "light")
    seen = browser.new_page(
        viewport={"width": int(str(width)), "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    seen.on("pageerror", lambda error: pytest.fail(str(error)))
    seen.on("console", lambda message: pytest.fail(message.text))
    seen.goto(report.as_uri())
    seen.locator("#find").fill(item)
    expect(seen.locator("#count")).to_contain_text(f"{shape.get('n', 2)} of")
    seen.locator("#rows button").first.click()
    return seen


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_boxes_lie_on_the_picture_and_can_be_taken_off(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    seen = opened(browser, report, "001@gray", width=width, scheme=scheme)
    image, marks = seen.locator(".layers img.seen"), seen.locator(".layers .over")
    assert (
        image.evaluate("e => e.decode().then(() => e.naturalWidth)")
        == embedded_pictures.MAX_SIDE_PIXELS
    )
    below, above = image.bounding_box(), marks.locator("svg").bounding_box()
    assert below is not None and above is not None
    for side in ("x", "y", "width", "height"):
        assert abs(below[side] - above[side]) <= 3
    assert marks.is_visible()
    seen.locator(".toggle input").uncheck()
    assert not marks.is_visible() and image.is_visible()
    seen.locator(".toggle").click()
    assert marks.is_visible()
    assert seen.evaluate("document.documentElement.scrollWidth") == width
    seen.close()


def test_hostile_signs_queries_and_answers_are_text(browser: Browser, report: Path) -> None:
    for item in ("000@base", "000@edges"):
        seen = opened(browser, report, item)
        assert "<script>document.title" in (seen.locator("#detail").text_content() or "")
        assert "owned" not in seen.title()
        assert seen.locator("#detail img").count() == 2, "the picture, above and in its step"
        seen.close()


def test_who_chooses_is_shown_the_page_of_every_candidate() -> None:
    known = vision_run.truth(1)
    others = [href for mark in known.marks if mark.role != "clue" for href in mark.hrefs]
    assert others and [href for _, href in choice_candidates(known, "select")] == others
    assert not choice_candidates(known, "locate")
