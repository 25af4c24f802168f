"""The voices that are installed on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from toolmark.core import external_commands
from toolmark.core.errors import UsageError
from toolmark.perturb.speech.engines import engine_registry
from toolmark.perturb.speech.voice import Voice


def available_voices(
    engine_names: Sequence[str] = (), *, missing: Literal["error", "skip"] = "error"
) -> list[Voice]:
    """Return the installed voices of these engines, by default of the free offline engines.

    With `missing="skip"` missing engines are left out; if eSpeak is missing from the default
    engines, the build of it in a Python package is used. Raises UsageError for an unknown engine,
    for a missing one, with the package to install, and if no voice is left.
    """
    found: list[Voice] = []
    problems: list[str] = []
    for name in engine_names or engine_registry.DEFAULT_ENGINES:
        try:
            found += engine_registry.load_engine(name).voices()
        except external_commands.NotInstalled as error:
            problems.append(str(error))
            if not engine_names and name == "espeak-ng" and missing == "skip":
                found += _bundled_voices()
    if problems and missing == "error":
        raise UsageError(f"{'; '.join(problems)}; or go on with the others: missing=skip")
    if not found:
        raise UsageError(f"no voice to speak with: {'; '.join(problems) or 'no engine has one'}")
    return found


def missing_engines(engine_names: Sequence[str] = ()) -> list[str]:
    """Return a message for each missing engine, by default of the free ones, with its package."""
    problems = []
    for name in engine_names or engine_registry.DEFAULT_ENGINES:
        try:
            engine_registry.load_engine(name).voices()
        except external_commands.NotInstalled as error:
            problems.append(str(error))
    return problems


def _bundled_voices() -> list[Voice]:

    try:
        return engine_registry.load_engine("espeak-bundled").voices()
    except external_commands.NotInstalled:
        return []
