"""What each acoustic condition costs, on the same utterances: a table, and whether it is in order.

    python benchmarks/conditions.py [--items 60] [--heard 10] [--drawn 70] [--seed 0]

First, on `--drawn` entries of each single-turn category, what is drawn before anything is made:
disfluencies, voices, ratios. Every argument value must survive, no class may occur twice.

Then `--items` of BFCL's simple entries are said once and heard in every condition: mean STOI
against the clean clip; word error rate of the simulated recogniser a, which is coupled to the
acoustics; accuracy of `baseline/lexical` on its transcripts. They are drawn from the entries that
this baseline answers as they are written, about a third: elsewhere it has nothing to lose.
PocketSphinx, which is real and takes about as long as the sound, hears the `--heard` shortest.
Each figure has the half-width of its 95 % interval over items, and in brackets the difference to
clean, paired by item. Bar: along each ladder no step makes STOI or accuracy better by more than its
paired interval allows, and the strongest step costs STOI.

Clips and transcripts are kept in the cache: with an empty one this takes most of ten minutes on
two cores, then two.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import toolmark as tm
from toolmark.core import seeds
from toolmark.core.records import Estimate, Task
from toolmark.language import value_survival
from toolmark.perturb.speech import voice_pool
from toolmark.perturb.text.disfluencies import CLASSES
from toolmark.runs.suite import Suite
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.paired_comparison import compare_paired
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.mfcl_speech import speech_items, speech_task_maker
from toolmark.suites.mfcl_speech.condition_labels import SATURATED_WER, estimate_part_average
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechPipeline, SpeechRecipe, UtteranceJob

CLEAN = "clean"
LADDERS = {
    "noise": ("snr=40", "snr=30", "snr=20", "snr=10"),
    "double talk": ("talker@1", "talker@2", "talker@3", "talker@4"),
    "packet loss": ("loss@1", "loss@2", "loss@3", "loss@4"),
    "reverberation": ("room@1", "room@2", "room@3", "room@4"),
    "clipping": ("overdrive@1", "overdrive@2", "overdrive@3", "overdrive@4"),
}
"""Each from the weakest step to the strongest."""
CONDITIONS = (CLEAN, *(step for steps in LADDERS.values() for step in steps))
CATEGORY, SIMULATED, REAL = "simple_python", "simulated:a", "pocketsphinx"
PARTS = {"STOI": "stoi", "PocketSphinx WER": REAL, "simulated a WER": "wer", "accuracy": ""}
"""The columns of the table, and the part of a score that each shows; "" is the score itself."""
CLASS = {name: kind for kind, features in CLASSES.items() for name in features}
EVERY_S = 20.0  # between two lines of progress
BARS = 40  # characters of the longest bar of a distribution


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--items", type=int, default=60, help="utterances of the table")
    parser.add_argument("--heard", type=int, default=10, help="of them for PocketSphinx")
    parser.add_argument("--drawn", type=int, default=70, help="entries per category, settings only")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    recipe = SpeechRecipe(seed=asked.seed)
    saved = drawn(SpeechPipeline(recipe), list(jobs(asked.drawn, recipe.seed)))
    found = measured(asked.items, asked.heard, asked.seed)
    table(found)
    sys.exit(not (ordered(found) and saved))


# --- what is drawn ----------------------------------------------------------------------


def jobs(n: int, seed: int) -> Iterator[UtteranceJob]:
    """Go through noisy utterances of n entries of each single-turn category, nothing made."""
    names = speech_items.select_categories(("expert", "community"))
    entries, _, _ = speech_items.read_entries(names, n, seed)
    for task in speech_items.condition_tasks(entries, "mfcl-speech", ("noisy",)):
        yield from filter(None, speech_task_maker._make_jobs(task, "noisy", ()))


def drawn(studio: SpeechPipeline, asked: Sequence[UtteranceJob]) -> bool:
    """Print how features, voices and settings are spread; tell whether all values survive."""
    lost = twice = 0
    features: Counter[str] = Counter()
    many: Counter[str] = Counter()
    for job in asked:
        rewritten, said, *_ = studio.word_request(job)
        made = [change.feature for change in said.changes[len(rewritten.changes) :]]
        features.update(made or ["none"])
        many[str(len(made))] += 1
        lost += bool(value_survival.lost_facts(job.written, said.text, job.facts))
        twice += len({CLASS[feature] for feature in made}) < len(made)
    stages = [stage for job in asked for stage in studio.draw_settings(job).stages]
    voices = [studio.choose_voice(job) for job in asked]
    print(f"{len(asked)} entries, seed {studio.recipe.seed}, condition noisy, first draw")
    print(f"utterances that lose an argument value: {lost}; with two features of a class: {twice}")
    spread("disfluencies", features)
    spread("disfluencies in one utterance", many)
    for factor in ("speaker", "engine", "accent", "sex"):
        rows = [row for row in voice_pool.voice_balance(voices) if row.factor == factor]
        spread(factor, Counter({row.level: row.draws for row in rows}))
    spread("effects", Counter(stage.name for stage in stages))
    for name in ("bed", "event", "talker", "rub"):
        ratios = [float(stage.values["snr_db"]) for stage in stages if stage.name == name]
        spread(f"speech over {name}, dB from", binned(ratios), by_size=False)
    return not lost and not twice


def binned(ratios: Iterable[float], step_db: int = 3) -> Counter[str]:
    """Count ratios by steps of some dB, the lowest first."""
    found = Counter(int(ratio // step_db) * step_db for ratio in ratios)
    return Counter({f"{low:3d}": found[low] for low in sorted(found)})


def spread(name: str, counts: Counter[str], *, by_size: bool = True) -> None:
    """Print counts as bars."""
    total, most = sum(counts.values()), max(counts.values(), default=1)
    print(f"\n{name} ({total})")
    for level, n in counts.most_common() if by_size else counts.items():
        print(f"  {level:28} {n:5} {n / total:6.1%}  {'#' * round(BARS * n / most)}")


# --- what it does -----------------------------------------------------------------------


def measured(n: int, heard: int, seed: int) -> Columns:
    """Make the utterances, let the baseline answer and PocketSphinx hear: its rates are a part."""
    chosen = known(n, seed)
    suite = loaded(SIMULATED, CONDITIONS, seed)
    asked = [task for task in suite if task.item in chosen]
    made = list(progress("made", suite.maker.make(asked), len(asked)))
    answers = answered(suite, chosen)
    few = {item for _, item in sorted({(len(turn(t)["said"]), t.item) for t in made})[:heard]}
    real = loaded(REAL, CONDITIONS, seed)
    asked = [task for task in real if task.item in few]
    rates = {
        task.id.replace(REAL, SIMULATED): turn(task)["wer"]
        for task in progress("heard by PocketSphinx", real.maker.make(asked), len(asked))
    }
    row = np.array([rates.get(task, np.nan) for task in answers.task])
    return replace(answers, parts={**answers.parts, REAL: row})


def known(n: int, seed: int) -> list[str]:
    """Draw n of the items that the baseline answers as they are written, before any is spoken."""
    answers = answered(loaded(SIMULATED, (speech_items.TEXT,), seed), ())
    right = sorted(answers.item[answers.correct].tolist())
    rng = seeds.make_rng(seed, CATEGORY, 0, "conditions")
    return [right[at] for at in seeds.sample_indices(rng, len(right), min(n, len(right)))]


def loaded(ear: str, conditions: tuple[str, ...], seed: int) -> Suite:
    """Return the suite that asks the category in these conditions by one recogniser."""
    return tm.load(
        "mfcl-transcripts", category=(CATEGORY,), conditions=conditions, recognisers=(ear,),
        judge="off", seed=seed,
    )  # fmt: skip


def answered(suite: Suite, ids: Sequence[str]) -> Columns:
    """Return how the baseline answers these items, all of them where none is named."""
    with tempfile.TemporaryDirectory() as folder:
        run = tm.run(suite, "baseline/lexical", ids=ids, log_dir=folder)
        return gather_columns(run.scores(), "official")


def turn(task: Task) -> dict[str, Any]:
    """Return the record of a task's only utterance."""
    [found] = task.data["speech"]["turns"]
    return dict(found)


