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

from toolmark.cli import command_options as options
from toolmark.cli import consoles, exit_codes, perturb_text_command
from toolmark.cli.wrong_command_lines import CommandGroup
from toolmark.core import number_format, user_modules
from toolmark.core.number_format import pluralize
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:  # loaded when needed: other commands start sooner without it
    from toolmark.perturb.image.variation_record import VariationRecord
    from toolmark.perturb.speech.effect_timeline import Effect
    from toolmark.suites.mfcl_speech.speech_task_data import Utterance

app = typer.Typer(
    cls=CommandGroup,
    help="Change wording, sound and pictures as the suites do, seeded and recorded.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)
out = consoles.stdout_console()
err = consoles.stderr_console()


class MissingEngine(StrEnum):
    """What is done where a synthesiser is not installed."""

    error = "error"
    skip = "skip"


@app.callback()
def _group() -> None:
    """Change wording, sound and pictures as the suites do, seeded and recorded."""


app.command(
    epilog="""Examples:

`toolmark perturb text`

`toolmark perturb text "I want information on flights" --with slang --with filled_pause --seed 7`

`toolmark perturb text requests.txt --with contraction --json`
"""
)(perturb_text_command.text)


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
        options.option(
            "--stages", help="Of rewrite, disfluency, voice, acoustics, transcript. All."
        ),
    ] = None,
    condition: Annotated[
        str,
        options.option("--condition", help="Acoustics: clean, noisy, harsh, snr=20, loss@3, ..."),
    ] = "noisy",
    recognisers: Annotated[
        str | None,
        options.option(
            "--ears",
            metavar="NAME,...",
            help="Recognisers: simulated:a|b|c (a text's default),"
            " pocketsphinx (a sound's), whisper:PATH, openai:MODEL, deepgram:MODEL.",
        ),
    ] = None,
    engines: Annotated[
        str | None,
        options.option("--engines", help="Synthesisers. Default: espeak-ng, flite, festival."),
    ] = None,
    missing: Annotated[
        MissingEngine, options.option("--missing", help="A synthesiser is: an error, or skip it.")
    ] = MissingEngine.error,
    noises: Annotated[
        str | None,
        options.option(
            "--noises", metavar="DIR,...", help="Recorded noises and rooms: MUSAN, any."
        ),
    ] = None,
    rewriter: Annotated[
        str,
        options.option(
            "--rewriter", metavar="MODEL", help="What rewords the text: rules, or a model."
        ),
    ] = "rules",
    text: Annotated[
        str,
        options.option(
            "--text", help="What is said in the sound file; else FILE.txt next to it says."
        ),
    ] = "",
    seed: Annotated[int, options.option("--seed", help="Seed of the random choices.", min=0)] = 0,
    output: Annotated[
        Path | None,
        options.option("--output", "-o", metavar="DIR", help="Keep sound and record there."),
    ] = None,
    verbose: Annotated[
        bool, options.option("-v", "--verbose", help="Every effect, with its times and strength.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Say texts as people do, through a bad line, and write down what is heard."""
    each = user_modules.import_attribute("toolmark.studio.speech_utterances:make_utterances")
    records: list[dict[str, object]] = []
    with ExitStack() as stack:
        stack.enter_context(err.status("voices, rooms, recognisers: the first time takes longest"))
        record = None
        for name, done in each(
            inputs,
            stages=options.split_list(stages),
            condition=condition,
            recognisers=options.split_list(recognisers),
            engines=options.split_list(engines),
            missing=missing.value,
            noises=options.split_list(noises),
            rewriter=rewriter,
            text=text,
            seed=seed,
            folder=output,
            report_note=_print_note,
        ):
            records.append({"name": name, **msgspec.to_builtins(done)})
            if output is not None:  # line by line: what is made is stored whatever comes later
                record = record or stack.enter_context((output / "record.jsonl").open("wb"))
                record.write(msgspec.json.encode(records[-1]) + b"\n")
                record.flush()
            if not as_json:
                _print_utterance(name, done, verbose=verbose)
    if as_json:
        options.print_json(records)
    else:
        _print_speech_summary(records, output)
    n_failed = sum(bool(one.get("failed")) for one in records)
    exit_codes.end_command(not_run=_not_made_reason(n_failed, len(records), "utterance"))


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
        options.option(
            "--with",
            metavar="NAME",
            help="base, crop-16:9, crop-4:3, resize-16:9, resize-4:3, gray, edges (or"
            " edges=LOW/HIGH), red-green: these eight where none is named; occlusion=SHARE,"
            " jitter=1 to 4. May be repeated.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        options.option(
            "--boxes",
            metavar="FILE.json",
            help="Clues in pixels, which crops keep and occlusions cover:"
            ' {"NAME": [[left, top, right, bottom], ...]}.',
        ),
    ] = None,
    seed: Annotated[int, options.option("--seed", help="Seed of the random choices.", min=0)] = 0,
    keep: Annotated[
        bool,
        options.option("--keep-names", help="Files keep their names, and the format these say."),
    ] = False,
    sheet: Annotated[
        bool, options.option("--sheet", help="Also all variations of a picture side by side.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Cut, squash, bleach, cover pictures; one that cannot be read is named, the rest is made."""
    order = user_modules.import_attribute("toolmark.perturb.image.picture_folder:VariationJob")(
        folder=output, seed=seed, keeps_names=keep, makes_sheets=sheet
    )
    if names:
        order = order._replace(names=tuple(names))
    each = user_modules.import_attribute("toolmark.perturb.image.picture_folder:vary_pictures")
    records: list[VariationRecord] = []
    for one in each(source, order, boxes, note=_print_note):
        records.append(one)
        if one.failed:
            _print_note(one.failed)
    for note, n in Counter(f"{one.variation}: {one.note}" for one in records if one.note).items():
        _print_note(f"{note} ({pluralize(n, 'picture')})")
    _print_image_summary(records, output, as_json=as_json)
    n_failed = sum(bool(one.failed) for one in records)
    exit_codes.end_command(not_run=_not_made_reason(n_failed, len(records), "variation"))


def _not_made_reason(n_failed: int, n: int, what: str) -> str:
    if not n_failed:
        return ""
    return f"{number_format.format_count(n_failed)} of {pluralize(n, what)} not made"


def _print_image_summary(
    records: Sequence[VariationRecord], output: Path, *, as_json: bool
) -> None:
    if as_json:
        options.print_json(records)
        return
    fine = [one for one in records if not one.failed and one.variation != "sheet"]
    n_pictures = len({one.name for one in fine})
    message = f"{pluralize(len(fine), 'variation')} of {pluralize(n_pictures, 'picture')}"
    message = f"{output}: {message}, record.jsonl"
    if refused := sum(bool(one.failed) for one in records):
        message += f"; {number_format.format_count(refused)} refused"
    out.print(message, markup=False, highlight=False, soft_wrap=True)


def _print_speech_summary(records: Sequence[Mapping[str, object]], output: Path | None) -> None:
    failed = sum(bool(one.get("failed")) for one in records)
    if output is not None:
        message = f"{output}: {pluralize(len(records) - failed, 'utterance')}, record.jsonl"
        out.print(message, markup=False, highlight=False, soft_wrap=True)
    elif any(one.get("audio") for one in records):
        out.print("-o DIR keeps the sound and the record", style="dim", highlight=False)


def _print_note(line: str) -> None:
    err.print(visible_text(line), style="yellow", markup=False, highlight=False, soft_wrap=True)


def _print_utterance(name: str, utterance: Utterance, *, verbose: bool) -> None:
    """Print what was said, how, and what was heard."""
    rows = [
        ("worded by", utterance.rewriter),
        ("wording not taken", utterance.refused),
        ("uttered", utterance.uttered),
    ]
    if utterance.voice is not None:
        who = utterance.voice
        rows.append(
            ("voice", f"{who.engine} {who.name}, rate {number_format.format_short(who.rate)}")
        )
    if verbose:
        rows += [(effect.name, _format_effect(effect)) for effect in utterance.timeline]
    else:
        short = dict.fromkeys(f"{effect.name}@{effect.severity}" for effect in utterance.timeline)
        rows.append(("acoustics", ", ".join(short)))
    if utterance.stoi is not None:
        rows.append(
            ("STOI", f"{number_format.format_fixed(utterance.stoi, 2)} {utterance.gate}".strip())
        )
    for ear, heard in utterance.heard.items():
        mark = " (simulated)" if heard.simulated else ""
        rate = None if heard.wer is None else number_format.format_percent(heard.wer)
        wrong = "" if rate is None else f"  [word error rate {rate}]"
        rows.append((ear + mark, heard.text + wrong))
    if utterance.failed:
        rows.append(("failed", utterance.failed))
    out.print(name, style="bold", markup=False, highlight=False)
    for head, text in rows:
        if text:
            out.print(
                f"  {head}: {visible_text(text)}", markup=False, highlight=False, soft_wrap=True
            )


def _format_effect(effect: Effect) -> str:
    values = (
        f"{key} {number_format.format_short(value) if isinstance(value, float) else value}"
        for key, value in effect.detail.items()
    )
    start, end = (number_format.format_fixed(each, 2) for each in (effect.start_s, effect.end_s))
    span = f"{start}-{end} s"
    return f"{span}, severity {effect.severity}" + "".join(f", {value}" for value in values)
