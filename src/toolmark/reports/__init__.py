"""Tables, charts and the single-file HTML report."""
