"""Parse the answer of a reply: the number given for the target, else the last integer."""

from __future__ import annotations

import re
from collections.abc import Iterator

_COMMA = r"[,_'\u2009\u202f]"
_GROUP = rf"{_COMMA}[0-9]{{3}}(?![0-9])"
# possessive on single characters only: on groups, Python 3.11.2 does not take back what it consumed
_UNSIGNED = rf"(?:[0-9]{{1,3}}+(?:{_GROUP})+|[0-9]++)(?:\.[0-9]++)?(?:e[-+]?[0-9]++)?"
# no part of a version, a word or "3-digit"
_NUMBER = rf"[-+−]?{_UNSIGNED}(?!\w|\.[0-9]|-[a-z]|{_GROUP})"
# a count of something is not a value
_COUNT = (
    r"[ \t]{1,4}(?:(?:function|tool|core|more|other|different|given|parallel|nested)\s+)?"
    r"(?:calls?|functions?|steps?|rounds?|inputs?|parameters?|arguments?|times|tries|attempts?)\b(?!:)"
)
_VALUE = rf"{_NUMBER}(?!{_COUNT})"
_WORD = (
    "is|was|be|been|equals?|equal|equalling|becomes|to|as|of|has|have|the|a|an|its|value|final"
    "|answer|result|integer|number|target|variable|therefore|thus|hence|so|then|now|finally"
    "|exactly|precisely|indeed|computed|calculated|determined|found|confirmed|known|which|that"
    "|turns|turned|comes|came|works|worked|out|evaluates|resolves|amounts|must|should|will"
)
_GLUE = (
    r"""\s++|[`*"“”‘’«»'$&(){}\[\]|~=:：≈→⇒–—]|[-=]>|-(?=\s)|_(?!\w)|['’]s\b|\\[a-z]++"""
    rf"|</?[a-z]{{1,9}}>|,(?=\s{{0,4}}(?:{_WORD})\b)|\b(?:{_WORD})(?!\w)"
)
# an aside, unless it contains the value
_ASIDE = rf"\((?!(?>(?:{_GLUE}){{0,8}}){_NUMBER}[\s`*$]*\))[^()\n]{{0,200}}\)"
# what may occur between a name and its number; bounded and atomic throughout, so that no text can
# make it slow
_LINK = rf"(?>(?:{_ASIDE}|['’]s\b|{_GLUE}){{1,16}})"
_OPERATOR = r"[ \t]{0,8}[-+*/×·−][ \t]{0,8}"
_NAME = r"[`*]{0,2}[a-z_]\w{0,80}[`*]{0,2}(?:\([^()\n]{0,400}\))?[`*]{0,2}"
_SUM = (
    rf"(?>{_NUMBER}(?:{_OPERATOR}{_NUMBER}){{0,16}}"
    rf"|{_NAME}(?:{_OPERATOR}(?:{_NUMBER}|{_NAME})){{0,16}})"
)
# `= 100 + 312 = 412`: the value is the last term, if that is a number and no sum
_TERMS = rf"(?:(?>{_SUM}[ \t]{{0,8}}(?:==?|[-=]>|[≈→⇒])[\s`*$]{{0,8}})){{0,8}}"
_END = rf"(?!{_OPERATOR}{_VALUE})"
# compiled once, without the name: each task has its own
_STATEMENT = re.compile(rf"({_LINK})({_TERMS})({_VALUE}){_END}", re.I)
_STANDALONE_NUMBER = re.compile(rf"(?<![\w.])(?<![0-9]{{3}}{_COMMA}){_NUMBER}", re.I)
_INTEGER = re.compile(r"([-+]?)(?=[0-9])0*+([0-9]*+)(?:\.0++)?")
_SEPARATOR = re.compile(rf"(?<=[0-9]){_COMMA}(?=[0-9]{{3}})")
_EQUAL = re.compile(r"(?:[=≈→⇒]|\bis|\bequals)[ \t`*$]*\Z", re.I)
_MARKER = re.compile(r"[0-9]{1,2}[.)]\**\s")
_TAIL_CHARS = 4096


def parse_answer(text: str, target: str) -> str:
    """Return the answer as an integer's digits, "" for none.

    A number given for the target's name that is not an integer is returned unchanged: it is an
    answer, and a wrong one.
    """
    numbers = list(_numbers_of_target(text, target))
    return _normalise_integer(numbers[-1]) if numbers else _last_integer(text)


def _numbers_of_target(text: str, target: str) -> Iterator[str]:
    """Yield the numbers given for the target."""
    # neither within a longer name nor after `func_`
    names = rf"(?<![a-z0-9])(?<![a-z0-9]_){re.escape(target)}"
    for name in re.finditer(names, text, re.I):
        statement = _STATEMENT.match(text, name.end())
        if statement is None:
            continue
        link, terms, number = statement.groups()
        if "\n" in link and _MARKER.match(text, statement.start(3)):
            continue  # `bujxye:` followed by a numbered list
        if terms.lstrip("-+−")[:1].isdigit() or not terms or _EQUAL.search(link):
            yield number  # otherwise it belongs to another name: `for bujxye: yogipe = 977`


def _last_integer(text: str) -> str:
    """Return the last integer; the end of a long text is searched first."""
    for window in dict.fromkeys((text[-_TAIL_CHARS:], text)):
        integers = [
            found
            for x in _STANDALONE_NUMBER.findall(window)
            if (found := _normalise_integer(x)).lstrip("-").isdigit()
        ]
        # the first number of a window may have been cut
        if len(integers) > 1 or (integers and window == text):
            return integers[-1]
    return ""


def _normalise_integer(number: str) -> str:
    found = _INTEGER.fullmatch(_SEPARATOR.sub("", number).replace("−", "-"))
    if found is None:
        return number
    digits = found[2] or "0"
    return ("-" if found[1] == "-" and digits != "0" else "") + digits
