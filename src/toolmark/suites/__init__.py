"""One package per published work: data, world, scorer."""
