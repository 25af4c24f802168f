"""Text perturbations: written requests as spoken text, and disfluencies."""
