"""Who answered, how fast and what was changed is shown by terminal, page and comparison."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser
from rich.console import Console
from tests.reports.page_reader import read_page
from tests.runs import mini

import toolmark as tm
from toolmark.cli.console_output import print_summary
from toolmark.cli.episode_output import print_episode
from toolmark.core.records import Adaptation, Reply, Request, Table
from toolmark.reports import reply_tables, reply_text
from toolmark.runs.reply_facts import AnsweredName, AnsweredNames, CountedTexts, ReplyFacts
from toolmark.runs.run_store import Run
from toolmark.runs.value_sample import Rates, Times

HOSTILE = "<b>v</b>\x1b[31m"
CHANGES = (
    Adaptation(kind="tool_name", detail="a.b -> a_b"),
    Adaptation(kind="state_dropped", detail="the calls of a message were changed"),
)


class Telling(mini.Adder):
    """Replies with everything that an endpoint may say of itself."""

    def __init__(self, version: str = "adder-2026") -> None:
        super().__init__()
        self.version = version

    async def __call__(self, request: Request, /) -> Reply:
        reply = await super().__call__(request)
        is_first = bool(reply.calls)
        return replace(
            reply, model=self.version, fingerprint="fp-1", upstream=HOSTILE, request_id="req-1",
            latency_s=2.0, first_token_s=0.5, first_call_s=1.0 if is_first else None,
            reasoning="one and one", finish="" if is_first else "eos", adaptations=CHANGES,
            defects=() if is_first else ("cut",),
        )  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs")
    return tm.run(mini.load(n=2), Telling(), log_dir=folder, max_connections=1)


def printed(console: Console) -> list[str]:
    return console.export_text().splitlines()


def recorder() -> Console:
    return Console(record=True, width=400, file=io.StringIO())


def test_the_summary_says_it_in_a_few_lines(run: Run) -> None:
    console = recorder()
    print_summary(console, run.summary())
    expected = [
        "  the model did not get back its thoughts in 4 of 4 requests: the calls of a message were "
        "changed",
        "  answered: model version adder-2026, system fingerprint fp-1, upstream provider "
        "<b>v</b>␛[31m",
        "  latency p50 2 s, longest 2 s (n = 4); first token p50 0.5 s; first call p50 1 s; 1.33 "
        "output tokens/s after the first token",
        "  tool_name changed in 4 of 4 (a.b -> a_b); defects in 2 of 4 (cut); ended as eos 2",
    ]
    assert [line for line in printed(console) if line in expected] == expected


def test_an_episode_says_it_step_by_step(run: Run) -> None:
    console = recorder()
    (first, *_) = run.trajectories()
    print_episode(console, run.task(first.task), first, None, ())
    lines = printed(console)
    at = lines.index("model step 1")
    assert lines[at + 1 : at + 6] == [
        "  latency 2 s, answered by adder-2026, fingerprint fp-1, provider <b>v</b>␛[31m, "
        "first token 0.5 s, first call 1 s, request req-1",
        "  changed in the request: tool_name: a.b -> a_b",
        "  changed in the request: state_dropped: the calls of a message were changed",
        "  reasoning: one and one",
        '  add {"of": [0, 1]}',
    ]
    assert lines[lines.index("model step 2") + 5] == "1"


def test_the_page_has_the_tables_and_each_step_its_facts(run: Run) -> None:
    page = read_page(tm.write_report(run))
    found = page.section("asked").tables
    assert found["What answered"][1:] == [
        ["model version", "adder-2026", "4"],
        ["system fingerprint", "fp-1", "4"],
        ["upstream provider", "<b>v</b>␛[31m", "4"],
    ]
    assert found["Times of replies"] == [
        ["in seconds", "replies", "p50", "max"],
        ["latency", "4", "2.0", "2.0"],
        ["first token", "4", "0.5", "0.5"],
        ["first call", "2", "1.0", "1.0"],
    ]
    assert found["Speed of output"][1][:2] == ["after the first token", "4"]
    assert found["What was changed of requests, and noted of replies"][1:] == [
        ["tool name", "4", "a.b -> a_b"],
        ["state dropped", "4", "the calls of a message were changed"],
        ["defects", "2", "cut"],
        ["ended as", "2", "eos"],
    ]
    step = page.blocks["e0"]["steps"][0]
    assert dict(step["facts"])["fingerprint"] == "fp-1" and step["reasoning"] == "one and one"
    assert step["changes"].splitlines()[0] == "tool_name: a.b -> a_b"


def test_a_page_without_facts_has_no_table_of_them(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    page = read_page(tm.write_report(run))
    assert {"What answered", "Times of replies"}.isdisjoint(page.section("asked").tables)
    assert {"facts", "changes"}.isdisjoint(page.blocks["e0"]["steps"][0])


def test_runs_of_one_model_that_other_versions_answered_are_compared_with_a_warning(
    tmp_path: Path,
) -> None:
    a, b = (
        tm.run(mini.load(n=3), Telling(name), log_dir=tmp_path / name) for name in ("v-1", "v-2")
    )
    found = tm.compare(a, b)
    assert found.warnings == ("the model versions of the runs differ: A v-1; B v-2",)
    lines = str(found).splitlines()
    at = lines.index("Speed of the replies")
    cells = [line.split("  ")[1:] for line in lines[at + 2 : at + 6]]
    assert [cell[0] for cell in cells] == [
        "latency", "first token", "first call", "output tokens/s after the first token"
    ]  # fmt: skip


def names(*found: str, n: int = 0) -> AnsweredNames:
    each = tuple(
        AnsweredName(name=name, n_replies=1, first_reply=i, last_reply=i, last_episode=f"t-{i}")
        for i, name in enumerate(found, 1)
    )
    return AnsweredNames(n_names=n or len(each), names=each)


@pytest.mark.parametrize(
    ("a", "b", "is_same_model", "wanted"),
    [
        (names("x"), names("y"), False, []),
        (names("x"), names(), True, []),
        (names("x", "y"), names("x", "y"), True, [
            "in A, 2 upstream providers answered: x (1 reply, until t-1), y (1 reply)",
            "in B, 2 upstream providers answered: x (1 reply, until t-1), y (1 reply)"]),
        (names("x"), names("y", "x", "z", "w"), False, [
            "in B, 4 upstream providers answered: y (1 reply, until t-1), x (1 reply, until t-2), "
            "z (1 reply, until t-3), and 1 more"]),
        (names("x"), names("y"), True, ["the upstream providers of the runs differ: A x; B y"]),
    ],
)  # fmt: skip
def test_what_two_runs_differ_in(
    a: AnsweredNames, b: AnsweredNames, is_same_model: bool, wanted: list[str]
) -> None:
    facts = (ReplyFacts(upstreams=each) for each in (a, b))
    assert list(reply_tables.difference_warnings(*facts, is_same_model=is_same_model)) == wanted


def changed(n: int, of: int = 20) -> ReplyFacts:
    texts = CountedTexts(n_replies=n, examples={"top_p left out": n})
    return ReplyFacts(n_replies=of, adaptations={"setting": texts} if n else {})


@pytest.mark.parametrize("is_same_model", [True, False])
def test_runs_whose_requests_were_changed_otherwise_are_compared_with_a_warning(
    is_same_model: bool,
) -> None:
    def warn(a: ReplyFacts, b: ReplyFacts) -> list[str]:
        return list(reply_tables.difference_warnings(a, b, is_same_model=is_same_model))

    assert warn(changed(20), changed(20)) == warn(changed(20), changed(19)) == []
    assert warn(changed(20), changed(0)) == [
        "requests were changed otherwise (setting): A in 20 of 20 (top_p left out); B in none"
    ]
    assert len(warn(changed(0), changed(2))) == 1


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (1, "p50 1 s, longest 4 s (n = 1)"),
        (19, "p50 1 s, longest 4 s (n = 19)"),
        (20, "p50 1 s, p95 2 s, longest 4 s (n = 20)"),
        (99, "p50 1 s, p95 2 s, longest 4 s (n = 99)"),
        (100, "p50 1 s, p95 2 s, p99 3 s (n = 100)"),
    ],
)
def test_few_times_have_no_high_percentile(n: int, shown: str) -> None:
    times = Times(n=n, p50=1.0, p95=2.0, p99=3.0, max=4.0)
    assert reply_text.times_text(times) == shown
    (table,) = reply_tables.run_tables(ReplyFacts(latency_s=times))
    assert table.rows == (
        ("latency", n, 1.0, 2.0 if n >= 20 else "", 3.0 if n >= 100 else "", 4.0),
    )


@pytest.mark.parametrize("model", ["openai/m-1", "http://127.0.0.1:1/v1#m-1", "m-1"])
def test_the_name_that_was_asked_is_not_repeated(model: str) -> None:
    assert reply_text.answered_text(ReplyFacts(models=names("m-1")), model) == ""
    assert reply_text.answered_text(ReplyFacts(models=names("m-2")), model) == "model version m-2"


def test_both_rates_are_compared_where_one_run_was_streamed() -> None:
    rates = Rates(n=3, p5=1.0, p50=2.0, p95=3.0)
    found = reply_tables.comparison_tables(
        ReplyFacts(tokens_per_s=rates), ReplyFacts(streamed_tokens_per_s=rates)
    )
    assert list(found) == [
        Table(title="Speed of the replies", head=("", "A", "B"), rows=(
            ("output tokens/s of the latency", "p50 2 (n = 3)", None),
            ("output tokens/s after the first token", None, "p50 2 (n = 3)"),
        ))
    ]  # fmt: skip


# last in the file: with a browser open, no run can begin
@pytest.fixture
def opened(run: Run, browser: Browser) -> Iterator[list[str]]:
    path = tm.write_report(run)
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(path.as_uri())
    page.locator("#rows button").first.click()
    page.locator("#detail details summary", has_text="changes to the request").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    yield page.locator("#detail .step").first.inner_text().splitlines()
    page.close()


def test_a_browser_shows_them(opened: list[str]) -> None:
    for line in ("answered by adder-2026", "fingerprint fp-1", "tool_name: a.b -> a_b"):
        assert line in opened
