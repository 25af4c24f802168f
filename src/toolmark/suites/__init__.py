"""One package per published work: its tasks, environment, scorer and tables."""
