"""How an endpoint is asked where nothing else is said.

A module of its own: the command line shows these values, and loads nothing else for its help.
"""

DEFAULT_CONNECTIONS = 16
"""Requests in flight."""
DEFAULT_RETRIES = 5
"""Retries of one request."""
TIMEOUT_S = 600.0
"""Seconds for one exchange, from connecting to the last byte."""
