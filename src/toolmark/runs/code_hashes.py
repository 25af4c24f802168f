"""Which code a run depends on: the hashes of the modules behind a suite, a model and a scorer.

A module counts with every module that it imports by an `import` statement, anywhere in its source.
The sources are read and parsed, and nothing is imported, so the same code gives the same hashes in
every process, also before the code is trusted. Installed packages do not count, except those that
add something to toolmark by entry points. A data file counts with a module that names it in a
call of `core.data_files.read_table`. Other files that a module reads are not seen, nor is a module
that is imported by a computed name.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from toolmark.core import data_files, entry_points, errors, json_codec, user_modules
from toolmark.core.called_code import CodeHolder
from toolmark.models import installed_wires
from toolmark.runs import module_sources
from toolmark.runs.module_sources import Module, ModuleFinder, is_library_file
from toolmark.runs.scorer_id import ScorerId
from toolmark.runs.suite import Scorer, Suite

OWN_PACKAGE = "toolmark"
SETTINGS_NAME = "settings of the scorer"
# packages of toolmark in which verdicts are made; the other packages do not change verdicts
SCORING_PACKAGES = (
    "suites",
    "official_bfcl",
    "scoring",
    "authoring",
    "judging",
    "environments",
    "formats",
    "perturb",
    "language",
    "generation",
    "agents",
    "core.sentence_encoder",
    "core.seeds",
)


def spec_hashes(spec: str) -> dict[str, str]:
    """Return the SHA-256 of the user's modules behind `module:NAME` or `FILE.py:NAME`, by name.

    Empty for code of toolmark, of the standard library, and of installed packages without entry
    points of toolmark. Raises UsageError for a module that cannot be found.
    """
    module_name = spec.rpartition(":")[0]
    root = _spec_module(spec)
    if root is None:
        in_file = user_modules.is_file_spec(spec)
        raise errors.UsageError(
            f"{module_name}: no such file" if in_file else f"no module {module_name}"
        )
    return _module_hashes(
        [root], folder=root.path.parent if user_modules.is_file_spec(spec) else None
    )


def spec_file(spec: str) -> Path | None:
    """Return the file of the module that `module:NAME` or `FILE.py:NAME` names, if there is one."""
    root = _spec_module(spec)
    return root.path if root is not None else None


def _spec_module(spec: str) -> Module | None:
    module_name = spec.rpartition(":")[0]
    if not user_modules.is_file_spec(spec):
        # a file of rows is not a module
        return module_sources.find_module(module_name) if module_name else None
    path = Path(module_name)
    return Module(path.stem, path, "") if path.is_file() else None


def suite_hashes(suite: Suite) -> dict[str, str]:
    """Return the hashes of the user's modules that a suite asks with, by name.

    They are those of the module that the suite was loaded from, where that is known, and those of
    its functions. Modules that only the scorer imports are left out.
    """
    roots = _defining_modules(_asking_functions(suite))
    if suite.provenance.spec:
        roots += _spec_modules(suite.provenance.spec)
    scorer_modules = {module.name for module in _defining_modules(_scoring_functions(suite.scorer))}
    return _module_hashes(roots, excluded=scorer_modules - {module.name for module in roots})


def is_builtin_suite(suite: Suite) -> bool:
    """Return whether a suite is toolmark's own: its environment factory, tasks and scorer are."""
    code_objects = _with_called_code((suite.environment.open, suite.tasks, suite.scorer.score))
    return all(_module_name(thing).partition(".")[0] == OWN_PACKAGE for thing in code_objects)


def model_hashes(model: object) -> dict[str, str]:
    """Return the hashes of the modules behind a model that is not toolmark's.

    That is an object, `module:attribute`, or the name of a model of another package's wire.
    """
    if isinstance(model, str):
        if wire := installed_wires.find_wire(model):
            return _module_hashes(_spec_modules(wire.value))
        return _module_hashes(_spec_modules(model)) if user_modules.is_code_spec(model) else {}
    return _module_hashes(_defining_modules([model]))


def scorer_id(scorer: Scorer) -> ScorerId:
    """Return the identity of a scorer: the hashes of all that its verdicts depend on.

    Those are the modules of its judging functions with what they import, the user's or toolmark's,
    and the `files` that it reads. Raises DataError for a file that cannot be read.
    """
    code_objects = _scoring_functions(scorer)
    found = _module_hashes(_defining_modules(code_objects), for_scoring=True)
    if settings := _settings_of(code_objects):
        found[SETTINGS_NAME] = hashlib.sha256(json_codec.encode_record(settings)).hexdigest()
    for path in map(Path, scorer.files):
        found[path.name] = _file_sha256(path)
    whole = scorer.prepare is not None
    return ScorerId(
        sha256=combine_hashes(found) if found else "", files=found, judges_whole_run=whole
    )


def modules_shared_with_scorer(suite: Suite) -> list[str]:
    """Return the user's modules that contain both a suite and its scorer."""
    return sorted(suite_hashes(suite).keys() & scorer_id(suite.scorer).files.keys())


def combine_hashes(hashes: Mapping[str, str]) -> str:
    """Return one SHA-256 over hashes by name, in hex."""
    lines = (f"{name}\0{hashes[name]}\n" for name in sorted(hashes))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _asking_functions(suite: Suite) -> list[Any]:
    """Return the functions and objects of a suite on which its tasks and episodes depend."""
    functions = (
        suite.environment.open,
        suite.environment.missing_parts,
        suite.environment.for_exported_set,
        suite.maker.make,
        suite.maker.draft,
        suite.maker.failure,
        suite.defaults.agent,
        suite.provenance.referenced_media,
        suite.tasks,
        *suite.tool_formats.values(),
        *suite.controls.values(),
    )
    return _with_called_code(functions)


