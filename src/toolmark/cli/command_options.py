"""The flags of the commands. Every flag can be set by an environment variable too."""

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
    """Reasoning efforts that endpoints know; each knows some of them."""

    none = "none"
    minimal = "minimal"
    low = "low"
    medium = "medium"
    high = "high"
    xhigh = "xhigh"
    max = "max"


class Floors(StrEnum):
    """Which keyless agents are played on the tasks of a run."""

    auto = "auto"
    all = "all"
    off = "off"


class Sandbox(StrEnum):
    """Whether MCP servers that toolmark starts have to be sandboxed."""

    required = "required"
    off = "off"


class AudioEncoding(StrEnum):
    """How an endpoint gets sound."""

    wav = "wav"
    mp3 = "mp3"


def option(*names: str, **settings: Any) -> Any:
    """Return an option that the variable TOOLMARK_ and its long name sets too.

    The help says once, at its end, that every flag has one: next to each flag it is cut off.
    """
    variable = names[-1].partition("/")[0].lstrip("-").replace("-", "_").upper()
    return typer.Option(*names, envvar=f"TOOLMARK_{variable}", show_envvar=False, **settings)


ENVIRONMENT_HELP = (
    "Every flag can be set by an environment variable: `TOOLMARK_MAX_RETRIES=0` sets "
    "`--max-retries 0`."
)


MODEL_HELP = (
    f"PROVIDER/NAME ({', '.join(providers())}), http://HOST:PORT/v1#NAME, baseline/NAME, "
    "control/NAME, module:attribute, WIRE/NAME of an installed package."
)

