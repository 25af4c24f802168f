"""New names of people, towns and identifiers for those of an entry."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table
from toolmark.suites.bfcl.twins.entry_parts import Changes, Entry, Leaf, iterate_scalars

_TITLES = "(?:(?:Mr|Mrs|Ms|Dr)\\.? )?"
_IDENTIFIER = re.compile(r"(?=[^\s]*[A-Za-z_#-])[A-Za-z#][A-Za-z_#-]{0,20}\d{2,12}|\d{5,12}\Z")


class Town(DataRecord, frozen=True):
    """A town with its country, and its state where it is in the United States."""

    town: str
    country: str = ""
    state: str = ""
    abbreviation: str = ""


class NameWords(DataRecord, frozen=True):
    """Names, and the words that say when they may be replaced.

    - `men`, `women`, `surnames`: common names; only these are replaced.
    - `new_men`, `new_women`, `new_surnames`: what takes their place.
    - `famous`: full names of common parts that many people share with a well-known one.
    - `public_parameters`: parts of names of parameters that hold well-known people.
    - `town_parameters`: parts of names of parameters that hold towns.
    - `plain_capitals`: capitalised words that tie a question to no place.
    - `tied_to_places`: words that tie a question to what a place has.
    - `states`: the states of the United States with their abbreviations.
    - `identifier_parameters`: names of parameters that hold identifiers.
    """

    men: tuple[str, ...]
    women: tuple[str, ...]
    surnames: tuple[str, ...]
    new_men: tuple[str, ...]
    new_women: tuple[str, ...]
    new_surnames: tuple[str, ...]
    famous: tuple[str, ...]
    public_parameters: tuple[str, ...]
    town_parameters: tuple[str, ...]
    plain_capitals: tuple[str, ...]
    tied_to_places: tuple[str, ...]
    states: dict[str, str]
    identifier_parameters: tuple[str, ...]
    towns: tuple[Town, ...]


def read_name_words() -> NameWords:
    """Return the names and the words around them."""
    return read_table(__file__, "name_words.toml", NameWords)


@dataclass(frozen=True, slots=True)
class _Substitution:
    """A text that is replaced in the question, with what is replaced in the accepted values."""

    leaves: Sequence[Leaf]
    pattern: re.Pattern[str]
    write_new: Callable[[re.Match[str]], str]
    words: dict[str, str]


def change_words(entry: Entry, rng: Random) -> Changes:
    """Return new names, towns and identifiers for those that can be replaced."""
    words = read_name_words()
    changes = Changes()
    for find in (_find_people, _find_towns, _find_identifiers):
        for found in find(entry, words, rng):
            _add_substitution(entry, changes, found)
    return changes


def _add_substitution(entry: Entry, changes: Changes, found: _Substitution) -> None:
    """Add the edits of a substitution, none where any value needs a text that is not replaced."""
    options = {}
    for leaf in found.leaves:
        if leaf.has_fixed_values:
            return
        replaced = [_replace_words(each, found.words) for each in leaf.options]
        if None in replaced:
            return
        options[leaf.path] = replaced
    edits = [
        (index, *match.span(), found.write_new(match))
        for index, text in enumerate(entry.texts)
        for match in found.pattern.finditer(text)
    ]
    if any(re.search(r"\ban?\s\Z", entry.texts[edit[0]][: edit[1]], re.I) for edit in edits):
        return  # the new word may need the other article
    taken = {(edit[0], place) for edit in changes.edits for place in range(edit[1], edit[2])}
    if not edits or any((e[0], place) in taken for e in edits for place in range(e[1], e[2])):
        return
    changes.edits += edits
    changes.options |= options


def _replace_words(option: Any, words: dict[str, str]) -> Any:
    """Return an accepted value with its words replaced, None where a word is not known."""
    if not isinstance(option, str):
        return None
    return option if option == "" else words.get(option)


def _write_like(new: str, match: re.Match[str]) -> str:
    return _in_case_of(match[0], new)


def _in_case_of(old: str, new: str) -> str:
    return new.lower() if old.islower() else new


def _other_texts(entry: Entry, leaves: Iterable[Leaf]) -> str:
    """Return the truth's texts besides those of these leaves."""
    own = {leaf.path for leaf in leaves}
    rest = [leaf.options for leaf in entry.leaves if leaf.path not in own] + [*entry.frozen]
    return "\n".join(str(each) for each in iterate_scalars(rest))


def _texts_of(leaf: Leaf) -> list[str]:
    """Return the accepted values if all are texts, else none."""
    return leaf.values if all(isinstance(each, str) for each in leaf.values) else []


