"""Scorers' parts: usable alone, without a transport or a suite."""
