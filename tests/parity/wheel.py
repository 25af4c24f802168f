"""How the official code is started in a process of its own: shared by the scripts beside this one.

A script makes an object of the unpacked wheel and answers jobs with its methods. What the wheel
imports from elsewhere is stood in for by names that do nothing, so that nothing is installed.
"""

import ast
import importlib.abc
import importlib.machinery
import json
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

REAL = frozenset((
    "bfcl_eval", "mpmath", "numpy", "official", "official_turns", "rank_bm25", "standins",
    "tree_sitter", "tree_sitter_java", "tree_sitter_javascript", "vendor_clients", "wheel",
    *sys.stdlib_module_names,
))  # fmt: skip


# further packages that are used where they are installed
PACKAGES: set[str] = set()


class Evaluated(BaseException):
    """The official code was about to evaluate model text."""


def refuse(*_args: Any, **_kwargs: Any) -> NoReturn:
    raise Evaluated


def stub(name: str, **members: Any) -> None:
    """Put a module in the place of one that is not needed."""
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


class _Open(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    def __or__(cls, other: Any) -> Any:
        return cls


class Nothing(metaclass=_Open):
    """Stands for any foreign class, function or decorator; a decorated function stays itself."""

    def __new__(cls, *args: Any, **named: Any) -> Any:
        if len(args) == 1 and not named and callable(args[0]):
            return args[0]
        return super().__new__(cls)

    def __init__(self, *_args: Any, **_named: Any) -> None:
        pass

    def __call__(self, *args: Any, **_named: Any) -> Any:
        return args[0] if args else self

    def __or__(self, other: Any) -> Any:
        return self

    def __class_getitem__(cls, key: Any) -> Any:
        return cls


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for every foreign name."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in REAL:
            return None
        if name.partition(".")[0] in PACKAGES and importlib.machinery.PathFinder.find_spec(
            name, path
        ):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module)["__getattr__"] = lambda name: getattr(Nothing, name)


def unpack(path: str, scratch: str, models: dict[str, Any] | None = None) -> None:
    """Make the wheel importable; `models` stands for its list of models, None keeps the list."""
    os.environ["BFCL_PROJECT_ROOT"] = scratch  # the wheel makes folders when imported
    sys.path.insert(0, path)
    sys.meta_path.insert(0, _Absent())
    if models is not None:
        stub("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING=models)
    if not hasattr(ast, "NameConstant"):  # gone in Python 3.14; the wheel still names them
        vars(ast).update(NameConstant=ast.Constant, Ellipsis=ast.Constant)


class Files:
    """The wheel's data files, each read once."""

    def __init__(self, path: str) -> None:
        self.folder = os.path.join(path, "bfcl_eval", "data")
        self.collected: dict[str, list[Any]] = {}

    def __call__(self, name: str) -> list[Any]:
        if name not in self.collected:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                self.collected[name] = [json.loads(line) for line in file if line.strip()]
        return self.collected[name]


def serve(make: Callable[[str, str], Any]) -> None:
    """Answer the jobs on standard input, each a method's name and arguments, as one JSON list."""
    warnings.simplefilter("ignore")
    jobs = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as scratch:
        official = make(sys.argv[1], scratch)
        answers = [getattr(official, job[0])(*job[1:]) for job in jobs]
    json.dump(answers, sys.stdout)