def _same_valued(entry: Entry, leaf: Leaf) -> list[Leaf]:
    """Return the leaves with the first accepted value of this one."""
    first = leaf.values[0]
    return [each for each in entry.leaves if _texts_of(each)[:1] == [first]]


# --- people -----------------------------------------------------------------------------


def _find_people(entry: Entry, words: NameWords, rng: Random) -> Iterable[_Substitution]:
    used: set[str] = set()
    for leaf in entry.leaves:
        values = _texts_of(leaf)
        if not values or leaf.has_fixed_values or values[0] in used:
            continue
        if any(part in leaf.name.lower() for part in words.public_parameters):
            continue
        name = values[-1] if len(values[-1].split()) < 3 else values[0]
        parts = name.split() or [""]
        men, women = parts[0] in words.men, parts[0] in words.women
        if len(parts) > 2 or men == women or name in words.famous:
            continue
        if len(parts) == 2 and parts[1] not in words.surnames:
            continue
        leaves = _same_valued(entry, leaf)
        rest = re.sub(rf"\b{re.escape(name)}\b", "", entry.text) + _other_texts(entry, leaves)
        seen = (rest + entry.docs_text + " ".join(used)).lower()
        if any(part.lower() in seen for part in parts):
            continue
        pool = words.new_men if men else words.new_women
        new = [seeds.draw_one(rng, pool)]
        if len(parts) == 2:
            new.append(seeds.draw_one(rng, words.new_surnames))
        if any(part.lower() in (seen + entry.text.lower()) for part in new):
            continue
        full = " ".join(new)
        known = {
            f"{title}{name}": f"{title}{full}" for title in ("", "Mr. ", "Mrs. ", "Ms. ", "Dr. ")
        }
        known |= {name.lower(): full.lower()}
        used |= {values[0], full}
        pattern = re.compile(rf"(?<![\w@.]){re.escape(name)}(?![\w@]|\.\w)")
        if len(re.findall(re.escape(name), entry.text, re.I)) == len(pattern.findall(entry.text)):
            yield _Substitution(leaves, pattern, partial(_write_like, full), known)


# --- towns ------------------------------------------------------------------------------


def _find_towns(entry: Entry, words: NameWords, rng: Random) -> Iterable[_Substitution]:
    leaves = [
        leaf
        for leaf in entry.leaves
        if _texts_of(leaf)
        and not leaf.has_fixed_values
        and any(part in leaf.name.lower() for part in words.town_parameters)
    ]
    olds = {leaf.path: old for leaf in leaves if (old := _read_town(leaf, words))}
    names = {old.town for old in olds.values()}
    if not olds or _is_tied_to_place(entry, names, words):
        return
    if len(names) > 1 and any(not old.state for old in olds.values()):
        return  # places in two countries may have no road between them
    used: set[str] = set()
    for old in {old.town: old for old in olds.values()}.values():
        own = [leaf for leaf in leaves if leaf.path in olds and olds[leaf.path].town == old.town]
        rest = _other_texts(entry, own).lower()
        if old.town.lower() in rest or old.town.lower() in entry.docs_text.lower():
            continue
        free = [
            each
            for each in words.towns
            if bool(each.state) == bool(old.state)
            and each.town not in names | used
            and each.town.lower() not in (entry.text + entry.docs_text).lower()
        ]
        new = seeds.draw_one(rng, free)
        used.add(new.town)
        pattern = _town_pattern(old)
        rest_of_text = pattern.sub(" ", entry.text)
        if old.town.lower() in rest_of_text.lower() or _names_region(rest_of_text, old):
            continue
        known = dict(_value_forms(old, new))
        yield _Substitution(own, pattern, partial(_write_town, new), known)


def _town_pattern(town: Town) -> re.Pattern[str]:
    """Return a pattern of the town as a question writes it, with its state or country."""
    name = re.escape(town.town)
    region = re.escape(town.state or town.country)
    regions = [rf"\s*,?\s*(?P<region>(?i:{region}))\b"]
    if town.abbreviation:
        short = town.abbreviation
        regions += [
            rf"\s*,\s*(?P<short>(?i:{short}))\b",
            rf"\s+(?P<bare>{short})\b",
        ]
    after = "(?!\\w|-\\w| (?:City|County|Bay|Beach|Airport|University))"
    return re.compile(rf"(?<![\w-])(?P<town>(?i:{name}))(?:{'|'.join(regions)})?{after}")


