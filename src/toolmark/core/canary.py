"""Marks in stored answer keys: a mark that is seen in a request to a model shows a leaked key.

Each stored task has a mark next to its answers, which no model is shown. The mark is derived from
the task, so that equal tasks make equal files. It ends in a checksum, so that text which only
begins like a mark is not taken for one.
"""

from __future__ import annotations

import hashlib
import re
import zlib

import msgspec

from toolmark.core.errors import SandboxError
from toolmark.core.records import Message, Request, Task, Text, Tool

CANARY_FIELD = "canary"  # the field of a stored task for its mark
_PREFIX = "toolmark-canary-"
_PATTERN = re.compile(_PREFIX + "([0-9a-f]{24})([0-9a-f]{8})")


def make_canary(task: Task) -> str:
    """Return the mark of a task."""
    identity = f"{task.suite}\0{task.seed}\0{task.id}"
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{_PREFIX}{digest}{_checksum(digest)}"


def add_canary(task: Task, line: bytes) -> bytes:
    """Return a task as it is stored, a JSON object, with its mark added."""
    return line[:-1] + f',"{CANARY_FIELD}":"{make_canary(task)}"}}'.encode()


def contains_canary(text: str) -> bool:
    """Return whether a text contains a mark."""
    return _PREFIX in text and any(
        _checksum(found[1]) == found[2] for found in _PATTERN.finditer(text)
    )


class RequestGuard:
    """Raises SandboxError for a request of an episode that contains a mark.

    Messages and tools that were checked before are not checked again. Neither are `trusted_tools`,
    which no server described.
    """

    def __init__(self, trusted_tools: tuple[Tool, ...] = ()) -> None:
        self._trusted_tools = trusted_tools
        self._checked_messages: tuple[Message, ...] = ()

    def check_request(self, request: Request) -> None:
        """Raise SandboxError where the request contains a mark."""
        messages, tools, checked = request.messages, request.tools, self._checked_messages
        n = len(checked)
        for message in messages[n:] if messages[:n] == checked else messages:
            if _message_contains_canary(message):
                raise _leak_error()
        if tools is not self._trusted_tools and _tools_contain_canary(tools):
            raise _leak_error()
        self._checked_messages, self._trusted_tools = messages, tools


def _leak_error() -> SandboxError:
    return SandboxError(
        "an answer key leaked: a mark that stands only in stored tasks is in what the "
        "model is asked; where a tool showed it, its server can read run folders or sets"
    )


def _message_contains_canary(message: Message) -> bool:
    for part in message.parts:
        if isinstance(part, Text) and _PREFIX in part.text and contains_canary(part.text):
            return True
    for call in message.calls:
        if _PREFIX in call.arguments and contains_canary(call.arguments):
            return True
        if _PREFIX in call.name and contains_canary(call.name):
            return True
    return False


def _tools_contain_canary(tools: tuple[Tool, ...]) -> bool:
    """Return whether the description of a tool contains a mark.

    A server may change it at any time.
    """
    try:
        text = msgspec.json.encode(tools)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, integers of any length
        text = repr(tools).encode("utf-8", "replace")
    return _PREFIX.encode() in text and contains_canary(text.decode("utf-8", "replace"))


def _checksum(digest: str) -> str:
    return f"{zlib.crc32(digest.encode()):08x}"
