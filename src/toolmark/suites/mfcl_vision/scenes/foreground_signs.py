"""Objects nearer than the clue, and small signs in free places."""

from __future__ import annotations

from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision.scenes.scene_canvas import SceneCanvas
from toolmark.suites.mfcl_vision.scenes.sign_arrangement import StyledSign
from toolmark.suites.mfcl_vision.scenes.sign_faces import (
    draw_style,
    make_plate,
    set_part_text,
    set_text,
)


def draw_foreground_board(canvas: SceneCanvas, part: StyledSign) -> None:
    """Draw a board in the foreground, on the left or on the right, where it covers no sign."""
    rng, cap = canvas.rng, part.share * canvas.height
    style = draw_style(rng, part.paper, *part.families)
    block = set_part_text(rng, part, style, cap, canvas.width * 0.34, (5, 9))
    face = make_plate(block, style, pad=(cap * 0.7, cap * 0.8), rim=6)
    width, height = face.sheet.width, face.sheet.height
    legs = canvas.height * 0.03
    bottom = canvas.height * rng.uniform(0.96, 0.985) - legs
    if bottom - height < 0:
        raise ValueError("the board near the eye is too high for the picture")
    sides = [canvas.width * 0.02, canvas.width * 0.98 - width]
    rng.shuffle(sides)
    sides += [rng.uniform(0.02, 0.98) * (canvas.width - width) for _ in range(12)]
    spots = [x for x in sides if _is_spot_free(canvas, x, bottom, width, height)]
    if not spots:
        raise ValueError("no room for the board near the eye")
    x, lean = spots[0], width * rng.uniform(-0.03, 0.03)
    for foot in (x + width * 0.1, x + width * 0.9):
        canvas.draw_line([(foot, bottom - 10), (foot, bottom + legs)], (58, 46, 38), 10)
    canvas.shade_area(
        [(x, bottom), (x + width, bottom), (x + width, bottom + legs), (x, bottom + legs)], 0.4
    )
    corners = (
        (x + lean, bottom - height), (x + width + lean, bottom - height),
        (x + width, bottom), (x, bottom),
    )  # fmt: skip
    canvas.place_face(face, corners, part.n)


def _is_spot_free(
    canvas: SceneCanvas, x: float, bottom: float, width: float, height: float
) -> bool:
    return canvas.is_free((x - 8, bottom - height - 8, x + width + 8, bottom))


def draw_small_sign(canvas: SceneCanvas, part: StyledSign, within: Box) -> None:
    """Draw a small sign where it covers no other sign. Raises ValueError if there is no room."""
    rng, cap = canvas.rng, max(14.0, part.share * canvas.height)
    style = draw_style(rng, part.paper, *part.families)
    block = set_text(part.sign, style, cap, canvas.width * 0.2)
    face = make_plate(block, style, pad=(cap * 0.6, cap * 0.5), round_by=5)
    width, height = face.sheet.width, face.sheet.height
    left, top, right, bottom = within
    for _ in range(60):
        x = rng.uniform(left + 4, max(left + 4, right - width - 4))
        y = rng.uniform(top + 4, max(top + 4, bottom - height - 4))
        if _is_spot_free(canvas, x, y + height, width, height):
            lean = rng.uniform(-0.03, 0.03) * width
            corners = (x, y), (x + width, y + lean), (x + width, y + height + lean), (x, y + height)
            canvas.place_face(face, corners, part.n)
            return
    raise ValueError("no room for a small sign")
