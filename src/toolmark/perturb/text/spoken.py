"""Written requests as a person would say them: the rule-based rewrite.

Numbers, dates, money, units, addresses, codes and signs are read out; names that a listener could
not write down are spelled; the wording becomes that of talk. Words that carry facts keep their
wording. Rules only, no network; draws come from the generator given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from random import Random

from toolmark import seeds
from toolmark.perturb.text import lexer, readout, survive
from toolmark.perturb.text.facts import Change, Fact, Said
from toolmark.perturb.text.tables import VERBS

WORDING = ("layout", "contraction", "opening", "name")
FEATURES = (*readout.FEATURES, *WORDING)
"""What can be switched on and off. Reading out: numbers and signs; wording: the rest."""

_NAMES_MOST = 3  # nobody spells more names than this in one breath

_CONTRACTIONS = (
    (r"\b(I) am(?= \w)", r"\1'm"),
    (r"\b(I|[Yy]ou|[Ww]e|[Tt]hey) have (?=\w+ed\b|been\b)", r"\1've "),
    (r"\b(I|[Yy]ou|[Ww]e|[Tt]hey) would like\b", r"\1'd like"),
    (r"\b([Dd]o|[Dd]oes|[Dd]id) not\b", r"\1n't"),
    (r"\b([Ii]s|[Aa]re|[Ww]as|[Ww]ere|[Hh]as|[Hh]ave|[Cc]ould|[Ss]hould|[Ww]ould) not\b", r"\1n't"),
    (r"\b([Cc])annot\b", r"\1an't"),
    (r"\b([Ww]hat|[Ww]here|[Ww]ho|[Hh]ow|[Tt]hat|[Ii]t|[Tt]here) is (?=\w)", r"\1's "),
    (r"\b([Ll])et us\b", r"\1et's"), (r"\b(I|[Yy]ou|[Ww]e|[Tt]hey) will(?= \w)", r"\1'll"),
    (r"\b([Yy]ou|[Ww]e|[Tt]hey) are(?= \w)", r"\1're"),
)  # fmt: skip
_INDIRECT = re.compile(r"(?i)\b(?:what|where|who|how|as|than|whatever|wherever|whoever) $")
_SHORT = re.compile(r"(?i)(?:\b[A-Z]|\b(?:dr|mr|mrs|ms|st|no|vs|inc|ltd|co|corp|jr|sr|prof|mt))$")
_TAGGED = re.compile(  # a question of its own at the end: tell me, what is it
    r"(?i),\s*(?:and |or |so )?(?:will|would|can|could|shall|is|are|do|does|did|has|have|wh\w+|"
    r"how|okay|ok|please|right)\b[^,]*$"
)
_OPENINGS = (
    "Can you", "Could you", "Please", "Hey, can you", "I need you to", "Hi, could you",
    "I'd like you to",
)  # fmt: skip


def rewrite(
    text: str, facts: Sequence[Fact], rng: Random, *, on: Collection[str] = FEATURES
) -> Said:
    """Return the text as said, and every change with the index of its word in the written text.

    A rewrite that would lose a fact falls back to fewer features: first the wording stays, then
    all of it does. Equal generators give equal results.
    """
    said = _whole(text, facts, rng, on)
    if not survive.accepts(text, said.text, facts):
        return said
    said = _out(text, facts, on)
    return said if not survive.accepts(text, said.text, facts) else Said(text)


def special(text: str) -> str:
    """Return why a query is left out for its special characters, or "".

    Left out is what no talker would put into words: other scripts than Latin, markup and code,
    structured data (JSON), pictures and emoji, long runs of signs. Punctuation, currency,
    percent, degrees, arithmetic, addresses, quotes and lists in brackets are said.
    """
    if not text.strip():
        return "empty"
    letters = [c for c in text if c.isalpha()]
    if any(not _latin(c) for c in letters):
        return "another script"
    for pattern, reason in _SPECIAL:
        if pattern.search(text):
            return reason
    if any(_pictured(c) for c in text):
        return "pictures"
    return ""


_SPECIAL = (
    (re.compile(r"</?[A-Za-z][^<>\n]*>|^\s*\|.*\|\s*$", re.M), "markup"),
    (re.compile(r"\b(def|import|SELECT)\b[^.?!]*[({;=]|=>|;\s*$|%\w+%\\", re.M), "code"),
    (re.compile(r"[{\[]\s*[\"'][\w ]+[\"']\s*:"), "structured data"),
    (re.compile(r"[^\w\s]{5,}"), "a run of signs"),
    (re.compile(r"\\(frac|sum|int|sqrt|begin|left|text)\b|[∫∑∂∞√∈∀∃→≈]"), "notation"),
)  # fmt: skip


@lru_cache(maxsize=4096)
def _latin(letter: str) -> bool:
    code = ord(letter)
    return code < 0x250 or 0x1E00 <= code < 0x1F00 or letter in "πμ"


def _pictured(c: str) -> bool:
    return ord(c) >= 0x2600 and not 0x1E00 <= ord(c) < 0x2100 and not c.isalpha()


def _whole(text: str, facts: Sequence[Fact], rng: Random, on: Collection[str]) -> Said:
    """Apply the wording to the written text, where facts are known by place, then read it out."""
    changes: list[Change] = []
    worded = text
    if "layout" in on:
        worded = _tidied(worded, changes)
    if "contraction" in on:
        for pattern, plain in _CONTRACTIONS:
            worded = _swapped(worded, pattern, plain, facts, changes)
    if "opening" in on:
        worded = _opened(worded, facts, rng, changes)
    if "name" in on:
        worded = _spelled(worded, facts, changes)
    said = _out(worded, facts, on)
    return Said(said.text, (*changes, *said.changes))


def _out(text: str, facts: Sequence[Fact], on: Collection[str]) -> Said:
    """Read out what is written with digits and signs, in the order of days that the facts tell."""
    changes: list[Change] = []
    if "symbol" in on:
        text = _dashed(text, facts, changes)
    reading = [name for name in on if name not in WORDING]
    said = readout.read(text, reading, day_first=_day_first(text, facts))
    return Said(said.text, (*changes, *said.changes))


def _day_first(text: str, facts: Sequence[Fact]) -> bool | None:
    """Tell whether a fact holds a date of the text read with its day first; None if none does."""
    values = {str(value)[:10] for fact in facts for value in fact.values}
    for piece in lexer.lex(text):
        if piece.kind == "date":
            usual, other = (
                "{}-{:02}-{:02}".format(*lexer.calendar(piece.text, day_first=first))
                for first in (False, True)
            )
            if usual != other and {usual, other} & values:
                return usual not in values
    return None


def _dashed(text: str, facts: Sequence[Fact], changes: list[Change]) -> str:
    """Name the dashes of identifiers, which are silent between plain words."""
    for value in {value: None for fact in facts for value in survive.identity(fact)}:
        said = re.sub(r"(?<=[a-z])-(?=[a-z])|(?<=\d)-(?=[a-z]{3})", " dash ", value)
        for m in reversed(list(re.finditer(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text))):
            if said != value:
                changes.append(Change("symbol", _place(text, m.start()), value, said))
                text = text[: m.start()] + said + text[m.end() :]
    return text


def _place(text: str, at: int) -> int:
    return len(text[:at].split())


def _taken(text: str, facts: Sequence[Fact]) -> list[tuple[int, int]]:
    return [span for fact in facts for value in fact.values for span in survive.spans(text, value)]


_LAYOUT = (
    (r"\b([fgh])\(([a-z])\)", r"\1 of \2"), (r"(?<=\d) ?[x×] ?(?=10\^)", " times "),
    (r"\*\*([^*\n]+)\*\*", r"\1"), (r"([?!])[?!]+", r"\1"),
    (r"[ \t]{2,}", " "), (r"\r?\n[ \t]*(?:[-*•][ \t]+)?(?:\r?\n\s*)*", ", "), (r"[“”«»`]",
    ""), (r"(?<!\w)['‘]|['’](?!\w)", ""),
    (r"\s*[(\[{]\s*", ", "), (r"\s*[)\]}]\s*(?=[.,;:!?]|$)", ""), (r"\s*[)\]}]\s*", ", "),
    (r";\s", ", "), (r"(?<=\w):\s", ", "), (r"\be\.g\.,?", "for example"),
    (r"\bi\.e\.,?", "that is"), (r"\betc\.", "and so on"), (r"\bvs\.?(?!\w)", "versus"),
    (r"\bapprox\.", "approximately"), (r"(?<=[\w)])\s[-–—]{1,3}\s(?=[A-Za-z]{2})|\s[–—]\s|—", ", "),
    (r"\b([ABC])\.([CDE])\.(?=\s+[a-z])|\b([AB])\.([CD])\b", r"\1\3\2\4"),
    (r"(?<![\w.])([A-Za-z]+)\.(?=[A-Z][a-z]+(?![\w.]))", r"\1. "),
    (r"\\n", ", "), (r"(?<!\.)\.\.(?!\.)", "."), (r"\.{3,}|…", ","),
    (r"[:;]\s*,", ","), (r"[:;,]\s*([?.!])", r"\1"), (r"(?<=\w)’(?=\w)", "'"), (r"(?:,\s*){2,}",
    ", "), (r"([.!?])\s*,\s*", r"\1 "), (r"^[\s,]+", ""), (r",\s*([.!?])", r"\1"),
    (r"\s+([.,!?])(?=\s|$)", r"\1"), (r"\s*,\s*$", ""), (r"[ \t]{2,}", " "),
)  # fmt: skip


def _tidied(text: str, changes: list[Change]) -> str:
    """Take brackets, quotes and lines for what they are in talk: pauses, or nothing."""
    inches = lexer.inches(text)
    tidy = "".join(c for n, c in enumerate(text) if c != '"' or n in inches)
    for pattern, plain in _LAYOUT:
        tidy = re.sub(pattern, plain, tidy)
    if tidy != text:
        changes.append(Change("layout", 0, text, tidy))
    return tidy


def _swapped(
    text: str, pattern: str, plain: str, facts: Sequence[Fact], changes: list[Change]
) -> str:
    found = [m for m in re.finditer(pattern, text)]
    if not found:
        return text
    taken = _taken(text, facts)
    for m in reversed(found):
        if any(start < m.end() and m.start() < end for start, end in taken):
            continue
        if _INDIRECT.search(text[: m.start()]) and " " in m.group().strip():
            continue  # tell me where I am today: stressed, never contracted
        after = m.expand(plain)
        changes.append(Change("contraction", _place(text, m.start()), m.group(), after))
        text = text[: m.start()] + after + text[m.end() :]
    return text


def _opened(text: str, facts: Sequence[Fact], rng: Random, changes: list[Change]) -> str:
    """Put a request in front of a bare imperative: "Find ..." becomes "Can you find ..."."""
    draw = rng.random()
    opening = seeds.choice(rng, _OPENINGS)
    first = re.match(r"[A-Z][a-z]+(?=\s)", text)
    if not first or first.group().lower() not in VERBS or draw > 0.8:
        return text
    if any(start < first.end() for start, _ in _taken(text, facts)):
        return text
    worded = f"{opening} {first.group().lower()}{text[first.end() :]}"
    end = re.search(r"[.?!](?=\s+[A-Z]|\s*$)", worded)
    asks = opening[-3:] == "you" and not _SHORT.search(worded[: end.start() if end else 0])
    if end and end.group() == "." and asks:
        worded = worded[: end.start()] + "?" + worded[end.end() :]
    elif (
        end
        and end.group() == "?"
        and opening.startswith("I")
        and not _TAGGED.search(worded[: end.start()])
    ):
        worded = worded[: end.start()] + "." + worded[end.end() :]  # a statement now
    changes.append(Change("opening", 0, first.group(), f"{opening} {first.group().lower()}"))
    return worded


def _spelled(text: str, facts: Sequence[Fact], changes: list[Change]) -> str:
    """Spell out, after the word, names in facts that no pronouncing dictionary knows."""
    wanted: dict[str, int] = {}
    for start, end in sorted(set(_taken(text, facts))):
        for m in re.finditer(r"[A-Z][a-z]{3,}", text[start:end]):
            at, till = start + m.start(), start + m.end()
            alone = text[max(at - 1, 0) : at].strip() == "" and not text[till : till + 1].isalnum()
            if alone and m.group() not in wanted and not readout.known(m.group()):
                wanted[m.group()] = end
    if not wanted:
        return text
    ends: dict[int, list[str]] = {}
    for name in list(wanted)[:_NAMES_MOST]:
        ends.setdefault(wanted[name], []).append(name)
    for end in sorted(ends, reverse=True):
        letters = ", then ".join(" ".join(name.upper()) for name in ends[end])
        after = re.match(r"['’]s\b|[-\w]*", text[end:])
        at = end + (after.end() if after else 0)
        tail = "" if at >= len(text) or text[at] in ".,?!" else ","
        changes.append(Change("name", _place(text, at) - 1, "", f", that's {letters}{tail}"))
        text = f"{text[:at]}, that's {letters}{tail}{text[at:]}"
    return text
