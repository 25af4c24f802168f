"""People judge episodes in their browser: what they decide is kept beside the run."""
