"""SVG drawings from run folders, made safe for a page: an allow-list of what they may contain.

A run folder may come from a stranger, so its drawings are untrusted text. Allowed content is
rewritten element by element: shapes and text with plain attributes, and style rules that cannot
load, reach or cover anything. The page shows it in a shadow root, under a policy that runs none of
its scripts.
"""

from __future__ import annotations

import re

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from toolmark.core import svg
from toolmark.core.svg import Markup

MAX_CHARACTERS = 2_000_000
MAX_DEPTH = 60
MAX_ASPECT_RATIO = 100.0  # height over width, or width over height: limits the length of the page
_SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
_ALLOWED_ELEMENTS = {
    "svg", "g", "title", "desc", "style", "circle", "ellipse", "line", "path", "polygon",
    "polyline", "rect", "text", "tspan",
}  # fmt: skip
# single character classes, each matched in one pass
_PLAIN_VALUE = re.compile(r"[\w\s.,:%()+-]*")  # numbers, lists of them, paths, transforms, names
_PAINT_VALUE = re.compile(r"[\w\s.,#%()+-]*")
_PLAIN_SELECTOR = re.compile(r"[\w\s.,>+*\[\]-]*")
_FUNCTION_CALL = re.compile(r"(?<![\w-])([\w-]+)\s*\(|\(")
_ALLOWED_FUNCTIONS = {"var", "rgb", "rgba", "hsl", "hsla"}
_PLAIN_ATTRIBUTES = {
    "class", "cx", "cy", "d", "dominant-baseline", "dx", "dy", "height", "points",
    "preserveAspectRatio", "r", "role", "rx", "ry", "text-anchor", "transform", "viewBox", "width",
    "x", "x1", "x2", "y", "y1", "y2",
}  # fmt: skip
_ALLOWED_PROPERTIES = {
    "color", "dominant-baseline", "fill", "fill-opacity", "fill-rule", "font", "font-family",
    "font-size", "font-style", "font-weight", "height", "letter-spacing", "opacity", "paint-order",
    "rx", "ry", "stroke", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "stroke-width", "text-anchor", "text-decoration", "vector-effect", "width",
}  # fmt: skip


class _UnsafeDrawing(Exception):
    """The text is not an acceptable drawing."""


def sanitize_svg(drawing: str) -> Markup:
    """Return the safe part of an SVG, "" for text that is not SVG, is too large or too narrow.

    The text is read once; memory is proportional to its length.
    """
    if len(drawing) > MAX_CHARACTERS:
        return Markup("")
    writer = _SafeSvgWriter()
    parser = DefusedXMLParser(target=writer, forbid_dtd=True)
    try:
        parser.feed(drawing)
        parser.close()
    except (DefusedXmlException, SyntaxError, ValueError, _UnsafeDrawing):
        return Markup("")
    return Markup("".join(writer.pieces))


