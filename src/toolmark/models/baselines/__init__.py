"""Baselines that see only what a model sees, and instruments for tests."""
