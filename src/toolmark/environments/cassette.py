"""Cassettes: files of recorded answers, from which an episode can be replayed.

A file has one line of JSON per answer; pictures and sounds are in a media folder next to it. The
lines of one episode follow each other, after a line of kind `episode`. A line of kind `answer`
answers its question in every episode; the first such line counts. Two questions are equal when
their tools and arguments are equal, in any order of keys.
"""

from __future__ import annotations

import fcntl
import json
import os
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore, is_sha256
from toolmark.core.records import Call, Message, Part, Result, Text, Tool
from toolmark.core.redaction import REDACTED, replace_texts, secret_spellings

MEDIA_SUFFIX = ".media"
_MAX_LINE_BYTES = json_codec.MAX_JSON_CHARS + 2
_ANSWER_FIELDS = {"messages", "tools", "arguments", "result", "state"}
Arguments: TypeAlias = dict[str, Any] | str


# --- the lines --------------------------------------------------------------------------


class _Line(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"
):
    """One line of a cassette."""


class CassetteHeader(_Line, frozen=True, tag="suite"):
    """What is recorded after it: the suite of the tasks, its seed and its suite parameters."""

    suite: str
    seed: int | None = None
    parameters: dict[str, Any] = {}

    def __str__(self) -> str:
        """Return it as command line arguments."""
        seed = () if self.seed is None else (f"--seed {self.seed}",)
        values = (f"-T {k}={_parameter_text(v)}" for k, v in self.parameters.items())
        return " ".join((self.suite, *seed, *values))


class EpisodeStart(_Line, frozen=True, tag="episode"):
    """The first line of an episode: its task, and what its environment is.

    `needed_states_sha256` is the digest of the states that it started from. `task_content_sha256`
    is the digest of the task's content, since generated tasks have equal ids in every run.
    """

    task: str
    needed_states_sha256: str = ""
    task_content_sha256: str = ""
    max_parallel_calls: int = 1
    has_workspace: bool = False


class Opening(_Line, frozen=True, tag="opening"):
    """The opening messages of an environment that changes them; `asked` is a digest."""

    asked: str
    messages: tuple[Message, ...]


class ToolList(_Line, frozen=True, tag="tools"):
    """The tools on offer before the next call."""

    tools: tuple[Tool, ...]


class AnsweredCall(_Line, frozen=True, tag="call"):
    """A call and its result. `arguments` is text where they were not a JSON object."""

    tool: str
    arguments: Arguments
    result: Result

    @property
    def question(self) -> str:
        """The key of the question."""
        return question_key(self.tool, self.arguments)


class FinalState(_Line, frozen=True, tag="state"):
    """The last line of an episode that did not break off."""

    state: Any


class SharedAnswer(_Line, frozen=True, tag="answer"):
    """An answer to a question that is the same in every episode."""

    tool: str
    arguments: Arguments
    result: Any


EpisodeLine: TypeAlias = Opening | ToolList | AnsweredCall | FinalState
Line: TypeAlias = CassetteHeader | EpisodeStart | SharedAnswer | EpisodeLine


# --- reading ----------------------------------------------------------------------------


