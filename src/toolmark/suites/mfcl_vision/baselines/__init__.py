"""Agents without a language model: one reads the picture, one sees only the question."""
