"""Pictures to read: drawn from the seed, legible at 1,024 pixels, never clipped.

Every function takes the random generator first and returns the bytes of a PNG. Fonts come with the
drawing libraries, so a seed gives the same bytes wherever the library versions are the same. Text
that does not fit, or has characters that no font has, raises ValueError: no task is made with an
incomplete picture.
"""

from toolmark.suites.m3.local.pictures.code_labels import draw_barcode, draw_qr_code
from toolmark.suites.m3.local.pictures.drawn_charts import draw_chart
from toolmark.suites.m3.local.pictures.printed_papers import (
    draw_form,
    draw_receipt,
    draw_table,
    draw_ticket,
)
from toolmark.suites.m3.local.pictures.signs_and_shelves import (
    draw_board,
    draw_shapes,
    draw_shelf,
    draw_slide,
)

__all__ = [
    "draw_barcode",
    "draw_board",
    "draw_chart",
    "draw_form",
    "draw_qr_code",
    "draw_receipt",
    "draw_shapes",
    "draw_shelf",
    "draw_slide",
    "draw_table",
    "draw_ticket",
]
