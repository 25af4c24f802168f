"""What stands nearer to the eye than the clue, and small signs wherever there is room."""

from __future__ import annotations

from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision.scenes.cast import Part
from toolmark.suites.mfcl.vision.scenes.faces import look, plate, text
from toolmark.suites.mfcl.vision.scenes.stage import Stage


def aboard(stage: Stage, part: Part) -> None:
    """Stand a board near the eye, on the left or on the right, where it covers no sign."""
    rng, cap = stage.rng, part.share * stage.height
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, stage.width * 0.34, cosy=rng.uniform(5, 9) * part.loose)
    face = plate(block, style, pad=(cap * 0.7, cap * 0.8), rim=6)
    wide, high = face.sheet.width, face.sheet.height
    legs = stage.height * 0.03
    low = stage.height * rng.uniform(0.96, 0.985) - legs
    if low - high < 0:
        raise ValueError("the board near the eye is too high for the picture")
    sides = [stage.width * 0.02, stage.width * 0.98 - wide]
    rng.shuffle(sides)
    sides += [rng.uniform(0.02, 0.98) * (stage.width - wide) for _ in range(12)]
    spots = [x for x in sides if _open(stage, x, low, wide, high)]
    if not spots:
        raise ValueError("no room for the board near the eye")
    x, lean = spots[0], wide * rng.uniform(-0.03, 0.03)
    for foot in (x + wide * 0.1, x + wide * 0.9):
        stage.line([(foot, low - 10), (foot, low + legs)], (58, 46, 38), 10)
    stage.shade([(x, low), (x + wide, low), (x + wide, low + legs), (x, low + legs)], 0.4)
    corners = (
        (x + lean, low - high), (x + wide + lean, low - high), (x + wide, low), (x, low)
    )  # fmt: skip
    stage.put(face, corners, part.n)


def _open(stage: Stage, x: float, low: float, wide: float, high: float) -> bool:
    return stage.free((x - 8, low - high - 8, x + wide + 8, low))


def label(stage: Stage, part: Part, within: Box) -> None:
    """Stick a small sign on where it covers no other. Raises ValueError where there is no room."""
    rng, cap = stage.rng, max(14.0, part.share * stage.height)
    style = look(rng, part.paper, *part.families)
    block = text(part.sign, style, cap, stage.width * 0.2)
    face = plate(block, style, pad=(cap * 0.6, cap * 0.5), round_by=5)
    wide, high = face.sheet.width, face.sheet.height
    left, top, right, low = within
    for _ in range(60):
        x = rng.uniform(left + 4, max(left + 4, right - wide - 4))
        y = rng.uniform(top + 4, max(top + 4, low - high - 4))
        if _open(stage, x, y + high, wide, high):
            lean = rng.uniform(-0.03, 0.03) * wide
            corners = (x, y), (x + wide, y + lean), (x + wide, y + high + lean), (x, y + high)
            stage.put(face, corners, part.n)
            return
    raise ValueError("no room for a small sign")
