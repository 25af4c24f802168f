"""The acoustic stage: settings are drawn once, recorded, and applied to a clip.

A condition names what is done; `+` joins several:

    clean                      nothing
    noisy                      all four modules, the strength of each drawn from 1 to 3
    mild | medium | harsh      all four modules, strengths 1, 1 to 2, 2 to 3
    environment | talkers | network | device      one module
    bed | event | talker | loss | loop | jitter | tail | room | gain | overdrive | rub
    white | pink | brown | babble | cafe | ...     a bed of this noise
    mu-law | a-law | gsm | opus                    a codec
    snr=20 | snr=20:babble                         a bed at exactly this ratio
    audiomentations:AddGaussianNoise               an effect of that package, if it is installed

Modules and effects take a severity: `loss@3`; without one it is drawn from 1 to 4. Whatever the
order in which they are named, they are applied as sound meets them: room, drift of gain, other
talkers, bed, event, rubbing, overdrive, codec, loss, jitter, loops, cut tail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeVar

import numpy as np
from msgspec import structs

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.perturb.speech import (
    adapter,
    device,
    environment,
    folders,
    network,
    noise,
    room,
    talkers,
    wire,
)  # fmt: skip
from toolmark.perturb.speech import clip as clips
from toolmark.perturb.speech.clip import Clip, Speech
from toolmark.perturb.speech.effect import MODULES, SEVERITIES, Changed, Effect, effect
from toolmark.types import Record

__all__ = [
    "CONDITIONS", "PRESETS", "Bank", "Effect", "Heard", "Settings", "Stage", "apply", "draw",
    "family",
]  # fmt: skip

PRESETS = {"noisy": (1, 3), "mild": (1, 1), "medium": (1, 2), "harsh": (2, 3)}
ORDER = (
    "room", "gain", "talker", "bed", "event", "rub", "overdrive", adapter.PREFIX, "codec",
    "loss", "jitter", "loop", "tail",
)  # fmt: skip
OF = {
    "environment": ("bed", "event"),
    "talkers": ("talker",),
    "network": ("loss", "jitter", "loop", "tail"),
    "device": ("room", "gain", "overdrive", "rub"),
}
"""Effects of each module; of a module the first always happens, each other one half the time."""
STEPS_DB = (40, 30, 20, 10)
CONDITIONS = (
    "clean", *PRESETS, *MODULES, *(name for names in OF.values() for name in names),
    *noise.BEDS, "babble", *wire.CODECS, *(f"snr={step}" for step in STEPS_DB),
)  # fmt: skip
_ALONE = ("room", "gain")
"""What shapes the speech before anything is mixed with it; its level is measured after them."""
_LEAST_DB, _MOST_DB = -20.0, 100.0
_T = TypeVar("_T", talkers.Talk, room.Response, folders.Noise)


class Bank(NamedTuple):
    """What the stage draws from: clips for babble, other talkers, rooms, recorded noises."""

    babble: tuple[Clip, ...] = ()
    talks: tuple[talkers.Talk, ...] = ()
    rooms: tuple[room.Response, ...] = ()
    noises: tuple[folders.Noise, ...] = ()


class Stage(Record, frozen=True, kw_only=True):
    """One effect with all that was drawn for it; `seed` makes its noise."""

    name: str
    severity: int
    seed: int
    values: dict[str, str | float] = {}
    places: tuple[tuple[float, float], ...] = ()


class Settings(Record, frozen=True, kw_only=True):
    """What is done to one clip, in the order in which it is applied."""

    condition: str
    stages: tuple[Stage, ...] = ()


class Heard(NamedTuple):
    """The clip as it is heard, and what happened to it in the order of time.

    `span_s`: from where to where the one who is meant speaks in it, in seconds; None of silence.
    """

    clip: Clip
    timeline: tuple[Effect, ...]
    span_s: tuple[float, float] | None = None


def draw(
    condition: str, rng: Random, bank: Bank | None = None, *, avoid: Sequence[str] = ()
) -> Settings:
    """Draw the settings of a condition; talks whose text is in `avoid` are not chosen.

    Raises UsageError for an unknown condition, or one whose clips or rooms the bank lacks.
    """
    held = bank or Bank()
    drawn: list[Stage] = []
    for part in condition.split("+"):
        for name, severity, fixed in _wanted(part.strip(), rng):
            drawn.append(_stage(name, severity, fixed, rng, held, avoid))
    drawn.sort(key=lambda stage: ORDER.index(stage.name))
    return Settings(condition=condition, stages=_together(drawn, held))


def family(condition: str) -> str:
    """Return a condition without its strengths: snr for snr=20, snr:cafe, loss for loss@3.

    Drawn from equal generators, conditions of one family differ in strength alone: the same noise,
    louder; the same talker at the same time.
    """
    return "+".join(map(_bare, condition.split("+")))


def _bare(part: str) -> str:
    name, _, level = part.strip().partition("@")[0].partition("=")
    return "".join((name, *level.partition(":")[1:]))


def _together(drawn: Sequence[Stage], bank: Bank) -> tuple[Stage, ...]:
    """Put other talkers into the room of the one who is meant, at another place of it."""
    own = next((str(stage.values["room"]) for stage in drawn if stage.name == "room"), "")
    places = [one.name for one in bank.rooms if one.name.partition("/")[0] == own.partition("/")[0]]
    other = next((name for name in places if name != own), own)
    if not other:
        return tuple(drawn)
    return tuple(
        structs.replace(stage, values={**stage.values, "room": other})
        if stage.name == "talker"
        else stage
        for stage in drawn
    )


def _wanted(part: str, rng: Random) -> list[tuple[str, int, dict[str, str | float]]]:
    """Return the effects that one part of a condition asks for: name, severity, what is fixed."""
    name, at, grade = part.partition("@")
    severity = _severity(grade, part) if at else 0
    if name == "clean" and not at:
        return []
    if name in PRESETS and not at:
        low, high = PRESETS[name]
        return [one for m in MODULES for one in _module(m, seeds.between(rng, low, high), rng)]
    severity = severity or seeds.choice(rng, SEVERITIES)
    if name in OF:
        return _module(name, severity, rng)
    if name in ORDER and name not in ("codec", adapter.PREFIX):
        return [(name, severity, {})]
    if name in (*noise.MAKERS, *noise.VOICED):
        return [("bed", severity, {"noise": name})]
    if name in wire.CODECS:
        return [("codec", wire.SEVERITY[name], {"codec": name})]
    if name.startswith("snr="):
        fixed = _ratio(name, part)
        return [("bed", environment.graded(float(fixed["snr_db"])), fixed)]
    if name.startswith(f"{adapter.PREFIX}:"):
        return [(adapter.PREFIX, severity, {"transform": adapter.known(name.partition(":")[2])})]
    raise UsageError(f"no acoustic condition {part!r}{near(name, CONDITIONS)}")


def _severity(grade: str, part: str) -> int:
    if grade not in {str(s) for s in SEVERITIES}:
        raise UsageError(f"{part!r}: a severity is 1, 2, 3 or 4, not {grade!r}")
    return int(grade)


def _ratio(name: str, part: str) -> dict[str, str | float]:
    text, _, kind = name.removeprefix("snr=").partition(":")
    try:
        ratio = float(text)
    except ValueError:
        ratio = float("nan")
    if not _LEAST_DB <= ratio <= _MOST_DB:
        raise UsageError(
            f"{part!r}: write a ratio of {_LEAST_DB:g} to {_MOST_DB:g} dB, like snr=20 or "
            "snr=20:cafe"
        )
    kinds = (*noise.MAKERS, *noise.VOICED)
    if kind and kind not in kinds:
        raise UsageError(f"{part!r}: no noise {kind!r}{near(kind, kinds)}")
    return {"snr_db": ratio, **({"noise": kind} if kind else {})}


def _module(name: str, severity: int, rng: Random) -> list[tuple[str, int, dict[str, str | float]]]:
    first, *others = OF[name]
    return [(first, severity, {}), *((one, severity, {}) for one in others if rng.random() < 0.5)]


# --- drawing ----------------------------------------------------------------------------


def _stage(
    name: str,
    severity: int,
    fixed: dict[str, str | float],
    rng: Random,
    bank: Bank,
    avoid: Sequence[str],
) -> Stage:
    """Draw one effect: its numbers, its choices from the bank, its places, its own seed."""
    values = dict(fixed)
    places: tuple[tuple[float, float], ...] = ()
    match name:
        case "bed":
            values = _bed(severity, fixed, rng, bank)
        case "event":
            values = {
                "noise": seeds.choice(rng, noise.EVENTS), "at": _in(rng, 0.25, 0.7),
                "snr_db": _in(rng, *environment.EVENT_DB[severity]),
            }  # fmt: skip
        case "talker":
            values = _talker(severity, rng, bank, avoid)
        case "room":
            values = {"room": seeds.choice(rng, _rooms(bank, severity)).name}
        case "rub":
            values = {"snr_db": _in(rng, *device.RUB_DB[severity])}
            places = _places(rng, device.RUBS[severity], device.RUB_MS)
        case "loop":
            places = _places(rng, network.LOOPS[severity], network.LOOP_MS)
        case "tail":
            values = {"share": _in(rng, *network.TAIL[severity])}
        case "loss" | "jitter":
            values = _frames(name, severity, rng)
        case "gain":
            values = {"size_db": device.DRIFT_DB[severity]}
        case "overdrive":
            values = {"drive_db": device.DRIVE_DB[severity]}
    return Stage(
        name=name, severity=severity, seed=rng.getrandbits(53), values=values, places=places
    )


def _in(rng: Random, low: float, high: float) -> float:
    return round(low + (high - low) * rng.random(), 4)


def _places(rng: Random, many: int, ms: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    """Draw (share of the clip, milliseconds) in the order of time, away from both ends."""
    return tuple(sorted((_in(rng, 0.1, 0.9), _in(rng, *ms)) for _ in range(many)))


def _bed(
    severity: int, fixed: dict[str, str | float], rng: Random, bank: Bank
) -> dict[str, str | float]:
    kinds = [*noise.BEDS, *(("babble",) if bank.babble else ())]
    recorded = [one.name for one in bank.noises if one.use == "noise"]
    if "noise" not in fixed and recorded:
        kind = f"{folders.PREFIX}{seeds.choice(rng, recorded)}"
    else:
        kind = str(fixed.get("noise") or seeds.choice(rng, kinds))
    if kind == "babble" and not bank.babble:
        raise UsageError("babble is made of clips of speech: pass Bank(babble=...)")
    ratio = fixed.get("snr_db")
    drawn = _in(rng, *environment.BED_DB[severity]) if ratio is None else float(ratio)
    return {"noise": kind, "snr_db": drawn}


def _talker(severity: int, rng: Random, bank: Bank, avoid: Sequence[str]) -> dict[str, str | float]:
    names = [talk.name for talk in bank.talks if talk.text not in avoid]
    if not names:
        raise UsageError("double talk needs what others say: pass Bank(talks=...)")
    found: dict[str, str | float] = {
        "talk": seeds.choice(rng, names), "at": _in(rng, 0.0, 0.45),
        "snr_db": _in(rng, *talkers.TALK_DB[severity]),
    }  # fmt: skip
    return found


def _rooms(bank: Bank, severity: int) -> list[room.Response]:
    """Return the rooms of a severity, or the nearest that there is."""
    if not bank.rooms:
        raise UsageError("reverberation needs rooms: pass Bank(rooms=room.bank(folder))")
    best = min(abs(one.severity - severity) for one in bank.rooms)
    return [one for one in bank.rooms if abs(one.severity - severity) == best]


def _frames(name: str, severity: int, rng: Random) -> dict[str, str | float]:
    frame = seeds.choice(rng, network.FRAMES_MS)
    if name == "jitter":
        return {"mean_ms": network.JITTER_MS[severity], "frame_ms": frame}
    share, burst = network.LOSS[severity]
    conceal = seeds.choice(rng, ("silence", "repeat"))
    return {
        "share": share, "burst_ms": max(burst, frame), "frame_ms": frame, "concealed": conceal,
    }  # fmt: skip


# --- applying ---------------------------------------------------------------------------


def apply(clip: Clip, settings: Settings, bank: Bank | None = None) -> Heard:
    """Return the clip after all stages: float32 in [-1, 1] at the rate of the clip, and finite.

    Equal clips, settings and banks give equal samples. Ratios and shares are those of the speech
    alone, as it is at that point; what was mixed with it before counts for nothing. Where the sum
    would pass full scale the whole is lowered. Raises UsageError if the bank lacks what the
    settings name.
    """
    held = bank or Bank()
    samples = np.nan_to_num(clip.samples.astype(np.float32, copy=True))
    speech = clips.alone(Clip(samples, clip.rate))
    timeline: tuple[Effect, ...] = ()
    for k, stage in enumerate(settings.stages):
        done = _DOERS[stage.name](Clip(samples, clip.rate), stage, held, speech)
        samples = done.samples
        if all(each.name in _ALONE for each in settings.stages[: k + 1]):
            speech = clips.alone(Clip(samples, clip.rate), speech.span)
        else:
            speech = network.carried(speech, done.inserted, len(samples))
        timeline = network.moved(timeline, done.inserted, clip.rate) + done.effects
    peak = float(np.abs(samples).max()) if len(samples) else 0.0
    if peak > 1:
        samples = np.clip(samples * np.float32(0.999 / peak), -1, 1)
    heard = Clip(samples.astype(np.float32, copy=False), clip.rate)
    kept = network.within(timeline, heard.seconds)
    inside = speech.span[speech.span < len(samples)]
    ends = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else None
    span_s = (ends[0] / clip.rate, ends[1] / clip.rate) if ends else None
    return Heard(heard, tuple(sorted(kept, key=lambda e: (e.start_s, -e.end_s, e.name))), span_s)


def _named(held: Sequence[_T], name: str, what: str) -> _T:
    for one in held:
        if one.name == name:
            return one
    raise UsageError(f"the bank has no {what} {name!r} that the settings name: pass the same bank")


def _number(stage: Stage, key: str) -> float:
    return float(stage.values[key])


def _do_bed(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    kind, n = str(stage.values["noise"]), len(clip.samples)
    gen = noise.generator(stage.seed)
    if kind.startswith(folders.PREFIX):
        source = _named(bank.noises, kind.removeprefix(folders.PREFIX), "noise")
        sound = folders.take(source, n, clip.rate, gen)
    else:
        sound = noise.make(kind, n, clip.rate, gen, bank.babble)
    return environment.bed(
        clip, sound, _number(stage, "snr_db"), name=kind, severity=stage.severity, speech=speech
    )


def _do_event(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    return environment.event(
        clip, str(stage.values["noise"]), _number(stage, "snr_db"), _number(stage, "at"),
        noise.generator(stage.seed), severity=stage.severity, speech=speech,
    )  # fmt: skip


def _do_talker(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    talk = _named(bank.talks, str(stage.values["talk"]), "talk")
    if where := stage.values.get("room"):
        response = _named(bank.rooms, str(where), "room")
        talk = talk._replace(clip=Clip(room.heard(talk.clip, response), talk.clip.rate))
    return talkers.overlay(
        clip, talk, _number(stage, "snr_db"), _number(stage, "at"), severity=stage.severity,
        speech=speech,
    )  # fmt: skip


def _do_room(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    response = _named(bank.rooms, str(stage.values["room"]), "room")
    return room.reverberated(clip, response, severity=stage.severity)


def _do_gain(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    gen = noise.generator(stage.seed)
    return device.gain(clip, _number(stage, "size_db"), gen, severity=stage.severity)


def _do_overdrive(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    drive_db = _number(stage, "drive_db")
    return device.overdrive(clip, drive_db, severity=stage.severity, speech=speech)


def _do_rub(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    gen = noise.generator(stage.seed)
    return device.rub(
        clip, stage.places, _number(stage, "snr_db"), gen, severity=stage.severity, speech=speech
    )


def _do_adapter(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    name = str(stage.values["transform"])
    samples = adapter.transformed(clip, name, stage.seed)
    done = effect("device", f"{adapter.PREFIX}:{name}", (0, clip.seconds), stage.severity)
    return Changed(samples, (done,))


def _do_codec(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    peak = max(float(np.abs(clip.samples).max(initial=0)), 1.0)  # it would cut what is louder
    done = wire.coded(Clip(clip.samples / np.float32(peak), clip.rate), str(stage.values["codec"]))
    return done._replace(samples=done.samples * np.float32(peak))


def _do_loss(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    return network.loss(
        clip, _number(stage, "share"), _number(stage, "burst_ms"), _number(stage, "frame_ms"),
        noise.generator(stage.seed), repeat=stage.values["concealed"] == "repeat",
        severity=stage.severity, speech=speech,
    )  # fmt: skip


def _do_jitter(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    gen = noise.generator(stage.seed)
    mean, frame = _number(stage, "mean_ms"), _number(stage, "frame_ms")
    return network.jitter(clip, mean, frame, gen, severity=stage.severity, speech=speech)


def _do_loop(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    places = [(where, ms, 1 + (stage.seed >> k) % 2) for k, (where, ms) in enumerate(stage.places)]
    return network.loops(clip, places, severity=stage.severity)


def _do_tail(clip: Clip, stage: Stage, bank: Bank, speech: Speech) -> Changed:
    return network.tail(clip, _number(stage, "share"), severity=stage.severity, speech=speech)


_DOERS: Mapping[str, Callable[[Clip, Stage, Bank, Speech], Changed]] = {
    "room": _do_room, "gain": _do_gain, "talker": _do_talker, "bed": _do_bed,
    "event": _do_event, "rub": _do_rub, "overdrive": _do_overdrive, adapter.PREFIX: _do_adapter,
    "codec": _do_codec, "loss": _do_loss, "jitter": _do_jitter, "loop": _do_loop,
    "tail": _do_tail,
}  # fmt: skip
