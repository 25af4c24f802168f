"""Speech perturbations: voices that say a text, and the acoustics between speaker and model."""
