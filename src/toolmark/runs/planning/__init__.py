"""Sample sizes, power and prices of a run that is to come, from a pilot or an expected score."""