class _SafeSvgWriter:
    """Receives parser events and writes the allowed content again."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._open_elements: list[str] = []
        self._n_skipped = 0  # open elements whose content is dropped
        self._css: list[str] = []
        self._is_start_open = False  # the last start tag is not closed yet: the element is empty

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Write the start of an element."""
        name = tag.removeprefix(_SVG_NAMESPACE)
        if not self._open_elements and not self._n_skipped:
            if tag != f"{_SVG_NAMESPACE}svg":
                raise _UnsafeDrawing
            _check_shape(attributes)
        elif self._n_skipped or not self._is_allowed_element(tag, name):
            self._n_skipped += 1
            if self._n_skipped + len(self._open_elements) > MAX_DEPTH:
                raise _UnsafeDrawing
            return
        self._open_elements.append(name)
        if len(self._open_elements) > MAX_DEPTH:
            raise _UnsafeDrawing
        root = len(self._open_elements) == 1
        head = {"xmlns": "http://www.w3.org/2000/svg"} if root else {}
        found = head | {
            key: value for key, value in attributes.items() if _is_allowed_attribute(key, value)
        }
        if root:  # the page sets the position and the size
            found.pop("class", None)
            found.pop("style", None)
        pairs = "".join(f' {key}="{svg.escape_text(value)}"' for key, value in found.items())
        self._close_start()
        self.pieces.append(f"<{name}{pairs}")
        self._is_start_open = True

    def _close_start(self) -> None:
        if self._is_start_open:
            self.pieces.append(">")
        self._is_start_open = False

    def _is_allowed_element(self, tag: str, name: str) -> bool:
        if not tag.startswith(_SVG_NAMESPACE) or name not in _ALLOWED_ELEMENTS or name == "svg":
            return False
        return self._open_elements[-1] != "style"

    def data(self, text: str) -> None:
        """Write text; the text of a style element is collected and checked at its end."""
        if self._n_skipped or not self._open_elements:
            return
        if self._open_elements[-1] == "style":
            self._css.append(text)
        else:
            self._close_start()
            self.pieces.append(svg.escape_text(text))

    def end(self, tag: str) -> None:
        """Write the end of an element."""
        if self._n_skipped:
            self._n_skipped -= 1
            return
        name = self._open_elements.pop()
        if name == "style":
            self._close_start()
            self.pieces.append(_safe_css_rules("".join(self._css)))
            self._css.clear()
        self.pieces.append("/>" if self._is_start_open else f"</{name}>")
        self._is_start_open = False

    def close(self) -> None:
        """Do nothing: the output is in `pieces`."""


def _check_shape(attributes: dict[str, str]) -> None:
    """Raise _UnsafeDrawing where a drawing has no size, or is too long or too wide."""
    box = attributes.get("viewBox", "").split()
    sizes = [box[2:], [attributes.get("width", ""), attributes.get("height", "")]]
    for size in sizes:
        try:
            width, height = map(float, size)
        except ValueError:
            raise _UnsafeDrawing from None
        if not (0 < width < 1e5 and 0 < height < 1e5):
            raise _UnsafeDrawing
        if not 1 / MAX_ASPECT_RATIO <= height / width <= MAX_ASPECT_RATIO:
            raise _UnsafeDrawing


def _is_allowed_attribute(name: str, value: str) -> bool:
    if name == "aria-label":
        return True
    if name == "style":
        return _count_declarations(value) > 0
    if name in _PLAIN_ATTRIBUTES:
        return _PLAIN_VALUE.fullmatch(value) is not None
    return name in _ALLOWED_PROPERTIES and _is_plain_property(value)


def _is_plain_property(value: str) -> bool:
    """Return whether a property value is plain: no URL, and only allowed functions."""
    return _PAINT_VALUE.fullmatch(value) is not None and _ALLOWED_FUNCTIONS.issuperset(
        map(str.lower, _FUNCTION_CALL.findall(value))
    )


def _count_declarations(css: str) -> int:
    """Count the declarations; return 0 if any of them is not plain."""
    n = 0
    for declaration in css.split(";"):
        name, colon, value = declaration.partition(":")
        if not declaration.strip():
            continue
        if (
            not colon
            or name.strip().lower() not in _ALLOWED_PROPERTIES
            or not _is_plain_property(value)
        ):
            return 0
        n += 1
    return n


def _safe_css_rules(css: str) -> str:
    """Return the plain rules of a style sheet; others are removed."""
    rules: list[str] = []
    for rule in css.split("}"):
        selector, brace, body = rule.partition("{")
        plain_selector = selector.replace(":not([width])", "")
        if (
            brace
            and _PLAIN_SELECTOR.fullmatch(plain_selector)
            and plain_selector.strip()
            and _count_declarations(body)
        ):
            rules.append(
                f"{svg.escape_text(selector).replace('&gt;', '>')}{{{svg.escape_text(body)}}}"
            )
    return "".join(rules)
