"""From how many items on a number has an interval.

A module of its own: what formats numbers names these limits, and needs no numpy for that.
"""

FEWEST_GROUPS = 20
"""The least number of groups for a bootstrap: with fewer, its intervals are far too narrow."""
FEWEST_ANSWERS = 100
"""The least number of answers for which a relative error has an interval."""