def progress(what: str, tasks: Iterable[Task], n: int) -> Iterator[Task]:
    """Pass tasks on, telling now and then how far it is."""
    started = reported = time.monotonic()
    for at, task in enumerate(tasks, 1):
        if time.monotonic() - reported > EVERY_S or at == n:
            reported = time.monotonic()
            print(f"{what}: {at} of {n}, {reported - started:.0f} s", file=sys.stderr, flush=True)
        yield task


def heard_in(condition: str, found: Columns) -> Columns:
    """Return the rows of a condition."""
    return found.where(found.axis("condition") == condition)


def numbers(part: str, found: Columns) -> Columns:
    """Return the rows that have the part, with it as their value."""
    if not part:
        return found
    known = ~np.isnan(found.part(part))
    return replace(found, value=found.part(part), run=known).where(known)


def against(part: str, condition: str, base: str, found: Columns) -> Estimate:
    """Return how much a condition differs from another, paired by item."""
    rows = numbers(part, found)
    return compare_paired(heard_in(condition, rows), heard_in(base, rows)).difference


def table(found: Columns) -> None:
    """Print a row per condition: each figure, and in brackets its difference to clean."""
    sizes = [len(numbers(part, heard_in(CLEAN, found))) for part in PARTS.values()]
    print(f"\n{CATEGORY}: mean ± half-width of its 95 % interval (difference to clean, paired)")
    heads = (f"{name}, n={n}" for name, n in zip(PARTS, sizes, strict=True))
    print(f"{'condition':12}", *(f"{head:^27}" for head in heads))
    for condition in CONDITIONS:
        rows = heard_in(condition, found)
        cells = []
        for part in PARTS.values():
            own = estimate_part_average(rows, part) if part else estimate_mean(rows, "accuracy")
            cell = shown(own, part)
            if condition != CLEAN:
                cell += f" ({shown(against(part, condition, CLEAN, found), part, sign='+')})"
            cells.append(cell)
        real = estimate_part_average(rows, REAL).value
        mark = "PocketSphinx saturated" if real is not None and real >= SATURATED_WER else ""
        print(f"{condition:12}", *(f"{cell:^27}" for cell in cells), mark)


