"""What a workspace holds at the end of an episode, as JSON values, and whether that is right."""

from toolmark.suites.m3.local.state.compare import check
from toolmark.suites.m3.local.state.walk import snapshot

__all__ = ["check", "snapshot"]
