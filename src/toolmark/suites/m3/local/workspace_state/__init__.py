"""The final contents of a workspace as JSON values, and their comparison with expectations."""

from toolmark.suites.m3.local.workspace_state.state_comparison import find_differences
from toolmark.suites.m3.local.workspace_state.workspace_snapshot import take_snapshot

__all__ = ["find_differences", "take_snapshot"]
