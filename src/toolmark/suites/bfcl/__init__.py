"""BFCL V4: official data and simulators from the pinned wheel."""
