"""The sentences of a message: which check what was heard, and what values they read back."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.suites.mfcl import words
from toolmark.suites.mfcl.lexicon import ASKING, SYMBOLS

# check: asks what was heard; trouble: says what was not; fragment: a question without a verb of
# asking, which may read something back; preference: asks for something else; remark: asks nothing
Kind: TypeAlias = Literal["check", "trouble", "fragment", "preference", "remark"]

_PAUSE = re.compile(r"(?<=[?!;\n])\s*|(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)(?<=\.)\s+")
_RIGHT = (
    r"(?:(?:is|was) (?:that|it|this) )?(?:(?:did|do|have) i (?:just )?(?:get|got|have|hear|heard|"
    r"catch|caught|understand|understood) (?:that |it |this |you )?|does (?:that|it|this) (?:sound|"
    r"look|seem) )?(?:right|correct|correctly)(?: to you)?"
)
_BARE = re.compile(rf"\W*{_RIGHT}\W*\Z")
_AGAIN = "repeat|restate|reconfirm|dictate|(?:run|go) (?:me )?(?:through|over)"
_STRONG = re.compile(rf"\b(spell\w*|spelt|{_AGAIN}|confirm|verify|clarify|tell me|give me|read)\b")
_START = re.compile(
    rf"\W*(?:(?:please|kindly|so|and|also|then|but|just|sorry) )*(?:spell|{_AGAIN}|confirm|verify|"
    r"clarify|tell me|give me|read|let me|i need|i want|i would like|i'd like|i (?:just )?have)"
)
_CUE = re.compile(
    rf"\b(spell\w*|spelt|{_AGAIN}|say|said|mean|meant|confirm|verify|clarify|was|is|are|were|what|"
    r"what's|which|how many|how much|hear|heard|right|correct|that's|again|number|name|give me|"
    r"tell me|read|when|where|who|who's|whose|how|mention|mentioned|pronounced?|written|caught|"
    r"catch|called)\b"
)
_SAID = re.compile(
    r"\b(did you (?:just )?(?:say|mean)) (?:that )?you (?:want(?:ed)?|would like|need)"
)
_PREFERENCE = re.compile(
    r"\bwould you (?:like|prefer|rather|want)\b|\bwould .{1,40}\bsuit\b|\bprefer\w*\b|"
    r"\bfeel like\b|\b(?:do|does) (?:you|it|they|he|she) (?:also )?"
    r"(?:want|need|like|have|wish|care)\b|"
    r"\b(?:should|shall) (?:i|we|it|they|he|she)\b|\bwant me to\b|\blike me to\b|\byou like\b|"
    r"\banything else\b|"
    r"\bare you (?!saying|referring|talking)\w+|\bready to\b|\b(?:is|if) (?:that|this|it|that's) "
    r"(?:ok|okay|fine|all right|alright)\b|\bcan i (?:also |just )?(?:help|do|book|go|proceed)\b|"
    r"\bmay i (?:go|book|proceed)\b|\bi (?:can|could|will) (?!not|need|have|hear|only)|"
    r"\btell me (?:more |something )?about\b|"
    r"(?<!talking )(?<!asking )(?<!ask )(?<!asked )\babout\W*\Z|"
    r"\b(?:ok|okay)\W*\Z"
)
# `which user shall I mention, could you spell it`: its own second half says what is meant
_SPELT = re.compile(r"\W*(?:which|what|whom?) .*\b(?:should|shall) i\b.*, .*\bspell\b")
_LOST = (
    r"(?:(?:did|could|do|can)(?:n't| not)|cannot|never|barely|hardly|only half|not)"
    r"(?: \w+ly| quite)? (?:catch|caught|get|got|hear|heard|make out|made out|understand|sure)"
    r"|(?:i|we|just|have|i've) missed|(?:get|got|getting|was|were|is|are|came|come|sounds?|sounded)"
    r"(?: \w+){0,3} (?:unclear|garbled|cut|muffled|distorted|inaudible|lost|swallowed|scrambled|"
    r"faint|fuzzy)|(?:cut|dropped|broke|broken) (?:out|off|up)|having (?:trouble|difficulty) "
    r"(?:with|hearing|understanding|catching)"
)
_TROUBLE = re.compile(rf"\b(?:{_LOST})\b")
_HEARD = re.compile(
    r"\b(?:(?:did|do) you (?:just )?(?:say|mean|want|ask for)|you (?:just )?(?:said|mean|meant)|"
    r"i (?:just |only |think i |thought i )?(?:heard|understood|have|got|caught|noted|wrote down|"
    r"picked up)|i(?:'m| am) hearing|(?:is|was) (?:it|that|this|he|she)|that's|that is|"
    r"that was|it's|called|"
    r"spell(?! (?:out|that|the|it|this|these|those|your|his|her|its|their|a|for|every\w*|all)\b)|"
    r"let me confirm\W|was the \w+|is the [\w' ]{1,30}?\b)\s+(?P<slot>.+)"
)
_TAIL = re.compile(
    rf",? {{0,3}}(?:,|is|was) {{0,3}}(?:that|this|it)? {{0,3}}(?:{_RIGHT}|yes|yeah)\W*\Z"
)
_LIKE = re.compile(r"\b(?:(?:something|anything|name|word|one) |sounds? |sounded )(?:\w+ )?like\b")
_MANNER = re.compile(
    r"\b(?:letter|digit|character|number|word) by \w+|\bat a time\b|\bslowly\b|\bonce more\b|"
    r"\bone more time\b|\bagain\b|\bspelling\b|\bspelled\b"
)
_READ = 8000  # characters of a sentence that are read; some patterns look ahead to its end
_CALL = 12  # words of an order without a verb: `The ticker, letter by letter.`
# why it is asked: a clause that asks nothing, so long as it puts no question and names nobody
_WHY = re.compile(
    r",? (?:so (?:that )?(?:i|we)|because|before (?:i|we)|in order to|(?:just )?to (?:make|be) "
    r"(?:\w+ )?(?:sure|certain|safe)|to avoid|to get (?:it|this|that|everything) right|"
    r"(?:as|since) (?:i|we|the)) "
    r"(?!.*\b(?:you|your|who|what|which|when|where|how|why|whether|if)\b)[^?,;:]*"
)
# what stands at the ends of a value read back; a letter by itself may be the value's
_ENDS = {word for word in ASKING if not word.isdecimal() and (len(word) > 1 or word in "aist")}
_CUTS = ("for", "in", "on", "at", "of", "with", "as")
_FRONT = re.compile(r"[^,:]{1,80}(?:, | - |: )(?=.*\w)")


def sentences(message: str) -> list[str]:
    """Return the sentences, plain; `Is that right?` belongs to what stands before it."""
    out: list[list[str]] = []  # in parts, as a reply may ask a thousand times whether it is right
    text = re.sub(r"\b([ap])\.m\.?", r"\1m", words.plain(message)).replace("\u2026", "...")
    for piece in _PAUSE.split(text):
        piece = " ".join(piece.split())
        if out and _BARE.match(piece):
            out[-1][-1] = out[-1][-1].rstrip(". ")
            out[-1].append("is that right?")
        elif piece.strip(" .!?-"):
            out.append([piece])
    return [", ".join(parts) for parts in out]


def _ends(sentence: str) -> str:
    """Return a sentence; of a very long one its head and its tail."""
    half = _READ // 2
    return sentence if len(sentence) <= _READ else f"{sentence[:half]} {sentence[-half:]}"


def sort(sentence: str) -> tuple[Kind, str]:
    """Tell what a sentence does, and return what of it is to be understood."""
    sentence = _ends(sentence)
    sentence = _SAID.sub(r"\1", re.sub(r"\byou (?:want(?:ed)?|need(?:ed)?) to\b", "you0", sentence))
    sentence = sentence.replace("did you say you0", "did you say").replace("you0", "you want to")
    sentence = sentence.replace("did you want ", "did you say ")
    sentence = _LIKE.sub("called", sentence)
    if _PREFERENCE.search(sentence) and not _SPELT.match(sentence):
        return "preference", sentence
    asks = sentence.endswith("?")
    sentence = _WHY.sub("", sentence)
    if asks and _CUE.search(sentence):
        return "check", sentence
    if _START.match(main(sentence)) and _STRONG.search(sentence):
        return "check", sentence
    if asks or (_MANNER.search(sentence) and len(sentence.split()) <= _CALL):
        return "fragment", sentence
    return ("trouble" if _TROUBLE.search(sentence) else "remark"), sentence


def main(sentence: str) -> str:
    """Return a sentence without the clauses in front that ask for nothing."""
    while found := _FRONT.match(sentence):
        front = found.group()
        if _STRONG.search(front) and not re.match(r"\W*(?:let me|just|to) ", front):
            break
        rest = sentence[found.end() :]
        if not (_CUE.search(rest) and set(words.tokens(rest)) - ASKING):
            break
        if _HEARD.search(front) and not front.startswith("i "):
            break
        sentence = rest
    return sentence


def slots(sentence: str, *, whole: bool = False) -> list[list[str]]:
    """Return the values that a question reads back, as words: `Austin or Boston` has two.

    `whole`: it has no verb of asking, so all of it may be one.
    """
    sentence = _ends(sentence)
    body = _TAIL.sub("", sentence.rstrip("?!. "))
    found = _HEARD.search(body)
    plain = body == sentence.rstrip("?!. ") and " or " not in sentence
    if found is None and plain and not whole:
        return []
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", found["slot"] if found else body)
    pieces = re.split(r"\bor\b|, (?:for|with|and|the)\b|,|:|\.\s", text)
    out = []
    for piece in pieces[:8]:
        inner = _bare([word for word in words.tokens(piece) if word not in SYMBOLS][:40])
        cuts = [at for at, word in enumerate(inner) if at and word in _CUTS]
        for start, end in pairwise([-1, *cuts, len(inner)]):
            out += [inner[:end], _bare(inner[start + 1 : end])] if cuts else []
        out.append(inner)
    return [slot for slot in out if slot]


def _bare(inner: list[str]) -> list[str]:
    """Return the words without those at either end with which people only ask."""
    while inner and inner[0] in _ENDS:
        inner = inner[1:]
    while inner and inner[-1] in _ENDS:
        inner = inner[:-1]
    return inner
