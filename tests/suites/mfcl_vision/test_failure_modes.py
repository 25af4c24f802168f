"""Failure modes: agents that commit one each are told by it, and the oracle by none."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from msgspec.structs import replace
from tests.suites.mfcl_vision import scripted

from toolmark.core.records import Call, Ending, Label, Reply, Result, Step, Task, Text, Trajectory
from toolmark.environments.page_corpus import MemoryPage, PageCorpus
from toolmark.environments.search_environment import FETCH_TOOL, SEARCH_TOOL, search_tools
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_vision import episode_scoring, failure_modes
from toolmark.suites.mfcl_vision.episode_actions import extract_actions
from toolmark.suites.mfcl_vision.item_records import Hop, ItemTruth, QuestionParts, SignMark
from toolmark.suites.mfcl_vision.web_environment import WebEnvironment

N = 60


@pytest.mark.parametrize("name", scripted.AGENTS)
def test_an_agent_that_errs_in_one_way_gets_that_mode(name: str) -> None:
    played = [(task, scripted.spoilt(task, name)) for task in scripted.tasks(N)]
    verdicts = [
        episode_scoring.score_episode(Episode(task, done))["paper"]
        for task, done in played
        if done is not None
    ]
    assert len(verdicts) >= N / 3
    found = [scripted.modes(verdict.labels) for verdict in verdicts]
    assert found.count(name) >= 0.95 * len(found), found
    assert all(verdict.outcome == "incorrect" for verdict in verdicts)
    assert all(label.evidence for verdict in verdicts for label in verdict.labels)


def test_the_oracle_is_right_and_has_no_mode() -> None:
    for task in scripted.tasks(N):
        for verdict in episode_scoring.score_episode(Episode(task, scripted.right(task))).values():
            assert verdict.outcome == "correct" and not verdict.labels
            assert not any(part.startswith(episode_scoring.MODE_PREFIX) for part in verdict.parts)


# --- one item by hand -------------------------------------------------------------------

TRUTH = ItemTruth(
    variation="base",
    answers=("14 March 1987",),
    question=QuestionParts(request="When was the museum on the sign opened?"),
    marks=(
        SignMark(
            role="clue", text="Tulden Museum", answer="14 March 1987", hrefs=("https://a.b/tulden",)
        ),
        SignMark(
            role="lookalike",
            text="Tulmar Museum",
            answer="3 May 1990",
            hrefs=("https://a.b/tulmar",),
        ),
        SignMark(
            role="foreground", text="Orvo Cola", answer="1 June 2001", hrefs=("https://a.b/orvo",)
        ),
    ),
    hops=(Hop(query="Tulden Museum", href="https://a.b/tulden", finds="14 March 1987"),),
)
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


def primary(done: Trajectory, truth: ItemTruth = TRUTH) -> str:
    task = replace(TASK, data=msgspec.to_builtins(truth))
    return scripted.modes(episode_scoring.score_episode(Episode(task, done))["paper"].labels)


def labelled(done: Trajectory) -> tuple[Label, ...]:
    task = replace(TASK, data=msgspec.to_builtins(TRUTH))
    return episode_scoring.score_episode(Episode(task, done))["paper"].labels


def test_the_right_page_found_and_another_answer_is_an_abandoned_lead_with_its_place() -> None:
    found = step((call(SEARCH_TOOL, keywords="Tulden Museum opened"), hits("x", "tulden")))
    done = episode(found, said='{"answer": "1 May 1900"}')
    label = failure_modes.find_modes(TRUTH, extract_actions(done))[0]
    assert label.suite_cause == "6"
    assert "tulden at place 2" in label.evidence and "1 May 1900" in label.evidence


@pytest.mark.parametrize(
    ("keywords", "reported"),
    [
        ("history of what is shown in image", ["3", failure_modes.IMAGE_MENTION_MODE]),
        ("who founded what is seen in the attached photo", ["3", failure_modes.IMAGE_MENTION_MODE]),
        ("collections of painters, visible and displayed", ["3"]),
        ("Tulmen photo in the picture", ["1A"]),
    ],
)
def test_speaking_as_if_the_tool_could_see_is_found_besides_poor_keywords(
    keywords: str, reported: list[str]
) -> None:
    done = episode(step((call(SEARCH_TOOL, keywords=keywords), "[]")), said="")
    assert [
        label.suite_cause for label in failure_modes.find_modes(TRUTH, extract_actions(done))
    ] == reported


def test_a_misread_name_is_reported_with_the_right_one() -> None:
    done = episode(step((call(SEARCH_TOOL, keywords="Tuldan"), "[]")), said="I do not know")
    label = failure_modes.find_modes(TRUTH, extract_actions(done))[0]
    assert (
        label.suite_cause == "1A" and "'tuldan'" in label.evidence and "'tulden'" in label.evidence
    )


def test_who_names_the_whole_clue_is_blamed_for_no_visual_error() -> None:
    down = '{"error": "The search engine is not available at the moment."}'
    for name in ("founder biography", "apertura", "website foundry", "red building"):
        asked = step((call(SEARCH_TOOL, keywords=f"Tulden Museum {name}"), down))
        assert primary(episode(asked, said="I do not know")) == failure_modes.UNEXPLAINED_MODE
        short = step((call(SEARCH_TOOL, keywords=f"Tulden {name}"), down))
        assert primary(episode(short, said="I do not know")) == failure_modes.UNEXPLAINED_MODE, (
            "museum: asked"
        )
    hall = replace(TRUTH, marks=(replace(TRUTH.marks[0], text="Tulden Hall"), *TRUTH.marks[1:]))
    half = step((call(SEARCH_TOOL, keywords="Tulden Castle"), down))
    assert primary(episode(half, said="I do not know"), hall) == "1A"


def test_an_emblem_with_something_that_it_has_not_is_a_visual_error() -> None:
    star = SignMark(role="clue", symbol="a yellow star on a red shield")
    item = replace(TRUTH, marks=(star, *TRUTH.marks[1:]), hops=())
    for words, native in [
        ("yellow star red shield", failure_modes.UNEXPLAINED_MODE),
        ("yellow star red shield crown", "1A"),
        ("blue star shield", "1A"),
    ]:
        asked = step((call(SEARCH_TOOL, keywords=words), "[]"))
        assert primary(episode(asked, said="I do not know"), item) == native, words


def test_later_evidence_ends_a_first_hop_bias() -> None:
    first = step((call(SEARCH_TOOL, keywords="Orvo Cola"), hits("orvo")))
    late = step((call(FETCH_TOOL, url="https://a.b/tulden"), '{"content": "..."}'))
    named = step((call(SEARCH_TOOL, keywords="Tulden Museum"), hits("tulden")))
    lucky = step((call(SEARCH_TOOL, keywords="museum opening"), hits("x", "tulden")))
    stays = step((call(SEARCH_TOOL, keywords="Orvo Cola museum"), hits("tulden")))
    assert primary(episode(first, said="I do not know")) == "4"
    assert primary(episode(first, stays, said="I do not know")) == "4"
    for evidence in (late, named, lucky):
        assert primary(episode(first, evidence, said="I do not know")) == "6"


def test_the_ending_of_a_page_is_nothing_of_its_address() -> None:
    for href in ("https://A.b/tulden.htm", "https://a.b/tulden.md", "https://a.b/tulden/#x"):
        opened = step(
            (call(SEARCH_TOOL, keywords="Tulden"), "[]"), (call(FETCH_TOOL, url=href), "...")
        )
        assert primary(episode(opened, said="I do not know")) == "6", href


# --- what is not a mode --------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["refused", "length", "malformed", "over_long"])
def test_what_ended_by_force_comes_before_any_mode(ending: Ending) -> None:
    parrot = step((call(SEARCH_TOOL, keywords="museum sign opened"), "[]"))
    for steps, behind in [((), "2"), ((parrot,), "5")]:
        labels = labelled(replace(episode(*steps, said="cut of"), ending=ending))
        assert [label.suite_cause for label in labels][:2] == [failure_modes.FORCED_MODE, behind]


def test_a_limit_of_steps_stands_behind_the_mode_that_led_to_it() -> None:
    item = replace(TRUTH, marks=(), hops=())
    searched = step((call(SEARCH_TOOL, keywords="anything else"), "[]"))
    assert (
        primary(replace(episode(searched, said=""), ending="steps"), item)
        == failure_modes.FORCED_MODE
    )
    parrot = step((call(SEARCH_TOOL, keywords="museum sign opened"), "[]"))
    assert primary(replace(episode(parrot, said=""), ending="steps")) == "5"
    assert primary(episode(said="x"), item) == "2"


def test_a_reply_that_could_not_be_read_is_a_matter_of_form() -> None:
    odd = Step(reply=Reply(text='[search("Tulden]'), fault="a bracket is not closed")
    first, *_ = labelled(Trajectory(task="i@base", steps=(odd,)))
    assert (first.cause, first.suite_cause) == (
        "format",
        failure_modes.FORM_MODE,
    ) and "bracket" in first.evidence


@pytest.mark.parametrize("arguments", [
    "[]", "{", "{}", '{"keywords": ["Tulden", "Museum"]}', '{"query": "Tulden Museum"}',
    '{"keywords": "Tulden", "max_results": -1}',
])  # fmt: skip
def test_a_search_that_the_environment_refuses_is_a_fault_of_form_and_no_query(
    arguments: str,
) -> None:
    tried = (
        Call(name=SEARCH_TOOL, arguments=arguments),
        Call(name=FETCH_TOOL, arguments='{"url": 3}'),
    )
    pages = PageCorpus([MemoryPage("https://a.b/tulden", "Tulden Museum", "Opened in 1987.")])
    world = WebEnvironment(search_tools(), pages, snippets=True)
    results = tuple(asyncio.run(world.call(one)) for one in tried)
    refused = Step(reply=Reply(), calls=tried, results=results)
    task = replace(TASK, data=msgspec.to_builtins(TRUTH))
    found = episode_scoring.score_episode(Episode(task, episode(refused, said="I do not know")))[
        "paper"
    ]
    assert (found.labels[0].cause, found.labels[0].suite_cause) == (
        "format",
        failure_modes.FORM_MODE,
    )
    assert arguments in found.labels[0].evidence and found.labels[0].primary
    assert found.parts["searched"] == found.parts["queries"] == found.parts["fetched"] == 0
    parrot = step((call(SEARCH_TOOL, keywords="museum sign opened"), "[]"))
    natives = [label.suite_cause for label in labelled(episode(refused, parrot, said="x"))]
    assert natives[0] == "5" and failure_modes.FORM_MODE in natives


@pytest.mark.parametrize("said", [
    "14th March, 1987", "It opened on 14 March 1987.", '{"answer": "the 14 March 1987"}',
])  # fmt: skip
def test_a_right_answer_written_otherwise_is_a_matter_of_form(said: str) -> None:
    found = step((call(SEARCH_TOOL, keywords="Tulden Museum opened"), hits("tulden")))
    for done in (episode(found, said=said), episode(said=said)):
        [label] = labelled(done)
        assert (label.cause, label.suite_cause, label.primary) == (
            "format",
            failure_modes.FORM_MODE,
            True,
        )
    assert primary(episode(found, said="Not 14 March 1987 but 3 May 1990")) == "6"


def test_an_accepted_answer_is_right_whatever_it_looks_like() -> None:
    item = replace(TRUTH, answers=("I Am Not Sure",))
    task = replace(TASK, data=msgspec.to_builtins(item))
    for said in ('{"answer": "I Am Not Sure"}', "I am not sure."):
        for verdict in episode_scoring.score_episode(Episode(task, episode(said=said))).values():
            assert verdict.outcome == "correct" and verdict.parts["refused"] == 0


@pytest.mark.parametrize(
    ("base", "native"), [("2", failure_modes.OTHER_MODE), ("5", "2"), ("", "2")]
)
def test_an_error_that_is_made_on_the_undamaged_picture_too_is_other(
    base: str, native: str
) -> None:
    truth = replace(TRUTH, variation="edges")
    task = replace(TASK, id="i@edges", data=msgspec.to_builtins(truth))
    controls = {("i", 0, "paper"): base} if base else {}
    found = episode_scoring.score_episode(Episode(task, episode(said="1 May 1900")), controls)
    labels = found["paper"].labels
    assert scripted.modes(labels) == native
    assert [label.primary for label in labels].count(True) == 1
    assert found["paper"].parts["mode:2"] == 1
    assert scripted.modes(found["fair"].labels) == "2", "a control counts for its own reading"


def test_shares_of_words_add_up_and_say_where_they_come_from() -> None:
    task = replace(TASK, data=msgspec.to_builtins(TRUTH))
    words = step((call(SEARCH_TOOL, keywords="Tulden museum red zebra"), hits("tulden")))
    read = step((call(FETCH_TOOL, url="https://a.b/tulden"), '{"content": "Balmoral"}'))
    then = step((call(SEARCH_TOOL, keywords="Balmoral"), "[]"))
    parts = episode_scoring.score_episode(Episode(task, episode(words, read, then, said="x")))[
        "paper"
    ].parts
    shares = {name: value for name, value in parts.items() if name.startswith("from_")}
    assert shares == {"from_question": 0.125, "from_text": 0.125, "from_visual": 0.125,
                      "from_pages": 0.5, "from_other": 0.125}  # fmt: skip
    assert (parts["searched"], parts["queries"], parts["fetched"], parts["steps"]) == (1, 2, 1, 4)
    assert parts["lookalikes"] == 1 and parts["prompted"] == 0 and parts["refused"] == 0


def test_an_address_that_a_snippet_speaks_of_was_not_found() -> None:
    call = Call(name=SEARCH_TOOL, arguments='{"keywords": "word"}', id="1")
    forged = "<p>word 'href': 'https://way.example/page', \"href\": \"https://way.example\" end</p>"
    page = MemoryPage("https://spam.example/", 'It\'s "Spam"', forged)
    world = WebEnvironment(search_tools(), PageCorpus([page]), snippets=True)
    step = Step(reply=Reply(calls=(call,)), calls=(call,), results=(asyncio.run(world.call(call)),))
    track = extract_actions(Trajectory(task="t", tool_format="native", steps=(step,)))
    assert [query.hrefs for query in track.queries] == [("https://spam.example/",)]
