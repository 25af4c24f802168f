"""Which code a run depends on: the hashes of the modules behind a suite, a model and a scorer.

A module counts with every module that it imports by an `import` statement, wherever that stands.
The sources are read and parsed, and nothing is imported, so the same code gives the same hashes in
every process, also before the code is trusted. Not seen is what a module imports by a computed
name, and what it reads as data.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from toolmark import errors, plugin
from toolmark.runs.suite import Scorer, Suite
from toolmark.types import Record

OWN = "toolmark"
JUDGING = ("score", "gather", "missed")  # the functions of a Scorer that a verdict depends on
ASKING = ("site", "agent", "make", "draft", "missing", "refers", "broken", "reopen")
# rooms of ours in which verdicts are made; the others carry them
ROOMS = ("suites", "score", "worlds", "dialects", "perturb", "agents", "encoder", "seeds")
_PLACES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_PACKAGES = {"site-packages", "dist-packages"}


class ScorerId(Record, frozen=True, kw_only=True):
    """Who made scores: `sha256` over `files`, the hashes of its modules and data by name.

    `sha256` is "" where the scorer's source cannot be found, as that of a notebook: nothing equals
    such a scorer. `whole`: it judges the run as a whole, so that its scores change with every
    episode that is added.
    """

    sha256: str = ""
    files: dict[str, str] = {}
    whole: bool = False


class _Module(NamedTuple):
    name: str
    path: Path
    package: str  # what its relative imports start from


def spec_hashes(spec: str) -> dict[str, str]:
    """Return the SHA-256 of the user's modules behind `module:NAME` or `FILE.py:NAME`, by name.

    Empty for code of toolmark, of installed packages and of the standard library. Raises UsageError
    for a module that cannot be found.
    """
    place = spec.rpartition(":")[0]
    root = _root(spec)
    if root is None:
        in_file = plugin.in_file(spec)
        raise errors.UsageError(f"{place}: no such file" if in_file else f"no module {place}")
    return _hashes([root], folder=root.path.parent if plugin.in_file(spec) else None)


def spec_file(spec: str) -> Path | None:
    """Return the file of the module that `module:NAME` or `FILE.py:NAME` names, if there is one."""
    root = _root(spec)
    return root.path if root is not None else None


def _root(spec: str) -> _Module | None:
    place = spec.rpartition(":")[0]
    if not plugin.in_file(spec):
        return _found(place)
    path = Path(place)
    return _Module(path.stem, path, "") if path.is_file() else None


def suite_hashes(suite: Suite) -> dict[str, str]:
    """Return the hashes of the user's modules that a suite asks with, by name.

    They are those of the module that it was loaded from, where that is known, and of its functions.
    Modules that only the scorer imports are left out.
    """
    things: list[Any] = [getattr(suite, name) for name in ASKING]
    things += [suite.tasks, *suite.dialects.values(), *suite.instruments.values()]
    roots = _roots(things)
    if suite.spec:
        roots += _named_roots(suite.spec)
    judges = {module.name for module in _roots(_judges(suite.scorer))}
    return _hashes(roots, without=judges - {module.name for module in roots})


def is_own(suite: Suite) -> bool:
    """Tell whether a suite is toolmark's own: its place, its tasks and its scorer are."""
    things = (suite.site, type(suite.tasks), suite.scorer.score)
    return all(_module_name(thing).partition(".")[0] == OWN for thing in things)


def model_hashes(model: object) -> dict[str, str]:
    """Return the hashes of the user's modules behind a model: an object, or `module:attribute`."""
    if isinstance(model, str):
        return _hashes(_named_roots(model)) if plugin.named(model) else {}
    return _hashes(_roots([model]))


def scorer_id(scorer: Scorer) -> ScorerId:
    """Return who judges: the hashes of all that its verdicts depend on.

    Those are the modules of its judging functions with what they import, the user's or toolmark's,
    and the files that it `reads`. Raises DataError for a file that cannot be read.
    """
    found = _hashes(_roots(_judges(scorer)), judging=True)
    for path in map(Path, scorer.reads):
        found[path.name] = _digest(path)
    whole = scorer.gather is not None
    return ScorerId(sha256=combined(found) if found else "", files=found, whole=whole)


def shared(suite: Suite) -> list[str]:
    """Return the user's modules that hold both a suite and its scorer."""
    return sorted(suite_hashes(suite).keys() & scorer_id(suite.scorer).files.keys())


def combined(hashes: Mapping[str, str]) -> str:
    """Return one SHA-256 over hashes by name, in hex."""
    lines = (f"{name}\0{hashes[name]}\n" for name in sorted(hashes))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _judges(scorer: Scorer) -> list[Any]:
    return [thing for name in JUDGING if (thing := getattr(scorer, name)) is not None]


def _named_roots(spec: str) -> list[_Module]:
    root = _root(spec)
    return [root] if root is not None else []


def _roots(things: Iterable[Any]) -> list[_Module]:
    """Return the modules in which objects stand; those of a notebook stand in none."""
    found: dict[str, _Module] = {}
    for thing in things:
        name = _module_name(thing)
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if module is not None and file and Path(file).is_file():
            if name.startswith(plugin.FILE_MODULE):
                name = Path(file).stem
            found[name] = _Module(name, Path(file), module.__package__ or "")
    return list(found.values())


