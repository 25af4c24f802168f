"""Readers of MultiNet's families in their published layout, from folders that the user provides.

Every reader is called `rows(folder, *, split, seed, ...)`. The folder is the root of the layout,
the family's folder in it, or one split of that. Baselines learn from a split `train` next to the
published one. Without it the training split has no rows, and baselines learn from the other groups
of the asked rows. PIQA and BFCL can draw a training split; their modules describe it.
"""
