"""Conditional functions and iteration, which the paper names as future work (section 6).

A branch: two functions are described as computing one variable, and the result of a function that
feeds them names the one that does. It costs no further call. A loop: a function returns its output
on its last page, and every page before it costs a call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from random import Random

from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.errors import UsageError
from toolmark.environments.function_graph import MAX_VALUE, MIN_VALUE, Choice, Input, Node
from toolmark.suites.funcbench.graph_shape import GraphSize

MIN_TOKENS, MAX_TOKENS = 1, 3  # pages after the first
NameDrawer = Callable[[], str]


def add_control_flow(
    size: GraphSize,
    nodes: Sequence[Node],
    taken_values: Collection[int],
    rng: Random,
    draw_function: NameDrawer,
    draw_word: NameDrawer,
) -> list[Node]:
    """Return the functions with loops and branches; alternatives come last.

    The target is never one of two, so that its name is in one description. Tokens are none of
    `taken_values`; raises UsageError where too few values are left.
    """
    made = list(nodes)
    free = [value for value in range(MIN_VALUE, MAX_VALUE + 1) if value not in taken_values]
    if len(free) < MAX_TOKENS * size.loops:
        raise UsageError(f"loops: too few values are left for the pages of {size.loops} functions")
    seeds.shuffle_items(rng, free)
    for at in seeds.sample_indices(rng, size.core, size.loops):
        n_tokens = seeds.draw_between(rng, MIN_TOKENS, MAX_TOKENS)
        tokens = [free.pop() for _ in range(n_tokens)]
        made[at] = replace(made[at], cursor=draw_word(), page_tokens=tokens)
    core = {node.function: at for at, node in enumerate(made[: size.core])}
    fed = [
        at for at in range(1, size.core) if any(source.source in core for source in made[at].inputs)
    ]
    for at in (fed[i] for i in seeds.sample_indices(rng, len(fed), size.branches)):
        chosen = made[at]
        alternative = _make_alternative(
            chosen, draw_function, draw_word, has_own_parameters=size.link == "types"
        )
        selectors = [core[x.source] for x in chosen.inputs if x.source in core]
        selector = seeds.draw_one(rng, selectors)
        choice = Choice(chosen.output.name, chosen.function, alternative.function)
        made[selector] = replace(made[selector], choices=[*made[selector].choices, choice])
        made.append(alternative)
    return made


def _make_alternative(
    chosen: Node, draw_function: NameDrawer, draw_word: NameDrawer, *, has_own_parameters: bool
) -> Node:
    """Return a function that looks like another one."""
    return Node(
        function=draw_function(),
        kind="alternative",
        inputs=[
            Input(draw_word() if has_own_parameters else x.parameter, x.type, x.subtype, x.source)
            for x in chosen.inputs
        ],
        output=chosen.output,
        cursor=draw_word() if chosen.cursor else "",
        stands_for=chosen.function,
    )
