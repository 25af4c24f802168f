"""Printed papers: receipts, forms, tickets, tables."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal

from toolmark.generation.drawing.canvas import (
    INK_COLOURS,
    PAPER_COLOURS,
    VIVID_COLOURS,
    WHITE,
    Canvas,
    Colour,
    blend_colours,
)
from toolmark.generation.drawing.fonts import Font, choose_font, fit_font, random_font, wrap_text
from toolmark.suites.m3.local.pictures.sheet_photos import render_flat, render_on_desk

_THANKS = ("Thank you for your visit", "Please keep this receipt", "See you again soon", "")


def draw_receipt(
    rng: random.Random,
    *,
    shop: str,
    lines: Sequence[tuple[str, int, Decimal]],
    total: Decimal,
    date: str = "",
) -> bytes:
    """Return a PNG of a receipt: each line with quantity, unit price and amount; the total.

    The total is printed as given, even if it is not the sum of the lines. Raises ValueError for no
    lines, and for more than fit (about 18).
    """
    if not lines:
        raise ValueError("a receipt needs lines")
    font = Font("mono" if rng.random() < 0.65 else "plain", rng.randint(22, 25))
    wide, pad = rng.randint(500, 580), 34
    head = fit_font(shop, Font(font.family, font.size * 1.5, True), wide - 2 * pad)
    split = rng.random() < 0.5 or any(font.text_width(name) > wide * 0.4 for name, _, _ in lines)
    rows = len(lines) * (2 if split else 1)
    leading = font.line_height * rng.uniform(1.0, 1.15)
    thanks = rng.choice(_THANKS)
    high = 2 * pad + head.line_height + leading * (rows + bool(date) + bool(thanks)) + 112
    sheet = Canvas(wide, high, rng.choice(PAPER_COLOURS))
    ink = blend_colours(rng.choice(INK_COLOURS), WHITE, rng.uniform(0, 0.2))
    sheet.text((wide / 2, pad), shop, head, ink, "ma")
    y = pad + head.line_height + 6
    if date:
        sheet.text((wide / 2, y), date, font, ink, "ma")
        y += leading
    y = _draw_rule(rng, sheet, y + 10, ink)
    for line in lines:
        y = _draw_goods_line(sheet, y, line, (font, leading, split), ink)
    y = _draw_rule(rng, sheet, y + 8, ink)
    large = Font(font.family, font.size * 1.2, True)
    sheet.text((pad, y), rng.choice(("TOTAL", "Total", "To pay", "Amount due")), large, ink)
    sheet.text((wide - pad, y), _format_money(total), large, ink, "ra")
    y = _draw_rule(rng, sheet, y + large.line_height + 4, ink)
    if thanks:
        sheet.text((wide / 2, y + 6), thanks, font.with_size(20), ink, "ma")
    return render_on_desk(rng, sheet, tilt=3.5)


def _format_money(amount: Decimal) -> str:
    return f"{amount:.2f}"


def _draw_rule(rng: random.Random, sheet: Canvas, y: float, ink: Colour) -> float:
    sheet.dashed_line((30, y), sheet.width - 30, ink, dash=rng.choice((4, 8, 12)))
    return y + 14


def _draw_goods_line(
    sheet: Canvas,
    y: float,
    line: tuple[str, int, Decimal],
    style: tuple[Font, float, bool],
    ink: Colour,
) -> float:
    """Write one line of goods, on two rows if `split`; return the y position of the next line."""
    (name, number, price), (font, leading, split) = line, style
    left, right = 34, sheet.width - 34
    amount, each = _format_money(price * number), f"{number} x {_format_money(price)}"
    if split:
        sheet.text((left, y), name, fit_font(name, font, right - left), ink)
        sheet.text((left + 30, y + leading), each, font, ink)
        sheet.text((right, y + leading), amount, font, ink, "ra")
        return y + 2 * leading
    before = right - font.text_width("000.00 ") - font.text_width(each) - 8
    sheet.text((left, y), name, fit_font(name, font, before - left - 8, min_size=17), ink)
    sheet.text((before, y), each, font, ink)
    sheet.text((right, y), amount, font, ink, "ra")
    return y + leading


def draw_form(rng: random.Random, *, title: str, fields: Mapping[str, str]) -> bytes:
    """Return a PNG of a filled-in form: a label and a value for each field.

    Raises ValueError for no fields, and for more than fit (about 14).
    """
    if not fields:
        raise ValueError("a form needs fields")
    ink = rng.choice(INK_COLOURS)
    accent = rng.choice(VIVID_COLOURS)
    ground = rng.choice(PAPER_COLOURS)
    handwriting = rng.choice(((18, 42, 140), (20, 20, 24), (16, 70, 60)))
    style = rng.choice(("boxes", "lines", "beside"))
    wide = rng.randint(700, 820)
    heading = choose_font(random_font(rng, rng.randint(34, 40), bold=True), title)
    tops = wrap_text(title, heading, wide - 90)
    entries = [_field_layout(label, value, style, wide) for label, value in fields.items()]
    head = 40 + len(tops) * heading.line_height + 24
    sheet = Canvas(wide, head + sum(entry[0] for entry in entries) + 30, ground)
    banner = rng.random() < 0.5
    if banner:
        sheet.rectangle((0, 0, wide, head - 18), accent)
    sheet.text_lines((42, 26), tops, heading, WHITE if banner else ink)
    if not banner:
        sheet.polyline([(42, head - 18), (wide - 42, head - 18)], accent, 4)
    y = head
    for high, label, lines, font in entries:
        _draw_field(sheet, y, (label, lines, font, style, high), (ink, handwriting, accent))
        y += high
    return render_on_desk(rng, sheet) if rng.random() < 0.75 else render_flat(sheet)


def _field_layout(
    label: str, value: str, style: str, wide: float
) -> tuple[float, str, list[str], Font]:
    """Return the height of a field, its label, and its value in lines with their font."""
    font = choose_font(Font("plain", 27), value)
    room = wide - 110 if style != "beside" else wide - 376
    lines = wrap_text(value, font, room) or [""]
    above = 30 if style != "beside" else 0
    return above + len(lines) * font.line_height + 30, label, lines, font


def _draw_field(
    sheet: Canvas,
    y: float,
    entry: tuple[str, list[str], Font, str, float],
    colours: tuple[Colour, Colour, Colour],
) -> None:
    label, lines, font, style, high = entry
    ink, handwriting, accent = colours
    grey = blend_colours(ink, WHITE, 0.25)
    if style == "beside":
        sheet.text((42, y + 8), label, fit_font(label, Font(size=23, bold=True), 262), grey)
        sheet.text_lines((326, y + 4), lines, font, handwriting)
        sheet.polyline(
            [(42, y + high - 10), (sheet.width - 42, y + high - 10)],
            blend_colours(ink, WHITE, 0.7),
            1,
        )
        return
    sheet.text((42, y), label, fit_font(label, Font(size=21), sheet.width - 100), grey)
    if style == "boxes":
        edge = (42, y + 27, sheet.width - 42, y + high - 8)
        sheet.rectangle(
            edge,
            blend_colours(sheet.background, WHITE, 0.6),
            line=blend_colours(accent, WHITE, 0.3),
            width=2,
        )
    else:
        sheet.polyline([(42, y + high - 16), (sheet.width - 42, y + high - 16)], ink, 1.5)
    sheet.text_lines((54, y + 34), lines, font, handwriting)


def draw_ticket(rng: random.Random, *, fields: Mapping[str, str]) -> bytes:
    """Return a PNG of a ticket: the first field as its heading, the others in a grid.

    Raises ValueError for fewer than two fields, and for more than fit (about 12).
    """
    if len(fields) < 2:
        raise ValueError("a ticket needs two fields at least")
    (first, name), *others = fields.items()
    accent = rng.choice(VIVID_COLOURS)
    ink = rng.choice(INK_COLOURS)
    ground = rng.choice(PAPER_COLOURS)
    columns = min(len(others), rng.choice((2, 3)))
    wide, stub = 860.0, rng.choice((0.0, 70.0))
    room = (wide - stub - 90) / columns
    small, bold = Font("plain", 20), rng.random() < 0.4
    heading = fit_font(name, Font("plain", 42, True), wide - stub - 90, min_size=26)
    rows = -(-len(others) // columns)
    sheet = Canvas(wide, 150 + rows * 96 + 24, ground)
    sheet.rectangle((0, 0, wide - stub, 122), accent)
    sheet.text((45, 16), first, small, blend_colours(WHITE, accent, 0.15))
    sheet.text((45, 46), name, heading, WHITE)
    for place, (label, value) in enumerate(others):
        x = 45 + (place % columns) * room
        y = 146 + (place // columns) * 96
        sheet.text(
            (x, y),
            label,
            fit_font(label, small, room - 16, min_size=16),
            blend_colours(ink, WHITE, 0.3),
        )
        large = fit_font(value, Font("plain", 34, bold), room - 16)
        sheet.text((x, y + 28), value, large, ink)
    if stub:
        _draw_stub(rng, sheet, stub, accent)
    return render_on_desk(rng, sheet, tilt=4)


def _draw_stub(rng: random.Random, sheet: Canvas, stub: float, accent: Colour) -> None:
    """Draw the stub: a perforation and stripes."""
    x, y = sheet.width - stub, 6.0
    while y < sheet.height - 10:
        sheet.rectangle((x - 3, y, x + 3, y + 8), blend_colours(accent, (0, 0, 0), 0.3), round_by=3)
        y += 18
    for row in range(4):
        top = 20 + row * sheet.height / 5
        sheet.rectangle((x + 18, top, sheet.width - 14, top + rng.randint(8, 40)), accent)


def draw_table(
    rng: random.Random, *, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]
) -> bytes:
    """Return a PNG of a printed table. Columns of numbers are right-aligned.

    Raises ValueError for no rows or rows of unequal length, and for more than fit: about 18 rows,
    and the room that the widest cells leave of 960 pixels.
    """
    if not rows or any(len(row) != len(head) for row in rows):
        raise ValueError(f"a table needs rows of {len(head)} cells each, like its head")
    size = rng.randint(22, 25)
    body, bold = Font("plain", size), Font("plain", size, True)
    columns = [[str(cell) for cell in column] for column in zip(head, *rows, strict=True)]
    widths = [
        max(
            choose_font(bold if row == 0 else body, cell).text_width(cell)
            for row, cell in enumerate(cells)
        )
        + 2 * 14
        for cells in columns
    ]
    heading = choose_font(random_font(rng, rng.randint(30, 36), bold=True), title)
    wide = max(sum(widths) + 72, 520)
    slack = (wide - 72 - sum(widths)) / len(widths)
    widths = [width + slack for width in widths]
    tops = wrap_text(title, heading, wide - 72)
    step, top = size * rng.uniform(1.7, 2.0), 30 + len(tops) * heading.line_height + 18
    sheet = Canvas(wide, top + step * (len(rows) + 1) + 32, rng.choice(PAPER_COLOURS))
    ink = rng.choice(INK_COLOURS)
    sheet.text_lines((36, 30), tops, heading, ink)
    _draw_cells(rng, sheet, (top, step), list(zip(widths, columns, strict=True)), (body, bold, ink))
    return render_on_desk(rng, sheet, tilt=1.8) if rng.random() < 0.6 else render_flat(sheet)


def _draw_cells(
    rng: random.Random,
    sheet: Canvas,
    place: tuple[float, float],
    columns: Sequence[tuple[float, Sequence[str]]],
    style: tuple[Font, Font, Colour],
) -> None:
    """Draw the rows of a table: striped, ruled or in a grid."""
    (top, step), (body, bold, ink) = place, style
    n, accent = len(columns[0][1]), rng.choice(VIVID_COLOURS)
    look = rng.choice(("striped", "ruled", "grid"))
    pale = blend_colours(accent, WHITE, 0.88)
    left, right = 36.0, sheet.width - 36.0
    for row in range(n):
        edge = (left, top + row * step, right, top + (row + 1) * step)
        if row == 0 and look != "ruled":
            sheet.rectangle(edge, accent)
        elif look == "striped" and row % 2 == 0:
            sheet.rectangle(edge, pale)
        if look != "striped":
            sheet.polyline(
                [(left, edge[3]), (right, edge[3])],
                ink if row == 0 else blend_colours(ink, WHITE, 0.6),
                1.5,
            )
    for width, cells in columns:
        numbers = all(_is_number(cell) for cell in cells[1:])
        for row, cell in enumerate(cells):
            shade = WHITE if row == 0 and look != "ruled" else ink
            spot = (left + width - 14 if numbers else left + 14, top + (row + 0.5) * step)
            sheet.text(spot, cell, bold if row == 0 else body, shade, "rm" if numbers else "lm")
        if look == "grid":
            sheet.polyline(
                [(left, top), (left, top + n * step)], blend_colours(ink, WHITE, 0.6), 1.5
            )
        left += width
    if look == "grid":
        sheet.polyline([(right, top), (right, top + n * step)], blend_colours(ink, WHITE, 0.6), 1.5)


def _is_number(cell: str) -> bool:
    return cell.strip("+-%").replace(".", "", 1).replace(",", "").isdecimal()
