"""The conditions of a speech run: their order, their names, and what a reader must know of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolmark.core import number_format
from toolmark.perturb.speech.effect_timeline import EFFECT_MODULES
from toolmark.statistics.estimates import estimate_part_average
from toolmark.statistics.score_columns import Columns
from toolmark.suites.mfcl_speech.speech_items import CONDITIONS_IN_WRITING, SAID, TEXT

__all__ = ["CLEAN", "CONDITIONS_IN_WRITING", "NOISY", "SAID", "TEXT", "estimate_part_average"]

CLEAN, NOISY = "clean", "noisy"
SATURATED_WER = 0.85  # word error rate of PocketSphinx above which its transcripts mean nothing
SIMULATED = "simulated"
PRESETS = ("mild", "medium", "harsh")
_LEVEL = re.compile(r"([^+@=:]+)[@=](-?\d+(?:\.\d+)?)(:[^+]+)?")


def present_conditions(columns: Columns) -> list[str]:
    """Return the conditions present: text, said, clean, noisy, modules, others; weak first."""
    known = (TEXT, SAID, CLEAN, NOISY, *PRESETS, *EFFECT_MODULES)
    first = {name: sort_key for sort_key, name in enumerate(known)}

    def sort_key(name: str) -> tuple[int, bool, str, float]:
        family, level = split_level(name) or (name, None)
        strength = (level or 0.0) * (-1 if is_ratio(family) else 1)
        return first.get(name, len(first)), level is not None, family, strength

    return sorted({str(name) for name in columns.axis("condition") if name}, key=sort_key)


def ranked_conditions(columns: Columns) -> list[str]:
    """Return the conditions present, in the order of the headline: those in writing are last."""
    found = present_conditions(columns)
    first = [name for name in (NOISY, CLEAN) if name in found]
    others = [name for name in found if name not in (NOISY, CLEAN, *CONDITIONS_IN_WRITING)]
    return [*first, *others, *(name for name in (SAID, TEXT) if name in found)]


def split_level(condition: str) -> tuple[str, float] | None:
    """Split "snr=20:babble" and "loss@3" into family and level; None where there is no number."""
    found = _LEVEL.fullmatch(condition)
    return (found[1] + (found[3] or ""), float(found[2])) if found else None


def is_ratio(family: str) -> bool:
    """Return whether levels of a family are ratios in dB: the greater, the weaker."""
    return family.partition(":")[0] == "snr"


def condition_label(condition: str, columns: Columns) -> str:
    """Return a condition's name with what a reader must know: simulated, saturated."""
    marks = condition_marks(condition, columns)
    return f"{condition} ({marks})" if marks else condition


def condition_marks(condition: str, columns: Columns) -> str:
    """Return what a reader must know of a condition: whether simulated, whether saturated."""
    rows = condition_rows(columns, condition)
    return ", ".join([*_simulated_mark(rows), *(["saturated"] if is_saturated(rows) else [])])


def tick_label(condition: str, columns: Columns) -> str:
    """Return a condition's short name for an axis: the axis title says the rest."""
    return (
        f"{condition}, saturated" if is_saturated(condition_rows(columns, condition)) else condition
    )


def is_saturated(columns: Columns) -> bool:
    """Return whether PocketSphinx's error rate is too high for its transcripts to mean anything."""
    found = estimate_part_average(
        columns.where(columns.axis("recogniser") == "pocketsphinx"), "wer"
    ).value
    return found is not None and found > SATURATED_WER


def is_simulated(recogniser: str) -> bool:
    """Return whether a recogniser is simulated."""
    return recogniser.partition(":")[0] == SIMULATED


def recogniser_label(recogniser: str) -> str:
    """Return a recogniser's name; a simulated one is marked, whatever its name is."""
    if not is_simulated(recogniser):
        return recogniser
    return f"{recogniser.partition(':')[2] or recogniser} ({SIMULATED})"


def _simulated_mark(rows: Columns) -> Iterator[str]:
    recognisers = {str(name) for name in rows.axis("recogniser") if name}
    n = sum(map(is_simulated, recognisers))
    if n:
        yield SIMULATED if n == len(recognisers) else f"{n}/{len(recognisers)} {SIMULATED}"


def mark_title(title: str, columns: Columns) -> str:
    """Return a title with what a reader must know of the recognisers behind its numbers."""
    found = list(_simulated_mark(columns))
    return f"{title} ({found[0]})" if found else title


def rows_by_condition(columns: Columns) -> dict[str, Columns]:
    """Return the answers in each condition, in the order of `present_conditions`."""
    return {name: condition_rows(columns, name) for name in present_conditions(columns)}


def condition_rows(columns: Columns, condition: str) -> Columns:
    """Return the answers in one condition."""
    return columns.where(columns.axis("condition") == condition)


def marks_note(columns: Columns) -> str:
    """Return a note that explains the marks next to conditions."""
    notes = []
    if any(_simulated_mark(columns)):
        notes.append(
            " Simulated: recognisers whose transcripts are made from the text at a drawn error "
            "rate, not heard; 2/3 simulated: two of three."
        )
    if any(map(is_saturated, rows_by_condition(columns).values())):
        notes.append(
            " Saturated: PocketSphinx's word error rate there is above "
            f"{number_format.format_percent(SATURATED_WER, 0)}, so that its transcripts say little "
            "of the model."
        )
    return "".join(notes)
