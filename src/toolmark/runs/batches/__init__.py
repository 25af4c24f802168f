"""Runs whose requests wait for a provider's batch endpoint."""
