"""Synthetic noises: small seeded functions, each `(n, rate, gen) -> (n,) float32` of any level.

They replace recorded corpora and are labelled as synthetic wherever they are used. Results with
them are not comparable with MUSAN or CHiME figures. Babble and the voices of a cafe are made from
the given clips.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import fft, signal

from toolmark.perturb.speech import audio_clip
from toolmark.perturb.speech.audio_clip import Clip

Samples: TypeAlias = NDArray[np.float32]
NoiseMaker: TypeAlias = Callable[[int, int, np.random.Generator], Samples]
BABBLE_VOICES = (3, 7)  # range of the number of voices, as in Kaldi's recipes
_NOISE_SLOPES = {"white": 0.0, "pink": 0.5, "brown": 1.0}
_LOW_HZ = 20.0  # coloured noise is flat below: microphones do not pick up lower frequencies


def noise_generator(seed: int) -> np.random.Generator:
    """Return the generator of one effect; equal seeds give equal noise."""
    return np.random.Generator(np.random.PCG64(seed))


def coloured_noise(n: int, rate: int, gen: np.random.Generator, slope: float) -> Samples:
    """Return noise whose amplitude falls with frequency ** slope (0 white, 0.5 pink, 1 brown)."""
    return shaped_noise(n, rate, gen, lambda hz: np.maximum(hz, _LOW_HZ) ** -slope)


def shaped_noise(
    n: int,
    rate: int,
    gen: np.random.Generator,
    gain: Callable[[NDArray[np.float64]], NDArray[np.float64]],
) -> Samples:
    """Return Gaussian noise with this gain over frequency (Hz), at unit power; empty if n is 0."""
    if n <= 0:
        return np.zeros(0, dtype=np.float32)
    size = fft.next_fast_len(max(n, 64), real=True)
    hz = np.arange(size // 2 + 1, dtype=np.float64) * (rate / size)
    spectrum = gen.standard_normal((2, len(hz)), dtype=np.float32)
    weights = gain(hz).astype(np.float32)
    weights[0] = 0.0
    found = fft.irfft((spectrum[0] + 1j * spectrum[1]) * weights, size)
    return _unit_power(found[:n])


def band_noise(n: int, rate: int, gen: np.random.Generator, low: float, high: float) -> Samples:
    """Return noise between two frequencies (Hz), with soft edges."""
    return shaped_noise(
        n, rate, gen, lambda hz: 1 / (1 + (low / np.maximum(hz, 1)) ** 6) / (1 + (hz / high) ** 6)
    )


def _unit_power(found: NDArray[np.floating]) -> Samples:
    power = audio_clip.mean_square(found)
    return (found / power**0.5).astype(np.float32) if power else found.astype(np.float32)


def _time_axis(n: int, rate: int) -> NDArray[np.float64]:
    return np.arange(n) / rate


def _add_piece(into: Samples, piece: NDArray[np.floating], at: int) -> None:
    """Add a piece at a sample index; the part after the end is dropped."""
    fitting = piece[: max(len(into) - at, 0)]
    into[at : at + len(fitting)] += fitting.astype(np.float32)


def _draw_places(n: int, rate: int, gen: np.random.Generator, per_s: float) -> NDArray[np.int64]:
    """Draw sample indices of events, `per_s` per second on average, at least one."""
    if n <= 0:
        return np.zeros(0, dtype=np.int64)
    return np.sort(gen.integers(0, n, max(int(gen.poisson(per_s * n / rate)), 1)))


def slow_curve(n: int, rate: int, gen: np.random.Generator, every_s: float) -> NDArray[np.float64]:
    """Return a slow random curve of about unit size that changes direction every `every_s`."""
    knots = max(int(n / rate / every_s), 1) + 2
    return np.interp(np.linspace(0, knots - 1, n), np.arange(knots), gen.standard_normal(knots))


def hum(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return mains hum, 50 or 60 Hz with harmonics, over a faint hiss."""
    base = 50.0 if gen.random() < 0.5 else 60.0
    t = _time_axis(n, rate)
    found = np.zeros(n)
    for k in range(1, 9):
        swing = gen.random() / k**0.7
        found += swing * np.sin(2 * np.pi * (base * k * t + gen.random()))
    return _unit_power(found + 0.05 * coloured_noise(n, rate, gen, 0.5))


