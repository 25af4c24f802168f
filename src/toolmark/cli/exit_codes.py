"""Exit codes. 0: done. Of several the first that fits counts: interrupted, gate, not run."""

GATE_FAILED = 1
"""A gate that was asked for failed: `--fail-under`, or a check of `toolmark doctor`."""
USAGE_ERROR = 2
"""The command is wrong, or a file that it names."""
NOT_RUN = 3
"""Something was not run, not made or not judged; the same command may go on with it."""
INTERRUPTED = 130
"""It was stopped from outside."""
