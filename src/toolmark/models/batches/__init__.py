"""Batches: many requests submitted together, answered within a day, at half the price."""
