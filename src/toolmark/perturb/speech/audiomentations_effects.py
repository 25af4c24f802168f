"""Effects of audiomentations, if it is installed: `audiomentations:ClippingDistortion`.

The package draws from the global generators of `random` and numpy. They are seeded under a lock,
and their state is restored; other threads that use them meanwhile would still disturb an effect.
"""

from __future__ import annotations

import importlib
import random
import threading
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import UsageError
from toolmark.perturb.speech.audio_clip import Clip

PACKAGE_NAME = "audiomentations"
_GENERATOR_LOCK = threading.Lock()


def check_effect_name(name: str) -> str:
    """Return the name of a waveform effect of the package. Raises UsageError for any other name."""
    found = getattr(_import_package(), name, None) if name.isidentifier() else None
    base = importlib.import_module("audiomentations.core.transforms_interface")
    if not (isinstance(found, type) and issubclass(found, base.BaseWaveformTransform)):
        raise UsageError(f"audiomentations has no effect on waveforms called {name!r}")
    return name


def apply_transform(clip: Clip, name: str, seed: int) -> NDArray[np.float32]:
    """Return the samples after the effect with its default settings, at probability 1."""
    make = getattr(_import_package(), check_effect_name(name))
    with _GENERATOR_LOCK:
        generator_states = random.getstate(), np.random.get_state()
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)
            out = make(p=1.0)(samples=clip.samples.copy(), sample_rate=clip.rate)
        except TypeError as error:
            raise UsageError(
                f"{PACKAGE_NAME}:{name} needs more than its defaults: {error}"
            ) from None
        finally:
            random.setstate(generator_states[0])
            np.random.set_state(generator_states[1])
    return np.asarray(out, dtype=np.float32)


def _import_package() -> ModuleType:
    try:
        return importlib.import_module(PACKAGE_NAME)
    except ImportError:
        raise UsageError("this effect needs a package: pip install audiomentations") from None
