"""What the tasks of m3 and m3-local store for their environments, scorers and controls."""

from __future__ import annotations

from typing import Any, TypedDict

from toolmark.core.records import Record


class PlainCall(TypedDict):
    """A call of a reference in the published layout: `server/tool`, and its arguments."""

    name: str
    arguments: Any


class PlainStep(TypedDict):
    """A step of a reference in the published layout; its calls do not depend on each other."""

    calls: list[PlainCall]


class M3TaskData(Record, frozen=True, kw_only=True):
    """The data of a task of m3 or m3-local.

    `steps` and `answer` are the reference; `steps` is None where the task is played without one, to
    author or to replay a trajectory. `servers` are those that the task needs, None for all that
    are enabled. `similarity` names the encoder that compares calls. `answers` are the required
    parts of the answer. `missing` names the picture that was not found. `images` are the pictures'
    file names in the workspace.

    Only tasks of m3-local have the other fields. `wrong_values` are values that a guess might name
    instead of the answer. `expected_state` is the required final state
    (`workspace_state.find_differences`). `files` are the contents of the workspace's files in
    base64, by path. `repository` lists the commits of its git repository, oldest first: a subject
    and the texts of files by path.
    """

    steps: list[PlainStep] | None = None
    answer: str
    servers: tuple[str, ...] | None = None
    similarity: str
    answers: tuple[str, ...] = ()
    missing: str = ""
    images: tuple[str, ...] = ()
    wrong_values: tuple[str, ...] = ()
    expected_state: dict[str, Any] = {}
    files: dict[str, str] | None = None
    repository: tuple[tuple[str, dict[str, str]], ...] | None = None

    @property
    def reference_steps(self) -> list[PlainStep]:
        """The steps of the reference, none for a task that is played without one."""
        return self.steps or []
