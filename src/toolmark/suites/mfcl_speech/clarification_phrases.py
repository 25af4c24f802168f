"""The sentences of a message: which check what was heard, and what values they read back."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

from toolmark.language import word_likeness
from toolmark.suites.mfcl_speech.clarification_lexicon import lexicon

# check: asks what was heard; trouble: says what was not; fragment: a question without a verb of
# asking, which may read something back; preference: asks for something else; remark: asks nothing
SentenceKind: TypeAlias = Literal["check", "trouble", "fragment", "preference", "remark"]

_PAUSE = re.compile(r"(?<=[?!;\n])\s*|(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)(?<=\.)\s+")
_IS_THAT_RIGHT = (
    r"(?:(?:is|was) (?:that|it|this) )?(?:(?:did|do|have) i (?:just )?(?:get|got|have|hear|heard|"
    r"catch|caught|understand|understood) (?:that |it |this |you )?|does (?:that|it|this) (?:sound|"
    r"look|seem) )?(?:right|correct|correctly)(?: to you)?"
)
_ONLY_IS_THAT_RIGHT = re.compile(rf"\W*{_IS_THAT_RIGHT}\W*\Z")
_REPEAT_VERBS = "repeat|restate|reconfirm|dictate|(?:run|go) (?:me )?(?:through|over)"
_ASKING_VERB = re.compile(
    rf"\b(spell\w*|spelt|{_REPEAT_VERBS}|confirm|verify|clarify|tell me|give me|read)\b"
)
_ASKING_START = re.compile(
    rf"\W*(?:(?:please|kindly|so|and|also|then|but|just|sorry) )*(?:spell|{_REPEAT_VERBS}|confirm|"
    r"verify|clarify|tell me|give me|read|let me|i need|i want|i would like|i'd like|"
    r"i (?:just )?have)"
)
_CHECK_CUE = re.compile(
    rf"\b(spell\w*|spelt|{_REPEAT_VERBS}|say|said|mean|meant|confirm|verify|clarify|was|is|are|were|what|"
    r"what's|which|how many|how much|hear|heard|right|correct|that's|again|number|name|give me|"
    r"tell me|read|when|where|who|who's|whose|how|mention|mentioned|pronounced?|written|caught|"
    r"catch|called)\b"
)
_DID_YOU_SAY = re.compile(
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
_SPELLING_CLAUSE = re.compile(r"\W*(?:which|what|whom?) .*\b(?:should|shall) i\b.*, .*\bspell\b")
_NOT_HEARD_PHRASES = (
    r"(?:(?:did|could|do|can)(?:n't| not)|cannot|never|barely|hardly|only half|not)"
    r"(?: \w+ly| quite)? (?:catch|caught|get|got|hear|heard|make out|made out|understand|sure)"
    r"|(?:i|we|just|have|i've) missed|(?:get|got|getting|was|were|is|are|came|come|sounds?|sounded)"
    r"(?: \w+){0,3} (?:unclear|garbled|cut|muffled|distorted|inaudible|lost|swallowed|scrambled|"
    r"faint|fuzzy)|(?:cut|dropped|broke|broken) (?:out|off|up)|having (?:trouble|difficulty) "
    r"(?:with|hearing|understanding|catching)"
)
_NOT_HEARD = re.compile(rf"\b(?:{_NOT_HEARD_PHRASES})\b")
_READ_BACK = re.compile(
    r"\b(?:(?:did|do) you (?:just )?(?:say|mean|want|ask for)|you (?:just )?(?:said|mean|meant)|"
    r"i (?:just |only |think i |thought i )?(?:heard|understood|have|got|caught|noted|wrote down|"
    r"picked up)|i(?:'m| am) hearing|(?:is|was) (?:it|that|this|he|she)|that's|that is|"
    r"that was|it's|called|"
    r"spell(?! (?:out|that|the|it|this|these|those|your|his|her|its|their|a|for|every\w*|all)\b)|"
    r"let me confirm\W|was the \w+|is the [\w' ]{1,30}?\b)\s+(?P<slot>.+)"
)
_CONFIRMATION_TAIL = re.compile(
    rf",? {{0,3}}(?:,|is|was) {{0,3}}(?:that|this|it)? {{0,3}}(?:{_IS_THAT_RIGHT}|yes|yeah)\W*\Z"
)
_SOUNDS_LIKE = re.compile(
    r"\b(?:(?:something|anything|name|word|one) |sounds? |sounded )(?:\w+ )?like\b"
)
_MANNER = re.compile(
    r"\b(?:letter|digit|character|number|word) by \w+|\bat a time\b|\bslowly\b|\bonce more\b|"
    r"\bone more time\b|\bagain\b|\bspelling\b|\bspelled\b"
)
_MAX_SENTENCE_CHARS = (
    8000  # characters of a sentence that are read; some patterns look ahead to its end
)
_MAX_ORDER_WORDS = 12  # words of an order without a verb: `The ticker, letter by letter.`
# why it is asked: a clause that asks nothing, if it has no question and names nobody
_REASON_CLAUSE = re.compile(
    r",? (?:so (?:that )?(?:i|we)|because|before (?:i|we)|in order to|(?:just )?to (?:make|be) "
    r"(?:\w+ )?(?:sure|certain|safe)|to avoid|to get (?:it|this|that|everything) right|"
    r"(?:as|since) (?:i|we|the)) "
    r"(?!.*\b(?:you|your|who|what|which|when|where|how|why|whether|if)\b)[^?,;:]*"
)
_CUT_WORDS = ("for", "in", "on", "at", "of", "with", "as")
_FRONT_CLAUSE = re.compile(r"[^,:]{1,80}(?:, | - |: )(?=.*\w)")


@cache
def _border_words() -> frozenset[str]:
    """Return what occurs at the ends of a value read back; one letter may be the value's."""
    return frozenset(
        word
        for word in lexicon().checking_words
        if not word.isdecimal() and (len(word) > 1 or word in "aist")
    )


