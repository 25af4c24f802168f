"""Review of episodes by people in a browser; their decisions are stored with the run."""
