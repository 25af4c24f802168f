"""The official list of models, read from the wheel.

The list is Python source. It is parsed, never run.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.core.errors import DataError

_FILE = "bfcl_eval/constants/model_config.py"


class ListedModel(NamedTuple):
    """A model of the official list.

    `model_name`: what its vendor calls it. `underscores_for_dots`: dots in tool names are
    underscores in its calls.
    """

    display_name: str
    url: str
    maker: str
    license: str
    handler: str
    is_native: bool
    underscores_for_dots: bool
    input_price: float | None
    output_price: float | None
    model_name: str = ""


@lru_cache(maxsize=2)
def read_models(root: Path) -> Mapping[str, ListedModel]:
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
    found: dict[str, ListedModel] = {}
    for key, value in pairs:
        match key, value:
            case ast.Constant(value=str(name)), ast.Call(func=ast.Name(id="ModelConfig")):
                found[name] = _make_listed_model(
                    {k.arg: _constant_or_name(k.value) for k in value.keywords}
                )
    return found


def _constant_or_name(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return name
    return None


def _make_listed_model(fields: Mapping[str | None, Any]) -> ListedModel:
    return ListedModel(
        display_name=str(fields.get("display_name", "")),
        url=str(fields.get("url", "")),
        maker=str(fields.get("org", "")),
        license=str(fields.get("license", "")),
        handler=str(fields.get("model_handler", "")).removesuffix("Handler"),
        is_native=fields.get("is_fc_model") is not False,
        underscores_for_dots=fields.get("underscore_to_dot") is True,
        input_price=fields.get("input_price"),
        output_price=fields.get("output_price"),
        model_name=str(fields.get("model_name", "")),
    )


def find_model(root: Path, name: str) -> tuple[str, ListedModel | None]:
    """Return a model by its name or its folder's name, where `/` is `_`; None if not listed."""
    listed = read_models(root)
    for candidate in (name, name.replace("_", "/")):
        if candidate in listed:
            return candidate, listed[candidate]
    return name, None
