"""Agents without a model: one reads the picture and searches, one has the question alone."""
