"""One package per published work: data, world, scorer.

A suite's module has `load(**knobs) -> Suite`, whose keyword-only signature is the table of its
knobs, and `SCORER`, with which a stored run is judged. Suites of others are named
`module:attribute` or `FILE.py:NAME`, the attribute being such a `load` function next to such a
`SCORER`. A text
`DIALECTS` there tells `toolmark list` in which dialects it can be asked.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from toolmark import plugin
from toolmark.errors import UsageError, near
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.multinet import families
from toolmark.suites.multinet.families import FAMILIES
from toolmark.types import Chart, Table

SUITES = {
    "bfcl": "toolmark.suites.bfcl.suite:load",
    "funcbench": "toolmark.suites.funcbench.suite:load",
    "m3": "toolmark.suites.m3.suite:load",
    "m3-local": "toolmark.suites.m3.local.suite:load",
    "mfcl-speech": "toolmark.suites.mfcl.speech:load",
    "mfcl-transcripts": "toolmark.suites.mfcl.transcripts:load",
    "mfcl-vision": "toolmark.suites.mfcl.vision.suite:load",
    **{families.suite(name): f"toolmark.suites.multinet.suite:{name}" for name in FAMILIES},
}

# what is shown of several runs of a suite side by side: a run folder names it, and nothing else is
# ever imported for what a folder says
OVERVIEWS = {
    "bfcl": "toolmark.suites.bfcl.format_report:across",
    "m3": "toolmark.suites.m3.paper:across",
    "m3-local": "toolmark.suites.m3.report:across",
    "mfcl-speech": "toolmark.suites.mfcl.paper:across",
    "mfcl-vision": "toolmark.suites.mfcl.vision.paper:across",
    "multinet": "toolmark.suites.multinet.paper:across",
}
# what is shown of runs of several suites together
PROFILES = {"multinet": "toolmark.suites.multinet.profile:profile"}

_SWITCH = {"yes": True, "on": True, "no": False, "off": False}  # beside true and false
_TOLD = {"tuple[str, ...]": "words, separated by commas", "bool": "yes | no"}


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of a suite: its name, type, default and what it does."""

    name: str
    kind: Any
    default: Any
    help: str


def load(name: str, **knobs: Any) -> Suite:
    """Return the suite with these knobs; strings are read as the knob's type.

    Raises UsageError for an unknown suite or knob, and for values out of bounds.
    """
    make = _maker(name)
    given = _settle(name, make, knobs)
    made: Any = make(**given)  # of others: it may be anything
    spec = "" if name in SUITES else plugin.normal(name)
    return replace(made, given=given, spec=spec) if isinstance(made, Suite) else made


