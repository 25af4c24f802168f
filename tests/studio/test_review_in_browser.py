"""The review in a real browser, as a reviewer meets it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from tests.servers.chromium import Watch
from tests.studio.conftest import HOSTILE, Maker, Served, lines

from toolmark.studio.blind_review import BlindReview
from toolmark.studio.review_server import ReviewSession
from toolmark.studio.run_review import RunReview

ENDED = ("_REFUSED", "_RESET")  # what is asked of a server that has ended, or is just ending


Opener = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Opener]:
    """Open a served desk; what its pages did wrong fails the test."""
    watch = Watch()
    opened: list[tuple[Page, str]] = []

    def dismiss(dialog: Dialog) -> None:
        watch.dialogs.append(dialog.message)
        dialog.dismiss()

    def visit(served: Served, *, width: int = 1280, scheme: str = "light", at: str = "") -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.on("request", lambda request: watch.requests.append(request.url))
        page.on("pageerror", lambda error: watch.errors.append(str(error)))
        page.on("console", lambda message: watch.errors.append(message.text))
        page.on("dialog", dismiss)
        page.goto(served.url + at)
        opened.append((page, served.url))
        return page

    yield visit
    for page, _ in opened:
        assert page.title() != "owned"
        page.close()
    assert all(any(url.startswith(own) for _, own in opened) for url in watch.requests)
    # the console tells of refused edits, and of a server that was ended on purpose
    assert [e for e in watch.errors if "(Unprocessable" not in e and not e.endswith(ENDED)] == []
    assert watch.dialogs == []


Serve = Callable[[ReviewSession], Served]


@pytest.fixture
def single(make_run: Maker, serve: Serve) -> tuple[RunReview, Served]:
    desk = RunReview(make_run(), "ada")
    return desk, serve(desk)


def test_a_page_shows_pictures_question_steps_answer_and_reference(
    single: tuple[RunReview, Served], visit: Opener
) -> None:
    page = visit(single[1], at="2")
    assert page.locator("h1").inner_text() == "00000001"
    assert "What do the drinks on shelf 1 cost?" in page.locator(".asked").inner_text()
    made = page.locator("section", has=page.locator("#made"))
    assert made.locator(".box.call").count() == 3
    assert made.locator(".box.result").count() == 3
    assert made.locator(".box.error").count() == 1
    assert "Cola 2 €" in made.locator(".answer").inner_text()
    wanted = page.locator("section", has=page.locator("#wanted"))
    assert wanted.locator(".box.call").count() == 3
    widths = page.evaluate("[...document.images].map((image) => image.naturalWidth)")
    assert widths == [160, 80]
    assert made.bounding_box()["y"] == wanted.bounding_box()["y"]  # type: ignore[index]


def test_the_keyboard_is_enough(single: tuple[RunReview, Served], visit: Opener) -> None:
    desk, served = single
    page = visit(served)
    page.keyboard.press("a")
    expect(page.locator("h1")).to_have_text("00000001")
    page.keyboard.press("r")
    expect(page.locator("h1")).to_have_text("00000002")
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("00000003")
    page.keyboard.press("p")
    expect(page.locator("h1")).to_have_text("00000002")
    made = [(d["task"], d["decision"], d["reviewer"]) for d in lines(desk.log.path)]
    assert made == [("00000000", "accept", "ada"), ("00000001", "reject", "ada")]


def test_letters_typed_into_a_note_decide_nothing(
    single: tuple[RunReview, Served], visit: Opener
) -> None:
    desk, served = single
    page = visit(served)
    page.locator("#note").click()
    page.keyboard.type("a rare error")
    assert not desk.log.path.exists()
    page.locator("button[data-choice=reject]").click()
    expect(page.locator("h1")).to_have_text("00000001")
    assert lines(desk.log.path)[0]["note"] == "a rare error"


def test_an_edit_is_stored_only_when_its_shape_is_right(
    single: tuple[RunReview, Served], visit: Opener
) -> None:
    desk, served = single
    page = visit(served, at="2")
    page.keyboard.press("e")
    steps = json.loads(page.locator("#steps").input_value())
    assert [call["name"] for call in steps[1]["calls"]] == ["shop/search", "shop/search"]
    steps[1]["calls"][1]["arguments"] = "x"
    del steps[0]["calls"][0]["name"]
    page.locator("#steps").fill(json.dumps(steps, indent=1))
    page.keyboard.press("Control+Enter")
    faults = page.locator("#faults li")
    expect(faults).to_have_count(2)
    assert faults.nth(0).inner_text() == "$[0].calls[0] name is missing"
    assert faults.nth(1).inner_text() == "$[1].calls[1].arguments expected an object, got text"
    assert page.locator("#steps").get_attribute("aria-invalid") == "true"
    faults.nth(1).locator("button").click()
    chosen = "(() => { const t = document.getElementById('steps'); " \
        "return t.value.slice(t.selectionStart, t.selectionEnd); })()"  # fmt: skip
    assert page.evaluate(chosen) == '"x"'
    assert not desk.log.path.exists()
    steps[0]["calls"][0]["name"] = "ocr/read"
    steps[1]["calls"] = [{"name": "shop/search", "arguments": {"query": "cola €", "n": 2}}]
    page.locator("#steps").fill(json.dumps(steps))
    page.locator("#keep").click()
    expect(page.locator("h1")).to_have_text("00000002")
    [saved] = lines(desk.log.path)
    assert saved["decision"] == "edit"
    assert saved["steps"] == steps
    page.keyboard.press("p")
    expect(page.locator("#status")).to_contain_text("edited by ada")
    assert json.loads(page.locator("#steps").input_value()) == steps


def test_broken_json_is_shown_at_its_place(single: tuple[RunReview, Served], visit: Opener) -> None:
    page = visit(single[1])
    page.keyboard.press("e")
    page.locator("#steps").fill('[{"calls": [}]')
    page.keyboard.press("Control+Enter")
    fault = page.locator("#faults li")
    expect(fault).to_contain_text("not JSON: Expecting value: line 1 column 13")
    fault.locator("button").click()
    assert page.evaluate("document.getElementById('steps').selectionStart") == 12


def test_what_cannot_be_a_reference_is_not_accepted_but_opened_for_an_edit(
    make_run: Maker, serve: Serve, visit: Opener
) -> None:
    run = make_run(n=1)
    path = run.path / "trajectories.jsonl"
    path.write_text(path.read_text().replace("ocr/read", "ocr/raed"))
    desk = RunReview(run, "ada")
    page = visit(serve(desk))
    page.keyboard.press("a")
    expect(page.locator("#faults li")).to_contain_text("no tool 'ocr/raed' was offered")
    expect(page.locator("#steps")).to_be_visible()
    assert not desk.log.path.exists()


def test_hostile_text_is_shown_as_text(single: tuple[RunReview, Served], visit: Opener) -> None:
    page = visit(single[1])
    text = page.locator("body").inner_text()
    assert HOSTILE in text
    assert "\\ud83d" in text
    assert page.locator("img").count() == 2
    page.keyboard.press("e")
    assert page.locator("#steps").is_visible()


def test_a_repeating_key_decides_once(single: tuple[RunReview, Served], visit: Opener) -> None:
    desk, served = single
    page = visit(served)
    page.keyboard.down("a")
    expect(page.locator("h1")).to_have_text("00000001")
    for _ in range(5):
        page.keyboard.down("a")  # what a keyboard sends for a key that stays down
    page.keyboard.up("a")
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("00000002")
    assert len(lines(desk.log.path)) == 1


def test_the_end_lists_everything_and_says_what_is_next(
    single: tuple[RunReview, Served], visit: Opener
) -> None:
    page = visit(single[1])
    for n in range(1, 6):
        expect(page.locator("h1")).to_have_text(f"0000000{n - 1}")
        page.keyboard.press("a" if n % 2 else "r")
    expect(page.locator("h1")).to_contain_text("Review of")
    text = page.locator("main").inner_text()
    assert "3 accepted, 0 edited, 2 rejected, 0 open" in text
    assert "--export" in text
    page.locator(".all a").nth(1).click()
    expect(page.locator("#status")).to_contain_text("rejected by ada")


def test_a_review_goes_on_where_it_was_left(make_run: Maker, serve: Serve, visit: Opener) -> None:
    run = make_run()
    first = serve(RunReview(run, "ada"))
    page = visit(first)
    page.keyboard.press("a")
    expect(page.locator("h1")).to_have_text("00000001")
    first.end()
    page.keyboard.press("a")
    expect(page.locator("#faults")).to_contain_text("no longer runs")
    again = visit(serve(RunReview(run, "bob")))
    expect(again.locator("h1")).to_have_text("00000001")
    again.keyboard.press("a")
    expect(again.locator("h1")).to_have_text("00000002")
    assert [d["reviewer"] for d in lines(run.path / "reviews.jsonl")] == ["ada", "bob"]


def test_sides_of_a_blind_pair_do_not_tell_their_runs(
    make_run: Maker, serve: Serve, visit: Opener
) -> None:
    a, b = make_run(model="test/alpha"), make_run(model="test/beta", wrong=(0, 1, 2, 3, 4))
    desk = BlindReview(a, b, "ada")
    page = visit(serve(desk))
    for n, key in enumerate(desk.keys):
        expect(page.locator("h1")).to_have_text(key[0])
        assert not {"alpha", "beta"} & set(page.content().replace("/", " ").split())
        assert "alpha" not in page.content()
        left = page.locator("section", has=page.locator("#left"))
        assert ("cola" in left.locator(".box.call").nth(1).inner_text()) == (
            desk.left_run(key) == "a"
        )
        page.keyboard.press("t" if n == 4 else "l" if desk.left_run(key) == "a" else "r")
    expect(page.locator("h1")).to_have_text("Result")
    text = page.locator("main").inner_text()
    assert "A is test/alpha, B is test/beta." in text
    assert "A was preferred 4 times, B 0 times, 1 tie (n = 5)." in text
    assert "The metric agrees with 100.0" in text


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_runs_over_the_edge(
    single: tuple[RunReview, Served], visit: Opener, width: int
) -> None:
    page = visit(single[1], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    page.locator("#edit").click()
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_dark_and_light_follow_the_system_and_the_switch_stays(
    single: tuple[RunReview, Served], visit: Opener
) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    page = visit(single[1])
    light = page.evaluate(colour)
    page.locator("#theme").click()
    dark = page.evaluate(colour)
    assert dark != light
    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("00000001")
    assert page.evaluate(colour) == dark
    assert visit(single[1], scheme="dark").evaluate(colour) == dark
