"""A run among sandboxed servers: what goes out of bounds ends its episode, and is told."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.environments.mcp.mcp_episodes import ask, site, task
from tests.environments.mcp.test_sandbox_escapes import (
    FILE,
    FORKS,
    LOOP,
    SHELL,
    SMALL,
    needs_sandbox,
)
from tests.reports.page_reader import read_page
from typer.testing import CliRunner

import toolmark as tm
from toolmark.cli.app import app
from toolmark.core import canary
from toolmark.core.errors import DataError, SandboxError, UsageError
from toolmark.core.model import adapt_function
from toolmark.core.records import Call, Message, Reply, Request, Task, Text, Tool
from toolmark.environments.mcp import (
    program_files,
    sandbox,
    sandbox_limits,
    seccomp_filter,
    server_config,
    server_launch,
)
from toolmark.runs.episode_time_limit import EpisodeModel, TimeLimit
from toolmark.suites import suite_registry

ATTACKS = {"forks": FORKS, "file": FILE, "loop": LOOP}
QUIET = ("first", "second")


def laid_out(folder: Path, **more: Any) -> tm.Suite:
    """Return a suite of tasks, each to run its code in a shell; those of QUIET do no harm."""
    entry = {"command": sys.executable, "args": [SHELL], **more}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"shell": entry}}))
    tasks = [
        {
            "id": id,
            "question": f"Run {id}.",
            "steps": [{"calls": [{"name": "shell/run", "arguments": {"code": id}}]}],
            "final_reply": "Answer: done",
            "answers": ["done"],
        }
        for id in (*ATTACKS, *QUIET, "leak")
    ]
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return tm.load("m3", 
        truths=str(folder / "tasks.json"), servers=str(folder / "mcp.json"), agent="loop",
        similarity="exact",
    )  # fmt: skip


def runner(folder: Path) -> Any:
    """Return a model that runs the code of its task, then answers."""

    async def model(request: Request) -> Reply:
        if request.messages[-1].role == "tool":
            return Reply(text="Answer: done")
        (id,) = re.findall(r"Run (\w+)\.", request.messages[-1].text)
        here = "import os; HERE = os.getcwd()\n"
        keys = f"glob.glob({str(folder)!r} + '/*/*/tasks.jsonl')"
        look = f"import glob; print([open(path).read() for path in {keys}])"
        code = here + (ATTACKS | {"leak": look}).get(id, "print('fine')")
        return Reply(calls=(Call(name="shell/run", arguments=json.dumps({"code": code})),))

    return model


@needs_sandbox
def test_a_fork_bomb_a_large_file_and_an_endless_loop_end_their_episodes_alone(
    tmp_path: Path,
) -> None:
    suite = laid_out(tmp_path, limits=SMALL)
    ids = (*ATTACKS, *QUIET)
    run = tm.run(suite, runner(tmp_path), ids=ids, log_dir=tmp_path / "logs", max_connections=5)
    assert {each.task for each in run.trajectories()} == set(QUIET)
    assert {each.task: each.failure.kind for each in run.attempts()} == dict.fromkeys(
        ATTACKS, "sandbox"
    )
    said = {each.task: each.failure.message for each in run.attempts()}
    assert "64 processes" in said["forks"] and "CPU time" in said["loop"]
    assert "MiB in its workspace" in said["file"]
    assert "bubblewrap" in run.info.versions["sandbox"]
    assert "caution" not in run.summary()


def test_an_answer_key_in_a_request_is_a_leak_and_not_scored(tmp_path: Path) -> None:
    suite = laid_out(tmp_path)
    run = tm.run(
        suite, runner(tmp_path), ids=("leak", "first"), log_dir=tmp_path / "logs", sandbox="off"
    )
    assert [each.task for each in run.trajectories()] == ["first"]
    (attempt,) = run.attempts()
    assert (attempt.task, attempt.failure.kind) == ("leak", "sandbox")
    assert "an answer key leaked" in attempt.failure.message
    # and so every reader learns that there was no sandbox
    assert (
        run.info.plan.environment_hashes["sandbox"] == "off"
        and run.info.versions["sandbox"] == "off"
    )
    assert run.summary()["caution"] == sandbox.OFF_NOTE
    assert sandbox.OFF_NOTE in read_page(tm.write_report(run)).root.text


@needs_sandbox
def test_the_same_request_finds_no_key_in_the_sandbox(tmp_path: Path) -> None:
    run = tm.run(laid_out(tmp_path), runner(tmp_path), ids=("leak",), log_dir=tmp_path / "logs")
    (made,) = run.trajectories()
    assert [result.text for step in made.steps for result in step.results] == ["[]\n"]


def test_a_run_without_and_with_a_sandbox_are_not_the_same_run(tmp_path: Path) -> None:
    suite = laid_out(tmp_path)
    runs = [
        tm.run(suite, "control/oracle", ids=("first",), log_dir=tmp_path / "logs", sandbox=setting)
        for setting in ("off", *(() if sandbox.describe_missing() else ("required",)), "off")
    ]
    assert runs[0].info.plan.hash == runs[-1].info.plan.hash
    assert len({run.info.plan.hash for run in runs}) == len(runs) - 1


def test_a_run_is_refused_in_one_line_where_there_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **more: None)
    sandbox._try_bubblewrap.cache_clear()
    suite = laid_out(tmp_path)
    words = ["-T", f"truths={tmp_path / 'tasks.json'}", "-T", f"servers={tmp_path / 'mcp.json'}"]
    words += ["-T", "agent=loop", "-T", "similarity=exact", "--log-dir", str(tmp_path / "logs")]
    try:
        with pytest.raises(UsageError) as refused:
            tm.run(suite, "control/oracle", log_dir=tmp_path / "logs")
        reported = str(refused.value)
        assert "apt-get install bubblewrap" in reported and "--sandbox off" in reported
        assert "\n" not in reported and not (tmp_path / "logs").exists()
        for command in (
            ["run", "m3", "-m", "control/oracle", *words],
            ["run", "m3", "-m", "control/oracle", "--dry-run", *words],
            ["doctor", "--servers", str(tmp_path / "mcp.json")],
        ):
            done = CliRunner().invoke(app, command)
            assert isinstance(done.exception, UsageError) and str(done.exception) == reported
        monkeypatch.undo()
        off = ["run", "m3", "-m", "control/oracle", *words, "--sandbox", "off", "--ids", "first"]
        done = CliRunner().invoke(app, off)
        assert sandbox.OFF_NOTE in done.output.replace("\n", " ")
    finally:
        sandbox._try_bubblewrap.cache_clear()


def test_other_systems_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (
        "needs Linux" in sandbox.describe_missing()
        and "--sandbox off" in sandbox.describe_missing()
    )


def test_a_word_that_is_no_setting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="required or off"):
        tm.run(laid_out(tmp_path), "control/oracle", log_dir=tmp_path / "logs", sandbox="perhaps")


# --- canaries -----------------------------------------------------------------------------


def asked(text: str, **more: Any) -> Request:
    return Request(messages=(Message(role="user", parts=(Text(text),), **more),))


def test_a_canary_stands_in_stored_tasks_alone(tmp_path: Path) -> None:
    suite = suite_registry.load_suite("funcbench", core=3, depth=2, graphs=2, seed=1)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    lines = (run.path / "tasks.jsonl").read_text().splitlines()
    assert [json.loads(line)["canary"] for line in lines] == [canary.make_canary(t) for t in suite]
    assert list(run.tasks()) == list(suite)
    for name in ("trajectories.jsonl", "scores.jsonl", "summary.json", "run.json"):
        assert "toolmark-canary-" not in (run.path / name).read_text()


def test_only_a_whole_canary_counts() -> None:
    mark = canary.make_canary(Task(id="a", suite="s", turns=()))
    assert canary.contains_canary(f"x {mark} y") and canary.contains_canary(mark * 2)
    changed = mark[:-1] + ("0" if mark[-1] != "0" else "1")
    for text in ("", mark[:-1], changed, "toolmark-canary-" + "0" * 40):
        assert not canary.contains_canary(text)

    async def model(request: Request, /) -> Reply:
        return Reply(text="answered")

    guarded = EpisodeModel(adapt_function(model), TimeLimit(None), canary.RequestGuard(), [])
    assert asyncio.run(guarded(asked(changed))).text == "answered"
    reported = Call(name="f", arguments=json.dumps({"text": mark}))
    odd = Tool(name="f", description=mark, parameters={"default": 10**30})
    listed = [Tool(name="f", description=mark), Tool(name="f", parameters={"title": mark}), odd]
    offered = [msgspec.structs.replace(asked("plain"), tools=(tool,)) for tool in listed]
    called = asked("", calls=(Call(name=mark, arguments=""),))
    for request in (asked(mark), asked("", calls=(reported,)), called, *offered):
        with pytest.raises(SandboxError, match="answer key leaked"):
            asyncio.run(guarded(request))


# --- what a server is shown ---------------------------------------------------------------


def parsed(entry: dict[str, Any], folder: Path | None = None) -> server_config.ServerConfig:
    (server,) = server_config.parse_config({"mcpServers": {"a": entry}}, "x", folder=folder)
    return server


def test_a_server_declares_paths_and_network(tmp_path: Path) -> None:
    for name in ("data", "out", "keys"):
        (tmp_path / name).mkdir()
    (tmp_path / "keys" / "tasks.jsonl").touch()
    entry = {"command": sys.executable, "paths": ["data", {"path": "out", "write": True}]}
    server = parsed({**entry, "network": True}, tmp_path)
    box = server_launch.prepare_launch(server, tmp_path / "w" / "e").sandbox_spec
    assert box is not None and box.network and "--unshare-net" not in [*box.options()]
    assert box.can_read(f"{tmp_path}/data/a") and not box.can_write(f"{tmp_path}/data/a")
    assert box.can_write(f"{tmp_path}/out/b") and not box.can_read(f"{tmp_path}/keys/tasks.jsonl")
    plain = server_launch.prepare_launch(parsed(entry, tmp_path), tmp_path / "w" / "e").sandbox_spec
    assert plain is not None and "--unshare-net" in [*plain.options()]


def test_answers_stay_hidden_in_what_is_declared(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    entry = {"command": sys.executable, "paths": [str(tmp_path)]}
    with sandbox.hide_paths(tmp_path / "runs"):
        box = server_launch.prepare_launch(parsed(entry), tmp_path / "w" / "e").sandbox_spec
        assert box is not None and box.can_read(f"{tmp_path}/a")
        assert not box.can_read(f"{tmp_path}/runs/a/tasks.jsonl")
        assert str(tmp_path / "runs") in [*box.options()]
        inside = parsed({**entry, "paths": [str(tmp_path / "runs")]})
        assert "holds answers" in server_launch.describe_missing(inside)


def test_answers_stay_hidden_by_every_name_of_their_folder(tmp_path: Path) -> None:
    """A link to a folder that holds them, and a folder that a server could move away."""
    (tmp_path / "real" / "out" / "runs").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    key = tmp_path / "real/out/runs"
    absent = tmp_path / "real/later"
    for how, declared in (("read", "link"), ("write", "link"), ("write", "real")):
        entry = {"command": sys.executable, "paths": [{"path": declared, "write": how == "write"}]}
        with sandbox.hide_paths(key, absent):
            box = server_launch.prepare_launch(
                parsed(entry, tmp_path), tmp_path / "w" / "e"
            ).sandbox_spec
        assert box is not None and box.can_read(f"{tmp_path}/{declared}/out/a")
        assert not box.can_read(f"{tmp_path}/{declared}/out/runs/a/tasks.jsonl")
        options = [*box.options()]
        assert f"{tmp_path}/{declared}/out/runs" in options and str(absent) not in options
        # what is mounted cannot be moved
        assert (f"{tmp_path}/{declared}/out" in options) == (how == "write")


@needs_sandbox
def test_a_folder_above_answers_cannot_be_moved(tmp_path: Path) -> None:
    key = tmp_path / "own/out/runs/tasks.jsonl"
    key.parent.mkdir(parents=True)
    key.write_text("the answer")
    where = [{"path": str(tmp_path / "own"), "write": True}]
    entry = {"shell": {"command": sys.executable, "args": [SHELL], "paths": where}}
    code = f"""
