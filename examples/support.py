"""Calls that a support bot must make, from rows of (question, tools, expected calls)."""

import toolmark as tm


@tm.suite
def support(path: str = "examples/support_rows.jsonl") -> tm.Suite:
    """Calls that a support bot must make."""
    return tm.expected_calls(tm.read_jsonl(path))
