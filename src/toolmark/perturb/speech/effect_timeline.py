"""The entries of an effect timeline: what was done to a clip, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.records import Record

EffectModule: TypeAlias = Literal["environment", "talkers", "network", "device"]
EFFECT_MODULES: tuple[EffectModule, ...] = ("environment", "talkers", "network", "device")
SEVERITIES = (1, 2, 3, 4)


class Effect(Record, frozen=True, kw_only=True):
    """One effect on a clip, with times in seconds of the clip as it is heard.

    `detail` contains the strengths as applied. An effect that inserts time into the clip, at
    `start_s`, gives its length in `inserted_s`; a cut tail gives the removed time in `cut_s`.
    """

    module: EffectModule
    name: str
    start_s: float
    end_s: float
    severity: int
    detail: dict[str, str | float] = {}


class StageResult(NamedTuple):
    """Samples after a stage, its effects (times of the clip after it), and the inserted time.

    `inserted` contains pairs (index of a sample before the stage, samples inserted before it).
    """

    samples: NDArray[np.float32]
    effects: tuple[Effect, ...] = ()
    inserted: tuple[tuple[int, int], ...] = ()


def make_effect(
    module: EffectModule,
    name: str,
    span: tuple[float, float],
    severity: int,
    detail: Mapping[str, str | float] | None = None,
) -> Effect:
    """Return an Effect with its numbers rounded as a manifest needs (microseconds)."""
    rounded = {
        key: value if isinstance(value, str) else round(float(value), 6)
        for key, value in (detail or {}).items()
    }
    start, end = (round(float(at), 6) for at in span)
    return Effect(
        module=module, name=name, start_s=start, end_s=end, severity=severity, detail=rounded
    )
