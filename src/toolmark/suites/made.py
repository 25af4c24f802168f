"""Sets that were made: a suite whose tasks are those of one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from toolmark import suites
from toolmark.errors import DataError, UsageError
from toolmark.runs import card, dataset
from toolmark.runs.plan import FileTasks
from toolmark.runs.suite import Suite


def adopted(suite: Suite, tasks: str | Path) -> Suite:
    """Return the suite as a made set's tasks were made, where `tasks` is the folder of one.

    Knobs, seed and hashes are the set's; who judges, and whatever else says how tasks are asked,
    stays as it is. Raises UsageError where the user named a knob that contradicts the set, and
    DataError for a set of another suite, or one that was changed.
    """
    manifest = dataset.verify(Path(tasks)) if tasks else None
    if manifest is None:
        return suite
    if manifest.suite != suite.name:
        raise DataError(f"{tasks}: a set of suite {manifest.suite!r}, not of {suite.name!r}")
    held: dict[str, Any] = dict(manifest.knobs)
    if suite.name in suites.SUITES:
        try:
            held = suites.settled(suite.name, held)
        except UsageError as error:
            raise DataError(f"{Path(tasks) / dataset.MANIFEST}: {error}") from None
    own = card.placeless(suite.knobs)
    for name in suite.given:
        kept = manifest.seed if name == "seed" else card.placeless(held).get(name, own.get(name))
        wish = suite.seed if name == "seed" else own.get(name)
        if name not in suite.asking and wish != kept:
            raise UsageError(
                f"{tasks} was made with {name}={kept}, not {wish}: leave {name} out, or make "
                "another set"
            )
    held |= {name: suite.knobs[name] for name in suite.asking if name in suite.knobs}
    standing = {name: suite.hashes[name] for name in suite.standing if name in suite.hashes}
    read = {name: sha for name, sha in manifest.hashes.items() if name not in suite.standing}
    return dataclasses.replace(
        suite,
        tasks=FileTasks(Path(tasks), suite.name),
        knobs=held,
        seed=manifest.seed,
        hashes=read | standing,
        site=suite.reopen(held, Path(tasks)) if suite.reopen else suite.site,
        notes=() if suite.reopen else suite.notes,
    )
