"""A run: planned, executed, stored, resumed."""
