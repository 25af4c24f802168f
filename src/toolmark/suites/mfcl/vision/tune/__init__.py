"""Tuning of vision items: harder and harder until most of a panel fails, solvable all the same."""
