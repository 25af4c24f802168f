"""Find suites by name: one package per published work, with data, environment and scorer.

A built-in suite's module has `load(parameters) -> Suite` and `SCORER`, which judges a stored run.
Its parameters are a class of their own (`runs.suite_parameters`), in a module that needs no extra.
The user's suites are files of rows, and functions that return a Suite: `module:attribute` or
`FILE.py:NAME`. Other installed packages add suites by their entry points, under a name each; they
are imported when the user gives the name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolmark.authoring import row_file_names
from toolmark.authoring.rows_parameters import RowsParameters
from toolmark.core import entry_points, user_modules
from toolmark.core.entry_points import EntryPoint, Group
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Chart, Table
from toolmark.formats.call_syntaxes import askable_syntaxes
from toolmark.runs import suite_parameters
from toolmark.runs.suite_parameters import ParameterField, SuiteParameters
from toolmark.suites.suite_names import LIBRARY_BY_EXTRA
from toolmark.suites.suite_names import SUITES as SUITES

if TYPE_CHECKING:
    from toolmark.authoring.suite_functions import SuiteFunction
    from toolmark.runs.suite import Scorer, Suite


GROUP: Group = "suites"
# what shows several runs of a suite side by side; a run folder gives only the name, so nothing else
# is imported because of what a folder says
OVERVIEWS = {
    "bfcl": "toolmark.suites.bfcl.format_sensitivity_tables:tables_across_runs",
    "funcbench": "toolmark.suites.funcbench.success_charts:tables_across_runs",
    "m3": "toolmark.suites.m3.m3_paper_results:tables_across_runs",
    "m3-local": "toolmark.suites.m3.m3_tables:tables_across_runs",
    "mfcl-speech": "toolmark.suites.mfcl_speech.published_speech_figures:tables_across_runs",
    "mfcl-vision": "toolmark.suites.mfcl_vision.paper_comparison:build_comparison_tables",
    "multinet": "toolmark.suites.multinet.paper_comparison:cross_run_tables",
}
# what shows runs of several suites together
PROFILES = {"multinet": "toolmark.suites.multinet.family_profile:profile_tables"}


def load_suite(name: str, **parameters: Any) -> Suite:
    """Return the suite with these parameters; text is converted to the parameter's type.

    Raises UsageError for an unknown suite or parameter, and for values out of bounds.
    """
    if row_file_names.is_row_file(name):
        from toolmark.authoring import rows_suite

        return rows_suite.load_rows_suite(name, parameters)
    if entry := find_installed_suite(name):
        return _suite_function(name).load(parameters, entry.value, name=name)
    spec = "" if name in SUITES else user_modules.normalize_spec(_suite_spec(name))
    return _suite_function(name).load(parameters, spec, name=name)


def installed_suites() -> list[EntryPoint]:
    """Return the suites of other packages that can be named; none of them is imported.

    A name of a built-in suite is that suite, whatever a package calls its own.
    """
    return [each for each in entry_points.list_entry_points(GROUP) if each.name not in SUITES]


def find_installed_suite(name: str) -> EntryPoint | None:
    """Return the entry point that a name refers to, None for any other suite.

    Raises UsageError where several packages have the name.
    """
    if name in SUITES or row_file_names.is_row_file(name):
        return None
    if user_modules.is_code_spec(name):
        return None
    return entry_points.find_entry_point(GROUP, name)


def convert_known_parameters(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values, as from a file, in the types of the suite's parameters; unknown ones left out.

    Raises UsageError for a value that is not of its parameter's type.
    """
    read = suite_parameters.read_known_parameters(parameters_of(name), values, suite=name)
    return {
        key: value for key, value in suite_parameters.recorded_values(read).items() if key in values
    }


def parameters_of(name: str) -> type[SuiteParameters]:
    """Return the class of a suite's parameters; that of a built-in suite needs no extra."""
    if name in SUITES:
        found: type[SuiteParameters] = user_modules.import_attribute(SUITES[name].parameters)
        return found
    if row_file_names.is_row_file(name):
        return RowsParameters
    return _suite_function(name).parameters


def check_baseline(name: str, model: str) -> None:
    """Raise UsageError for a baseline of other suites than this one, before data are read."""
    scheme, _, baseline = model.partition("/")
    if scheme != "baseline" or name not in SUITES or baseline in SUITES[name].baselines:
        return
    owners = [suite for suite, entry in SUITES.items() if baseline in entry.baselines]
    if not owners:
        return
    if not (known := SUITES[name].baselines):
        raise UsageError(f"{model} plays {', '.join(owners)} and no other suite")
    raise UsageError(f"{name} has no baseline {baseline!r}{suggest_names(baseline, known)}")


def baseline_names(name: str) -> tuple[str, ...]:
    """Return the baselines that a built-in suite adds to those of every suite."""
    return SUITES[name].baselines if name in SUITES else ()


