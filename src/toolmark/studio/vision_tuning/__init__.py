"""Tuning of vision items: harder until most of a panel fails, but still solvable."""

EXTRA = "vision"
