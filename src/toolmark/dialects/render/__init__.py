"""Tool documentation as text."""
