"""Objects named `module:attribute`: our own by table, the user's by what they typed."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from toolmark.errors import UsageError, near

# rooms of ours, and the extra that they need
EXTRAS = {"m3": "m3", "mcp": "m3", "mfcl": "speech", "perturb": "speech"}


def named(spec: str) -> bool:
    """Tell whether the words have the form `module:attribute`."""
    module, colon, attribute = spec.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(name.isidentifier() for name in names)


def attribute(spec: str) -> Any:
    """Import `module:attribute`; the working directory is looked in last.

    Only what the user typed may come here, never a word out of a results file. Raises
    UsageError naming the nearest attribute.
    """
    module, _, path = spec.partition(":")
    if os.getcwd() not in sys.path:  # a console script does not look where the user is
        sys.path.append(os.getcwd())
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(f"cannot import {module}: {error}{_extra(module)}") from None
    for name in path.split("."):
        if not hasattr(found, name):
            raise UsageError(f"module {module} has no {path}{near(name, dir(found))}")
        found = getattr(found, name)
    return found


def _extra(module: str) -> str:
    """Return the next step where a module of ours lacks what an extra brings."""
    own = module.split(".")
    wanted = [extra for room, extra in EXTRAS.items() if own[0] == "toolmark" and room in own]
    return f"; next: pip install '.[{wanted[0]}]' in the checkout" if wanted else ""
