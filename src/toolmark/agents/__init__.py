"""Agents drive a model through an episode."""
