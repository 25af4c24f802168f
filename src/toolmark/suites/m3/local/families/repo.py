"""A whiteboard or a notice asks for a change: a Git repository and the files in it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from toolmark.suites.m3.local import scenes
from toolmark.suites.m3.local.families import calls, words
from toolmark.suites.m3.local.item import Calls, Item, Template
from toolmark.suites.m3.local.servers import REPOSITORY

_HOME = f"{calls.HOME}/{REPOSITORY}"
_MODULES = ("boiler", "crane", "feeder", "gate", "lamp", "mixer", "pump", "valve")
_KEYS = ("delay", "interval", "limit", "pressure", "retries", "speed", "timeout", "volume")
_CODENAMES = ("Badger", "Falcon", "Heron", "Lynx", "Marten", "Osprey", "Otter", "Plover")
_PARTS = ("major", "minor", "patch")
_TODAY = ("TODAY", "do this today!", "for today")
_LATER = ("waits for parts", "next week", "on hold", "after the holidays", "not before March")
_PLEAS = ("Please undo it!", "Please put it right!", "Help!")

_TICKET = f"""The picture shows our open tickets. Carry out the one that is to be done today: each \
ticket is described in the folder `tickets`, in a file named by its number, such as `TK-000.md`. \
What it talks about is in the Git repository `{REPOSITORY}`. Change nothing but the values asked \
for, and record all of it as one commit on the current branch, with the ticket's number alone as \
the message. Then tell me which values stood there before."""

_RELEASE = f"""The note in the picture says what comes next. Prepare it in the Git repository \
`{REPOSITORY}`. Versions are written major.minor.patch; the part that the note names goes up by \
one from what the file `VERSION` says, and the parts to the right of it become 0. Make a branch \
`release/` followed by the new version off the current one, and leave it checked out. On it, in \
one commit with the message `Release` and the new version, change the numbers in `VERSION` and the \
name in `CODENAME`, which becomes the note's code name; both files keep their form. Tell me the \
new version."""

_FALLBACK = f"""Please help the person who wrote the notice in the picture. The settings are in \
the folder `config` of the Git repository `{REPOSITORY}`, a file for each machine, such as \
`config/oven.ini`. Find out for which request the setting in question was changed last. In \
`requests`, a file for each request, such as `R-000.txt`, it says which value to fall back to. Set \
that, change nothing else, and commit it on the current branch with the message `Fall back` and \
the request's number. Tell me the number."""

Settings: TypeAlias = Mapping[str, Mapping[str, int]]  # of each module, by key
Changes: TypeAlias = Mapping[str, tuple[str, int]]  # by module, a key and its new value


def ticket(rng: random.Random) -> Item:
    """One ticket of the board is for today; its file names two settings, each in its own file."""
    before = _settings(rng, 5)
    numbers = [f"TK-{number}" for number in rng.sample(range(100, 1000), 3)]
    asked = {number: _changes(rng, before) for number in numbers}
    today = numbers[0]
    notes = [rng.choice(_TODAY), *rng.sample(_LATER, 2)]
    lines = [f"{number}: {note}" for number, note in zip(numbers, notes, strict=True)]
    paths = [_path(module) for module in asked[today]]
    return Item(
        template="ticket",
        question=_TICKET,
        picture=scenes.board(rng, heading="Open tickets", lines=rng.sample(lines, len(lines))),
        name="tickets.png",
        steps=[
            [calls.read(f"tickets/{today}.md")],
            [calls.read(f"{REPOSITORY}/{path}") for path in paths],
            _edits(before, asked[today]),
            *_committed(paths, today),
        ],
        expects=_state([today, "Add settings"], _files(_changed(before, asked[today]))),
        form="value before, value before",
        answer=tuple(str(before[module][key]) for module, (key, _) in asked[today].items()),
        files={f"tickets/{number}.md": _described(number, asked[number]) for number in numbers},
        repository=(("Add settings", _files(before)),),
    )


def release(rng: random.Random) -> Item:
    """The note tells the kind of the next release; its number follows from the one before."""
    old = [rng.randint(1, 6), rng.randint(1, 9), rng.randint(1, 9)]
    kind = rng.randrange(3)
    parts = [*old[:kind], old[kind] + 1, 0, 0][:3]
    new = ".".join(map(str, parts))
    codename, last = rng.sample(_CODENAMES, 2)
    before = {"VERSION": _version(old), "CODENAME": f"name = {last}\n"}
    after = {"VERSION": _version(parts), "CODENAME": f"name = {codename}\n"}
    lines = [
        f"It will be a {_PARTS[kind].upper()} release.",
        f"Code name: {codename}",
        f"Questions: {words.first(rng, 1)[0]}, room {rng.randint(10, 60)}",
    ]
    branch = {"repo_path": _HOME, "branch_name": f"release/{new}"}
    return Item(
        template="release",
        question=_RELEASE,
        picture=scenes.board(rng, heading="Next release", lines=lines),
        name="note.png",
        steps=[
            [calls.read(f"{REPOSITORY}/{name}") for name in before],
            [
                ("git/git_create_branch", branch),
                calls.edit(f"{REPOSITORY}/VERSION", _version(old), _version(parts)),
                calls.edit(f"{REPOSITORY}/CODENAME", last, codename),
            ],
            [("git/git_checkout", branch)],
            *_committed(list(after), f"Release {new}"),
        ],
        expects=_branched(_state([f"Release {new}", "First release"], after, f"release/{new}")),
        form="major.minor.patch",
        answer=(new,),
        repository=(("First release", before),),
    )


