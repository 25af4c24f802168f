"""Wires of other installed packages: a wire answers the models whose name begins with its own.

An entry point of the group `toolmark.wires` is a function or class of (name, settings) that returns
a Model. It is imported when the user names a model of it: `NAME_OF_WIRE/NAME_OF_MODEL`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolmark.core import entry_points, secrets
from toolmark.core.entry_points import EntryPoint, Group
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model
from toolmark.models import endpoint_address, user_model
from toolmark.models.connection_defaults import TIMEOUT_S
from toolmark.models.provider_table import providers

GROUP: Group = "wires"
RESERVED_SCHEMES = frozenset({"baseline", "control", "http:", "https:"})


class WireSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a wire is to ask: what the user gave for the connection.

    - `base_url`: the address of `--base-url`, without a slash at its end, "" for none.
    - `headers`: names and values of `--header`.
    - `timeout_s`: how long one request may take.
    - `media`: the pictures and sounds that requests refer to, None where there are none.
    """

    base_url: str = ""
    headers: Sequence[tuple[str, str]] = ()
    timeout_s: float = TIMEOUT_S
    media: MediaStore | None = None


def find_wire(spec: str) -> EntryPoint | None:
    """Return the wire that a model's name begins with, None for every other name.

    Nothing is imported. The names of providers, `baseline` and `control` are toolmark's own. Raises
    UsageError where several packages have the name.
    """
    scheme, slash, _ = spec.partition("/")
    if not slash or scheme in RESERVED_SCHEMES or scheme in providers():
        return None
    return entry_points.find_entry_point(GROUP, scheme)


def make_wire_model(
    entry: EntryPoint, spec: str, settings: WireSettings
) -> tuple[Model, user_model.ModelIdentity]:
    """Return the model that a wire makes for a name, and its identity. Raises UsageError."""
    scheme, _, name = spec.partition("/")
    if not name:
        raise UsageError(f"name the model: {scheme}/NAME")
    endpoint_address.check_model_name(name)
    if settings.base_url:
        address = endpoint_address.check_base_url(settings.base_url)
        settings = msgspec.structs.replace(settings, base_url=address)
    make = entry_points.import_entry_point(entry)
    if not callable(make):
        got = type(make).__name__
        raise UsageError(f"{entry.title}: expected a function of (name, settings), got {got}")
    made = entry_points.call_entry_point(entry, make, name, settings)
    if not isinstance(made, Model) or isinstance(made, Control):
        raise UsageError(f"{entry.title}: expected a Model, got {type(made).__name__}")
    label = f"{secrets.mask_model_spec(spec)} {settings.base_url}".strip()
    code = user_model.identify_spec(entry.value, make).code
    return made, user_model.ModelIdentity(label, code)


def public_wire_address(base_url: str | None) -> str:
    """Return the address that the user gave for a wire, as it may be stored."""
    return secrets.mask_address(endpoint_address.check_base_url(base_url)) if base_url else ""
