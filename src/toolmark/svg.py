"""SVG as strings: an element per call, every foreign text escaped.

A plain `str` given as a child is text and is escaped; `Markup`, which only this module makes,
is kept as it is. Attribute names are Python's: `stroke_width` is `stroke-width`, `class_` is
`class`; a value of None leaves the attribute out.

    svg.root(100, 40, svg.tag("text", label, x=4, y=20, class_="name"), label="A graph")
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias


class Markup(str):
    """Markup of our own making; as a child, and in a template, it is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself: what templates ask for before they escape."""
        return str(self)


Value: TypeAlias = str | int | float | None

# not allowed in XML 1.0 in any form, so they are shown as the replacement character
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_TABLE = str.maketrans(_ESCAPES)


def escape(text: str) -> Markup:
    """Return text safe inside an element or a quoted attribute."""
    return Markup(_ILLEGAL.sub("\ufffd", text).translate(_TABLE))


def tag(name: str, *children: str, **attributes: Value) -> Markup:
    """Return one element. Numbers are written with at most two decimals."""
    pairs = "".join(
        f' {_name(key)}="{_value(value)}"' for key, value in attributes.items() if value is not None
    )
    if not children:
        return Markup(f"<{name}{pairs}/>")
    return Markup(f"<{name}{pairs}>{join(children)}</{name}>")


def join(children: Iterable[str]) -> Markup:
    """Return the children side by side; plain text among them is escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    )


def style(css: str) -> Markup:
    """Return a style element of our own rules; the text must not come from outside."""
    return Markup(f"<style>{css}</style>")


def root(width: float, height: float, *children: str, label: str, css: str = "") -> Markup:
    """Return the outermost element: scales with its box, `label` is read to those who listen."""
    body = [style(css), *children] if css else list(children)
    return tag(
        "svg",
        *body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _value(value: str | int | float) -> str:
    match value:
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case int():
            return str(value)
        case _:
            return escape(value)
