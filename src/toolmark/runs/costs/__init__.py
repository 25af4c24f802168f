"""Tokens and money of a run: what was used, what it cost, what it will cost."""