SuiteName: TypeAlias = Annotated[
    str,
    typer.Argument(
        help=f"{', '.join(SUITES)}, rows.jsonl, FILE.py:NAME or module:NAME of your suite, or the "
        "name of an installed package's.",
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
AskAs: TypeAlias = Annotated[
    str | None,
    option(
        "--as",
        help="Ask and read as the official harness does for this entry of its list (bfcl).",
        metavar="NAME",
    ),
]
Seed: TypeAlias = Annotated[int | None, option("--seed", help="Seed of generated tasks.", min=0)]
ModelName: TypeAlias = Annotated[str, option("-m", "--model", metavar="MODEL", help=MODEL_HELP)]
ModelOrAgentsOwn: TypeAlias = Annotated[
    str | None,
    option("-m", "--model", metavar="MODEL", help=f"{MODEL_HELP} Not needed with --agent."),
]
UserModelName: TypeAlias = Annotated[
    str | None,
    option(
        "--user-model",
        metavar="MODEL",
        help="Speaks for the simulated user of a suite that has one; scripted asks no model.",
    ),
]
JudgeModelName: TypeAlias = Annotated[
    str | None,
    option("-j", "--judge-model", metavar="MODEL", help="Scores a suite that asks a judge."),
]
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
        "--suite",
        metavar="FILE.py:NAME",
        help="Your own suite, module:NAME or an installed name, for a run of it.",
    ),
]
ToolFormatName: TypeAlias = Annotated[
    str | None,
    option(
        "--tool-format",
        help="How tools are shown and calls read: native, prompt, a call syntax such as hermes, or "
        "an installed package's.",
    ),
]
AgentName: TypeAlias = Annotated[
    str | None,
    option(
        "--agent",
        metavar="NAME",
        help="Plays the episodes: FILE.py:NAME of an `async def agent(session)`, or an installed "
        "package's.",
    ),
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
Vary: TypeAlias = Annotated[
    str | None,
    option(
        "--vary",
        metavar="KIND,...",
        help="Ask every task in these other ways too, and report the paired effects: tool_order, "
        "names, descriptions, distractors or distractors=N, wording, strict, values (bfcl twins).",
    ),
]
Repeats: TypeAlias = Annotated[int, option("--repeats", help="Ask every task N times.", min=1)]
PlanFile: TypeAlias = Annotated[
    Path | None,
    option(
        "--plan",
        metavar="PLAN.json",
        help="Ask the items of a plan of `toolmark plan`, without those of its pilot.",
    ),
]
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
    Sandbox,
    option(
        "--sandbox", help="Sandbox of MCP servers; off only where you trust every model and server."
    ),
]
FloorsChoice: TypeAlias = Annotated[
    Floors,
    option(
        "--floors",
        help="Play keyless agents on the same tasks: auto unless that starts processes, all, or "
        "off.",
    ),
]
AudioFormat: TypeAlias = Annotated[
    AudioEncoding, option("--audio-format", help="How an endpoint gets sound.")
]
WireChoice: TypeAlias = Annotated[
    str | None,
    option(
        "--wire",
        metavar="WIRE",
        help="How the endpoint is asked: chat, responses, anthropic, gemini. Default: the "
        "provider's own or that of the address, else chat.",
    ),
]
Stream: TypeAlias = Annotated[
    bool,
    option("--stream", help="Let the endpoint stream its replies; times to the first token."),
]
Prices: TypeAlias = Annotated[
    list[str] | None,
    option(
        "--price",
        metavar="INPUT,OUTPUT",
        help="Own price in US$ per million tokens: [user=|judge=]INPUT,OUTPUT[,CACHED"
        "[,CACHE_WRITTEN]]. Default: the list price at a provider's address.",
    ),
]
MaxCost: TypeAlias = Annotated[
    float | None,
    option(
        "--max-cost",
        metavar="USD",
        help="Send a request only if its worst case stays within this sum of the whole run.",
        min=0.0,
    ),
]
PromptCache: TypeAlias = Annotated[
    bool | None,
    option(
        "--prompt-cache/--no-prompt-cache",
        help="Mark what the endpoint may store between requests (wire anthropic). Default: at "
        "Anthropic's own address.",
        show_default=False,
    ),
]
Canary: TypeAlias = Annotated[
    bool,
    option(
        "--canary/--no-canary",
        help="Before a run with sound, ask once what a spoken clip says.",
    ),
]
Batch: TypeAlias = Annotated[
    bool,
    option(
        "--batch",
        help="Ask in batches of OpenAI or Anthropic: half the price, up to a day. For tasks of one "
        "reply.",
    ),
]
LogDir: TypeAlias = Annotated[Path, option("--log-dir", help="Parent of run folders.")]
CacheDir: TypeAlias = Annotated[
    Path | None,
    option("--cache", metavar="DIR", help="Store replies in this folder and ask nothing twice."),
]
ReplayOnly: TypeAlias = Annotated[
    bool,
    option(
        "--replay-only", help="Take every reply from --cache; no model is asked, no key needed."
    ),
]
Fresh: TypeAlias = Annotated[
    bool, option("--fresh", help="Start anew even where a run could be continued.")
]
Continue: TypeAlias = Annotated[
    bool, option("--continue", help="Go on with the newest run also after edits of your code.")
]
FailUnder: TypeAlias = Annotated[
    str | None,
    option(
        "--fail-under",
        metavar="SHARE",
        help="Exit 1 if the score is below: 0.85 or 85%. No score fails.",
    ),
]
FailUnderLow: TypeAlias = Annotated[
    str | None,
    option(
        "--fail-under-low",
        metavar="SHARE",
        help="Exit 1 if the lower end of the score's 95 % interval is below.",
    ),
]
JunitFile: TypeAlias = Annotated[
    Path | None,
    option("--junit", metavar="FILE", help="Write JUnit XML: one test case for each episode."),
]
MarkdownFile: TypeAlias = Annotated[
    Path | None,
    option("--markdown", metavar="FILE", help="Add a summary in Markdown to the end of a file."),
]
FailIf: TypeAlias = Annotated[
    str | None,
    option(
        "--fail-if",
        metavar="LIST",
        help="Exit 1 if B is worse, changed or undecided: one of them, or several with commas.",
    ),
]
Margin: TypeAlias = Annotated[
    str | None,
    option(
        "--margin",
        metavar="SHARE",
        help="The largest difference that does not matter, for undecided. Default: 0.02 (2 points)",
    ),
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
    name: str,
    assignments: list[str] | None,
    seed: int | None,
    tasks: Path | None = None,
    ask_as: str | None = None,
    *,
    with_notes: bool = True,
) -> Suite:
    """Load a suite with the words of -T, --seed and --as; of a made set, as it was made.

    With `with_notes`, what a user should know of its data is printed.
    """
    from toolmark import api
    from toolmark.suites import exported_sets
    from toolmark.suites.suite_registry import parameters_of

    values = parse_parameters(name, assignments)
    if ask_as is not None and "ask_as" not in parameters_of(name).__struct_fields__:
        raise UsageError(
            f"--as names an entry of BFCL's official list, and {name} is not asked so; next: leave "
            "out --as"
        )
    if ask_as is not None and values.setdefault("ask_as", ask_as) != ask_as:
        raise UsageError(f"two entries: --as {ask_as} and -T ask_as={values['ask_as']}")
    if seed is not None and values.setdefault("seed", seed) != seed:
        raise UsageError(f"two seeds: --seed {seed} and -T seed={values['seed']}")
    with consoles.divert_stdout():
        loaded = exported_sets.adopt_exported_set(api.load(name, **values), tasks or "")
    for note in data_notes(loaded, tasks) if with_notes else ():
        err.print(visible_text(note), markup=False, highlight=False, soft_wrap=True)
    return loaded


def data_notes(loaded: Suite, tasks: Path | str | None) -> tuple[str, ...]:
    """Return what a user should know of the data of a suite; of a set that is asked, nothing."""
    return () if tasks else tuple(f"{loaded.name}: {note}" for note in loaded.provenance.notes)


def parse_parameters(suite: str, assignments: list[str] | None) -> dict[str, Any]:
    """Return the words of -T by parameter. Raises UsageError for other words."""
    values: dict[str, Any] = {}
    for assignment in assignments or ():
        key, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(
                f"-T {assignment}: expected NAME=VALUE; `toolmark list {suite}` shows them"
            )
        if key.strip() in values:
            raise UsageError(f"-T {key.strip()} is given twice; separate values by commas")
        values[key.strip()] = value.strip()
    return values


def leave_out_logbook(paths: Iterable[Path]) -> list[Path]:
    """Return the paths of runs without the logbook, which `runs/*` names too."""
    from toolmark.runs.run_logbook import LOGBOOK_FILE

    return [path for path in paths if path.name != LOGBOOK_FILE]


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
    replay_only: bool = False,
    **limits_per_minute: int | None,
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
        "replay_only": replay_only,
        **limits_per_minute,
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
