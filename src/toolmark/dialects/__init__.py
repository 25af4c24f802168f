"""Dialects render tools and read calls back."""
