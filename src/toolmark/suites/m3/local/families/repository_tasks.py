"""A whiteboard or a notice asks for a change in a Git repository and its files."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.server_configuration import REPOSITORY_FOLDER
from toolmark.suites.m3.local.task_item import Calls, TaskItem, Template

_REPOSITORY_PATH = f"{reference_calls.WORKSPACE}/{REPOSITORY_FOLDER}"
_PARTS = ("major", "minor", "patch")


# By module, then by key.
Settings: TypeAlias = Mapping[str, Mapping[str, int]]
# By module: a key and its new value.
Changes: TypeAlias = Mapping[str, tuple[str, int]]


def ticket_item(rng: random.Random) -> TaskItem:
    """Do today's ticket on the board; its file names two settings, each in its own file."""
    before = _random_settings(rng, 5)
    numbers = [f"TK-{number}" for number in rng.sample(range(100, 1000), 3)]
    changes_by_ticket = {number: _random_changes(rng, before) for number in numbers}
    today = numbers[0]
    notes = [rng.choice(family_words().today), *rng.sample(family_words().later, 2)]
    lines = [f"{number}: {note}" for number, note in zip(numbers, notes, strict=True)]
    paths = [_config_path(module) for module in changes_by_ticket[today]]
    return TaskItem(
        template="ticket",
        question=write_question("repository", "ticket", folder=REPOSITORY_FOLDER),
        picture=pictures.draw_board(
            rng, heading="Open tickets", lines=rng.sample(lines, len(lines))
        ),
        picture_name="tickets.png",
        steps=[
            [reference_calls.read_file(f"tickets/{today}.md")],
            [reference_calls.read_file(f"{REPOSITORY_FOLDER}/{path}") for path in paths],
            _edit_calls(before, changes_by_ticket[today]),
            *_commit_calls(paths, today),
        ],
        expected_state=_expect_repository(
            [today, "Add settings"], _config_files(_apply_changes(before, changes_by_ticket[today]))
        ),
        answer_form="value before, value before",
        answer_parts=tuple(
            str(before[module][key]) for module, (key, _) in changes_by_ticket[today].items()
        ),
        files={
            f"tickets/{number}.md": _ticket_text(number, changes_by_ticket[number])
            for number in numbers
        },
        repository=(("Add settings", _config_files(before)),),
    )


def release_item(rng: random.Random) -> TaskItem:
    """Make the kind of release on the note; its number follows from the previous release."""
    old = [rng.randint(1, 6), rng.randint(1, 9), rng.randint(1, 9)]
    kind = rng.randrange(3)
    parts = [*old[:kind], old[kind] + 1, 0, 0][:3]
    new = ".".join(map(str, parts))
    codename, last = rng.sample(family_words().codenames, 2)
    before = {"VERSION": _version_text(old), "CODENAME": f"name = {last}\n"}
    after = {"VERSION": _version_text(parts), "CODENAME": f"name = {codename}\n"}
    lines = [
        f"It will be a {_PARTS[kind].upper()} release.",
        f"Code name: {codename}",
        f"Questions: {invented_names.random_first_names(rng, 1)[0]}, room {rng.randint(10, 60)}",
    ]
    branch = {"repo_path": _REPOSITORY_PATH, "branch_name": f"release/{new}"}
    return TaskItem(
        template="release",
        question=write_question("repository", "release", folder=REPOSITORY_FOLDER),
        picture=pictures.draw_board(rng, heading="Next release", lines=lines),
        picture_name="note.png",
        steps=[
            [reference_calls.read_file(f"{REPOSITORY_FOLDER}/{name}") for name in before],
            [
                ("git/git_create_branch", branch),
                reference_calls.edit_file(
                    f"{REPOSITORY_FOLDER}/VERSION", _version_text(old), _version_text(parts)
                ),
                reference_calls.edit_file(f"{REPOSITORY_FOLDER}/CODENAME", last, codename),
            ],
            [("git/git_checkout", branch)],
            *_commit_calls(list(after), f"Release {new}"),
        ],
        expected_state=_expect_main_unchanged(
            _expect_repository([f"Release {new}", "First release"], after, f"release/{new}")
        ),
        answer_form="major.minor.patch",
        answer_parts=(new,),
        repository=(("First release", before),),
    )


