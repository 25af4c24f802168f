"""Pictures: cut, squashed, without colour, reduced to edges, covered; boxes go where pixels go."""
