"""How many calls an episode may have: twice the minimum, the minimum and a slack, or any number."""

from __future__ import annotations

import re

from msgspec import Struct

from toolmark.core.errors import UsageError

_MINIMUM_AND_SLACK = re.compile(r"minimum\+([0-9]{1,4})", re.ASCII)


class CallCap(Struct, frozen=True):
    """At most `factor` times the minimal number of calls, and `slack` more; 0 for no limit."""

    factor: int
    slack: int = 0

    def max_calls(self, minimum: int) -> int | None:
        """Return the number of calls for a task that needs `minimum`; None for no limit."""
        return self.factor * minimum + self.slack if self.factor else None


PAPER_CAP = CallCap(2)


def parse_cap(text: str) -> CallCap:
    """Return the cap: `2n` as in the paper, `minimum+K`, or `none`. Else a UsageError."""
    if text == "2n":
        return PAPER_CAP
    if text == "none":
        return CallCap(0)
    found = _MINIMUM_AND_SLACK.fullmatch(text)
    if found is None:
        raise UsageError(f"cap must be 2n, none or minimum+K, for example minimum+2; got {text!r}")
    return CallCap(1, int(found[1]))
