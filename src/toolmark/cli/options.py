"""The flags of the commands. Every flag has an environment twin, TOOLMARK_ and its name."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console

from toolmark import api, suites
from toolmark.errors import UsageError
from toolmark.report.tables import visible
from toolmark.runs.suite import Suite

err = Console(stderr=True)


class Effort(StrEnum):
    """Reasoning efforts that endpoints know."""

    minimal = "minimal"
    low = "low"
    medium = "medium"
    high = "high"


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


MODELS = "openai/NAME, http://HOST:PORT/v1#NAME, baseline/NAME, test/NAME, module:attribute."

SuiteName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help=f"{', '.join(suites.SUITES)}, or module:load of your own.", metavar="SUITE"
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
AsJson: TypeAlias = Annotated[
    bool, flag("--json", help="Print one JSON object on stdout; the rest goes to stderr.")
]
UserSuite: TypeAlias = Annotated[
    str | None, flag("--suite", metavar="module:load", help="Your own suite, for runs of it.")
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
Retries: TypeAlias = Annotated[
    int, flag("--max-retries", help="Retries per request; 0 for none.", min=0)
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
    loaded = api.of_set(api.load(name, **given), tasks or "")
    for note in () if tasks else loaded.notes:  # which are of data that a set does not ask
        err.print(visible(f"{loaded.name}: {note}"), markup=False, highlight=False, soft_wrap=True)
    return loaded


def words(text: str | None) -> tuple[str, ...]:
    """Return the words of a comma-separated list; none for no text."""
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())
