"""Places as they are written: other names, abbreviations, the country or state after a comma.

`read_place` reads a text that is a place, `find_places` finds a place in a text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

from toolmark.language.form_matching import FormTable
from toolmark.language.value_tokens import ValueToken, cut_values, text_at
from toolmark.language.value_words import value_words
from toolmark.language.written_tables import name_words, place_names

PlaceKey: TypeAlias = tuple[Literal["country", "state", "city", "words"], str]
"""What a name may mean: a country by its code, a part of one, a city by its name, or just words."""
_SILENT = frozenset({"the", "city", "of", "state", "town"})
_MAX_CODE_CHARS = 4  # US, USA, NYC: read in capitals only


class Place(NamedTuple):
    """A place: what its name may mean, and what is said of where it lies."""

    keys: frozenset[PlaceKey]
    around: tuple[frozenset[PlaceKey], ...] = ()


class WrittenPlace(NamedTuple):
    """A place of a text, its first token and the one after it."""

    place: Place
    first: int
    last: int


@cache
def _forms() -> Mapping[str, frozenset[PlaceKey]]:
    """Return what each written form may mean, codes of countries left out."""
    names, found = place_names(), defaultdict[str, set[PlaceKey]](set)
    for code, (usual, three, *others) in names.countries.items():
        for form in (usual, *others):
            found[form].add(("country", code))
        found[three].add(("country", code))
    for letters, state in value_words().us_states.items():
        found[state].add(("state", letters))
    for region, (_, *others) in names.regions.items():
        for form in (region, *others):
            found[form].add(("state", region))
    for city, (_, *others) in names.cities.items():
        for form in (city, *others):
            found[form].add(("city", city))
    for form in [form for form in found if form.startswith("Saint ")]:
        for short in ("St ", "St. "):
            found[short + form.removeprefix("Saint ")] |= found[form]
    return {form: frozenset(keys) for form, keys in found.items()}


@cache
def _codes() -> Mapping[str, frozenset[PlaceKey]]:
    """Return the codes of states and countries, which count as a whole value or after a comma."""
    found = defaultdict[str, set[PlaceKey]](set)
    for letters in value_words().us_states:
        found[letters].add(("state", letters))
    for letters, region in place_names().state_codes.items():
        found[letters].add(("state", region))
    for code in place_names().countries:
        found[code].add(("country", code))
    return {code: frozenset(keys) for code, keys in found.items()}


@cache
def _keys_by_words() -> Mapping[str, frozenset[PlaceKey]]:
    found = defaultdict[str, set[PlaceKey]](set)
    for form, keys in _forms().items():
        found[_place_key_text(form)] |= keys
    return {words: frozenset(keys) for words, keys in found.items()}


@cache
def _table() -> FormTable[str]:
    return FormTable({form: form for form in _forms()})


def _place_key_text(text: str) -> str:
    """Return the words by which a place is known: without case, signs, the, city of."""
    forms = place_names().word_forms
    words = [token.folded for token in cut_values(text) if token.kind != "sign"]
    content = [forms.get(word, word) for word in words if word not in _SILENT]
    return " ".join(content or words)


def place_keys(text: str) -> frozenset[PlaceKey]:
    """Return what a name without a comma may mean."""
    plain = text.strip().strip(".")
    known = _keys_by_words().get(_place_key_text(text), frozenset())
    code = _codes().get(plain, frozenset()) if plain.isupper() else frozenset()
    return known | code | _titled_keys(text) | {("words", _place_key_text(text))}


def _titled_keys(text: str) -> frozenset[PlaceKey]:
    """Return the country of an official name: Republic of Ghana. Names of the table are theirs."""
    titles, of, name = text.strip().removeprefix("the ").rpartition(" of ")
    words = [token.folded for token in cut_values(titles) if token.kind != "sign"]
    if not of or not words or _place_key_text(text) in _keys_by_words():
        return frozenset()
    if not all(word in place_names().state_titles for word in words):
        return frozenset()
    keys = _keys_by_words().get(_place_key_text(name), frozenset())
    return frozenset(key for key in keys if key[0] == "country")


def read_place(text: str) -> Place:
    """Return the place that a text is; what stands after a comma or in brackets is around it."""
    known = _keys_by_words().get(_place_key_text(text))
    if known:
        return Place(known | {("words", _place_key_text(text))})
    parts = text.replace("(", ",").replace(")", "").split(",")
    keys = [place_keys(part) for part in parts if _place_key_text(part)]
    return Place(keys[0], tuple(keys[1:])) if keys else Place(frozenset())


def find_places(tokens: Sequence[ValueToken], names: Sequence[str] = ()) -> Iterator[WrittenPlace]:
    """Yield the places of a text in order: those of the table, and those with the given names."""
    own = FormTable({name: name for name in names if cut_values(name)})
    at = 0
    while at < len(tokens):
        found = _place_at(tokens, at, own)
        if found is None:
            at += 1
            continue
        if _is_longer_name(tokens, found.last):
            at = found.last
            continue
        around, last = _around(tokens, found.last, own)
        yield WrittenPlace(Place(found.place.keys, around), at, last)
        at = last


def _is_longer_name(tokens: Sequence[ValueToken], at: int) -> bool:
    """Return whether a name goes on after a place: Santiago de Compostela, London Bridge."""
    if at >= len(tokens) or tokens[at].kind != "word" or tokens[at].new_line:
        return False
    at += tokens[at].text in name_words().particles
    is_name = at < len(tokens) and tokens[at].text.istitle() and len(tokens[at].text) > 1
    return is_name and not tokens[at].new_line and tokens[at - 1].kind == "word"


def _place_at(tokens: Sequence[ValueToken], at: int, own: FormTable[str]) -> WrittenPlace | None:
    hits = [hit for table in (_table(), own) if (hit := table.find_at(tokens, at))]
    hits = [hit for hit in hits if _is_in_case(tokens, at, hit.meaning)]
    if not hits:
        return None
    last = max(hit.last for hit in hits)
    keys = frozenset[PlaceKey]().union(
        *(place_keys(hit.meaning) for hit in hits if hit.last == last)
    )
    return WrittenPlace(Place(keys), at, last)


def _is_in_case(tokens: Sequence[ValueToken], at: int, form: str) -> bool:
    letters = form.replace(".", "")
    if not letters.isupper() or len(letters) > _MAX_CODE_CHARS:
        return True
    return tokens[at].text == cut_values(form)[0].text


def _around(
    tokens: Sequence[ValueToken], at: int, own: FormTable[str]
) -> tuple[tuple[frozenset[PlaceKey], ...], int]:
    """Return what is said of where a place lies: ", Texas", "in France", "(Ontario, Canada)"."""
    found: list[frozenset[PlaceKey]] = []
    while len(found) < 3:
        mark = text_at(tokens, at)
        if mark not in {",", "in", "("}:
            break
        start = at + 1 + (text_at(tokens, at + 1) == "the")
        nearby = _place_at(tokens, start, own)
        keys, last = (nearby.place.keys, nearby.last) if nearby else (frozenset(), start + 1)
        if start < len(tokens) and not nearby:
            keys = _codes().get(tokens[start].text, frozenset())
        if not any(kind in {"country", "state"} for kind, _ in keys):
            break
        found.append(keys)
        at = last + (text_at(tokens, last) == ")")
    return tuple(found), at


# --- comparison -------------------------------------------------------------------------


def same_place(given: Place, expected: Place) -> bool:
    """Return whether two places have a common name and nothing said of them is contradictory."""
    common = given.keys & expected.keys
    if not common:
        return False
    wanted = list(expected.around) or [_lies_in(common)]
    for kind in ("country", "state"):
        ours, theirs = _regions_of_kind(wanted, kind), _regions_of_kind(list(given.around), kind)
        if ours and theirs and not ours & theirs:
            return False
    unknown = [_words_alone(keys) for keys in (given.around, expected.around)]
    return not (unknown[0] and unknown[1] and not unknown[0] & unknown[1])


def _lies_in(keys: frozenset[PlaceKey]) -> frozenset[PlaceKey]:
    """Return the countries and states of the cities that a name may mean."""
    found = set[PlaceKey]()
    for kind, name in keys:
        if kind == "city":
            country, _, state = place_names().cities[name][0].partition("-")
            found.add(("country", country))
            if state:
                found.add(("state", state))
    return frozenset(found)


def _regions_of_kind(parts: Sequence[frozenset[PlaceKey]], kind: str) -> frozenset[str]:
    """Return the countries or states that what is said of a place may mean."""
    found = set[str]()
    for keys in parts:
        found |= {name for each, name in keys if each == kind}
        if kind == "country":
            found |= {_country_of(name) for each, name in keys if each == "state"}
    return frozenset(found)


def _country_of(state: str) -> str:
    region = place_names().regions.get(state)
    return region[0] if region else "US"


def _words_alone(parts: Sequence[frozenset[PlaceKey]]) -> frozenset[str]:
    """Return the words of the parts that the table does not know."""
    return frozenset(
        name for keys in parts if {kind for kind, _ in keys} == {"words"} for _, name in keys
    )


def place_forms(text: str) -> list[str]:
    """Return the ways to write a place of the table, codes left out."""
    keys = read_place(text).keys
    alike = [form for form, each in _forms().items() if each & keys]
    return list(dict.fromkeys([text, *alike]))
