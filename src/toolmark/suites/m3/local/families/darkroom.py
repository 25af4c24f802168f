"""Coloured shapes, or a slip with an order: pictures that are cut, resized and put together."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from PIL import Image, ImageColor, ImageDraw, ImageFont, ImageOps

from toolmark.suites.m3.local import scenes
from toolmark.suites.m3.local.families import calls, words
from toolmark.suites.m3.local.item import Item, Template
from toolmark.suites.m3.local.state.read import tiles

Place: TypeAlias = tuple[int, int, int, int]  # left, top, width, height
Size: TypeAlias = tuple[int, int]
Paint: TypeAlias = tuple[int, int, int]

# told apart and named at a glance, and none of them grey
_COLOURS = ("red", "blue", "green", "orange", "purple", "yellow", "pink", "cyan")
_PAINTS = ("Dawn", "Moss", "Brick", "Tide", "Plum", "Straw", "Slate", "Coral")
_LOOKS = {"negative": "invert", "black and white": "grayscale"}
_NAME = "boxes.png"
_OFF = 12  # how far a tile's mean colour may be off: ways of resizing differ at edges
_SHAPES = f"images/{_NAME}"

_CUTOUT = f"""One of the boxes in the picture `{_SHAPES}` has a colour that no other has. Cut it \
out exactly along its edges and save it as `cut.png`; `boxes.csv` tells where the boxes lie, in \
pixels from the upper left corner. From the piece make two more pictures: `grey.png`, the same in \
black and white, and `small.png`, of half its width and half its height. Which name has that box \
in the list?"""

_PRINTS = f"""Make two prints of the picture `{_SHAPES}`. The first, `print.png`, gets the size in \
pixels that `sizes.csv` gives for the colour of the largest box: exactly that, even if it is \
stretched. The second, `proof.png`, keeps its size and gets the look that `looks.csv` gives for \
the colour of the smallest box. Tell me both colours as the lists write them."""

_SAMPLES = """Carry out the order in the picture; its numbers are pixels. `paints/index.csv` tells \
which file in the folder `paints` shows which paint. Bring the two to the size asked for, even if \
that stretches them, and save them as `left.png` and `right.png`; then put both side by side on \
one card with the space between them that the order asks for, none around them, and save it as \
`card.png`. Tell me the order's number."""

_SCANS = f"""The folder `scans` holds a scanned slip for each colour, named by the colour in small \
letters and ending in `.png`, with a number printed on it. Make a copy of the picture `{_SHAPES}` \
that is as many pixels wide as the slip of the largest box's colour says, and as many high as the \
slip of the smallest box's colour says, even if that stretches it. Save it as `copy.png`, and tell \
me its width and height."""


