"""Entries of other MCP hosts, rewritten with toolmark's keys.

Keys with another name, unit or shape are translated. Keys that mean nothing for a measurement are
left out. Keys that would change what is measured, and unknown ones, are refused by name: a filter
that is passed over would offer a model the tools that its user has switched off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import DataError

_MOST_SECONDS = 1_000  # a `timeout` below is one of seconds
_FEWEST_MS = 5_000  # and one from here on one of milliseconds
_HOST_VARIABLE = re.compile(
    r"\$\{(?P<kind>[A-Za-z]+):(?!-)(?P<name>[^}]*)\}|\$\{(?P<folder>workspaceFolder|userHome)\}"
)
_FOLDERS = {"workspaceFolder": "${workspace}", "userHome": "${HOME}"}
"""Folders of a host's project: here an episode works in its workspace."""


class HostKeys(DataRecord, frozen=True):
    """The file `data/host_keys.toml`.

    - `renamed`: keys that only have another name here.
    - `ignored`: keys without a meaning for a measurement.
    - `refused`: keys that cannot be followed, with what to write instead.
    """

    ignored: frozenset[str]
    renamed: dict[str, str]
    refused: dict[str, str]


def host_keys() -> HostKeys:
    """Return the keys of other hosts."""
    return read_table(__file__, "host_keys.toml", HostKeys)


def translate_entry(
    written: Mapping[str, Any], own_keys: frozenset[str], where: Callable[[str], str]
) -> dict[str, Any]:
    """Return an entry with toolmark's keys alone.

    `own_keys` are those; `where` returns the place of a key, for messages. Raises DataError for an
    unknown key, one that cannot be followed, and two keys that say the same.
    """
    known = host_keys()
    found: dict[str, Any] = {}
    for key, value in written.items():
        if key in known.ignored or (key == "tools" and isinstance(value, dict)):
            continue  # Codex has approvals by tool below `tools`
        if key in known.refused:
            raise DataError(f"{where(key)}: {key!r} is not followed; {known.refused[key]}")
        if key in own_keys:
            added = {key: value}
        elif key in known.renamed:
            if known.renamed[key] == "tools" and value == []:
                raise DataError(f'{where(key)}: {key!r} offers no tool; write "disabled": true')
            added = {known.renamed[key]: value}
        elif key in _CONVERTERS:
            added = _CONVERTERS[key](value, where(key))
        else:
            raise DataError(f"{where(key)}: unknown key {key!r}{_suggest_key(key, own_keys)}")
        for name, each in added.items():
            if isinstance(found.get(name), dict) and isinstance(each, dict):
                if name == "env":  # a value that is written wins over one that is passed on
                    found[name] = each | found[name] if key == "env_vars" else found[name] | each
                else:
                    found[name] = _joined_headers(found[name], each)
            elif name in found:
                raise DataError(f"{where(key)}: another key of the entry says {name} too")
            else:
                found[name] = each
    if "type" not in found and _is_legacy_stream(written):
        found["type"] = "sse"
    return {key: _translate_variables(value, where(key)) for key, value in found.items()}


def _suggest_key(key: str, own_keys: frozenset[str]) -> str:
    close = get_close_matches(key, [*own_keys, *host_keys().renamed], n=1, cutoff=0.8)
    return f"; did you mean: {close[0]}" if close else "; docs/reference/mcp.md lists the keys"


def _is_legacy_stream(written: Mapping[str, Any]) -> bool:
    """Tell whether an address ends as those of the legacy transport do."""
    url = written.get("url")
    return isinstance(url, str) and url.partition("?")[0].endswith("/sse")


def _joined_headers(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the headers of both; a name of the second replaces one of the first in any case."""
    replaced = {name.lower() for name in second}
    return {name: each for name, each in first.items() if name.lower() not in replaced} | second


# --- keys with another unit or shape ----------------------------------------------------


def _convert_enabled(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise DataError(f"{where}: expected true or false")
    return {"disabled": not value}


def _convert_timeout(value: Any, where: str) -> dict[str, Any]:
    """Read the key that hosts have in seconds (Cline) or in milliseconds (Gemini CLI)."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise DataError(f"{where}: expected a number above 0")
    if value < _MOST_SECONDS:
        return {"call_timeout_s": float(value)}
    if value >= _FEWEST_MS:
        return {"call_timeout_s": value / 1000}
    raise DataError(
        f"{where}: seconds or milliseconds? hosts differ; write call_timeout_s, in seconds"
    )


def _convert_start_timeout(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{where}: expected milliseconds")
    return {"start_timeout_s": value / 1000}


def _convert_bearer(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, str) or not value.isidentifier():
        raise DataError(f"{where}: expected the name of an environment variable")
    return {"headers": {"Authorization": f"Bearer ${{{value}}}"}}


def _convert_named_headers(value: Any, where: str) -> dict[str, Any]:
    """Read headers whose values are names of environment variables."""
    if not isinstance(value, dict) or not all(
        isinstance(name, str) and name.isidentifier() for name in value.values()
    ):
        raise DataError(f"{where}: expected headers with names of environment variables")
    return {"headers": {header: f"${{{name}}}" for header, name in value.items()}}


def _convert_passed_variables(value: Any, where: str) -> dict[str, Any]:
    """Read names of variables that a server gets where they are set."""
    listed = value if isinstance(value, list) else [None]
    names = [each.get("name") if isinstance(each, dict) else each for each in listed]
    if not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise DataError(f"{where}: expected names of environment variables")
    return {"env": {name: f"${{{name}:-}}" for name in names}}


_CONVERTERS: dict[str, Callable[[Any, str], dict[str, Any]]] = {
    "enabled": _convert_enabled,  # Codex
    "timeout": _convert_timeout,  # Cline, Gemini CLI
    "startup_timeout_ms": _convert_start_timeout,  # Codex, an older key
    "bearer_token_env_var": _convert_bearer,  # Codex
    "env_http_headers": _convert_named_headers,  # Codex
    "env_vars": _convert_passed_variables,  # Codex
}


# --- variables --------------------------------------------------------------------------


def _translate_variables(value: Any, where: str) -> Any:
    """Return a value with the variables of other hosts as toolmark's. Raises DataError."""
    match value:
        case str():
            return _HOST_VARIABLE.sub(lambda found: _own_variable(found, where), value)
        case list():
            return [_translate_variables(each, where) for each in value]
        case dict():
            return {key: _translate_variables(each, where) for key, each in value.items()}
        case _:
            return value


def _own_variable(found: re.Match[str], where: str) -> str:
    if found["folder"]:
        return _FOLDERS[found["folder"]]
    if found["kind"] == "env":
        return f"${{{found['name']}}}"
    raise DataError(
        f"{where}: ${{{found['kind']}:...}} is not followed; write ${{NAME}} and set that variable"
    )
