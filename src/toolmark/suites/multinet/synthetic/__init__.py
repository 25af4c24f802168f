"""Synthetic data in place of data that cannot be shipped: made from a seed, labelled synthetic."""
