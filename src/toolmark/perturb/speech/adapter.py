"""An effect of audiomentations, if that package is installed: `audiomentations:ClippingDistortion`.

The package draws from the global generators of `random` and numpy. They are seeded under a lock
and put back as they were; other threads that use them meanwhile would still disturb it.
"""

from __future__ import annotations

import importlib
import random
import threading
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import UsageError
from toolmark.perturb.speech.clip import Clip

PREFIX = "audiomentations"
_LOCK = threading.Lock()


def known(name: str) -> str:
    """Return the name if it is an effect on waveforms of the installed package, or UsageError."""
    found = getattr(_package(), name, None) if name.isidentifier() else None
    base = importlib.import_module("audiomentations.core.transforms_interface")
    if not (isinstance(found, type) and issubclass(found, base.BaseWaveformTransform)):
        raise UsageError(f"audiomentations has no effect on waveforms called {name!r}")
    return name


def transformed(clip: Clip, name: str, seed: int) -> NDArray[np.float32]:
    """Return the samples after the effect with its own defaults, at probability 1."""
    make = getattr(_package(), known(name))
    with _LOCK:
        kept = random.getstate(), np.random.get_state()
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)
            out = make(p=1.0)(samples=clip.samples.copy(), sample_rate=clip.rate)
        except TypeError as error:
            raise UsageError(f"{PREFIX}:{name} needs more than its defaults: {error}") from None
        finally:
            random.setstate(kept[0])
            np.random.set_state(kept[1])
    return np.asarray(out, dtype=np.float32)


def _package() -> ModuleType:
    try:
        return importlib.import_module(PREFIX)
    except ImportError:
        raise UsageError("this effect needs a package: pip install audiomentations") from None
