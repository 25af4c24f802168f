"""An HTTP answer that is not a success, as a line: its status, and what its body adds to that."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table

_EMPTY_WORDS = frozenset(
    (
        "http",
        "status",
        "code",
        "error",
        "errors",
        "page",
        "the",
        "message",
        "detail",
        "none",
        "null",
    )
)
_MAX_HEAD_CHARS = 300  # of a body, in which a web page is recognised
_MAX_TITLE_CHARS = 100
_NO_REASON = "the server gives no reason"
_LEADS = ("", "HTTP ", "HTTP status ", "Error ", "Error code: ", "status ")  # before a status


class HttpStatuses(DataRecord, frozen=True):
    """`http_statuses.toml`: the phrases of each status, first the one that is printed."""

    phrases: dict[int, Annotated[tuple[str, ...], Meta(min_length=1)]]


def describe_status(status: int, message: str) -> str:
    """Return "404: MESSAGE"; where the message says no more than the status, what that means.

    A message that begins with its status does not say it twice. Of a web page only the title is
    shown; an endpoint does not answer with one, so the address may be wrong.
    """
    title = _page_title(message)
    text = _without_status(status, message if title is None else title)
    if _says_nothing(status, text):
        text = next(iter(_status_phrases(status)), _NO_REASON)
    page_note = "" if title is None else " (the answer is a web page)"
    return f"{status}: {text}{page_note}"


def says_nothing(status: int, message: str) -> bool:
    """Tell whether a message adds nothing to its status."""
    title = _page_title(message)
    return _says_nothing(status, message if title is None else title)


def _says_nothing(status: int, text: str) -> bool:
    """Tell whether a text is empty or no more than a phrase of its status."""
    words = _informative_words(_without_status(status, text))
    return not words or words in map(_informative_words, _status_phrases(status))


def _status_phrases(status: int) -> tuple[str, ...]:
    table = read_table(__file__, "http_statuses.toml", HttpStatuses)
    return table.phrases.get(status, ())


def _informative_words(text: str) -> list[str]:
    """Return the words of a text without those that say nothing, such as "error"."""
    words = "".join(c if c.isalnum() else " " for c in text.casefold()).split()
    return [word for word in words if word not in _EMPTY_WORDS]


def _without_status(status: int, text: str) -> str:
    """Return a text without its own status at the front: "404 Not Found: x" is "Not Found: x"."""
    text = text.strip()
    while (start := _status_length(status, text)) > 0:
        text = text[start:].lstrip(" :,-.")
    return text


def _status_length(status: int, text: str) -> int:
    """Return the length of "404", "HTTP 404" or the like at the start of a text; 0 without it."""
    for lead in _LEADS:
        start = f"{lead}{status}".casefold()
        is_start = text[: len(start)].casefold() == start
        if is_start and not text[len(start) : len(start) + 1].isalnum():
            return len(start)
    return 0


def _page_title(body: str) -> str | None:
    """Return the title of a web page, of one without what it begins with; None for other texts."""
    head = body.lstrip()[:_MAX_HEAD_CHARS].casefold()
    if not head.startswith("<") or ("<html" not in head and "<!doctype html" not in head):
        return None
    folded = body.casefold()
    start = folded.find("<title>")
    end = folded.find("</title>", start)
    if start < 0 or end < 0 or len(folded) != len(body):
        return " ".join(_text_outside_tags(body).split())[:_MAX_TITLE_CHARS]
    return " ".join(body[start + len("<title>") : end].split())[:_MAX_TITLE_CHARS]


def _text_outside_tags(body: str) -> str:
    return " ".join(piece.partition(">")[2] for piece in body.split("<"))
