"""The page in a real browser, offline, as a reader meets it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Locator, Page, expect
from tests.core.number_cases import COUNTS
from tests.reports.interrupted_runs import run_suite
from tests.reports.link_filters import is_listed
from tests.servers.chromium import Watch

import toolmark as tm
from toolmark.reports import html_report
from toolmark.runs.run_store import Run

Maker = Callable[..., Run]


Opener = Callable[..., Page]


@pytest.fixture
def visit(browser: Browser, make_run: Maker, tmp_path: Path) -> Iterator[Opener]:
    """Write a page over a run of 120 episodes and open it; what it did wrong fails the test."""
    watch = Watch()
    opened: list[Page] = []

    def dismiss(dialog: Dialog) -> None:
        watch.dialogs.append(dialog.message)
        dialog.dismiss()

    def visit(*runs: Run, width: int = 1280, scheme: str = "light", anchor: str = "") -> Page:
        path = tmp_path / "report.html"
        if not path.exists():
            html_report.write_report(runs or [make_run(n=120, absent=4)], path)
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.on("request", lambda request: watch.requests.append(request.url))
        page.on("pageerror", lambda error: watch.errors.append(str(error)))
        page.on("console", lambda message: watch.errors.append(message.text))
        page.on("dialog", dismiss)
        page.goto(f"{path.as_uri()}{anchor}")
        opened.append(page)
        return page

    yield visit
    for page in opened:
        assert page.title() != "owned"
        page.close()
    assert all(url.startswith("file://") and "report.html" in url for url in watch.requests)
    assert len(watch.requests) == len(opened)
    assert watch.errors == watch.dialogs == []


def rows(page: Page) -> Locator:
    return page.locator("#rows button")


def count(page: Page) -> int:
    return int(page.locator("#count").inner_text().split()[0])


def choose(page: Page, label: str, option: str) -> None:
    select = page.locator("#filters label", has_text=label).first.locator("select")
    wanted = next(text for text in select.locator("option").all_inner_texts() if option in text)
    select.select_option(label=wanted.strip("\n"))


def test_the_headline_and_figures_are_visible(visit: Opener) -> None:
    page = visit()
    assert page.locator("#headline").is_visible()
    assert "%" in page.locator("#headline").inner_text()
    assert page.locator("#tables figure svg").count() == 3
    assert page.locator("#causes tbody tr").count() > 0


def test_filters_and_search_change_the_list(visit: Opener) -> None:
    page = visit()
    everything = count(page)
    assert everything == 120
    choose(page, "outcome", "incorrect")
    failed = count(page)
    assert 0 < failed < everything
    assert set(page.locator("#rows .mark").all_inner_texts()) == {"✕"}
    choose(page, "cause", "over_limit")
    assert 0 < count(page) < failed
    page.locator("#reset").click()
    assert count(page) == everything
    choose(page, "irrelevant", "30")
    assert count(page) == 30
    page.locator("#reset").click()
    page.locator("#find").fill("LAB-77")
    expect(page.locator("#count")).to_contain_text("1 of 120")
    assert rows(page).count() == 1
    page.locator("#find").fill("no such words anywhere")
    expect(page.locator("#none")).to_be_visible()


def test_a_cause_leads_to_its_episodes(visit: Opener) -> None:
    page = visit()
    row = page.locator("#causes tbody tr").first
    n = int(row.locator("td").first.inner_text())
    row.locator("button").click()
    assert count(page) == n


def test_an_episode_opens_with_its_steps_and_drawing(visit: Opener) -> None:
    page = visit()
    page.locator("#find").fill("lab-1")
    expect(rows(page)).to_have_count(31)  # lab-1, lab-10 to lab-19, lab-100 to lab-119
    rows(page).first.click()
    detail = page.locator("#detail")
    assert detail.locator("h3").inner_text() == "lab-1"
    assert detail.locator(".step").count() >= 2
    assert detail.locator(".box.call").count() >= 1
    assert detail.locator(".drawing circle").count() == 1
    assert "official rule" in detail.inner_text()


def test_rules_that_say_the_same_of_an_episode_share_its_evidence(visit: Opener) -> None:
    page = visit()
    for cause, n in (("value_not_known", 1), ("over_limit", 2)):  # fair forgives the latter
        page.locator("#reset").click()
        choose(page, "cause", cause)
        rows(page).first.click()
        detail = page.locator("#detail")
        assert detail.locator(".verdict").count() == n
        assert "fair rule" in detail.inner_text()


def test_hostile_text_is_shown_as_text(visit: Opener) -> None:
    page = visit()
    page.locator("#find").fill("onerror")
    expect(page.locator("#count")).not_to_contain_text("120 of")
    assert count(page) > 0
    rows(page).first.click()
    assert "</script><img src=x onerror=" in page.locator("#detail").inner_text()
    assert page.locator("img").count() == 0
    assert page.title() != "owned"


def test_an_episode_that_was_not_run_says_why(visit: Opener) -> None:
    page = visit()
    choose(page, "outcome", "not run")
    assert count(page) == 4
    rows(page).first.click()
    assert "rate_limited: 429" in page.locator("#detail").inner_text()
    assert page.locator("#detail .step").count() == 1


def test_the_keyboard_is_enough(visit: Opener) -> None:
    page = visit()
    rows(page).first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("#detail h3").inner_text() == "lab-2"
    assert page.evaluate("document.activeElement.id") == "opened"


def test_pages_of_the_list_turn(visit: Opener) -> None:
    page = visit()
    assert rows(page).count() == 50
    page.locator("#later").click()
    page.locator("#later").click()
    assert rows(page).count() == 20
    assert page.locator("#later").is_disabled()


def test_an_address_leads_back_to_its_episode(visit: Opener) -> None:
    page = visit()
    rows(page).nth(3).click()
    anchor = page.evaluate("location.hash")
    assert visit(anchor=anchor).locator("#detail h3").inner_text() == "lab-3"


def test_dark_and_light_follow_the_system_and_the_switch(visit: Opener) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    page = visit()
    light = page.evaluate(colour)
    page.locator("#theme").click()
    dark = page.evaluate(colour)
    assert dark != light
    assert visit(scheme="dark").evaluate(colour) == dark


def test_text_has_contrast_in_both_schemes(visit: Opener) -> None:
    for scheme in ("light", "dark"):
        page = visit(scheme=scheme)
        rows(page).first.click()
        ratios = page.evaluate(CONTRAST, ["body", ".note", ".incorrect", ".role", "thead th", "a"])
        assert min(ratios) >= 4.5, (scheme, ratios)
        hottest = page.locator('td.heat[style*=": 100%"], td.heat[style*=":100%"]').first
        assert hottest.evaluate(OWN_CONTRAST) >= 4.5
        assert hottest.evaluate("e => getComputedStyle(e).backgroundColor") != page.locator(
            ".card"
        ).first.evaluate("e => getComputedStyle(e).backgroundColor")


# colours are rgb(0 to 255), or color(srgb 0 to 1) where they were mixed
LEVEL = """const level = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
      .map((v) => (text.startsWith("color") ? v : v / 255))
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };"""
OWN_CONTRAST = f"""(cell) => {{
  {LEVEL}
  const style = getComputedStyle(cell);
  const pair = [level(style.color), level(style.backgroundColor)];
  return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
}}"""
CONTRAST = """(names) => {
  LEVEL
  const card = getComputedStyle(document.querySelector(".card")).backgroundColor;
  return names.map((name) => {
    const pair = [level(getComputedStyle(document.querySelector(name)).color), level(card)];
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  });
}""".replace("LEVEL", LEVEL)


def test_an_address_opens_the_page_of_the_list_that_holds_it(visit: Opener) -> None:
    page = visit()
    page.locator("#later").click()
    rows(page).nth(20).click()
    anchor = page.evaluate("location.hash")
    again = visit(anchor=anchor)
    assert again.locator("#where").inner_text().startswith("51")
    marked = again.locator("#rows [aria-current]")
    assert marked.count() == 1
    assert marked.locator(".id").inner_text() == again.locator("#detail h3").inner_text()


def test_no_table_is_cut_without_a_way_to_see_the_rest(visit: Opener, make_run: Maker) -> None:
    runs = [make_run(model=f"http://host:8000/v1#org/model-{n}b-instruct", n=40) for n in (7, 70)]
    page = visit(*runs)
    value = page.locator("#headline tbody td").first
    for width in (390, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(CUT) == []
        box, card = value.bounding_box(), page.locator(".card").first.bounding_box()
        assert box is not None
        assert card is not None
        assert box["x"] + box["width"] <= card["x"] + card["width"]


# tables wider than their card in a box that does not scroll, and panels side by side that are
# cut though they would fit below each other
CUT = """() => [...document.querySelectorAll("table")].filter((table) => {
  const box = table.closest(".scroll");
  if (!box) return true;
  const over = box.scrollWidth > box.clientWidth + 1;
  const card = table.closest(".card").parentElement;
  const apart = card.classList.contains("pair") &&
    table.closest(".card").clientWidth < card.clientWidth - 40;
  return over && (getComputedStyle(box).overflowX !== "auto" || apart);
}).map((table) => table.closest(".card").textContent.slice(0, 40))"""


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_runs_over_the_edge(visit: Opener, width: int) -> None:
    page = visit(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    rows(page).first.click()
    assert page.locator("#detail").is_visible()
    assert page.locator("#rows").is_visible() == (width > 860)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_print_shows_the_numbers_without_the_controls(visit: Opener) -> None:
    page = visit()
    page.emulate_media(media="print")
    assert page.locator("#headline").is_visible()
    assert not page.locator("#filters").is_visible()
    assert not page.locator("#theme").is_visible()


def test_without_scripts_the_numbers_are_there(
    browser: Browser, make_run: Maker, tmp_path: Path
) -> None:
    path = html_report.write_report([make_run()], tmp_path / "plain.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#headline").is_visible()
    assert page.locator("#tables figure svg").count() == 3
    assert page.locator("noscript").is_visible()
    assert not page.locator("#explorer").is_visible()
    context.close()


def test_two_runs_have_different_names_in_the_list(visit: Opener, make_run: Maker) -> None:
    page = visit(make_run(model="one", n=20), make_run(model="two", n=30))
    assert count(page) == 50
    choose(page, "run", "two")
    assert count(page) == 30
    assert page.locator("#compare").is_visible()


def test_the_page_writes_counts_as_the_formatter_does(visit: Opener) -> None:
    script = (Path(html_report.__file__).parent / "script.js").read_text("utf-8")
    (function,) = re.findall(r"const thousands = (.*);", script)
    page = visit()
    assert page.evaluate(f"(numbers) => numbers.map({function})", [*COUNTS]) == [*COUNTS.values()]


def test_the_page_rounds_no_number_by_itself() -> None:
    """Whatever is not a count comes as text from Python."""
    script = (Path(html_report.__file__).parent / "script.js").read_text("utf-8")
    assert (
        re.findall(r"\.toFixed|\.toPrecision|toLocaleString|NumberFormat|Math\.round", script) == []
    )


def test_a_cell_lists_the_episodes_behind_it(visit: Opener, tmp_path: Path) -> None:
    suite = tm.load(
        "funcbench", core=3, depth=2, connected=2, graphs=4, wording="plain,guided", seed=1
    )
    model = "control/faulty?class=incorrect&rate=0.6"
    with ThreadPoolExecutor(1) as other:  # the browser's loop runs in this thread
        run = other.submit(tm.run, suite, model, log_dir=tmp_path).result()
    page = visit(run)
    check_cells(page)


def test_a_cell_of_rules_categories_and_variations_lists_its_episodes(
    visit: Opener, tmp_path: Path
) -> None:
    parameters = {"category": ["single_turn"]}
    with ThreadPoolExecutor(1) as other:
        run = other.submit(
            run_suite, tmp_path, "bfcl", parameters, sample=30, vary="tool_order"
        ).result()
    check_cells(visit(run))


def check_cells(page: Page) -> None:
    """Press each link of a cell once, and compare the list with the filters that it names."""
    episodes = json.loads(str(page.locator("#index").text_content()))
    rules = json.loads(str(page.locator("#runs").text_content()))[0]["rules"]
    cells = page.locator("button.cell")
    meant = [
        json.loads(str(cells.nth(at).get_attribute("data-show"))) for at in range(cells.count())
    ]
    assert len({json.dumps(filters, sort_keys=True) for filters in meant}) > 4
    tried: set[str] = set()
    for at, filters in enumerate(meant):
        if (text := json.dumps(filters, sort_keys=True)) in tried:
            continue
        tried.add(text)
        cells.nth(at).evaluate("cell => cell.click()")
        assert count(page) == sum(is_listed(x, filters, rules) for x in episodes), filters
