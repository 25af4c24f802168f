"""Changing what a model is asked: the wording, the voice, the sound, what a recogniser hears."""
