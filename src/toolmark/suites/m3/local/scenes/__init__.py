"""Pictures that must be read: drawn anew for every seed, legible at 1,024 pixels, never clipped.

Every function takes the randomness first and returns the bytes of a PNG. Letters come with the
libraries that draw, so the bytes are the same for a seed wherever the versions are. What does not
fit, or has letters that no font has, raises ValueError: a task is never made whose picture lacks
something.
"""

from toolmark.suites.m3.local.scenes.charts import chart
from toolmark.suites.m3.local.scenes.codes import barcode, qr
from toolmark.suites.m3.local.scenes.papers import form, receipt, table, ticket
from toolmark.suites.m3.local.scenes.signs import board, shapes, shelf, slide

__all__ = [
    "barcode", "board", "chart", "form", "qr", "receipt", "shapes", "shelf", "slide", "table",
    "ticket",
]  # fmt: skip
