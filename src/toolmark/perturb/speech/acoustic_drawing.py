"""Acoustic settings are drawn once for a clip and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from msgspec import structs

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.perturb.speech import (
    background_sounds,
    double_talk,
    microphone_faults,
    network_faults,
    room_responses,
    sound_folders,
    synthetic_noise,
)
from toolmark.perturb.speech.acoustic_conditions import STAGE_ORDER, draw_effects
from toolmark.perturb.speech.acoustic_settings import AcousticSettings, AcousticStage, SoundBank


def draw_settings(
    condition: str, rng: Random, bank: SoundBank | None = None, *, avoid: Sequence[str] = ()
) -> AcousticSettings:
    """Return drawn settings of a condition; talks whose text is in `avoid` are not chosen.

    Raises UsageError for an unknown condition, or if the bank lacks clips or rooms that it needs.
    """
    sounds = bank or SoundBank()
    stages: list[AcousticStage] = []
    for part in condition.split("+"):
        for name, severity, fixed in draw_effects(part.strip(), rng):
            stages.append(_draw_stage(name, severity, fixed, rng, sounds, avoid))
    stages.sort(key=lambda stage: STAGE_ORDER.index(stage.name))
    return AcousticSettings(condition=condition, stages=_place_talkers_in_room(stages, sounds))


def _place_talkers_in_room(
    stages: Sequence[AcousticStage], bank: SoundBank
) -> tuple[AcousticStage, ...]:
    """Put other talkers into the room of the user, at another place."""
    speaker_room = next((str(stage.values["room"]) for stage in stages if stage.name == "room"), "")
    rooms = [
        one.name
        for one in bank.rooms
        if one.name.partition("/")[0] == speaker_room.partition("/")[0]
    ]
    other = next((name for name in rooms if name != speaker_room), speaker_room)
    if not other:
        return tuple(stages)
    return tuple(
        structs.replace(stage, values={**stage.values, "room": other})
        if stage.name == "talker"
        else stage
        for stage in stages
    )


def _draw_stage(
    name: str,
    severity: int,
    fixed: dict[str, str | float],
    rng: Random,
    bank: SoundBank,
    avoid: Sequence[str],
) -> AcousticStage:
    """Draw one effect: its numbers, its choices from the bank, its places, its seed."""
    values = dict(fixed)
    places: tuple[tuple[float, float], ...] = ()
    match name:
        case "bed":
            values = _draw_bed(severity, fixed, rng, bank)
        case "event":
            values = {
                "noise": seeds.draw_one(rng, synthetic_noise.EVENT_NOISES),
                "at": _draw_number(rng, 0.25, 0.7),
                "snr_db": _draw_number(rng, *background_sounds.EVENT_SNR_DB[severity]),
            }
        case "talker":
            values = _draw_talker(severity, rng, bank, avoid)
        case "room":
            values = {"room": seeds.draw_one(rng, _nearest_rooms(bank, severity)).name}
        case "rub":
            values = {"snr_db": _draw_number(rng, *microphone_faults.RUB_SNR_DB[severity])}
            places = _draw_places(rng, microphone_faults.N_RUBS[severity], microphone_faults.RUB_MS)
        case "loop":
            places = _draw_places(rng, network_faults.N_LOOPS[severity], network_faults.LOOP_MS)
        case "tail":
            values = {"share": _draw_number(rng, *network_faults.TAIL_SHARE[severity])}
        case "loss" | "jitter":
            values = _draw_frames(name, severity, rng)
        case "gain":
            values = {"size_db": microphone_faults.DRIFT_DB[severity]}
        case "overdrive":
            values = {"drive_db": microphone_faults.DRIVE_DB[severity]}
    return AcousticStage(
        name=name, severity=severity, seed=rng.getrandbits(53), values=values, places=places
    )


def _draw_number(rng: Random, low: float, high: float) -> float:
    return round(low + (high - low) * rng.random(), 4)


def _draw_places(
    rng: Random, many: int, ms: tuple[float, float]
) -> tuple[tuple[float, float], ...]:
    """Draw pairs (share of the clip, milliseconds) in the order of time, away from both ends."""
    return tuple(sorted((_draw_number(rng, 0.1, 0.9), _draw_number(rng, *ms)) for _ in range(many)))


def _draw_bed(
    severity: int, fixed: dict[str, str | float], rng: Random, bank: SoundBank
) -> dict[str, str | float]:
    kinds = [*synthetic_noise.BED_NOISES, *(("babble",) if bank.babble else ())]
    recorded = [one.name for one in bank.noises if one.use == "noise"]
    if "noise" not in fixed and recorded:
        kind = f"{sound_folders.FILE_PREFIX}{seeds.draw_one(rng, recorded)}"
    else:
        kind = str(fixed.get("noise") or seeds.draw_one(rng, kinds))
    if kind == "babble" and not bank.babble:
        raise UsageError("babble is made of clips of speech: pass Bank(babble=...)")
    ratio = fixed.get("snr_db")
    drawn = (
        _draw_number(rng, *background_sounds.BED_SNR_DB[severity])
        if ratio is None
        else float(ratio)
    )
    return {"noise": kind, "snr_db": drawn}


def _draw_talker(
    severity: int, rng: Random, bank: SoundBank, avoid: Sequence[str]
) -> dict[str, str | float]:
    names = [talk.name for talk in bank.talks if talk.text not in avoid]
    if not names:
        raise UsageError("double talk needs what others say: pass Bank(talks=...)")
    found: dict[str, str | float] = {
        "talk": seeds.draw_one(rng, names), "at": _draw_number(rng, 0.0, 0.45),
        "snr_db": _draw_number(rng, *double_talk.TALK_SNR_DB[severity]),
    }  # fmt: skip
    return found


def _nearest_rooms(bank: SoundBank, severity: int) -> list[room_responses.RoomResponse]:
    """Return the rooms of a severity, or of the nearest severity in the bank."""
    if not bank.rooms:
        raise UsageError("reverberation needs rooms: pass Bank(rooms=room.bank(folder))")
    best = min(abs(one.severity - severity) for one in bank.rooms)
    return [one for one in bank.rooms if abs(one.severity - severity) == best]


def _draw_frames(name: str, severity: int, rng: Random) -> dict[str, str | float]:
    frame = seeds.draw_one(rng, network_faults.FRAMES_MS)
    if name == "jitter":
        return {"mean_ms": network_faults.JITTER_MS[severity], "frame_ms": frame}
    share, burst = network_faults.LOSS_BY_SEVERITY[severity]
    conceal = seeds.draw_one(rng, ("silence", "repeat"))
    return {
        "share": share, "burst_ms": max(burst, frame), "frame_ms": frame, "concealed": conceal,
    }  # fmt: skip
