"""The answer in a reply: the number said of the target, else the last integer."""

from __future__ import annotations

import re

_NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?"
_SAID = (
    "is|was|be|equals?|equal|equalling|becomes|to|as|of|has|the|a|an|value|final|answer|result"
    "|integer|therefore|thus|now|exactly|computed|determined|found|confirmed"
)
# what may stand between a name and its number: blanks, mark-up, signs of equality, a few words;
# possessive throughout, so that no text can make it slow
_LINK = rf"""(?:\s++|[`*_"'$(){{}}\[\]|~=:≈→–—]|[-=]>|-(?=\s)|\\[a-z]++|\b(?:{_SAID})\b){{1,16}}+"""
_LONE = re.compile(rf"(?<![\w.]){_NUMBER}(?!\w)")
_INTEGER = re.compile(r"([-+]?)0*([0-9]+?)(?:\.0+)?")
_ENDS = 4096


def read(text: str, target: str) -> str:
    """Return the answer as an integer's digits, "" for none.

    A number attached to the target's name that is not an integer is returned as it stands: it
    is an answer, and a wrong one.
    """
    said = re.compile(rf"(?<![A-Za-z0-9]){re.escape(target)}{_LINK}({_NUMBER})(?!\w)", re.I)
    attached = said.findall(text)
    return _plain(attached[-1]) if attached else _last(text)


def _last(text: str) -> str:
    """Return the last integer; looks at the end of a long text first."""
    for window in dict.fromkeys((text[-_ENDS:], text)):
        whole = [found for x in _LONE.findall(window) if (found := _plain(x)).lstrip("-").isdigit()]
        # the first number of a window may have been cut
        if len(whole) > 1 or (whole and window == text):
            return whole[-1]
    return ""


def _plain(number: str) -> str:
    found = _INTEGER.fullmatch(number)
    if found is None:
        return number
    return ("-" if found[1] == "-" and found[2] != "0" else "") + found[2]
