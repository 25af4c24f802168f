"""Marking tuned items: in a real browser, by the command, and what becomes of the marks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace
from playwright.sync_api import Page, expect
from tests.studio.conftest import HOSTILE, Served
from tests.studio.test_review_commands import Command, toolmark  # noqa: F401 - a fixture
from tests.studio.test_review_in_browser import visit  # noqa: F401 - a fixture
from tests.studio.test_review_server import ask
from tests.studio.vision_tuning import tuned_items
from tests.studio.vision_tuning.tuned_items import Scripted

from toolmark.core.errors import UsageError
from toolmark.studio.review_server import ReviewAnswer, ReviewSession
from toolmark.studio.solvability_review import SolvabilityReview
from toolmark.studio.vision_tuning.tuning_folder import TuningFolder

Opener = Callable[..., Page]
ODD = {"hint": f"Look. {HOSTILE}", "request": tuned_items.row(0)["question"], "context": "\x1b[31m"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))


@pytest.fixture
def tuning(tmp_path: Path) -> TuningFolder:
    source = tuned_items.items(tmp_path / "items", rows={0: ODD})
    models = {"a": Scripted(tuned_items.always, HOSTILE), "b": Scripted(tuned_items.always)}
    return tuned_items.tuned(tmp_path / "t", source, models)


def test_a_person_sees_picture_question_answer_way_and_pages_and_marks(
    tuning: TuningFolder,
    serve: Callable[[ReviewSession], Served],
    visit: Opener,  # noqa: F811 - the fixture
) -> None:
    desk = SolvabilityReview(tuning, "ada")
    page = visit(serve(desk))
    expect(page.locator(".asked img")).to_be_visible()
    width = page.locator(".asked img").evaluate("node => node.naturalWidth")
    assert width == tuned_items.SIZE[0]
    expect(page.locator(".asked .said")).to_contain_text("<script>alert(1)</script>")
    answer = page.locator("#answer pre.answer")
    expect(answer).not_to_be_visible()  # who marks tries first
    page.locator("#answer > summary").click()
    expect(answer).to_have_text(tuned_items.CITIES[0])
    expect(page.locator("svg.boxes rect")).to_be_visible()
    page.locator("#answer .leaf summary").click()
    expect(page.locator("#answer .leaf pre")).to_contain_text("Inn Stimada")
    page.locator("#note").fill("fine")
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page).to_have_url(page.url.rpartition("/")[0] + "/2")
    page.keyboard.press("x")
    expect(page.locator("h1")).to_have_text("inn-2")
    page.get_by_role("button", name="Unclear").click()
    expect(page.locator("main")).to_contain_text("1 solvable, 1 not solvable, 1 unclear, 0 open")
    marks = [item.latest_mark for item in TuningFolder(tuning.path).items.values()]
    assert [m and m.verdict for m in marks] == ["solvable", "unsolvable", "unclear"]
    assert marks[0] is not None
    assert (marks[0].reviewer, marks[0].note) == ("ada", "fine")


def test_marking_again_replaces_and_opens_where_it_was_left(tuning: TuningFolder) -> None:
    desk = SolvabilityReview(tuning, "ada")
    desk.record_answer(1, ReviewAnswer("unclear"))
    assert desk.next_open(1) == "2"
    desk.record_answer(1, ReviewAnswer("solvable"))
    assert SolvabilityReview(TuningFolder(tuning.path), "bob").summary_lines()[0] == (
        "1 solvable, 0 not solvable, 0 unclear, 2 open"
    )
    with pytest.raises(UsageError, match="no mark 'accept'"):
        desk.record_answer(2, ReviewAnswer("accept"))


def test_only_what_most_of_the_panel_fails_is_asked(tmp_path: Path) -> None:
    source = tuned_items.items(tmp_path / "items")
    models = {"a": Scripted(lambda question: "number 2" in question)}
    tuning = tuned_items.tuned(tmp_path / "t", source, models, rounds=0)
    assert [item.id for item in SolvabilityReview(tuning, "ada").items] == ["inn-1"]
    with pytest.raises(UsageError, match="no item 'inn-9'"):
        SolvabilityReview(tuning, "ada", ["inn-9"])
    with pytest.raises(UsageError, match="of the panel"):
        SolvabilityReview(tuning, "ada", ["inn-0"])


def test_the_command_refuses_what_is_for_runs(tuning: TuningFolder, toolmark: Command) -> None:  # noqa: F811
    code, _, err = toolmark("review", tuning.path, "--pairs")
    assert code == 2
    assert "items are marked there" in err
    code, _, err = toolmark("review", "--blind", tuning.path, tuning.path)
    assert code == 2


def test_who_solves_may_search_the_pages_that_the_models_searched(
    tuning: TuningFolder,
    serve: Callable[[ReviewSession], Served],
    visit: Opener,  # noqa: F811 - the fixture
) -> None:
    page = visit(serve(SolvabilityReview(tuning, "ada")))
    page.locator("#words").fill(f"Inn Stimada {HOSTILE}")
    page.keyboard.press("Enter")
    expect(page.locator(".all li")).to_have_count(3)
    expect(page.locator("#words")).to_have_value(f"Inn Stimada {HOSTILE}")
    page.get_by_role("link", name="Inn 1").click()
    expect(page.locator("#page")).to_contain_text(f"stands in {tuned_items.CITIES[1]}")
    page.get_by_role("link", name="back to the question").click()
    expect(page.locator("h1")).to_have_text("inn-0")
    assert not list(TuningFolder(tuning.path).items["inn-0"].decisions), "to look decides nothing"


def test_a_search_is_of_pages_of_the_set_and_needs_the_token(
    tuning: TuningFolder, serve: Callable[[ReviewSession], Served], tmp_path: Path
) -> None:
    served = serve(SolvabilityReview(tuning, "ada"))
    (tmp_path / "secret.html").write_text("secret")
    for word in ("", "x"):
        assert ask(served, "GET", "/search?n=1&words=Inn", token=word)[0].status == 403
    for odd in ("", "?n=0", "?n=4", "?n=x", "?words=Inn"):
        assert ask(served, "GET", f"/search{odd}")[0].status == 404
    for place in (f"file://{tmp_path}/secret.html", "https://../secret.html", "http://[", "\x00"):
        reply, data = ask(served, "GET", f"/search?{urlencode({'n': 1, 'page': place})}")
        assert (reply.status, b"status 404" in data) == (200, True)
    many = urlencode({"n": 1, "words": "Stimada " * 9_000})
    assert ask(served, "GET", f"/search?{many}")[0].status == 414
    assert ask(served, "GET", f"/search?{many[:5_000]}")[0].status == 200


def test_what_was_searched_on_the_web_is_not_searched_here(tuning: TuningFolder) -> None:
    plan = replace(
        tuning.request.plan, parameters={**tuning.request.plan.parameters, "search": "serpapi"}
    )
    tuning.request = replace(tuning.request, plan=plan)
    desk = SolvabilityReview(tuning, "ada")
    assert "so may you" in desk.render_question(1) and 'role="search"' not in desk.render_question(
        1
    )
    with pytest.raises(UsageError, match="no pages of their own"):
        desk.render_search(1, "Inn", "")


@pytest.mark.parametrize(
    ("search", "searched"),
    [
        ("pages", "own"),
        ("corpus:pages", "own"),
        ("record:tape.jsonl@corpus:pages", "own"),
        ("record:tape.jsonl", "web"),
        ("brave", "web"),
        ("replay:tape.jsonl", "recording"),
    ],
)
def test_the_marking_page_shows_what_the_models_searched(
    tuning: TuningFolder, search: str, searched: str
) -> None:
    plan = replace(
        tuning.request.plan, parameters={**tuning.request.plan.parameters, "search": search}
    )
    tuning.request = replace(tuning.request, plan=plan)
    page = SolvabilityReview(tuning, "ada").render_question(1)
    assert ('role="search"' in page) == (searched == "own")
    assert ("searched the web" in page) == (searched == "web")
    assert ("searched a recording" in page) == (searched == "recording")


def test_items_that_have_changed_since_are_not_searched(
    tuning: TuningFolder, tmp_path: Path
) -> None:
    rows = tmp_path / "items" / "items.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:2]))
    with pytest.raises(UsageError, match="have changed since"):
        SolvabilityReview(tuning, "ada").render_search(1, "Inn", "")
