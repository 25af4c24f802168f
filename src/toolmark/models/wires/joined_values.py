"""Values that come in pieces, joined as the chunks of a stream give them."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_MAX_DEPTH = 8
_TEXT_MEMBERS = frozenset({"text", "summary", "thinking", "data"})
"""The members of a part that come in pieces; of all others the last value counts."""
_CUMULATIVE_FORMAT = "MiniMax"  # its details repeat the text so far


class UnjoinableDelta(Exception):
    """A piece that does not fit to those before it."""


class JoinedText:
    """A text in pieces."""

    __slots__ = ("n_chars", "pieces")

    def __init__(self, first: str = "") -> None:
        self.pieces = [first] if first else []
        self.n_chars = len(first)

    def add(self, piece: str) -> None:
        """Append a piece."""
        self.pieces.append(piece)
        self.n_chars += len(piece)

    def __str__(self) -> str:
        return "".join(self.pieces)


def finish_value(value: Any) -> Any:
    """Return a joined value as JSON."""
    match value:
        case JoinedText():
            return str(value)
        case dict():
            return {name: finish_value(item) for name, item in value.items()}
        case list():
            return [finish_value(item) for item in value]
        case _:
            return value


def merge_member(before: Any, piece: Any, name: str) -> Any:
    """Return a member of a message with its next piece. Raises UnjoinableDelta.

    Texts are appended. A list of parts continues the list before it, and a text after a list is
    one more part.
    """
    match before, piece:
        case None, str():
            return JoinedText(piece)
        case JoinedText(), str():
            before.add(piece)
            return before
        case None, list():
            return _extend_parts([], piece)
        case list(), list():
            return _extend_parts(before, piece)
        case list(), str() if name == "content":
            return _extend_parts(before, [{"type": "text", "text": piece}])
        case JoinedText(), list() if name == "content":
            first = [{"type": "text", "text": str(before)}] if before.pieces else []
            return _extend_parts(_extend_parts([], first), piece)
        case None, _:
            return piece
        case dict(), dict():
            return merge_objects(before, piece)
        case _ if type(before) is type(piece):
            return piece
    raise UnjoinableDelta


def merge_objects(before: Json, piece: Json, depth: int = _MAX_DEPTH) -> Json:
    """Return an object with the members of its next piece; the last value of each counts."""
    for name, value in piece.items():
        found = before.get(name)
        if depth and isinstance(found, dict) and isinstance(value, dict):
            before[name] = merge_objects(found, value, depth - 1)
        elif value is not None or name not in before:
            before[name] = value
    return before


def _extend_parts(parts: list[Any], pieces: list[Any]) -> list[Any]:
    """Add parts to a list; a part that continues the last one of its kind is joined to it."""
    for piece in pieces:
        before = _continued_part(parts, piece)
        if before is None:
            parts.append(_begin_part(piece) if isinstance(piece, dict) else piece)
        else:
            _join_part(before, piece)
    return parts


def _continued_part(parts: list[Any], piece: Any) -> Json | None:
    """Return the part that a piece continues, None for a new part.

    A part with an index is continued by pieces of its type and index, others by the next piece of
    their type. Ciphertext comes whole.
    """
    if not isinstance(piece, dict) or not isinstance(piece.get("type"), str):
        return None
    kind, index = piece["type"], piece.get("index")
    if kind == "reasoning.encrypted":
        return None
    last = parts[-1] if parts else None
    if index is None or isinstance(index, bool) or not isinstance(index, int):
        is_next = isinstance(last, dict) and last.get("type") == kind and "index" not in last
        return last if is_next and _has_text(piece) else None
    for part in reversed(parts[-64:]):
        if isinstance(part, dict) and part.get("type") == kind and part.get("index") == index:
            return part
    return None


def _has_text(piece: Json) -> bool:
    return not _TEXT_MEMBERS.isdisjoint(piece)


def _begin_part(piece: Json) -> Json:
    return {
        name: JoinedText(value)
        if name in _TEXT_MEMBERS and isinstance(value, str)
        else _extend_parts([], value)
        if name in _TEXT_MEMBERS and isinstance(value, list)
        else value
        for name, value in piece.items()
    }


def _join_part(before: Json, piece: Json) -> None:
    for name, value in piece.items():
        found = before.get(name)
        if value is None and name in before:
            continue
        match found, value:
            case JoinedText(), str() if name in _TEXT_MEMBERS:
                _append_text(found, value, piece)
            case list(), list() if name in _TEXT_MEMBERS:
                _extend_parts(found, value)
            case None, str() if name in _TEXT_MEMBERS:
                before[name] = JoinedText(value)
            case JoinedText() | list(), _ if name in _TEXT_MEMBERS:
                raise UnjoinableDelta
            case _:
                before[name] = value


def _append_text(found: JoinedText, text: str, piece: Json) -> None:
    form = piece.get("format")
    is_cumulative = isinstance(form, str) and form.startswith(_CUMULATIVE_FORMAT)
    # compared only where the piece is not shorter than all before it: else the time would grow with
    # the square of the length
    if is_cumulative and 0 < found.n_chars <= len(text) and text.startswith(str(found)):
        found.pieces, found.n_chars = [text], len(text)
    else:
        found.add(text)
