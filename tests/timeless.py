"""Trajectories without the times that calls took, which no two runs share."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core.records import Step, Trajectory


def without_durations(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory with no durations of calls."""
    return replace(trajectory, steps=tuple(map(_without_durations, trajectory.steps)))


def _without_durations(step: Step) -> Step:
    return replace(step, call_durations_s=())
