"""Drawings out of run folders, made safe for a page: a closed list of what an SVG may hold.

A run folder may be a stranger's, so its drawings are foreign text. What passes is written anew,
element by element: shapes and text with plain attributes, and style rules that cannot load, reach
or cover anything. The page shows it in a shadow root, under a policy that runs no script of it.
"""

from __future__ import annotations

import re

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from toolmark import svg
from toolmark.svg import Markup

LARGEST = 2_000_000  # characters
DEEPEST = 60
STEEPEST = 100.0  # height over width, and the other way round: a page has an end
_SPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {
    "svg", "g", "title", "desc", "style", "circle", "ellipse", "line", "path", "polygon",
    "polyline", "rect", "text", "tspan",
}  # fmt: skip
# single classes of characters, each matched in one pass
_PLAIN = re.compile(r"[\w\s.,:%()+-]*")  # numbers, lists of them, paths, transforms, names
_PAINT = re.compile(r"[\w\s.,#%()+-]*")
_SELECTOR = re.compile(r"[\w\s.,>+*\[\]-]*")
_FUNCTION = re.compile(r"(?<![\w-])([\w-]+)\s*\(|\(")
_FUNCTIONS = {"var", "rgb", "rgba", "hsl", "hsla"}
_PLAIN_ATTRIBUTES = {
    "class", "cx", "cy", "d", "dominant-baseline", "dx", "dy", "height", "points",
    "preserveAspectRatio", "r", "role", "rx", "ry", "text-anchor", "transform", "viewBox", "width",
    "x", "x1", "x2", "y", "y1", "y2",
}  # fmt: skip
_PROPERTIES = {
    "color", "dominant-baseline", "fill", "fill-opacity", "fill-rule", "font", "font-family",
    "font-size", "font-style", "font-weight", "height", "letter-spacing", "opacity", "paint-order",
    "rx", "ry", "stroke", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
    "stroke-opacity", "stroke-width", "text-anchor", "text-decoration", "vector-effect", "width",
}  # fmt: skip


class _Foreign(Exception):
    """What is no drawing at all."""


def cleaned(drawing: str) -> Markup:
    """Return what a page may show of an SVG; "" for what is none, is too large or is oddly shaped.

    The text is read once, and takes memory in proportion to its length.
    """
    if len(drawing) > LARGEST:
        return Markup("")
    writer = _Writer()
    parser = DefusedXMLParser(target=writer, forbid_dtd=True)
    try:
        parser.feed(drawing)
        parser.close()
    except (DefusedXmlException, SyntaxError, ValueError, _Foreign):
        return Markup("")
    return Markup("".join(writer.pieces))


class _Writer:
    """Takes what a parser finds, and writes anew what is in the list."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._open: list[str] = []
        self._skipped = 0  # elements under way, of which nothing passes
        self._css: list[str] = []
        self._bare = False  # the last start is not closed yet: nothing stands in the element

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Write the start of an element."""
        name = tag.removeprefix(_SPACE)
        if not self._open and not self._skipped:
            if tag != f"{_SPACE}svg":
                raise _Foreign
            _check_shape(attributes)
        elif self._skipped or not self._passes(tag, name):
            self._skipped += 1
            if self._skipped + len(self._open) > DEEPEST:
                raise _Foreign
            return
        self._open.append(name)
        if len(self._open) > DEEPEST:
            raise _Foreign
        root = len(self._open) == 1
        head = {"xmlns": "http://www.w3.org/2000/svg"} if root else {}
        found = head | {key: value for key, value in attributes.items() if _allowed(key, value)}
        if root:  # the page says where it stands, and how large
            found.pop("class", None)
            found.pop("style", None)
        pairs = "".join(f' {key}="{svg.escape(value)}"' for key, value in found.items())
        self._fill()
        self.pieces.append(f"<{name}{pairs}")
        self._bare = True

    def _fill(self) -> None:
        if self._bare:
            self.pieces.append(">")
        self._bare = False

    def _passes(self, tag: str, name: str) -> bool:
        if not tag.startswith(_SPACE) or name not in _ELEMENTS or name == "svg":
            return False
        return self._open[-1] != "style"

    def data(self, text: str) -> None:
        """Write text; that of a style element is looked at as a whole."""
        if self._skipped or not self._open:
            return
        if self._open[-1] == "style":
            self._css.append(text)
        else:
            self._fill()
            self.pieces.append(svg.escape(text))

    def end(self, tag: str) -> None:
        """Write the end of an element."""
        if self._skipped:
            self._skipped -= 1
            return
        name = self._open.pop()
        if name == "style":
            self._fill()
            self.pieces.append(_rules("".join(self._css)))
            self._css.clear()
        self.pieces.append("/>" if self._bare else f"</{name}>")
        self._bare = False

    def close(self) -> None:
        """Do nothing: what was written is in `pieces`."""


def _check_shape(attributes: dict[str, str]) -> None:
    """Raise _Foreign where a drawing has no size, or would make the page very long or wide."""
    box = attributes.get("viewBox", "").split()
    sizes = [box[2:], [attributes.get("width", ""), attributes.get("height", "")]]
    for size in sizes:
        try:
            width, height = map(float, size)
        except ValueError:
            raise _Foreign from None
        if not (0 < width < 1e5 and 0 < height < 1e5):
            raise _Foreign
        if not 1 / STEEPEST <= height / width <= STEEPEST:
            raise _Foreign


def _allowed(name: str, value: str) -> bool:
    if name == "aria-label":
        return True
    if name == "style":
        return _declarations(value) > 0
    if name in _PLAIN_ATTRIBUTES:
        return _PLAIN.fullmatch(value) is not None
    return name in _PROPERTIES and _painted(value)


def _painted(value: str) -> bool:
    """Tell whether a value of a property is plain: no address, and none of the other functions."""
    return _PAINT.fullmatch(value) is not None and _FUNCTIONS.issuperset(
        map(str.lower, _FUNCTION.findall(value))
    )


def _declarations(css: str) -> int:
    """Count the declarations that are plain; one that is not makes all of them none."""
    n = 0
    for each in css.split(";"):
        name, colon, value = each.partition(":")
        if not each.strip():
            continue
        if not colon or name.strip().lower() not in _PROPERTIES or not _painted(value):
            return 0
        n += 1
    return n


def _rules(css: str) -> str:
    """Return the plain rules of a style sheet, without those that are not."""
    made: list[str] = []
    for rule in css.split("}"):
        selector, brace, body = rule.partition("{")
        bare = selector.replace(":not([width])", "")
        if brace and _SELECTOR.fullmatch(bare) and bare.strip() and _declarations(body):
            made.append(f"{svg.escape(selector).replace('&gt;', '>')}{{{svg.escape(body)}}}")
    return "".join(made)
