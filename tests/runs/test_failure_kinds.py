"""Why an episode was not run is data: every kind is reached, and no code reads a message."""

from __future__ import annotations

import ast
import asyncio
import dataclasses
import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from msgspec.structs import replace
from tests.runs import mini
from tests.servers import fake

import toolmark as tm
from toolmark.cli import console_output, exit_codes, failure_advice
from toolmark.core import errors, json_codec
from toolmark.core.environment import EnvironmentFactory, SimulatedUser
from toolmark.core.errors import (
    RateLimited,
    Rejected,
    SandboxError,
    SimulatedUserError,
    Timeout,
    ToolmarkError,
    TornReply,
    Unavailable,
    UsageError,
    failure_of,
)
from toolmark.core.failure import NEVER_FITS, Failure, Kind, Stage, Subject
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import (
    Attempt,
    Judgement,
    Message,
    Reply,
    Request,
    Ruling,
    Score,
    Task,
    Trajectory,
    Turn,
)
from toolmark.reports import failure_causes
from toolmark.runs import judge_panels, run_scoring
from toolmark.runs.run_store import Run

SOURCE = Path(tm.__file__).parent


# --- every kind -------------------------------------------------------------------------------


def ask(trouble: mini.Trouble, tmp_path: Path, **more: Any) -> Run:
    settings: dict[str, Any] = {"max_retries": 0, "max_connections": 1} | more
    return tm.run(mini.load(n=2), mini.Adder(trouble), log_dir=tmp_path, **settings)


def refused(status: int) -> Callable[[Path], Run]:
    def play(tmp_path: Path) -> Run:
        with pytest.raises(Rejected) as caught:
            ask(lambda i, r: Rejected("no", status), tmp_path)
        return tm.open_run(caught.value.run_dir)

    return play


def raising(error: ToolmarkError) -> Callable[[Path], Run]:
    return lambda tmp_path: ask(lambda i, r: error if i == 0 else None, tmp_path)


class Around(mini.World, SimulatedUser):
    """A world that fails as it is told; its user too."""

    def __init__(self, how: str) -> None:
        super().__init__({})
        self.how = how
        self.user = self if how in ("user", "ruling") else None

    async def tools(self) -> Any:
        if self.how == "code":
            raise KeyError("no such shelf")
        if self.how == "sandbox":
            raise SandboxError("bubblewrap is not installed")
        return await super().tools()

    async def answer(
        self, task: Task, turn: int, steps: Any, text: str, /
    ) -> tuple[Ruling, Message | None]:
        if self.how == "ruling":
            raise SimulatedUserError("no readable ruling")
        raise ZeroDivisionError("in the user")


class Sites(EnvironmentFactory):
    """Gives worlds that fail in one way."""

    def __init__(self, how: str) -> None:
        self.how = how

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Around]:
        yield Around(self.how)


def around(how: str) -> Callable[[Path], Run]:
    @asynccontextmanager
    async def site(media: MediaStore) -> AsyncIterator[Sites]:
        yield Sites(how)

    suite = dataclasses.replace(
        mini.load(n=1), environment=dataclasses.replace(mini.load(n=1).environment, open=site)
    )
    return lambda tmp_path: tm.run(suite, mini.Adder(), log_dir=tmp_path)


def broken(tmp_path: Path) -> Run:
    suite = dataclasses.replace(
        mini.load(n=1),
        maker=dataclasses.replace(mini.load(n=1).maker, failure=lambda task: "no voice"),
    )
    return tm.run(suite, mini.Adder(), log_dir=tmp_path)


def needing(tmp_path: Path) -> Run:
    model = mini.Adder(lambda i, r: Timeout("x") if i == 1 else None)
    return tm.run(mini.load(n=1, chain=True), model, log_dir=tmp_path)


def own_code(tmp_path: Path) -> Run:
    async def model(request: Request) -> Reply:
        raise LookupError("my own mistake")

    return tm.run(mini.load(n=1), model, log_dir=tmp_path)


def bug(tmp_path: Path) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolmark.agents.tool_loop.sum_usage", int)  # which takes no list
        return tm.run(mini.load(n=1), mini.Adder(), log_dir=tmp_path)


