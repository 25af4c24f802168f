"""The Berkeley Function Calling Leaderboard, version 4, on its official data."""

from __future__ import annotations

from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.errors import UsageError, near
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.bfcl import data, report
from toolmark.suites.bfcl.instruments import faulty, oracle
from toolmark.suites.bfcl.score import READINGS, score
from toolmark.worlds.silent import site

SCORER = Scorer(
    readings=READINGS,
    score=score,
    metrics=report.metrics,
    tables=report.tables,
    views=report.views,
)


def load(*, category: tuple[str, ...] = ("single_turn",), seed: int = 0) -> Suite:
    """Load BFCL entries; the official wheel is fetched on first use.

    Args:
        category: Categories or groups of them: single_turn, live, non_live.
        seed: Kept in the run's record; published entries do not depend on it.

    """
    chosen = names(category)
    root = data.fetch()
    tasks, hashes = data.read(root, chosen)
    return Suite(
        name="bfcl",
        tasks=tasks,
        scorer=SCORER,
        site=site,
        dialects={"native": NATIVE, "prompt": Prompt(wording=data.wording(root))},
        knobs={"category": chosen},
        seed=seed,
        instruments={"oracle": oracle, "faulty": faulty},
        hashes=hashes,
    )


def names(asked: tuple[str, ...] | str) -> tuple[str, ...]:
    """Return the categories meant, each once, in the published order. Raises UsageError."""
    meant: set[str] = set()
    for word in (asked,) if isinstance(asked, str) else asked:
        if word not in data.CATEGORIES and word not in data.GROUPS:
            known = [*data.CATEGORIES, *data.GROUPS]
            raise UsageError(f"no category {word!r}{near(word, known)}")
        meant.update(data.GROUPS.get(word, (word,)))
    if not meant:
        raise UsageError(f"no category given{near('', data.GROUPS)}")
    return tuple(name for name in data.CATEGORIES if name in meant)