def split_sentences(message: str) -> list[str]:
    """Return the sentences as plain text; `Is that right?` belongs to the sentence before it."""
    out: list[list[str]] = []  # in parts, as a reply may ask a thousand times whether it is right
    text = re.sub(r"\b([ap])\.m\.?", r"\1m", word_likeness.plain_text(message)).replace(
        "\u2026", "..."
    )
    for piece in _PAUSE.split(text):
        piece = " ".join(piece.split())
        if out and _ONLY_IS_THAT_RIGHT.match(piece):
            out[-1][-1] = out[-1][-1].rstrip(". ")
            out[-1].append("is that right?")
        elif piece.strip(" .!?-"):
            out.append([piece])
    return [", ".join(parts) for parts in out]


def _shorten_sentence(sentence: str) -> str:
    """Return a sentence, or the start and the end of a very long one."""
    half = _MAX_SENTENCE_CHARS // 2
    return (
        sentence
        if len(sentence) <= _MAX_SENTENCE_CHARS
        else f"{sentence[:half]} {sentence[-half:]}"
    )


def classify_sentence(sentence: str) -> tuple[SentenceKind, str]:
    """Return what a sentence does, and the part of it that has to be understood."""
    sentence = _shorten_sentence(sentence)
    sentence = _DID_YOU_SAY.sub(
        r"\1", re.sub(r"\byou (?:want(?:ed)?|need(?:ed)?) to\b", "you0", sentence)
    )
    sentence = sentence.replace("did you say you0", "did you say").replace("you0", "you want to")
    sentence = sentence.replace("did you want ", "did you say ")
    sentence = _SOUNDS_LIKE.sub("called", sentence)
    if _PREFERENCE.search(sentence) and not _SPELLING_CLAUSE.match(sentence):
        return "preference", sentence
    is_question = sentence.endswith("?")
    sentence = _REASON_CLAUSE.sub("", sentence)
    if is_question and _CHECK_CUE.search(sentence):
        return "check", sentence
    if _ASKING_START.match(main_clause(sentence)) and _ASKING_VERB.search(sentence):
        return "check", sentence
    if is_question or (_MANNER.search(sentence) and len(sentence.split()) <= _MAX_ORDER_WORDS):
        return "fragment", sentence
    return ("trouble" if _NOT_HEARD.search(sentence) else "remark"), sentence


def main_clause(sentence: str) -> str:
    """Return a sentence without the leading clauses that ask for nothing."""
    while found := _FRONT_CLAUSE.match(sentence):
        front = found.group()
        if _ASKING_VERB.search(front) and not re.match(r"\W*(?:let me|just|to) ", front):
            break
        remaining = sentence[found.end() :]
        if not (
            _CHECK_CUE.search(remaining)
            and set(word_likeness.split_tokens(remaining)) - lexicon().checking_words
        ):
            break
        if _READ_BACK.search(front) and not front.startswith("i "):
            break
        sentence = remaining
    return sentence


def read_back_slots(sentence: str, *, is_fragment: bool = False) -> list[list[str]]:
    """Return the values that a question reads back, as words: `Austin or Boston` has two.

    `is_fragment`: it has no verb of asking, so all of it may be one value.
    """
    sentence = _shorten_sentence(sentence)
    body = _CONFIRMATION_TAIL.sub("", sentence.rstrip("?!. "))
    found = _READ_BACK.search(body)
    has_no_tail = body == sentence.rstrip("?!. ") and " or " not in sentence
    if found is None and has_no_tail and not is_fragment:
        return []
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", found["slot"] if found else body)
    pieces = re.split(r"\bor\b|, (?:for|with|and|the)\b|,|:|\.\s", text)
    out = []
    for piece in pieces[:8]:
        inner = _trim_border_words(
            [
                word
                for word in word_likeness.split_tokens(piece)
                if word not in lexicon().symbol_words
            ][:40]
        )
        cuts = [index for index, word in enumerate(inner) if index and word in _CUT_WORDS]
        for start, end in pairwise([-1, *cuts, len(inner)]):
            out += [inner[:end], _trim_border_words(inner[start + 1 : end])] if cuts else []
        out.append(inner)
    return [slot for slot in out if slot]


def _trim_border_words(inner: list[str]) -> list[str]:
    """Return the words without those at either end that only belong to asking."""
    while inner and inner[0] in _border_words():
        inner = inner[1:]
    while inner and inner[-1] in _border_words():
        inner = inner[:-1]
    return inner
