"""Tool formats render tools and parse calls."""
