"""The conditions of a speech run: their order, their names, and what a reader must know of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolmark.perturb.speech.effect import MODULES
from toolmark.stats.columns import Columns
from toolmark.stats.summary import average
from toolmark.suites.mfcl.items import TEXT

__all__ = ["CLEAN", "NOISY", "TEXT", "average"]

CLEAN, NOISY = "clean", "noisy"
SATURATED = 0.85  # PocketSphinx's word error rate beyond which its transcripts tell nothing
SIMULATED = "simulated"
PRESETS = ("mild", "medium", "harsh")
_LEVEL = re.compile(r"([^+@=:]+)[@=](-?\d+(?:\.\d+)?)(:[^+]+)?")


def conditions(columns: Columns) -> list[str]:
    """Return the conditions present: text, clean, noisy, modules, others, levels weakest first."""
    known = (TEXT, CLEAN, NOISY, *PRESETS, *MODULES)
    first = {name: place for place, name in enumerate(known)}

    def place(name: str) -> tuple[int, bool, str, float]:
        family, level = graded(name) or (name, None)
        strength = (level or 0.0) * (-1 if is_ratio(family) else 1)
        return first.get(name, len(first)), level is not None, family, strength

    return sorted({str(name) for name in columns.axis("condition") if name}, key=place)


def ranked(columns: Columns) -> list[str]:
    """Return the conditions present, the one that leads first: noisy, clean, others, text."""
    found = conditions(columns)
    first = [name for name in (NOISY, CLEAN) if name in found]
    others = [name for name in found if name not in (NOISY, CLEAN, TEXT)]
    return [*first, *others, *(name for name in found if name == TEXT)]


def graded(condition: str) -> tuple[str, float] | None:
    """Split "snr=20:babble" and "loss@3" into family and level; None of what has no number."""
    found = _LEVEL.fullmatch(condition)
    return (found[1] + (found[3] or ""), float(found[2])) if found else None


def is_ratio(family: str) -> bool:
    """Tell whether levels of a family are ratios in dB: the greater, the weaker."""
    return family.partition(":")[0] == "snr"


def named(condition: str, columns: Columns) -> str:
    """Return a condition's name with what a reader must know: simulated, saturated."""
    told = marked(condition, columns)
    return f"{condition} ({told})" if told else condition


def marked(condition: str, columns: Columns) -> str:
    """Return what a reader must know of a condition: whether simulated, whether saturated."""
    rows = asked(columns, condition)
    return ", ".join([*_simulated(rows), *(["saturated"] if saturated(rows) else [])])


def tick(condition: str, columns: Columns) -> str:
    """Return a condition's name for an axis, which has little room: its title says the rest."""
    return f"{condition}, saturated" if saturated(asked(columns, condition)) else condition


def saturated(columns: Columns) -> bool:
    """Tell whether PocketSphinx mishears so much of these that its transcripts tell nothing."""
    found = average(columns.where(columns.axis("recogniser") == "pocketsphinx"), "wer").value
    return found is not None and found > SATURATED


def is_simulated(recogniser: str) -> bool:
    """Tell whether a recogniser only plays one."""
    return recogniser.partition(":")[0] == SIMULATED


def ear(recogniser: str) -> str:
    """Return a recogniser's name; one that is simulated says so, whatever it is called."""
    if not is_simulated(recogniser):
        return recogniser
    return f"{recogniser.partition(':')[2] or recogniser} ({SIMULATED})"


def _simulated(rows: Columns) -> Iterator[str]:
    ears = {str(name) for name in rows.axis("recogniser") if name}
    n = sum(map(is_simulated, ears))
    if n:
        yield SIMULATED if n == len(ears) else f"{n}/{len(ears)} {SIMULATED}"


def mark(told: str, columns: Columns) -> str:
    """Return a title with what must be known of the recognisers behind its numbers."""
    found = list(_simulated(columns))
    return f"{told} ({found[0]})" if found else told


def asked(columns: Columns, condition: str) -> Columns:
    """Return the answers in one condition."""
    return columns.where(columns.axis("condition") == condition)


def note(columns: Columns) -> str:
    """Explain the marks that stand beside conditions."""
    told = []
    if any(_simulated(columns)):
        told.append(
            " Simulated: recognisers whose transcripts are made from the text at a drawn error "
            "rate, not heard; 2/3 simulated: two of three."
        )
    if any(saturated(asked(columns, name)) for name in conditions(columns)):
        told.append(
            f" Saturated: PocketSphinx's word error rate there is above {100 * SATURATED:.0f} %, "
            "so that its transcripts say little of the model."
        )
    return "".join(told)
