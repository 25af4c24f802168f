"""Coloured shapes, or an order slip: pictures to cut, resize and combine."""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from PIL import Image, ImageColor, ImageDraw, ImageFont, ImageOps

from toolmark.suites.m3.local import pictures
from toolmark.suites.m3.local.families import invented_names, reference_calls
from toolmark.suites.m3.local.families.family_words import family_words, write_question
from toolmark.suites.m3.local.task_item import TaskItem, Template
from toolmark.suites.m3.local.workspace_state.file_readers import tile_colours

# Left, top, width, height.
Box: TypeAlias = tuple[int, int, int, int]
Size: TypeAlias = tuple[int, int]
Paint: TypeAlias = tuple[int, int, int]

# Colours that are easy to distinguish and to name; none is grey.
_COLOURS = ("red", "blue", "green", "orange", "purple", "yellow", "pink", "cyan")
_LOOKS = {"negative": "invert", "black and white": "grayscale"}
_PICTURE_NAME = "boxes.png"
# Allowed error of a tile's mean colour: resize methods differ at edges.
_TILE_TOLERANCE = 12
_SHAPES_PATH = f"images/{_PICTURE_NAME}"


def cutout_item(rng: random.Random) -> TaskItem:
    """Cut out the box with a unique colour; a list of places without colours has its edges."""
    unique_colour, *repeated_colours = rng.sample(_COLOURS, 3)
    colours = rng.sample([unique_colour, *repeated_colours, *repeated_colours], 5)
    sides = [(2 * rng.randint(35, 75), 2 * rng.randint(35, 80)) for _ in colours]
    places = _place_boxes(rng, sides)
    labels = rng.sample("ABCDEFGHJK", len(colours))
    box, label = places[colours.index(unique_colour)], labels[colours.index(unique_colour)]
    size, half = [box[2], box[3]], (box[2] // 2, box[3] // 2)
    rows = [(name, *place) for name, place in zip(labels, places, strict=True)]
    return TaskItem(
        template="cutout",
        question=write_question("darkroom", "cutout", picture=_SHAPES_PATH),
        picture=_draw_boxes(rng, colours, places),
        picture_name=_PICTURE_NAME,
        steps=[
            [reference_calls.read_file("boxes.csv")],
            [reference_calls.crop_image(_SHAPES_PATH, box, "cut.png")],
            [
                reference_calls.filter_image("cut.png", "grayscale", "grey.png"),
                reference_calls.resize_image("cut.png", half, "small.png"),
            ],
        ],
        expected_state={
            "cut.png": {
                "size": size,
                "grey": False,
                "mean": list(ImageColor.getrgb(unique_colour)),
            },
            "grey.png": _expect_image(_plain_image(unique_colour).convert("L"), size),
            "small.png": _expect_image(_plain_image(unique_colour), half),
        },
        answer_form="name",
        answer_parts=(label,),
        files={"boxes.csv": _encode_csv(("name", "left", "top", "width", "height"), sorted(rows))},
    )


def prints_item(rng: random.Random) -> TaskItem:
    """Make a print: the largest box's colour decides its size, the smallest one's its filter."""
    colours = rng.sample(_COLOURS, 5)
    picture = _draw_boxes(rng, colours, _place_graded_boxes(rng))
    largest, smallest = colours[:2]
    sizes = _random_sizes(rng)
    looks = {colour: rng.choice(list(_LOOKS)) for colour in rng.sample(_COLOURS, len(_COLOURS))}
    look, before = looks[smallest], _open_picture(picture)
    proof = ImageOps.invert(before) if look == "negative" else before.convert("L")
    return TaskItem(
        template="prints",
        question=write_question("darkroom", "prints", picture=_SHAPES_PATH),
        picture=picture,
        picture_name=_PICTURE_NAME,
        steps=[
            [reference_calls.read_file("sizes.csv"), reference_calls.read_file("looks.csv")],
            [
                reference_calls.resize_image(_SHAPES_PATH, sizes[largest], "print.png"),
                reference_calls.filter_image(_SHAPES_PATH, _LOOKS[look], "proof.png"),
            ],
        ],
        expected_state={
            "print.png": _expect_image(before, sizes[largest]),
            "proof.png": _expect_image(proof, before.size),
        },
        answer_form="colour of the largest box, colour of the smallest box",
        answer_parts=(largest, smallest),
        wrong_values=_COLOURS,
        files={
            "sizes.csv": _encode_csv(
                ("colour", "width", "height"), [(c, *sizes[c]) for c in sizes]
            ),
            "looks.csv": _encode_csv(("colour", "look"), looks.items()),
        },
    )


def samples_item(rng: random.Random) -> TaskItem:
    """Make the card of two paints that a slip orders; an index names the files of the paints."""
    paints = {name: _random_paint(rng) for name in rng.sample(family_words().paints, 5)}
    numbers = rng.sample(range(1000, 10000), 5)
    index = {name: f"{number}.png" for name, number in zip(paints, numbers, strict=True)}
    one, two = rng.sample(list(paints), 2)
    wide, high, gap = rng.randint(120, 380), rng.randint(120, 380), rng.randint(6, 40)
    order = invented_names.random_code(rng, "AA-99")
    lines = [
        f"left: {one}, right: {two}",
        f"each {wide} wide and {high} high",
        f"{gap} between them",
        f"for {invented_names.random_people(rng, 1)[0]}",
    ]
    return TaskItem(
        template="samples",
        question=write_question("darkroom", "samples"),
        picture=pictures.draw_board(rng, heading=f"Order {order}", lines=lines),
        picture_name="order.png",
        steps=[
            [reference_calls.read_file("paints/index.csv")],
            [
                reference_calls.resize_image(f"paints/{index[one]}", (wide, high), "left.png"),
                reference_calls.resize_image(f"paints/{index[two]}", (wide, high), "right.png"),
            ],
            [reference_calls.create_collage(["left.png", "right.png"], gap, "card.png")],
        ],
        expected_state={
            "left.png": _expect_image(_plain_image(paints[one]), (wide, high)),
            "right.png": _expect_image(_plain_image(paints[two]), (wide, high)),
            "card.png": _expect_card(paints[one], paints[two], (wide, high), gap),
        },
        answer_form="number of the order",
        answer_parts=(order,),
        files={
            "paints/index.csv": _encode_csv(("paint", "file"), sorted(index.items())),
            **{f"paints/{index[name]}": _encode_swatch(paint) for name, paint in paints.items()},
        },
    )


def scans_item(rng: random.Random) -> TaskItem:
    """Make a copy at the size printed on two scans; two colours identify the scans."""
    colours = rng.sample(_COLOURS, 5)
    numbers = rng.sample(range(120, 900), len(_COLOURS))
    values = dict(zip(_COLOURS, numbers, strict=True))
    wide, high = (values[colour] for colour in colours[:2])
    picture = _draw_boxes(rng, colours, _place_graded_boxes(rng))
    return TaskItem(
        template="scans",
        question=write_question("darkroom", "scans", picture=_SHAPES_PATH),
        picture=picture,
        picture_name=_PICTURE_NAME,
        steps=[
            [
                (
                    "ocr/perform_ocr",
                    {"input_data": f"{reference_calls.WORKSPACE}/scans/{colour}.png"},
                )
                for colour in colours[:2]
            ],
            [reference_calls.resize_image(_SHAPES_PATH, (wide, high), "copy.png")],
        ],
        expected_state={"copy.png": _expect_image(_open_picture(picture), (wide, high))},
        answer_form="width, height",
        answer_parts=(str(wide), str(high)),
        files={f"scans/{colour}.png": _draw_slip(value) for colour, value in values.items()},
    )


TEMPLATES: tuple[Template, ...] = (cutout_item, prints_item, samples_item, scans_item)


# --- shapes -----------------------------------------------------------------------------


def _place_boxes(rng: random.Random, sides: Sequence[Size]) -> list[Box]:
    """Return rectangles of at most 185 x 200 pixels in six fields; no two of them touch."""
    found = []
    for field, (wide, high) in zip(rng.sample(range(6), len(sides)), sides, strict=True):
        left = 50 + field % 3 * 195 + rng.randint(0, 185 - wide)
        top = 40 + field // 3 * 215 + rng.randint(0, 205 - high)
        found.append((left, top, wide, high))
    return found


def _place_graded_boxes(rng: random.Random) -> list[Box]:
    """Return five rectangles: the first is clearly the largest, the second the smallest."""
    middle = [(rng.randint(84, 120), rng.randint(84, 120)) for _ in range(3)]
    largest = (rng.randint(150, 185), rng.randint(170, 200))
    return _place_boxes(rng, [largest, (rng.randint(40, 54), rng.randint(40, 54)), *middle])


def _draw_boxes(rng: random.Random, colours: Sequence[str], places: Sequence[Box]) -> bytes:
    boxes = [(colour, *place) for colour, place in zip(colours, places, strict=True)]
    return pictures.draw_shapes(rng, boxes=boxes)


def _random_sizes(rng: random.Random) -> dict[str, Size]:
    """Return a size for each colour; all widths differ and all heights differ."""
    wide, high = (rng.sample(range(200, 800), len(_COLOURS)) for _ in "wh")
    colours = rng.sample(_COLOURS, len(_COLOURS))
    return dict(zip(colours, zip(wide, high, strict=True), strict=True))


# --- files ------------------------------------------------------------------------------


def _random_paint(rng: random.Random) -> Paint:
    return rng.randint(30, 225), rng.randint(30, 225), rng.randint(30, 225)


def _open_picture(picture: bytes) -> Image.Image:
    return Image.open(io.BytesIO(picture)).convert("RGB")


def _plain_image(colour: str | Paint) -> Image.Image:
    return Image.new("RGB", (160, 120), colour)


def _expect_image(image: Image.Image, size: Sequence[int]) -> Mapping[str, Any]:
    """Return the expectation for a picture that shows this image at this size."""
    shown = {"size": list(size), "tiles": {"near": tile_colours(image), "within": _TILE_TOLERANCE}}
    return {**shown, "grey": True} if image.mode == "L" else shown


def _encode_swatch(paint: Paint) -> bytes:
    return _encode_png(_plain_image(paint))


def _expect_card(left: Paint, right: Paint, size: Size, gap: int) -> Mapping[str, Any]:
    """Return the expectation for the card: two paints of this size, with white between them."""
    wide, high = size
    card = Image.new("RGB", (2 * wide + gap, high), "white")
    card.paste(_plain_image(left).resize(size), (0, 0))
    card.paste(_plain_image(right).resize(size), (wide + gap, 0))
    return _expect_image(card, card.size)


def _draw_slip(number: int) -> bytes:
    """Return a scan of a number, in letters that any text recogniser can read."""
    image = Image.new("RGB", (420, 180), "white")
    ImageDraw.Draw(image).text((210, 90), str(number), "black", ImageFont.load_default(84), "mm")
    return _encode_png(image)


def _encode_png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()


def _encode_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in (head, *rows)).encode()