import glob, os
for name in ("own/out/runs", "own/out"):
    try:
        os.rename({str(tmp_path)!r} + "/" + name, {str(tmp_path)!r} + "/own/moved")
    except OSError:
        print("stays")
print(glob.glob({str(tmp_path)!r} + "/own/**/tasks.jsonl", recursive=True))
"""

    async def scene() -> str:
        async with site(entry, tmp_path) as servers, servers.open_environment(task(), {}) as world:
            return (await ask(world, "shell/run", code=code)).text

    with sandbox.hide_paths(key.parent):
        assert asyncio.run(scene()) == "stays\nstays\n[]\n"


def test_what_a_server_wrote_names_nothing_that_it_is_shown(tmp_path: Path) -> None:
    """The first line of a script names its interpreter, which is shown: of its own it is not."""
    secret, work, out = tmp_path / "secret", tmp_path / "w" / "e", tmp_path / "out"
    secret.write_text("#")
    for folder in (work, out):
        folder.mkdir(parents=True)
        (folder / "run.sh").write_text(f"#!{secret}\n")
        (folder / "run.sh").chmod(0o755)
    (tmp_path / "named.sh").write_text(f"#!{secret}\n")
    (work / "link").symlink_to(secret)
    entries: list[dict[str, Any]] = [
        {"command": "${workspace}/run.sh"},
        {"command": sys.executable, "args": [str(out / "run.sh")]},
        {"command": sys.executable, "args": ["${workspace}/link"]},
        {"command": str(out / "run.sh")},
    ]
    for entry in entries:
        declared = {"paths": [{"path": str(out), "write": True}]}
        box = server_launch.prepare_launch(
            parsed({**entry, **declared}, tmp_path), work
        ).sandbox_spec
        assert box is not None and not box.can_read(str(secret))
    box = server_launch.prepare_launch(
        parsed({"command": "sh", "args": [str(tmp_path / "named.sh")]}), work
    ).sandbox_spec
    assert box is not None and box.can_read(str(secret))


def test_a_link_in_place_of_what_is_read_only_is_refused(tmp_path: Path) -> None:
    entry = {"command": sys.executable, "read_only": ["repo/.git"]}
    (tmp_path / "w/other/.git").mkdir(parents=True)
    (tmp_path / "w/repo").symlink_to("other")
    with pytest.raises(DataError, match="a link was put there"):
        server_launch.prepare_launch(parsed(entry), tmp_path / "w")


def test_a_file_of_the_workspace_stays_writable_though_it_is_named(tmp_path: Path) -> None:
    script, own = tmp_path / "server.py", tmp_path / "w" / "e" / "data.db"
    own.parent.mkdir(parents=True)
    for path in (script, own):
        path.touch()
    named = ["${config_dir}/server.py", "--db", "${workspace}/data.db"]
    server = parsed({"command": sys.executable, "args": named}, tmp_path)
    box = server_launch.prepare_launch(server, own.parent).sandbox_spec
    assert box is not None and box.can_write(str(own))
    assert box.can_read(str(script)) and not box.can_write(str(script))


@pytest.mark.parametrize("path", ["/", "/proc", "/dev", "/nowhere/at/all"])
def test_some_paths_cannot_be_declared(path: str) -> None:
    assert "paths: " in server_launch.describe_missing(
        parsed({"command": sys.executable, "paths": [path]})
    )


def test_a_package_is_started_as_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / ".npm/_npx/1a"
    package = made / "node_modules/@x/server"
    package.mkdir(parents=True)
    (made / "package.json").write_text(json.dumps({"_npx": {"packages": ["@x/server"]}}))
    (package / "package.json").write_text(json.dumps({"bin": {"server": "index.js"}}))
    (package / "index.js").touch()
    tool = tmp_path / ".local/share/uv/tools/my-server/bin/my-server"
    tool.parent.mkdir(parents=True)
    tool.touch()
    for name in ("NPM_CONFIG_CACHE", "XDG_DATA_HOME", "UV_TOOL_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(shutil, "which", lambda name, **more: f"/usr/bin/{name}")
    found = program_files.find_installed(["/usr/bin/npx", "-y", "@x/server", "--a"], tmp_path)
    assert found is not None and found.argv == (
        "/usr/bin/node", str(package / "index.js"), "--a",
    )  # fmt: skip
    found = program_files.find_installed(["uvx", "my-server", "b"], tmp_path)
    assert found is not None and found.argv == (str(tool), "b")
    assert program_files.find_installed(["npx", "-y", "@x/other"], tmp_path) is None
    assert program_files.launched_package(["uvx", "--from", "a", "b"]) == ""


def test_a_package_that_is_not_installed_names_the_line_to_add(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "npx").touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    reported = server_launch.describe_missing(
        parsed({"command": "npx", "args": ["-y", "@x/server"]})
    )
    assert "`npx -y @x/server --help` once" in reported and '"network": true' in reported


# --- limits -------------------------------------------------------------------------------


def test_groups_are_made_where_the_system_lets_us(tmp_path: Path) -> None:
    old = "8:pids:/\n4:memory:/m\n0::/\n"
    for name in ("pids", "memory/m"):
        (tmp_path / name).mkdir(parents=True)
    assert sandbox_limits.group_parents(old, tmp_path) == {
        "pids": tmp_path / "pids", "memory": tmp_path / "memory/m",
    }  # fmt: skip
    new = "0::/user.slice/app.slice/shell.scope\n"
    above = tmp_path / "user.slice/app.slice"
    (above / "shell.scope").mkdir(parents=True)
    assert sandbox_limits.group_parents(new, tmp_path) == {}
    (above / "cgroup.subtree_control").write_text("memory pids\n")
    (above / "cgroup.procs").touch()
    assert sandbox_limits.group_parents(new, tmp_path) == {"pids": above, "memory": above}
    (above / "cgroup.subtree_control").write_text("cpu\n")
    assert sandbox_limits.group_parents(new, tmp_path) == {}


def test_the_filter_knows_its_machines() -> None:
    for machine in ("x86_64", "aarch64"):
        code = seccomp_filter.filter_program(machine)
        assert code and len(code) % 8 == 0 and len(code) < 4096
    assert seccomp_filter.filter_program("riscv64") == b""
