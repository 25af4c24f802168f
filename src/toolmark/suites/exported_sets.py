"""Run a suite on the tasks of an exported set."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
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
    parameters: dict[str, Any] = dict(manifest.parameters)
    if suite.name in suite_registry.SUITES:
        try:
            parameters = suite_registry.convert_known_parameters(suite.name, parameters)
        except UsageError as error:
            raise DataError(f"{Path(folder) / dataset_folder.MANIFEST_NAME}: {error}") from None
    export = suite.provenance.export
    _check_named_parameters(suite, manifest, parameters, folder)
    parameters |= {
        name: suite.parameters[name]
        for name in export.asking_parameters
        if name in suite.parameters
    }
    set_hashes = {
        name: sha256
        for name, sha256 in manifest.hashes.items()
        if name not in export.current_hashes
    }
    # without such names the suite's own data are not even read
    suite_hashes = {
        name: suite.provenance.hashes[name]
        for name in export.current_hashes
        if name in suite.provenance.hashes
    }
    adapt = suite.environment.for_exported_set
    return dataclasses.replace(
        suite,
        tasks=TaskFile(Path(folder), suite.name),
        parameters=parameters,
        environment=adapt(parameters, Path(folder)) if adapt else suite.environment,
        provenance=dataclasses.replace(
            suite.provenance,
            seed=manifest.seed,
            hashes=set_hashes | suite_hashes,
            notes=() if adapt else suite.provenance.notes,
        ),
    )


def _check_named_parameters(
    suite: Suite,
    manifest: dataset_folder.Manifest,
    parameters: Mapping[str, Any],
    folder: str | Path,
) -> None:
    """Raise UsageError where the user named a suite parameter that contradicts the set."""
    current = data_card.strip_folders(suite.parameters)
    of_set = data_card.strip_folders(parameters)
    for name in suite.provenance.named_parameters:
        if name in suite.provenance.export.asking_parameters:
            continue
        is_seed = name == "seed"
        set_value = manifest.seed if is_seed else of_set.get(name, current.get(name))
        wanted = suite.provenance.seed if is_seed else current.get(name)
        if wanted != set_value:
            raise UsageError(
                f"{folder} was made with {name}={set_value}, not {wanted}: leave {name} out, "
                "or make another set"
            )
