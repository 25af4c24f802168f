"""Sound: voices that say a text, and the acoustics between mouth and model."""
