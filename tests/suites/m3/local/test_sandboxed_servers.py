"""The servers of m3-local, asked for what their model should not get: a shell, files, answers."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Task
from toolmark.environments.mcp import sandbox, server_config, server_launch
from toolmark.environments.mcp.mcp_environment import McpEnvironment, McpServersFactory
from toolmark.suites.m3.local import m3_local_suite, server_configuration

pytestmark = [
    pytest.mark.servers,
    pytest.mark.usefixtures("installed"),
    pytest.mark.skipif(bool(sandbox.describe_missing()), reason="no bubblewrap here"),
]
KEY = "4711"
REPO = "/workspace/repo"


def task(*names: str) -> Task:
    data = {
        "answer": "",
        "similarity": "exact",
        "servers": names,
        "files": {"mine.txt": ""},
        "repository": [["first", {"a.txt": "one\n"}]],
    }
    return Task(id="t", suite=m3_local_suite.SUITE_NAME, turns=(), data=data)


async def ask(environment: Any, name: str, /, **given: Any) -> tuple[str, bool]:
    result = await environment.call(Call(name=name, arguments=json.dumps(given)))
    return result.text, result.is_error


def play(scene: Any, folder: Path, *names: str) -> None:
    async def played() -> None:
        known = server_config.parse_config(
            server_configuration.SERVER_CONFIG, m3_local_suite.SUITE_NAME
        )
        async with (
            asyncio.timeout(200),
            McpServersFactory(
                known, MediaStore(folder / "media"), prepare=m3_local_suite.prepare_workspace
            ) as site,
            site.open_environment(task(*names), {}) as world,
        ):
            assert isinstance(world, McpEnvironment)
            await scene(world)

    asyncio.run(played())


def planted(mark: Path) -> list[tuple[str, str]]:
    """Return files that would make git run a command, each with its text."""
    run = f"touch {mark}"
    config = (
        f'[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "{run}; false"\n\tpager = "{run}"\n'
        f'\teditor = "{run}"\n\tsshCommand = "{run}"\n\thooksPath = hooks\n'
        f'[filter "x"]\n\tclean = "{run}; cat"\n\tsmudge = "{run}; cat"\n'
        f'[diff "x"]\n\ttextconv = "{run}; cat"\n\tcommand = "{run}"\n'
        f'[diff]\n\texternal = "{run}"\n[include]\n\tpath = {mark}.more\n'
        f'[credential]\n\thelper = "!{run}"\n'
        f'[gpg]\n\tprogram = "{run}"\n[commit]\n\tgpgSign = true\n'
    )
    hooks = (
        "pre-commit",
        "post-commit",
        "post-checkout",
        "post-index-change",
        "fsmonitor-watchman",
    )
    return [
        (f"{REPO}/.gitattributes", "*.txt filter=x diff=x\n"),
        (f"{REPO}/.git/config", config),
        (f"{REPO}/.git/info/attributes", "*.txt filter=x diff=x\n"),
        *((f"{REPO}/.git/hooks/{name}", f"#!/bin/sh\n{run}\n") for name in hooks),
        # a repository inside of the one that git may see
        *((f"{REPO}/sub/.git/{name}", text) for name, text in (
            ("HEAD", "ref: refs/heads/main\n"), ("config", config), ("objects/x", ""),
            ("refs/x", ""), ("hooks/pre-commit", f"#!/bin/sh\n{run}\n"),
        )),
    ]  # fmt: skip


async def touch_everything(environment: Any) -> None:
    """Let git look at, add, commit, switch and show what there is."""
    for place in (REPO, f"{REPO}/sub"):
        await ask(environment, "filesystem/write_file", path=f"{place}/a.txt", content="two\n")
        await ask(environment, "git/git_status", repo_path=place)
        await ask(environment, "git/git_diff_unstaged", repo_path=place)
        await ask(environment, "git/git_add", repo_path=place, files=["a.txt"])
        await ask(environment, "git/git_diff_staged", repo_path=place)
        await ask(environment, "git/git_commit", repo_path=place, message="second")
        await ask(environment, "git/git_create_branch", repo_path=place, branch_name="b")
        await ask(environment, "git/git_checkout", repo_path=place, branch_name="b")
        await ask(environment, "git/git_log", repo_path=place)
        await ask(environment, "git/git_show", repo_path=place, revision="HEAD")


async def plant(environment: Any, files: Sequence[tuple[str, str]]) -> list[str]:
    """Write the files where a tool lets us; return those that it wrote."""
    made = []
    for path, text in files:
        folder = path.rpartition("/")[0]
        await ask(environment, "filesystem/create_directory", path=folder)
        if not (await ask(environment, "filesystem/write_file", path=path, content=text))[1]:
            made.append(path)
    return made


def test_git_runs_nothing_that_its_examinee_wrote(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        mark = environment.workspace / "ran"
        before = (environment.workspace / "repo/.git/config").read_text()
        made = await plant(environment, planted(mark))
        assert f"{REPO}/.gitattributes" in made and not any("repo/.git/" in path for path in made)
        await touch_everything(environment)
        assert not mark.exists()
        assert (environment.workspace / "repo/.git/config").read_text() == before
        log, failed = await ask(environment, "git/git_log", repo_path=REPO)
        assert not failed and "second" in log  # it still does what it is for

    play(scene, tmp_path, "filesystem", "git")


def test_git_runs_nothing_in_a_submodule_that_its_examinee_wrote(tmp_path: Path) -> None:
    """For its status git starts itself in each submodule, which has settings of its own."""

    async def scene(environment: McpEnvironment) -> None:
        mark, sub = environment.workspace / "ran", environment.workspace / "repo" / "sub"
        log, _ = await ask(environment, "git/git_log", repo_path=REPO)
        (sha,) = re.findall(r"[0-9a-f]{40}", log)
        clean = f'[filter "x"]\n\tclean = "touch {mark}; cat"\n'
        for name, text in (
            ("HEAD", sha), ("refs/x", ""), ("objects/info/alternates", "../../../.git/objects\n"),
            ("config", f"[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n{clean}"),
        ):  # fmt: skip
            (sub / ".git" / name).parent.mkdir(parents=True, exist_ok=True)
            (sub / ".git" / name).write_text(text)
        (sub / "a.txt").write_text("two\n")  # as long as what its index says
        (sub / ".gitattributes").write_text("* filter=x\n")
        shutil.copy(environment.workspace / "repo/.git/index", sub / ".git")
        _, failed = await ask(environment, "git/git_add", repo_path=REPO, files=["sub"])
        assert not failed
        for name in ("git_status", "git_diff_unstaged"):
            said, _ = await ask(environment, f"git/{name}", repo_path=REPO)
            assert "not the repository repo" in said
        await touch_everything(environment)
        assert not mark.exists()

    play(scene, tmp_path, "filesystem", "git")


def test_git_itself_cannot_write_what_it_runs(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        box = environment.supervisors["git"]._session.launch.sandbox_spec  # type: ignore[union-attr]
        assert box is not None
        for name in ("config", "hooks/pre-commit", "info/attributes"):
            assert not box.can_write(f"{environment.workspace}/repo/.git/{name}")
        assert box.can_write(f"{environment.workspace}/repo/.git/HEAD")

    play(scene, tmp_path, "git")


def test_a_repository_cannot_be_moved_away_to_put_another_in_its_place(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        mark = environment.workspace / "ran"
        for source in (REPO, f"{REPO}/.git"):
            _, failed = await ask(
                environment, "filesystem/move_file", source=source, destination="/workspace/old"
            )
            assert failed
        await plant(environment, planted(mark))
        await touch_everything(environment)
        assert not mark.exists() and not (environment.workspace / "old").exists()

    play(scene, tmp_path, "filesystem", "git")


def test_the_same_files_run_commands_where_the_sandbox_is_off(tmp_path: Path) -> None:
    async def scene(environment: McpEnvironment) -> None:
        mark = environment.workspace / "ran"
        assert f"{REPO}/.git/config" in await plant(environment, planted(mark))
        await touch_everything(environment)
        assert mark.exists()

    with sandbox.use_setting("off"):
        play(scene, tmp_path, "filesystem", "git")


def picture(path: Path) -> None:
    shown = Image.new("RGB", (200, 60), "white")
    ImageDraw.Draw(shown).text((20, 10), KEY, fill="black", font_size=36)
    shown.save(path)


def test_no_server_reads_what_lies_outside(tmp_path: Path) -> None:
    secret, note = tmp_path / "secret.png", tmp_path / "tasks.jsonl"
    picture(secret)
    note.write_text(KEY)
    shutil.copy(secret, tmp_path / "secret.jpg")

    async def scene(environment: McpEnvironment) -> None:
        picture(environment.workspace / "seen.png")
        said, _ = await ask(environment, "ocr/perform_ocr", input_data="/workspace/seen.png")
        assert KEY in said  # it reads what it may
        attempts = [
            ("ocr/perform_ocr", {"input_data": str(secret)}),
            ("barcode/read_qr_code", {"image_path": str(secret)}),
            ("filesystem/read_file", {"path": str(note)}),
            ("filesystem/read_file", {"path": f"/workspace/../..{note}"}),
            ("sqlite/read_query", {"query": f"SELECT readfile('{note}')"}),
            ("sqlite/write_query", {"query": f"ATTACH DATABASE '{note}' AS other"}),
        ]
        for name, given in attempts:
            text, _ = await ask(environment, name, **given)
            assert KEY not in text.replace(str(note), ""), name
        assert note.read_text() == KEY

    play(scene, tmp_path, "ocr", "barcode", "filesystem", "sqlite")


@pytest.mark.parametrize(
    "name", [name for name in server_configuration.SERVER_CONFIG["mcpServers"]]
)
def test_a_shell_in_any_of_them_finds_no_key_and_no_way_out(name: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(KEY)
    found = {
        one.name: one
        for one in server_config.parse_config(
            server_configuration.SERVER_CONFIG, m3_local_suite.SUITE_NAME
        )
    }
    workspace = tmp_path / "home" / "one"
    m3_local_suite.prepare_workspace(task(), _made(workspace))
    launch = server_launch.prepare_launch(found[name], workspace)
    tried = [
        f"cat {tmp_path}/tasks.jsonl", f"cat {workspace}/../../tasks.jsonl", "ls /run", "ls /var",
        "ls -A /home", f"ls {Path.home()}/.ssh", "cat /etc/shadow", "touch /usr/x", "touch /x",
        "touch /etc/x", "unshare -Ur true", "cat /proc/1/root/root/.bashrc",
    ]  # fmt: skip
    code = "; ".join(f"( {each} ) 2>&1 && echo ESCAPED {each}" for each in tried) + "; echo tried"

    async def scene() -> str:
        assert launch.sandbox_spec is not None
        pipe = asyncio.subprocess.PIPE
        argv = ("/bin/sh", "-c", code)
        opened = sandbox.open_sandboxed(argv, launch.env, launch.sandbox_spec, stdout=pipe)
        async with opened as (process, watched):
            assert process.stdout is not None and watched is not None
            said = await asyncio.wait_for(process.stdout.read(), 60)
            await process.wait()
            return said.decode()

    said = asyncio.run(scene())
    assert "ESCAPED" not in said and KEY not in said, said
    assert said.endswith("tried\n")


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
