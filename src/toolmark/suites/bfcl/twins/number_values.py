"""New numbers for the numbers of an entry that stand in its question, each once.

What is in doubt is left alone: numbers in words, numbers that others are computed from, constants,
numbers with bounds, and whatever stands in the description of a tool.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.suites.bfcl.twins.entry_parts import Changes, Entry, Leaf, iterate_scalars

N_DRAWS = 60
MAX_NUMBERS = 14  # with more, relations between the numbers are not looked for
NEAR = Decimal("0.15")  # a new number is at most this share away, where one is there
YEAR_STEP = 4  # years of elections and games stay such years
LAST_PAST_YEAR = 2024

_ANY_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?")


class NumberWords(DataRecord, frozen=True):
    """Words around numbers.

    - `units`: what may follow a number without a space.
    - `scales`: words after a number that make another number of it.
    - `related`: words in a question that tie its numbers to each other or to what is known.
    - `events`: words in a question that tie its years to what is known.
    - `constants`: numbers with a meaning of their own.
    - `fixed_parameters`: parts of names of parameters whose values have bounds or a meaning.
    - `number_words`: numbers in words, with their digits.
    - `doubles`: words of numbers of which the second is twice the first, where both are of one
      thing.
    """

    units: tuple[str, ...]
    scales: tuple[str, ...]
    related: tuple[str, ...]
    events: tuple[str, ...]
    constants: frozenset[str]
    fixed_parameters: tuple[str, ...]
    number_words: dict[str, int]
    doubles: dict[str, str]


def read_number_words() -> NumberWords:
    """Return the words around numbers."""
    return read_table(__file__, "number_words.toml", NumberWords)


@dataclass(frozen=True, slots=True)
class Mention:
    """A number as it stands in a text: where, how it is written, and its value."""

    text: int
    start: int
    end: int
    written: str
    value: Decimal


def find_numbers(texts: Sequence[str]) -> list[Mention]:
    """Return every run of digits in the texts as a number, those within words too."""
    return [
        Mention(index, found.start(), found.end(), found[0], Decimal(found[0].replace(",", "")))
        for index, text in enumerate(texts)
        for found in _ANY_NUMBER.finditer(text)
    ]


def change_numbers(entry: Entry, rng: Random) -> Changes:
    """Return new numbers for those that can be replaced, no changes where one is in doubt."""
    words = read_number_words()
    mentions = find_numbers(entry.texts)
    if not mentions or _has_word(entry.text, words.related):
        return Changes()
    wanted = _replaceable_leaves(entry, mentions, words)
    if not wanted:
        return Changes()
    old = [each.value for each in mentions]
    if _are_related(old):
        return Changes()
    sizes = _list_sizes(entry)
    chosen = [each for each in mentions if each.value in wanted and each.value not in sizes]
    years = {value for value, leaves in wanted.items() if any(map(_is_year, leaves))}
    if years and _has_word(entry.text, words.events):
        return Changes()
    doubles = _find_doubles(entry, set(old), words)
    values = {each.value for each in chosen}
    alone = {each for pair in doubles.items() if not {*pair} <= values for each in pair}
    chosen = [each for each in chosen if each.value not in alone]
    drawn = {a: b for a, b in doubles.items() if a not in alone}
    new = _draw_numbers(chosen, old, years, drawn, rng)
    return _write_changes(wanted, chosen, new) if new else Changes()


def _find_doubles(
    entry: Entry, values: Collection[Decimal], words: NumberWords
) -> dict[Decimal, Decimal]:
    """Return the numbers that have their double in the question, where its words say why."""
    for one, other in words.doubles.items():
        if _has_word(entry.text, [one]) and _has_word(entry.text, [other]):
            return {value: 2 * value for value in values if value and 2 * value in values}
    return {}


def _replaceable_leaves(
    entry: Entry, mentions: Sequence[Mention], words: NumberWords
) -> dict[Decimal, list[Leaf]]:
    """Return the leaves by the number that each has and that can be replaced.

    Empty where a number of the truth does not stand in the question: it may depend on one that
    does.
    """
    by_value: dict[Decimal, list[Leaf]] = {}
    unchanged: set[Decimal] = set()
    for leaf in entry.leaves:
        numbers = _numbers_of(leaf)
        if numbers is None:
            unchanged.update(_numbers_within(leaf.options))
            continue
        known = {each.value for each in mentions}
        if not leaf.is_optional and not set(numbers) <= known:
            return {}
        if not _may_change(leaf, words):
            unchanged.update(numbers)
            continue
        if isinstance(leaf.values[0], list) and not all(
            _is_clean(value, mentions, entry, words) for value in numbers
        ):
            unchanged.update(numbers)
            continue
        for value in numbers:
            by_value.setdefault(value, []).append(leaf)
    unchanged.update(number for each in entry.frozen for number in _numbers_within(each))
    lists = [leaf for leaves in by_value.values() for leaf in leaves if _is_list(leaf)]
    unchanged |= {value for value, leaves in by_value.items() if len({x.name for x in leaves}) > 1}
    unchanged |= {value for value in by_value if not _is_clean(value, mentions, entry, words)}
    for leaf in lists:  # a list is replaced as a whole or not at all
        listed = set(_numbers_of(leaf) or ())
        if listed & unchanged:
            unchanged |= listed
    return {value: leaves for value, leaves in by_value.items() if value not in unchanged}


def _is_list(leaf: Leaf) -> bool:
    return isinstance(leaf.values[0], list)


def _numbers_of(leaf: Leaf) -> list[Decimal] | None:
    """Return the number of a leaf, or those of its list; None where it has no one number."""
    values = leaf.values
    if len(values) == 1 and isinstance(values[0], list):
        found = [_as_number(each) for each in values[0]]
        known = [each for each in found if each is not None]
        if len(known) < len(found) or len(set(known)) < len(known) or not known:
            return None
        return None if _is_progression(known) else known
    numbers = {_as_number(each) for each in values}
    if len(numbers) != 1 or None in numbers:
        return None
    return [number for number in numbers if number is not None]


def _as_number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(repr(value)).normalize()


def _numbers_within(value: Any) -> Iterator[Decimal]:
    """Yield the numbers in a value, those in its texts too."""
    for each in iterate_scalars(value):
        number = _as_number(each)
        if number is not None:
            yield number
        elif isinstance(each, str):
            yield from (found.value for found in find_numbers([each]))


def _is_progression(numbers: Sequence[Decimal]) -> bool:
    """Return whether numbers rise by equal steps or factors: they were not chosen freely."""
    if len(numbers) < 3 or 0 in numbers:
        return False
    pairs = list(itertools.pairwise(numbers))
    return len({b - a for a, b in pairs}) == 1 or len({b / a for a, b in pairs}) == 1


def _may_change(leaf: Leaf, words: NumberWords) -> bool:
    """Return whether the parameter takes any number near its own."""
    name = leaf.name.lower()
    if leaf.has_fixed_values or any(part in name for part in words.fixed_parameters):
        return False
    if _is_year(leaf) and re.search("releas|found|birth|born|invent|discover|publish", name):
        return False  # the year of one event
    if _is_year(leaf):
        return all(1904 <= each <= 2060 for each in _numbers_of(leaf) or ())
    return not re.search(
        r"\d|\brange|\bbetween\b|\bpercent|zip|latitude|longitude|coordinate|\byear\b(?!s)|\brat(?:ing|io)\b|probab",
        leaf.description.lower(),
    )


def _is_year(leaf: Leaf) -> bool:
    numbers = _numbers_of(leaf) or ()
    return "year" in leaf.name.lower() and all(1900 <= each <= 2100 for each in numbers)


def _is_clean(
    value: Decimal, mentions: Sequence[Mention], entry: Entry, words: NumberWords
) -> bool:
    """Return whether a number stands once in the question, as a number, and not in the tools."""
    own = [each for each in mentions if each.value == value]
    if len(own) != 1 or (value < 2 and value == value.to_integral_value()):
        return False
    mention = own[0]
    text = entry.texts[mention.text]
    before, after = text[: mention.start], text[mention.end :]
    if format(value.normalize(), "f") in words.constants:
        return False
    if re.search(r"(?:[\w.,:/^*+<>~\\#-]|[-+]\s)\Z", before):
        return False
    if re.search(
        r"(?:\b(?:an?|top|first|last|sqrt|log|no\.?|number|part|level|grade|ages?|under|over)"
        r"|[+*/=^-]\s?[a-z]?)\s\Z",
        before,
        re.I,
    ) and not before.endswith("= "):
        return False
    if re.search(r"(?<![.?!:;\n\"'])\s[A-Z][\w.&']*\s\Z", before):
        return False  # a part of a name
    units = "|".join(map(re.escape, words.units))
    if not re.match(rf"(?:(?!\w)(?![.,:]\d)|(?:{units})\b)", after):
        return False
    if re.match(r"\s?(?:[-^*/+=:(°²³]|x\s?\d|[a-z]\^)", after):
        return False
    scales = "|".join(words.scales)
    if re.match(rf"[\s-]?(?:{scales})\b", after, re.I):
        return False
    if _occurs_in_words(value, entry.text, words):
        return False
    return not re.search(
        rf"(?<![\d.]){re.escape(_plain(value))}(?:\.0)?(?![\d.]*\d)", entry.docs_text
    )


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _occurs_in_words(value: Decimal, text: str, words: NumberWords) -> bool:
    names = [word for word, number in words.number_words.items() if number == value]
    return _has_word(text, names)


def _has_word(text: str, words: Sequence[str]) -> bool:
    return any(re.search(rf"\b{word}\b", text, re.I) for word in words)


def _list_sizes(entry: Entry) -> set[Decimal]:
    """Return the sizes of lists in the truth, and the number of its calls."""
    sizes = {len(entry.truth)} if len(entry.truth) > 1 else set()
    for leaf in entry.leaves:
        sizes |= {len(value) for value in leaf.values if isinstance(value, list)}
    return {Decimal(size) for size in sizes}


def _are_related(numbers: Sequence[Decimal]) -> bool:
    """Return whether some numbers add or multiply to another one, or to 1, 100 or 360."""
    distinct = sorted(set(numbers))
    if len(distinct) > MAX_NUMBERS:
        return True
    known = set(distinct)
    for a, b in itertools.combinations(distinct, 2):
        if a > 1 and (a + b in known or a * b in known):
            return True
    free = [each for each in numbers if each]
    return any(
        sum(some) in (1, 100, 360)
        for size in range(2, min(len(free), 6) + 1)
        for some in itertools.combinations(free, size)
    )


# --- drawing ----------------------------------------------------------------------------


def _draw_numbers(
    chosen: Sequence[Mention],
    old: Sequence[Decimal],
    years: set[Decimal],
    doubles: Mapping[Decimal, Decimal],
    rng: Random,
) -> dict[Decimal, Decimal]:
    """Return a new number for each mention; all stand in the same order as before.

    `doubles` are numbers with their doubles, which stay doubles.
    """
    options = [near_numbers(each) for each in chosen]
    written = {each.value: each.written for each in chosen}
    if not chosen or not all(options):
        return {}
    shift = _year_shift(years)
    for _ in range(N_DRAWS):
        new = {
            mention.value: mention.value + shift
            if mention.value in years
            else seeds.draw_one(rng, choices)
            for mention, choices in zip(chosen, options, strict=True)
        }
        new |= {double: 2 * new[value] for value, double in doubles.items() if value in new}
        if any(not _has_same_length(new[each], written[each]) for each in doubles.values()):
            continue
        after = [new.get(value, value) for value in old]
        if _have_same_order(old, after) and not _are_related(after):
            return new
    return {}


def _year_shift(years: Iterable[Decimal]) -> int:
    is_past = all(year <= LAST_PAST_YEAR for year in years)
    fits = all(year + YEAR_STEP <= LAST_PAST_YEAR for year in years)
    return -YEAR_STEP if is_past and not fits else YEAR_STEP


def near_numbers(mention: Mention) -> list[Decimal]:
    """Return the numbers of the same size and form: digits, decimals and final zeros stay."""
    whole, _, decimals = mention.written.replace(",", "").partition(".")
    digits = whole + decimals
    units = Decimal(1).scaleb(-len(decimals))
    n = int(digits)
    zeros = len(digits) - len(digits.rstrip("0"))
    for power in range(zeros, -1, -1):
        step = 10**power
        found = _near_multiples(n, step, len(str(n)), int(NEAR * n))
        if len(found) > (power > 0):
            return [units * each for each in found]
    return [units * each for each in _near_multiples(n, 1, len(str(n)), max(1, n // 2))]


def _near_multiples(n: int, step: int, n_digits: int, reach: int) -> list[int]:
    low = max(2, n - reach)
    first = -(-low // step) * step
    return [
        each
        for each in range(first, n + reach + 1, step)
        if each != n and len(str(each)) == n_digits and (step > 1 or each % 10 or n % 10 == 0)
    ][:400]


def _have_same_order(old: Sequence[Decimal], new: Sequence[Decimal]) -> bool:
    pairs = itertools.combinations(zip(old, new, strict=True), 2)
    return all(_compare_to_zero(a - b) == _compare_to_zero(c - d) for (a, c), (b, d) in pairs)


def _compare_to_zero(number: Decimal) -> int:
    return (number > 0) - (number < 0)


def _write_changes(
    wanted: Mapping[Decimal, Sequence[Leaf]],
    chosen: Sequence[Mention],
    new: Mapping[Decimal, Decimal],
) -> Changes:
    changes = Changes()
    for mention in chosen:
        written = _write_like(new[mention.value], mention.written)
        changes.edits.append((mention.text, mention.start, mention.end, written))
    for leaf in {leaf.path: leaf for value in new for leaf in wanted[value]}.values():
        changes.options[leaf.path] = [_replace_numbers(each, new) for each in leaf.options]
    return changes


def _write_like(value: Decimal, written: str) -> str:
    decimals = len(written.partition(".")[2])
    return f"{value:,.{decimals}f}" if "," in written else f"{value:.{decimals}f}"


def _has_same_length(value: Decimal, written: str) -> bool:
    return len(_write_like(value, written)) == len(written)


def _replace_numbers(option: Any, new: Mapping[Decimal, Decimal]) -> Any:
    if isinstance(option, list):
        return [_replace_numbers(each, new) for each in option]
    number = _as_number(option)
    if number is None or number not in new:
        return option
    return type(option)(new[number])
