"""The kinds of variations, and how a user names them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from toolmark.core.errors import UsageError, suggest_names

DEFAULT_DISTRACTORS = 5
MAX_DISTRACTORS = 500
KINDS: Mapping[str, str] = {
    "tool_order": "the tools in another order",
    "names": "other names for tools, and for parameters where that is safe",
    "descriptions": "tools described by one sentence, parameters not at all",
    "distractors": f"{DEFAULT_DISTRACTORS} more tools, from other tasks; distractors=N for N",
    "wording": "other words around the question, which mean the same",
    "strict": "schemas marked as strict",
    "values": "twins: new values in the question and in what is expected",
}


class VariationKind(NamedTuple):
    """A kind of variation, and how many tools `distractors` adds."""

    name: str
    n_distractors: int = DEFAULT_DISTRACTORS


def parse_kinds(words: Sequence[str]) -> tuple[VariationKind, ...]:
    """Return the kinds that the words name, each once. Raises UsageError for an unknown one."""
    found: dict[str, VariationKind] = {}
    for word in words:
        name, _, number = word.partition("=")
        if name not in KINDS:
            raise UsageError(f"no kind of variation {name!r}{suggest_names(name, KINDS)}")
        kind = VariationKind(name)
        if number or word.endswith("="):
            is_count = name == "distractors" and re.fullmatch(r"[0-9]{1,4}", number)
            if not is_count or not 1 <= int(number) <= MAX_DISTRACTORS:
                raise UsageError(
                    f"--vary {word}: only distractors takes a number, 1 to {MAX_DISTRACTORS}"
                )
            kind = VariationKind(name, int(number))
        if name in found:
            raise UsageError(f"--vary names {name} twice")
        found[name] = kind
    return tuple(found.values())
