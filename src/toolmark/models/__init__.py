"""Models: wires to endpoints, policies around them, baselines."""
