"""SVG as strings: an element per call, every text from outside escaped.

A plain `str` given as a child is text and is escaped. `Markup`, which only this module makes, is
not changed. Attribute names are Python's: `stroke_width` is `stroke-width`, `class_` is `class`; a
value of None leaves the attribute out.

    svg.svg_element(100, 40, svg.element("text", label, x=4, y=20, class_="name"), label="A graph")
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias


class Markup(str):
    """Markup made by toolmark; as a child, and in a template, it is not escaped again."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return itself: template engines call this before they escape."""
        return str(self)


AttributeValue: TypeAlias = str | int | float | None

# not allowed in XML 1.0 in any form, so each is shown as the replacement character
_ILLEGAL_CHARS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}
_ESCAPE_TABLE = str.maketrans(_ESCAPES)


def escape_text(text: str) -> Markup:
    """Return text safe inside an element or a quoted attribute."""
    return Markup(_ILLEGAL_CHARS.sub("\ufffd", text).translate(_ESCAPE_TABLE))


def element(name: str, *children: str, **attributes: AttributeValue) -> Markup:
    """Return one element. Numbers are written with at most two decimals."""
    pairs = "".join(
        f' {_attribute_name(key)}="{_attribute_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup(f"<{name}{pairs}/>")
    return Markup(f"<{name}{pairs}>{join_children(children)}</{name}>")


def join_children(children: Iterable[str]) -> Markup:
    """Return the children joined; plain text among them is escaped."""
    return Markup(
        "".join(child if isinstance(child, Markup) else escape_text(child) for child in children)
    )


def style_element(css: str) -> Markup:
    """Return a style element; `css` must be toolmark's own text, never text from outside."""
    return Markup(f"<style>{css}</style>")


def svg_element(width: float, height: float, *children: str, label: str, css: str = "") -> Markup:
    """Return the root element, which scales with its box; `label` is for screen readers."""
    content = [style_element(css), *children] if css else list(children)
    return element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_attribute_value(width)} {_attribute_value(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _attribute_value(value: str | int | float) -> str:
    match value:
        case float():
            return f"{value:.2f}".rstrip("0").rstrip(".")
        case int():
            return str(value)
        case _:
            return escape_text(value)
