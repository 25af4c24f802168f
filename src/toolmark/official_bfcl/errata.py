"""Published entries that cannot be scored fairly as published, with the reason. Data only.

The official rule scores all of them, as the official grader does. The fair rule sets aside the
entries in SET_ASIDE, and corrects the truth of those in AMENDED to what was clearly meant.
"""

from __future__ import annotations

VERSION = 2

# no answer passes the official checker
UNSATISFIABLE: dict[str, str] = {
    "live_simple_106-63-0": "a required parameter has no accepted value",
    "live_simple_112-68-0": "a required parameter has no accepted value",
    "live_multiple_862-181-3": "the truth demands a parameter that the doc does not have",
    "live_multiple_964-207-0": "a required parameter is not in the truth",
    "simple_java_36": "elements of any type are read as text, the truth holds numbers and booleans",
    "simple_java_65": "elements of any type are read as text, the truth holds booleans",
}

# passes, but only with an answer that no sensible model gives
UNREASONABLE: dict[str, str] = {
    "live_multiple_507-149-4": "the only accepted origin_airport is the empty string",
}

# the truth contradicts the question, so the requested answer fails
CONTRADICTED: dict[str, str] = {
    "simple_java_67": "the entries of one map are listed as alternatives, and the question does "
    "not name their keys",
    "simple_javascript_16": "the question asks for two vertices, the truth accepts one alone",
}

# the fair rule takes a single value as a list with that one alternative
AMENDED: dict[str, str] = {
    "simple_java_64": "the one accepted value is taken apart into letters",
}

# the fair rule reads Java collections, so right answers pass
SATISFIABLE_WITH_COLLECTIONS = ("simple_java_36", "simple_java_65")

SET_ASIDE: dict[str, str] = {
    id_: why
    for table in (UNSATISFIABLE, UNREASONABLE, CONTRADICTED)
    for id_, why in table.items()
    if id_ not in SATISFIABLE_WITH_COLLECTIONS
}
