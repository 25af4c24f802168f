"""Find suites by name: one package per published work, with data, environment and scorer.

A suite's module has `load(**parameters) -> Suite` and `SCORER`. The keyword-only signature of
`load` is the table of the suite's parameters; `SCORER` judges a stored run. Third-party suites are
named `module:attribute` or `FILE.py:NAME`: the attribute is such a `load` function next to such a
`SCORER`. A text `DIALECTS` in the module tells `toolmark list` in which tool formats the suite can
be asked.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from toolmark.core import user_modules
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Chart, Table
from toolmark.suites.multinet import multinet_families
from toolmark.suites.suite_names import EXTRA_BY_SUITE, LIBRARY_BY_EXTRA
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

_BOOLEAN_WORDS = {"yes": True, "on": True, "no": False, "off": False}  # as well as true and false
_TYPE_LABELS = {"tuple[str, ...]": "words, separated by commas", "bool": "yes | no"}


@dataclass(frozen=True, slots=True)
class SuiteParameter:
    """One parameter of a suite: its name, type, default and what it does."""

    name: str
    kind: Any
    default: Any
    help: str


def load_suite(name: str, **parameters: Any) -> Suite:
    """Return the suite with these parameters; strings are converted to the parameter's type.

    Raises UsageError for an unknown suite or parameter, and for values out of bounds.
    """
    from toolmark.runs.suite import Suite

    make = _suite_factory(name)
    values = _convert_parameters(name, make, parameters)
    result: Any = make(**values)  # a third-party function: it may return anything
    spec = "" if name in SUITES else user_modules.normalize_spec(name)
    return replace(result, given=values, spec=spec) if isinstance(result, Suite) else result


def convert_known_parameters(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters, as from a file, in the suite's own types; unknown ones are left out.

    Raises UsageError for a value that is not of its parameter's type.
    """
    make = _suite_factory(name)
    known = inspect.signature(make).parameters
    return _convert_parameters(
        name,
        make,
        {parameter: parameters[parameter] for parameter in parameters if parameter in known},
    )


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
    """Return the first sentence of a suite's docstring; ours do not need their extra for this."""
    doc = (
        user_modules.read_docstring(_suite_spec(name))
        if name in SUITES
        else inspect.getdoc(_suite_factory(name))
    )
    return (doc or "").split("\n\n")[0].replace("\n", " ")


def missing_requirement(name: str) -> str:
    """Return what to install before a built-in suite can be loaded, "" where nothing is missing.

    The suite is not loaded for it: a library of its extra is looked for.
    """
    extra = EXTRA_BY_SUITE.get(name, "")
    if not extra or find_spec(LIBRARY_BY_EXTRA[extra]) is not None:
        return ""
    return user_modules.install_command(extra)


def tool_format_note(name: str) -> str:
    """Return the text of a suite's module on its tool formats, DIALECTS; "" where it has none."""
    note = user_modules.read_constant(f"{_suite_spec(name).rpartition(':')[0]}:DIALECTS")
    return note if isinstance(note, str) else ""


def list_parameters(name: str) -> list[SuiteParameter]:
    """Return a suite's parameters in the order of its signature; ours need no extra for this."""
    if name in SUITES and missing_requirement(name):
        help_texts = _parse_argument_docs(user_modules.read_docstring(SUITES[name]))
        signature = user_modules.read_keywords(SUITES[name])
        return [
            SuiteParameter(parameter, kind, default, help_texts.get(parameter, ""))
            for parameter, kind, default in signature
        ]
    make = _suite_factory(name)
    kinds = get_type_hints(make)
    help_texts = _parse_argument_docs(inspect.getdoc(make) or "")
    return [
        SuiteParameter(each.name, kinds[each.name], each.default, help_texts.get(each.name, ""))
        for each in inspect.signature(make).parameters.values()
    ]


def _suite_factory(name: str) -> Callable[..., Suite]:
    make = user_modules.import_attribute(_suite_spec(name))
    if not callable(make):
        raise UsageError(f"suite {name!r}: not a function that returns a Suite")
    return make  # type: ignore[no-any-return]


def _suite_spec(name: str) -> str:
    if name in SUITES:
        return SUITES[name]
    if user_modules.is_module_spec(name) or user_modules.is_file_spec(name):
        return name
    hint = "your own: FILE.py:NAME or module:NAME"
    raise UsageError(f"no suite {name!r}{suggest_names(name, SUITES)}; {hint}")


def _convert_parameters(
    name: str, make: Callable[..., Suite], parameters: Mapping[str, Any]
) -> dict[str, Any]:
    kinds = get_type_hints(make)
    known = inspect.signature(make).parameters
    converted: dict[str, Any] = {}
    for parameter, value in parameters.items():
        if parameter not in known:
            close = suggest_names(parameter, known).partition("; known")[0]
            message = f"suite {name!r} has no knob {parameter!r}{close}"
            raise UsageError(f"{message}; known: {', '.join(known)}")
        converted[parameter] = _convert_value(parameter, kinds[parameter], value)
    return converted


def _convert_value(parameter: str, kind: Any, value: Any) -> Any:
    if isinstance(value, str) and kind in (bool, bool | None):
        value = _BOOLEAN_WORDS.get(value.lower(), value)
    elif isinstance(value, str) and str(kind).startswith("tuple"):
        value = [word.strip() for word in value.split(",") if word.strip()]
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise UsageError(
            f"knob {parameter}: expected {describe_type(kind)}, got {value!r}"
        ) from None


def describe_type(kind: Any) -> str:
    """Return a parameter's type for a reader: a choice is shown by its values."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    if isinstance(kind, str) and "Literal[" in kind:  # the annotation as the source writes it
        head = kind.partition("Literal[")[0].rstrip(" |")
        return " | ".join([*filter(None, [head]), *re.findall(r"'([^']*)'", kind)])
    if any(get_origin(each) is Literal for each in get_args(kind)):
        return " | ".join(map(describe_type, get_args(kind)))
    if kind in (bool, bool | None):
        return "yes | no"
    name = str(kind if get_args(kind) else getattr(kind, "__name__", kind)).removesuffix(" | None")
    return _TYPE_LABELS.get(name, name)


def _parse_argument_docs(doc: str) -> dict[str, str]:
    """Return the `Args:` section of a docstring in Google style."""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc, re.MULTILINE)
    if section is None:
        return {}
    entries = re.findall(
        r"^ {4}(\w+):[ \t]*((?:.*)(?:\n {5,}.*)*)", section[1],
        re.MULTILINE,
    )  # fmt: skip
    return {name: " ".join(text.split()) for name, text in entries}
