"""What the world outside answered, kept in a file, so that it can be asked again without it.

One line of JSON per answer; pictures and sounds lie beside it, in a folder of media. A question is
the same when tool and arguments are, whatever the order of keys. A line with a task belongs to one
take, one episode as it went; a line without one is the answer for everybody, and the first counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import weakref
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from toolmark import codec
from toolmark.errors import DataError, UsageError, WorldError
from toolmark.media import Media, named
from toolmark.types import Call, Message, Part, Result, Text, Tool

HIDDEN = "***"
MEDIA = ".media"
SHORTEST = 4  # letters of a secret: hiding shorter ones would tear every text apart
Arguments: TypeAlias = dict[str, Any] | str
Kind: TypeAlias = Literal["call", "open", "tools", "opening", "state", "head"]


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer. `arguments` is text where the model's were no JSON object.

    `n` is how many calls of the take were begun before.
    """

    tool: str
    arguments: Arguments
    result: Any
    kind: Kind = "call"
    task: str = ""
    take: int = 0
    n: int = 0


class Open(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How an episode's world was: what it takes at once, whether it opens, has a workspace.

    `needed` is the digest of the states that it started from, `instance` that of what its task
    holds: generated tasks have equal ids in every run.
    """

    at_once: int = 1
    opener: bool = False
    workspace: bool = False
    needed: str = ""
    instance: str = ""


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was recorded: the tasks of which suite, made with which seed and knobs."""

    suite: str
    seed: int | None = None
    knobs: dict[str, Any] = {}

    def __str__(self) -> str:
        """Return it as it is asked for."""
        seed = () if self.seed is None else (f"--seed {self.seed}",)
        return " ".join((self.suite, *seed, *(f"-T {k}={_word(v)}" for k, v in self.knobs.items())))


class Take:
    """One episode as it went: everything the world said, by question.

    `running`: it is being recorded, and not to be followed yet.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.running = False
        self.opened: Open | None = None
        self.openings: dict[str, tuple[Message, ...]] = {}
        self.states: list[Any] = []
        self._tools: list[tuple[int, int, tuple[Tool, ...]]] = []
        self._answers: dict[str, list[tuple[int, int, Result]]] = {}
        self._order: dict[str, list[tuple[int, int, str]]] = {}
        self._size = 0

    def add(self, line: Line) -> None:
        """Take up a line. Raises msgspec.ValidationError where the result has the wrong shape."""
        question = key(line.tool, line.arguments)
        at = (line.n, self._size)  # the second keeps equal places in the order of the file
        match line.kind:
            case "call":
                result = msgspec.convert(line.result, Result)
                _check(result.parts)
                insort(self._answers.setdefault(question, []), (*at, result), key=_place)
                insort(self._order.setdefault(server(line.tool), []), (*at, question), key=_place)
            case "tools":
                tools = msgspec.convert(line.result, tuple[Tool, ...])
                insort(self._tools, (*at, tools), key=_place)
            case "opening":
                said = msgspec.convert(line.result, tuple[Message, ...])
                _check(part for message in said for part in message.parts)
                self.openings[question] = said
            case "state":
                self.states.append(line.result)
            case "open":
                self.opened = msgspec.convert(line.result, Open)
        self._size += 1

    def answers(self, question: str) -> list[Result]:
        """Return the answers to a question, in the order in which it was asked."""
        return [result for _, _, result in self._answers.get(question, ())]

    def place(self, name: str, at: int) -> str:
        """Return the question with which a server was asked the time number `at`, from 0."""
        order = self._order.get(name, [])
        return order[at][2] if at < len(order) else ""

    def asked(self) -> dict[str, int]:
        """Return how many questions each server was asked."""
        return {name: len(order) for name, order in self._order.items()}

    def tools(self, n: int) -> tuple[Tool, ...] | None:
        """Return what was on offer when `n` calls had been begun."""
        held = [tools for at, _, tools in self._tools if at <= n]
        return held[-1] if held else None

    def questions(self) -> Iterator[str]:
        """Go through the questions."""
        return iter(self._answers)


class Cassette:
    """Answers by question. `secrets` are texts of 4 letters or more that must never reach the file.

    Raises DataError with the line where the file is not what it should be. One process writes at
    a time: the second one gets a UsageError.
    """

    def __init__(self, path: Path, secrets: tuple[str, ...] = ()) -> None:
        if path.suffix == MEDIA:
            raise UsageError(
                f"{path}: {MEDIA} is the name of the folder of pictures; call it .jsonl"
            )
        self.path = path
        self.heads: list[Head] = []
        self.media = Media(path.with_suffix(MEDIA))
        self._forms = dict.fromkeys(forms(secrets), HIDDEN)
        self._answers: dict[str, Any] = {}
        self._takes: dict[str, dict[int, Take]] = {}
        self._size = 0
        self._gap = b""
        self._seen = 0
        self._fd = -1
        if path.exists():
            self._read()

    def __len__(self) -> int:
        """Return the number of questions that have one answer for everybody."""
        return len(self._answers)

    def __contains__(self, question: tuple[str, Mapping[str, Any]]) -> bool:
        """Tell whether the question was asked before."""
        return self._key(*question) in self._answers

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the recorded result. Raises KeyError for a question never asked."""
        return self._answers[self._key(tool, arguments)]

    def record(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Keep an answer, in the file too. A question already answered is left as it is."""
        if self._key(tool, arguments) not in self._answers:
            self.keep(Line(tool, codec.plain(dict(arguments)), result))

    def takes(self, task: str) -> list[Take]:
        """Return the takes of a task, by number."""
        takes = self._takes.get(task, {})
        return [takes[number] for number in sorted(takes)]

    def begin(self, task: str) -> Take:
        """Return a new take, which runs until its `running` is taken back."""
        takes = self._takes.setdefault(task, {})
        take = Take(max(takes, default=-1) + 1)
        take.running = True
        takes[take.number] = take
        return take

    def head(self, head: Head) -> None:
        """Write what is recorded from here on, unless the file says it already."""
        written = codec.encode(Line("", "", msgspec.to_builtins(head), kind="head"))
        if msgspec.convert(_line(written).result, Head) not in self.heads:
            self._write(written)

    def keep(self, line: Line) -> None:
        """Write a line, and answer from it from now on.

        Raises WorldError for an answer that could not be read again: too large, or too deep.
        """
        said = codec.encode(self.hidden(msgspec.to_builtins(line.result)))
        try:
            result = codec.loads(said.decode())
            line = replace(line, arguments=self.hidden(line.arguments), result=result)
            self._write(codec.encode(line))
        except codec.BadJson as error:
            text = f"{self.path}: cannot keep an answer of {line.tool}: {error}"
            raise WorldError(text) from None

    def hidden(self, value: Any) -> Any:
        """Return plain values without the secrets, whole numbers that are one included."""
        return swapped(value, self._forms) if self._forms else value

    def _key(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return key(tool, self.hidden(codec.plain(dict(arguments))))

    def _write(self, written: bytes) -> None:
        kept = _line(written)
        self._append(written + b"\n")
        self._take_up(kept)

    def _take_up(self, line: Line) -> None:
        if line.kind == "head":
            self.heads.append(msgspec.convert(line.result, Head))
            return
        if not line.task:
            self._answers.setdefault(key(line.tool, line.arguments), line.result)
            return
        takes = self._takes.setdefault(line.task, {})
        takes.setdefault(line.take, Take(line.take)).add(line)

    def _read(self) -> None:
        try:
            with self.path.open("rb") as file:
                self._seen = os.fstat(file.fileno()).st_size
                for number, line in enumerate(iter(lambda: file.readline(_LONGEST), b""), 1):
                    if not self._whole(line, number):
                        return
        except OSError as error:
            raise DataError(f"{self.path}: cannot read: {error.strerror}") from None

    def _whole(self, line: bytes, number: int) -> bool:
        """Take up a line of the file; false for a last one that a crash has torn."""
        torn = not line.endswith(b"\n")
        try:
            self._take_up(_line(line))
        except (ValueError, msgspec.ValidationError) as error:
            if torn and len(line) < _LONGEST:
                return False
            raise DataError(f"{self.path}:{number}: not a recorded answer: {error}") from None
        self._size += len(line)
        self._gap = b"\n" if torn else b""  # only the newline is missing, as an editor may leave it
        return True

    def _append(self, line: bytes) -> None:
        try:
            if self._fd < 0:
                self._lock()
            data = self._gap + line
            os.ftruncate(self._fd, self._size)  # what a crash has torn is written over
            written = 0
            while written < len(data):  # a short write: the next one says why
                written += os.pwrite(self._fd, data[written:], self._size + written)
        except OSError as error:
            raise DataError(f"{self.path}: cannot write: {error.strerror}") from None
        self._gap = b""
        self._size += len(data)

    def _lock(self) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        weakref.finalize(self, os.close, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{self.path}: another process is recording into it") from None
        if os.fstat(fd).st_size != self._seen:
            raise UsageError(f"{self.path}: it was written to since it was read; start again")
        self._fd = fd


_LONGEST = codec.MAX_BYTES + 2


def _place(entry: tuple[int, int, Any]) -> tuple[int, int]:
    return entry[:2]


def _line(data: bytes) -> Line:
    """Read a line. Raises ValueError for what is no JSON, ValidationError for what is no answer."""
    return msgspec.convert(codec.loads(data.decode()), Line)


def heads(path: Path) -> list[Head]:
    """Return what a file says that it holds, without reading what it holds."""
    try:
        with path.open("rb") as file:
            lines = [
                line for line in iter(lambda: file.readline(_LONGEST), b"") if b'"head"' in line
            ]
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    found = []
    for line in lines:
        with suppress(ValueError, msgspec.ValidationError):  # named when all of it is read
            told = _line(line)
            if told.kind == "head":
                found.append(msgspec.convert(told.result, Head))
    return found


def check(path: Path, head: Head) -> None:
    """Raise UsageError where a file says what it holds, and the tasks of this run are not in it."""
    held = heads(path)
    if held and (head.suite, head.seed) not in {(one.suite, one.seed) for one in held}:
        raise UsageError(
            f"{path}: not a recording of {head}; it holds {', '.join(map(str, held))}: "
            "give the suite and --seed of the recording"
        )


def _check(parts: Iterable[Part]) -> None:
    """Raise ValueError where a picture or a sound could not be found by its name."""
    for part in parts:
        if not isinstance(part, Text) and not named(part.sha256):
            raise ValueError(f"not a SHA-256: {part.sha256[:80]!r}")


def _word(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def server(tool: str) -> str:
    """Return the server of a tool, "" where the name has none."""
    name, slash, _ = tool.partition("/")
    return name if slash else ""


def key(tool: str, arguments: Arguments) -> str:
    """Return what equal questions have in common; `arguments` are plain already."""
    return json.dumps([tool, arguments], sort_keys=True)


def arguments(call: Call) -> Arguments:
    """Return a call's arguments as they are compared: an object, or the text that is none."""
    try:
        found = codec.loads(codec.restore(call.arguments))
    except codec.BadJson:
        return call.arguments
    return codec.plain(found) if isinstance(found, dict) else call.arguments


def swapped(value: Any, forms: Mapping[str, str]) -> Any:
    """Return plain values with some texts in place of others; references to media stay."""
    match value:
        case str():
            for old, new in forms.items():
                value = value.replace(old, new)
            return value
        case {"type": "image" | "audio", "sha256": str()}:
            return value
        case dict():
            return {swapped(name, forms): swapped(item, forms) for name, item in value.items()}
        case list() | tuple():
            return [swapped(item, forms) for item in value]
        case int() | float() if not isinstance(value, bool):
            return forms.get(str(value), value)
        case _:
            return value


def forms(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets as they may stand in a text: as they are, in JSON, in an address.

    The longest first. Those of less than four letters are left out.
    """
    found = {
        form
        for secret in secrets
        if len(secret) >= SHORTEST
        for form in (secret, json.dumps(secret)[1:-1], quote(secret, "", errors="surrogatepass"))
    }
    return tuple(sorted(found, key=lambda form: (-len(form), form)))
