"""What depends on the machine or the time, replaced by a word in angle brackets."""

from __future__ import annotations

import hashlib
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from tests.golden import files
from tests.golden.paths import Json

LONGEST = 1_500  # characters of one text that a record holds
_ROOT = Path(__file__).parents[2]
_RULES: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"(?<=[/.\w])-[0-9a-f]{8}(?=-\d+\b)"), "-<hash>"),  # of a run's folder
    (re.compile(r"\b(127\.0\.0\.1|localhost|\[::1\]):\d+"), r"\1:<port>"),
    (re.compile(r"(?<=-127\.0\.0\.1-)\d+(?=-)"), "<port>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z| UTC)?"), "<time>"),
    (re.compile(r'(day_of_week\\*": \\*")\w+'), r"\1<day>"),  # of a server that tells the time
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "<address>"),
    (re.compile(r"((?:\.py\"?|\.py, )[, ]*line )\d+"), r"\1<n>"),
    (re.compile(r"\btoolmark \d+\.\d+\.\d+\S*"), "toolmark <version>"),
    (re.compile(r"\b\d[\d \u202f]*\.\d/s  "), "<rate>/s  "),
    (re.compile(r"\bleft (\?|\d[\w ]*)$", re.MULTILINE), "left <duration>"),
    (re.compile(r"(no complete answer after) \d[\d.]* (?:s|min)(?: \d+ s)?"), r"\1 <seconds> s"),
    # told only from a tenth of a second on, so that a record holds neither the time nor its words
    (re.compile(r"; \d[\d.]* (?:s|min|h)(?: \d+ (?:s|min))? in all"), ""),
    (re.compile(r"; replies \d[\d.]* (?:s|min)(?: \d+ s)? per episode"), ""),
    (
        re.compile(r"(?<=latency )(?:(?:, )?(?:p\d\d|longest) \d[\d.]* (?:s|min)(?: \d+ s)?)+"),
        "<times>",
    ),
    (re.compile(r"(?<=latency )\d[\d.]* s\b"), "<seconds>"),
    (re.compile(r"(?<=; )\d[\d \u202f.]* output tokens/s"), "<rate> output tokens/s"),
    (
        re.compile(
            r'"((?:latency|first_token|first_call|tokens_per)_s|streamed_tokens_per_s)":\{[^{}]*\}'
        ),
        r'"\1":"<measured>"',
    ),
    (re.compile(r'"(reply_s|wall_s|latency_s)":\d[\d.e-]*'), r'"\1":"<seconds>"'),
]
# what every text that a rule or a trace changes has in it
_CHANGED = re.compile(r'\d|Traceback|left \?|day_of_week|_s":')
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_TRACE = re.compile(r"(?ms)^Traceback \(most recent call last\):\n.*?(?=^\S[^\n]*(?:\n|\Z))")
# keys whose values are moments, durations or the environment's
_SECONDS = frozenset({"latency_s", "wall_s", "reply_s", "seconds", "wait_s"})
_DURATION_TEXTS = frozenset({"latency"})
_TIMES = frozenset({"created"})
# keys of quantiles of times and rates
_QUANTILES = frozenset(
    {"latency_s", "first_token_s", "first_call_s", "tokens_per_s", "streamed_tokens_per_s"}
)


class Normaliser:
    """Replaces what depends on the machine; `folder` is the case's scratch folder.

    Digests of media and of source files are numbered in the order in which they come, so that it
    still shows which are equal. A scenario has a normaliser of its own.
    """

    def __init__(self, folder: Path) -> None:
        known = {
            str(folder): "<folder>",
            str(_ROOT): "<toolmark>",
            str(Path(sysconfig.get_path("purelib"))): "<packages>",
            str(Path(sysconfig.get_path("stdlib"))): "<python>",
            str(Path(sys.prefix)): "<environment>",
            str(Path.home()): "<home>",
        }
        self._digests: dict[str, str] = {}
        self._replaced: dict[str, str] = {}  # texts without what the rules replace
        self._places = sorted(known.items(), key=lambda each: -len(each[0]))

    def text(self, text: str) -> str:
        """Return a text without places, ports, times, versions and the lines of a traceback."""
        replaced = self._replaced.get(text)
        if replaced is None:  # the messages of an episode are sent again with each request
            replaced = self._replaced[text] = self._replace(text)
        return _DIGEST.sub(self._numbered, replaced) if len(replaced) >= 64 else replaced

    def _replace(self, text: str) -> str:
        for place, name in self._places:
            text = text.replace(place, name)
        if not _CHANGED.search(text):
            return text
        text = _TRACE.sub("<traceback>\n", text)
        for pattern, word in _RULES:
            text = pattern.sub(word, text)
        return text

    def _numbered(self, found: re.Match[str]) -> str:
        return self._digests.setdefault(found[0], f"<sha256 {len(self._digests) + 1}>")

    def value(self, value: object) -> Json:
        """Return a value as plain JSON, every text in it normalised; seconds become a word."""
        return self._value(msgspec.to_builtins(value, builtin_types=()), "")

    def _value(self, value: Any, key: str) -> Json:
        match value:
            case dict() if key in _QUANTILES and "n" in value:
                return {"n": value["n"], "quantiles": "<measured>"}
            case dict():
                return {self.text(str(k)): self._value(v, str(k)) for k, v in value.items()}
            case list() | tuple():
                return [self._value(each, key) for each in value]
            case str() if key in _DURATION_TEXTS:
                return "<seconds>"
            case str():
                return "<time>" if key in _TIMES and value else long(self.text(value))
            case float() | int() if key in _SECONDS and not isinstance(value, bool):
                return "<seconds>"
            case _:
                return value


def long(text: str, most: int = LONGEST) -> str:
    """Return a text, or of a long one its two ends, its length and its digest."""
    if len(text) <= most:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    half = most // 2
    return f"{text[:half]} ... <{len(text)} characters, sha256 {digest}> ... {text[-half:]}"


def digest(data: bytes) -> Json:
    """Return bytes as their size and digest."""
    return {"size_bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()[:32]}


def once(values: Iterable[Json]) -> tuple[list[str], dict[str, Json]]:
    """Return values as names into a table that holds each different one once."""
    table: dict[str, Json] = {}
    names: dict[str, str] = {}
    listed: list[str] = []
    for value in values:
        text = files.dumps(files.plain(value))
        if text not in names:
            names[text] = f"#{len(names)}"
            table[names[text]] = value
        listed.append(names[text])
    return listed, table
