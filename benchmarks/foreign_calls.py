"""Calls that stand as text in published replies: are they found, and nothing else?

    git clone https://github.com/HuanzhiMao/BFCL-Result
    python benchmarks/foreign_calls.py --results BFCL-Result

The 423 replies were drawn by a seeded hash from a fifth of the single-turn replies of 2024-08-11,
which was set aside before the table of syntaxes was written: six of each model where there were as
many, then in the order of the hash. The file has digests and no text. A reply counts as a call
where it makes one of an offered tool in a notation for machines: marked, bare at the start, or as
the content of a fence. Sentences and code that explain how to make a call do not count.

No label is a person's. A language model that had not run the recogniser labelled all (`label`), and
199 of them a second time from the places of tool names alone, in another order (`second_label`). A
second reader, also a language model, labelled a random half by the same rule (`second_reader`): it
read replies and names of tools in a random order, and had seen neither the recogniser nor the first
labels. Two language models can err alike. Bars: precision and recall of 0.98 with the first labels.
With the second reader's they are printed, without a bar.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolmark.formats.parse.foreign_calls import find_foreign_call
from toolmark.official_bfcl import official_data
from toolmark.statistics.confidence_intervals import wilson

LABELS = Path(__file__).parent / "foreign_call_labels.csv"
COMMIT = "b4adfc9"
FOLDER = "2024-08-11/result"
CATEGORIES = (
    "irrelevance", "simple_python", "simple_java", "simple_javascript", "multiple", "parallel",
    "parallel_multiple",
)  # fmt: skip
BAR = 0.98


class LabelledReply(NamedTuple):
    """A published reply with its label."""

    entry: str
    text: str
    makes_call: bool
    second_reader: bool | None


def main() -> None:
    """Measure, print, and exit 1 when a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=Path, help="a checkout of HuanzhiMao/BFCL-Result")
    asked = parser.parse_args()
    if asked.results is None:
        print("not measured: --results names a checkout of the published result files")
        sys.exit(1)
    print_agreement()
    tasks, _ = official_data.read_tasks(official_data.fetch_wheel(), CATEGORIES)
    offered = {task.id: [tool.name for tool in task.tools] for task in tasks}
    counts: Counter[tuple[bool | None, bool]] = Counter()
    seconds: Counter[tuple[bool | None, bool]] = Counter()
    syntaxes: Counter[str] = Counter()
    for reply in read_labelled(asked.results):
        found = find_foreign_call(reply.text, offered[reply.entry])
        counts[reply.makes_call, found is not None] += 1
        seconds[reply.second_reader, found is not None] += 1
        if found is not None:
            syntaxes[found.syntax.name] += 1
        if (found is not None) != reply.makes_call:
            what = "found, but no call" if found else "missed"
            print(f"  {what}: {reply.entry}: {reply.text[:70]!r}")
    print("syntaxes:", ", ".join(f"{name} {n}" for name, n in syntaxes.most_common()))
    bars = print_shares("", counts)
    print_shares(" with the second reader's labels", seconds)
    sys.exit(not all(bars))


def print_shares(suffix: str, counts: Counter[tuple[bool | None, bool]]) -> tuple[bool, bool]:
    """Print both for counts by (labelled a call, found); return which reach the bar."""
    right = counts[True, True]
    return (
        print_share(f"precision{suffix}", right, right + counts[False, True]),
        print_share(f"recall{suffix}", right, right + counts[True, False]),
    )


def print_share(name: str, k: int, n: int) -> bool:
    """Print a share with its Wilson interval; return whether it reaches the bar."""
    low, high = wilson(k, n)
    print(f"{name} {k}/{n} = {k / n:.4f} [{low:.4f}, {high:.4f}]")
    return k / n >= BAR


def print_agreement() -> None:
    """Print how often other labels equal the first ones, and Cohen's kappa."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for column, who in (("second_label", "again by the first"), ("second_reader", "by a second")):
        pairs = [(row["label"], row[column]) for row in rows if row[column]]
        equal = sum(first == other for first, other in pairs)
        kappa = cohen_kappa(pairs)
        print(f"labelled {who} reader: {len(pairs)}, equal: {equal}, kappa {kappa:.3f}")


def cohen_kappa(pairs: list[tuple[str, str]]) -> float:
    """Return the agreement of two columns of labels beyond what their shares give by chance."""
    n = len(pairs)
    agreed = sum(first == other for first, other in pairs) / n
    firsts, others = (Counter(column) for column in zip(*pairs, strict=True))
    chance = sum(firsts[label] * others[label] for label in firsts) / n**2
    return (agreed - chance) / (1 - chance)


def read_labelled(results: Path) -> Iterator[LabelledReply]:
    """Yield the labelled replies; raises ValueError for one that is not as it was labelled."""
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["file"] not in texts:
            texts[row["file"]] = read_results(results, row["file"])
        text = texts[row["file"]][row["row"]]
        if hashlib.sha256(text.encode()).hexdigest()[:16] != row["sha256"]:
            raise ValueError(f"{row['file']}, {row['row']}: another text than was labelled")
        second = row["second_reader"] == "call" if row["second_reader"] else None
        yield LabelledReply(row["entry"], text, row["label"] == "call", second)


def read_results(results: Path, file: str) -> dict[str, str]:
    """Return the texts of a result file by id, as the commit has them."""
    shown = subprocess.run(
        ["git", "-C", results, "show", f"{COMMIT}:{FOLDER}/{file}"], capture_output=True, check=True
    )
    rows = map(json.loads, shown.stdout.decode("utf-8", "replace").splitlines())
    return {row["id"]: row["result"] for row in rows if isinstance(row["result"], str)}


if __name__ == "__main__":
    main()
