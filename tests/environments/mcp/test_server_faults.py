"""Every fault of a real server process ends in time, is told, and stays with its own episode."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import FAULT, ask, fault, gone, play, site, soon, task
from tests.servers.mcp_fault import PNG

from toolmark.core.errors import ToolEnvironmentError
from toolmark.core.records import Call, Image, Result, Text
from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.mcp_environment import McpEnvironment, servers_that_cannot_run
from toolmark.environments.mcp.server_config import parse_config

# --- start ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (fault("--refuse"), r"'bad' did not start: .*code 1.*no licence found"),
        (fault("--hang", start_timeout_s=0.5), r"'bad' did not start within 0\.5 s"),
        (fault("--hang", "--stubborn", start_timeout_s=0.5), r"did not start within 0\.5 s"),
        ({"command": "/bin/true"}, r"'bad' did not start: .*exited with code 0"),
        ({"command": "/bin/cat"}, r"'bad' did not start"),
        ({"command": "no-such-command"}, "bad: no such command: no-such-command"),
        (fault(needs=["NO_SUCH_KEY"]), "bad: not set in the environment: NO_SUCH_KEY"),
        (fault(cwd="/no/such/folder"), "'bad' did not start: .*No such file"),
    ],
)
def test_a_server_that_does_not_start_costs_only_the_tasks_that_need_it(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    if entry["command"] == "/bin/cat":
        entry = {**entry, "start_timeout_s": 1}

    async def scene() -> None:
        async with site({"bad": entry, "good": fault()}, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError, match=said):
                async with servers.open_environment(task("good", "bad"), {}):
                    pass
            async with servers.open_environment(task("good"), {}) as world:
                assert (await ask(world, "good/echo", text="hi")).text == "hi"
        lacks = servers_that_cannot_run(
            parse_config({"mcpServers": {"bad": entry}}, "x"), [task("bad")]
        )
        assert "bad" in {**servers.incident_notes(), **lacks}

    asyncio.run(scene())


def test_a_reason_tells_the_cause_in_its_first_line_for_every_server(tmp_path: Path) -> None:
    names = ("lacks_this", "lacks_that")
    broken = {
        name: {"command": sys.executable, "args": ["-c", f"import {name}"]} for name in names
    }  # each dies with a traceback, whose last line is what counts

    async def scene() -> None:
        async with site(broken, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError) as raised:
                async with servers.open_environment(task(*names), {}):
                    pass
            head, *more = str(raised.value).splitlines()
            for name in names:
                assert f"stderr: ModuleNotFoundError: No module named '{name}'" in head
            assert any("Traceback" in line for line in more)

    asyncio.run(scene())


def test_servers_that_lack_the_same_are_reported_together(tmp_path: Path) -> None:
    entries = {name: fault(needs=["NO_SUCH_KEY"]) for name in ("one", "two", "three")}

    async def scene() -> None:
        async with site(entries, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError) as raised:
                async with servers.open_environment(task(*entries), {}):
                    pass
        reported = "not set in the environment: NO_SUCH_KEY (3: one, two, three)"
        assert str(raised.value).endswith(reported)

    asyncio.run(scene())


def test_a_server_that_hangs_at_start_is_given_up_for_the_run(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scene() -> None:
        bad = fault("--hang", "--log", str(log), start_timeout_s=0.5)
        async with site({"bad": bad}, tmp_path) as servers:
            for _ in range(5):
                with pytest.raises(ToolEnvironmentError, match="did not start within"):
                    async with servers.open_environment(task("bad"), {}):
                        pass

    asyncio.run(scene())
    assert log.read_text().count("start") == 2


def test_a_key_that_a_server_prints_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "sk-very-private-1234")

    async def scene() -> None:
        entries = {"bad": fault("--refuse", needs=["THE_KEY"]), "good": fault(needs=["THE_KEY"])}
        async with site(entries, tmp_path) as servers:
            with pytest.raises(ToolEnvironmentError, match=r"\[removed\]"):
                async with servers.open_environment(task("bad"), {}):
                    pass
            async with servers.open_environment(task("good"), {}) as world:
                shown = await ask(world, "good/environ", name="THE_KEY")
                assert shown.text == "[removed]"
            assert "sk-very" not in str(servers.incident_notes())

    asyncio.run(scene())


def test_servers_start_at_once_but_no_more_than_allowed(tmp_path: Path) -> None:
    def overlap(starts: int) -> int:
        log = tmp_path / f"log{starts}"
        entries = {f"s{i}": fault("--sleep", "0.4", "--log", str(log)) for i in range(8)}

        async def nothing(environment: McpEnvironment) -> None:
            assert len({tool.name.split("/")[0] for tool in await environment.tools()}) == 8

        play(entries, tmp_path, nothing, starts=starts)
        lines = [line.split() for line in log.read_text().splitlines()]
        times = sorted((float(at), 1 if what == "start" else -1) for what, at, _ in lines)
        running = highest = 0
        for _, step in times:
            running += step
            highest = max(highest, running)
        return highest

    assert overlap(3) <= 3
    assert overlap(8) > 3


# --- calls ------------------------------------------------------------------------------


def test_a_call_that_hangs_ends_and_the_server_is_given_up_after_one_restart(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"

    async def scene(environment: McpEnvironment) -> None:
        with pytest.raises(
            ToolEnvironmentError, match=r"no answer within 0\.5 s, and none to a ping"
        ):
            await ask(environment, "a/hang")
        assert (await ask(environment, "b/echo", text="hi")).text == "hi"
        with pytest.raises(ToolEnvironmentError, match="'a' is lost"):
            await ask(environment, "a/echo", text="hi")

    entries = {"a": fault("--log", str(log), call_timeout_s=0.5), "b": fault()}
    servers = play(entries, tmp_path, scene)
    assert log.read_text().count("start") == 2
    assert "none to a ping" in str(servers.incident_notes()["a"])


def test_a_server_that_dies_in_a_call_is_restarted_once_and_asked_again(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scene(environment: McpEnvironment) -> None:
        assert (
            await ask(environment, "a/frail", marker="/workspace/m")
        ).text == "answered after all"
        with pytest.raises(ToolEnvironmentError, match=r"code 9.*about to die"):
            await ask(environment, "a/die")

    servers = play({"a": fault("--log", str(log))}, tmp_path, scene)
    assert log.read_text().count("start") == 2  # the one restart was used up
    assert any("stopped during the run" in note for note in servers.incident_notes()["a"])


def test_a_call_that_kills_every_server_ends_after_one_restart(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scene(environment: McpEnvironment) -> None:
        with pytest.raises(
            ToolEnvironmentError, match="it exited with code 9; stderr: about to die"
        ):
            await ask(environment, "a/die")

    play({"a": fault("--log", str(log))}, tmp_path, scene)
    assert log.read_text().count("start") == 2


def test_a_server_that_may_not_be_restarted_is_given_up_at_once(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        with pytest.raises(ToolEnvironmentError):
            await ask(environment, "a/frail", marker="/workspace/m")
        with pytest.raises(ToolEnvironmentError, match="is lost"):
            await ask(environment, "a/echo")

    play({"a": fault(restart=False)}, tmp_path, scene)


def test_a_death_between_two_calls_is_met_by_the_restart(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def scene(environment: McpEnvironment) -> None:
        assert (await ask(environment, "a/count")).text == "1"
        pid = int(log.read_text().split()[2])
        os.kill(pid, 9)
        assert await soon(lambda: environment.tools_changed())
        assert (await ask(environment, "a/count")).text == "1"

    play({"a": fault("--log", str(log))}, tmp_path, scene)


def test_a_call_that_kills_a_shared_server_does_not_take_other_episodes_along(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        entry = fault(stateful=False)
        async with site({"a": entry}, tmp_path) as servers, AsyncExitStack() as stack:
            worlds = [
                await stack.enter_async_context(servers.open_environment(task(), {}))
                for _ in range(6)
            ]
            calls = [ask(world, "a/slow", seconds=0.1) for world in worlds[:3]]
            calls += [ask(world, "a/die") for world in worlds[3:4]]
            calls += [ask(world, "a/echo", text="hi") for world in worlds[4:]]
            found = await asyncio.gather(*calls, return_exceptions=True)
            assert isinstance(found[3], ToolEnvironmentError)
            others = [said for index, said in enumerate(found) if index != 3]
            assert [said.text for said in others if isinstance(said, Result)] == [
                "slow", "slow", "slow", "hi", "hi",
            ]  # fmt: skip
            assert (await ask(worlds[3], "a/echo", text="again")).text == "again"

    asyncio.run(scene())


def test_junk_on_standard_output_is_survived(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        assert (await ask(environment, "a/junk")).text == "after the junk"
        assert (await ask(environment, "a/echo", text="hi")).text == "hi"

    play({"a": fault("--junk", "--binary")}, tmp_path, scene)


def test_an_answer_of_fifty_megabytes_is_an_error_that_says_so(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        for tail in (False, True):  # whichever end of the line names the call
            found = await ask(environment, "a/big", size=50_000_000, tail=tail)
            assert found.is_error and re.search(
                r"50\s000\s\d+ bytes; the limit is 16\s777\s216", found.text
            )
        assert len((await ask(environment, "a/big", size=1_000_000)).text) == 1_000_000

    play({"a": fault()}, tmp_path, scene)


def test_errors_of_tools_and_of_the_protocol_are_seen_by_the_model(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        wrong = await ask(environment, "a/wrong")
        assert wrong.is_error and wrong.text == "there is no such page"
        odd = await ask(environment, "a/echo", txt=1)
        assert odd.is_error and odd.text.startswith("MCP error -32602:")
        for name in ("a/nothing", "nowhere/echo", "echo", ""):
            unknown = await ask(environment, name)
            assert unknown.is_error and unknown.text == f"Unknown tool: {name}"
        for text in ("[1]", "{", '{"text": NaN}', '{"text": "\\ud800"}', "7"):
            bad = await environment.call(Call(name="a/echo", arguments=text))
            assert bad.is_error and "arguments" in bad.text
        assert (await environment.call(Call(name="a/echo", arguments=""))).text == ""

    play({"a": fault()}, tmp_path, scene)


def test_a_call_that_is_late_is_an_error_while_the_server_lives(tmp_path: Path) -> None:
    sdk = str(Path(FAULT).with_name("mcp_sdk.py"))
    root = str(Path(FAULT).parents[2])
    entry = {
        "command": sys.executable,
        "args": [sdk],
        "env": {"PYTHONPATH": root},
        "call_timeout_s": 1,
    }

    async def scene(environment: McpEnvironment) -> None:
        late = await ask(environment, "a/slow", seconds=30)
        assert late.is_error and late.text == "no answer within 1 s; the call was cancelled"
        assert (await ask(environment, "a/add", a=1, b=2)).structured == {"total": 3}

    assert not play({"a": entry}, tmp_path, scene).incident_notes()


def test_a_changed_tool_list_is_offered_at_the_next_step(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        before = await environment.tools()
        assert await environment.tools() is before
        assert (await ask(environment, "a/later")).is_error
        await ask(environment, "a/change")
        assert environment.tools_changed()
        assert {t.name for t in await environment.tools()} - {t.name for t in before} == {"a/later"}
        assert (await ask(environment, "a/later")).text == "new"

    play({"a": fault()}, tmp_path, scene)


def test_odd_tools_are_offered_or_left_out_and_the_others_work(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        tools = {tool.name: tool for tool in await environment.tools()}
        assert tools["a/bad_schema"].parameters == {"type": "objekt", "properties": 7}
        assert not {"a/no_schema", "a/text_schema"} & set(tools)
        assert (await ask(environment, "a/text_schema")).is_error
        assert (await ask(environment, "a/echo", text="hi")).text == "hi"

    notes = str(play({"a": fault("--odd-tools")}, tmp_path, scene).incident_notes()["a"])
    for said in ("'no_schema' is left out", "'text_schema' is left out", "no name", "twice"):
        assert said in notes


def test_a_listing_in_pages_is_read_to_its_end_even_if_it_has_none(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        names = [tool.name for tool in await environment.tools()]
        assert "a/echo" in names and "a/half" in names and len(names) == len(set(names))

    log = tmp_path / "log"
    play({"a": fault("--pages", "--log", str(log))}, tmp_path, scene)
    assert log.read_text().count("page") <= 6  # a place it was at before ends it


def test_a_list_of_tools_has_an_end_in_number_and_in_size(tmp_path: Path) -> None:
    offered: dict[str, int] = {}

    async def scene(environment: McpEnvironment) -> None:
        for tool in await environment.tools():
            server = tool.name.partition("/")[0]
            offered[server] = offered.get(server, 0) + 1

    entries = {"many": fault("--many", "5000"), "heavy": fault("--heavy", "5000000")}
    notes = play(entries, tmp_path, scene).incident_notes()
    assert offered == {"many": 2000, "heavy": 3}
    said = {name: int(re.sub(r"\D", "", notes[name][0])) for name in offered}
    assert said == offered


def test_an_answer_of_very_many_parts_or_values_is_cut(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        parts = (await ask(environment, "a/many", parts=100_000)).parts
        assert len(parts) == 1_001
        assert isinstance(parts[-1], Text) and "99,000 further parts" in parts[-1].text
        full = await ask(environment, "a/many", values=600_000)
        assert full.structured is None and "more than 500,000 values" in full.text
        whole = await ask(environment, "a/many", parts=1_000, values=400_000)
        assert len(whole.parts) == 1_000 and len(whole.structured["of"]) == 400_000

    play({"a": fault()}, tmp_path, scene)


def test_pictures_come_back_as_pixels_and_half_letters_are_survived(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        (part,) = (await ask(environment, "a/picture")).parts
        assert isinstance(part, Image) and environment.factory.media.read(part) == PNG
        assert (await ask(environment, "a/half")).text.startswith("half a pair: ")

    play({"a": fault()}, tmp_path, scene)


# --- end --------------------------------------------------------------------------------


@pytest.mark.parametrize("flags", [(), ("--stubborn",), ("--hang",)])
def test_no_process_outlives_its_episode(tmp_path: Path, flags: tuple[str, ...]) -> None:
    note = tmp_path / "pids"

    async def scene() -> None:
        # a server that hangs must have had the time to write what it started
        entry = fault("--child", str(note), *flags, start_timeout_s=8)
        async with site({"a": entry}, tmp_path) as servers:
            try:
                async with servers.open_environment(task(), {}):
                    pass
            except ToolEnvironmentError:
                assert flags == ("--hang",)
            for pid in map(int, note.read_text().split()):
                assert await soon(lambda pid=pid: gone(pid))  # type: ignore[misc]

    asyncio.run(scene())


@pytest.mark.parametrize("moment", ["starting", "calling", "idle"])
def test_no_process_outlives_a_cancelled_run(tmp_path: Path, moment: str) -> None:
    note = tmp_path / "pids"

    async def scene() -> None:
        begun = asyncio.Event()

        async def episode() -> None:
            flags = ("--hang",) if moment == "starting" else ()
            entries = {"a": fault("--child", str(note), *flags), "b": fault(stateful=False)}
            async with (
                site(entries, tmp_path) as servers,
                servers.open_environment(task(), {}) as world,
            ):
                begun.set()
                await (ask(world, "a/hang") if moment == "calling" else asyncio.sleep(600))

        running = asyncio.create_task(episode())
        waiting = begun.wait() if moment != "starting" else soon(note.exists)
        await asyncio.wait_for(waiting, 30)
        await asyncio.sleep(0.2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(scene())
    for pid in map(int, note.read_text().split()):
        assert asyncio.run(soon(lambda pid=pid: gone(pid)))  # type: ignore[misc]


@pytest.mark.parametrize("moment", ["_read_pid", "_limit_in_thread"])
def test_no_process_outlives_a_start_that_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """The first process of a box ends with bubblewrap only once it is set up: it is killed too."""
    if sandbox.describe_missing():
        pytest.skip("no bubblewrap here")
    note = tmp_path / "pids"

    def boxes() -> list[int]:
        own = [each for each in Path("/proc").iterdir() if each.name.isdecimal()]
        return [int(each.name) for each in own if f"{note}".encode() in _words(each)]

    async def scene() -> None:
        begun = asyncio.Event()

        async def never(*given: object) -> None:
            begun.set()
            await asyncio.Event().wait()

        async def episode() -> None:
            entry = fault("--hang", "--child", str(note))
            async with (
                site({"a": entry}, tmp_path) as servers,
                servers.open_environment(task(), {}),
            ):
                pass

        monkeypatch.setattr(sandbox, moment, never)
        running = asyncio.create_task(episode())
        await asyncio.wait_for(begun.wait(), 60)
        monkeypatch.setattr(os, "killpg", lambda *given: None)  # bubblewrap itself is left alone
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await soon(lambda: not boxes())

    try:
        with sandbox.use_setting("required"):
            asyncio.run(scene())
    finally:
        for pid in boxes():
            os.kill(pid, signal.SIGKILL)
    gc.collect()  # what asyncio still held of a process would be told now
    assert not note.exists()


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_no_process_outlives_a_program_that_just_ends(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    program = f"""
import asyncio, sys
from pathlib import Path
from toolmark.environments.mcp import sandbox
from toolmark.environments.mcp.server_config import parse_config
from toolmark.environments.mcp.server_session import ServerSession
entry = {{"command": sys.executable, "args": [{FAULT!r}, "--stubborn", "--child", {str(note)!r}]}}
loop = asyncio.new_event_loop()
(server,) = parse_config({{"mcpServers": {{"a": entry}}}}, "x")
async def begin():
    with sandbox.use_setting("off"):
        await ServerSession(server, Path({str(tmp_path)!r})).start()
loop.run_until_complete(begin())
sys.exit(3)
"""

    async def scene() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "ignore", "-c", program, stderr=asyncio.subprocess.DEVNULL
        )
        assert await asyncio.wait_for(process.wait(), 30) == 3
        for pid in map(int, note.read_text().split()):
            assert await soon(lambda pid=pid: gone(pid))  # type: ignore[misc]

    asyncio.run(scene())
