"""Failure modes: agents that commit one each are told by it, and the oracle by none."""

from __future__ import annotations

import json

import msgspec
import pytest
from msgspec.structs import replace
from tests.suites.mfcl.vision import scripted

from toolmark.suites.mfcl.vision import modes, score
from toolmark.suites.mfcl.vision.item import Asked, Hop, Mark, Truth
from toolmark.suites.mfcl.vision.track import follow
from toolmark.types import Call, Reply, Result, Step, Task, Text, Trajectory
from toolmark.worlds.search import FETCH, SEARCH

N = 60


@pytest.mark.parametrize("name", scripted.AGENTS)
def test_an_agent_that_errs_in_one_way_is_told_by_it(name: str) -> None:
    played = [(task, scripted.spoilt(task, name)) for task in scripted.tasks(N)]
    verdicts = [score.score(task, done)["paper"] for task, done in played if done is not None]
    assert len(verdicts) >= N / 3
    found = [scripted.modes(verdict.labels) for verdict in verdicts]
    assert found.count(name) >= 0.95 * len(found), found
    assert all(verdict.outcome == "incorrect" for verdict in verdicts)
    assert all(label.evidence for verdict in verdicts for label in verdict.labels)


def test_the_oracle_is_right_and_told_by_none() -> None:
    for task in scripted.tasks(N):
        for verdict in score.score(task, scripted.right(task)).values():
            assert verdict.outcome == "correct" and not verdict.labels
            assert not any(part.startswith(score.MODE) for part in verdict.parts)


# --- one item by hand -------------------------------------------------------------------

TRUTH = Truth(
    answers=("14 March 1987",),
    asked=Asked(request="When was the museum on the sign opened?"),
    marks=(
        Mark(role="clue", text="Tulden Museum", answer="14 March 1987", hrefs=("https://a.b/tulden",)),
        Mark(role="lookalike", text="Tulmar Museum", answer="3 May 1990",
             hrefs=("https://a.b/tulmar",)),
        Mark(role="foreground", text="Orvo Cola", answer="1 June 2001", hrefs=("https://a.b/orvo",)),
    ),
    hops=(Hop(query="Tulden Museum", href="https://a.b/tulden", finds="14 March 1987"),),
)  # fmt: skip
TASK = Task(id="i@base", item="i", suite="mfcl-vision", turns=(), axes={"variation": "base"})


def call(name: str, **given: object) -> Call:
    return Call(name=name, arguments=json.dumps(given))


def step(*pairs: tuple[Call, str]) -> Step:
    results = tuple(Result(parts=(Text(text),)) for _, text in pairs)
    return Step(reply=Reply(), calls=tuple(one for one, _ in pairs), results=results)


def hits(*names: str) -> str:
    return str([{"title": name, "href": f"https://a.b/{name}", "body": ""} for name in names])


def episode(*steps: Step, said: str) -> Trajectory:
    return Trajectory(task="i@base", steps=(*steps, Step(reply=Reply(text=said))), answer=said)


def primary(done: Trajectory, truth: Truth = TRUTH) -> str:
    task = replace(TASK, reference=msgspec.to_builtins(truth))
    return scripted.modes(score.score(task, done)["paper"].labels)


def test_the_right_page_found_and_another_answer_is_an_abandoned_lead_with_its_place() -> None:
    found = step((call(SEARCH, keywords="Tulden Museum opened"), hits("x", "tulden")))
    done = episode(found, said='{"answer": "1 May 1900"}')
    label = modes.found(TRUTH, follow(done))[0]
    assert label.native == "6"
    assert "tulden at place 2" in label.evidence and "1 May 1900" in label.evidence


def test_who_speaks_as_if_the_tool_could_see_is_told_so_beside_the_mode() -> None:
    done = episode(
        step((call(SEARCH, keywords="history of what is shown in image"), "[]")), said=""
    )
    found = [label.native for label in modes.found(TRUTH, follow(done))]
    assert found == ["3", modes.SEES]


def test_a_misread_name_is_told_with_what_it_should_be() -> None:
    done = episode(step((call(SEARCH, keywords="Tuldan"), "[]")), said="I do not know")
    label = modes.found(TRUTH, follow(done))[0]
    assert label.native == "1A" and "'tuldan'" in label.evidence and "'tulden'" in label.evidence


def test_later_evidence_ends_a_first_hop_bias() -> None:
    first = step((call(SEARCH, keywords="Orvo Cola"), hits("orvo")))
    late = step((call(FETCH, url="https://a.b/tulden"), '{"content": "..."}'))
    assert primary(episode(first, said="I do not know")) == "4"
    assert primary(episode(first, late, said="I do not know")) == "6"


def test_what_ended_by_force_says_so_where_no_mode_is_seen() -> None:
    item = replace(TRUTH, marks=(), hops=())
    searched = step((call(SEARCH, keywords="anything else"), "[]"))
    done = replace(episode(searched, said=""), ending="steps")
    assert primary(done, item) == modes.UNEXPLAINED
    assert primary(episode(said="x"), item) == "2"


def test_calls_that_cannot_be_read_count_for_nothing() -> None:
    odd = (Call(name=SEARCH, arguments="[]"), Call(name=SEARCH, arguments="{"),
           Call(name=FETCH, arguments='{"url": 3}'), Call(name="x", arguments="{}"))  # fmt: skip
    done = episode(step(*((one, "Error") for one in odd)), said="x")
    assert not follow(done).queries and not follow(done).opened


@pytest.mark.parametrize(("base", "native"), [("2", modes.OTHER), ("5", "2"), ("", "2")])
def test_an_error_that_is_made_on_the_undamaged_picture_too_is_other(
    base: str, native: str
) -> None:
    truth = replace(TRUTH, variation="edges")
    task = replace(TASK, id="i@edges", reference=msgspec.to_builtins(truth))
    controls = {("i", 0, "paper"): base} if base else {}
    found = score.score(task, episode(said="1 May 1900"), controls)
    labels = found["paper"].labels
    assert scripted.modes(labels) == native
    assert [label.primary for label in labels].count(True) == 1
    assert found["paper"].parts["mode:2"] == 1
    assert scripted.modes(found["fair"].labels) == "2", "a control counts for its own reading"


def test_shares_of_words_add_up_and_say_where_they_come_from() -> None:
    task = replace(TASK, reference=msgspec.to_builtins(TRUTH))
    words = step((call(SEARCH, keywords="Tulden museum red zebra"), hits("tulden")))
    read = step((call(FETCH, url="https://a.b/tulden"), '{"content": "Balmoral"}'))
    then = step((call(SEARCH, keywords="Balmoral"), "[]"))
    parts = score.score(task, episode(words, read, then, said="x"))["paper"].parts
    shares = {name: value for name, value in parts.items() if name.startswith("from_")}
    assert shares == {"from_question": 0.125, "from_text": 0.125, "from_visual": 0.125,
                      "from_pages": 0.5, "from_other": 0.125}  # fmt: skip
    assert (parts["searched"], parts["queries"], parts["fetched"], parts["steps"]) == (1, 2, 1, 4)
    assert parts["lookalikes"] == 1 and parts["prompted"] == 0 and parts["refused"] == 0
