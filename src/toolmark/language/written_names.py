"""Names of persons as they are written: order, initials, titles, accents.

`find_person` finds one in a text, `person_forms` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolmark.language.value_tokens import ValueToken, cut_values, is_glued, text_at
from toolmark.language.written_tables import name_words

_JOINTS = frozenset(".-‐‑'’")
_GENERATIONS = {"jr": "jr", "junior": "jr", "sr": "sr", "senior": "sr"}
_MAX_INITIALS = 3  # of one word in capitals: JRR


class PersonName(NamedTuple):
    """A name in folded words: given names or initials, and the family name with its particles.

    `generation` is "jr" or "sr", "" where neither is stated.
    """

    given: tuple[str, ...]
    family: tuple[str, ...]
    generation: str = ""


def read_person(text: str) -> PersonName:
    """Return the name that a text consists of; a comma stands behind the family name."""
    tokens = cut_values(text)
    words = [token.folded for token in tokens if token.kind != "sign"]
    generation = next((_GENERATIONS[word] for word in words if word in _GENERATIONS), "")
    comma = next((i for i, token in enumerate(tokens) if token.text == ","), 0)
    n_before = sum(token.kind != "sign" for token in tokens[:comma])
    behind = [word for word in words[n_before:] if word not in name_words().suffixes]
    if comma and behind:
        name = _with_particles(tuple(_plain(behind)), tuple(_plain(words[:n_before])))
        return name._replace(generation=generation)
    words = _plain(words)
    start = next((i for i, w in enumerate(words) if i and w in name_words().particles), -1)
    start = start if 0 < start < len(words) - 1 else len(words) - 1
    return PersonName(tuple(words[: max(start, 0)]), tuple(words[max(start, 0) :]), generation)


def _with_particles(given: tuple[str, ...], family: tuple[str, ...]) -> PersonName:
    """Return the name with the particles behind the given names before the family name."""
    n = len(given)
    while n > 1 and given[n - 1] in name_words().particles:
        n -= 1
    return PersonName(given[:n], (*given[n:], *family))


def _plain(words: Sequence[str]) -> list[str]:
    """Return words without titles before them and additions after them."""
    start, end = 0, len(words)
    while start < end - 1 and words[start] in name_words().titles:
        start += 1
    while end > start + 1 and words[end - 1] in name_words().suffixes:
        end -= 1
    return list(words[start:end])


def find_person(
    tokens: Sequence[ValueToken],
    name: PersonName,
    *,
    family_alone: bool = False,
    initials: bool = True,
) -> Iterator[tuple[int, int]]:
    """Yield where a name is written, as the first token and the one after it.

    `initials`: whether an initial may stand for the first given name.
    """
    if not name.family:
        return
    at = 0
    while at < len(tokens):
        last = _name_end(tokens, at, name, family_alone)
        if (
            last
            and (initials or not _is_initial(tokens[at:last], name))
            and _ends_here(tokens, last, name)
        ):
            yield _title_start(tokens, at), last
        at = last or at + 1


def _is_initial(tokens: Sequence[ValueToken], name: PersonName) -> bool:
    """Return whether an initial stands where the name has a given name in full."""
    words = [token.folded for token in tokens if token.kind != "sign"]
    if not name.given or len(name.given[0]) == 1 or len(words) <= len(name.family):
        return False
    return name.given[0] not in words


def _ends_here(tokens: Sequence[ValueToken], at: int, name: PersonName) -> bool:
    """Return whether a name ends here: no longer name, no company, no other generation."""
    i = at + (text_at(tokens, at) == ",")
    word = text_at(tokens, i)
    if word in _GENERATIONS:
        return not name.generation or name.generation == _GENERATIONS[word]
    if text_at(tokens, at) == "&" or word in name_words().company_words:
        return False
    if at >= len(tokens) or tokens[at].kind != "word" or tokens[at].new_line:
        return True
    text = tokens[at].text
    whole_in_capitals = tokens[at - 1].text.isupper()
    return (
        whole_in_capitals or not text.istitle() or len(text) == 1 or word in name_words().suffixes
    )


def _title_start(tokens: Sequence[ValueToken], at: int) -> int:
    """Return where the titles before a name begin."""
    titles = name_words().titles
    for _ in range(3):
        before = at - 1 - (text_at(tokens, at - 1) == ".")
        if text_at(tokens, before) not in titles:
            break
        at = before
    return at


def _name_end(tokens: Sequence[ValueToken], at: int, name: PersonName, family_alone: bool) -> int:
    """Return the token after a name that begins at a token, 0 where none does."""
    hyphen = is_glued(tokens, at) and tokens[at - 1].text in _JOINTS and at > 1
    if tokens[at].kind == "sign" or (hyphen and tokens[at - 1].text == "-"):
        return 0
    last = _given_first(tokens, at, name) or _family_first(tokens, at, name)
    if not last and (family_alone or not name.given):
        last = _words_end(tokens, at, name.family)
    longer = text_at(tokens, last) == "-" and is_glued(tokens, last) and is_glued(tokens, last + 1)
    return 0 if longer else last


def _given_first(tokens: Sequence[ValueToken], at: int, name: PersonName) -> int:
    """Return the end of John R. Smith, J. Smith, JRR Tolkien; 0 for no such name."""
    n, i = 0, at
    if not name.given:
        return 0
    for _ in range(len(name.given) + 2):
        if n and (last := _family_end(tokens, i, name.family)):
            return last
        step = _given_step(tokens, i, name.given, n)
        if step is None:
            return 0
        n, i = step
    return 0


def _given_step(
    tokens: Sequence[ValueToken], at: int, given: Sequence[str], n: int
) -> tuple[int, int] | None:
    """Return how many given names are used up after a word, and where the next word begins."""
    word, after = text_at(tokens, at), _skip_joints(tokens, at + 1)
    if not word or tokens[at].kind != "word":
        return None
    # names in the middle may be left out; the first may not
    for place in range(n, len(given) if n else 1):
        if _same_given(word, given[place]):
            return place + 1, after
    text = tokens[at].text
    if 1 < len(text) <= _MAX_INITIALS and text.isupper():
        rest = [each[0] for each in given[n : n + len(text)]]
        return (n + len(text), after) if rest == list(word) else None
    return (n, after) if n and len(word) == 1 else None  # an initial that the name lacks


def _same_given(written: str, expected: str) -> bool:
    if len(written) == 1 or len(expected) == 1:
        return written[0] == expected[0]
    return written == expected


def _family_first(tokens: Sequence[ValueToken], at: int, name: PersonName) -> int:
    """Return the end of Smith, John or, with all names in full, of Smith John."""
    last = _family_end(tokens, at, name.family)
    if not last or not name.given:
        return 0
    if text_at(tokens, last) != ",":
        return _words_end(tokens, last, name.given)
    n, i = 0, last + 1
    for _ in range(len(name.given) + 1):
        step = _given_step(tokens, i, name.given, n)
        if step is None:
            break
        n, i = step
    if not n:
        return 0
    particles = [word for word in name.family if word in name_words().particles]
    return _words_end(tokens, i, particles) or i


def _family_end(tokens: Sequence[ValueToken], at: int, family: Sequence[str]) -> int:
    """Return the end of the family name, with or without its particles; 0 for none."""
    bare = [word for word in family if word not in name_words().particles]
    return _words_end(tokens, at, family) or _words_end(tokens, at, bare)


def _words_end(tokens: Sequence[ValueToken], at: int, words: Sequence[str]) -> int:
    i = at
    for n, word in enumerate(words):
        i = _skip_joints(tokens, i) if n else i
        if text_at(tokens, i).removesuffix("'s") != word:
            return 0
        i += 1
    return i if words else 0


def _skip_joints(tokens: Sequence[ValueToken], at: int) -> int:
    return at + (text_at(tokens, at) in _JOINTS and is_glued(tokens, at))


def person_forms(text: str) -> list[str]:
    """Return the ways to write a name of given names and one family name, as it stands."""
    *given, family = text.split()
    if not given:
        return [text]
    initials = [f"{name[0]}." for name in given]
    return [
        text,
        f"{family}, {' '.join(given)}",
        f"{' '.join(initials)} {family}",
        f"{''.join(initials)} {family}",
        f"{family}, {' '.join(initials)}",
        f"{given[0]} {family}",
        f"{' '.join([given[0], *initials[1:]])} {family}",
        f"Dr. {text}",
        f"{text.upper()}",
    ]