def late(tmp_path: Path) -> Run:
    return tm.run(mini.load(n=1), mini.Adder(wait_s=60), log_dir=tmp_path, time_limit_s=0.05)


def stopped(tmp_path: Path) -> Run:
    model = mini.Adder(lambda i, r: Unavailable("down"))
    return tm.run(mini.load(n=30), model, log_dir=tmp_path, max_connections=1, max_retries=0)


def over_budget(tmp_path: Path) -> Run:
    with fake.in_thread(fake.answer(200, fake.says("1"))) as server:
        return tm.run(
            mini.load(n=3), f"{server.url}#m", log_dir=tmp_path, price="1,1", max_tokens=9,
            max_cost=1e-5,
        )  # fmt: skip


def not_reached(tmp_path: Path) -> Run:
    async def main() -> Run:
        stop = asyncio.Event()
        stop.set()
        return await tm.arun(mini.load(n=3), mini.Adder(wait_s=60), log_dir=tmp_path, stop=stop)

    return asyncio.run(main())


def not_recorded(tmp_path: Path) -> Run:
    (tmp_path / "replies").mkdir()
    settings: dict[str, Any] = {"cache": tmp_path / "replies", "replay_only": True}
    return tm.run(mini.load(n=1), "http://127.0.0.1:1/v1#m", log_dir=tmp_path / "runs", **settings)


def unjudged(tmp_path: Path) -> Run:
    run = tm.run(mini.load(n=1), mini.Adder(), log_dir=tmp_path)

    async def said(model: Model, kind: str, task: Task, trajectory: Trajectory) -> Judgement:
        mute = Failure(stage="judge", kind="judge", message="no number")
        return Judgement(task=task.id, kind=kind, judge="", failure=mute)

    asyncio.run(judge_panels.collect_judgements(run, {"A": mini.Adder()}, {"taste": "v1"}, said))
    return run


REACHED: dict[Kind, tuple[str, int, Callable[[Path], Run]]] = {
    "rate_limited": ("model", 429, raising(RateLimited("slow down"))),
    "timeout": ("model", 0, raising(Timeout("late"))),
    "time_limit": ("model", 0, late),
    "unavailable": ("model", 503, raising(Unavailable("busy", status=503))),
    "torn": ("model", 0, raising(TornReply("half"))),
    "rejected.auth": ("model", 401, refused(401)),
    "rejected.billing": ("model", 402, refused(402)),
    "rejected.not_found": ("model", 404, refused(404)),
    "rejected.unsupported": (
        "model", 400, raising(Rejected("no", 400, kind="rejected.unsupported", subject="tools")),
    ),
    "rejected.other": ("model", 400, raising(Rejected("no", 400))),
    "not_recorded": ("model", 0, not_recorded),
    "environment": ("environment", 0, around("code")),
    "sandbox": ("environment", 0, around("sandbox")),
    "preparation": ("preparation", 0, broken),
    "needs": ("run", 0, needing),
    "user": ("user", 0, around("user")),
    "judge": ("judge", 0, unjudged),
    "agent": ("model", 0, own_code),
    "scorer": ("scorer", 0, lambda tmp_path: ask(lambda i, r: "break the scorer", tmp_path)),
    "budget": ("model", 0, over_budget),
    "stopped": ("run", 0, stopped),
    "not_reached": ("run", 0, not_reached),
    "bug": ("agent", 0, bug),
}  # fmt: skip


def failures(run: Run) -> Iterator[Failure]:
    lines: list[Attempt | Score | Judgement] = [
        *run.attempts(), *run.scores(), *run.judgements(),
    ]  # fmt: skip
    yield from (line.failure for line in lines if line.failure is not None)


@pytest.mark.parametrize("kind", REACHED)
def test_every_kind_is_reached_at_its_stage_and_counted(kind: Kind, tmp_path: Path) -> None:
    stage, status, play = REACHED[kind]
    run = play(tmp_path)
    found = {(each.stage, each.kind, each.status) for each in failures(run)}
    assert (stage, kind, status) in found
    assert not {each.kind for each in failures(run)} & ({"bug"} - {kind}), found
    summary = run.summary()
    if kind != "judge":
        assert summary["failures"][kind] > 0
        assert sum(summary["failures"].values()) == summary["n_not_run"]