def _write_town(new: Town, match: re.Match[str]) -> str:
    """Return the new town in the form of the old one."""
    found = match.groupdict()
    if found["region"]:
        return _in_case_of(match[0], f"{new.town}, {new.state or new.country}")
    if found.get("short") or found.get("bare"):
        return f"{_in_case_of(match['town'], new.town)}, {new.abbreviation}"
    return _in_case_of(match[0], new.town)


def _names_region(text: str, town: Town) -> bool:
    """Return whether a text names the state or country of a town, even with a slip."""
    region = (town.state or town.country).lower()
    if region in text.lower() or difflib.get_close_matches(region, text.lower().split(), 1, 0.8):
        return True
    return bool(town.abbreviation) and bool(re.search(rf"\b{town.abbreviation}\b", text))


def _read_town(leaf: Leaf, words: NameWords) -> Town | None:
    """Return the town that all accepted values name, None where one of them names it otherwise."""
    found: Town | None = None
    first, _, rest = leaf.values[0].partition(", ")
    by_name = {town.town: town for town in words.towns}
    if rest in words.states.values():
        state = next(name for name, short in words.states.items() if short == rest)
        found = Town(first, "USA", state, rest)
    elif rest in words.states:
        found = Town(first, "USA", rest, words.states[rest])
    elif first in by_name and rest in ("", by_name[first].country):
        found = by_name[first]
    if found is None or not re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}", found.town):
        return None
    if found.town in ("New York", "Washington"):
        return None  # a state has the name too
    return found


def _value_forms(old: Town, new: Town) -> list[tuple[str, str]]:
    forms = [(old.town, new.town)]
    if old.state:
        forms.append((f"{old.town}, {old.abbreviation}", f"{new.town}, {new.abbreviation}"))
        forms.append((f"{old.town}, {old.state}", f"{new.town}, {new.state}"))
        forms.append((f"{old.town}, USA", f"{new.town}, USA"))
    elif old.country:
        forms.append((f"{old.town}, {old.country}", f"{new.town}, {new.country}"))
    return forms


def _is_tied_to_place(entry: Entry, towns: set[str], words: NameWords) -> bool:
    """Return whether the question has other names, or words for what only some places have."""
    text = entry.text
    if any(re.search(rf"\b{word}\b", text, re.I) for word in words.tied_to_places):
        return True
    for town in sorted(towns, key=len, reverse=True):
        states = "|".join([*words.states, *words.states.values(), "USA"])
        pattern = rf"\b{re.escape(town)}\b(?:,? (?:{states})\b)?"
        text = re.sub(pattern, "town", text, flags=re.I)
    text = re.sub(r"(?:\A|[.?!:\"'\n]\s*)[A-Z][\w']*", " ", text)
    capitals = set(re.findall(r"\b[A-Z][\w'-]*", text))
    return not capitals <= {*words.plain_capitals}


# --- identifiers ------------------------------------------------------------------------


def _find_identifiers(entry: Entry, words: NameWords, rng: Random) -> Iterable[_Substitution]:
    seen: dict[str, str] = {}
    for leaf in entry.leaves:
        values = _texts_of(leaf)
        name = leaf.name.lower()
        if len(values) != 1 or values[0] in seen or leaf.has_fixed_values:
            continue
        if not any(name == part or name.endswith(part) for part in words.identifier_parameters):
            continue
        old = values[0]
        if not _IDENTIFIER.fullmatch(old) or re.search(r"(?:19|20)\d\d", old):
            continue
        leaves = _same_valued(entry, leaf)
        if old.lower() in (_other_texts(entry, leaves) + entry.docs_text).lower():
            continue
        pattern = re.compile(rf"(?<![\w@./-]){re.escape(old)}(?![\w@/-]|\.\w)")
        digits = re.search(r"\d+", old)
        places = len(re.findall(re.escape(old), entry.text, re.I))
        if digits is None or not places or places != len(pattern.findall(entry.text)):
            continue
        if digits[0] in entry.text.replace(old, "") or digits[0] in _other_texts(entry, leaves):
            continue
        new = old[: digits.start()] + _other_digits(digits[0], rng) + old[digits.end() :]
        seen[old] = new
        yield _Substitution(leaves, pattern, partial(_write_like, new), {old: new})


def _other_digits(digits: str, rng: Random) -> str:
    """Return as many digits, each another one; the first is 0 only where it was."""
    draw = partial(seeds.draw_one, rng)
    return "".join(
        digit if digit == "0" else draw([each for each in "123456789" if each != digit])
        for digit in digits
    )
