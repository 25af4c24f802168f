"""The flags of the commands. Every flag has an environment twin, TOOLMARK_ and its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from toolmark import api, codec, suites
from toolmark.cli import screen
from toolmark.errors import UsageError
from toolmark.models.places import PROVIDERS
from toolmark.models.resolve import address
from toolmark.report.tables import visible
from toolmark.runs.suite import Suite
from toolmark.suites import made

err = screen.err()


class Effort(StrEnum):
    """Reasoning efforts that endpoints know."""

    minimal = "minimal"
    low = "low"
    medium = "medium"
    high = "high"


class Sandbox(StrEnum):
    """Whether MCP servers that toolmark starts have to be sandboxed."""

    required = "required"
    off = "off"


class AudioForm(StrEnum):
    """How an endpoint gets sound."""

    wav = "wav"
    mp3 = "mp3"


def flag(*names: str, **more: Any) -> Any:
    """Return an option whose environment twin is TOOLMARK_ and its long name.

    The help says once, at its end, that every flag has one: beside each flag it is cut off.
    """
    twin = names[-1].lstrip("-").replace("-", "_").upper()
    return typer.Option(*names, envvar=f"TOOLMARK_{twin}", show_envvar=False, **more)


TWINS = "Every flag has an environment twin: `TOOLMARK_MAX_RETRIES=0` stands for `--max-retries 0`."


MODELS = (
    f"PROVIDER/NAME ({', '.join(PROVIDERS)}), http://HOST:PORT/v1#NAME, baseline/NAME, "
    "test/NAME, module:attribute."
)

SuiteName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help=f"{', '.join(suites.SUITES)}, or FILE.py:NAME or module:NAME of your own.",
        metavar="SUITE",
    ),
]
RunPath: TypeAlias = Annotated[Path, typer.Argument(help="A run folder.", metavar="RUN")]
Knobs: TypeAlias = Annotated[
    list[str] | None,
    flag("-T", metavar="KNOB=VALUE", help="A knob; see `toolmark list SUITE`. May be repeated."),
]
Seed: TypeAlias = Annotated[int | None, flag("--seed", help="Seed of generated tasks.", min=0)]
ModelName: TypeAlias = Annotated[str, flag("-m", "--model", metavar="MODEL", help=MODELS)]
BaseUrl: TypeAlias = Annotated[
    str | None, flag("--base-url", metavar="URL", help="Where the endpoint is.")
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
Timeout: TypeAlias = Annotated[float, flag("--timeout", help="Seconds for one request.", min=0.01)]
TimeLimit: TypeAlias = Annotated[
    float | None,
    flag("--time-limit", help="Seconds for one episode; a longer one is not run.", min=0.01),
]
AsJson: TypeAlias = Annotated[
    bool, flag("--json", help="Print one JSON object on stdout; the rest goes to stderr.")
]
UserSuite: TypeAlias = Annotated[
    str | None,
    flag(
        "--suite", metavar="FILE.py:NAME", help="Your own suite (or module:NAME), for a run of it."
    ),
]
DialectName: TypeAlias = Annotated[
    str | None, flag("--dialect", help="How tools are shown and calls read: native or prompt.")
]
Limit: TypeAlias = Annotated[int | None, flag("--limit", help="Only the first N tasks.", min=1)]
Ids: TypeAlias = Annotated[
    str | None, flag("--ids", help="Only these task or item ids, comma-separated.")
]
Sample: TypeAlias = Annotated[
    int | None, flag("--sample", help="Draw N tasks, every category in proportion.", min=1)
]
TaskFile: TypeAlias = Annotated[
    Path | None, flag("--tasks", metavar="FILE.jsonl", help="Ask these tasks, not the suite's.")
]
Repeats: TypeAlias = Annotated[int, flag("--repeats", help="Ask every task N times.", min=1)]
Temperature: TypeAlias = Annotated[
    float | None, flag("--temperature", help="Default: the suite's.", min=0.0)
]
TopP: TypeAlias = Annotated[float | None, flag("--top-p", help="Default: the suite's.", min=0.0)]
MaxTokens: TypeAlias = Annotated[
    int | None, flag("--max-tokens", help="Default: the endpoint's.", min=1)
]
Reasoning: TypeAlias = Annotated[
    Effort | None, flag("--reasoning-effort", help="Default: the model's.")
]
ExtraBody: TypeAlias = Annotated[
    str | None, flag("--extra-body", metavar="JSON", help="An object added to every request.")
]
Connections: TypeAlias = Annotated[
    int, flag("--max-connections", help="Episodes in flight.", min=1)
]
Requests: TypeAlias = Annotated[
    int, flag("--max-connections", help="Requests in flight, of each model.", min=1)
]
Retries: TypeAlias = Annotated[
    int, flag("--max-retries", help="Retries per request; 0 for none.", min=0)
]
SandboxMode: TypeAlias = Annotated[
    Sandbox, flag("--sandbox", help="Of MCP servers; off where all is trusted with this machine.")
]
AudioFormat: TypeAlias = Annotated[
    AudioForm, flag("--audio-format", help="How an endpoint gets sound.")
]
LogDir: TypeAlias = Annotated[Path, flag("--log-dir", help="Parent of run folders.")]
CacheDir: TypeAlias = Annotated[
    Path | None, flag("--cache", metavar="DIR", help="Keep replies there; ask nothing twice.")
]
Fresh: TypeAlias = Annotated[
    bool, flag("--fresh", help="Start anew even where a run could be continued.")
]
Continue: TypeAlias = Annotated[
    bool, flag("--continue", help="Go on with the newest run also after edits of your own code.")
]
FailUnder: TypeAlias = Annotated[
    float | None, flag("--fail-under", help="Exit 1 if the score is below.", min=0.0, max=1.0)
]
DryRun: TypeAlias = Annotated[
    bool, flag("--dry-run", help="Show what would be asked; ask nothing.")
]
Page: TypeAlias = Annotated[
    Path | None, flag("-o", "--output", help="Default: report.html in the first run.")
]
TaskFolder: TypeAlias = Annotated[
    Path, flag("-o", "--output", metavar="DIR", help="The folder of the set.")
]


def load(name: str, knobs: list[str] | None, seed: int | None, tasks: Path | None = None) -> Suite:
    """Load a suite with the words of -T and --seed; of a made set, as it was made."""
    given: dict[str, Any] = {}
    for word in knobs or ():
        key, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"-T {word}: expected KNOB=VALUE; `toolmark list {name}` shows them")
        if key.strip() in given:
            raise UsageError(f"-T {key.strip()} is given twice; separate values by commas")
        given[key.strip()] = value.strip()
    if seed is not None and given.setdefault("seed", seed) != seed:
        raise UsageError(f"two seeds: --seed {seed} and -T seed={given['seed']}")
    loaded = made.adopted(api.load(name, **given), tasks or "")
    for note in () if tasks else loaded.notes:  # which are of data that a set does not ask
        err.print(visible(f"{loaded.name}: {note}"), markup=False, highlight=False, soft_wrap=True)
    return loaded


def words(text: str | None) -> tuple[str, ...]:
    """Return the words of a comma-separated list; none for no text."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def endpoint(
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
    pairs = headers(header)
    if pairs and len({address(model, base_url) for model in models} - {""}) > 1:
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


def elsewhere(models: Iterable[str], base_url: str | None) -> str:
    """Return the address that --base-url stands for, as their plan keeps it; "" without one."""
    places = (address(model, base_url) for model in models) if base_url else ()
    return next(filter(None, places), "")


def headers(given: list[str] | None) -> list[tuple[str, str]]:
    """Return names and values of --header, else of the lines of TOOLMARK_HEADER."""
    pairs = []
    for text in given or os.environ.get("TOOLMARK_HEADER", "").splitlines():
        name, colon, value = text.partition(":")
        if not colon or not name.strip():
            raise UsageError("--header: expected 'NAME: VALUE'")  # the value may be a key: unsaid
        pairs.append((name.strip(), value.strip()))
    return pairs


def body(text: str | None) -> dict[str, Any] | None:
    """Return the object of --extra-body."""
    if text is None:
        return None
    try:
        value = codec.loads(text)
    except codec.BadJson as error:
        raise UsageError(f"--extra-body: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--extra-body: expected a JSON object, got {type(value).__name__}")
    return value


def dump(value: object) -> None:
    """Print what --json asks for, on one line; numbers that are not finite as text."""
    sys.stdout.write(codec.encode(value).decode() + "\n")