def test_the_list_of_kinds_is_closed() -> None:
    assert {*REACHED} == set(get_args(Kind)) == failure_advice.advice_table().keys()


def test_a_ruling_that_cannot_be_read_is_the_users(tmp_path: Path) -> None:
    (attempt,) = around("ruling")(tmp_path).attempts()
    assert (attempt.failure.stage, attempt.failure.kind) == ("user", "user")


# --- a conversation that never fits -----------------------------------------------------------


def long(fits: Callable[[int], bool]) -> Callable[[Request], Any]:
    adder = mini.Adder()

    async def model(request: Request) -> Reply:
        number = int(request.messages[0].text.split()[2])
        return await adder(request) if fits(number) else Reply(stop="over_long")

    return model


def test_a_run_whose_first_requests_never_fit_is_not_run_and_says_why(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=6), long(lambda number: False), log_dir=tmp_path)
    before = (run.path / "trajectories.jsonl").read_bytes()
    assert {score.failure for score in run.scores()} == {NEVER_FITS}
    summary = run.summary()
    assert (summary["n_run"], summary["n_not_run"]) == (0, 6)
    assert summary["failures"] == {"rejected.other": 6} and "too long" in summary["caution"]
    assert exit_code(summary) == exit_codes.NOT_RUN
    (step,) = failure_advice.next_steps(run, [NEVER_FITS] * 6)
    assert "--fresh" in step
    tm.rescore(run, mini.SCORER)
    assert run.summary() == summary
    assert (run.path / "trajectories.jsonl").read_bytes() == before


def exit_code(summary: dict[str, Any]) -> int:
    with pytest.raises(typer.Exit) as ended:
        exit_codes.end_command(not_run=console_output.not_run_reason(summary))
    return ended.value.exit_code


@pytest.mark.parametrize("n_fit", [1, 5])
def test_one_first_request_that_fits_makes_the_others_the_models_limit(
    tmp_path: Path, n_fit: int
) -> None:
    run = tm.run(mini.load(n=6), long(lambda number: number < n_fit), log_dir=tmp_path)
    assert run.summary()["n_not_run"] == 0 and "caution" not in run.summary()
    assert run.summary()["score"]["value"] == pytest.approx(n_fit / 6)
    assert not any(score.failure for score in run.scores())


def test_it_is_decided_anew_when_more_is_run(tmp_path: Path) -> None:
    class Growing(Model):
        """Takes only the numbers from 2 on, and fails for those from `up` on."""

        name = "growing"

        def __init__(self, up: int) -> None:
            self.up = up
            self.inner = long(lambda number: number >= 2)

        async def __call__(self, request: Request, /) -> Reply:
            if int(request.messages[0].text.split()[2]) >= self.up:
                raise Timeout("later")
            reply: Reply = await self.inner(request)
            return reply

    suite = mini.load(n=4)
    first = tm.run(suite, Growing(2), log_dir=tmp_path, max_retries=0)
    assert first.summary()["failures"] == {"rejected.other": 2, "timeout": 2}
    again = tm.run(suite, Growing(9), log_dir=tmp_path, max_retries=0)
    assert again.path == first.path and again.summary()["failures"] == {}
    assert again.summary()["score"]["value"] == 0.5


class Several(mini.Sums):
    """Sums that are asked in two turns."""

    def __iter__(self) -> Iterator[Task]:
        for task in super().__iter__():
            yield replace(task, turns=(*task.turns, Turn(messages=task.turns[0].messages)))


@pytest.mark.parametrize("n_fit", [0, 1])
def test_tasks_of_several_turns_are_decided_by_their_first_requests_too(
    tmp_path: Path, n_fit: int
) -> None:
    suite = dataclasses.replace(mini.load(n=3), tasks=Several(3))
    run = tm.run(suite, long(lambda number: number < n_fit), log_dir=tmp_path)
    assert run_scoring.first_request_never_fits(run) == (n_fit == 0)
    assert run.summary()["n_run"] == (3 if n_fit else 0)


