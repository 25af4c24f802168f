"""Odds of an error per word that give a word error rate (per cent), for each preset.

`python benchmarks/recognisers.py --calibrate` computes them on one half of BFCL's user turns. Run
it again whenever the draws, the tables or the lexicon change.
"""

TARGET_ERROR_RATES = (0.0, 1.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)
ERROR_ODDS = {
    "a": (0, 0.0077473, 0.019237, 0.038202, 0.076275, 0.11578, 0.15804, 0.25666, 0.38702, 0.79839),
    "b": (0, 0.0076408, 0.019025, 0.037888, 0.075734, 0.11454, 0.15514, 0.24517, 0.35406, 0.68734),
    "c": (0, 0.0078506, 0.01959, 0.03916, 0.078883, 0.12029, 0.16443, 0.26556, 0.39435, 0.81809),
}  # fmt: skip
