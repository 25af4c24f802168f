"""Draw the names of a task: random letters, or words as real interfaces have them.

Each word of a realistic name comes from a list of its own, so no name is part of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from math import prod
from random import Random
from string import ascii_lowercase
from typing import Annotated

from msgspec import Meta, Struct

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import UsageError
from toolmark.suites.funcbench.graph_shape import Surface
from toolmark.suites.funcbench.task_wording import prompt_texts

FUNCTION_PREFIX = "func_"
_NAMES_PER_DRAW = 16  # possible names per drawn name, so that a name is rarely drawn twice
_CHUNK_LETTERS = 3
Words = Annotated[list[Annotated[str, Meta(pattern="^[a-z_]+$")]], Meta(min_length=20)]


class RealisticWords(DataRecord, frozen=True):
    """The words of realistic names."""

    verbs: Words
    things: Words
    measures: Words
    qualifiers: Words


class NameCounts(Struct, frozen=True):
    """How many names a task needs."""

    functions: int
    variables: int
    types: int
    parameters: int


class TaskNames(Struct, frozen=True):
    """The names of a task, each drawn once."""

    functions: list[str]
    variables: list[str]
    types: list[str]
    subtypes: list[str]
    parameters: list[str]


def draw_names(rng: Random, surface: Surface, counts: NameCounts) -> TaskNames:
    """Draw the names of a task."""
    draw = _draw_realistic_names if surface == "realistic" else _draw_random_names
    return draw(rng, counts)


def _draw_random_names(rng: Random, counts: NameCounts) -> TaskNames:
    """Draw names of random letters; functions have a prefix."""
    functions = draw_words(rng, counts.functions, FUNCTION_PREFIX)
    n_words = 2 * counts.variables + counts.types + counts.parameters
    words = iter(draw_words(rng, n_words))
    return TaskNames(
        functions=functions,
        variables=list(islice(words, counts.variables)),
        subtypes=list(islice(words, counts.variables)),
        types=list(islice(words, counts.types)),
        parameters=list(words),
    )


def _draw_realistic_names(rng: Random, counts: NameCounts) -> TaskNames:
    """Draw names of words; a function's name contains that of the variable which it computes."""
    words = load_words()
    n_names = counts.variables + counts.parameters
    names = _draw_compounds(rng, n_names, (words.things, words.measures, words.qualifiers))
    variables = names[: counts.variables]
    kinds: tuple[Words, ...] = (words.measures,)
    if counts.types > len(words.measures) // 2:
        kinds = (words.measures, words.things)
    return TaskNames(
        functions=[
            f"{seeds.draw_one(rng, words.verbs)}_{x}" for x in variables[: counts.functions]
        ],
        variables=variables,
        types=_draw_compounds(rng, counts.types, kinds),
        subtypes=_draw_compounds(rng, counts.variables, (words.qualifiers, words.things)),
        parameters=names[counts.variables :],
    )


def further_names(
    rng: Random, surface: Surface, taken: Iterable[str]
) -> tuple[Callable[[], str], Callable[[], str]]:
    """Return functions that draw further names: of functions, and of parameters."""
    used = set(taken)

    def new_names(candidates: Iterator[str]) -> Callable[[], str]:
        def draw_name() -> str:
            name = next(x for x in candidates if x not in used)
            used.add(name)
            return name

        return draw_name

    if surface == "realistic":
        words = load_words()
        parts = (words.things, words.measures, words.qualifiers)
        return (
            new_names(_endless_compounds(rng, (words.verbs, *parts))),
            new_names(_endless_compounds(rng, parts)),
        )
    return new_names(_endless_words(rng, FUNCTION_PREFIX)), new_names(_endless_words(rng, ""))


def _endless_compounds(rng: Random, parts: Sequence[Sequence[str]]) -> Iterator[str]:
    while True:
        yield "_".join(seeds.draw_one(rng, part) for part in parts)


def _endless_words(rng: Random, prefix: str) -> Iterator[str]:
    while True:
        yield from draw_words(rng, 1, prefix)


@cache
def load_words() -> RealisticWords:
    """Return the words of realistic names."""
    return read_table(__file__, "realistic_words.toml", RealisticWords)


def _draw_compounds(rng: Random, count: int, parts: Sequence[Sequence[str]]) -> list[str]:
    """Draw distinct names, each of a word from every part."""
    n_names = prod(map(len, parts))
    if count > n_names:
        raise UsageError(f"surface=realistic has {n_names} names; {count} are needed")
    return ["_".join(_spell_parts(at, parts)) for at in seeds.sample_indices(rng, n_names, count)]


def _spell_parts(number: int, parts: Sequence[Sequence[str]]) -> Iterator[str]:
    for part in parts:
        number, at = divmod(number, len(part))
        yield part[at]


def draw_words(rng: Random, count: int, prefix: str = "") -> list[str]:
    """Draw distinct words of random letters; none occurs in our own prompt texts."""
    letters = _word_length(count, 3 if prefix else 6)
    drawn: dict[str, None] = {}
    while len(drawn) < count:
        word = prefix + _spell_number(seeds.draw_below(rng, 26**letters), letters)
        if word not in _lowercase_prompt():
            drawn[word] = None
    return list(drawn)


def _word_length(count: int, least: int) -> int:
    letters = least
    while 26**letters < _NAMES_PER_DRAW * count:
        letters += 1
    return letters


@cache
def _lowercase_prompt() -> str:
    return " ".join(prompt_texts()).lower()


def _spell_number(number: int, letters: int) -> str:
    """Write a number in base 26, three letters at a time."""
    chunks = _letter_chunks()
    word = ""
    for _ in range(0, letters, _CHUNK_LETTERS):
        number, at = divmod(number, len(chunks))
        word = chunks[at] + word
    return word[-letters:]


@cache
def _letter_chunks() -> list[str]:
    return ["".join(chunk) for chunk in product(ascii_lowercase, repeat=_CHUNK_LETTERS)]
