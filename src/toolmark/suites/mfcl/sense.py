"""Words of a wording that carry its sense, and those that are said as they come. English only."""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.perturb.text.naming import Token

_STEM = 4  # letters that two forms of a word share at least
_LIKE = 0.6  # of the longer form


def row(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


NOT = row(
    "not no never none neither nor without cannot nobody nothing nowhere non dont doesnt didnt "
    "isnt arent wasnt werent wont wouldnt shouldnt couldnt cant hasnt havent hadnt mustnt neednt "
    "aint"
)
SPARED = row("except excluding exclude excludes excluded avoid avoiding skip omit unless instead")
FREE = row(
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
"""What is said as it comes, and the verbs that only ask for an answer."""


def carries(token: Token) -> bool:
    """Tell whether a token is a word that carries the sense."""
    word = token.text
    return len(word) > 1 and word.isalpha() and word not in FREE and word not in NOT


def denies(tokens: Sequence[Token], n: int) -> bool:
    """Tell whether a token denies or spares something; "no" before a number stands for it."""
    number = tokens[n].text == "no" and n + 1 < len(tokens) and bool(tokens[n + 1].values)
    return not number and tokens[n].text in NOT | SPARED


def alike(one: str, other: str) -> bool:
    """Tell whether two words are forms of one, by the letters that they begin with."""
    same = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        same += 1
    return same >= max(min(_STEM, len(one), len(other)), _LIKE * max(len(one), len(other)))
