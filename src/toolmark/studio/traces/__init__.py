"""Traces of applications as proposed rows, and trajectories as traces."""
