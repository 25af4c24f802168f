"""The example of docs/how-to/simulated-users.md runs as it stands, and is short."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.runs.calendars import DONE, Speaker

import toolmark as tm
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples/simulated_user.py"
MAX_LINES = 40  # that are not blank


@pytest.fixture
def suite() -> tm.Suite:
    return tm.load(f"{EXAMPLE}:appointments")


class Assistant(Model):
    """Asks for day and hour, and adds the event when it has both."""

    name = "assistant"

    async def __call__(self, request: Request, /) -> Reply:
        said = " ".join(message.text for message in request.messages if message.role == "user")
        day, hour = re.search(r"Tuesday|Friday", said), re.search(r"at (\d+)", said.casefold())
        title = next((word for word in ("dentist", "choir") if word in said), None)
        if request.messages[-1].role == "tool" or title is None:
            return Reply(text="Yes, that is so.")
        if day is None or hour is None:
            return Reply(text="On which day, and at which hour?")
        arguments = {"day": day[0], "hour": int(hour[1]), "title": title}
        return Reply(calls=(Call(name="add_event", arguments=json.dumps(arguments), id="c"),))


def test_it_is_short() -> None:
    assert len([line for line in EXAMPLE.read_text().splitlines() if line.strip()]) <= MAX_LINES


@pytest.mark.parametrize(("control", "value"), [("oracle", 1.0), ("null", 1 / 11)])
def test_controls_prove_it(suite: tm.Suite, tmp_path: Path, control: str, value: float) -> None:
    run = tm.run(suite, f"control/{control}", log_dir=tmp_path)
    assert run.summary()["score"]["value"] == pytest.approx(value)
    assert run.summary()["parts"]["user faults"]["value"] == 0.0


def test_an_assistant_that_asks_succeeds_with_the_scripted_user(
    suite: tm.Suite, tmp_path: Path
) -> None:
    run = tm.run(suite, Assistant(), user_model="scripted", limit=3, log_dir=tmp_path)
    assert run.summary()["score"]["value"] == 1.0


def test_a_user_that_says_what_it_must_not_know_is_found(suite: tm.Suite, tmp_path: Path) -> None:
    texts = ["The dentist, in room B12.", "On Tuesday, at 15.", DONE]
    user = Speaker(lambda request, n_said: texts[n_said])
    run = tm.run(suite, Assistant(), user_model=user, ids=["dentist"], log_dir=tmp_path)
    parts = run.summary()["parts"]
    assert parts["user faults"]["value"] == 1.0
    assert parts["accuracy without user faults"]["value"] is None
    assert run.summary()["score"]["value"] == 1.0
