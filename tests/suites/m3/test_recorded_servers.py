"""What a recording of servers may answer, and what of a configuration never reaches the disk."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.servers import mcp_fault

import toolmark as tm
from toolmark.runs.run_store import Run

pytestmark = pytest.mark.servers

FAULT = {"command": sys.executable, "args": [str(Path(mcp_fault.__file__))]}
Play = Callable[..., Run]


def entry(id: str, tool: str, /, image: str = "", **given: Any) -> dict[str, Any]:
    return {
        "id": id, "question": "How much?", "prompt": "Call it.", "image": image, "final_reply": "3",
        "steps": [{"calls": [{"name": tool, "arguments": given}]}],
    }  # fmt: skip


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Plays two tasks, one of them with a picture; on tape, if a mode is given."""
    entries = [entry("00000000", "one/count"), entry("00010000", "two/count", image="gone.png")]
    write(tmp_path, entries, one=FAULT, two=FAULT)
    picture(tmp_path).write_bytes(mcp_fault.PNG)

    def played(mode: str, *, agent: str = "loop", **more: Any) -> Run:
        suite = tm.load(
            "m3", truths=str(tmp_path / "truths.json"), servers=str(tmp_path / "mcp.json"),
            similarity="exact", agent=agent, cassette=str(tmp_path / "tape.jsonl"), mode=mode,
            **more,
        )  # fmt: skip
        return tm.run(suite, "control/oracle", log_dir=tmp_path / "runs", resume=False)

    return played


def write(folder: Path, entries: list[dict[str, Any]], **servers: dict[str, Any]) -> None:
    (folder / "truths.json").write_text(json.dumps(entries))
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


def picture(folder: Path) -> Path:
    return folder / "gone.png"


def reasons(run: Run) -> dict[str, str]:
    return {attempt.task: attempt.failure.message for attempt in run.attempts()}


def test_a_task_without_its_picture_is_not_run_from_a_recording_either(
    play: Play, tmp_path: Path
) -> None:
    assert play("record").summary()["n_run"] == 2
    picture(tmp_path).unlink()
    for mode in ("replay", "auto", "record"):
        run = play(mode)
        assert "the picture is missing" in reasons(run)["00010000"]
        assert run.summary()["n_run"] == 1


def test_a_recording_serves_every_agent_and_question_about_the_same_pictures(
    play: Play, tmp_path: Path
) -> None:
    play("record")
    assert play("replay", agent="executor", fuzzy=False).summary()["n_run"] == 2
    picture(tmp_path).write_bytes(mcp_fault.PNG + b"x")
    run = play("replay")
    assert "00010000 was recorded for another instance" in reasons(run)["00010000"]
    assert run.summary()["n_run"] == 1
    assert play("auto").summary()["n_run"] == play("replay").summary()["n_run"] == 2


@pytest.mark.parametrize("mode", ["record", "auto"])
def test_an_environment_that_there_is_not_costs_its_tasks_alone(
    play: Play, tmp_path: Path, mode: str
) -> None:
    servers = {"one": FAULT, "two": {"python": "gitt"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    run = play(mode)
    assert "no pinned environment 'gitt'" in reasons(run)["00010000"]
    assert run.summary()["n_run"] == 1


def test_no_key_of_a_configuration_reaches_the_disk(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"WIKI": "wk-7731-AbC", "DBPW": "hunter2hunter2"}
    for name, key in keys.items():
        monkeypatch.setenv(name, key)
    env = {"DB_URL": "postgres://me:${DBPW}@db/x", "GITHUB_PAT": "literal", "PASS": "${DBPW}"}
    args = [*FAULT["args"], "--api-key", "argued", "${WIKI}"]
    shown = [entry(f"0000000{at}", "one/environ", name=name) for at, name in enumerate(env)]
    said = [
        entry(f"0001000{at}", "one/echo", text=f"{text}!")
        for at, text in enumerate((*keys.values(), "argued"))
    ]
    write(tmp_path, shown + said, one=FAULT | {"args": args, "env": env})
    run = play("record")
    results = {one.task: one.steps[0].results[0].text for one in run.trajectories()}
    hidden = ["postgres://me:[removed]@db/x", "[removed]", "[removed]", *["[removed]!"] * 3]
    assert [results[id] for id in sorted(results)] == hidden
    tape = (tmp_path / "tape.jsonl").read_text()
    assert not [key for key in (*keys.values(), "literal", "argued") if key in tape]
