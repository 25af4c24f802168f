"""Where a wrong argument comes from: what the model had seen decides it.

The graph says which variable a parameter takes; the prompt and the results of earlier steps say
which values the model had seen, and of which variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

from toolmark.environments.function_graph import FIRST_PAGE, GraphIndex, Node

Origin: TypeAlias = Literal[
    "never_seen", "other_variable", "misplaced", "stale", "transposed", "inherited"
]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
"""From the most telling to the least: an inherited value is no new mistake."""
ORIGIN_LABELS: dict[Origin, str] = {
    "never_seen": "never seen",
    "other_variable": "value of another variable",
    "misplaced": "given, misplaced",
    "stale": "superseded",
    "transposed": "transposed",
    "inherited": "inherited",
}


_PAGE_SUFFIX = " pages"


class WrongArgument(Struct, frozen=True):
    """An argument that is not the true value of its variable; `variable` names whose value it is.

    `variable` is "" for a value that was never seen.
    """

    parameter: str
    value: int
    origin: Origin
    variable: str = ""

    @property
    def text(self) -> str:
        """The parameter with the origin of its value."""
        of = f" (`{self.variable}`)" if self.variable else ""
        return f"{self.parameter}: {ORIGIN_LABELS[self.origin]}{of}"


class SeenValues:
    """The values that a model has seen up to now: those given, and those returned by functions."""

    def __init__(self, truth: GraphIndex) -> None:
        self._truth = truth
        self._given = {value: name for name, value in truth.graph.known_values.items()}
        self._returned: dict[str, list[int]] = {}
        self._function_by_value: dict[int, str] = {}

    def add_returned(self, function: str, value: int) -> None:
        """Add the value that a call of a function returned."""
        self._returned.setdefault(function, []).append(value)
        self._function_by_value[value] = function

    def find_wrong_arguments(
        self, node: Node, inputs: Mapping[str, int]
    ) -> tuple[WrongArgument, ...]:
        """Return the arguments that are not true, each with its origin, in the schema's order."""
        wrong = [x for x in node.inputs if inputs[x.parameter] != self._truth.values.get(x.source)]
        # two or more values in each other's places
        passed = sorted(inputs[x.parameter] for x in wrong)
        needed = sorted(self._truth.values.get(x.source, -1) for x in wrong)
        if wrong and passed == needed and node.find_page(inputs) is not None:
            owners = {self._truth.values[x.source]: self._variable_name(x.source) for x in wrong}
            return tuple(
                WrongArgument(x.parameter, value, "transposed", owners[value])
                for x in wrong
                for value in (inputs[x.parameter],)
            )
        sources = [(x.parameter, x.source) for x in wrong]
        if node.find_page(inputs) is None:
            sources.append((node.cursor, _page_source(node)))
        return tuple(
            WrongArgument(name, inputs[name], *self._find_origin(source, inputs[name]))
            for name, source in sources
        )

    def has_token(self, node: Node, token: int) -> bool:
        """Tell whether a call of the function returned this token; the first page needs none."""
        return token == FIRST_PAGE or token in self._returned.get(_page_source(node), ())

    def add_token(self, node: Node, token: int) -> None:
        """Add the token of the next page that a call returned."""
        self.add_returned(_page_source(node), token)

    def _find_origin(self, source: str, value: int) -> tuple[Origin, str]:
        own = self._returned.get(source, [])
        if own and own[-1] == value:
            return "inherited", self._variable_name(source)
        if value in own:
            return "stale", self._variable_name(source)
        if value in self._given:
            return "misplaced", self._given[value]
        if value in self._function_by_value:
            return "other_variable", self._variable_name(self._function_by_value[value])
        return "never_seen", ""

    def _variable_name(self, source: str) -> str:
        node = self._truth.nodes.get(source.removesuffix(_PAGE_SUFFIX))
        if node is None:
            return source
        return node.cursor if source.endswith(_PAGE_SUFFIX) else node.output.name


def _page_source(node: Node) -> str:
    """Return the name under which the tokens of a function are stored; no function has it."""
    return f"{node.function}{_PAGE_SUFFIX}"


def main_origin(wrong: Iterable[WrongArgument]) -> Origin | None:
    """Return the most telling origin of a call's wrong arguments; None without any."""
    found = {argument.origin for argument in wrong}
    return next((origin for origin in ORIGINS if origin in found), None)
