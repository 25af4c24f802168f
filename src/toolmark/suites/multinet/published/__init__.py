"""MultiNet's families as they are published: readers of folders that somebody else filled.

Every reader is called `rows(folder, *, split, seed, ...)`. The folder is the root of the layout,
the family's folder in it, or one split of that; a split `train` beside the published one is what
baselines learn from. Where there is none, the training split has no rows, and baselines learn from
the other groups of the rows that are asked; PIQA and BFCL say on their pages when they draw one.
"""
