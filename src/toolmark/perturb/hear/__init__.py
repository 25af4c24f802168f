"""Recognisers, real and simulated, and how wrong they are."""
