"""Keyless baselines played on the tasks of a run, and their numbers."""
