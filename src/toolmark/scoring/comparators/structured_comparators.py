"""JSON values, contents of files, and regular expressions."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from toolmark.core.errors import UsageError
from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.scoring.comparators.comparison import Comparator, Comparison, show_value
from toolmark.scoring.comparators.stated_json import is_json, json_spans, judge_json

_FENCE = re.compile(r"^[ \t]{0,3}(?:```|~~~)[^\n]*$", re.MULTILINE)
_DIGEST = re.compile(r"sha256:([0-9a-fA-F]{64})")
MAX_DEPTH = 200  # of nested JSON values


class JsonValue(Comparator, frozen=True, kw_only=True):
    """A JSON value: 1 equals 1.0, the order of keys does not count, true is no number.

    - `tolerance`: how far a number may be from the expected one.
    - `ignore_order`: whether the order in lists does not count.
    - `ignore`: keys that do not count, at any depth.
    - `extra_keys`: whether objects may have keys that are not expected.
    """

    kind: ClassVar[str] = "json"

    tolerance: Annotated[float, Meta(ge=0)] = 0.0
    ignore_order: bool = False
    ignore: tuple[str, ...] = ()
    extra_keys: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a value; a text is read as JSON where the expected value is no text."""
        if isinstance(given, str) and not isinstance(expected, str):
            try:
                given = parse_json(given)
            except InvalidJson:
                return Comparison(False, "the value is no JSON")
        where = self._difference(given, expected, "$", 0)
        if not where:
            return Comparison(True, "the JSON values are equal")
        return Comparison(False, f"the JSON values differ at {where}", show_value(given))

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the JSON values that an answer states, or what all of it is as JSON."""
        spans = [] if is_json(text) else list(json_spans(text))
        if spans:
            return judge_json(text, spans, lambda given: self.compare_value(given, expected))
        last = Comparison(False, "the answer contains no JSON")
        for part in _json_parts(text):
            try:
                given = parse_json(part)
            except InvalidJson:
                continue
            last = self.compare_value(given, expected)
            if last.matches:
                return last
        return last

    def _difference(self, given: Any, expected: Any, path: str, depth: int) -> str:
        """Return the path of the first difference, "" where there is none."""
        if depth > MAX_DEPTH:
            return f"{path} (nested too deeply)"
        if isinstance(expected, Mapping):
            return self._map_difference(given, expected, path, depth)
        if isinstance(expected, list | tuple):
            return self._list_difference(given, expected, path, depth)
        return "" if self._same_scalar(given, expected) else path

    def _map_difference(
        self, given: Any, expected: Mapping[str, Any], path: str, depth: int
    ) -> str:
        if not isinstance(given, Mapping):
            return path
        wanted = {k: v for k, v in expected.items() if k not in self.ignore}
        ours = {k: v for k, v in given.items() if k not in self.ignore}
        for key in wanted.keys() - ours.keys():
            return f"{path}.{key} (missing)"
        if not self.extra_keys:
            for key in ours.keys() - wanted.keys():
                return f"{path}.{key} (not expected)"
        for key, value in wanted.items():
            if where := self._difference(ours[key], value, f"{path}.{key}", depth + 1):
                return where
        return ""

    def _list_difference(self, given: Any, expected: Sequence[Any], path: str, depth: int) -> str:
        if not isinstance(given, list | tuple) or len(given) != len(expected):
            return path
        if self.ignore_order:
            return self._unordered_difference(given, expected, path, depth)
        for n, (ours, wanted) in enumerate(zip(given, expected, strict=True)):
            if where := self._difference(ours, wanted, f"{path}[{n}]", depth + 1):
                return where
        return ""

    def _unordered_difference(
        self, given: Sequence[Any], expected: Sequence[Any], path: str, depth: int
    ) -> str:
        rest = list(given)
        for n, wanted in enumerate(expected):
            for at, ours in enumerate(rest):
                if not self._difference(ours, wanted, path, depth + 1):
                    del rest[at]
                    break
            else:
                return f"{path}[{n}]"
        return ""

    def _same_scalar(self, given: Any, expected: Any) -> bool:
        if isinstance(expected, bool) or isinstance(given, bool) or expected is None:
            return given is expected
        if isinstance(expected, int | float) and isinstance(given, int | float):
            return given == expected or _is_near(given, expected, self.tolerance)
        return type(given) is type(expected) and bool(given == expected)


def _is_near(given: float, expected: float, tolerance: float) -> bool:
    """Return whether two numbers differ by a tolerance at most, whatever their size."""
    if not (math.isfinite(given) and math.isfinite(expected)):
        return False
    return abs(Fraction(given) - Fraction(expected)) <= Fraction(tolerance)


def _json_parts(text: str) -> Iterator[str]:
    """Yield what may be JSON in an answer, a bounded number of readings of the whole text."""
    yield text
    yield from code_blocks(text)
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    ends = [at for at in (text.rfind("}"), text.rfind("]")) if at >= 0]
    if starts and ends:
        yield text[min(starts) : max(ends) + 1]


def code_blocks(text: str) -> Iterator[str]:
    """Yield the contents of the fenced code blocks of an answer, without their fences."""
    opened = -1
    for fence in _FENCE.finditer(text):
        if opened < 0:
            opened = fence.end() + 1
        else:
            yield text[opened : fence.start()]
            opened = -1


class FileContent(Comparator, frozen=True, kw_only=True):
    """The content of a file: its text, or its digest where `sha256:...` is expected.

    - `exact`: whether the kind of the line ends and the last line end count.
    """

    kind: ClassVar[str] = "file"

    exact: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a content: text, or bytes."""
        if not isinstance(expected, str | bytes):
            raise UsageError(
                f"the comparator file needs a text or sha256:..., got {show_value(expected)!r}; "
                "next: write the content, or its digest"
            )
        if not isinstance(given, str | bytes):
            return Comparison(False, f"the value is of type {type(given).__name__}, no content")
        digest = _DIGEST.fullmatch(expected) if isinstance(expected, str) else None
        if digest:
            same = hashlib.sha256(_to_bytes(given)).hexdigest() == digest[1].lower()
            return Comparison(same, f"the digest is {'' if same else 'not '}the expected one")
        same = self._normalized_bytes(given) == self._normalized_bytes(expected)
        return Comparison(same, f"the content is {'' if same else 'not '}the expected one")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare the code blocks of an answer, or the whole answer."""
        for part in (*code_blocks(text), text):
            found = self.compare_value(part, expected)
            if found.matches:
                return found
        return self.compare_value(text, expected)

    def _normalized_bytes(self, content: str | bytes) -> bytes:
        raw = _to_bytes(content)
        if self.exact:
            return raw
        return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removesuffix(b"\n")


def _to_bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content


class Pattern(Comparator, frozen=True, kw_only=True):
    """A regular expression of RE2, which takes time linear in the text.

    - `ignore_case`: whether letters match in either case.
    - `whole`: whether the pattern must match all of a value; in prose it never must.
    """

    kind: ClassVar[str] = "regex"

    ignore_case: bool = False
    whole: bool = True

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a text with a pattern; a number is written as JSON writes it."""
        pattern = compile_pattern(expected, ignore_case=self.ignore_case)
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            return Comparison(False, f"the value is of type {type(given).__name__}, no text")
        text = str(given)
        found = pattern.fullmatch(text) if self.whole else pattern.search(text)
        same = found is not None
        return Comparison(same, f"the value {'matches' if same else 'does not match'} the pattern")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Search the pattern in an answer."""
        found = compile_pattern(expected, ignore_case=self.ignore_case).search(text)
        if found is None:
            return Comparison(False, "the answer does not match the pattern")
        return Comparison(True, "the answer matches the pattern", show_value(found.group()))


def compile_pattern(pattern: Any, *, ignore_case: bool = False) -> Any:
    """Return a pattern of RE2. Raises UsageError where it refuses the pattern."""
    if not isinstance(pattern, str):
        raise UsageError(f"the comparator regex needs a pattern, got {show_value(pattern)!r}")
    import re2

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else b""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise UsageError(
            f"RE2 refuses the pattern {show_value(pattern)!r}: {text}; "
            "next: write it without look-around and back-references"
        ) from None