def fallback(rng: random.Random) -> Item:
    """The notice complains about a setting; the history tells the request it was last changed for.

    What to fall back to stands in that request alone: it is none of the values of the history.
    """
    first = _settings(rng, 3)
    wrong, key = next((module, key) for module in first for key in first[module])
    numbers = [f"R-{number}" for number in sorted(rng.sample(range(100, 1000), 4))]
    commits, now, used = _history(rng, first, numbers)
    values = rng.sample([value for value in range(10, 100) if value not in used], len(numbers))
    number, change = numbers[2], {wrong: (key, values[2])}
    lines = [
        f"The {wrong} has been giving trouble ever since somebody changed its {key}.",
        rng.choice(_PLEAS),
        words.people(rng, 1)[0],
    ]
    message = f"Fall back {number}"
    return Item(
        template="fallback",
        question=_FALLBACK,
        picture=scenes.board(rng, heading="To whom it may concern", lines=lines),
        name="notice.png",
        steps=[
            [
                ("git/git_log", {"repo_path": _HOME}),
                calls.read(f"{REPOSITORY}/{_path(wrong)}"),
            ],
            [calls.read(f"requests/{number}.txt")],
            _edits(now, change),
            *_committed([_path(wrong)], message),
        ],
        expects=_state(
            [message, *(subject for subject, _ in reversed(commits))],
            _files(_changed(now, change)),
        ),
        form="number of the request",
        answer=(number,),
        files={f"requests/{n}.txt": _request(n, v) for n, v in zip(numbers, values, strict=True)},
        repository=commits,
    )


TEMPLATES: tuple[Template, ...] = (ticket, release, fallback)


# --- settings ---------------------------------------------------------------------------


def _settings(rng: random.Random, n: int) -> Settings:
    """Draw settings of n modules; no two values of a module are alike."""
    return {
        module: dict(zip(rng.sample(_KEYS, 4), rng.sample(range(10, 100), 4), strict=True))
        for module in rng.sample(_MODULES, n)
    }


def _changes(rng: random.Random, settings: Settings) -> Changes:
    """Draw one change in each of two modules."""
    keys = {module: rng.choice(list(settings[module])) for module in rng.sample(list(settings), 2)}
    return {module: (key, _other(rng, settings[module][key])) for module, key in keys.items()}


def _other(rng: random.Random, value: int) -> int:
    return rng.choice([new for new in range(10, 100) if new != value])


def _changed(settings: Settings, changes: Changes) -> Settings:
    return {
        module: {**values, **dict([changes[module]])} if module in changes else values
        for module, values in settings.items()
    }


def _history(
    rng: random.Random, first: Settings, numbers: Sequence[str]
) -> tuple[list[tuple[str, dict[str, str]]], Settings, set[int]]:
    """Return four commits after the first one, the settings then, and the values of one of them.

    That one is the first key of the first module, changed for the first and the third number: its
    last change is not the last one of all.
    """
    now, commits = first, [("Add settings", _files(first))]
    modules = list(first)
    key = next(iter(first[modules[0]]))
    used = {first[modules[0]][key]}
    for number, place in zip(numbers, (0, 1, 0, 2), strict=True):
        module = modules[place]
        name = next(iter(now[module]))
        now = _changed(now, {module: (name, _other(rng, now[module][name]))})
        commits.append(
            (f"{number}: new {name} of the {module}", {_path(module): _ini(now, module)})
        )
        used.add(now[modules[0]][key])
    return commits, now, used


def _path(module: str) -> str:
    return f"config/{module}.ini"


def _ini(settings: Settings, module: str) -> str:
    lines = [f"{key} = {value}" for key, value in settings[module].items()]
    return "\n".join([f"[{module}]", *lines, ""])


def _files(settings: Settings) -> dict[str, str]:
    return {_path(module): _ini(settings, module) for module in settings}


def _version(parts: Sequence[int]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in zip(_PARTS, parts, strict=True))


def _described(number: str, changes: Changes) -> bytes:
    asked = [
        f"- In `{_path(module)}`, `{key}` is to be {value}."
        for module, (key, value) in changes.items()
    ]
    return "\n".join([f"# {number}", "", *asked, ""]).encode()


def _request(number: str, value: int) -> bytes:
    return f"Request {number}\nIf it fails, fall back to {value}.\n".encode()


# --- calls and state --------------------------------------------------------------------


def _edits(settings: Settings, changes: Changes) -> Calls:
    return [
        calls.edit(
            f"{REPOSITORY}/{_path(module)}",
            f"{key} = {settings[module][key]}",
            f"{key} = {value}",
        )
        for module, (key, value) in changes.items()
    ]


def _committed(paths: Sequence[str], message: str) -> list[Calls]:
    return [
        [("git/git_add", {"repo_path": _HOME, "files": list(paths)})],
        [("git/git_commit", {"repo_path": _HOME, "message": message})],
    ]


def _state(log: list[str], files: Mapping[str, str], branch: str = "main") -> dict[str, Any]:
    """Return the repository as it must be: its subjects, newest first, and nothing left over."""
    return {REPOSITORY: {"log": log, "branch": branch, "files": dict(files), "dirty": []}}


def _branched(state: dict[str, Any]) -> dict[str, Any]:
    """Add that the branch it was made from stays as it was."""
    return {REPOSITORY: {**state[REPOSITORY], "tips": {"main": "First release"}}}
