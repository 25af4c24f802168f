"""The paper's figures, to be shown next to yours (arXiv 2509.26553, Tables 1-3, 5, Fig. 8).

Success rates and shares are in per cent, as printed.
"""

from __future__ import annotations

CORE_SIZES = (5, 10, 20)

SUCCESS_RATES = {
    "GPT-5": (72.5, 38.2, 15.0),
    "GPT-5-mini": (16.0, 7.6, 4.2),
    "Gemini-2.5-Pro": (46.5, 14.4, 6.0),
    "Gemini-2.5-Flash": (31.5, 13.8, 7.2),
    "Qwen3-235B": (11.0, 8.2, 3.8),
    "GPT-4.1": (12.0, 2.2, 0.2),
    "GPT-4.1-mini": (11.0, 0.0, 0.0),
}
"""Main experiment, by number of core functions."""

CALLS_PER_TRIAL: dict[str, tuple[tuple[float | None, float], ...]] = {
    "GPT-5": ((5.4, 7.6), (11.5, 13.0), (22.0, 23.7)),
    "GPT-5-mini": ((5.0, 7.9), (10.0, 14.2), (20.0, 23.4)),
    "Gemini-2.5-Pro": ((5.5, 6.3), (10.6, 13.2), (22.6, 24.4)),
    "Gemini-2.5-Flash": ((5.1, 1.1), (10.3, 1.3), (20.0, 1.3)),
    "Qwen3-235B": ((5.4, 6.1), (11.2, 11.1), (24.1, 19.3)),
    "GPT-4.1": ((5.2, 4.1), (10.3, 7.1), (21.0, 12.0)),
    "GPT-4.1-mini": ((5.2, 5.0), (None, 9.0), (None, 18.9)),
}
"""Table 2: calls in successful and in failed trials, by number of core functions."""

ERROR_SHARES = {
    "GPT-5": (6054, 0.0, 0.0, 79.6, 20.4),
    "GPT-5-mini": (13180, 0.0, 0.0, 66.8, 33.2),
    "Gemini-2.5-Pro": (5756, 2.4, 0.2, 69.1, 28.3),
    "Gemini-2.5-Flash": (235, 0.0, 0.9, 81.3, 17.9),
    "Qwen3-235B": (9472, 0.0, 0.1, 74.0, 25.8),
    "GPT-4.1": (3597, 0.0, 0.0, 73.2, 26.8),
    "GPT-4.1-mini": (8560, 0.0, 0.0, 66.8, 33.2),
}
"""Table 3: errors in total, then the share of each class."""

SUCCESS_WITHOUT_IRRELEVANT = {
    "GPT-5": (80.0, 28.9, 14.0),
    "GPT-5-mini": (20.0, 8.9, 4.0),
    "Gemini-2.5-Pro": (65.0, 20.0, 10.0),
    "Gemini-2.5-Flash": (35.0, 22.2, 10.0),
    "Qwen3-235B": (10.0, 4.4, 4.0),
    "GPT-4.1": (15.0, 6.7, 2.0),
    "GPT-4.1-mini": (10.0, 0.0, 0.0),
}
"""Table 5: success without irrelevant functions, by number of core functions."""

RESTATE_RATES = {5: ("GPT-5", 62.5, 81.3)}
"""Success plain and restated, with connected irrelevant functions only."""
