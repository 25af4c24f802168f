"""Published packages and pinned archives as data."""
