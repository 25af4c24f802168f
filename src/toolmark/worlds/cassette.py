"""What the world outside answered, kept in a file, so that it can be asked again without it.

One line of JSON per question: tool, arguments, result. A question is the same when tool and
arguments are, whatever the order of keys. The first answer to a question is the one that counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolmark import codec
from toolmark.errors import DataError

HIDDEN = "***"


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    tool: str
    arguments: dict[str, Any]
    result: Any


class Cassette:
    """Answers by question. `secrets` are texts that must never reach the file."""

    def __init__(self, path: Path, secrets: tuple[str, ...] = ()) -> None:
        self.path = path
        self.secrets = tuple(secret for secret in secrets if secret)
        self._answers: dict[str, Any] = {}
        self._size = 0
        if path.exists():
            self._read()

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self._answers)

    def __contains__(self, question: tuple[str, Mapping[str, Any]]) -> bool:
        """Tell whether the question was asked before."""
        return _key(*question) in self._answers

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the recorded result. Raises KeyError for a question never asked."""
        return self._answers[_key(tool, arguments)]

    def record(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Keep an answer, in the file too. A question already answered is left as it is."""
        key = _key(tool, arguments)
        if key in self._answers:
            return
        line = {"tool": tool, "arguments": codec.plain(arguments), "result": codec.plain(result)}
        text = json.dumps(line, ensure_ascii=False)
        for secret in self.secrets:
            text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], HIDDEN)
        self._append(text.encode() + b"\n")
        self._answers[key] = json.loads(text)["result"]

    def _append(self, line: bytes) -> None:
        try:
            with self.path.open("r+b" if self.path.exists() else "wb") as file:
                # a line torn by a crash lies behind what was read, and is written over
                file.seek(self._size)
                file.truncate()
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(f"{self.path}: cannot write: {error.strerror}") from None
        self._size += len(line)

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise DataError(f"{self.path}: cannot read: {error.strerror}") from None
        whole = data[: data.rfind(b"\n") + 1]
        self._size = len(whole)
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                found = msgspec.json.decode(line, type=_Line)
            except msgspec.DecodeError as error:
                raise DataError(f"{self.path}:{number}: not a recorded answer: {error}") from None
            self._answers.setdefault(_key(found.tool, found.arguments), found.result)


def _key(tool: str, arguments: Mapping[str, Any]) -> str:
    return json.dumps([tool, codec.plain(arguments)], sort_keys=True)