# --- the law: no code reads a message ---------------------------------------------------------


def troubled(item: int, repeat: int) -> ToolmarkError | str | None:
    """Fail in many ways, each in words that once meant something else."""
    found: dict[int, ToolmarkError | str] = {
        0: Unavailable("503: upstream vision worker: 422: out of memory", status=503),
        1: Unavailable("the endpoint cannot be reached (401)"),
        2: Rejected("400: image: cannot be reached", 400),
        3: RateLimited("429: 404: stopped"),
        4: "break the scorer",
        5: TornReply("score: no prediction"),
        6: Rejected("422: no vision", 422, kind="rejected.unsupported", subject="pictures"),
        7: Timeout("needs: 402: insufficient_quota"),
    }
    return found.get(item)


def silenced(failure: Failure | None) -> Failure | None:
    return failure and replace(failure, message="x")


def silence(path: Path) -> None:
    """Replace every message in a stored run by x."""
    kinds: dict[str, type[Any]] = {
        "attempts": Attempt, "scores": Score, "judgements": Judgement,
    }  # fmt: skip
    for name, kind in kinds.items():
        file = path / f"{name}.jsonl"
        if file.exists():
            lines = [
                json_codec.decode_record(line, kind) for line in file.read_bytes().splitlines()
            ]
            reported = [
                json_codec.encode_record(replace(line, failure=silenced(line.failure)))
                for line in lines
            ]
            file.write_bytes(b"".join(line + b"\n" for line in reported))


def shown(run: Run) -> dict[str, Any]:
    """Return all that is made of a run's failures, but for the messages themselves."""
    summary = dict(run.summary()) | {"run_dir": "", "spent": {}}
    found = list(failures(run))
    reasons, absent = failure_causes.not_run_grids(run.scores(), "exact")
    return {
        "summary": json.dumps(summary),
        "reasons": [row[:-1] for row in _cells(reasons)],
        "absent": [row[:-1] for row in _cells(absent)],
        "advice": [
            reported.replace(str(run.path), "RUN")
            for reported in failure_advice.next_steps(run, found)
        ],
        "code": exit_code(summary),
        "causes": [failure.cause for failure in found],
        "asked again": sorted(
            task.id for task, _ in run.missing_episodes(run.completed_episodes())
        ),
    }


def _cells(grid: Any) -> list[list[Any]]:
    return [[json_codec.encode_record(cell) for cell in row] for row in grid.rows]


def test_messages_change_nothing_in_a_stored_run(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=12), mini.Adder(troubled), log_dir=tmp_path, max_retries=0)
    before = shown(run)
    assert before["code"] == exit_codes.NOT_RUN and len({*before["causes"]}) >= 8
    silence(run.path)
    tm.rescore(run, mini.SCORER)
    silence(run.path)
    assert {failure.message for failure in failures(run)} == {"x"}
    assert shown(run) == before


def test_messages_change_nothing_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def play(name: str, n: int) -> tuple[dict[str, Any], int]:
        model = mini.Adder(troubled if n == 12 else lambda i, r: Rejected(f"400: {i}", 400))
        try:
            run = tm.run(mini.load(n=n), model, log_dir=tmp_path / name, max_retries=0,
                         max_connections=1, floors="off")  # fmt: skip
        except Rejected as error:
            run = tm.open_run(error.run_dir)
        return shown(run), len(model.asked)

    before = [play("a", 12), play("b", 30)]

    def quiet(error: BaseException, stage: Stage) -> Failure:
        return replace(failure_of(error, stage), message="x")

    for module in ("episode_execution", "run_scoring", "judge_panels"):
        monkeypatch.setattr(f"toolmark.runs.{module}.failure_of", quiet)
    assert [play("c", 12), play("d", 30)] == before
    assert before[1][1] == 5


TEXTUAL = {
    "startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit", "splitlines",
    "find", "rfind", "index", "rindex", "count", "search", "match", "fullmatch", "findall",
    "finditer",
}  # fmt: skip
READERS = {"failure.py"}  # cuts the first line, for people
MESSAGE = re.compile(r"\.\s*(?:message|summary|first_line)\b")


