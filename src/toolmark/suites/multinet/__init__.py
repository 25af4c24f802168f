"""MultiNet v1.0: perception, reasoning and action under one set of metrics."""

EXTRA = "multinet"
