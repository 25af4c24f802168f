"""Which words of a wording carry its meaning, and which are function words. English only."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.language.canonical_tokens import Token

_MIN_STEM = 4  # least number of letters that two forms of a word share
_MIN_SHARED_SHARE = 0.6  # of the longer form


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NEGATIONS = word_set(
    "not no never none neither nor without cannot nobody nothing nowhere non dont doesnt didnt "
    "isnt arent wasnt werent wont wouldnt shouldnt couldnt cant hasnt havent hadnt mustnt neednt "
    "aint"
)
EXCLUSIONS = word_set(
    "except excluding exclude excludes excluded avoid avoiding skip omit unless instead"
)
FUNCTION_WORDS = word_set(
    "a about actually again all also am an and any are around as ask at be been being but by "
    "called can check colon comma could currently dash did do does dot each equals exactly "
    "figure find for from gap get gets getting give go going good got gotta great had has have "
    "having hello help hey hi how hyphen i id if ill im in into is it its ive just kind kindly "
    "know let like ll look looking love me mind minus much my na need needed needs now of off "
    "oh ok okay on one or our out over per please plus point quick quickly re really right s "
    "second see should show sign slash so some something sort sure t tell thank thanks that the "
    "their them then there these they theyre thing things think this those thx times to too try "
    "uh um underscore up us using ve via wanna want wanted was we well were what whats when "
    "where which while who whom whose why will with wondering work would yeah yes you your "
    "youre "
    "calculate compute determine fetch identify locate obtain provide retrieve return search"
)
"""Words without meaning of their own, and the verbs that only ask for an answer."""


def is_content_word(token: Token) -> bool:
    """Return whether a token is a word that carries meaning."""
    word = token.text
    return len(word) > 1 and word.isalpha() and word not in FUNCTION_WORDS and word not in NEGATIONS


def is_negation(tokens: Sequence[Token], n: int) -> bool:
    """Return whether a token is a negation or an exclusion; "no" before a number stands for it."""
    is_no_of_number = tokens[n].text == "no" and n + 1 < len(tokens) and bool(tokens[n + 1].values)
    return not is_no_of_number and tokens[n].text in NEGATIONS | EXCLUSIONS


def share_stem(one: str, other: str) -> bool:
    """Return whether two words are forms of one, by their first letters."""
    n_shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        n_shared += 1
    return n_shared >= max(
        min(_MIN_STEM, len(one), len(other)), _MIN_SHARED_SHARE * max(len(one), len(other))
    )