def _scoring_functions(scorer: Scorer) -> list[Any]:
    """Return the functions of a scorer on which a verdict depends."""
    return _with_called_code((scorer.score, scorer.prepare, scorer.score_absent))


def _with_called_code(code_objects: Iterable[Any]) -> list[Any]:
    """Return functions and objects, without None, each followed by the code that it calls."""
    found: list[Any] = []
    for each in code_objects:
        if each is None:
            continue
        found.append(each)
        if isinstance(each, CodeHolder):
            found += _with_called_code(each.called_code())
    return found


def _captured_values(thing: Any) -> Any:
    """Return the values that a function of the user carries: of a partial, a closure, defaults.

    Only values that cannot change count by what they are; others, such as a list that collects
    something, count by their type. None where nothing is carried.
    """
    if isinstance(thing, partial):
        given = [*thing.args, *(value for _, value in sorted(thing.keywords.items()))]
        return [_captured_values(thing.func), sorted(thing.keywords), _fixed_values(given)]
    if not inspect.isfunction(thing) or _module_name(thing).partition(".")[0] == OWN_PACKAGE:
        return None
    cells = [cell.cell_contents for cell in thing.__closure__ or () if not _is_empty(cell)]
    carried = [*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    return _fixed_values(carried) if carried else None


def _is_empty(cell: Any) -> bool:
    try:
        return cell.cell_contents is None
    except ValueError:
        return True


def _fixed_values(values: Iterable[Any]) -> list[Any]:
    """Return values as JSON where they cannot change, else the names of their types."""
    found: list[Any] = []
    for value in values:
        if value is None or isinstance(value, str | bytes | int | float | bool):
            found.append(repr(value))
        elif isinstance(value, tuple | frozenset):
            members = sorted(value, key=repr) if isinstance(value, frozenset) else value
            found.append(_fixed_values(members))
        elif inspect.isroutine(value) or inspect.isclass(value):
            found.append(f"{_module_name(value)}:{value.__qualname__}")
        else:
            found.append(f"{type(value).__module__}:{type(value).__qualname__}")
    return found


def _settings_of(code_objects: Iterable[Any]) -> list[Any]:
    """Return what the objects among functions were set to."""
    holders = (each for each in code_objects if isinstance(each, CodeHolder))
    settings = [[type(each).__qualname__, each.settings()] for each in holders]
    settings += [["values", _captured_values(each)] for each in code_objects]
    return [each for each in settings if each[1] is not None]


def _spec_modules(spec: str) -> list[Module]:
    root = _spec_module(spec)
    return [root] if root is not None else []


def _defining_modules(code_objects: Iterable[Any]) -> list[Module]:
    """Return the modules in which objects are defined. Objects of a notebook have none."""
    found: dict[str, Module] = {}
    for thing in code_objects:
        name = _module_name(thing)
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is not None and file and Path(file).is_file():
            if name.startswith(user_modules.FILE_MODULE_PREFIX):
                name = Path(file).stem
            found[name] = Module(name, Path(file), module.__package__ or "")
    return list(found.values())


def _module_name(thing: Any) -> str:
    """Return the name of the module that defines a function, a class or an object's class."""
    while isinstance(thing, partial):
        thing = thing.func
    thing = inspect.unwrap(thing) if callable(thing) else thing
    plain = inspect.isroutine(thing) or inspect.isclass(thing)
    return str((thing if plain else type(thing)).__module__)


def _module_hashes(
    roots: Iterable[Module],
    *,
    for_scoring: bool = False,
    excluded: Collection[str] = (),
    folder: Path | None = None,
) -> dict[str, str]:
    """Return the hashes of the roots and of what they import: the user's modules, not `excluded`.

    With `for_scoring` also those modules of toolmark in which verdicts are made.
    """
    found: dict[str, str] = {}
    finder = ModuleFinder(str(folder or os.getcwd()))
    queue = [root for root in roots if _is_relevant(root, for_scoring=for_scoring)]
    seen = {root.name for root in queue} | {*excluded}
    while queue:
        module = queue.pop()
        found[module.name] = _file_sha256(module.path)
        source = module_sources.read_source(module.path, module.package)
        for name in source.tables:
            path = data_files.data_path(module.path, name)
            found[f"{module.name}:{name}"] = _file_sha256(path)
        for name in source.imports:
            if name in seen or not _may_be_relevant(name, for_scoring=for_scoring):
                continue
            seen.add(name)
            next_ = finder.find_module(name)
            if next_ is not None and _is_relevant(next_, for_scoring=for_scoring):
                queue.append(next_)
    return dict(sorted(found.items()))


def _may_be_relevant(name: str, *, for_scoring: bool) -> bool:
    """Return whether a module may count, by name: toolmark's do only where they make verdicts."""
    package, _, submodule = name.partition(".")
    if package == OWN_PACKAGE:
        is_scoring_code = any(
            submodule == place or submodule.startswith(f"{place}.") for place in SCORING_PACKAGES
        )
        # the modules around the suites find suites and models by name, and judge nothing
        finds_names = submodule.partition(".")[0] == "suites" and submodule.count(".") < 2
        return for_scoring and is_scoring_code and not finds_names
    return package not in sys.stdlib_module_names


def _is_relevant(module: Module, *, for_scoring: bool) -> bool:
    """Return whether a module counts: the standard library and most installed packages do not."""
    if not _may_be_relevant(module.name, for_scoring=for_scoring):
        return False
    package = module.name.partition(".")[0]
    return (
        package == OWN_PACKAGE
        or not is_library_file(module.path)
        or package in entry_points.import_names()
    )


def _file_sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise errors.DataError(f"{path}: cannot read: {error.strerror}") from None