def fallback_item(rng: random.Random) -> TaskItem:
    """Fix the setting on the notice; the history names the request that last changed it.

    The fallback value is only in that request: it is none of the values in the history.
    """
    first = _random_settings(rng, 3)
    faulty_module, key = next((module, key) for module in first for key in first[module])
    numbers = [f"R-{number}" for number in sorted(rng.sample(range(100, 1000), 4))]
    commits, now, used = _make_history(rng, first, numbers)
    values = rng.sample([value for value in range(10, 100) if value not in used], len(numbers))
    number, change = numbers[2], {faulty_module: (key, values[2])}
    lines = [
        f"The {faulty_module} has been giving trouble ever since somebody changed its {key}.",
        rng.choice(family_words().pleas),
        invented_names.random_people(rng, 1)[0],
    ]
    message = f"Fall back {number}"
    return TaskItem(
        template="fallback",
        question=write_question("repository", "fallback", folder=REPOSITORY_FOLDER),
        picture=pictures.draw_board(rng, heading="To whom it may concern", lines=lines),
        picture_name="notice.png",
        steps=[
            [
                ("git/git_log", {"repo_path": _REPOSITORY_PATH}),
                reference_calls.read_file(f"{REPOSITORY_FOLDER}/{_config_path(faulty_module)}"),
            ],
            [reference_calls.read_file(f"requests/{number}.txt")],
            _edit_calls(now, change),
            *_commit_calls([_config_path(faulty_module)], message),
        ],
        expected_state=_expect_repository(
            [message, *(subject for subject, _ in reversed(commits))],
            _config_files(_apply_changes(now, change)),
        ),
        answer_form="number of the request",
        answer_parts=(number,),
        files={
            f"requests/{n}.txt": _request_text(n, v) for n, v in zip(numbers, values, strict=True)
        },
        repository=commits,
    )


TEMPLATES: tuple[Template, ...] = (ticket_item, release_item, fallback_item)


# --- settings ---------------------------------------------------------------------------


def _random_settings(rng: random.Random, n: int) -> Settings:
    """Return settings of n modules; all values of a module differ."""
    return {
        module: dict(
            zip(rng.sample(family_words().settings, 4), rng.sample(range(10, 100), 4), strict=True)
        )
        for module in rng.sample(family_words().modules, n)
    }


def _random_changes(rng: random.Random, settings: Settings) -> Changes:
    """Return one change in each of two modules."""
    keys = {module: rng.choice(list(settings[module])) for module in rng.sample(list(settings), 2)}
    return {module: (key, _other_value(rng, settings[module][key])) for module, key in keys.items()}


def _other_value(rng: random.Random, value: int) -> int:
    return rng.choice([new for new in range(10, 100) if new != value])


def _apply_changes(settings: Settings, changes: Changes) -> Settings:
    return {
        module: {**values, **dict([changes[module]])} if module in changes else values
        for module, values in settings.items()
    }


def _make_history(
    rng: random.Random, first: Settings, numbers: Sequence[str]
) -> tuple[list[tuple[str, dict[str, str]]], Settings, set[int]]:
    """Return four commits after the first one, the final settings, and values of one setting.

    That setting is the first key of the first module. It is changed for the first and the third
    number, so its last change is not the last change of all.
    """
    now, commits = first, [("Add settings", _config_files(first))]
    modules = list(first)
    key = next(iter(first[modules[0]]))
    used = {first[modules[0]][key]}
    for number, place in zip(numbers, (0, 1, 0, 2), strict=True):
        module = modules[place]
        name = next(iter(now[module]))
        now = _apply_changes(now, {module: (name, _other_value(rng, now[module][name]))})
        commits.append(
            (
                f"{number}: new {name} of the {module}",
                {_config_path(module): _config_text(now, module)},
            )
        )
        used.add(now[modules[0]][key])
    return commits, now, used


def _config_path(module: str) -> str:
    return f"config/{module}.ini"


def _config_text(settings: Settings, module: str) -> str:
    lines = [f"{key} = {value}" for key, value in settings[module].items()]
    return "\n".join([f"[{module}]", *lines, ""])


def _config_files(settings: Settings) -> dict[str, str]:
    return {_config_path(module): _config_text(settings, module) for module in settings}


def _version_text(parts: Sequence[int]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in zip(_PARTS, parts, strict=True))


def _ticket_text(number: str, changes: Changes) -> bytes:
    change_lines = [
        f"- In `{_config_path(module)}`, `{key}` is to be {value}."
        for module, (key, value) in changes.items()
    ]
    return "\n".join([f"# {number}", "", *change_lines, ""]).encode()


def _request_text(number: str, value: int) -> bytes:
    return f"Request {number}\nIf it fails, fall back to {value}.\n".encode()


# --- calls and state --------------------------------------------------------------------


def _edit_calls(settings: Settings, changes: Changes) -> Calls:
    return [
        reference_calls.edit_file(
            f"{REPOSITORY_FOLDER}/{_config_path(module)}",
            f"{key} = {settings[module][key]}",
            f"{key} = {value}",
        )
        for module, (key, value) in changes.items()
    ]


def _commit_calls(paths: Sequence[str], message: str) -> list[Calls]:
    return [
        [("git/git_add", {"repo_path": _REPOSITORY_PATH, "files": list(paths)})],
        [("git/git_commit", {"repo_path": _REPOSITORY_PATH, "message": message})],
    ]


def _expect_repository(
    log: list[str], files: Mapping[str, str], branch: str = "main"
) -> dict[str, Any]:
    """Return the expected repository: its subjects, newest first, and no uncommitted changes."""
    return {REPOSITORY_FOLDER: {"log": log, "branch": branch, "files": dict(files), "dirty": []}}


def _expect_main_unchanged(state: dict[str, Any]) -> dict[str, Any]:
    """Add the expectation that the original branch is unchanged."""
    return {REPOSITORY_FOLDER: {**state[REPOSITORY_FOLDER], "tips": {"main": "First release"}}}
