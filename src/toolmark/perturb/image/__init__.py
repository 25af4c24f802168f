"""Picture variations: crop, resize, colour, edges, occlusion; boxes move with the pixels."""

EXTRA = "vision"