class EpisodeRecording:
    """The recording of one episode: all answers of its environment, by question."""

    def __init__(self, start: EpisodeStart) -> None:
        self.start = start
        self.openings: dict[str, Opening] = {}
        self.final_state: FinalState | None = None
        self.n_questions: Counter[str] = Counter()
        """How often each server was asked."""
        self._tools: list[tuple[int, ToolList]] = []
        self._answers: dict[str, list[AnsweredCall]] = {}
        self._order: dict[tuple[str, int], str] = {}

    def add_line(self, line: EpisodeLine) -> None:
        """Add the next line of the episode."""
        match line:
            case Opening():
                self.openings[line.asked] = line
            case ToolList():
                self._tools.append((self.n_questions.total(), line))
            case AnsweredCall():
                server = server_name(line.tool)
                self._answers.setdefault(line.question, []).append(line)
                self._order[server, self.n_questions[server]] = line.question
                self.n_questions[server] += 1
            case FinalState():
                self.final_state = line

    def answer(self, question: str, n_before: int) -> AnsweredCall | None:
        """Return the answer to a question that was asked so many times before."""
        answers = self._answers.get(question, ())
        return answers[n_before] if n_before < len(answers) else None

    def question_at(self, server: str, n_before: int) -> str:
        """Return what a server was asked after so many questions, "" beyond the last."""
        return self._order.get((server, n_before), "")

    def tools_after(self, n_calls: int) -> ToolList | None:
        """Return the tools on offer after so many calls had begun, None where none are recorded."""
        return next((line for n, line in reversed(self._tools) if n <= n_calls), None)

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
        self._recordings: dict[str, list[EpisodeRecording]] = {}
        self._episode: EpisodeRecording | None = None
        self._size = self._size_when_read = 0
        self._missing_newline = b""
        self._descriptor = -1
        if path.exists():
            self._read_file()

    def __contains__(self, question: tuple[str, Mapping[str, Any]]) -> bool:
        """Tell whether the question has an answer that counts in every episode."""
        return self._question_key(*question) in self._answers

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the answer that counts in every episode. Raises KeyError where there is none."""
        return self._answers[self._question_key(tool, arguments)]

    def recordings(self, task: str) -> list[EpisodeRecording]:
        """Return the recordings of a task, in their order."""
        return self._recordings.get(task, [])

    def redact_secrets(self, value: Any) -> Any:
        """Return plain values with secrets replaced, including numbers equal to a secret."""
        return replace_texts(value, self._redactions) if self._redactions else value

    # --- writing

    def record_answer(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        """Store an answer that counts in every episode. The first one to a question stays."""
        if self._question_key(tool, arguments) not in self._answers:
            plain = json_codec.to_plain_json(dict(arguments))
            self.write_lines([SharedAnswer(tool, plain, result)])

    def write_header(self, header: CassetteHeader) -> None:
        """Write the header of what is recorded next, unless the file has it already."""
        _, as_read = self._encode_line(header)
        if as_read not in self.headers:
            self.write_lines([header])

    def write_lines(self, lines: Iterable[Line]) -> None:
        """Write lines at once, without secrets, and answer from them afterwards.

        Raises ToolEnvironmentError for an answer that is too large or nested too deeply to be read
        again, DataError where the file cannot be written.
        """
        encoded = [self._encode_line(line) for line in lines]
        if self._descriptor < 0:
            self._lock_file()
        data = self._missing_newline + b"".join(data + b"\n" for data, _ in encoded)
        try:
            os.ftruncate(self._descriptor, self._size)  # drop a line that a crash has cut off
            written = 0
            while written < len(data):  # after a short write the next one raises the cause
                written += os.pwrite(self._descriptor, data[written:], self._size + written)
        except OSError as error:
            raise DataError(f"{self.path}: cannot write: {error.strerror}") from None
        self._missing_newline = b""
        self._size += len(data)
        for _, line in encoded:
            self._add_line(line)

    def _encode_line(self, line: Line) -> tuple[bytes, Line]:
        """Return a line as it is written, and as it will be read."""
        plain = msgspec.to_builtins(line)
        for name in _ANSWER_FIELDS & plain.keys():  # each alone: some have escaped surrogates
            plain[name] = msgspec.Raw(json_codec.encode_record(self.redact_secrets(plain[name])))
        data = msgspec.json.encode(plain)
        try:
            return data, _parse_line(data)
        except (ValueError, msgspec.ValidationError) as error:
            what = f" of {line.tool}" if isinstance(line, AnsweredCall | SharedAnswer) else ""
            text = f"{self.path}: cannot keep an answer{what}: {describe_decode_error(error)}"
            raise ToolEnvironmentError(text) from None

    def _lock_file(self) -> None:
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DataError(f"{self.path}: cannot write: {error.strerror}") from None
        weakref.finalize(self, os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{self.path}: another process is recording into it") from None
        if os.fstat(descriptor).st_size != self._size_when_read:
            raise UsageError(f"{self.path}: it was written to since it was read; start again")
        self._descriptor = descriptor

    # --- reading

    def _read_file(self) -> None:
        try:
            with self.path.open("rb") as file:
                self._size_when_read = os.fstat(file.fileno()).st_size
                # a line without end is cut before it fills the memory
                lines = iter(lambda: file.readline(_MAX_LINE_BYTES), b"")
                for number, line in enumerate(lines, 1):
                    if not self._read_line(line, number):
                        return
        except OSError as error:
            raise DataError(f"{self.path}: cannot read: {error.strerror}") from None

    def _read_line(self, line: bytes, number: int) -> bool:
        """Add a line of the file; return False for a last line that a crash has cut off."""
        is_torn = not line.endswith(b"\n")
        try:
            self._add_line(_parse_line(line))
        except (ValueError, msgspec.ValidationError) as error:
            if is_torn and len(line) < _MAX_LINE_BYTES:
                return False
            raise DataError(
                f"{self.path}:{number}: not a recorded answer: {describe_decode_error(error)}"
            ) from None
        self._size += len(line)
        # only the newline is missing, as an editor may leave it
        self._missing_newline = b"\n" if is_torn else b""
        return True

    def _add_line(self, line: Line) -> None:
        """Add a line. Raises ValueError for an answer of an episode that has not begun."""
        match line:
            case CassetteHeader():
                self.headers.append(line)
            case SharedAnswer():
                self._answers.setdefault(question_key(line.tool, line.arguments), line.result)
            case EpisodeStart():
                self._episode = EpisodeRecording(line)
                self._recordings.setdefault(line.task, []).append(self._episode)
            case _ if self._episode is None:
                raise ValueError("no line of kind `episode` comes before it")
            case _:
                self._episode.add_line(line)

    def _question_key(self, tool: str, arguments: Mapping[str, Any]) -> str:
        return question_key(tool, self.redact_secrets(json_codec.to_plain_json(dict(arguments))))


def _parse_line(data: bytes) -> Line:
    """Return a parsed line.

    Raises ValueError where it is not JSON, msgspec.ValidationError where it is not an answer.
    """
    line: Line = msgspec.convert(json_codec.parse_json(data.decode()), Line)
    match line:
        case AnsweredCall():
            _check_media(line.result.parts)
        case Opening():
            _check_media(part for message in line.messages for part in message.parts)
    return line


def _check_media(parts: Iterable[Part]) -> None:
    """Raise ValueError where the reference to a picture or sound is not a SHA-256."""
    for part in parts:
        if not isinstance(part, Text) and not is_sha256(part.sha256):
            raise ValueError(f"not a SHA-256: {part.sha256[:80]!r}")


def check_header(path: Path, header: CassetteHeader) -> None:
    """Raise UsageError where a file has headers, and none has the suite and seed of this run."""
    found = Cassette(path).headers
    if found and (header.suite, header.seed) not in {(one.suite, one.seed) for one in found}:
        raise UsageError(
            f"{path}: not a recording of {header}; it holds {', '.join(map(str, found))}: "
            "give the suite and --seed of the recording"
        )


def _parameter_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


# --- questions --------------------------------------------------------------------------


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
