"""The models of a run, made with its connection: the one under test, and the one of its user."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.agents.scripted_user import SCRIPTED, ScriptedUser
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.models.audio_encoding import AudioFormat
from toolmark.models.batches.batch_ledger import BatchLedger
from toolmark.runs import run_settings
from toolmark.runs.run_settings import Connection
from toolmark.runs.suite import Suite
from toolmark.runs.user_models import ModelChoice, user_model_name
from toolmark.suites.model_registry import make_model


def make_run_model(
    model: ModelChoice,
    connection: Connection,
    *,
    suite: Suite | None = None,
    media: MediaStore | None = None,
    audio: AudioFormat = "wav",
    batches: BatchLedger | None = None,
) -> Model:
    """Return a model, baseline or control that is asked with these settings. Raises UsageError.

    With `batches` an endpoint is asked in batches.
    """
    return make_model(
        model,
        suite=suite,
        media=media,
        audio=audio,
        base_url=connection.base_url,
        headers=connection.headers,
        wire=connection.wire,
        stream=connection.stream,
        needs_sound=suite is not None and suite.maker.makes_sound,
        batches=batches,
        **run_settings.model_settings(connection),
    )


def make_user_model(
    suite: Suite, chosen: ModelChoice | None, connection: Connection
) -> Model | None:
    """Return the model that speaks for the simulated user, with pacing and retries of its own.

    None for a suite without a user. The address and the headers of the run are those of the model
    under test. Raises UsageError.
    """
    user = suite.environment.user
    if user is None or chosen is None:
        return None
    if chosen == SCRIPTED:
        return ScriptedUser(user)
    made = make_run_model(chosen, replace(connection, base_url=None, headers=(), wire=None))
    made.name = user_model_name(chosen)
    return made