def _module_name(thing: Any) -> str:
    """Return the name of the module in which a function, a class or an object's class stands."""
    while isinstance(thing, partial):
        thing = thing.func
    thing = inspect.unwrap(thing) if callable(thing) else thing
    plain = inspect.isroutine(thing) or inspect.isclass(thing)
    return str((thing if plain else type(thing)).__module__)


def _hashes(
    roots: Iterable[_Module],
    *,
    judging: bool = False,
    without: Collection[str] = (),
    folder: Path | None = None,
) -> dict[str, str]:
    """Return the hashes of the roots and of what they import: the user's modules, not `without`.

    With `judging` also those of ours in which verdicts are made.
    """
    found: dict[str, str] = {}
    search = _Search(str(folder or os.getcwd()))
    queue = [root for root in roots if _counts(root, judging=judging)]
    seen = {root.name for root in queue} | {*without}
    while queue:
        module = queue.pop()
        found[module.name] = _digest(module.path)
        for name in _imported(module.path, module.package):
            if name in seen or not _may_count(name, judging=judging):
                continue
            seen.add(name)
            next_ = search.module(name)
            if next_ is not None and _counts(next_, judging=judging):
                queue.append(next_)
    return dict(sorted(found.items()))


def _may_count(name: str, *, judging: bool) -> bool:
    """Tell from its name whether a module may count: ours do where they make verdicts."""
    own, _, rest = name.partition(".")
    if own == OWN:
        return judging and rest != "suites" and rest.partition(".")[0] in ROOMS
    return own not in sys.stdlib_module_names


def _counts(module: _Module, *, judging: bool) -> bool:
    """Tell whether a module counts: no library's does, and none of Python's own."""
    if not _may_count(module.name, judging=judging):
        return False
    path = module.path
    library = any(path.is_relative_to(place) for place in _PLACES) or _PACKAGES & {*path.parts}
    return module.name.partition(".")[0] == OWN or not library


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise errors.DataError(f"{path}: cannot read: {error.strerror}") from None


def _imported(path: Path, package: str) -> tuple[str, ...]:
    """Return the names of all modules that a source may import; none of what is no Python text."""
    about = path.stat()
    return _parsed(path, about.st_mtime_ns, about.st_size, package)


@cache
def _parsed(path: Path, mtime_ns: int, size_bytes: int, package: str) -> tuple[str, ...]:
    if path.suffix != ".py":
        return ()
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, OSError):  # importing it tells what is wrong
        return ()
    return tuple(dict.fromkeys(_names(tree, package)))


def _names(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for each in node.names:
                yield from _parents(each.name)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and not package:  # of a file alone Python follows none either
                continue
            if node.level:
                upper = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*upper, *filter(None, [base])])
            if base:
                yield from _parents(base)
                yield from (f"{base}.{each.name}" for each in node.names)


def _parents(name: str) -> Iterator[str]:
    """Go through a dotted name and the packages above it: importing it runs them all."""
    parts = name.split(".")
    return (".".join(parts[: n + 1]) for n in range(len(parts)))


def _found(name: str) -> _Module | None:
    return _Search(os.getcwd()).module(name)


class _Search:
    """Finds the sources of modules as importing them would, but imports nothing.

    The packages above a module are not imported: their places are enough. `folder` is looked in
    last.
    """

    def __init__(self, folder: str) -> None:
        self._where = [*sys.path, folder]
        self._known: dict[str, tuple[str, list[str]]] = {}

    def module(self, name: str) -> _Module | None:
        """Return where a module stands; None where there is none."""
        origin, below = self._located(name)
        if not origin:
            return None
        return _Module(name, Path(origin), name if below else name.rpartition(".")[0])

    def _located(self, name: str) -> tuple[str, list[str]]:
        """Return a module's file, and the folders of what lies below it."""
        if name not in self._known:
            parent = name.rpartition(".")[0]
            where = self._located(parent)[1] if parent else self._where
            self._known[name] = _looked(name, where) or ("", [])
            if not parent and self._known[name] == ("", []):
                self._known[name] = _elsewhere(name)
        return self._known[name]


def _looked(name: str, where: Iterable[str]) -> tuple[str, list[str]] | None:
    portions: list[str] = []
    for each in where:
        finder = pkgutil.get_importer(each or os.getcwd())
        found = finder.find_spec(name) if finder is not None else None
        if found is not None and found.loader is not None:
            return _place(found)
        if found is not None:  # a part of a package without a file
            portions += found.submodule_search_locations or ()
    return ("", portions) if portions else None


def _elsewhere(name: str) -> tuple[str, list[str]]:
    """Find a module on no path, as a package that was installed to be edited in its place."""
    for finder in sys.meta_path:
        find = None if finder is PathFinder else getattr(finder, "find_spec", None)
        found: ModuleSpec | None = find(name, None) if find is not None else None
        if found is not None:
            return _place(found)
    return "", []


def _place(found: ModuleSpec) -> tuple[str, list[str]]:
    origin = found.origin if found.has_location and found.origin else ""
    return origin, list(found.submodule_search_locations or ())
