"""`toolmark perturb`: what a suite does to its items, done to anything, one stage or all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.console import Console

from toolmark import plugin
from toolmark.cli import options as o

if TYPE_CHECKING:  # loaded when needed: other commands start sooner without it
    from toolmark.suites.mfcl.booth import Uttered

app = typer.Typer(
    help="Change wording and sound as the suites do, seeded and recorded.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
out = Console()


@app.callback()
def _group() -> None:
    """Change wording and sound as the suites do, seeded and recorded."""


@app.command(
    epilog="""Examples:

`toolmark perturb speech "Book a table for 4 at 7:30 pm" --stages rewrite,disfluency`

`toolmark perturb speech requests.txt --condition noisy --seed 7 -o DIR`

`toolmark perturb speech clip.wav --condition snr=10:cafe+loss@3 --ears pocketsphinx -o DIR`
"""
)
def speech(
    inputs: Annotated[
        list[str],
        typer.Argument(help="A text, a .txt file with a text per line, or a sound file."),
    ],
    stages: Annotated[
        str | None,
        o.flag("--stages", help="Of rewrite, disfluency, voice, acoustics, transcript. All."),
    ] = None,
    condition: Annotated[
        str, o.flag("--condition", help="Acoustics: clean, noisy, harsh, snr=20, loss@3, ...")
    ] = "noisy",
    ears: Annotated[
        str | None, o.flag("--ears", help="Recognisers: simulated:a, pocketsphinx, whisper:MODEL.")
    ] = None,
    engines: Annotated[
        str | None, o.flag("--engines", help="Synthesisers. Default: all free ones that are here.")
    ] = None,
    seed: Annotated[int, o.flag("--seed", help="Of all that is drawn.", min=0)] = 0,
    output: Annotated[
        Path | None, o.flag("--output", "-o", metavar="DIR", help="Keep sound and record there.")
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Say texts as people do, through a bad line, and write down what is heard."""
    each = plugin.attribute("toolmark.suites.mfcl.alone:each")
    made: list[dict[str, object]] = []
    for name, done in each(
        inputs, stages=o.words(stages), condition=condition, ears=o.words(ears),
        engines=o.words(engines), seed=seed, folder=output,
    ):  # fmt: skip
        made.append({"name": name, **msgspec.to_builtins(done)})
        if not as_json:
            _tell(name, done)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in made)
        (output / "record.jsonl").write_bytes(lines)
    if as_json:
        sys.stdout.write(msgspec.json.encode(made).decode() + "\n")
    elif output is not None:
        out.print(f"{output}: {len(made)} utterances, record.jsonl", markup=False, highlight=False)


def _tell(name: str, done: Uttered) -> None:
    """Print what was said, how, and what was heard."""
    rows = [("said", done.said)]
    if done.voice is not None:
        who = done.voice
        rows.append(("voice", f"{who.engine} {who.name}, rate {who.rate:g}"))
    for effect in done.timeline:
        told = ", ".join(f"{key} {value}" for key, value in effect.detail.items())
        span = f"{effect.start_s:.2f}-{effect.end_s:.2f} s"
        rows.append((effect.name, f"{span}, severity {effect.severity}; {told}"))
    if done.stoi is not None:
        rows.append(("STOI", f"{done.stoi:.2f} {done.gate}"))
    for ear, heard in done.heard.items():
        mark = " (simulated)" if heard.simulated else ""
        wrong = f"  [word error rate {heard.wer:.0%}]" if done.said else ""
        rows.append((ear + mark, heard.text + wrong))
    if done.failed:
        rows.append(("failed", done.failed))
    out.print(name, style="bold", markup=False, highlight=False)
    for head, text in rows:
        if text:
            out.print(f"  {head}: {text}", markup=False, highlight=False, soft_wrap=True)
