"""Code that generated suites share: drawn pictures, portable file names."""
