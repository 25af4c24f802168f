"""The request of a run, checked before anything is done."""

from __future__ import annotations

import hashlib
from pathlib import Path

from toolmark.agents.tool_loop import merge_sampling
from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.records import Sampling
from toolmark.models import user_model
from toolmark.models.model_resolver import public_model_address
from toolmark.models.wires.chat_request import check_sampling
from toolmark.runs import code_hashes
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection, Selection
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import environment_hashes, task_file_path


def make_plan(
    suite: Suite,
    model: object,
    tool_format: str,
    selection: Selection,
    sampling: Sampling,
    connection: Connection,
) -> tuple[Plan, bool]:
    """Return the request, and whether a later request that equals it asks the same model.

    Raises UsageError for an invalid request.
    """
    model_identity = (
        user_model.ModelIdentity(secrets.mask_model_spec(model))
        if isinstance(model, str)
        else user_model.identify_object(model)
    )
    for name, value in suite.parameters.items():
        secrets.check_no_key(f"parameter {name}", str(value))
    merged = merge_sampling(suite.defaults.sampling, sampling)
    check_sampling(merged)
    name = model_identity.name if model_identity.is_unique else f"{model_identity.name} (unnamed)"
    address = public_model_address(model, connection.base_url) if isinstance(model, str) else ""
    tasks = selection.tasks
    plan = Plan(
        suite=suite.name,
        parameters=dict(suite.parameters),
        model=name,
        base_url=address,
        tool_format=tool_format,
        sampling=merged,
        repeats=selection.repeats,
        limit=selection.limit,
        ids=selection.ids,
        sample=selection.sample,
        tasks=tasks,
        tasks_sha256=_file_sha256(task_file_path(Path(tasks))) if tasks else "",
        environment_hashes=environment_hashes(suite),
        audio_format=connection.audio_format,
        spec=suite.provenance.spec,
        modules=code_hashes.suite_hashes(suite),
        model_modules=code_hashes.model_hashes(model),
    )
    return plan, model_identity.is_unique


def _file_sha256(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot read tasks: not a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read tasks: {error.strerror}") from None
