"""Recognisers that hear nothing: errors drawn from what was said, always marked as simulated."""
