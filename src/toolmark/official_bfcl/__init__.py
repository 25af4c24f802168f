"""BFCL's official data, environments and grading: what the suites that build on BFCL share."""
