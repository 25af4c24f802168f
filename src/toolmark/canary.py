"""Marks in stored answer keys: one that is seen in a request to a model shows that a key leaked.

Each stored task carries a mark beside its answers, which nothing shows to a model. It follows from
the task, so that equal tasks make equal files, and it ends in a check, so that text which merely
begins like a mark is none.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Coroutine, Iterable
from typing import Any

import msgspec

from toolmark.errors import SandboxError
from toolmark.types import Message, Model, Reply, Request, Task, Text, Tool

KEY = "canary"  # under which a stored task holds its mark
_BEGIN = "toolmark-canary-"
_MARK = re.compile(_BEGIN + "([0-9a-f]{24})([0-9a-f]{8})")


def of(task: Task) -> str:
    """Return the mark of a task."""
    named = f"{task.suite}\0{task.seed}\0{task.id}"
    body = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:24]
    return f"{_BEGIN}{body}{_check(body)}"


def stamped(task: Task, line: bytes) -> bytes:
    """Return a task as it is stored, a JSON object, with its mark."""
    return line[:-1] + f',"{KEY}":"{of(task)}"}}'.encode()


def seen(text: str) -> bool:
    """Tell whether a text holds a mark."""
    return _BEGIN in text and any(_check(found[1]) == found[2] for found in _MARK.finditer(text))


def guarded(model: Model, known: tuple[Tool, ...] = ()) -> Model:
    """Return a model that is asked nothing that holds a mark: SandboxError instead.

    It serves one episode: messages and tools that were looked at before are not looked at again,
    nor are the tools `known`, which no server described.
    """
    before: tuple[Message, ...] = ()

    def asked(request: Request, /) -> Coroutine[Any, Any, Reply]:
        nonlocal before, known
        messages, n = request.messages, len(before)
        fresh = messages[n:] if messages[:n] == before else messages
        if _marked(fresh) or (request.tools is not known and _offered(request.tools)):
            raise SandboxError(
                "an answer key leaked: a mark that stands only in stored tasks is in what the "
                "model is asked; where a tool showed it, its server can read run folders or sets"
            )
        before, known = messages, request.tools
        return model(request)

    return asked


def _marked(messages: Iterable[Message]) -> bool:
    for message in messages:
        for part in message.parts:
            if isinstance(part, Text) and _BEGIN in part.text and seen(part.text):
                return True
        for call in message.calls:
            if _BEGIN in call.arguments and seen(call.arguments):
                return True
            if _BEGIN in call.name and seen(call.name):
                return True
    return False


def _offered(tools: tuple[Tool, ...]) -> bool:
    """Tell whether what describes tools holds a mark: a server may list them anew at any time."""
    try:
        text = msgspec.json.encode(tools)
    except (UnicodeEncodeError, OverflowError):  # lone surrogates, integers of any length
        text = repr(tools).encode("utf-8", "replace")
    return _BEGIN.encode() in text and seen(text.decode("utf-8", "replace"))


def _check(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}"
