"""The request of a run, checked before anything is done."""

from __future__ import annotations

import hashlib
from pathlib import Path

from toolmark.agents.tool_loop import merge_sampling
from toolmark.core import secrets
from toolmark.core.errors import UsageError
from toolmark.core.records import Sampling
from toolmark.models import user_model as user_objects
from toolmark.models.model_resolver import find_endpoint, public_model_address, wire_of_model
from toolmark.models.wires.request_parts import check_sampling
from toolmark.runs import code_hashes
from toolmark.runs.planning import study_plan
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_settings import Connection, Selection
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import environment_hashes, task_file_path
from toolmark.runs.user_models import ModelChoice, record_user


def make_plan(
    suite: Suite,
    model: object,
    tool_format: str,
    selection: Selection,
    sampling: Sampling,
    connection: Connection,
    user_model: ModelChoice | None = None,
) -> tuple[Plan, bool]:
    """Return the request, and whether a later request that equals it asks the same models.

    `user_model` speaks for the simulated user of the suite. Raises UsageError for an invalid
    request.
    """
    model_identity = (
        user_objects.ModelIdentity(secrets.mask_model_spec(model))
        if isinstance(model, str)
        else user_objects.identify_object(model)
    )
    for name, value in suite.parameters.items():
        secrets.check_no_key(f"parameter {name}", str(value))
    merged = merge_sampling(suite.defaults.sampling, sampling)
    check_sampling(merged)
    name = model_identity.name if model_identity.is_unique else f"{model_identity.name} (unnamed)"
    address, wire = "", None
    if isinstance(model, str):
        place = (model, connection.base_url, connection.wire)
        address = public_model_address(*place, needs_sound=suite.maker.makes_sound)
        wire = wire_of_model(*place, needs_sound=suite.maker.makes_sound)
    is_endpoint = wire is not None
    tasks, user = selection.tasks, record_user(suite, user_model)
    planned = study_plan.find_planned_selection(selection, suite)
    if planned is not None:
        path = Path(selection.plan)
        agent = suite.defaults.agent_name
        study_plan.check_asked_as_pilot(planned.plan, path, name, address, merged, agent)
    plan = Plan(
        suite=suite.name,
        parameters=dict(suite.parameters),
        model=name,
        base_url=address,
        tool_format=tool_format,
        sampling=merged,
        repeats=selection.repeats if planned is None else planned.repeats,
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
        user=user.user,
        user_modules=user.user_modules,
        agent=suite.defaults.agent_name,
        wire=wire or "",
        stream=connection.stream and is_endpoint,
        batch=connection.batch,
        vary=selection.vary,
        study=None if planned is None else planned.draw,
    )
    return plan, model_identity.is_unique and user.is_unique


def connection_notes(suite: Suite, model: object, connection: Connection) -> tuple[str, ...]:
    """Return what a user may not expect of how the model is asked, a line each.

    Raises UsageError for an invalid address or wire.
    """
    found = None
    if isinstance(model, str):
        makes_sound = suite.maker.makes_sound
        found = find_endpoint(model, connection.base_url, connection.wire, needs_sound=makes_sound)
    if found is not None:
        if not found.is_wire_of_address:
            return ()
        return (f"asked on the {found.wire} wire, as the address says; --wire asks on another",)
    chosen = {"--wire": connection.wire is not None, "--stream": connection.stream}
    unused = [flag for flag, is_given in chosen.items() if is_given]
    if not unused:
        return ()
    return (f"{' and '.join(unused)} not used: the model is no endpoint that toolmark asks itself",)


def _file_sha256(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: cannot read tasks: not a file")
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"{path}: cannot read tasks: {error.strerror}") from None
