"""Episodes have their own folder, their own processes, and paths that read the same each run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.environments.mcp.mcp_episodes import ask, fault, play, site, task
from tests.servers.mcp_fault import PNG

from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.records import Call, Image, Message, Task, Turn
from toolmark.environments.mcp.mcp_environment import McpEnvironment, servers_that_cannot_run
from toolmark.environments.mcp.server_config import parse_config
from toolmark.environments.mcp.server_supervisor import ServerSupervisor


def with_images(images: tuple[Image, ...], /, **reference: Any) -> Task:
    turn = Turn(messages=(Message(role="user", parts=images),))
    return Task(id="t", suite="s", turns=(turn,), data=reference)


def test_a_stateful_server_is_one_per_episode_and_a_shared_one_is_one_per_run(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        entries = {"own": fault(), "shared": fault(stateful=False)}
        async with site(entries, tmp_path) as servers:
            counts = []
            for _ in range(3):
                async with servers.open_environment(task(), {}) as world:
                    for name in ("own/count", "shared/count"):
                        counts.append((await ask(world, name)).text)
            assert counts == ["1", "1", "1", "2", "1", "3"]

    asyncio.run(scene())


def test_only_the_servers_a_task_needs_are_started(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scene() -> None:
        async with site({"a": fault(), "b": fault("--log", str(log))}, tmp_path) as servers:
            async with servers.open_environment(task("a"), {}) as world:
                assert {tool.name.split("/")[0] for tool in await world.tools()} == {"a"}
                assert (await ask(world, "b/echo")).text == "Unknown tool: b/echo"
            assert not log.exists()
            with pytest.raises(ToolEnvironmentError, match="nowhere: not configured"):
                async with servers.open_environment(task("a", "nowhere"), {}):
                    pass

    asyncio.run(scene())


def test_what_is_missing_is_known_before_the_run_and_starts_nothing(tmp_path: Path) -> None:
    entries = {
        "key": fault(needs=["NO_SUCH_KEY"]),
        "command": {"command": "no-such-command"},
        "off": fault(disabled=True),
        "good": fault(),
    }
    servers = site(entries, tmp_path)
    tasks = [
        replace(task("good", "key", "command"), id="t0"),
        *(replace(task("key", "nowhere"), id=f"t{i}") for i in range(1, 7)),
    ]
    seven = "\n7 tasks that need it are not run: t0, t1, t2, t3, t4 and 2 more"
    six = "\n6 tasks that need it are not run: t1, t2, t3, t4, t5 and 1 more"
    assert servers_that_cannot_run(parse_config({"mcpServers": entries}, "x"), tasks) == {
        "key": f"not set in the environment: NO_SUCH_KEY{seven}",
        "command": "no such command: no-such-command\nthe task that needs it is not run: t0",
        "nowhere": f"not configured{six}",
    }

    async def scene() -> None:
        async with servers:
            with pytest.raises(
                ToolEnvironmentError, match=r"key: not set.*command: no such"
            ) as caught:
                async with servers.open_environment(task("good", "key", "command"), {}):
                    pass
            assert "good" not in str(caught.value)

    asyncio.run(scene())


def test_episodes_do_not_see_each_other_and_leave_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with site({"a": fault()}, tmp_path) as servers:
            async with (
                servers.open_environment(task(), {}) as one,
                servers.open_environment(task(), {}) as two,
            ):
                assert isinstance(one, McpEnvironment) and isinstance(two, McpEnvironment)
                await ask(one, "a/write", path="mine.txt", text="one")
                assert (one.workspace / "mine.txt").read_text() == "one"
                assert not list(two.workspace.iterdir())
            assert not one.workspace.exists() and not two.workspace.exists()
            home = one.workspace.parent
        assert not home.exists()

    asyncio.run(scene())


def test_a_model_sees_one_folder_whatever_its_real_place(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        assert (await ask(environment, "a/where")).text == "/workspace"
        said = await ask(
            environment, "a/write", path="/workspace/sub/x.txt", text="see /workspace/y"
        )
        assert said.text == "written: /workspace/sub/x.txt"
        real = environment.workspace / "sub" / "x.txt"
        assert real.read_text() == f"see {environment.workspace}/y"
        for other in ("/workspaces/x", "/home/workspace", "/workspace.txt", "my/workspace-2"):
            assert (await ask(environment, "a/echo", text=other)).text == other
        for text in ("/workspace", "file:///workspace/a b.png", "['/workspace/a', '/workspace/b']"):
            assert (await ask(environment, "a/echo", text=text)).text == text

    play({"a": fault()}, tmp_path, scene)


def test_the_folder_of_shared_servers_has_one_name_too(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        assert (await ask(environment, "all/where")).text == "/shared"
        said = await ask(environment, "all/write", path="/shared/x.txt", text="see /workspace/y")
        assert said.text == "written: /shared/x.txt"
        assert (
            environment.factory.shared_folder / "x.txt"
        ).read_text() == f"see {environment.workspace}/y"
        await ask(environment, "own/write", path="/workspace/z.txt", text="see /shared/x.txt")
        assert (environment.workspace / "z.txt").read_text() == "see /shared/x.txt"
        for other in ("/shareds/x", "/home/shared", "/shared.txt", "/shared/a /workspace/b"):
            assert (await ask(environment, "all/echo", text=other)).text == other

    play({"own": fault(), "all": fault(stateful=False)}, tmp_path, scene)


def test_pictures_of_a_task_lie_in_its_workspace(tmp_path: Path) -> None:
    async def scene() -> None:
        servers = site({"a": fault()}, tmp_path)
        image = servers.media.add_image(PNG, "image/png")
        async with servers:
            for given, names in (
                ({}, ["1.png", "2.png"]),
                ({"images": ["q.png"]}, ["2.png", "q.png"]),
            ):
                async with servers.open_environment(
                    with_images((image, image), **given), {}
                ) as world:
                    assert isinstance(world, McpEnvironment)
                    folder = world.workspace / "images"
                    assert sorted(path.name for path in folder.iterdir()) == names
                    assert all(path.read_bytes() == PNG for path in folder.iterdir())

    asyncio.run(scene())


@pytest.mark.parametrize("name", ["../x.png", "/tmp/x.png", "a/b.png", "", ".."])
def test_a_picture_with_a_path_for_a_name_is_not_written(tmp_path: Path, name: str) -> None:
    async def scene() -> None:
        servers = site({"a": fault()}, tmp_path)
        image = servers.media.add_image(PNG, "image/png")
        async with servers:
            with pytest.raises(ToolEnvironmentError, match="not a file name"):
                async with servers.open_environment(with_images((image,), images=[name]), {}):
                    pass

    asyncio.run(scene())


def test_a_picture_that_is_missing_costs_its_task_only(tmp_path: Path) -> None:
    async def scene() -> None:
        image = Image(sha256="0" * 64, mime="image/png", size_bytes=1)
        async with site({"a": fault()}, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError, match=r"task t: .*cannot read media"):
                async with servers.open_environment(with_images((image,)), {}):
                    pass
            async with servers.open_environment(task(), {}) as world:
                assert (await ask(world, "a/echo", text="hi")).text == "hi"

    asyncio.run(scene())


def test_the_suite_fills_the_workspace_and_reads_it_at_the_end(tmp_path: Path) -> None:
    def prepare(given: Task, workspace: Path) -> None:
        (workspace / "seed.txt").write_text(given.id)

    def state(given: Task, workspace: Path) -> Any:
        return {path.name: path.read_text() for path in workspace.iterdir()}

    async def scene(environment: McpEnvironment) -> None:
        await ask(environment, "a/write", path="/workspace/new.txt", text="x")
        assert await environment.final_state() == {"seed.txt": "t", "new.txt": "x"}

    play({"a": fault()}, tmp_path, scene, prepare=prepare, state=state)


def test_calls_of_one_reply_may_run_max_parallel_calls(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        assert environment.max_parallel_calls == 5
        calls = [Call(name="a/echo", arguments=json.dumps({"text": str(i)})) for i in range(50)]
        found = await asyncio.gather(*(environment.call(call) for call in calls))
        assert [result.text for result in found] == [str(i) for i in range(50)]

    play({"a": fault()}, tmp_path, scene, max_parallel_calls=5)


@pytest.mark.parametrize(("concurrency", "most"), [(1, 1), (2, 2), (0, 5)])
def test_a_serial_server_gets_one_call_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, concurrency: int, most: int
) -> None:
    running: list[int] = []
    seen: list[int] = []

    async def counted(
        self: ServerSupervisor, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        running.append(1)
        seen.append(len(running))
        await asyncio.sleep(0.01)
        running.pop()
        return {"content": []}

    async def scene(environment: McpEnvironment) -> None:
        await asyncio.gather(
            *(environment.call(Call(name="a/echo", arguments="{}")) for _ in range(5))
        )

    monkeypatch.setattr(ServerSupervisor, "_call_with_restart", counted)
    play({"a": fault(concurrency=concurrency)}, tmp_path, scene)
    assert max(seen) == most


def test_a_server_sees_its_own_variables_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours-1234")

    async def scene(environment: McpEnvironment) -> None:
        assert (await ask(environment, "a/environ", name="OPENAI_API_KEY")).text == "(not set)"
        assert (await ask(environment, "a/environ", name="PLACE")).text == "/workspace/here"

    play({"a": fault(env={"PLACE": "${workspace}/here"})}, tmp_path, scene)


def test_a_tool_tells_neither_keys_nor_real_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-very-private-1234")

    async def scene(environment: McpEnvironment) -> None:
        reported = (await environment.tools())[0]
        assert reported.description == "Works in /workspace with [removed]"
        assert reported.parameters["properties"]["text"] == {"default": "/workspace/[removed]"}

    play({"a": fault("--telling", needs=["THE_KEY"])}, tmp_path, scene)


def test_equal_tools_of_two_episodes_are_one_tuple(tmp_path: Path) -> None:
    async def scene() -> None:
        async with site({"a": fault()}, tmp_path) as servers:
            kits = []
            for _ in range(2):
                async with servers.open_environment(task(), {}) as world:
                    kits.append(await world.tools())
            assert kits[0] is kits[1]

    asyncio.run(scene())


def test_an_environment_factory_must_be_opened_first(tmp_path: Path) -> None:
    async def scene() -> None:
        with pytest.raises(UsageError, match="async with"):
            async with site({"a": fault()}, tmp_path).open_environment(task(), {}):
                pass

    asyncio.run(scene())
