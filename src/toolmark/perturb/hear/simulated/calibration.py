"""Odds of an error per word that give a word error rate (per cent), per preset.

Made by `python benchmarks/recognisers.py --calibrate`, on one half of BFCL's user turns; made
again whenever the draws, the tables or the lexicon change.
"""

TARGETS = (0.0, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)
ODDS = {
    "a": (0, 0.0081572, 0.019922, 0.039493, 0.084505, 0.13427, 0.1936, 0.32886, 0.52078, 1.2102),
    "b": (0, 0.0074908, 0.020341, 0.041128, 0.081476, 0.12602, 0.17678, 0.29757, 0.45484, 1.0077),
    "c": (0, 0.0080974, 0.022342, 0.042962, 0.088117, 0.13671, 0.19226, 0.32284, 0.50324, 1.1256),
}  # fmt: skip
