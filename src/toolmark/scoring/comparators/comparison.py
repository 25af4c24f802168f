"""What a comparator is: a frozen record of settings that compares a value with an expected one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from msgspec import Struct, structs

from toolmark.core.called_code import CodeHolder
from toolmark.core.text_excerpt import shorten_text
from toolmark.language.value_tokens import plain_text


class Comparison(NamedTuple):
    """The result of a comparison.

    - `matches`: whether the value is the expected one.
    - `reason`: why, in one sentence.
    - `found`: the part of the answer that was compared, "" where there is none.
    """

    matches: bool
    reason: str
    found: str = ""


class Comparator(Struct, CodeHolder, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Compares what a model gave with an expected value; its fields are its settings."""

    kind: ClassVar[str] = ""

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a value that is the answer, such as an argument of a call.

        Raises UsageError where the expected value is not of this kind.
        """
        raise NotImplementedError

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare what an answer in prose states. Raises UsageError as `compare_value` does."""
        raise NotImplementedError

    def called_code(self) -> Iterable[Any]:
        """Return nothing: a comparator calls no code of the user."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the kind and the fields, plain JSON values."""
        return {"kind": self.kind, **structs.asdict(self)}


MAX_SHOWN_CHARS = 80
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~")


def visible_text(text: str) -> str:
    """Return an answer in plain characters, with spaces for what it strikes out: ~~15~~ 16."""
    text = plain_text(text)
    return _STRUCK.sub(lambda found: " " * len(found.group()), text) if "~~" in text else text


def show_value(value: Any) -> str:
    """Return a value for a message, shortened."""
    return shorten_text(value if isinstance(value, str) else repr(value), MAX_SHOWN_CHARS)
