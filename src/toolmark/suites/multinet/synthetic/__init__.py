"""Stand-ins for data that cannot be shipped: made from a seed, and labelled synthetic."""
