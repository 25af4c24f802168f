"""Confusions beyond similar sound: letters, numbers, symbols said as words, function words."""

from __future__ import annotations

_LETTER_GROUPS = ("bdptvezgc", "mn", "fsx", "ajkh", "iy", "quw", "lo", "r")
_LETTER_WORDS = {
    "a": "a", "b": "be", "c": "see", "d": "the", "e": "he", "f": "if", "g": "gee", "i": "eye",
    "j": "jay", "k": "okay", "l": "all", "m": "am", "n": "and", "o": "oh", "p": "pea", "q": "cue",
    "r": "are", "s": "as", "t": "tea", "u": "you", "v": "we", "x": "ex", "y": "why", "z": "the",
}  # fmt: skip
LETTER_CONFUSIONS: dict[str, tuple[str, ...]] = {
    letter: tuple(other for other in group if other != letter)
    for group in _LETTER_GROUPS
    for letter in group
}
"""Letters whose names sound alike; most letters also sound like a word (LETTER_WORDS)."""
LETTER_WORDS = _LETTER_WORDS

_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_CONFUSIONS: dict[str, tuple[str, ...]] = {
    **{teen: (ten,) for teen, ten in zip(_TEENS, _TENS, strict=True)},
    **{ten: (teen,) for teen, ten in zip(_TEENS, _TENS, strict=True)},
    "zero": ("oh", "hero"), "one": ("won", "a"), "two": ("to", "ten"), "three": ("free", "the"),
    "four": ("for", "five"), "five": ("nine", "four"), "six": ("sixty", "sick"),
    "seven": ("eleven", "seventy"), "eight": ("a", "eighty"), "nine": ("five", "mine"),
    "ten": ("two", "then"), "eleven": ("seven",), "twelve": ("twenty",), "twenty": ("twelve",),
    "hundred": ("hundreds",), "thousand": ("thousands",), "million": ("billion",),
    "billion": ("million",), "point": ("points", "a"),
}  # fmt: skip
"""Number words and what is heard instead: mostly teens and tens."""

SYMBOL_CONFUSIONS: dict[str, tuple[str, ...]] = {
    "dot": ("that", "the", ""), "at": ("and", "that", ""), "com": ("calm", "come"),
    "underscore": ("under score", "and the score"), "dash": ("and", ""), "slash": ("flash", ""),
    "hyphen": ("I fan", ""), "hash": ("has",), "percent": ("present", "per cent"),
    "org": ("or",), "www": ("w",), "oh": ("o", "zero"),
}  # fmt: skip
"""Words of addresses and figures, and what is heard instead; "" if the word is missed."""

_FUNCTION_TEXT = (
    "a an and are as at be been but by can could did do does for from had has have he her him his "
    "i if in is it its it's me my no not of on or our she so some than that the their them then "
    "there they this to too up us was we were what when where which who will with would you your"
)
FUNCTION_WORDS = tuple(_FUNCTION_TEXT.split())
"""Function words: confused with each other, missed and inserted more often than other words."""
