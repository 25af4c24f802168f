"""Judging by models and by people: what judges see, how they are asked, and what labels say."""
