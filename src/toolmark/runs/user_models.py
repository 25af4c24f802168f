"""Which model speaks for the simulated user of a suite, and how a run records it."""

from __future__ import annotations

import hashlib
import inspect
from typing import NamedTuple, TypeAlias

from toolmark.agents.scripted_user import SCRIPTED
from toolmark.agents.simulated_user import UserDescription
from toolmark.core import json_codec, secrets
from toolmark.core.errors import UsageError
from toolmark.core.model import Control, Model, ReplyFunction
from toolmark.models import user_model as user_objects
from toolmark.models.model_resolver import public_model_address
from toolmark.runs import code_hashes
from toolmark.runs.suite import Suite

ModelChoice: TypeAlias = str | ReplyFunction | type[Model]


class RecordedUser(NamedTuple):
    """What a run records of its simulated user: the fields of its Plan.

    `is_unique`: the same words name the same model in a later run.
    """

    user: dict[str, str] = {}
    user_modules: dict[str, str] = {}
    is_unique: bool = True


def choose_user_model(
    suite: Suite, model: object, user_model: ModelChoice | None
) -> ModelChoice | None:
    """Return the model that speaks for the user; None for a suite without a user.

    That is the one named for the run; else the scripted user where a control is under test; else
    the one that the suite names. Raises UsageError where there is none, or none is needed.
    """
    user = suite.environment.user
    if user is None:
        if user_model is not None:
            raise UsageError(
                f"suite {suite.name!r} has no simulated user: leave out --user-model (user_model=)"
            )
        return None
    if user_model is None and _is_control(model):
        return SCRIPTED
    chosen = user_model or user.model
    if not chosen:
        raise UsageError(
            f"suite {suite.name!r} has a simulated user, and no model speaks for it; next: "
            f"--user-model MODEL (user_model=), or --user-model {SCRIPTED} to try it without one"
        )
    if _is_control(chosen) or (isinstance(chosen, str) and chosen.startswith("baseline/")):
        raise UsageError(
            f"{chosen} answers tasks and cannot speak for a user; next: --user-model MODEL, or "
            f"--user-model {SCRIPTED}"
        )
    return chosen


def record_user(suite: Suite, chosen: ModelChoice | None) -> RecordedUser:
    """Return what the plan of a run says of the user. Raises UsageError for no model."""
    user = suite.environment.user
    if user is None or chosen is None:
        return RecordedUser()
    if isinstance(chosen, str):
        identity = user_objects.ModelIdentity(secrets.mask_model_spec(chosen))
    else:
        identity = user_objects.identify_object(chosen)
    address = (
        public_model_address(chosen, None) if isinstance(chosen, str) and chosen != SCRIPTED else ""
    )
    recorded = {"model": identity.name, "description": _description_hash(user)}
    return RecordedUser(
        recorded | ({"address": address} if address else {}),
        code_hashes.model_hashes(chosen),
        identity.is_unique,
    )


def user_model_name(chosen: ModelChoice) -> str:
    """Return what records of episodes call the model of the user; no key is in it."""
    if isinstance(chosen, str):
        return secrets.mask_model_spec(chosen)
    return user_objects.identify_object(chosen).name


def _description_hash(user: UserDescription) -> str:
    return hashlib.sha256(json_codec.encode_record(user.settings())).hexdigest()


def _is_control(model: object) -> bool:
    if isinstance(model, str):
        return model.startswith("control/")
    return isinstance(model, Control) or (inspect.isclass(model) and issubclass(model, Control))
