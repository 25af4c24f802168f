"""Simulated recognisers: errors drawn from the spoken text, always marked as simulated."""