def fan(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return a fan: low air noise, modulated by the blades, and a motor tone."""
    blades = gen.uniform(18, 40)
    t = _time_axis(n, rate)
    beat = 1 + 0.25 * np.sin(2 * np.pi * (blades * t + gen.random()))
    tone = 0.25 * np.sin(2 * np.pi * (blades * 6 * t + gen.random()))
    air = shaped_noise(n, rate, gen, lambda hz: 1 / (1 + (hz / 600) ** 1.5))
    return _unit_power(air * beat + tone)


def rain(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return rain: a hiss, and drops that each ring for some milliseconds."""
    hiss = shaped_noise(n, rate, gen, lambda hz: hz / (hz + 1500) / (1 + (hz / 6500) ** 4))
    drops = np.zeros(n, dtype=np.float32)
    places = _draw_places(n, rate, gen, 60)
    np.add.at(drops, places, gen.exponential(1.0, len(places)).astype(np.float32))
    t = _time_axis(int(0.012 * rate), rate)
    ring = np.exp(-t / 0.0008) * np.sin(2 * np.pi * gen.uniform(2200, 4200) * t)
    rung = signal.oaconvolve(drops, ring)[:n] if n else drops
    return _unit_power(hiss + 3 * rung)


def wind(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return wind on a microphone: low rumble in gusts."""
    rumble = shaped_noise(n, rate, gen, lambda hz: 1 / (1 + (hz / 120) ** 2))
    return _unit_power(rumble * np.exp(0.8 * slow_curve(n, rate, gen, 0.6)))


def siren(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return an emergency siren: a wailing or two-tone sound with harmonics, with some noise."""
    t = _time_axis(n, rate)
    low = gen.uniform(450, 650)
    high = low * gen.uniform(1.7, 2.4)
    beat = np.sin(2 * np.pi * (gen.uniform(0.3, 1.2) * t + gen.random()))
    if gen.random() < 0.4:
        beat = np.tanh(8 * beat)  # two tones, not a wail
    phase = 2 * np.pi * (np.cumsum(low + (high - low) * (0.5 + 0.5 * beat)) / rate + gen.random())
    voice = np.sin(phase) + 0.4 * np.sin(2 * phase) + 0.25 * np.sin(3 * phase)
    return _unit_power(voice + 0.05 * coloured_noise(n, rate, gen, 0.5))


def ring(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return a ringing telephone: two alternating tones, on and off."""
    t = _time_axis(n, rate)
    base, warble = gen.uniform(800, 1300), gen.uniform(14, 24)
    tone = np.where(
        np.sin(2 * np.pi * (warble * t + gen.random())) > 0,
        np.sin(2 * np.pi * base * t),
        np.sin(2 * np.pi * base * 1.26 * t),
    )
    on = np.mod(t + gen.uniform(0, 0.4), 1.4) < 0.9  # it rings from the start
    return _unit_power(tone * on + 0.02 * coloured_noise(n, rate, gen, 0.5))


def slam(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return one door slam: a crack, a low thump and a decaying rattle."""
    t = _time_axis(n, rate)
    thump = np.sin(2 * np.pi * gen.uniform(55, 110) * t) * np.exp(-t / gen.uniform(0.05, 0.12))
    crack = band_noise(n, rate, gen, 300, 5000) * np.exp(-t / 0.012)
    rattle = band_noise(n, rate, gen, 150, 1800) * np.exp(-t / gen.uniform(0.05, 0.15))
    return _unit_power(2 * thump + 1.5 * crack + 0.5 * rattle)


def keyboard(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return typing: a press and a softer release for each key, over a quiet room."""
    found = 0.05 * coloured_noise(n, rate, gen, 0.5)
    size = int(0.03 * rate)
    decay = np.exp(-_time_axis(size, rate) / 0.006)
    for at in _draw_places(n, rate, gen, gen.uniform(6, 10)):
        key = band_noise(size, rate, gen, 1200, 6000) * decay * gen.uniform(0.6, 1.4)
        _add_piece(found, key, int(at))
        _add_piece(found, 0.4 * key, int(at) + int(gen.uniform(0.06, 0.11) * rate))
    return _unit_power(found)


def street(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return a street: a low roar, passing cars, sometimes a horn."""
    found = coloured_noise(n, rate, gen, 0.9)
    t = _time_axis(n, rate)
    for at in _draw_places(n, rate, gen, 0.35):
        swell = np.exp(-0.5 * ((t - at / rate) / gen.uniform(0.4, 1.2)) ** 2)
        found += (gen.uniform(1, 2) * swell * band_noise(n, rate, gen, 150, 2500)).astype(
            np.float32
        )
    if gen.random() < 0.4:
        size = int(gen.uniform(0.2, 0.7) * rate)
        s = _time_axis(size, rate)
        horn = sum(np.sign(np.sin(2 * np.pi * hz * s)) for hz in (410.0, 515.0))
        _add_piece(found, gen.uniform(0.3, 0.7) * np.asarray(horn), int(gen.integers(0, max(n, 1))))
    return _unit_power(found)


def murmur(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return speech-shaped noise, modulated at the rate of syllables: voices without clips."""
    found = shaped_noise(n, rate, gen, lambda hz: hz / (hz + 150) / (1 + (hz / 600) ** 1.6))
    return _unit_power(found * np.exp(0.5 * slow_curve(n, rate, gen, 0.12)))


def babble(n: int, rate: int, gen: np.random.Generator, voices: Sequence[Clip]) -> Samples:
    """Return a mix of 3 to 7 of the clips at equal levels, each looped from a random place."""
    found = np.zeros(n, dtype=np.float32)
    usable = [voice for voice in voices if len(voice.samples)]
    if not usable:
        return murmur(n, rate, gen)
    many = min(int(gen.integers(BABBLE_VOICES[0], BABBLE_VOICES[1] + 1)), len(usable))
    for k in gen.choice(len(usable), many, replace=False):
        voice = audio_clip.level_clip(audio_clip.resample_clip(usable[int(k)], rate)).samples
        start = int(gen.integers(0, len(voice)))
        found += np.resize(np.roll(voice, -start), n)
    return _unit_power(found)


def cafe(n: int, rate: int, gen: np.random.Generator, voices: Sequence[Clip] = ()) -> Samples:
    """Return a cafe: soft noise, distant voices, and clinks of cups."""
    found = 0.4 * coloured_noise(n, rate, gen, 0.5)
    tail = int(0.3 * rate)
    far = coloured_noise(tail, rate, gen, 0.5) * np.exp(-_time_axis(tail, rate) / 0.09)
    far[0] += 15.0
    if n:
        found += _unit_power(signal.oaconvolve(babble(n, rate, gen, voices), far)[:n])
    size = int(0.25 * rate)
    t = _time_axis(size, rate)
    for at in _draw_places(n, rate, gen, 1.2):
        hz = gen.uniform(2200, 5200)
        clink = np.sin(2 * np.pi * hz * t) + 0.6 * np.sin(2 * np.pi * 1.51 * hz * t)
        _add_piece(
            found, gen.uniform(0.4, 1.6) * clink * np.exp(-t / gen.uniform(0.02, 0.06)), int(at)
        )
    return _unit_power(found)


def white_noise(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return noise of equal power at every frequency."""
    return coloured_noise(n, rate, gen, _NOISE_SLOPES["white"])


def pink_noise(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return noise that falls 3 dB per octave."""
    return coloured_noise(n, rate, gen, _NOISE_SLOPES["pink"])


def brown_noise(n: int, rate: int, gen: np.random.Generator) -> Samples:
    """Return noise that falls 6 dB per octave."""
    return coloured_noise(n, rate, gen, _NOISE_SLOPES["brown"])


NOISE_MAKERS: dict[str, NoiseMaker] = {
    "white": white_noise,
    "pink": pink_noise,
    "brown": brown_noise,
    "hum": hum,
    "fan": fan,
    "rain": rain,
    "wind": wind,
    "siren": siren,
    "keyboard": keyboard,
    "street": street,
    "murmur": murmur,
    "ring": ring,
    "slam": slam,
}
VOICE_NOISES = ("babble", "cafe")  # made from clips of speech
BED_NOISES = ("white", "pink", "brown", "hum", "fan", "rain", "wind", "keyboard", "street", "cafe")
"""Noises that can be a bed under an utterance; babble is possible too if there are voices."""
EVENT_NOISES = ("slam", "siren", "ring")


def make_noise(
    kind: str, n: int, rate: int, gen: np.random.Generator, voices: Sequence[Clip] = ()
) -> Samples:
    """Return n samples of this noise, at unit power if n > 0. Raises KeyError for other kinds."""
    if kind == "babble":
        return babble(n, rate, gen, voices)
    if kind == "cafe":
        return cafe(n, rate, gen, voices)
    return NOISE_MAKERS[kind](n, rate, gen)
