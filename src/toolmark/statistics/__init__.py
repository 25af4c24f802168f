"""Statistics of scores: columns, estimates, intervals and paired tests."""