def shown(estimate: Estimate, part: str, *, sign: str = "") -> str:
    """Return a number with its half-width: STOI as it is, shares in per cent."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "-"
    scale, digits = (1, 3) if part == "stoi" else (100, 1)
    half = (estimate.high - estimate.low) / 2
    return f"{scale * estimate.value:{sign}.{digits}f} ±{scale * half:.{digits}f}"


def ordered(found: Columns) -> bool:
    """Print of each ladder whether STOI and accuracy fall along it; tell whether all do."""
    print(
        "\nfalling along the ladder, from clean on, within the paired 95 % intervals of its steps"
    )
    good = True
    for name, steps in LADDERS.items():
        for reported in ("STOI", "accuracy"):
            part = PARTS[reported]
            pairs = zip(steps, (CLEAN, *steps), strict=False)
            moves = [against(part, after, before, found) for after, before in pairs]
            rises = [steps[n] for n, move in enumerate(moves) if (move.low or 0) > 0]
            whole = against(part, steps[-1], CLEAN, found)
            falls = whole.high is not None and whole.high < 0
            met = not rises and (falls or reported != "STOI")
            strict = all((move.value or 0) <= 0 for move in moves)
            note = ", every step" if strict else f", but better at {rises}" if rises else ""
            print(f"  {name:14} {reported:9} {'yes' if met else 'NO'}{note}; "
                  f"{steps[-1]} to clean {shown(whole, part, sign='+')}")  # fmt: skip
            good &= met
    return good


if __name__ == "__main__":
    main()
