"""What is asked of a run, and how two requests differ."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from toolmark.core.model import NO_MODEL
from toolmark.core.records import Record, Sampling

# hashes of a suite's code that say how its tasks are made, which the tasks of a run show themselves
CODE_HASH_NAMES = ("generator", "prompt")
# fields of a Plan with the hashes of the user's code
MODULE_HASH_FIELDS = ("modules", "model_modules", "user_modules")


class PlannedDraw(Record, frozen=True, kw_only=True):
    """What a run of a plan draws (`study_plan`): so many items, without those of the pilots.

    `plan_sha256` is the hash of the plan's file.
    """

    plan_sha256: str
    n_items: int
    seed: int
    excluded_items: tuple[str, ...] = ()


class Plan(Record, frozen=True, kw_only=True):
    """The request: all that decides whether a run may continue. Equal plans have equal hashes.

    - A suite parameter `seed` is None where the user gave none: the seed used is in `run.json`.
    - `spec`: the `module:attribute` of a user's suite.
    - `modules`, `model_modules`: the hashes of the user's code of the suite and of the model, by
      module (`runs.code_hashes`).
    - `environment_hashes`: the hashes of the data that were read, and of what answers: servers, a
      recording.
    - `audio_format`: the format in which an endpoint gets sound.
    - `wire`: the protocol on which an endpoint is asked, "" for a model in this process.
    - `stream`: whether the endpoint sends replies in pieces.
    - `batch`: whether it is asked in batches, which cost half.
    - `user`: the simulated user: the `model` that speaks for it, its `address`, and the hash of its
      `description`, which has toolmark's own words. Empty for a suite without one.
    - `user_modules`: the hashes of the user's code of that model, by module.
    - `agent`: the agent that the user chose, "" for the suite's own.
    - `vary`: the kinds of variations of each task that are asked too.
    - `study`: the items that a plan of `toolmark plan` draws, None without one.
    """

    suite: str
    model: str
    tool_format: str
    parameters: dict[str, Any] = {}
    base_url: str = ""
    sampling: Sampling = Sampling()
    repeats: int = 1
    limit: int | None = None
    ids: tuple[str, ...] = ()
    sample: int | None = None
    tasks: str = ""
    tasks_sha256: str = ""
    environment_hashes: dict[str, str] = {}
    audio_format: str = "wav"
    spec: str = ""
    modules: dict[str, str] = {}
    model_modules: dict[str, str] = {}
    user: dict[str, str] = {}
    user_modules: dict[str, str] = {}
    agent: str = ""
    wire: str = ""
    stream: bool = False
    batch: bool = False
    vary: tuple[str, ...] = ()
    study: PlannedDraw | None = None

    @property
    def player_names(self) -> tuple[str, ...]:
        """Who plays: the agent that the user chose, if any, and the model that it asks, if any."""
        if not self.agent:
            return (self.model,)
        return (self.agent,) if self.model == NO_MODEL else (self.agent, self.model)

    @property
    def sha256(self) -> str:
        """The SHA-256 over all fields, in hex."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    @property
    def hash(self) -> str:
        """Eight hex digits over all fields."""
        return self.sha256[:8]


def plan_differences(old: Plan, new: Plan) -> list[str]:
    """Return how two requests differ, one line each: `X differs (old -> new)`.

    Edited modules are named; of files that are read, the first three are. Empty for equal requests.
    """
    old_settings, new_settings = _labelled_settings(old), _labelled_settings(new)
    lines = []
    n_files = 0
    for name in dict.fromkeys([*old_settings, *new_settings]):
        if old_settings.get(name) == new_settings.get(name):
            continue
        n_files += name.startswith(_FIELD_PREFIXES["environment_hashes"])
        if (
            not name.startswith(_FIELD_PREFIXES["environment_hashes"])
            or n_files <= _MAX_FILES_LISTED
        ):
            before, after = _shorten_pair(old_settings.get(name), new_settings.get(name))
            lines.append(f"{name} differs ({before} -> {after})")
    if n_files > _MAX_FILES_LISTED:
        lines.append(
            f"{_FIELD_PREFIXES['environment_hashes']}{n_files - _MAX_FILES_LISTED} more differ"
        )
    return lines


def differs_only_by_edits(old: Plan, new: Plan) -> bool:
    """Return whether two requests are equal except for edits of the user's code."""
    blank: dict[str, dict[str, str]] = {name: {} for name in MODULE_HASH_FIELDS}
    return msgspec.structs.replace(old, **blank).hash == msgspec.structs.replace(new, **blank).hash


_FIELD_LABELS = {
    "spec": "the suite's address",
    "base_url": "the address",
    "audio_format": "the audio format",
    "tool_format": "the tool format",
    "agent": "the agent",
    "study": "the plan",
}
_FIELD_PREFIXES = {
    "parameters": "-T ",
    "sampling": "",
    "environment_hashes": "what is read, ",
    "modules": "the suite's module ",
    "model_modules": "the model's module ",
    "user": "the simulated user's ",
    "user_modules": "the simulated user's module ",
}
_MAX_VALUE_LENGTH = 60  # characters of one value
_MAX_FILES_LISTED = 3  # files that are read and differ


def _labelled_settings(plan: Plan) -> dict[str, Any]:
    """Return the settings under the names that a reader knows; hashes are cut short."""
    fields = msgspec.structs.asdict(plan)
    encoded = msgspec.json.decode(msgspec.json.encode(fields, order="sorted"))  # as it is read back
    found: dict[str, Any] = {}
    for name in Plan.__struct_fields__:
        value = encoded.get(name)
        if name not in _FIELD_PREFIXES:
            found[_FIELD_LABELS.get(name, name)] = value
            continue
        for inner, each in (value or {}).items():
            is_hash = name in ("environment_hashes", *MODULE_HASH_FIELDS)
            found[f"{_FIELD_PREFIXES[name]}{inner}"] = str(each)[:8] if is_hash else each
    return found


def _shorten_pair(*values: Any) -> list[str]:
    """Return two different values as a reader sees them: of long values, the part that differs."""
    texts = [_setting_text(value) for value in values]
    if max(map(len, texts)) <= _MAX_VALUE_LENGTH:
        return texts
    pairs = enumerate(zip(*texts, strict=False))
    n_common = next((n for n, (a, b) in pairs if a != b), min(map(len, texts)))
    start = max(0, n_common - _MAX_VALUE_LENGTH // 3)
    found = []
    for text in texts:
        part = text[start : start + _MAX_VALUE_LENGTH]
        end = "..." if start + _MAX_VALUE_LENGTH < len(text) else ""
        found.append(f"{'...' if start else ''}{part}{end}")
    return found


def _setting_text(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
