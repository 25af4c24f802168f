"""Published BFCL results judged again: what was published, what it is today, and why."""
