"""Suites of your own: files of rows, and Python functions that return a Suite."""
