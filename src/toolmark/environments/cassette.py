"""Cassettes: files of recorded answers, from which an episode can be replayed.

A file has one line of JSON per answer; pictures and sounds are in a media folder next to it. Two
questions are equal when their tools and arguments are equal, in any order of keys. A line with a
task belongs to one recording of one episode. A line without a task answers its question in every
episode; the first such line counts.
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

from toolmark.core import json_codec
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore, is_sha256
from toolmark.core.records import Call, Message, Part, Result, Text, Tool

REDACTED = "***"
MEDIA_SUFFIX = ".media"
MIN_SECRET_CHARS = 4  # redacting shorter secrets would damage ordinary text
Arguments: TypeAlias = dict[str, Any] | str
LineKind: TypeAlias = Literal["call", "open", "tools", "opening", "state", "head"]


class CassetteLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One answer. `arguments` is text where the model's arguments were not a JSON object.

    `take` is the number of the recording, and `n` the number of its calls that began before.
    """

    tool: str
    arguments: Arguments
    result: Any
    kind: LineKind = "call"
    task: str = ""
    take: int = 0
    n: int = 0


class EnvironmentHeader(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Properties of a recorded episode's environment.

    `at_once` is the number of calls it executes at the same time, `opener` says whether it has
    opening messages, and `workspace` whether it has a workspace. `needed` is the digest of the
    states that it started from. `instance` is the digest of the task's content, since generated
    tasks have equal ids in every run.
    """

    at_once: int = 1
    opener: bool = False
    workspace: bool = False
    needed: str = ""
    instance: str = ""


class CassetteHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was recorded: the suite of the tasks, its seed and its suite parameters (`knobs`)."""

    suite: str
    seed: int | None = None
    knobs: dict[str, Any] = {}

    def __str__(self) -> str:
        """Return it as command line arguments."""
        seed = () if self.seed is None else (f"--seed {self.seed}",)
        return " ".join(
            (self.suite, *seed, *(f"-T {k}={_parameter_text(v)}" for k, v in self.knobs.items()))
        )


class EpisodeRecording:
    """The recording of one episode: all answers of the environment, by question.

    `running` is True while it is being recorded; it is not replayed before the end.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.running = False
        self.environment_header: EnvironmentHeader | None = None
        self.openings: dict[str, tuple[Message, ...]] = {}
        self.states: list[Any] = []
        self._tools: list[tuple[int, int, tuple[Tool, ...]]] = []
        self._answers: dict[str, list[tuple[int, int, Result]]] = {}
        self._order: dict[str, list[tuple[int, int, str]]] = {}
        self._size = 0

    def add_line(self, line: CassetteLine) -> None:
        """Add a line. Raises msgspec.ValidationError where the result has the wrong shape."""
        question = question_key(line.tool, line.arguments)
        at = (line.n, self._size)  # where n is equal, the order is that of the file
        match line.kind:
            case "call":
                result = msgspec.convert(line.result, Result)
                _check_media(result.parts)
                insort(self._answers.setdefault(question, []), (*at, result), key=_position)
                insort(
                    self._order.setdefault(server_name(line.tool), []),
                    (*at, question),
                    key=_position,
                )
            case "tools":
                tools = msgspec.convert(line.result, tuple[Tool, ...])
                insort(self._tools, (*at, tools), key=_position)
            case "opening":
                messages = msgspec.convert(line.result, tuple[Message, ...])
                _check_media(part for message in messages for part in message.parts)
                self.openings[question] = messages
            case "state":
                self.states.append(line.result)
            case "open":
                self.environment_header = msgspec.convert(line.result, EnvironmentHeader)
        self._size += 1

    def answers(self, question: str) -> list[Result]:
        """Return the answers to a question, in the order of the calls."""
        return [result for _, _, result in self._answers.get(question, ())]

    def question_at(self, name: str, at: int) -> str:
        """Return question number `at`, from 0, that a server was asked; "" beyond the last."""
        order = self._order.get(name, [])
        return order[at][2] if at < len(order) else ""

    def question_counts(self) -> dict[str, int]:
        """Return the number of questions that each server was asked."""
        return {name: len(order) for name, order in self._order.items()}

    def tools_at(self, n: int) -> tuple[Tool, ...] | None:
        """Return the tools on offer after `n` calls had begun, None where none are recorded."""
        earlier = [tools for at, _, tools in self._tools if at <= n]
        return earlier[-1] if earlier else None

    def questions(self) -> Iterator[str]:
        """Yield the questions."""
        return iter(self._answers)


class Cassette:
    """Recorded answers by question, stored in a file.

    `secrets` are texts of 4 characters or more that are redacted and never reach the file. Raises
    DataError with the line number where the file is not a cassette. Only one process writes at a
    time: a second one gets a UsageError.
    """

    def __init__(self, path: Path, secrets: tuple[str, ...] = ()) -> None:
        if path.suffix == MEDIA_SUFFIX:
            raise UsageError(
                f"{path}: {MEDIA_SUFFIX} is the name of the folder of pictures; call it .jsonl"
            )
        self.path = path
        self.headers: list[CassetteHeader] = []
        self.media = MediaStore(path.with_suffix(MEDIA_SUFFIX))
        self._redactions = dict.fromkeys(secret_spellings(secrets), REDACTED)
        self._answers: dict[str, Any] = {}
        self._recordings: dict[str, dict[int, EpisodeRecording]] = {}
        self._size = 0
        self._missing_newline = b""
        self._size_when_read = 0
        self._fd = -1
        if path.exists():
            self._read()

    def __len__(self) -> int:
        """Return the number of questions with an answer that counts in every episode."""
        return len(self._answers)

    def __contains__(self, question: tuple[str, Mapping[str, Any]]) -> bool:
        """Tell whether the question has a recorded answer."""
        return self._question_key(*question) in self._answers

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the recorded result. Raises KeyError for a question without one."""
        return self._answers[self._question_key(tool, arguments)]

    def record_answer(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Store an answer, also in the file. The first answer to a question stays."""
        if self._question_key(tool, arguments) not in self._answers:
            self.write_line(CassetteLine(tool, json_codec.to_plain_json(dict(arguments)), result))

    def recordings(self, task: str) -> list[EpisodeRecording]:
        """Return the recordings of a task, by number."""
        takes = self._recordings.get(task, {})
        return [takes[number] for number in sorted(takes)]

    def begin_recording(self, task: str) -> EpisodeRecording:
        """Return a new recording; it is in progress until its `running` is set to False."""
        recordings = self._recordings.setdefault(task, {})
        recording = EpisodeRecording(max(recordings, default=-1) + 1)
        recording.running = True
        recordings[recording.number] = recording
        return recording

    def write_header(self, header: CassetteHeader) -> None:
        """Write the header of what is recorded next, unless the file has it already."""
        written = json_codec.encode_record(
            CassetteLine("", "", msgspec.to_builtins(header), kind="head")
        )
        if msgspec.convert(_parse_line(written).result, CassetteHeader) not in self.headers:
            self._write(written)

    def write_line(self, line: CassetteLine) -> None:
        """Write a line, and answer from it afterwards.

        Raises ToolEnvironmentError for an answer that is too large or nested too deeply to be read
        again.
        """
        encoded = json_codec.encode_record(self.redact(msgspec.to_builtins(line.result)))
        try:
            result = json_codec.parse_json(encoded.decode())
            line = replace(line, arguments=self.redact(line.arguments), result=result)
            self._write(json_codec.encode_record(line))
        except json_codec.InvalidJson as error:
            text = f"{self.path}: cannot keep an answer of {line.tool}: {error}"
            raise ToolEnvironmentError(text) from None

    def redact(self, value: Any) -> Any:
        """Return plain values with secrets replaced, including numbers equal to a secret."""
        return replace_texts(value, self._redactions) if self._redactions else value

    def _question_key(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return question_key(tool, self.redact(json_codec.to_plain_json(dict(arguments))))

    def _write(self, written: bytes) -> None:
        line = _parse_line(written)
        self._append(written + b"\n")
        self._add_line(line)

    def _add_line(self, line: CassetteLine) -> None:
        if line.kind == "head":
            self.headers.append(msgspec.convert(line.result, CassetteHeader))
            return
        if not line.task:
            self._answers.setdefault(question_key(line.tool, line.arguments), line.result)
            return
        takes = self._recordings.setdefault(line.task, {})
        takes.setdefault(line.take, EpisodeRecording(line.take)).add_line(line)

    def _read(self) -> None:
        try:
            with self.path.open("rb") as file:
                self._size_when_read = os.fstat(file.fileno()).st_size
                for number, line in enumerate(iter(lambda: file.readline(_MAX_LINE_BYTES), b""), 1):
                    if not self._read_line(line, number):
                        return
        except OSError as error:
            raise DataError(f"{self.path}: cannot read: {error.strerror}") from None

    def _read_line(self, line: bytes, number: int) -> bool:
        """Add a line of the file; return False for a last line that a crash has cut off."""
        torn = not line.endswith(b"\n")
        try:
            self._add_line(_parse_line(line))
        except (ValueError, msgspec.ValidationError) as error:
            if torn and len(line) < _MAX_LINE_BYTES:
                return False
            raise DataError(f"{self.path}:{number}: not a recorded answer: {error}") from None
        self._size += len(line)
        # only the newline is missing, as an editor may leave it
        self._missing_newline = b"\n" if torn else b""
        return True

    def _append(self, line: bytes) -> None:
        try:
            if self._fd < 0:
                self._lock()
            data = self._missing_newline + line
            os.ftruncate(self._fd, self._size)  # drop a line that a crash has cut off
            written = 0
            while written < len(data):  # after a short write the next one raises the cause
                written += os.pwrite(self._fd, data[written:], self._size + written)
        except OSError as error:
            raise DataError(f"{self.path}: cannot write: {error.strerror}") from None
        self._missing_newline = b""
        self._size += len(data)

    def _lock(self) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        weakref.finalize(self, os.close, fd)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{self.path}: another process is recording into it") from None
        if os.fstat(fd).st_size != self._size_when_read:
            raise UsageError(f"{self.path}: it was written to since it was read; start again")
        self._fd = fd


_MAX_LINE_BYTES = json_codec.MAX_JSON_CHARS + 2


def _position(entry: tuple[int, int, Any]) -> tuple[int, int]:
    return entry[:2]


def _parse_line(data: bytes) -> CassetteLine:
    """Return a parsed line.

    Raises ValueError where it is not JSON, msgspec.ValidationError where it is not an answer.
    """
    return msgspec.convert(json_codec.parse_json(data.decode()), CassetteLine)


def read_headers(path: Path) -> list[CassetteHeader]:
    """Return the headers of a file without parsing its other lines. Raises DataError."""
    try:
        with path.open("rb") as file:
            lines = [
                line
                for line in iter(lambda: file.readline(_MAX_LINE_BYTES), b"")
                if b'"head"' in line
            ]
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    found = []
    for line in lines:
        with suppress(ValueError, msgspec.ValidationError):  # reported when the Cassette is opened
            header = _parse_line(line)
            if header.kind == "head":
                found.append(msgspec.convert(header.result, CassetteHeader))
    return found


def check_header(path: Path, header: CassetteHeader) -> None:
    """Raise UsageError where a file has headers, and none has the suite and seed of this run."""
    found = read_headers(path)
    if found and (header.suite, header.seed) not in {(one.suite, one.seed) for one in found}:
        raise UsageError(
            f"{path}: not a recording of {header}; it holds {', '.join(map(str, found))}: "
            "give the suite and --seed of the recording"
        )


def _check_media(parts: Iterable[Part]) -> None:
    """Raise ValueError where the reference to a picture or sound is not a SHA-256."""
    for part in parts:
        if not isinstance(part, Text) and not is_sha256(part.sha256):
            raise ValueError(f"not a SHA-256: {part.sha256[:80]!r}")


def _parameter_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def server_name(tool: str) -> str:
    """Return the server in a tool's name, "" where it has none."""
    name, slash, _ = tool.partition("/")
    return name if slash else ""


def question_key(tool: str, arguments: Arguments) -> str:
    """Return the key of a question; equal questions have equal keys. `arguments` are plain JSON."""
    return json.dumps([tool, arguments], sort_keys=True)


def call_arguments(call: Call) -> Arguments:
    """Return a call's arguments for comparison: an object, or the text where it is not one."""
    try:
        found = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson:
        return call.arguments
    return json_codec.to_plain_json(found) if isinstance(found, dict) else call.arguments


def replace_texts(value: Any, replacements: Mapping[str, str]) -> Any:
    """Return plain values with texts replaced; references to media stay unchanged."""
    match value:
        case str():
            for old, new in replacements.items():
                value = value.replace(old, new)
            return value
        case {"type": "image" | "audio", "sha256": str()}:
            return value
        case dict():
            return {
                replace_texts(name, replacements): replace_texts(item, replacements)
                for name, item in value.items()
            }
        case list() | tuple():
            return [replace_texts(item, replacements) for item in value]
        case int() | float() if not isinstance(value, bool):
            return replacements.get(str(value), value)
        case _:
            return value


def secret_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the forms in which secrets may occur in text: unchanged, in JSON and in an address.

    The longest form comes first. Secrets of less than four characters are left out.
    """
    found = {
        form
        for secret in secrets
        if len(secret) >= MIN_SECRET_CHARS
        for form in (secret, json.dumps(secret)[1:-1], quote(secret, "", errors="surrogatepass"))
    }
    return tuple(sorted(found, key=lambda form: (-len(form), form)))
