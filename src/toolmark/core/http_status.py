"""An HTTP answer that is no success, as a line: its status, and what its body adds to that."""

from __future__ import annotations

from http import HTTPStatus

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


def describe_status(status: int, message: str) -> str:
    """Return "404: MESSAGE"; where the message says no more than the status, what that means.

    A message that begins with its status does not say it twice. Of a web page only the title is
    shown; an endpoint does not answer with one, so the address may be wrong.
    """
    title = _page_title(message)
    text = _without_status(status, message if title is None else title)
    if _says_nothing(status, text):
        text = _status_phrase(status) or _NO_REASON
    page_note = "" if title is None else " (the answer is a web page)"
    return f"{status}: {text}{page_note}"


def says_nothing(status: int, message: str) -> bool:
    """Tell whether a message adds nothing to its status."""
    title = _page_title(message)
    return _says_nothing(status, message if title is None else title)


def _says_nothing(status: int, text: str) -> bool:
    known = {str(status), *_words(_status_phrase(status))} | _EMPTY_WORDS
    return known.issuperset(_words(text))


def _status_phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return ""


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.casefold()).split()


def _without_status(status: int, text: str) -> str:
    """Return a text without its own status at the front: "404 Not Found: x" is "Not Found: x"."""
    text = text.strip()
    for lead in ("", "HTTP ", "HTTP status ", "Error ", "Error code: ", "status "):
        start = f"{lead}{status}"
        rest = text[len(start) :]
        if text[: len(start)].casefold() == start.casefold() and not rest[:1].isalnum():
            return rest.lstrip(" :,-.") or text
    return text


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
