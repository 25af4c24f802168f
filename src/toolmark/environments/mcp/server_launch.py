"""How a configured server is started: its command line, variables and sandbox."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolmark.core import secrets
from toolmark.core.errors import DataError, ToolmarkError
from toolmark.core.redaction import secret_spellings
from toolmark.environments.mcp import program_files, sandbox, sandbox_view, server_packages
from toolmark.environments.mcp.server_config import (
    PLACEHOLDER,
    REDACTED,
    ServerConfig,
    placeholder_texts,
)

_PATH_PLACEHOLDERS = ("workspace", "config_dir")
_INHERITED_VARIABLES = (
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ServerLaunch:
    """A server with every placeholder filled. `secrets` must not be shown to anyone.

    `sandbox_spec` is its sandbox, None where it has none.
    """

    argv: tuple[str, ...] = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    sandbox_spec: sandbox.SandboxSpec | None = field(default=None, repr=False)

    def redact_secrets(self, text: str) -> str:
        """Return the text with every secret of four letters or more blanked."""
        for secret in self.secrets:
            if secret in text:
                text = text.replace(secret, REDACTED)
        return text


def describe_missing(server: ServerConfig, environ: Mapping[str, str] = os.environ) -> str:
    """Return what a server lacks to run: variables, its command; empty when it lacks nothing."""
    if server.disabled:
        return "disabled in the configuration"
    variables = [
        found[1]
        for _, text in placeholder_texts(server)
        for found in PLACEHOLDER.finditer(text)
        if found[1] not in _PATH_PLACEHOLDERS and found[2] is None
    ]
    lacking = [name for name in dict.fromkeys((*server.needs, *variables)) if not environ.get(name)]
    if lacking:
        return f"not set in the environment: {', '.join(lacking)}"
    try:
        prepare_launch(server, Path(os.sep), environ)
    except ToolmarkError as error:
        return str(error).removeprefix(f"{server.pinned_environment}: ")
    return ""


def prepare_launch(
    server: ServerConfig, workspace: Path, environ: Mapping[str, str] = os.environ
) -> ServerLaunch:
    """Fill the placeholders and find the command. Raises DataError where that is impossible."""
    fill = placeholder_filler(server, workspace, environ)
    env = {
        name: environ[name] for name in (*_INHERITED_VARIABLES, *server.needs) if name in environ
    }
    env.update((name, fill(text)) for name, text in server.env.items())
    argv = _server_argv(server, fill, env)
    cwd = fill(server.cwd) or str(workspace)
    box = None
    if argv and sandbox.is_wanted():
        argv = _resolve_launcher(server, argv)
        box = sandbox_view.build_sandbox_spec(server, argv, cwd, workspace, fill)
        env = sandbox_view.server_environ(server, env, box)
    return ServerLaunch(
        argv=argv,
        env=env,
        cwd=cwd,
        url=fill(server.url),
        headers={name: fill(text) for name, text in server.headers.items()},
        secrets=server_secrets(server, environ),
        sandbox_spec=box,
    )


def placeholder_filler(
    server: ServerConfig, workspace: Path, environ: Mapping[str, str] = os.environ
) -> Callable[[str], str]:
    """Return the function that fills the placeholders of a server's texts."""
    paths = {"workspace": str(workspace), "config_dir": server.folder}

    def value(match: re.Match[str]) -> str:
        return paths.get(match[1]) or environ.get(match[1]) or match[2] or ""

    return lambda text: PLACEHOLDER.sub(value, text)


def misplaced_argument(server: ServerConfig) -> str:
    """Return the argument that names a file in the configuration's folder.

    Servers cannot see that file. Empty where there is none. A relative path is resolved in the
    workspace, where servers start.
    """
    if not server.folder or server.cwd:
        return ""
    for text in server.args:
        plain = text and not text.startswith("-") and "${" not in text and not os.path.isabs(text)
        if plain and os.path.isfile(os.path.join(server.folder, text)):
            return text
    return ""


def _server_argv(
    server: ServerConfig, fill: Callable[[str], str], env: Mapping[str, str]
) -> tuple[str, ...]:
    args = [fill(text) for text in server.args]
    if server.url:
        return ()
    if server.pinned_environment:
        return (*server_packages.server_command(server.pinned_environment), *args)
    command = fill(server.command)
    if os.sep in command and server.folder:
        command = os.path.join(server.folder, command)  # an absolute path is not changed by this
    found = shutil.which(command, path=env.get("PATH"))
    if found is None and not (os.sep in command and "${workspace}" in server.command):
        raise DataError(f"no such command: {server.command}")
    return (found or command, *args)


def _resolve_launcher(server: ServerConfig, argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the program that npx or uvx would start. Raises DataError where it is not installed.

    With a network they may fetch it themselves, at each start.
    """
    package = program_files.launched_package(argv)
    found = program_files.find_installed(argv, Path.home()) if package else None
    if found is not None:
        return found.argv
    if package and not server.network:
        npx = Path(argv[0]).name == "npx"
        first = f"npx -y {package} --help" if npx else f"uv tool install {package}"
        raise DataError(
            f"{package} is not installed, and servers have no network in their sandbox; run "
            f'`{first}` once, or add to its entry: "network": true'
        )
    return argv


def server_secrets(
    server: ServerConfig, environ: Mapping[str, str] = os.environ
) -> tuple[str, ...]:
    """Return what must not be shown, longest first, also as spelled in JSON or in an address.

    These are values that the environment variables fill in or that the server needs, except paths
    and flags; headers; and values in `env`, `args` and `url` that are named, or look, like keys.
    Texts of fewer than four letters are left out. The server need not be runnable.
    """
    fill = placeholder_filler(server, Path("${workspace}"), environ)

    def spellings() -> Iterator[str]:
        for name, default in _given_variables(server):
            yield from secrets.secrets_in_variable(name, environ.get(name, ""))
            yield from secrets.secrets_in_entry(name, default)
        for name, text in server.env.items():
            if name not in _INHERITED_VARIABLES:
                yield from secrets.secrets_in_entry(name, fill(text))
        for name, text in server.headers.items():
            yield from secrets.secrets_in_header(name, fill(text))
        yield from secrets.secrets_in_arguments([fill(text) for text in server.args])
        yield from secrets.secrets_in_text(fill(server.url))

    # paths in the workspace are not secrets, and recordings contain them in this form
    return secret_spellings(text for text in spellings() if "${workspace}" not in text)


def _given_variables(server: ServerConfig) -> Iterator[tuple[str, str]]:
    """Yield name and default of the variables that the server is given, except common ones."""
    placeholders = [
        hole for _, text in placeholder_texts(server) for hole in PLACEHOLDER.finditer(text)
    ]
    variables = [(name, "") for name in server.needs] + [
        (hole[1], hole[2] or "") for hole in placeholders
    ]
    return (
        (name, default)
        for name, default in variables
        if name not in (*_INHERITED_VARIABLES, *_PATH_PLACEHOLDERS)
    )
