"""Spoken and written forms of values, shared by speech and by scoring."""

EXTRA = "speech"