def settled(name: str, knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return knobs as the suite's own types, as from a file; those that it has not are left out.

    Raises UsageError for a value that is not of its knob's type.
    """
    make = _maker(name)
    known = inspect.signature(make).parameters
    return _settle(name, make, {knob: knobs[knob] for knob in knobs if knob in known})


def check(name: str, model: str) -> None:
    """Raise UsageError for a baseline of MultiNet that a suite has not, before data are read."""
    scheme, _, player = model.partition("/")
    if scheme != "baseline" or player not in families.GUESSES or name not in SUITES:
        return
    there = players(name)
    if not there:
        raise UsageError(f"{model} plays MultiNet's suites and nothing else")
    if player not in there:
        raise UsageError(f"{name} has no baseline {player!r}{near(player, there)}")


def players(name: str) -> tuple[str, ...]:
    """Return the baselines of one of MultiNet's suites, none of any other."""
    known = {families.suite(family): names for family, names in families.BASELINES.items()}
    return known.get(name, ())


def overview(name: str) -> Callable[..., Sequence[Table | Chart]]:
    """Return what shows several runs of a suite side by side, by its name in OVERVIEWS.

    It takes their columns by reading and run.
    """
    found: Callable[..., Sequence[Table | Chart]] = plugin.attribute(OVERVIEWS[name])
    return found


def profile(name: str) -> Callable[..., Sequence[Table | Chart]]:
    """Return what shows runs (`Ran`) of several suites together, by its name in PROFILES."""
    found: Callable[..., Sequence[Table | Chart]] = plugin.attribute(PROFILES[name])
    return found


def scorer(name: str) -> Scorer:
    """Return the scorer of a suite. Only built-in names, or names that the user gave."""
    module = _spec(name).rpartition(":")[0]
    found = plugin.attribute(f"{module}:SCORER")
    if not isinstance(found, Scorer):
        raise UsageError(f"suite {name!r}: SCORER in {module} is no toolmark Scorer")
    return found


def summary(name: str) -> str:
    """Return the first sentence of what a suite is; of ours also where its extra is missing."""
    told = plugin.doc(_spec(name)) if name in SUITES else inspect.getdoc(_maker(name))
    return (told or "").split("\n\n")[0].replace("\n", " ")


def needs(name: str) -> str:
    """Return what to install before a suite can be loaded, "" where nothing is missing."""
    try:
        _maker(name)
    except UsageError as error:
        return plugin.extra(_spec(name).rpartition(":")[0]) or str(error)
    return ""


def dialects(name: str) -> str:
    """Return the words of a suite's module on its dialects, DIALECTS; "" where it has none."""
    told = plugin.constant(f"{_spec(name).rpartition(':')[0]}:DIALECTS")
    return told if isinstance(told, str) else ""


def knobs(name: str) -> list[Knob]:
    """Return the knobs of a suite, in the order of its signature; of ours without its extra too."""
    if name in SUITES and needs(name):
        said = _arguments(plugin.doc(SUITES[name]))
        read = plugin.signature(SUITES[name])
        return [Knob(knob, kind, default, said.get(knob, "")) for knob, kind, default in read]
    make = _maker(name)
    kinds = get_type_hints(make)
    said = _arguments(inspect.getdoc(make) or "")
    return [
        Knob(each.name, kinds[each.name], each.default, said.get(each.name, ""))
        for each in inspect.signature(make).parameters.values()
    ]


def _maker(name: str) -> Callable[..., Suite]:
    make = plugin.attribute(_spec(name))
    if not callable(make):
        raise UsageError(f"suite {name!r}: not a function that returns a Suite")
    return make  # type: ignore[no-any-return]


def _spec(name: str) -> str:
    if name in SUITES:
        return SUITES[name]
    if plugin.named(name) or plugin.in_file(name):
        return name
    own = "your own: FILE.py:NAME or module:NAME"
    raise UsageError(f"no suite {name!r}{near(name, SUITES)}; {own}")


def _settle(name: str, make: Callable[..., Suite], given: Mapping[str, Any]) -> dict[str, Any]:
    kinds = get_type_hints(make)
    known = inspect.signature(make).parameters
    settled: dict[str, Any] = {}
    for knob, value in given.items():
        if knob not in known:
            close = near(knob, known).partition("; known")[0]
            told = f"suite {name!r} has no knob {knob!r}{close}"
            raise UsageError(f"{told}; known: {', '.join(known)}")
        settled[knob] = _read(knob, kinds[knob], value)
    return settled


def _read(knob: str, kind: Any, value: Any) -> Any:
    if isinstance(value, str) and kind in (bool, bool | None):
        value = _SWITCH.get(value.lower(), value)
    elif isinstance(value, str) and str(kind).startswith("tuple"):
        value = [word.strip() for word in value.split(",") if word.strip()]
    try:
        return msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError:
        raise UsageError(f"knob {knob}: expected {told(kind)}, got {value!r}") from None


def told(kind: Any) -> str:
    """Return a knob's type as a reader knows it: a choice by its words."""
    if get_origin(kind) is Literal:
        return " | ".join(map(str, get_args(kind)))
    if isinstance(kind, str) and "Literal[" in kind:  # as the source has it
        head = kind.partition("Literal[")[0].rstrip(" |")
        return " | ".join([*filter(None, [head]), *re.findall(r"'([^']*)'", kind)])
    if any(get_origin(each) is Literal for each in get_args(kind)):
        return " | ".join(map(told, get_args(kind)))
    if kind in (bool, bool | None):
        return "yes | no"
    name = str(kind if get_args(kind) else getattr(kind, "__name__", kind)).removesuffix(" | None")
    return _TOLD.get(name, name)


def _arguments(doc: str) -> dict[str, str]:
    """Read the `Args:` section of a docstring in Google style."""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", doc, re.MULTILINE)
    if section is None:
        return {}
    entries = re.findall(
        r"^ {4}(\w+):[ \t]*((?:.*)(?:\n {5,}.*)*)", section[1],
        re.MULTILINE,
    )  # fmt: skip
    return {name: " ".join(text.split()) for name, text in entries}
