"""Functions that return a suite: their arguments are the parameters of the suite."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, ParamSpec, get_type_hints

from toolmark.authoring.oracle import make_oracle
from toolmark.core import user_modules
from toolmark.core.errors import ToolmarkError, UsageError, describe_error
from toolmark.runs import suite_parameters
from toolmark.runs.sourced_tasks import SourcedTasks
from toolmark.runs.suite import Suite
from toolmark.runs.suite_parameters import SuiteParameters

P = ParamSpec("P")


class SuiteFunction(Generic[P]):
    """A function that returns a Suite; calling it makes the suite with these arguments.

    Each argument has a type and a default. They become the parameters of the suite: options of the
    command line, with the descriptions under `Args:` as help, and part of what a run records. The
    function may take one record of parameters instead, a subclass of SuiteParameters.
    """

    def __init__(self, function: Callable[P, Suite]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Suite:
        """Return the suite. Raises UsageError for an unknown argument or one of another type."""
        try:
            bound = inspect.signature(self._function).bind(*args, **kwargs)
        except TypeError as error:
            raise UsageError(f"suite {self.name}: {error}") from None
        if self._takes_record:
            made = self._call(self.name, *args, **kwargs)
            return self._finish(made, {}, self._find_spec())
        return self.load(bound.arguments, self._find_spec())

    @property
    def name(self) -> str:
        """The name of the function, which is that of the suite."""
        return str(getattr(self._function, "__name__", "suite"))

    @functools.cached_property
    def parameters(self) -> type[SuiteParameters]:
        """The parameters, from the arguments. Raises UsageError for one without type or default."""
        if not self._takes_record:
            return suite_parameters.parameters_of_function(self._function)
        hints = get_type_hints(self._function)
        found: type[SuiteParameters]
        (found,) = (kind for key, kind in hints.items() if key != "return")
        return found

    @functools.cached_property
    def _takes_record(self) -> bool:
        expected = [each.name for each in inspect.signature(self._function).parameters.values()]
        if len(expected) != 1:
            return False
        try:
            kind = get_type_hints(self._function).get(expected[0])
        except NameError as error:
            raise UsageError(f"suite {self.name}: {error}") from None
        return isinstance(kind, type) and issubclass(kind, SuiteParameters)

    def load(self, values: Mapping[str, Any], spec: str, *, name: str = "") -> Suite:
        """Return the suite with these parameters; text is converted to the type of each.

        `spec` is where the function is found, `name` how messages call it. Raises UsageError for an
        unknown parameter, one out of bounds, and a function that returns no suite.
        """
        read = suite_parameters.read_parameters(self.parameters, values, suite=name or self.name)
        recorded = suite_parameters.recorded_values(read)
        called = name or self.name
        made = self._call(called, read) if self._takes_record else self._call(called, **recorded)
        return self._finish(made, recorded, spec, named=tuple(values))

    def _call(self, called: str, *args: Any, **kwargs: Any) -> object:
        """Return what the function returns. Raises UsageError, in one line, where it raises."""
        function: Callable[..., object] = self._function
        try:
            return function(*args, **kwargs)
        except ToolmarkError:
            raise
        except Exception as error:
            raise UsageError(f"suite {called!r} cannot be made: {describe_error(error)}") from error

    def _finish(
        self, made: object, recorded: Mapping[str, Any], spec: str, *, named: tuple[str, ...] = ()
    ) -> Suite:
        """Return a suite with its name, parameters and sources, and the oracle that rows give."""
        if not isinstance(made, Suite):
            kind = type(made).__name__
            raise UsageError(f"suite {self.name!r}: the function returned {kind}, no Suite")
        hashes = made.provenance.hashes
        controls = made.controls
        if isinstance(made.tasks, SourcedTasks):
            hashes = {**made.tasks.source_hashes(), **hashes}
            controls = {"oracle": make_oracle, **controls}
        provenance = replace(made.provenance, hashes=hashes, spec=spec, named_parameters=named)
        return replace(
            made,
            name=made.name or self.name,
            parameters=made.parameters or recorded,
            controls=controls,
            provenance=provenance,
        )

    def _find_spec(self) -> str:
        """Return where the function is found by name: `module:NAME` or `FILE.py:NAME`, or ""."""
        module = sys.modules.get(str(self._function.__module__))
        if module is None or getattr(module, self.name, None) is not self:
            return ""
        if module.__name__.startswith(user_modules.FILE_MODULE_PREFIX):
            return user_modules.normalize_spec(f"{Path(str(module.__file__))}:{self.name}")
        return "" if module.__name__ == "__main__" else f"{module.__name__}:{self.name}"


def suite(function: Callable[P, Suite]) -> SuiteFunction[P]:
    """Make a function that returns a Suite a suite of its own; it can then be run by name.

    The name of the function is that of the suite, and its arguments are the parameters:
    `toolmark run FILE.py:NAME -T argument=value`, or `tm.run(NAME(argument=value), model=...)`.
    """
    return SuiteFunction(function)


def adapt_suite_function(found: object, name: str) -> SuiteFunction[Any]:
    """Return what a name refers to as a suite function; a plain function becomes one."""
    if isinstance(found, SuiteFunction):
        return found
    if not callable(found):
        raise UsageError(f"suite {name!r}: not a function that returns a Suite")
    return SuiteFunction(found)
