"""Tools behind the Model Context Protocol: real servers, started, watched and stopped."""

EXTRA = "m3"
