"""Wording: how somebody would say it, and how people trip over their words."""
