"""Text to calls; nothing is ever evaluated."""
