"""What is advised about episodes that were not run: to ask again only where that may mend it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.servers import fake
from tests.servers.planning_endpoint import Command, Mind

WORDS = ("run", "multinet-odinw", "-T", "items=12", "--seed", "7", "--max-retries", "0")
AGAIN = "next: give the same command again"
POLICY = """
from toolmark.core.records import Reply
class Policy:
    async def __call__(self, request, /):
        return Reply(text=next(iter(())))
"""


def test_an_endpoint_that_takes_no_pictures_is_asked_without(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 400, {"error": {"message": "At most 0 image(s) may be provided"}}
    said = toolmark(*WORDS, "-m", mind.model, "--max-connections", "1")
    assert said.code == 3 and len(mind.asked) == 3
    assert "next: the endpoint refuses the pictures: -T pictures=no asks in words" in said.out
    assert f"toolmark doctor -m {mind.model!r}" in said.out
    assert AGAIN not in said.out


@pytest.mark.parametrize(("status", "n"), [(404, 1), (422, 5)])
def test_what_is_refused_is_not_advised_to_be_asked_again(
    toolmark: Command, mind: Mind, status: int, n: int
) -> None:
    mind.status, mind.body = status, {"error": {"message": "no such thing"}}
    said = toolmark(*WORDS, "-m", mind.model, "-T", "pictures=no", "--max-connections", "1")
    asked = [each for each in mind.asked if each.body]
    assert said.code == 3 and len(asked) == n
    assert "next: correct that" in said.out and AGAIN not in said.out


def test_a_server_that_is_down_is_looked_at_first(toolmark: Command) -> None:
    model = f"http://127.0.0.1:{fake.unused()}/v1#m"
    said = toolmark(*WORDS, "-m", model)
    assert f"to see whether it is up: toolmark doctor -m '{model}'\n" in said.out
    assert AGAIN not in said.out


def test_what_is_no_endpoint_is_not_probed(toolmark: Command) -> None:
    said = toolmark(*WORDS, "-m", "control/dead")
    assert AGAIN in said.out and "doctor" not in said.out


def test_an_endpoint_that_fails_for_now_is_asked_again(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 503, {"error": {"message": "overloaded"}}
    said = toolmark(*WORDS, "-m", mind.model)
    assert AGAIN in said.out and "doctor" not in said.out


def test_a_policy_that_raises_is_to_be_corrected(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / "users_policy.py").write_text(POLICY)
    said = toolmark(*WORDS, "-m", "users_policy:Policy")
    assert "coroutine raised StopIteration (users_policy.py, line 5)" in said.out
    assert "next: correct your model's code, then give the same command again" in said.out
    assert AGAIN not in said.out


def test_doctor_tells_what_to_do_about_code_of_ones_own(toolmark: Command) -> None:
    said = toolmark("doctor", "-m", "users_policy:Policy")
    assert said.code == 2 and "toolmark run SUITE -m users_policy:Policy --limit 1" in said.err
