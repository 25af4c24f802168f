"""A model that thinks is asked by each native wire, and gets all of its thoughts back.

The chat wire's providers have rules of their own: test_strict_chat.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from tests.models import (
    test_anthropic_thinker,
    test_gemini_thinker,
    test_responses_thinker,
    thinking_runs,
)
from tests.models.thinking_runs import success
from tests.servers import anthropic_server, fake, gemini_server, responses_server

from toolmark.core.records import Request
from toolmark.models.wires.anthropic_request import MessagesEncoder
from toolmark.models.wires.gemini_request import GeminiEncoder
from toolmark.models.wires.responses_request import ResponsesEncoder
from toolmark.models.wires.wire import RequestEncoder
from toolmark.runs.run_store import Run

Json = dict[str, Any]


class Wire(NamedTuple):
    """One wire: its thinker, how it is asked, what its rules refuse.

    `settings_refused` says how a complaint about a setting that thinkers do not take begins or
    ends: the client learns it, and asks again. `forgetful` is in the complaint about lost thoughts.
    """

    thinker: Callable[..., Any]
    play: Callable[..., Run]
    encoder: type[RequestEncoder]
    conversation: str
    check: Callable[[Json], Any]
    refusal: type[Exception]
    mutations: dict[str, tuple[Callable[[Json], None], str]]
    settings_refused: str
    forgetful: str

    def faults(self, thinker: Any) -> list[str]:
        """Return why requests were refused, but for settings that a thinker does not take."""
        return [each for each in thinker.refusals if self.settings_refused not in each]


WIRES = {
    "responses": Wire(
        responses_server.Thinker, test_responses_thinker.play, ResponsesEncoder, "input",
        responses_server.check_request, responses_server.Refusal,
        test_responses_thinker.MUTATIONS, "Unsupported parameter",
        "was provided without its required 'reasoning' item",
    ),
    "anthropic": Wire(
        anthropic_server.Thinker, test_anthropic_thinker.play, MessagesEncoder, "messages",
        lambda body: anthropic_server.check_request(body, test_anthropic_thinker.HEADERS),
        anthropic_server.Refusal, test_anthropic_thinker.MUTATIONS, "deprecated for this model",
        "must start with a thinking block",
    ),
    "gemini": Wire(
        gemini_server.Thinker, test_gemini_thinker.play, GeminiEncoder, "contents",
        gemini_server.check_request, gemini_server.Refusal, test_gemini_thinker.MUTATIONS,
        "no setting is refused", "is missing a thought_signature",
    ),
}  # fmt: skip


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


@pytest.mark.parametrize("stream", [False, True])
def test_a_thinker_solves_funcbench(wire: Wire, tmp_path: Path, stream: bool) -> None:
    thinker = wire.thinker()
    with fake.in_thread(thinker) as server:
        assert success(wire.play(server, tmp_path, stream=stream)) == 1.0
    assert not wire.faults(thinker)
    assert max(len(body[wire.conversation]) for body in thinker.bodies) > 4
    if wire.encoder is not GeminiEncoder:  # its address says it: see test_gemini_thinker
        assert {body.get("stream", False) for body in thinker.bodies} == {stream}


@pytest.mark.parametrize("stream", [False, True])
def test_thoughts_survive_the_cache_and_a_run_that_goes_on(
    wire: Wire, tmp_path: Path, stream: bool
) -> None:
    thinker = wire.thinker(fails_from=9)
    thinking_runs.check_resumption(thinker, wire.play, tmp_path, stream=stream)
    assert not wire.faults(thinker)


@pytest.fixture(scope="module")
def longest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Wire], Json]]:
    """The longest request with parallel calls that a run on a wire sent."""
    found: dict[str, Json] = {}

    def find(wire: Wire) -> Json:
        if wire.conversation not in found:
            thinker = wire.thinker()
            with fake.in_thread(thinker) as server:
                wire.play(server, tmp_path_factory.mktemp("runs"))
            bodies = sorted(thinker.bodies, key=lambda body: -len(body[wire.conversation]))
            several = (each for each in bodies if has_parallel_calls(each))
            found[wire.conversation] = next(several, bodies[0])
        return found[wire.conversation]

    yield find


def has_parallel_calls(body: Json) -> bool:
    return any(len(gemini_server.calls_of(each)) > 1 for each in body.get("contents", ()))


def test_the_endpoint_refuses_what_was_changed(wire: Wire, longest: Callable[[Wire], Json]) -> None:
    for name, (change, words) in wire.mutations.items():
        body = copy.deepcopy(longest(wire))
        wire.check(body)
        change(body)
        try:
            with pytest.raises(wire.refusal, match=words):
                wire.check(body)
        except BaseException as error:
            error.add_note(name)
            raise


def test_a_client_that_drops_thoughts_solves_nothing(
    wire: Wire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = wire.encoder.encode_request

    def forget(self: RequestEncoder, request: Request, **more: Any) -> Any:
        messages = tuple(replace(each, provider_state=None) for each in request.messages)
        settings = {} if wire.encoder is GeminiEncoder else more  # its repair would mark all calls
        return encode(self, replace(request, messages=messages), **settings)

    monkeypatch.setattr(wire.encoder, "encode_request", forget)
    thinker = wire.thinker()
    with fake.in_thread(thinker) as server:
        found = wire.play(server, tmp_path).summary()
    assert (found["n_run"], found["failures"]) == (0, {"rejected.other": found["n_not_run"]})
    assert wire.faults(thinker)
    assert all(wire.forgetful in each for each in wire.faults(thinker))
