"""Environments: they answer the calls of an episode."""
