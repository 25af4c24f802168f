"""`toolmark perturb`: what a suite does to its items, done to anything, one stage or all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from toolmark import plugin
from toolmark.cli import codes, screen
from toolmark.cli import options as o
from toolmark.report.tables import visible

if TYPE_CHECKING:  # loaded when needed: other commands start sooner without it
    from toolmark.perturb.image.record import Made
    from toolmark.perturb.speech.effect import Effect
    from toolmark.suites.mfcl.booth import Uttered

app = typer.Typer(
    help="Change wording, sound and pictures as the suites do, seeded and recorded.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
out = screen.out()
err = screen.err()


class Missing(StrEnum):
    """What is done where a synthesiser is not installed."""

    error = "error"
    skip = "skip"


@app.callback()
def _group() -> None:
    """Change wording, sound and pictures as the suites do, seeded and recorded."""


@app.command(
    epilog="""Examples:

`toolmark perturb speech "Book a table for 4 at 7:30 pm" --stages rewrite,disfluency`

`toolmark perturb speech requests.txt --condition noisy --seed 7 -o DIR`

`toolmark perturb speech requests.txt --noises musan,RIRS_NOISES --condition harsh -o DIR`

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
        str | None,
        o.flag(
            "--ears",
            metavar="NAME,...",
            help="Recognisers: simulated:a|b|c (a text's default),"
            " pocketsphinx (a sound's), whisper:PATH, openai:MODEL, deepgram:MODEL.",
        ),
    ] = None,
    engines: Annotated[
        str | None, o.flag("--engines", help="Synthesisers. Default: espeak-ng, flite, festival.")
    ] = None,
    missing: Annotated[
        Missing, o.flag("--missing", help="A synthesiser is: an error, or skip it.")
    ] = Missing.error,
    noises: Annotated[
        str | None,
        o.flag("--noises", metavar="DIR,...", help="Recorded noises and rooms: MUSAN, any."),
    ] = None,
    rewriter: Annotated[
        str, o.flag("--rewriter", metavar="MODEL", help="Who words it: rules, or a model.")
    ] = "rules",
    text: Annotated[
        str,
        o.flag("--text", help="What is said in the sound file; else FILE.txt beside it tells."),
    ] = "",
    seed: Annotated[int, o.flag("--seed", help="Of all that is drawn.", min=0)] = 0,
    output: Annotated[
        Path | None, o.flag("--output", "-o", metavar="DIR", help="Keep sound and record there.")
    ] = None,
    verbose: Annotated[
        bool, o.flag("-v", "--verbose", help="Every effect, with its times and strength.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Say texts as people do, through a bad line, and write down what is heard."""
    each = plugin.attribute("toolmark.suites.mfcl.alone:each")
    made: list[dict[str, object]] = []
    with ExitStack() as stack:
        stack.enter_context(err.status("voices, rooms, recognisers: the first time takes longest"))
        record = None
        for name, done in each(
            inputs, stages=o.words(stages), condition=condition, ears=o.words(ears),
            engines=o.words(engines), missing=missing.value, noises=o.words(noises),
            rewriter=rewriter, text=text, seed=seed, folder=output, note=_note,
        ):  # fmt: skip
            made.append({"name": name, **msgspec.to_builtins(done)})
            if output is not None:  # line by line: what is made is kept whatever comes later
                record = record or stack.enter_context((output / "record.jsonl").open("wb"))
                record.write(msgspec.json.encode(made[-1]) + b"\n")
                record.flush()
            if not as_json:
                _tell(name, done, verbose=verbose)
    if as_json:
        o.dump(made)
    else:
        _end(made, output)
    if any(one.get("failed") for one in made):
        raise typer.Exit(codes.NOT_RUN)


@app.command(
    epilog="""Examples:

`toolmark perturb image photo.jpg OUT --with edges`

`toolmark perturb image photos OUT --with crop-4:3 --with occlusion=0.5 --boxes boxes.json --sheet`

`toolmark perturb image images OUT --keep-names`, then `-T images=OUT/edges` of a suite
"""
)
def image(
    source: Annotated[Path, typer.Argument(help="A picture, or a folder.", metavar="IN")],
    output: Annotated[Path, typer.Argument(help="The folder to write to.", metavar="OUT")],
    names: Annotated[
        list[str] | None,
        o.flag(
            "--with",
            metavar="NAME",
            help="base, crop-16:9, crop-4:3, resize-16:9, resize-4:3, gray, edges (or"
            " edges=LOW/HIGH), red-green: these eight where none is named; occlusion=SHARE,"
            " jitter=1 to 4. May be repeated.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        o.flag(
            "--boxes",
            metavar="FILE.json",
            help="Clues in pixels, which crops keep and occlusions cover:"
            ' {"NAME": [[left, top, right, bottom], ...]}.',
        ),
    ] = None,
    seed: Annotated[int, o.flag("--seed", help="Of all that is drawn.", min=0)] = 0,
    keep: Annotated[
        bool, o.flag("--keep-names", help="Files keep their names, and the format these say.")
    ] = False,
    sheet: Annotated[
        bool, o.flag("--sheet", help="Also all variations of a picture side by side.")
    ] = False,
    as_json: o.AsJson = False,
) -> None:
    """Cut, squash, bleach, cover pictures; one that cannot be read is named, the rest is made."""
    order = plugin.attribute("toolmark.perturb.image.folder:Order")(
        folder=output, seed=seed, keep=keep, sheets=sheet
    )
    if names:
        order = order._replace(names=tuple(names))
    each = plugin.attribute("toolmark.perturb.image.folder:each")
    made: list[Made] = []
    for one in each(source, order, boxes, note=_note):
        made.append(one)
        if one.failed:
            _note(one.failed)
    for told, n in Counter(f"{one.variation}: {one.note}" for one in made if one.note).items():
        _note(f"{told} ({_counted(n, 'picture')})")
    _pictured(made, output, as_json=as_json)
    if any(one.failed for one in made):
        raise typer.Exit(codes.NOT_RUN)


def _pictured(made: Sequence[Made], output: Path, *, as_json: bool) -> None:
    if as_json:
        o.dump(made)
        return
    fine = [one for one in made if not one.failed and one.variation != "sheet"]
    whole = len({one.name for one in fine})
    told = f"{_counted(len(fine), 'variation')} of {_counted(whole, 'picture')}"
    told = f"{output}: {told}, record.jsonl"
    if refused := sum(bool(one.failed) for one in made):
        told += f"; {refused} refused"
    out.print(told, markup=False, highlight=False, soft_wrap=True)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _end(made: Sequence[Mapping[str, object]], output: Path | None) -> None:
    failed = sum(bool(one.get("failed")) for one in made)
    if failed:
        _note(f"{failed} of {len(made)} failed")
    if output is not None:
        told = f"{output}: {len(made) - failed} utterances, record.jsonl"
        out.print(told, markup=False, highlight=False, soft_wrap=True)
    elif any(one.get("audio") for one in made):
        out.print("-o DIR keeps the sound and the record", style="dim", highlight=False)


def _note(line: str) -> None:
    err.print(visible(line), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _tell(name: str, done: Uttered, *, verbose: bool) -> None:
    """Print what was said, how, and what was heard."""
    rows = [("worded by", done.rewriter), ("wording not taken", done.refused), ("said", done.said)]
    if done.voice is not None:
        who = done.voice
        rows.append(("voice", f"{who.engine} {who.name}, rate {who.rate:g}"))
    if verbose:
        rows += [(effect.name, _detail(effect)) for effect in done.timeline]
    else:
        short = dict.fromkeys(f"{effect.name}@{effect.severity}" for effect in done.timeline)
        rows.append(("acoustics", ", ".join(short)))
    if done.stoi is not None:
        rows.append(("STOI", f"{done.stoi:.2f} {done.gate}".strip()))
    for ear, heard in done.heard.items():
        mark = " (simulated)" if heard.simulated else ""
        wrong = "" if heard.wer is None else f"  [word error rate {heard.wer:.0%}]"
        rows.append((ear + mark, heard.text + wrong))
    if done.failed:
        rows.append(("failed", done.failed))
    out.print(name, style="bold", markup=False, highlight=False)
    for head, text in rows:
        if text:
            out.print(f"  {head}: {visible(text)}", markup=False, highlight=False, soft_wrap=True)


def _detail(effect: Effect) -> str:
    values = (
        f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in effect.detail.items()
    )
    span = f"{effect.start_s:.2f}-{effect.end_s:.2f} s"
    return f"{span}, severity {effect.severity}" + "".join(f", {value}" for value in values)
