"""What was done to a clip, and when: the entries of an effect timeline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.types import Record

Module: TypeAlias = Literal["environment", "talkers", "network", "device"]
MODULES: tuple[Module, ...] = ("environment", "talkers", "network", "device")
SEVERITIES = (1, 2, 3, 4)


class Effect(Record, frozen=True, kw_only=True):
    """One thing that happened to a clip, in seconds of the clip as it is heard.

    `detail` holds the strengths as applied. An effect that put time into the clip says how much
    in `inserted_s`, beginning at `start_s`; a cut tail says in `cut_s` how much is gone.
    """

    module: Module
    name: str
    start_s: float
    end_s: float
    severity: int
    detail: dict[str, str | float] = {}


class Changed(NamedTuple):
    """Samples after a stage, what it did (times of the clip after it), and what it put in.

    `inserted` holds (sample of the clip before, how many samples were put in before it).
    """

    samples: NDArray[np.float32]
    effects: tuple[Effect, ...] = ()
    inserted: tuple[tuple[int, int], ...] = ()


def effect(
    module: Module,
    name: str,
    span: tuple[float, float],
    severity: int,
    detail: Mapping[str, str | float] | None = None,
) -> Effect:
    """Return an Effect with its numbers rounded to what a manifest needs (microseconds)."""
    held = {
        key: value if isinstance(value, str) else round(float(value), 6)
        for key, value in (detail or {}).items()
    }
    start, end = (round(float(at), 6) for at in span)
    return Effect(
        module=module, name=name, start_s=start, end_s=end, severity=severity, detail=held
    )
