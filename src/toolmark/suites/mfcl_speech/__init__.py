"""MFCL: function calls from speech, clear or not (ICLR 2026 submission 16308)."""

EXTRA = "speech"
