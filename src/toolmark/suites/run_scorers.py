"""The scorer of a stored run: a built-in suite's, the user's as recorded, or the one given."""

from __future__ import annotations

from toolmark.authoring import row_file_names
from toolmark.core import entry_points
from toolmark.core.errors import UsageError
from toolmark.core.files import is_inside
from toolmark.runs import code_hashes, module_sources
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Scorer
from toolmark.suites import suite_registry


def scorer_for_run(run: Run, scorer: Scorer | None = None) -> Scorer:
    """Return the scorer of a run, or `scorer`; raises UsageError for a scorer of another suite."""
    name = run.info.plan.suite
    if scorer is None:
        return import_recorded_scorer(run) if run.info.plan.spec else builtin_scorer(run)
    if run.info.plan.spec:
        return scorer
    if name in suite_registry.SUITES and {*scorer.rules} != {
        *(builtin := builtin_scorer(run)).rules
    }:
        raise UsageError(
            f"{run.path} is of {name}, which is judged in {', '.join(builtin.rules)}; the "
            f"scorer given judges in {', '.join(scorer.rules)}: leave it out"
        )
    return scorer


def import_recorded_scorer(run: Run) -> Scorer:
    """Import the scorer of the suite that a run names, if its code is as the run recorded it.

    Every user file that the import would run must have the hash in the run's record. The run folder
    alone must not decide what is imported: a module inside the folder itself is not accepted, and
    of an installed package only what is an entry point for suites, with files of the same hashes.
    Raises UsageError with the command that names the suite.
    """
    spec, parameters = run.info.plan.spec, run.info.plan.parameters
    if row_file_names.is_row_file(spec):
        return suite_registry.load_scorer(spec, parameters)
    recorded_hashes = run.info.plan.modules | run.scorer().files
    problem = ""
    try:
        found = code_hashes.spec_hashes(spec)
        changed = [name for name, sha256 in found.items() if recorded_hashes.get(name) != sha256]
        source_file = code_hashes.spec_file(spec)
        if not found or source_file is None:
            problem = f"the run records no hash of the code {spec}"
        elif is_inside(run.path, source_file):
            problem = f"{source_file} lies in the run folder"
        elif module_sources.is_library_file(source_file) and not entry_points.is_registered(
            suite_registry.GROUP, spec
        ):
            problem = f"no installed package offers the suite {spec}"
        elif changed:
            problem = f"{', '.join(changed)} differs from what the run was made with"
    except UsageError as error:
        problem = str(error)
    if problem:
        command = finishing_command(run.path, spec)
        raise UsageError(f"{run.path}: {problem}, so nothing was imported; next: {command}")
    return suite_registry.load_scorer(spec, parameters)


def builtin_scorer(run: Run) -> Scorer:
    """Return the scorer of a built-in suite; a name in a run folder may not import other code."""
    name = run.info.plan.suite
    if name not in suite_registry.SUITES:
        raise UsageError(
            f"{name!r} is not a built-in suite, and the run does not name its code; next: toolmark "
            "score RUN --suite FILE.py:NAME, or tm.rescore(run, scorer)"
        )
    return suite_registry.load_scorer(name, run.info.plan.parameters)
