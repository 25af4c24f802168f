"""Twins of BFCL entries: the same question with new values, in the question and in the truth."""
