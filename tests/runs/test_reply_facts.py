"""A run says who answered, how fast, and what was changed of its requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.runs import mini

import toolmark as tm
from toolmark.core.records import Adaptation, Reply, Request, Usage
from toolmark.runs import reply_cautions, reply_facts
from toolmark.runs.costs.run_usage import RunUsage
from toolmark.runs.reply_facts import NO_FACTS, ReplyFacts, ReplyFactsCounter, ReplyLine
from toolmark.runs.value_sample import Rates, Times

NAME = Adaptation(kind="tool_name", detail="a.b -> a_b")
LOST = Adaptation(kind="state_dropped", detail="the calls of a message were changed")


def counted(replies: Sequence[Reply]) -> ReplyFacts:
    """Count replies, each of an episode of its own."""
    counter = ReplyFactsCounter()
    for index, reply in enumerate(replies):
        line = msgspec.json.decode(msgspec.json.encode(reply), type=ReplyLine)
        counter.add_reply(line, (f"t-{index}", index % 2))
    return counter.count_facts()


def stored(record: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(record))


def versions(*names: str) -> list[Reply]:
    return [Reply(model=name) for name in names]


def cautions(replies: Sequence[Reply]) -> list[str]:
    return list(reply_cautions.list_cautions(counted(replies)))


def test_names_come_in_the_order_in_which_they_answered() -> None:
    replies = [
        Reply(model="m-1", fingerprint="f", upstream="p"),
        Reply(model="m-2", fingerprint="f", upstream="q", from_cache=True),
        Reply(model="m-2", fingerprint="f"),
        Reply(),
    ]
    found = stored(counted(replies))
    one = {"n_replies": 1, "first_reply": 1, "last_reply": 1, "first_episode": "t-0",
           "last_episode": "t-0"}  # fmt: skip
    assert found == {
        "n_replies": 4, "n_from_cache": 1,
        "models": {"n_names": 2, "names": [
            {"name": "m-1", **one},
            {"name": "m-2", "n_replies": 2, "n_from_cache": 1, "first_reply": 2, "last_reply": 3,
             "first_episode": "t-1 #1", "last_episode": "t-2"}]},
        "fingerprints": {"n_names": 1, "names": [
            {"name": "f", "n_replies": 3, "n_from_cache": 1, "first_reply": 1, "last_reply": 3,
             "first_episode": "t-0", "last_episode": "t-2"}]},
        "upstreams": {"n_names": 2, "names": [
            {"name": "p", **one},
            {"name": "q", "n_replies": 1, "n_from_cache": 1, "first_reply": 2, "last_reply": 2,
             "first_episode": "t-1 #1", "last_episode": "t-1 #1"}]},
    }  # fmt: skip


def test_replies_that_say_nothing_have_no_facts() -> None:
    said = [Reply(text="x", usage=Usage(output=3)), Reply(from_cache=True)]
    assert counted(said) is reply_facts.facts_from_summary({}) is NO_FACTS
    assert reply_facts.summary_fields(NO_FACTS) == {}
    assert stored(RunUsage(n_requests=2, replies=NO_FACTS)) == {"n_requests": 2}


@pytest.mark.parametrize(
    ("replies", "wanted"),
    [
        (versions("a", "a", ""), []),
        (versions("a", "a", "b"), ["2 model versions answered: a (2 replies, until t-1 #1), "
                                   "b (1 reply)"]),
        (versions("a", "b", "a"), ["2 model versions answered by turns: a (2 replies), "
                                   "b (1 reply)"]),
        ([Reply(fingerprint="f", from_cache=True), *[Reply(fingerprint="g")] * 2],
         ["2 system fingerprints answered: f (1 reply from the cache, until t-0), g (2 replies)"]),
        ([Reply(upstream="p"), Reply(upstream="p", from_cache=True), Reply(upstream="q")],
         ["2 upstream providers answered: p (2 replies, 1 of them from the cache, until t-1 #1), "
          "q (1 reply)"]),
        (versions("a", "b", "c", "c", "d", "d"),
         ["4 model versions answered: a (1 reply, until t-0), c (2 replies, until t-3 #1), "
          "d (2 replies), and 1 more"]),
        ([Reply(adaptations=(NAME,)), Reply(adaptations=(LOST, NAME)), Reply()],
         ["the model did not get back its thoughts in 1 of 3 requests: the calls of a message were "
          "changed"]),
    ],
)  # fmt: skip
def test_a_change_within_a_run_is_a_caution(replies: list[Reply], wanted: list[str]) -> None:
    assert cautions(replies) == wanted


def test_episodes_at_the_same_time_mix_two_versions_a_little() -> None:
    mixed = versions(*"a" * 97, "b", "a", "b", "a", "b", *"b" * 50)
    assert cautions(mixed) == [
        "2 model versions answered: a (99 replies, until t-100), b (53 replies)"
    ]


def test_times_are_of_replies_that_were_asked_for() -> None:
    slow = Reply(latency_s=2.0, usage=Usage(output=10))
    replies = [
        slow,
        replace(slow, from_cache=True),
        replace(slow, complaint="too long", stop="over_long"),
        replace(slow, latency_s=4.0, usage=Usage()),
    ]
    found = counted(replies)
    assert found.latency_s == Times(n=2, p50=2.0, p95=4.0, p99=4.0, max=4.0)
    assert found.tokens_per_s == Rates(n=1, p5=5.0, p50=5.0, p95=5.0)
    assert (found.first_token_s, found.streamed_tokens_per_s) == (None, None)


@pytest.mark.parametrize(
    ("changed", "rate"),
    [
        ({}, 30.0),
        ({"usage": Usage(output=90, reasoning=60)}, 30.0),  # thoughts came before, unseen
        ({"usage": Usage(output=90, reasoning=60), "reasoning": "so"}, 90.0),
        ({"first_token_s": 1.49, "first_call_s": 1.49}, None),  # all in one piece
        ({"usage": Usage()}, None),
    ],
)
def test_a_streamed_reply_has_the_rate_after_its_first_token(
    changed: dict[str, object], rate: float | None
) -> None:
    streamed = Reply(latency_s=1.5, first_token_s=0.5, first_call_s=0.75, usage=Usage(output=30))
    found = counted([replace(streamed, **changed)])
    assert found.tokens_per_s is None and found.first_call_s is not None
    rates = found.streamed_tokens_per_s
    assert (rates and rates.p50) == rate


@pytest.mark.parametrize(
    "odd",
    [
        {"latency_s": 1e300}, {"latency_s": 5e-324}, {"latency_s": -1.0},
        {"first_token_s": 1e300}, {"first_token_s": -1.0}, {"usage": Usage(output=10**18)},
    ],
)  # fmt: skip
def test_what_cannot_have_been_measured_is_left_out(odd: dict[str, object]) -> None:
    streamed = Reply(latency_s=1.5, first_token_s=0.5, usage=Usage(output=30))
    found = counted([streamed, replace(streamed, **odd), replace(Reply(latency_s=1.5), **odd)])
    for each in (found.first_token_s, found.tokens_per_s, found.streamed_tokens_per_s):
        assert each is None or each.p50 in (0.5, 30.0)
    assert found.latency_s is not None and found.latency_s.max == 1.5


def test_changes_are_counted_by_reply_and_kind() -> None:
    other = replace(NAME, detail="c.d -> c_d")
    found = counted(
        [Reply(adaptations=(NAME, other)), Reply(adaptations=(NAME, NAME)), Reply(defects=("cut",)),
         Reply(finish="pause_turn", defects=("cut", "odd"))]
    )  # fmt: skip
    assert stored(found) == {
        "n_replies": 4,
        "adaptations": {
            "tool_name": {"n_replies": 2, "examples": {"a.b -> a_b": 2, "c.d -> c_d": 1}}
        },
        "defects": {"n_replies": 2, "examples": {"cut": 2, "odd": 1}},
        "finish": {"pause_turn": 1},
    }


def test_what_an_endpoint_invents_anew_each_time_takes_bounded_memory() -> None:
    n = 3 * reply_facts.MAX_DISTINCT
    found = counted(
        [
            Reply(
                model=f"m-{i}", fingerprint="x" * 5_000, finish=f"f-{i}", defects=(f"d-{i}",),
                adaptations=(Adaptation(kind="call_id", detail=f"a-{i}"),),
            )
            for i in range(n)
        ]
    )  # fmt: skip
    assert found.models.n_names == reply_facts.MAX_SOURCES
    assert len(found.models.names) == len(found.finish) == reply_facts.MAX_NAMES
    assert len(found.fingerprints.names[0].name) == reply_facts.MAX_TEXT_CHARS
    assert found.adaptations["call_id"].n_replies == n
    assert found.defects is not None and found.defects.n_replies == n
    assert len(found.defects.examples) == reply_facts.MAX_EXAMPLES


class Changing(mini.Adder):
    """Says by which version it answers: another one from item `since` on."""

    def __init__(self, since: int) -> None:
        super().__init__()
        self.since = since

    async def __call__(self, request: Request, /) -> Reply:
        reply = await super().__call__(request)
        name = "adder-2" if self.asked[-1][0] >= self.since else "adder-1"
        return replace(reply, model=name, latency_s=0.25)


def test_the_summary_of_a_run_has_the_facts_and_the_caution(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=6), Changing(4), log_dir=tmp_path, max_connections=1)
    found = run.summary()
    assert found["caution"] == (
        "2 model versions answered: adder-1 (8 replies, until sum-3), adder-2 (4 replies)"
    )
    assert found["replies"]["latency_s"] == {
        "n": 12, "p50": 0.25, "p95": 0.25, "p99": 0.25, "max": 0.25
    }  # fmt: skip
    tm.rescore(run, mini.SCORER)
    assert run.summary() == found


def test_a_run_that_says_nothing_of_its_replies_has_no_facts(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=2), mini.Adder(), log_dir=tmp_path)
    assert not {"replies", "caution"} & run.summary().keys()


@pytest.mark.parametrize(
    ("n_cut", "n_replies", "max_tokens", "expected"),
    [
        (0, 3, 50, []),
        (1, 3, 50, ["1 of 3 replies was cut at the limit of tokens (max_tokens 50); "
                    "next: a higher --max-tokens"]),
        (2, 2, None, ["2 of 2 replies were cut at the limit of tokens (that of the endpoint or of "
                      "its wire, as --max-tokens sets none); next: a higher --max-tokens"]),
        (1, 101, 50, []),
    ],
)  # fmt: skip
def test_replies_that_were_cut_are_a_caution_with_the_limit_and_the_next_step(
    n_cut: int, n_replies: int, max_tokens: int | None, expected: list[str]
) -> None:
    replies = [Reply(stop="length")] * n_cut + [Reply()] * (n_replies - n_cut)
    facts = counted(replies)
    assert facts.n_cut == n_cut
    assert list(reply_cautions.list_cautions(facts, max_tokens)) == expected
