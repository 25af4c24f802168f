"""Intervals, paired tests, columns of scores."""
