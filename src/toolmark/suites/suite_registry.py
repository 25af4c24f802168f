"""Find suites by name: one package per published work, with data, environment and scorer.

A suite's module has `load(parameters) -> Suite` and `SCORER`, which judges a stored run. Its
parameters are a class of their own (`runs.suite_parameters`), in a module that needs no extra.
Third-party suites are named `module:attribute` or `FILE.py:NAME`: the attribute is a function that
returns a Suite, next to such a `SCORER`. It takes the parameters as such a record, or as keywords.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, get_type_hints

from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Chart, Table
from toolmark.runs import suite_parameters
from toolmark.runs.suite_parameters import ParameterField, SuiteParameters
from toolmark.suites.multinet import multinet_families
from toolmark.suites.suite_names import LIBRARY_BY_EXTRA
from toolmark.suites.suite_names import SUITES as SUITES

if TYPE_CHECKING:
    from toolmark.runs.suite import Scorer, Suite


# what shows several runs of a suite side by side; a run folder gives only the name, so nothing else
# is imported because of what a folder says
OVERVIEWS = {
    "bfcl": "toolmark.suites.bfcl.format_sensitivity_tables:tables_across_runs",
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
    from toolmark.runs.suite import Suite

    kind = parameters_of(name)
    values = suite_parameters.read_parameters(kind, parameters, suite=name)
    make = _suite_factory(name)
    result: Any  # a third-party function: it may return anything
    if _takes_record(make):
        result = make(values)
    else:
        result = make(**{parameter: getattr(values, parameter) for parameter in parameters})
    if not isinstance(result, Suite):
        raise UsageError(f"suite {name!r}: the function returned {type(result).__name__}, no Suite")
    spec = "" if name in SUITES else user_modules.normalize_spec(name)
    provenance = replace(result.provenance, named_parameters=tuple(parameters), spec=spec)
    recorded = result.parameters or suite_parameters.recorded_values(values)
    return replace(result, provenance=provenance, parameters=recorded)


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
    found: Any
    if name in SUITES:
        found = user_modules.import_attribute(SUITES[name].parameters)
        return found  # type: ignore[no-any-return]
    make = _suite_factory(name)
    if _takes_record(make):
        (found,) = (kind for key, kind in get_type_hints(make).items() if key != "return")
        return found  # type: ignore[no-any-return]
    return suite_parameters.parameters_of_function(make)


def _takes_record(make: Callable[..., Any]) -> bool:
    """Return whether a suite's function takes its parameters as one record."""
    expected = [each.name for each in inspect.signature(make).parameters.values()]
    if len(expected) != 1:
        return False
    kind = get_type_hints(make).get(expected[0])
    return isinstance(kind, type) and issubclass(kind, SuiteParameters)


def check_baseline(name: str, model: str) -> None:
    """Raise UsageError for a MultiNet baseline that the suite lacks, before data are read."""
    scheme, _, baseline = model.partition("/")
    if (
        scheme != "baseline"
        or baseline not in multinet_families.FAMILIES_BY_BASELINE
        or name not in SUITES
    ):
        return
    known = baseline_names(name)
    if not known:
        raise UsageError(f"{model} plays MultiNet's suites and nothing else")
    if baseline not in known:
        raise UsageError(f"{name} has no baseline {baseline!r}{suggest_names(baseline, known)}")


def baseline_names(name: str) -> tuple[str, ...]:
    """Return the baselines of a MultiNet suite; no other suite has any."""
    known = {
        multinet_families.suite_name(family): names
        for family, names in multinet_families.BASELINES_BY_FAMILY.items()
    }
    return known.get(name, ())


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


def load_scorer(name: str) -> Scorer:
    """Return the scorer of a suite; only for built-in names, or names that the user gave."""
    from toolmark.runs.suite import Scorer

    module = _suite_spec(name).rpartition(":")[0]
    found = user_modules.import_attribute(f"{module}:SCORER")
    if not isinstance(found, Scorer):
        raise UsageError(f"suite {name!r}: SCORER in {module} is no toolmark Scorer")
    return found


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
    return SUITES[name].tool_format_note if name in SUITES else ""


def list_parameters(name: str) -> list[ParameterField]:
    """Return a suite's parameters in the order of its class; ours need no extra for this."""
    return suite_parameters.list_fields(parameters_of(name))


def _suite_factory(name: str) -> Callable[..., Suite]:
    make = user_modules.import_attribute(_suite_spec(name))
    if not callable(make):
        raise UsageError(f"suite {name!r}: not a function that returns a Suite")
    return make  # type: ignore[no-any-return]


def _suite_spec(name: str) -> str:
    if name in SUITES:
        return SUITES[name].load
    if user_modules.is_module_spec(name) or user_modules.is_file_spec(name):
        return name
    hint = "your own: FILE.py:NAME or module:NAME"
    nearest = suggest_names(name, SUITES, listing="toolmark list")
    raise UsageError(f"no suite {name!r}{nearest}; {hint}")
