"""Tables, drawings and the one-file page."""
