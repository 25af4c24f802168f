"""What was recorded is replayed as it was, without the world; anything else is missing."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import toolmark as tm
from toolmark.agents.executor import Executor
from toolmark.agents.phased_model import PhasedModel
from toolmark.agents.tool_loop import execute_calls, run_tool_loop
from toolmark.core.environment import Environment, EnvironmentFactory, read_final_state
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import adapt_function
from toolmark.core.records import (
    Call,
    Image,
    Message,
    Reply,
    Request,
    Result,
    Sampling,
    Task,
    Text,
    Tool,
    Turn,
)
from toolmark.core.redaction import REDACTED
from toolmark.environments.cassette import (
    Cassette,
    CassetteHeader,
    check_header,
)
from toolmark.environments.class_environments import ClassEnvironments
from toolmark.environments.function_graph import FunctionGraphEnvironment
from toolmark.environments.recorded_environment import WORKSPACE_PLACEHOLDER
from toolmark.environments.recording_factory import RecordingFactory, ReplayMode
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.suites.mfcl_vision.web_environment import UnknowingUser

TASK = Task(
    id="t", suite="s", turns=(Turn(messages=(Message(role="user", parts=(Text("Draw"),)),)),)
)
TOOLS = tuple(Tool(name=f"desk/{name}") for name in ("write", "read", "count", "draw", "grow"))


class Desk(Environment):
    """A world with a folder, a counter, pictures, and a tool that appears when asked for."""

    max_parallel_calls = 3
    workspace: Path

    def __init__(self, workspace: Path, media: MediaStore, start: int) -> None:
        self.workspace = workspace
        self.media = media
        self.n = start
        self.grown: tuple[Tool, ...] = ()
        self.reported = 0

    async def tools(self) -> tuple[Tool, ...]:
        self.reported = len(self.grown)
        return TOOLS + self.grown

    def tools_changed(self) -> bool:
        return self.reported != len(self.grown)

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        where = Message(role="user", parts=(Text(f"Work in {self.workspace}."), self.picture("o")))
        return (*messages, where)

    def picture(self, text: str) -> Image:
        return self.media.add_image(b"png " + text.encode(), "image/png")

    async def call(self, call: Call, /) -> Result:
        await asyncio.sleep(0)
        try:
            given = json.loads(call.arguments)
            path = Path(str(given.get("path", self.workspace / "note")))
        except (ValueError, AttributeError) as error:
            return Result(parts=(Text(f"cannot read that: {error}"),), is_error=True)
        match call.name:
            case "desk/write":
                path.write_text(str(given.get("text")))
                return Result(parts=(Text(f"wrote {path}"),), structured={"files": [str(path)]})
            case "desk/read":
                return Result(parts=(Text(path.read_text() if path.exists() else "nothing"),))
            case "desk/count":
                self.n += 1
                return Result(parts=(Text(str(self.n)),))
            case "desk/draw":
                return Result(parts=(Text("see"), self.picture(str(self.n))))
            case "desk/grow":
                self.grown += (Tool(name=f"desk/{len(self.grown)}"),)
                return Result()
            case _:
                return Result(parts=(Text("no such tool"),), is_error=True)

    async def final_state(self) -> Any:
        return {path.name: path.read_text() for path in sorted(self.workspace.iterdir())}


class Desks(EnvironmentFactory):
    """Desks in temporary folders; every episode's counter starts higher by 100.

    The world must be left by the task that entered it.
    """

    def __init__(self, media: MediaStore, *, step: int = 0, dead: bool = False) -> None:
        self.media = media
        self.step = step
        self.dead = dead
        self.n_opened = 0
        self.n_closed = 0

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        if self.dead:
            raise ToolEnvironmentError("the desk is gone")
        self.n_opened += 1
        owner = asyncio.current_task()
        with tempfile.TemporaryDirectory() as folder:
            yield Desk(Path(folder), self.media, self.n_opened * self.step)
        assert asyncio.current_task() is owner
        self.n_closed += 1


class Heard(NamedTuple):
    """Everything that an episode heard, its own workspace written as the placeholder."""

    tools: list[tuple[Tool, ...]]
    opening: tuple[Message, ...]
    results: list[Result]
    state: Any


def calls(*items: tuple[str, Any]) -> list[Call]:
    return [Call(name=f"desk/{name}", arguments=json.dumps(given)) for name, given in items]


async def episode(
    site: EnvironmentFactory,
    script: Sequence[Call],
    task: Task = TASK,
    needed: Mapping[str, Any] | None = None,
) -> Heard:
    """Play a script; `@` in arguments stands for the workspace that the world tells of."""
    async with site.open_environment(task, needed or {}) as world:
        folder = str(world.workspace or "/nowhere")
        tools = [await world.tools()]
        opening = await world.opening(task.turns[0].messages)
        results = []
        for call in script:
            reported = call.arguments.replace("@", folder)
            results.append(await world.call(msgspec.structs.replace(call, arguments=reported)))
            if world.tools_changed():
                tools.append(await world.tools())
        heard = Heard(tools, opening, results, await read_final_state(world))
    plain = msgspec.to_builtins(tuple(heard))
    text = json.dumps(plain).replace(folder, WORKSPACE_PLACEHOLDER)
    return msgspec.convert(tuple(json.loads(text)), Heard)


def play(
    site: EnvironmentFactory,
    script: Sequence[Call],
    task: Task = TASK,
    needed: Mapping[str, Any] | None = None,
) -> Heard:
    return asyncio.run(episode(site, script, task, needed))


def desks(folder: Path, step: int = 0) -> Desks:
    return Desks(MediaStore(folder / "live"), step=step)


def recorded(
    folder: Path, site: Desks | None, mode: ReplayMode, stateful: Sequence[str] = (), **own: Any
) -> RecordingFactory:
    media = site.media if site is not None else MediaStore(folder / "replayed")
    tape = Cassette(folder / "tape.jsonl", own.get("secrets", ()))
    more = {key: value for key, value in own.items() if key != "secrets"}
    return RecordingFactory(site, tape, mode=mode, media=media, stateful=stateful, **more)


def ask(site: EnvironmentFactory, script: Sequence[Call]) -> list[str]:
    """Call, and look at no final state."""

    async def asked() -> list[str]:
        async with site.open_environment(TASK, {}) as world:
            return [(await world.call(call)).text for call in script]

    return asyncio.run(asked())


paths = st.sampled_from(["@/a", "@/b"])
scripts = st.lists(
    st.one_of(
        st.builds(lambda path: ("read", {"path": path}), paths),
        st.builds(lambda p, t: ("write", {"path": p, "text": t}), paths, st.sampled_from("xy")),
        st.sampled_from([("count", {}), ("draw", {}), ("grow", {}), ("nil", {"a": [1, None]})]),
    ).map(lambda item: calls(item)[0])
    | st.just(Call(name="desk/read", arguments="{torn")),
    max_size=7,
)


@given(script=scripts)
@settings(max_examples=30, deadline=None)
def test_what_was_recorded_is_replayed_without_the_live_environment(script: list[Call]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        live = play(desks(folder), script)
        assert play(recorded(folder, desks(folder), "record"), script) == live
        for stateful in ((), ("desk",)):
            replayed = recorded(folder, None, "replay", stateful)
            assert play(replayed, script) == live
            for part in replayed_pictures(live):
                assert replayed.media.read(part)


def replayed_pictures(heard: Heard) -> list[Image]:
    collected = [part for result in heard.results for part in result.parts]
    collected += [part for message in heard.opening for part in message.parts]
    return [part for part in collected if isinstance(part, Image)]


@given(first=scripts, second=scripts)
@example(calls(("grow", {})), calls(("grow", {}), ("read", {})))
@settings(max_examples=40, deadline=None)
def test_going_on_live_is_as_if_it_had_always_been_live(
    first: list[Call], second: list[Call]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play(recorded(folder, desks(folder), "record"), first)
        site = desks(folder)
        live = play(desks(folder), second)
        assert play(recorded(folder, site, "auto", ["desk"]), second) == live
        assert site.n_opened == site.n_closed <= 1
        assert play(recorded(folder, None, "replay", ["desk"]), second) == live
        again = desks(folder)
        assert play(recorded(folder, again, "auto", ["desk"]), second) == live
        assert again.n_opened == 0


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_any_call_of_funcbench_is_replayed(data: st.DataObject) -> None:
    suite = tm.load("funcbench", core=3, depth=2, graphs=1, seed=data.draw(st.integers(0, 50)))
    (task,) = suite
    names = [tool.name for tool in task.tools] + ["nil"]
    words = st.dictionaries(
        st.sampled_from(["a", *task.tools[0].parameters["properties"]]),
        st.integers() | st.floats() | st.text(max_size=3) | st.none(),
    )
    texts = words.map(json.dumps) | st.text(max_size=5)
    call = st.builds(Call, name=st.sampled_from(names), arguments=texts)
    script = data.draw(st.lists(call, max_size=6))
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "dag.jsonl"
        live = play(
            RecordingFactory(
                ClassEnvironments(FunctionGraphEnvironment), Cassette(path), mode="record"
            ),
            script,
            task,
        )
        assert live == play(ClassEnvironments(FunctionGraphEnvironment), script, task)
        assert play(RecordingFactory(None, Cassette(path)), script, task) == live


def test_the_nth_time_gets_the_nth_answer_and_one_more_is_missing(tmp_path: Path) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record"), calls(("count", {}), ("count", {})))
    site = recorded(tmp_path, None, "replay")
    assert [r.text for r in play(site, calls(("count", {}), ("count", {}))).results] == ["1", "2"]
    with pytest.raises(ToolEnvironmentError, match=r"task t: .*count.*\b3\b"):
        play(site, calls(*[("count", {})] * 3))


def test_a_question_never_asked_is_named_with_the_nearest(tmp_path: Path) -> None:
    script = calls(("write", {"path": "@/a", "text": "tea"}), ("draw", {}))
    play(recorded(tmp_path, desks(tmp_path), "record"), script)
    wrong = calls(("write", {"path": "@/a", "text": "toast"}))
    with pytest.raises(
        ToolEnvironmentError, match=r'"toast".*nearest recorded: .*desk/write.*"tea"'
    ):
        play(recorded(tmp_path, None, "replay"), wrong)


def test_keys_may_stand_in_any_order_and_values_may_not_differ(tmp_path: Path) -> None:
    script = [Call(name="desk/nil", arguments='{"a": 1, "b": {"c": 2, "d": 3}}')]
    play(recorded(tmp_path, desks(tmp_path), "record"), script)
    same = [Call(name="desk/nil", arguments=' {"b":{"d":3,"c":2},"a":1}')]
    assert play(recorded(tmp_path, None, "replay"), same).results[0].is_error
    for other in ('{"a": 1.0, "b": {"c": 2, "d": 3}}', '{"a": true, "b": {"c": 2, "d": 3}}'):
        with pytest.raises(ToolEnvironmentError, match="no recorded answer"):
            play(recorded(tmp_path, None, "replay"), [Call(name="desk/nil", arguments=other)])


def test_a_stateful_server_answers_only_in_the_order_it_was_asked(tmp_path: Path) -> None:
    script = calls(("read", {}), ("write", {"text": "x"}))
    play(recorded(tmp_path, desks(tmp_path), "record"), script)
    other = calls(("write", {"text": "x"}), ("read", {}))
    assert play(recorded(tmp_path, None, "replay"), other).results[1].text == "nothing"
    with pytest.raises(ToolEnvironmentError, match="no recorded answer"):
        play(recorded(tmp_path, None, "replay", ["desk"]), other)


def test_repeats_are_takes_and_answers_never_come_from_two(tmp_path: Path) -> None:
    first, second = calls(("count", {})), calls(("count", {}), ("draw", {}))
    site = recorded(tmp_path, desks(tmp_path, 100), "record")
    assert [play(site, s).results[0].text for s in (first, second)] == ["101", "201"]
    replayed = recorded(tmp_path, None, "replay")
    assert [ask(replayed, first) for _ in range(3)] == [["101"], ["201"], ["101"]]
    # the first take knows no drawing, and the second counts otherwise
    with pytest.raises(ToolEnvironmentError, match="no recorded answer"):
        ask(recorded(tmp_path, None, "replay"), second)


def test_a_final_state_counts_only_after_the_same_calls(tmp_path: Path) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record"), calls(("write", {"text": "x"})))
    for stateful in ([], ["desk"]):
        with pytest.raises(ToolEnvironmentError):
            play(recorded(tmp_path, None, "replay", stateful), [])
    assert play(recorded(tmp_path, None, "replay", ["other"]), []).state == {"note": "x"}


def test_an_episode_that_breaks_off_is_not_recorded(tmp_path: Path) -> None:
    site = recorded(tmp_path, desks(tmp_path, 100), "record")

    async def broken() -> None:
        async with site.open_environment(TASK, {}) as world:
            await world.tools()
            await world.call(*calls(("count", {})))
            raise ToolEnvironmentError("the line is dead")

    with pytest.raises(ToolEnvironmentError, match="the line is dead"):
        asyncio.run(broken())
    assert not site.cassette.path.exists()
    play(site, calls(("count", {})))
    assert play(recorded(tmp_path, None, "replay"), calls(("count", {}))).results[0].text == "201"


def test_a_recording_without_a_final_state_gives_way_to_a_complete_one(tmp_path: Path) -> None:
    site = recorded(tmp_path, desks(tmp_path, 100), "record")
    assert ask(site, calls(("count", {}))) == ["101"]
    assert ask(recorded(tmp_path, None, "replay"), calls(("count", {}))) == ["101"]
    play(site, calls(("count", {})))
    replayed = recorded(tmp_path, None, "replay")
    assert [ask(replayed, calls(("count", {}))) for _ in range(2)] == [["201"], ["201"]]


def test_a_line_of_an_episode_that_has_not_begun_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_text("".join(GOOD.splitlines(keepends=True)[::-1]))
    with pytest.raises(DataError, match=r"tape\.jsonl:1: .*no line of kind `episode`"):
        Cassette(path)


def test_an_environment_with_a_user_is_not_recorded(tmp_path: Path) -> None:
    class Crowded(Desks):
        @asynccontextmanager
        async def open_environment(
            self, task: Task, needed: Mapping[str, Any], /
        ) -> AsyncIterator[Environment]:
            async with super().open_environment(task, needed) as desk:
                desk.user = UnknowingUser()
                yield desk

    with pytest.raises(UsageError, match="answers of a simulated user cannot be recorded"):
        play(recorded(tmp_path, Crowded(MediaStore(tmp_path / "live")), "record"), [])


def test_an_episode_from_other_states_is_another_one(tmp_path: Path) -> None:
    site = recorded(tmp_path, desks(tmp_path), "record")
    play(site, [], needed={"before": {"a": 1}})
    assert play(recorded(tmp_path, None, "replay"), [], needed={"before": {"a": 1}})
    for needed in ({}, {"before": {"a": 2}}):
        with pytest.raises(ToolEnvironmentError, match="task t"):
            play(recorded(tmp_path, None, "replay"), [], needed=needed)
    with pytest.raises(ToolEnvironmentError, match="no recording of task u"):
        play(recorded(tmp_path, None, "replay"), [], msgspec.structs.replace(TASK, id="u"))


def test_other_opening_messages_are_missing(tmp_path: Path) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record", instance=None), [])
    turn = Turn(messages=(Message(role="user", parts=(Text("Paint"),)),))
    other = msgspec.structs.replace(TASK, turns=(turn,))
    with pytest.raises(ToolEnvironmentError, match="opening messages"):
        play(recorded(tmp_path, None, "replay", instance=None), [], other)


@pytest.mark.parametrize(
    "other",
    [
        {"turns": (Turn(messages=(Message(role="user", parts=(Text("Paint"),)),)),)},
        {"data": {"files": {"a": "eA=="}}},
        {"tools": TOOLS},
    ],
)
def test_a_recording_is_of_one_instance_of_a_task(tmp_path: Path, other: dict[str, Any]) -> None:
    head = CassetteHeader("drawn", 3, {"family": ["a", "b"]})
    script = calls(("count", {}))
    play(recorded(tmp_path, desks(tmp_path, 100), "record", header=head), script)
    task = msgspec.structs.replace(TASK, **other)
    with pytest.raises(ToolEnvironmentError, match=r"task t.*--seed") as caught:
        play(recorded(tmp_path, None, "replay"), script, task)
    assert "drawn --seed 3 -T family=a,b" in str(caught.value)
    again = recorded(tmp_path, desks(tmp_path, 500), "auto", header=replace(head, seed=4))
    assert play(again, script, task).results[0].text == "501"
    assert play(again, script).results[0].text == "101"
    both = recorded(tmp_path, None, "replay")
    assert play(both, script, task).results[0].text == "501"
    assert play(both, script).results[0].text == "101"
    assert both.cassette.headers == [head, replace(head, seed=4)]


def test_what_a_file_holds_is_said_once(tmp_path: Path) -> None:
    head = CassetteHeader("drawn", 12345678, {"file": "x", "kinds": ("a", "b")})
    for _ in range(2):
        site = recorded(tmp_path, desks(tmp_path), "record", secrets=("12345678",), header=head)
        play(site, [])
        play(site, [])
    path = tmp_path / "tape.jsonl"
    collected = replace(head, parameters={"file": "x", "kinds": ["a", "b"]})
    assert Cassette(path).headers == [collected] and path.read_text().count('"kind":"suite"') == 1
    check_header(path, replace(head, parameters={}))
    for other in (replace(head, seed=4), replace(head, suite="s"), replace(head, seed=None)):
        with pytest.raises(UsageError, match=r"it holds drawn --seed 12345678 .*--seed of the"):
            check_header(path, other)
    (tmp_path / "old.jsonl").write_text(GOOD)
    check_header(tmp_path / "old.jsonl", head)


def test_a_file_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    site = desks(tmp_path)
    play(recorded(tmp_path, site, "record"), calls(("write", {"path": "@/a", "text": "x"})))
    text = (tmp_path / "tape.jsonl").read_text()
    assert tempfile.gettempdir() not in text
    assert f"wrote {WORKSPACE_PLACEHOLDER}/a" in text


@pytest.mark.parametrize("secret", ['k"ey/ö', "12345678", "plain-key"])
def test_no_secret_reaches_the_file_and_replay_knows_the_question(
    tmp_path: Path, secret: str
) -> None:
    script = calls(("nil", {"auth": f"Bearer {secret}", "pin": 12345678, secret: 1}))
    play(recorded(tmp_path, desks(tmp_path), "record", secrets=(secret, "ab")), script)
    text = (tmp_path / "tape.jsonl").read_text()
    assert secret not in text and json.dumps(secret)[1:-1] not in text
    assert f"Bearer {REDACTED}" in text
    assert play(recorded(tmp_path, None, "replay", secrets=(secret,)), script)


def test_calls_of_one_reply_run_together_and_keep_their_places(tmp_path: Path) -> None:
    script = tuple(calls(*[("count", {})] * 6))

    async def counted(site: EnvironmentFactory) -> list[str]:
        async with site.open_environment(TASK, {}) as world:
            results, _ = await execute_calls(world, script, world.max_parallel_calls)
            return [r.text for r in results]

    async def lost(site: EnvironmentFactory) -> None:
        async with site.open_environment(TASK, {}) as world:
            await execute_calls(world, (*script, *script), 12)

    live = asyncio.run(counted(recorded(tmp_path, desks(tmp_path), "record")))
    assert asyncio.run(counted(recorded(tmp_path, None, "replay"))) == live
    with pytest.raises(ToolEnvironmentError):
        asyncio.run(lost(recorded(tmp_path, None, "replay")))
    site = desks(tmp_path)
    asyncio.run(lost(recorded(tmp_path, site, "auto")))
    assert (site.n_opened, site.n_closed) == (1, 1)


def test_a_live_environment_that_cannot_open_is_an_environment_error(tmp_path: Path) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record"), [])
    dead = Desks(MediaStore(tmp_path / "live"), dead=True)
    with pytest.raises(ToolEnvironmentError, match="the desk is gone"):
        play(recorded(tmp_path, dead, "auto"), calls(("count", {})))
    assert play(recorded(tmp_path, dead, "auto"), [])
    with pytest.raises(UsageError, match="needs an environment"):
        recorded(tmp_path, None, "auto")


def test_an_episode_stopped_while_the_live_environment_opens_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record"), [])
    opening = asyncio.Event()

    class Slow(Desks):
        @asynccontextmanager
        async def open_environment(
            self, task: Task, needed: Mapping[str, Any], /
        ) -> AsyncIterator[Environment]:
            opening.set()
            await asyncio.Event().wait()
            yield Desk(tmp_path, self.media, 0)

    async def stopped() -> set[asyncio.Task[Any]]:
        site = recorded(tmp_path, Slow(MediaStore(tmp_path / "live")), "auto")
        playing = asyncio.create_task(episode(site, calls(("count", {}))))
        await opening.wait()
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(stopped()) == set()


def test_both_agents_play_from_a_recording(tmp_path: Path) -> None:
    def player() -> Any:
        left = [*calls(("write", {"text": "x"})), *calls(("draw", {}))]

        async def reply(request: Request, /) -> Reply:
            return Reply(calls=(left.pop(0),)) if left else Reply(text="done")

        return adapt_function(reply)

    async def both(site: EnvironmentFactory) -> list[Any]:
        found = []
        async with site.open_environment(TASK, {}) as world:
            plain = await run_tool_loop(TASK, player(), NATIVE_FORMAT, world, Sampling())
            found += [plain.state, [r.parts for s in plain.steps for r in s.results]]
        async with site.open_environment(TASK, {}) as world:
            staged = await Executor()(TASK, PhasedModel(player()), NATIVE_FORMAT, world, Sampling())
            found += [staged.state, [r.parts for s in staged.steps for r in s.results]]
        read: list[Any] = json.loads(json.dumps(msgspec.to_builtins(found)))
        return read

    live = asyncio.run(both(recorded(tmp_path, desks(tmp_path), "record")))
    again = asyncio.run(both(recorded(tmp_path, None, "replay")))
    for found in (live, again):
        assert found[0] == found[2] == {"note": "x"}
        assert [part["type"] for part in found[3][1]] == ["text", "image"]
    assert [live[n][1] for n in (1, 3)] == [again[n][1] for n in (1, 3)]


# --- the file ---------------------------------------------------------------------------

GOOD = (
    '{"kind":"episode","task":"t"}\n'
    '{"kind":"call","tool":"a/b","arguments":{},"result":{"parts":[{"type":"text","text":"hi"}]}}\n'
)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "Expecting value"),
        ("{}", "missing field kind"),
        ("[1]", "expected object, got array"),
        ('{"kind":"call","tool":"a","arguments":{},"result":{},"more":1}', "unknown field more"),
        ('{"kind":"answer","tool":"a","arguments":3,"result":1}', "arguments: expected"),
        ('{"kind":"x","tool":"a","arguments":{},"result":1}', "kind: unknown value 'x'"),
        ('{"kind":"call","tool":"a","arguments":{},"result":"hi"}', "expected object, got str"),
        ('{"kind":"call","tool":"a","arguments":{},"result":{"parts":[{"type":"film"}]}}', "film"),
        ('{"kind":"tools","tools":[{}]}', "missing field name"),
        ('{"kind":"episode","task":"t","max_parallel_calls":"x"}', "max_parallel_calls"),
        ('{"kind":"opening","asked":"","messages":{}}', "messages: expected array"),
        ('{"kind":"suite"}', "missing field suite"),
        (
            '{"kind":"answer","tool":"a","arguments":{},"result":' + "[" * 9000 + "]" * 9000 + "}",
            "nested deeper",
        ),
        ('{"kind":"answer","tool":"a","arguments":{},"result":' + "9" * 5000 + "}", "digits"),
        ('{"kind":"answer","tool":"a","arguments":{},"result":"\udcff"}', "can't decode"),
    ],
)
def test_an_ill_formed_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_bytes((GOOD + line + "\n" + GOOD).encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=rf"tape\.jsonl:3: not a recorded answer: .*{why}"):
        Cassette(path)


def test_a_line_without_end_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    path.write_bytes(GOOD.encode() + b'"' + b"x" * (17 * 2**20))
    with pytest.raises(DataError, match=r"tape\.jsonl:3: "):
        Cassette(path)


@given(cut=st.integers(0, len(GOOD)))
@settings(deadline=None)
def test_a_file_torn_anywhere_keeps_its_whole_lines_and_goes_on(cut: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "tape.jsonl"
        path.write_text(GOOD[:cut])
        n = sum(cut >= end for end in (len(GOOD.splitlines()[0]), len(GOOD) - 1))
        tape = Cassette(path)
        tape.record_answer("t", {"q": 1}, "one")
        again = Cassette(path)
        assert again.answer("t", {"q": 1}) == "one"
        assert len(path.read_text().splitlines()) == n + 1
        takes = again.recordings("t")
        assert [len(list(take.questions())) for take in takes] == [n - 1] * min(n, 1)


def test_pictures_lie_next_to_the_file_and_a_missing_one_is_named(tmp_path: Path) -> None:
    play(recorded(tmp_path, desks(tmp_path), "record"), calls(("draw", {})))
    adjacent = [path for path in (tmp_path / "tape.media").rglob("*") if path.is_file()]
    assert len(adjacent) == 2
    for path in adjacent:
        path.unlink()
    with pytest.raises(ToolEnvironmentError, match=r"task t: .*tape\.media"):
        play(recorded(tmp_path, None, "replay"), calls(("draw", {})))


def test_a_damaged_picture_costs_its_task_alone(tmp_path: Path) -> None:
    task = msgspec.structs.replace(TASK, id="u")
    site = recorded(tmp_path, desks(tmp_path), "record")
    ask(site, calls(("draw", {})))
    play(site, calls(("count", {}), ("count", {}), ("draw", {})), task)
    for path in (tmp_path / "tape.media").rglob("*"):
        if path.is_file() and path.read_bytes() == b"png 0":
            path.write_bytes(b"gif 0")
    again = recorded(tmp_path, None, "replay")
    with pytest.raises(ToolEnvironmentError, match=r"task t: .*[0-9a-f]{64}"):
        ask(again, calls(("draw", {})))
    assert play(again, calls(("count", {}), ("count", {}), ("draw", {})), task)


def test_a_picture_that_cannot_be_stored_costs_its_task_alone(tmp_path: Path) -> None:
    site = recorded(tmp_path, desks(tmp_path), "record")
    site.media = MediaStore(tmp_path / "elsewhere")
    with pytest.raises(ToolEnvironmentError, match=r"task t: .* cannot read media"):
        ask(site, calls(("draw", {})))


@pytest.mark.parametrize("name", ["../../../etc/passwd", "A" * 64, ""])
@pytest.mark.parametrize("kind", ["image", "audio"])
def test_a_stranger_s_file_leads_out_of_no_folder(tmp_path: Path, kind: str, name: str) -> None:
    part = f'{{"type":"{kind}","sha256":"{name}","mime":"x","size_bytes":1}}'
    path = tmp_path / "tape.jsonl"
    for line in (
        f'{{"kind":"call","tool":"a/b","arguments":{{}},"result":{{"parts":[{part}]}}}}',
        f'{{"kind":"opening","asked":"","messages":[{{"role":"user","parts":[{part}]}}]}}',
    ):
        path.write_text(GOOD + line + "\n")
        with pytest.raises(DataError, match=r"tape\.jsonl:3: .*not a SHA-256"):
            Cassette(path)


def test_a_file_is_not_called_as_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"tape\.media.*\.jsonl"):
        Cassette(tmp_path / "tape.media")


def test_an_answer_that_could_not_be_read_again_is_not_stored(tmp_path: Path) -> None:
    tape = Cassette(tmp_path / "tape.jsonl")
    with pytest.raises(ToolEnvironmentError, match=r"\bt\b"):
        tape.record_answer("t", {}, "x" * (17 * 2**20))
    tape.record_answer("t", {}, "y")
    assert Cassette(tape.path).answer("t", {}) == "y"


def test_one_process_records_at_a_time(tmp_path: Path) -> None:
    first, second = Cassette(tmp_path / "tape.jsonl"), Cassette(tmp_path / "tape.jsonl")
    first.record_answer("t", {}, 1)
    with pytest.raises(UsageError, match="another process is recording"):
        second.record_answer("t", {}, 2)
    del first
    with pytest.raises(UsageError, match="since it was read"):
        second.record_answer("t", {}, 2)
    assert Cassette(second.path).answer("t", {}) == 1


@pytest.mark.parametrize("text", ["\ud800", "\ufdd0d800", "\ufdd0", "\u2028\x00\n"])
def test_odd_letters_are_the_same_question_before_and_after(tmp_path: Path, text: str) -> None:
    script = [Call(name="desk/nil", arguments=json.dumps({text: [text, 2**70, float("nan")]}))]
    first = recorded(tmp_path, desks(tmp_path), "record")
    live = play(first, script)
    assert play(recorded(tmp_path, None, "replay"), script) == live
    tape = Cassette(tmp_path / "odd.jsonl")
    tape.record_answer("t", {text: text}, {"said": text, "all": [text]})
    again = Cassette(tape.path)
    assert tape.answer("t", {text: text}) == again.answer("t", {text: text})
    assert ("t", {text: text}) in again