def reads(tree: ast.AST) -> Iterator[int]:
    """Go through the lines that look into a failure's message."""

    def reported(node: ast.AST) -> bool:
        return any(
            isinstance(each, ast.Attribute)
            and each.attr in ("message", "summary", "first_line")
            and "failure" in ast.unparse(each.value)
            for each in ast.walk(node)
        )  # fmt: skip

    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=args):
                if name in TEXTUAL | {"partition", "rpartition"} and (
                    reported(value) or any(map(reported, args))
                ):
                    yield node.lineno
            case ast.Compare(left=left, comparators=others):
                if reported(left) or any(map(reported, others)):
                    yield node.lineno


def test_no_module_looks_into_a_message() -> None:
    assert list(reads(ast.parse("if 'x' in attempt.failure.message: pass")))
    assert list(reads(ast.parse("score.failure.summary.startswith('x')")))
    assert list(reads(ast.parse("re.search(x, failure.message)")))
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        if path.name not in READERS
        if "failure" in (source := path.read_text()) and MESSAGE.search(source)
        for line in reads(ast.parse(source))
    }
    assert not found


def test_patterns_of_complaints_are_in_one_module() -> None:
    users = {
        path.name
        for path in (SOURCE / "models").rglob("*.py")
        if "toolmark.models.complaint_rules" in path.read_text()
        or "import complaint_rules" in path.read_text()
    }
    # the others read single entries of its table: statuses by code, the steps that it adds
    table_readers = {"anthropic_batches.py", "openai_batches.py", "probe_requests.py"}
    assert users == {"complaint_outcome.py", *table_readers}


# --- exceptions as data -----------------------------------------------------------------------


def test_the_innermost_mark_says_whose_turn_it_was() -> None:
    with (
        pytest.raises(Unavailable) as caught,
        errors.StageContext("model"),
        errors.StageContext("user"),
    ):
        raise Unavailable("down")
    assert failure_of(caught.value, "run") == Failure(
        stage="user", kind="unavailable", message="down"
    )


# --- the page ---------------------------------------------------------------------------------


def test_the_page_of_failures_says_what_the_table_says() -> None:
    page = (SOURCE.parents[1] / "docs/reference/failures.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for kind, about in failure_advice.advice_table().items():
        assert f"| `{kind}` | {about.meaning} | {about.retry_text} | {about.summary} |" in rows
    for words in (get_args(Stage), filter(None, get_args(Subject))):
        assert ", ".join(f"`{word}`" for word in words) in page


def test_every_kind_has_steps_that_can_be_printed(tmp_path: Path) -> None:
    run = tm.run(mini.load(n=1), mini.Adder(), log_dir=tmp_path)
    for kind, about in failure_advice.advice_table().items():
        reported = list(failure_advice.next_steps(run, [Failure(stage="run", kind=kind)]))
        assert reported and all("{" not in each for each in reported)
        assert not about.steps or any(step.text for step in about.steps)


def test_what_inherits_nothing_is_refused_before_a_model_is_asked(tmp_path: Path) -> None:
    class Plain:
        """A factory of environments, and an environment, that inherit nothing."""

        @asynccontextmanager
        async def open_environment(self, task: Task, needed: Any, /) -> AsyncIterator[Any]:
            yield self

    class Adapted(Plain, EnvironmentFactory):
        pass

    def suite(factory: Any) -> Any:
        @asynccontextmanager
        async def site(media: MediaStore) -> AsyncIterator[Any]:
            yield factory

        made = mini.load(n=2)
        source = dataclasses.replace(made.environment, open=site)
        return dataclasses.replace(made, environment=source)

    model = mini.Adder()
    for factory, words in ((Plain(), "Plain is not a factory: it must inherit toolmark.Env"),
                           (Adapted(), "Adapted is not an environment")):  # fmt: skip
        with pytest.raises(UsageError, match=words):
            tm.run(suite(factory), model, log_dir=tmp_path)
    assert model.asked == []
