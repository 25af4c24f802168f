"""The published suite on one's own servers: what cannot run is not run, the rest is scored."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Chart, Reply, Request, Table
from toolmark.runs.task_selection import environment_hashes
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites import suite_registry
from toolmark.suites.m3 import m3_paper_results, published_tasks
from toolmark.suites.m3.m3_tables import ALIGNMENT_MEASURES, pooled_measure

pytestmark = pytest.mark.servers

SERVER = Path(__file__).parents[2] / "servers" / "mcp_sdk.py"
ROOT = Path(__file__).parents[3]
CONFIG = {
    "mcpServers": {
        "sums": {
            "command": sys.executable, "args": [str(SERVER)], "env": {"PYTHONPATH": str(ROOT)},
            "paths": [str(ROOT / "tests")],
            "stateful": False,
        },
        "maps": {"command": sys.executable, "needs": ["NO_SUCH_KEY"]},
    }
}  # fmt: skip


def entry(id: str, server: str = "sums", image: str = "") -> dict[str, Any]:
    calls = [{"name": f"{server}/add", "arguments": {"a": a, "b": 2}} for a in (1, 2)]
    return {
        "id": id, "question": "How much?", "image": image, "final_reply": "3 and 4",
        "steps": [{"calls": calls}, {"calls": [calls[0] | {"arguments": {"a": 3, "b": 4}}]}],
    }  # fmt: skip


@pytest.fixture
def parameters(tmp_path: Path) -> dict[str, Any]:
    truths = [entry("00000000"), entry("00010000", "maps"), entry("00020000", image="gone.png")]
    (tmp_path / "truths.json").write_text(json.dumps([*truths, truths[0]]))
    (tmp_path / "mcp.json").write_text(json.dumps(CONFIG))
    return {
        "truths": str(tmp_path / "truths.json"), "servers": str(tmp_path / "mcp.json"),
        "similarity": "exact",
    }  # fmt: skip


def test_a_run_of_other_references_is_another_run(parameters: dict[str, Any]) -> None:
    known = tm.load("m3", **parameters)
    assert environment_hashes(known) == environment_hashes(tm.load("m3", **parameters))
    truths = Path(parameters["truths"])
    truths.write_text(truths.read_text().replace("3 and 4", "3 and 5"))
    assert environment_hashes(known) != environment_hashes(tm.load("m3", **parameters))


@pytest.mark.parametrize("agent", ["loop", "executor"])
def test_what_lacks_a_server_or_a_picture_is_not_run_and_the_rest_is_scored(
    parameters: dict[str, Any], tmp_path: Path, agent: str
) -> None:
    suite = tm.load("m3", agent=agent, **parameters)
    assert any("00000000 (2 times)" in note for note in suite.provenance.notes)
    assert any("1 tasks lack their picture" in note for note in suite.provenance.notes)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path / "runs")
    found = run.summary()
    assert (found["n_run"], found["n_not_run"]) == (1, 2)
    assert found["score"]["name"] == "alignment"
    assert found["score"]["value"] == pytest.approx(1)
    reasons = {attempt.task: attempt.failure.message for attempt in run.attempts()}
    assert "maps: not set in the environment: NO_SUCH_KEY" in reasons["00010000"]
    assert "gone.png" in reasons["00020000"]
    null = tm.run(suite, "control/null", log_dir=tmp_path / "runs").summary()
    assert null["score"]["value"] == 0


def test_a_reference_without_calls_is_met_by_nobody(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    bare = [entry(f"000{n}0000") for n in range(3)]
    bare[0]["steps"] = []
    bare[1]["steps"] = [{"calls": []}]
    Path(parameters["truths"]).write_text(json.dumps(bare))
    suite = tm.load("m3", agent="loop", **parameters)
    assert any("not run: 00000000, 00010000" in note for note in suite.provenance.notes)
    run = tm.run(suite, "control/null", log_dir=tmp_path / "runs")
    found = run.summary()
    assert (found["n_run"], found["score"]["value"]) == (1, 0)
    reasons = {attempt.task: attempt.failure.message for attempt in run.attempts()}
    assert reasons.keys() == {"00000000", "00010000"}
    assert all(published_tasks.EMPTY_REFERENCE in reason for reason in reasons.values())


def test_references_of_one_step_are_reported_with_what_they_cost(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    short = [entry(f"000{n}0000") for n in range(2)]
    short[0]["steps"] = short[0]["steps"][:1]
    Path(parameters["truths"]).write_text(json.dumps(short))
    suite = tm.load("m3", agent="loop", **parameters)
    (note,) = suite.provenance.notes
    assert "1 of 2 references have one step" in note and "91.7\u00a0%" in note
    found = tm.run(suite, "control/oracle", log_dir=tmp_path / "runs").summary()
    assert 100 * found["score"]["value"] == pytest.approx(91.7, abs=0.05)


def test_a_recorded_run_is_played_without_servers(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    tape = str(tmp_path / "tape.jsonl")
    live = tm.run(
        tm.load("m3", agent="loop", cassette=tape, mode="record", **parameters),
        "control/oracle", log_dir=tmp_path / "live",
    )  # fmt: skip
    bare = {name: value for name, value in parameters.items() if name != "servers"}
    again = tm.run(
        tm.load("m3", agent="loop", cassette=tape, **bare),
        "control/oracle", log_dir=tmp_path / "taped",
    )  # fmt: skip
    (one,), (other,) = live.trajectories(), again.trajectories()
    assert [step.results for step in one.steps] == [step.results for step in other.steps]
    assert live.summary()["score"] == again.summary()["score"]


def _tabled(found: Iterable[Table | Chart]) -> dict[str, Table]:
    return {table.title: table for table in found if isinstance(table, Table)}


def _values(table: Table) -> dict[str, Any]:
    return {str(row[0]): row[1] for row in table.rows}


def _rated(rows: Columns, value: float) -> Columns:
    return replace(rows, parts=rows.parts | {"information_grounding": np.full(len(rows), value)})


def test_a_judged_run_stands_among_the_models_of_the_paper(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    suite = tm.load("m3", agent="loop", **parameters)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    readings = {name: gather_columns(run.scores(), name) for name in suite.scorer.rules}
    bare = _tabled(suite.scorer.presentation.tables(readings))
    assert not any("paper" in title for title in bare)
    assert "once it is judged: toolmark judge RUN" in next(iter(bare.values())).note
    rated = {name: _rated(rows, 0.4) for name, rows in readings.items()}
    (board,) = (
        t for name, t in _tabled(suite.scorer.presentation.tables(rated)).items() if "paper" in name
    )
    own = (
        sum(pooled_measure(rated["official"], name).value or 0 for name in ALIGNMENT_MEASURES) + 0.4
    ) / 7
    assert _values(board)["this run"] == pytest.approx(own)
    assert [value for name, value in board.rows if name != "this run"] == sorted(
        (row.average for row in m3_paper_results.published_averages()), reverse=True
    )
    both = {name: {"a": rows, "b": readings[name]} for name, rows in rated.items()}
    boards = _tabled(suite_registry.load_overview(suite.scorer.presentation.overview)(both))
    assert [title for title in boards if "Leader" in title] == [
        f"Leaderboard ({reading})" for reading in readings
    ]
    adjacent = _values(boards[board.title])
    assert "a" in adjacent and "b" not in adjacent


class Asks(Model):
    """Says nothing, and keeps what it was asked."""

    name = "asks"

    def __init__(self) -> None:
        self.seen: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.seen.append(request)
        return Reply()


def test_the_prompt_is_asked_where_the_task_file_has_one(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    tasks = [entry("00000000") | {"prompt": "Use sums/add."}, entry("00990000")]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    reported = []
    for fuzzy in (True, False):
        suite = tm.load(
            "m3", agent="loop", tasks=str(tmp_path / "tasks.json"), fuzzy=fuzzy, **parameters
        )
        assert any("not asked: 00990000" in note for note in suite.provenance.notes)
        model = Asks()
        player: Model = model
        tm.run(suite, player, ids=("00000000",), log_dir=tmp_path / "runs")
        reported.append(model.seen[0].messages[-1].text)
    assert reported == ["How much?", "Use sums/add."]


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"truths": ""}, "-T truths="),
        ({"servers": ""}, "-T servers="),
        ({"agent": "lop"}, "did you mean: loop"),
        ({"mode": "replya"}, "did you mean: replay"),
        ({"cassette": "none.jsonl"}, "no such cassette"),
        ({"similarity": "no/such-encoder"}, "or -T similarity=exact"),
    ],
)
def test_a_wrong_request_says_what_to_do(
    parameters: dict[str, Any], change: dict[str, str], reported: str
) -> None:
    with pytest.raises(UsageError, match=reported):
        tm.load("m3", **(parameters | change))
