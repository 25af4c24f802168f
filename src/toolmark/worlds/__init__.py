"""Worlds: what answers the calls of an episode."""
