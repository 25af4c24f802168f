"""The scorer and the suite of a stored run: built in, the user's as recorded, or given."""

from __future__ import annotations

from toolmark.authoring import row_file_names
from toolmark.core import entry_points
from toolmark.core.errors import UsageError
from toolmark.core.files import is_inside
from toolmark.runs import code_hashes, module_sources
from toolmark.runs.run_lifecycle import finishing_command
from toolmark.runs.run_store import Run
from toolmark.runs.suite import AskedModel, Scorer, Suite
from toolmark.suites import exported_sets, suite_registry


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


def suite_for_run(run: Run, suite: Suite | None = None) -> Suite:
    """Return the suite of a run as it asked its tasks, or `suite`, as it asks such a run.

    The tasks of the run are those in its folder, and `suite` may have others. Raises UsageError for
    a suite that cannot be made as the run records it, and for another one than that of the run.
    """
    plan = run.info.plan
    if suite is None:
        suite = _load_recorded_suite(run)
        if plan.tasks:
            suite = exported_sets.adopt_exported_set(suite, plan.tasks)
    elif suite.name != plan.suite:
        raise UsageError(f"{run.path} is of suite {plan.suite!r}, not of {suite.name!r}")
    if suite.defaults.adapt_to_model is not None:
        asked = AskedModel(plan.tool_format, wire=plan.wire, url=plan.base_url)
        suite = suite.defaults.adapt_to_model(suite, asked)
    if not {"native", plan.tool_format} & {*suite.tool_formats}:
        raise UsageError(
            f"{run.path}: suite {suite.name!r} has no tool format {plan.tool_format!r}, and its "
            "floors are asked in no other"
        )
    return suite


def _load_recorded_suite(run: Run) -> Suite:
    plan = run.info.plan
    if plan.spec:
        check_recorded_code(run)
        return suite_registry.load_with_known(plan.spec, plan.parameters)
    _check_builtin(run)
    parameters = suite_registry.convert_known_parameters(plan.suite, plan.parameters)
    if "seed" in parameters:  # None where it was drawn
        parameters["seed"] = run.info.seed
    return suite_registry.load_suite(plan.suite, **parameters)


def import_recorded_scorer(run: Run) -> Scorer:
    """Import the scorer of the suite that a run names, if its code is as the run recorded it.

    Raises UsageError as `check_recorded_code` does.
    """
    check_recorded_code(run)
    return suite_registry.load_scorer(run.info.plan.spec, run.info.plan.parameters)


def check_recorded_code(run: Run) -> None:
    """Raise UsageError unless the code of the suite that a run names is as the run recorded it.

    Every user file that the import would run must have the hash in the run's record. The run folder
    alone must not decide what is imported: a module inside the folder itself is not accepted, and
    of an installed package only what is an entry point for suites, with files of the same hashes.
    The text names the command that names the suite. A file of rows has no code.
    """
    spec = run.info.plan.spec
    if row_file_names.is_row_file(spec):
        return
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


def builtin_scorer(run: Run) -> Scorer:
    """Return the scorer of a built-in suite; a name in a run folder may not import other code."""
    _check_builtin(run)
    return suite_registry.load_scorer(run.info.plan.suite, run.info.plan.parameters)


def _check_builtin(run: Run) -> None:
    """Raise UsageError for a run that names neither a built-in suite nor its code."""
    name = run.info.plan.suite
    if name not in suite_registry.SUITES:
        raise UsageError(
            f"{name!r} is not a built-in suite, and the run does not name its code; next: toolmark "
            "score RUN --suite FILE.py:NAME, or tm.rescore(run, scorer)"
        )
