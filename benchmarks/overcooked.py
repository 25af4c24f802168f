"""What answers without a look at the kitchen are worth: baselines on the real games of 2019.

    python benchmarks/overcooked.py [--seed 0]

Fetches the pinned package (27 MB twice, unpacked) unless it is in the cache. Every step of the 37
test games is answered by each baseline, learned from the 39 training games; prints the exact match
of joint actions in per cent, over all rows and by layout, with 95 % intervals that count games, for
steps of one game are alike. Exits 1 where the data are not those that were published: rows, games
and the shares of STAY/STAY.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

from toolmark.statistics import confidence_intervals
from toolmark.suites.multinet import baseline_answers
from toolmark.suites.multinet.frame_records import Answer, Frame
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY
from toolmark.suites.multinet.overcooked import overcooked_rows

NAMES = BASELINES_BY_FAMILY["overcooked"]
Step = tuple[Frame, dict[str, Answer]]
PUBLISHED = {"train": (46_729, 39, 0.349), "test": (44_373, 37, 0.329)}


def main() -> None:
    """Measure, print, and exit 1 where the data are not the published ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the uniform draws")
    asked = parser.parse_args()
    train, test = overcooked_rows.rows(split="train"), overcooked_rows.rows(split="test")
    made = baseline_answers.add_baseline_answers(test, train, asked.seed)
    steps = [(frame, made.baseline_answers(frame)) for frame in made.partial_frames()]
    known = (
        described("train", list(train.partial_frames())),
        described("test", [each for each, _ in steps]),
    )
    layouts = sorted({frame.slices["layout"] for frame, _ in steps})
    parts = {"all": steps} | {
        layout: [step for step in steps if step[0].slices["layout"] == layout] for layout in layouts
    }
    head = ("layout", "games", "rows", *NAMES)
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, part in parts.items():
        reported = [shown(part, baseline) for baseline in NAMES]
        games = len({frame.group for frame, _ in part})
        print(f"| {' | '.join((name, f'{games}', f'{len(part):,}', *reported))} |")
    sys.exit(not all(known))


def described(split: str, frames: list[Frame]) -> bool:
    """Print what a split holds; tell whether it is what was published."""
    games = len({frame.group for frame in frames})
    still = sum(frame.truth == baseline_answers.STAY_JOINT_ACTION for frame in frames) / len(frames)
    seen = len({frame.truth for frame in frames})
    print(f"{split}: {len(frames):,} rows, {games} games, {seen} of 36 joint actions, "
          f"STAY/STAY {still:.1%}")  # fmt: skip
    return (len(frames), games, round(still, 3)) == PUBLISHED[split] and seen == 36


def shown(steps: list[Step], name: str) -> str:
    """Return a baseline's exact match with its interval."""
    hits: NDArray[np.float64] = np.array([said[name] == f.truth for f, said in steps], dtype=float)
    groups = [frame.group for frame, _ in steps]
    low, high = confidence_intervals.ratio_interval(hits, np.ones(len(hits)), groups)
    return f"{100 * hits.mean():.2f} [{100 * low:.2f}, {100 * high:.2f}]"


if __name__ == "__main__":
    main()