def cutout(rng: random.Random) -> Item:
    """One box has a colour of its own; a list of places without colours tells its edges."""
    once, *twice = rng.sample(_COLOURS, 3)
    colours = rng.sample([once, *twice, *twice], 5)
    sides = [(2 * rng.randint(35, 75), 2 * rng.randint(35, 80)) for _ in colours]
    places = _apart(rng, sides)
    labels = rng.sample("ABCDEFGHJK", len(colours))
    box, label = places[colours.index(once)], labels[colours.index(once)]
    size, half = [box[2], box[3]], (box[2] // 2, box[3] // 2)
    rows = [(name, *place) for name, place in zip(labels, places, strict=True)]
    return Item(
        template="cutout",
        question=_CUTOUT,
        picture=_drawn(rng, colours, places),
        name=_NAME,
        steps=[
            [calls.read("boxes.csv")],
            [calls.crop(_SHAPES, box, "cut.png")],
            [
                calls.filtered("cut.png", "grayscale", "grey.png"),
                calls.resize("cut.png", half, "small.png"),
            ],
        ],
        expects={
            "cut.png": {"size": size, "grey": False, "mean": list(ImageColor.getrgb(once))},
            "grey.png": _like(_plain(once).convert("L"), size),
            "small.png": _like(_plain(once), half),
        },
        form="name",
        answer=(label,),
        files={"boxes.csv": _csv(("name", "left", "top", "width", "height"), sorted(rows))},
    )


def prints(rng: random.Random) -> Item:
    """The largest box's colour decides about a print's size, the smallest one's about its look."""
    colours = rng.sample(_COLOURS, 5)
    picture = _drawn(rng, colours, _graded(rng))
    largest, smallest = colours[:2]
    sizes = _sizes(rng)
    looks = {colour: rng.choice(list(_LOOKS)) for colour in rng.sample(_COLOURS, len(_COLOURS))}
    look, before = looks[smallest], _opened(picture)
    proof = ImageOps.invert(before) if look == "negative" else before.convert("L")
    return Item(
        template="prints",
        question=_PRINTS,
        picture=picture,
        name=_NAME,
        steps=[
            [calls.read("sizes.csv"), calls.read("looks.csv")],
            [
                calls.resize(_SHAPES, sizes[largest], "print.png"),
                calls.filtered(_SHAPES, _LOOKS[look], "proof.png"),
            ],
        ],
        expects={
            "print.png": _like(before, sizes[largest]),
            "proof.png": _like(proof, before.size),
        },
        form="colour of the largest box, colour of the smallest box",
        answer=(largest, smallest),
        rivals=_COLOURS,
        files={
            "sizes.csv": _csv(("colour", "width", "height"), [(c, *sizes[c]) for c in sizes]),
            "looks.csv": _csv(("colour", "look"), looks.items()),
        },
    )


def samples(rng: random.Random) -> Item:
    """A slip orders a card of two paints; an index tells in which files their pictures are."""
    paints = {name: _paint(rng) for name in rng.sample(_PAINTS, 5)}
    numbers = rng.sample(range(1000, 10000), 5)
    index = {name: f"{number}.png" for name, number in zip(paints, numbers, strict=True)}
    one, two = rng.sample(list(paints), 2)
    wide, high, gap = rng.randint(120, 380), rng.randint(120, 380), rng.randint(6, 40)
    order = words.code(rng, "AA-99")
    lines = [
        f"left: {one}, right: {two}",
        f"each {wide} wide and {high} high",
        f"{gap} between them",
        f"for {words.people(rng, 1)[0]}",
    ]
    return Item(
        template="samples",
        question=_SAMPLES,
        picture=scenes.board(rng, heading=f"Order {order}", lines=lines),
        name="order.png",
        steps=[
            [calls.read("paints/index.csv")],
            [
                calls.resize(f"paints/{index[one]}", (wide, high), "left.png"),
                calls.resize(f"paints/{index[two]}", (wide, high), "right.png"),
            ],
            [calls.collage(["left.png", "right.png"], gap, "card.png")],
        ],
        expects={
            "left.png": _like(_plain(paints[one]), (wide, high)),
            "right.png": _like(_plain(paints[two]), (wide, high)),
            "card.png": _card(paints[one], paints[two], (wide, high), gap),
        },
        form="number of the order",
        answer=(order,),
        files={
            "paints/index.csv": _csv(("paint", "file"), sorted(index.items())),
            **{f"paints/{index[name]}": _swatch(paint) for name, paint in paints.items()},
        },
    )


def scans(rng: random.Random) -> Item:
    """Two colours lead to two scans; what is printed on them is the size of the copy."""
    colours = rng.sample(_COLOURS, 5)
    numbers = rng.sample(range(120, 900), len(_COLOURS))
    values = dict(zip(_COLOURS, numbers, strict=True))
    wide, high = (values[colour] for colour in colours[:2])
    picture = _drawn(rng, colours, _graded(rng))
    return Item(
        template="scans",
        question=_SCANS,
        picture=picture,
        name=_NAME,
        steps=[
            [
                ("ocr/perform_ocr", {"input_data": f"{calls.HOME}/scans/{colour}.png"})
                for colour in colours[:2]
            ],
            [calls.resize(_SHAPES, (wide, high), "copy.png")],
        ],
        expects={"copy.png": _like(_opened(picture), (wide, high))},
        form="width, height",
        answer=(str(wide), str(high)),
        files={f"scans/{colour}.png": _slip(value) for colour, value in values.items()},
    )


TEMPLATES: tuple[Template, ...] = (cutout, prints, samples, scans)


# --- shapes -----------------------------------------------------------------------------


def _apart(rng: random.Random, sides: Sequence[Size]) -> list[Place]:
    """Place rectangles of at most 185 x 200 in six fields of the picture, so that no two touch."""
    found = []
    for field, (wide, high) in zip(rng.sample(range(6), len(sides)), sides, strict=True):
        left = 50 + field % 3 * 195 + rng.randint(0, 185 - wide)
        top = 40 + field // 3 * 215 + rng.randint(0, 205 - high)
        found.append((left, top, wide, high))
    return found


def _graded(rng: random.Random) -> list[Place]:
    """Place five rectangles: the first is clearly the largest, the second the smallest."""
    middle = [(rng.randint(84, 120), rng.randint(84, 120)) for _ in range(3)]
    largest = (rng.randint(150, 185), rng.randint(170, 200))
    return _apart(rng, [largest, (rng.randint(40, 54), rng.randint(40, 54)), *middle])


def _drawn(rng: random.Random, colours: Sequence[str], places: Sequence[Place]) -> bytes:
    boxes = [(colour, *place) for colour, place in zip(colours, places, strict=True)]
    return scenes.shapes(rng, boxes=boxes)


def _sizes(rng: random.Random) -> dict[str, Size]:
    """Draw a size for each colour; no two are alike in a side."""
    wide, high = (rng.sample(range(200, 800), len(_COLOURS)) for _ in "wh")
    colours = rng.sample(_COLOURS, len(_COLOURS))
    return dict(zip(colours, zip(wide, high, strict=True), strict=True))


# --- files ------------------------------------------------------------------------------


def _paint(rng: random.Random) -> Paint:
    return rng.randint(30, 225), rng.randint(30, 225), rng.randint(30, 225)


def _opened(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def _plain(colour: str | Paint) -> Image.Image:
    return Image.new("RGB", (160, 120), colour)


def _like(image: Image.Image, size: Sequence[int]) -> Mapping[str, Any]:
    """Return what a picture must be to show this image at this size."""
    shown = {"size": list(size), "tiles": {"near": tiles(image), "within": _OFF}}
    return {**shown, "grey": True} if image.mode == "L" else shown


def _swatch(paint: Paint) -> bytes:
    return _png(_plain(paint))


def _card(left: Paint, right: Paint, size: Size, gap: int) -> Mapping[str, Any]:
    """Return what the card must be: two paints of the size, with white between them."""
    wide, high = size
    card = Image.new("RGB", (2 * wide + gap, high), "white")
    card.paste(_plain(left).resize(size), (0, 0))
    card.paste(_plain(right).resize(size), (wide + gap, 0))
    return _like(card, card.size)


def _slip(number: int) -> bytes:
    """Return a scan of a number, in letters that any reader of text can read."""
    image = Image.new("RGB", (420, 180), "white")
    ImageDraw.Draw(image).text((210, 90), str(number), "black", ImageFont.load_default(84), "mm")
    return _png(image)


def _png(image: Image.Image) -> bytes:
    made = io.BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in (head, *rows)).encode()
