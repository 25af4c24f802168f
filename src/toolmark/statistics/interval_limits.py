"""What all intervals of 95 % have in common: their quantile, and how much data they need."""

from __future__ import annotations

NORMAL_QUANTILE = 1.959963984540054
"""Half the length of the interval of a normal number, in standard errors.

Written out, since the command line loads no library of numbers for its help.
"""
FEWEST_GROUPS = 20
"""The least number of groups for a bootstrap: with fewer, its intervals are far too narrow."""
FEWEST_ANSWERS = 100
"""The least number of answers for which a relative error has an interval."""
NO_INTERVAL_NOTE = (
    f"No interval where a plain number rests on fewer than {FEWEST_GROUPS} items or groups, a "
    f"relative error on fewer than {FEWEST_ANSWERS} answers (in each part of a mean), or where all "
    "are alike."
)
