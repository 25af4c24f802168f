"""Records, errors, media, and what every other package builds on."""
