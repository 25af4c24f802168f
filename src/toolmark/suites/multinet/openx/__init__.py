"""Robot trajectories: continuous control, one action vector a step."""
