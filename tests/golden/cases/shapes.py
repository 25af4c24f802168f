"""The shapes of records: their fields with types and defaults, and what may become of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args

import msgspec
from tests.golden.mutation import PACKAGES
from tests.golden.plain import plain

import toolmark


def record(folder: Path) -> dict[str, Any]:
    return {package: _package(package) for package in PACKAGES}


def _package(name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for module in _modules(f"{toolmark.__name__}.{name}"):
        own = {
            each: _shape(value)
            for each, value in sorted(vars(module).items())
            if getattr(value, "__module__", "") == module.__name__ and _is_record(value)
        }
        words = {
            each: list(get_args(value))
            for each, value in sorted(vars(module).items())
            if each[:1].isupper() and str(value).startswith("typing.Literal[")
        }
        if own or words:
            found[module.__name__.rpartition(".")[2]] = own | words
    return found


def _modules(package: str) -> Iterator[ModuleType]:
    root = importlib.import_module(package)
    yield root
    for each in pkgutil.walk_packages(root.__path__, f"{package}."):
        yield importlib.import_module(each.name)


def _is_record(value: object) -> bool:
    return inspect.isclass(value) and (
        issubclass(value, msgspec.Struct)
        or (issubclass(value, tuple) and hasattr(value, "_fields"))
    )


def _shape(record: Any) -> Any:
    if not issubclass(record, msgspec.Struct):
        named: type[NamedTuple] = record
        return {
            "fields": {name: str(kind) for name, kind in record.__annotations__.items()},
            "defaults": plain(getattr(named, "_field_defaults", {})),
        }
    config = record.__struct_config__
    fields = msgspec.structs.fields(record)
    return {
        "frozen": config.frozen, "tag": plain(config.tag), "forbids": config.forbid_unknown_fields,
        "leaves out": config.omit_defaults, "ordered": config.order, "eq": config.eq,
        "by name": str(inspect.signature(record)).startswith("(*,"),
        "fields": {field.encode_name: [str(field.type), _default(field)] for field in fields},
    }  # fmt: skip


def _default(field: Any) -> Any:
    if field.required:
        return "(required)"
    if field.default_factory is not msgspec.NODEFAULT:
        return f"{field.default_factory.__name__}()"
    if isinstance(field.default, msgspec.Raw):
        return bytes(field.default).decode()
    return plain(field.default)
