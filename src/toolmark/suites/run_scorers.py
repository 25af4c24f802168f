"""The scorer of a stored run: a built-in suite's, the user's as recorded, or the one given."""

from __future__ import annotations

from toolmark.core.errors import UsageError
from toolmark.core.files import is_inside
from toolmark.runs import code_hashes
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Scorer
from toolmark.suites import suite_registry


def scorer_for_run(run: Run, scorer: Scorer | None = None) -> Scorer:
    """Return the scorer of a run, or `scorer`; raises UsageError for a scorer of another suite."""
    name = run.info.plan.suite
    if scorer is None:
        return import_recorded_scorer(run) if run.info.plan.spec else builtin_scorer(name)
    if run.info.plan.spec:
        return scorer
    if name in suite_registry.SUITES and {*scorer.rules} != {
        *(builtin := suite_registry.load_scorer(name)).rules
    }:
        raise UsageError(
            f"{run.path} is of {name}, which is judged in {', '.join(builtin.rules)}; the "
            f"scorer given judges in {', '.join(scorer.rules)}: leave it out"
        )
    return scorer


def import_recorded_scorer(run: Run) -> Scorer:
    """Import the scorer of the suite that a run names, if its code is as the run recorded it.

    Every user file that the import would run must have the hash in the run's record. The run folder
    alone must not decide what is imported: a module inside the folder itself, or in a library, is
    not accepted. Raises UsageError with the command that names the suite.
    """
    spec = run.info.plan.spec
    recorded_hashes = run.info.plan.modules | run.scorer().files
    problem = ""
    try:
        found = code_hashes.spec_hashes(spec)
        changed = [name for name, sha256 in found.items() if recorded_hashes.get(name) != sha256]
        source_file = code_hashes.spec_file(spec)
        if not found or source_file is None:
            problem = f"{spec} is no code of which the run records a hash"
        elif is_inside(run.path, source_file):
            problem = f"{source_file} lies in the run folder"
        elif changed:
            problem = f"{', '.join(changed)} differs from what the run was made with"
    except UsageError as error:
        problem = str(error)
    if problem:
        command = finishing_command(run.path, spec)
        raise UsageError(f"{run.path}: {problem}, so nothing was imported; next: {command}")
    return suite_registry.load_scorer(spec)


def builtin_scorer(name: str) -> Scorer:
    """Return a built-in suite's scorer; a name in a run folder may not import any other code."""
    if name not in suite_registry.SUITES:
        raise UsageError(
            f"{name!r} is not a built-in suite, and the run does not name its code; next: toolmark "
            "score RUN --suite FILE.py:NAME, or tm.rescore(run, scorer)"
        )
    return suite_registry.load_scorer(name)
