"""Baselines that see only what a model sees, and controls for tests."""
