"""Suites as tests of pytest: what `toolmark.pytest_plugin` loads when a test asks for a suite."""
