"""MFCL Vision: search-grounded questions about pictures, generated or read from a folder."""

EXTRA = "vision"
