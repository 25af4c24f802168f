"""Perturbations of a task: its text, voice, sound, transcript and pictures."""

EXTRA = "speech"
