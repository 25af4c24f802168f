"""Published entries that no answer can pass, with the reason. Data; nothing is set aside here."""

from __future__ import annotations

VERSION = 1

UNSATISFIABLE: dict[str, str] = {
    "live_simple_106-63-0": "a required parameter has no accepted value",
    "live_simple_112-68-0": "a required parameter has no accepted value",
    "live_multiple_862-181-3": "the truth demands a parameter that the doc does not have",
    "live_multiple_964-207-0": "a required parameter is not in the truth",
}

# passes, but only with an answer that no sensible model gives
UNNATURAL: dict[str, str] = {
    "live_multiple_507-149-4": "the only accepted origin_airport is the empty string",
}