def text_suite_hint(name: str) -> str:
    """Return which suite asks by text what this one asks by sound, and what hears; "" if none."""
    text_suite = SUITES[name].text_suite if name in SUITES else ""
    return f"{text_suite} asks the same by text, and baseline/listener hears" if text_suite else ""


def load_overview(name: str) -> Callable[..., Sequence[Table | Chart]]:
    """Return what shows several runs of a suite side by side, by its name in OVERVIEWS.

    It takes the runs' columns by grading rule and run.
    """
    found: Callable[..., Sequence[Table | Chart]] = user_modules.import_attribute(OVERVIEWS[name])
    return found


def load_profile(name: str) -> Callable[..., Sequence[Table | Chart]]:
    """Return what shows runs of several suites together, by its name in PROFILES."""
    found: Callable[..., Sequence[Table | Chart]] = user_modules.import_attribute(PROFILES[name])
    return found


def load_scorer(name: str, parameters: Mapping[str, Any] | None = None) -> Scorer:
    """Return the scorer of a suite; only for built-in names, or names that the user gave.

    A user's suite is made with those of these parameters that it has, as a run records them. So is
    the scorer of a built-in suite where it depends on them.
    """
    values = parameters or {}
    if row_file_names.is_row_file(name):
        from toolmark.authoring import rows_suite

        return rows_suite.rows_scorer(values)
    if name not in SUITES:
        return load_with_known(name, values).scorer
    if SUITES[name].scorer:
        made: Scorer = user_modules.import_attribute(SUITES[name].scorer)(values)
        return made
    module = SUITES[name].load.rpartition(":")[0]
    found: Scorer = user_modules.import_attribute(f"{module}:SCORER")
    return found


def load_with_known(name: str, parameters: Mapping[str, Any]) -> Suite:
    """Return a suite of the user with those of these parameters that it has."""
    known = parameters_of(name).__struct_fields__
    return load_suite(name, **{key: value for key, value in parameters.items() if key in known})


def suite_summary(name: str) -> str:
    """Return what a suite asks, in a sentence; ours do not need their extra for this."""
    return suite_parameters.first_paragraph(parameters_of(name).__doc__)


def missing_requirement(name: str) -> str:
    """Return what to install before a built-in suite can be loaded, "" where nothing is missing.

    The suite is not loaded for it: a library of its extra is looked for.
    """
    extra = SUITES[name].extra
    if not extra or find_spec(LIBRARY_BY_EXTRA[extra]) is not None:
        return ""
    return user_modules.install_command(extra)


def tool_format_note(name: str) -> str:
    """Return in which tool formats a built-in suite can be asked, "" for any other suite."""
    if name not in SUITES:
        return ""
    names = ", ".join(syntax.name for syntax in askable_syntaxes())
    return SUITES[name].tool_format_note.replace("call syntaxes", f"call syntaxes ({names})")


def list_parameters(name: str) -> list[ParameterField]:
    """Return a suite's parameters in the order of its class; ours need no extra for this."""
    return suite_parameters.list_fields(parameters_of(name))


def _suite_function(name: str) -> SuiteFunction[Any]:
    from toolmark.authoring.suite_functions import adapt_suite_function

    if entry := find_installed_suite(name):
        found = entry_points.import_entry_point(entry)
        return entry_points.call_entry_point(entry, adapt_suite_function, found, name)
    return adapt_suite_function(user_modules.import_attribute(_suite_spec(name)), name)


def _only_suite_of_file(name: str) -> str:
    """Return the one suite that a file of the user defines, as `FILE.py:NAME`.

    Raises UsageError, with the names, for a file with none or several.
    """
    from toolmark.authoring.suite_functions import SuiteFunction

    module = user_modules.import_file(Path(name))
    found = [key for key, value in vars(module).items() if isinstance(value, SuiteFunction)]
    own = [key for key in found if vars(module)[key].__module__ == module.__name__]
    if len(own) == 1:
        return f"{name}:{own[0]}"
    known = ", ".join(f"{name}:{each}" for each in own or found)
    which = (
        f"say which suite of the file: {known}" if known else "it has no function with @tm.suite"
    )
    raise UsageError(f"{name}: {which}")


def _suite_spec(name: str) -> str:
    if name in SUITES:
        return SUITES[name].load
    if user_modules.is_code_spec(name):
        return name
    if name.endswith(".py") and Path(name).is_file():
        return _only_suite_of_file(name)
    if Path(name).is_file():
        raise UsageError(f"{name}: {row_file_names.describe_endings()}")
    hint = "your own: rows.jsonl, FILE.py:NAME or module:NAME"
    known = [*SUITES, *(each.name for each in installed_suites())]
    nearest = suggest_names(name, known, listing="toolmark list")
    raise UsageError(f"no suite {name!r}{nearest}; {hint}")
