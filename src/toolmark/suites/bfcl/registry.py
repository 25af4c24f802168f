"""The official list of models, read from the wheel.

The list is Python source. It is parsed, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.errors import DataError

_FILE = "bfcl_eval/constants/model_config.py"


class Known(NamedTuple):
    """A model of the official list. `mangled`: dots in tool names are underscores in its calls."""

    display: str
    url: str
    maker: str
    license: str
    handler: str
    native: bool
    mangled: bool
    input_price: float | None
    output_price: float | None


@lru_cache(maxsize=2)
def models(root: Path) -> Mapping[str, Known]:
    """Return the official models by name. Raises DataError if the list cannot be read."""
    path = root / _FILE
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign)]
    pairs = [
        pair
        for table in tables
        if isinstance(table, ast.Dict)
        for pair in zip(table.keys, table.values, strict=True)
    ]
    found: dict[str, Known] = {}
    for key, value in pairs:
        match key, value:
            case ast.Constant(value=str(name)), ast.Call(func=ast.Name(id="ModelConfig")):
                found[name] = _known({k.arg: _plain(k.value) for k in value.keywords})
    return found


def _plain(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return name
    return None


def _known(said: Mapping[str | None, Any]) -> Known:
    return Known(
        display=str(said.get("display_name", "")),
        url=str(said.get("url", "")),
        maker=str(said.get("org", "")),
        license=str(said.get("license", "")),
        handler=str(said.get("model_handler", "")).removesuffix("Handler"),
        native=said.get("is_fc_model") is not False,
        mangled=said.get("underscore_to_dot") is True,
        input_price=said.get("input_price"),
        output_price=said.get("output_price"),
    )


def find(root: Path, name: str) -> tuple[str, Known | None]:
    """Return a model by its name or by its folder's, in which `/` is `_`; None if not listed."""
    listed = models(root)
    for spelled in (name, name.replace("_", "/")):
        if spelled in listed:
            return spelled, listed[spelled]
    return name, None
