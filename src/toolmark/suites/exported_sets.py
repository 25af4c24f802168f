"""Run a suite on the tasks of an exported set."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from toolmark.core.errors import DataError, UsageError
from toolmark.runs import data_card, dataset_folder
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import TaskFile
from toolmark.suites import suite_registry


def adopt_exported_set(suite: Suite, folder: str | Path) -> Suite:
    """Return the suite with the tasks of an exported set, where `tasks` is the folder of one.

    Suite parameters, seed and hashes are those of the set. The scorer, and everything else that
    says how tasks are asked, stays unchanged. Raises UsageError where the user named a suite
    parameter that contradicts the set, and DataError for a set of another suite or one that was
    changed.
    """
    manifest = dataset_folder.verify_dataset(Path(folder)) if folder else None
    if manifest is None:
        return suite
    if manifest.suite != suite.name:
        raise DataError(f"{folder}: a set of suite {manifest.suite!r}, not of {suite.name!r}")
    parameters: dict[str, Any] = dict(manifest.knobs)
    if suite.name in suite_registry.SUITES:
        try:
            parameters = suite_registry.convert_known_parameters(suite.name, parameters)
        except UsageError as error:
            raise DataError(f"{Path(folder) / dataset_folder.MANIFEST_NAME}: {error}") from None
    suite_parameters = data_card.strip_folders(suite.knobs)
    for name in suite.given:
        set_value = (
            manifest.seed
            if name == "seed"
            else data_card.strip_folders(parameters).get(name, suite_parameters.get(name))
        )
        wanted_value = suite.seed if name == "seed" else suite_parameters.get(name)
        if name not in suite.asking and wanted_value != set_value:
            raise UsageError(
                f"{folder} was made with {name}={set_value}, not {wanted_value}: leave {name} out, "
                "or make another set"
            )
    parameters |= {name: suite.knobs[name] for name in suite.asking if name in suite.knobs}
    suite_hashes = {name: suite.hashes[name] for name in suite.standing if name in suite.hashes}
    set_hashes = {name: sha for name, sha in manifest.hashes.items() if name not in suite.standing}
    return dataclasses.replace(
        suite,
        tasks=TaskFile(Path(folder), suite.name),
        knobs=parameters,
        seed=manifest.seed,
        hashes=set_hashes | suite_hashes,
        site=suite.reopen(parameters, Path(folder)) if suite.reopen else suite.site,
        notes=() if suite.reopen else suite.notes,
    )
