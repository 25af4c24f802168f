"""M3-Bench's kind of task, generated, on real MCP servers that need no key and no network."""

from __future__ import annotations

import base64
import os
import secrets
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from toolmark import fetch, seeds
from toolmark.errors import UsageError, WorldError, near
from toolmark.media import Media
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.m3 import data, instruments, panel, play, report, score
from toolmark.suites.m3.local import servers, state
from toolmark.suites.m3.local.families import FAMILIES
from toolmark.suites.m3.local.item import Item, Template
from toolmark.types import Limits, Message, Task, Text, Turn
from toolmark.worlds.cassette import Head
from toolmark.worlds.mcp import config, confine

SCORER = Scorer(
    readings=("fair", "official", "paper"),
    score=score.score,
    metrics=report.metrics,
    tables=report.tables,
    gather=score.gather,
    across=report.across,
    evidence=panel.evidence,
)
SUITE = "m3-local"
LIMITS = Limits(steps=25)
READERS = ("ocr", "barcode")  # on offer everywhere, for models that cannot see
_INSTANCES = 3
_FORM = (
    "The last line of your reply holds what I asked you to tell, and no more, in the form\n"
    "Answer: {}"
)
_OPEN = "the MCP servers are not confined to their workspaces: install bubblewrap (bwrap)"


def load(
    *,
    family: tuple[str, ...] = ("all",),
    instances: int = _INSTANCES,
    agent: str = "loop",
    similarity: str = score.EXACT,
    cassette: str = "",
    mode: str = "replay",
    seed: int | None = None,
) -> Suite:
    """Generate tasks on 11 real MCP servers, each with a picture that must be read.

    The final state (a workbook's cells, a repository's log) and the answer decide; alignment with
    an executed reference trajectory is reported beside them. `toolmark fetch m3-servers` first.

    Args:
        family: kinds of task, separated by commas, out of ledger, labels, deck, clock, repo, notes,
            darkroom and stock; all for all.
        instances: tasks made from each of 25 templates; 1 is enough for a first look.
        agent: loop (plain tool calling) or executor (plan, process, decide, as M3-Bench's paper).
        similarity: exact for equal arguments, or a sentence encoder (needs the extra embed).
        cassette: a recording of the servers' answers.
        mode: of the cassette: replay, record, or auto (live where the recording ends).
        seed: same seed and knobs, same tasks. Default a fresh one.
    """
    knobs: dict[str, Any] = dict(locals())
    if instances < 1:
        raise UsageError(f"instances must be at least 1; got {instances}")
    chosen = _families(family)
    score.check(similarity)
    drawn = secrets.randbits(32) if seed is None else seed
    store = Media(fetch.cache() / "media")
    stage = play.Stage(
        config.parse(servers.CONFIG, SUITE),
        cassette,
        mode,
        prepare=prepare,
        state=_state,
        head=Head(SUITE, drawn, {"family": family, "instances": instances}),
    )
    return Suite(
        name=SUITE,
        tasks=list(_tasks(chosen, instances, drawn, similarity, store)),
        scorer=SCORER,
        site=stage.site,
        missing=stage.missing,
        dialects=play.dialects(agent),
        agent=play.agent(agent),
        knobs=knobs,
        seed=drawn,
        hashes=stage.hashes(),
        instruments={"oracle": instruments.oracle, "faulty": instruments.faulty},
        media=store,
        notes=() if confine.command() else (_OPEN,),
    )


def _families(asked: Sequence[str]) -> dict[str, Sequence[Template]]:
    if "all" in asked:
        return dict(FAMILIES)
    for name in asked:
        if name not in FAMILIES:
            raise UsageError(f"no family {name!r}{near(name, FAMILIES)}")
    if not asked:
        raise UsageError(f"no family given{near('', FAMILIES)}")
    return {name: FAMILIES[name] for name in FAMILIES if name in asked}


def _tasks(
    chosen: Mapping[str, Sequence[Template]],
    instances: int,
    seed: int,
    similarity: str,
    store: Media,
) -> Iterator[Task]:
    for family, templates in chosen.items():
        for template in templates:
            for number in range(instances):
                rng = seeds.of(seed, f"{family}/{template.__name__}", number, SUITE)
                yield task(template(rng), family, number, seed, similarity, store)


def task(item: Item, family: str, number: int, seed: int, similarity: str, store: Media) -> Task:
    """Return an item as a task; its picture goes into the store, its files into the reference."""
    steps = [
        {"calls": [{"name": name, "arguments": dict(given)} for name, given in calls]}
        for calls in item.steps
    ]
    reference: dict[str, Any] = {
        "steps": steps,
        "answer": f"Answer: {', '.join(item.answer)}",
        "answers": list(item.answer),
        "rivals": list(item.rivals),
        "expects": item.expects,
        "servers": tuple(dict.fromkeys((*data.servers(steps), *READERS))),
        "images": (item.name,),
        "similarity": similarity,
        "files": {path: base64.b64encode(held).decode() for path, held in item.files.items()},
        "repository": [[subject, dict(files)] for subject, files in item.repository],
    }
    shown = store.image(item.picture, "image/png")
    asked = f"{item.question}\n\n{_FORM.format(item.form)}"
    said = Message(role="user", parts=(Text(data.told(asked, item.name)), shown))
    return Task(
        id=f"{family}-{item.template}-{number}",
        item=f"{family}-{item.template}",  # those of one template are alike, so they count as one
        suite=SUITE,
        category=family,
        turns=(Turn(messages=(said,)),),
        reference=reference,
        axes=data.flags(steps) | {"template": item.template},
        limits=LIMITS,
        seed=seed,
    )


# --- the workspace ----------------------------------------------------------------------


def prepare(task: Task, workspace: Path) -> None:
    """Fill a fresh workspace: the task's files, and its repository with all its commits."""
    for name, held in task.reference["files"].items():
        _write(workspace, name, base64.b64decode(held))
    commits = task.reference["repository"]
    if not commits:
        return
    folder = workspace / servers.REPOSITORY
    folder.mkdir(exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for subject, files in commits:
        for name, text in files.items():
            _write(folder, name, text.encode())
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", subject)


def _write(folder: Path, name: str, held: bytes) -> None:
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or "\0" in name:
        raise WorldError(f"{name!r} lies outside the workspace")
    path = folder / inside
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(held)


def _git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ.get("PATH", os.defpath), **servers.SAME}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], env=env, capture_output=True, check=False
        )
    except OSError as error:
        raise WorldError(f"git cannot be run: {error.strerror}; install git") from None
    if done.returncode:
        raise WorldError(f"git {words[0]}: {done.stderr.decode(errors='replace')[-200:]}")


def _state(task: Task, workspace: Path) -> Any:
    return state.snapshot(workspace)
