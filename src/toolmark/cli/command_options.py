"""The flags of the commands. Every flag has an environment twin, TOOLMARK_ and its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from toolmark.cli import consoles
from toolmark.core import json_codec
from toolmark.core.errors import UsageError
from toolmark.models.provider_table import providers
from toolmark.reports.table_format import visible_text
from toolmark.suites.suite_names import SUITES

if TYPE_CHECKING:
    from toolmark.runs.suite import Suite

err = consoles.stderr_console()


class ReasoningEffort(StrEnum):
    """Reasoning efforts that endpoints know."""

    minimal = "minimal"
    low = "low"
    medium = "medium"
    high = "high"


class Sandbox(StrEnum):
    """Whether MCP servers that toolmark starts have to be sandboxed."""

    required = "required"
    off = "off"


class AudioEncoding(StrEnum):
    """How an endpoint gets sound."""

    wav = "wav"
    mp3 = "mp3"


def option(*names: str, **settings: Any) -> Any:
    """Return an option whose environment twin is TOOLMARK_ and its long name.

    The help says once, at its end, that every flag has one: next to each flag it is cut off.
    """
    variable = names[-1].lstrip("-").replace("-", "_").upper()
    return typer.Option(*names, envvar=f"TOOLMARK_{variable}", show_envvar=False, **settings)


ENVIRONMENT_HELP = (
    "Every flag has an environment twin: `TOOLMARK_MAX_RETRIES=0` stands for `--max-retries 0`."
)


MODEL_HELP = (
    f"PROVIDER/NAME ({', '.join(providers())}), http://HOST:PORT/v1#NAME, baseline/NAME, "
    "control/NAME, module:attribute."
)

SuiteName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help=f"{', '.join(SUITES)}, or FILE.py:NAME or module:NAME of your suite.",
        metavar="SUITE",
    ),
]
RunPath: TypeAlias = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
Parameters: TypeAlias = Annotated[
    list[str] | None,
    option(
        "-T",
        metavar="NAME=VALUE",
        help="A suite parameter; see `toolmark list SUITE`. May be repeated.",
    ),
]
Seed: TypeAlias = Annotated[int | None, option("--seed", help="Seed of generated tasks.", min=0)]
ModelName: TypeAlias = Annotated[str, option("-m", "--model", metavar="MODEL", help=MODEL_HELP)]
BaseUrl: TypeAlias = Annotated[
    str | None, option("--base-url", metavar="URL", help="Where the endpoint is.")
]
Headers: TypeAlias = Annotated[
    list[str] | None,
    # its twin, TOOLMARK_HEADER, is read by `headers`: typer would cut values at their blanks
    typer.Option(
        "--header",
        metavar="'NAME: VALUE'",
        help="An HTTP header. May be repeated; TOOLMARK_HEADER holds one a line.",
    ),
]
Timeout: TypeAlias = Annotated[
    float, option("--timeout", help="Seconds for one request.", min=0.01)
]
TimeLimit: TypeAlias = Annotated[
    float | None,
    option("--time-limit", help="Seconds for one episode; a longer one is not run.", min=0.01),
]
AsJson: TypeAlias = Annotated[
    bool, option("--json", help="Print one JSON object on stdout; the rest goes to stderr.")
]
UserSuite: TypeAlias = Annotated[
    str | None,
    option(
        "--suite", metavar="FILE.py:NAME", help="Your own suite (or module:NAME), for a run of it."
    ),
]
ToolFormatName: TypeAlias = Annotated[
    str | None,
    option("--tool-format", help="How tools are shown and calls read: native or prompt."),
]
Limit: TypeAlias = Annotated[int | None, option("--limit", help="Only the first N tasks.", min=1)]
Ids: TypeAlias = Annotated[
    str | None, option("--ids", help="Only these task or item ids, comma-separated.")
]
Sample: TypeAlias = Annotated[
    int | None, option("--sample", help="Draw N tasks, every category in proportion.", min=1)
]
TaskFile: TypeAlias = Annotated[
    Path | None, option("--tasks", metavar="FILE.jsonl", help="Ask these tasks, not the suite's.")
]
Repeats: TypeAlias = Annotated[int, option("--repeats", help="Ask every task N times.", min=1)]
Temperature: TypeAlias = Annotated[
    float | None, option("--temperature", help="Default: the suite's.", min=0.0)
]
TopP: TypeAlias = Annotated[float | None, option("--top-p", help="Default: the suite's.", min=0.0)]
MaxTokens: TypeAlias = Annotated[
    int | None, option("--max-tokens", help="Default: the endpoint's.", min=1)
]
Reasoning: TypeAlias = Annotated[
    ReasoningEffort | None, option("--reasoning-effort", help="Default: the model's.")
]
ExtraBody: TypeAlias = Annotated[
    str | None, option("--extra-body", metavar="JSON", help="An object added to every request.")
]
Connections: TypeAlias = Annotated[
    int, option("--max-connections", help="Episodes in flight.", min=1)
]
RequestsPerModel: TypeAlias = Annotated[
    int, option("--max-connections", help="Requests in flight, of each model.", min=1)
]
Retries: TypeAlias = Annotated[
    int, option("--max-retries", help="Retries per request; 0 for none.", min=0)
]
SandboxMode: TypeAlias = Annotated[
    Sandbox, option("--sandbox", help="Of MCP servers; off where all is trusted with this machine.")
]
AudioFormat: TypeAlias = Annotated[
    AudioEncoding, option("--audio-format", help="How an endpoint gets sound.")
]
LogDir: TypeAlias = Annotated[Path, option("--log-dir", help="Parent of run folders.")]
CacheDir: TypeAlias = Annotated[
    Path | None,
    option("--cache", metavar="DIR", help="Store replies in this folder and ask nothing twice."),
]
Fresh: TypeAlias = Annotated[
    bool, option("--fresh", help="Start anew even where a run could be continued.")
]
Continue: TypeAlias = Annotated[
    bool, option("--continue", help="Go on with the newest run also after edits of your code.")
]
FailUnder: TypeAlias = Annotated[
    float | None, option("--fail-under", help="Exit 1 if the score is below.", min=0.0, max=1.0)
]
DryRun: TypeAlias = Annotated[
    bool, option("--dry-run", help="Show what would be asked; ask nothing.")
]
Page: TypeAlias = Annotated[
    Path | None, option("-o", "--output", help="Default: report.html in the first run.")
]
TaskFolder: TypeAlias = Annotated[
    Path, option("-o", "--output", metavar="DIR", help="The folder of the set.")
]


def load_suite(
    name: str, assignments: list[str] | None, seed: int | None, tasks: Path | None = None
) -> Suite:
    """Load a suite with the words of -T and --seed; of a made set, as it was made."""
    from toolmark import api
    from toolmark.suites import exported_sets

    values: dict[str, Any] = {}
    for assignment in assignments or ():
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(
                f"-T {assignment}: expected NAME=VALUE; `toolmark list {name}` shows them"
            )
        if key.strip() in values:
            raise UsageError(f"-T {key.strip()} is given twice; separate values by commas")
        values[key.strip()] = value.strip()
    if seed is not None and values.setdefault("seed", seed) != seed:
        raise UsageError(f"two seeds: --seed {seed} and -T seed={values['seed']}")
    loaded = exported_sets.adopt_exported_set(api.load(name, **values), tasks or "")
    # notes are of data that a set does not ask
    for note in () if tasks else loaded.provenance.notes:
        err.print(
            visible_text(f"{loaded.name}: {note}"), markup=False, highlight=False, soft_wrap=True
        )
    return loaded


def split_list(text: str | None) -> tuple[str, ...]:
    """Return the words of a comma-separated list; none for no text."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def connection_settings(
    models: Iterable[str],
    *,
    base_url: str | None,
    header: list[str] | None,
    max_connections: int,
    max_retries: int,
    timeout: float,
    cache: Path | None,
) -> dict[str, Any]:
    """Return how these models are asked, as `resolve` takes it.

    A header may be a key: where the models are at several addresses it is a UsageError.
    """
    from toolmark.models.model_resolver import public_model_address

    pairs = parse_headers(header)
    if pairs and len({public_model_address(model, base_url) for model in models} - {""}) > 1:
        raise UsageError(
            "--header: the models are at several addresses, and a header may be the key of one; "
            "leave it out: keys come from the environment"
        )
    return {
        "base_url": base_url,
        "headers": pairs,
        "max_connections": max_connections,
        "max_retries": max_retries,
        "timeout_s": timeout,
        "cache": cache,
    }


def stored_base_url(models: Iterable[str], base_url: str | None) -> str:
    """Return the address that --base-url stands for, as their plan keeps it; "" without one."""
    from toolmark.models.model_resolver import public_model_address

    places = (public_model_address(model, base_url) for model in models) if base_url else ()
    return next(filter(None, places), "")


def parse_headers(lines: list[str] | None) -> list[tuple[str, str]]:
    """Return names and values of --header, else of the lines of TOOLMARK_HEADER."""
    pairs = []
    for text in lines or os.environ.get("TOOLMARK_HEADER", "").splitlines():
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError("--header: expected 'NAME: VALUE'")  # the value may be a key: unsaid
        pairs.append((name.strip(), value.strip()))
    return pairs


def parse_extra_body(text: str | None) -> dict[str, Any] | None:
    """Return the object of --extra-body."""
    if text is None:
        return None
    try:
        value = json_codec.parse_json(text)
    except json_codec.InvalidJson as error:
        raise UsageError(f"--extra-body: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--extra-body: expected a JSON object, got {type(value).__name__}")
    return value


def print_json(value: object) -> None:
    """Print what --json asks for, on one line; numbers that are not finite as text."""
    sys.stdout.write(json_codec.encode_record(value).decode() + "\n")
