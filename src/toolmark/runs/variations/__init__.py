"""Variations: each chosen task is also asked otherwise, and the effect is reported in pairs."""
