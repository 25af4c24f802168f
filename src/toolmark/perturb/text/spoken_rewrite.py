"""Rewrite written requests by rules, as a person would say them.

Numbers, dates, money, units, addresses, codes and signs are read aloud. Names whose spelling a
listener cannot know are spelled out. The wording becomes that of speech, except words that carry
facts. There is no network access; random draws come from the given generator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from random import Random

from toolmark.core import seeds
from toolmark.language import spoken_forms, spoken_letters, text_lexer, value_survival
from toolmark.language.argument_facts import Fact, SpokenText, TextChange
from toolmark.language.value_words import value_words
from toolmark.perturb.text.request_words import request_words

WORDING_FEATURES = ("layout", "contraction", "opening", "name")
FEATURES = (*spoken_forms.FEATURES, *WORDING_FEATURES)
"""The features that can be switched on and off: reading numbers and signs aloud, and wording."""

_MAX_SPELLED_NAMES = 3  # speakers do not spell more names than this at once

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
_INDIRECT_QUESTION = re.compile(r"(?i)\b(?:what|where|who|how|as|than|whatever|wherever|whoever) $")
_ABBREVIATION = re.compile(
    r"(?i)(?:\b[A-Z]|\b(?:dr|mr|mrs|ms|st|no|vs|inc|ltd|co|corp|jr|sr|prof|mt))$"
)
_TAG_QUESTION = re.compile(  # a separate question at the end: tell me, what is it
    r"(?i),\s*(?:and |or |so )?(?:will|would|can|could|shall|is|are|do|does|did|has|have|wh\w+|"
    r"how|okay|ok|please|right)\b[^,]*$"
)


def rewrite_request(
    text: str, facts: Sequence[Fact], rng: Random, *, features: Collection[str] = FEATURES
) -> SpokenText:
    """Return the spoken text, and every change with the index of its word in the written text.

    If the rewrite would remove a fact, fewer features are used: first only reading aloud, then
    none. Equal generators give equal results.
    """
    spoken = _rewrite_wording(text, facts, rng, features)
    if not value_survival.lost_facts(text, spoken.text, facts):
        return spoken
    spoken = _read_out(text, facts, features)
    return spoken if not value_survival.lost_facts(text, spoken.text, facts) else SpokenText(text)


def exclusion_reason(text: str) -> str:
    """Return why a query is left out for its special characters, or "".

    A query is left out if a speaker could not say it: other scripts than Latin, markup and code,
    structured data (JSON), pictures and emoji, long runs of signs. Punctuation, currency, percent,
    degrees, arithmetic, addresses, quotations and lists in brackets are allowed.
    """
    if not text.strip():
        return "empty"
    letters = [c for c in text if c.isalpha()]
    if any(not _is_latin(c) for c in letters):
        return "another script"
    for pattern, reason in _EXCLUSIONS:
        if pattern.search(text):
            return reason
    if any(_is_pictograph(c) for c in text):
        return "pictures"
    return ""


_EXCLUSIONS = (
    (re.compile(r"</?[A-Za-z][^<>\n]*>|^\s*\|.*\|\s*$", re.M), "markup"),
    (re.compile(r"\b(def|import|SELECT)\b[^.?!]*[({;=]|=>|;\s*$|%\w+%\\", re.M), "code"),
    (re.compile(r"[{\[]\s*[\"'][\w ]+[\"']\s*:"), "structured data"),
    (re.compile(r"[^\w\s]{5,}"), "a run of signs"),
    (re.compile(r"\\(frac|sum|int|sqrt|begin|left|text)\b|[∫∑∂∞√∈∀∃→≈]"), "notation"),
)  # fmt: skip


@lru_cache(maxsize=4096)
def _is_latin(letter: str) -> bool:
    code = ord(letter)
    return code < 0x250 or 0x1E00 <= code < 0x1F00 or letter in "πμ"


def _is_pictograph(c: str) -> bool:
    return ord(c) >= 0x2600 and not 0x1E00 <= ord(c) < 0x2100 and not c.isalpha()


def _rewrite_wording(
    text: str, facts: Sequence[Fact], rng: Random, features: Collection[str]
) -> SpokenText:
    """Change the wording of the written text, where the places of facts are known, then read it."""
    changes: list[TextChange] = []
    changed = text
    if "layout" in features:
        changed = _tidy_layout(changed, changes)
    if "contraction" in features:
        for pattern, plain in _CONTRACTIONS:
            changed = _apply_contraction(changed, pattern, plain, facts, changes)
    if "opening" in features:
        changed = _add_opening(changed, facts, rng, changes)
    if "name" in features:
        changed = _spell_names(changed, facts, changes)
    spoken = _read_out(changed, facts, features)
    return SpokenText(spoken.text, (*changes, *spoken.changes))


def _read_out(text: str, facts: Sequence[Fact], features: Collection[str]) -> SpokenText:
    """Read digits and signs aloud, with day and month in the order that the facts imply."""
    changes: list[TextChange] = []
    if "symbol" in features:
        text = _name_dashes(text, facts, changes)
    read_out_features = [name for name in features if name not in WORDING_FEATURES]
    spoken = spoken_forms.read_out(text, read_out_features, day_first=_infer_day_first(text, facts))
    return SpokenText(spoken.text, (*changes, *spoken.changes))


def _infer_day_first(text: str, facts: Sequence[Fact]) -> bool | None:
    """Return whether the facts read a date of the text day first; None if no fact decides."""
    values = {str(value)[:10] for fact in facts for value in fact.values}
    for piece in text_lexer.lex_text(text):
        if piece.kind == "date":
            usual, other = (
                "{}-{:02}-{:02}".format(*text_lexer.parse_date(piece.text, day_first=first))
                for first in (False, True)
            )
            if usual != other and {usual, other} & values:
                return usual not in values
    return None


def _name_dashes(text: str, facts: Sequence[Fact], changes: list[TextChange]) -> str:
    """Write the dashes of identifiers as words: between plain words they are silent."""
    for value in {
        value: None for fact in facts for value in value_survival.identifier_values(fact)
    }:
        spoken = re.sub(r"(?<=[a-z])-(?=[a-z])|(?<=\d)-(?=[a-z]{3})", " dash ", value)
        for m in reversed(list(re.finditer(rf"(?<![\w-]){re.escape(value)}(?![\w-])", text))):
            if spoken != value:
                changes.append(TextChange("symbol", _word_index(text, m.start()), value, spoken))
                text = text[: m.start()] + spoken + text[m.end() :]
    return text


def _word_index(text: str, at: int) -> int:
    return len(text[:at].split())


def _fact_spans(text: str, facts: Sequence[Fact]) -> list[tuple[int, int]]:
    return [
        span
        for fact in facts
        for value in fact.values
        for span in value_survival.value_spans(text, value)
    ]


_LAYOUT_RULES = (
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


def _tidy_layout(text: str, changes: list[TextChange]) -> str:
    """Replace brackets, quotation marks and line breaks by pauses or by nothing."""
    inches = text_lexer.inch_mark_positions(text)
    tidy = "".join(c for n, c in enumerate(text) if c != '"' or n in inches)
    for pattern, plain in _LAYOUT_RULES:
        tidy = re.sub(pattern, plain, tidy)
    if tidy != text:
        changes.append(TextChange("layout", 0, text, tidy))
    return tidy


def _apply_contraction(
    text: str, pattern: str, plain: str, facts: Sequence[Fact], changes: list[TextChange]
) -> str:
    found = [m for m in re.finditer(pattern, text)]
    if not found:
        return text
    fact_spans = _fact_spans(text, facts)
    for m in reversed(found):
        if any(start < m.end() and m.start() < end for start, end in fact_spans):
            continue
        if _INDIRECT_QUESTION.search(text[: m.start()]) and " " in m.group().strip():
            continue  # "tell me where I am today": stressed, never contracted
        after = m.expand(plain)
        changes.append(TextChange("contraction", _word_index(text, m.start()), m.group(), after))
        text = text[: m.start()] + after + text[m.end() :]
    return text


def _add_opening(text: str, facts: Sequence[Fact], rng: Random, changes: list[TextChange]) -> str:
    """Add an opening to an imperative: "Find ..." becomes "Can you find ..."."""
    draw = rng.random()
    opening = seeds.draw_one(rng, request_words().openings)
    first = re.match(r"[A-Z][a-z]+(?=\s)", text)
    if not first or first.group().lower() not in value_words().imperative_verbs or draw > 0.8:
        return text
    if any(start < first.end() for start, _ in _fact_spans(text, facts)):
        return text
    changed = f"{opening} {first.group().lower()}{text[first.end() :]}"
    end = re.search(r"[.?!](?=\s+[A-Z]|\s*$)", changed)
    is_question = opening[-3:] == "you" and not _ABBREVIATION.search(
        changed[: end.start() if end else 0]
    )
    if end and end.group() == "." and is_question:
        changed = changed[: end.start()] + "?" + changed[end.end() :]
    elif (
        end
        and end.group() == "?"
        and opening.startswith("I")
        and not _TAG_QUESTION.search(changed[: end.start()])
    ):
        changed = changed[: end.start()] + "." + changed[end.end() :]  # it is a statement now
    changes.append(TextChange("opening", 0, first.group(), f"{opening} {first.group().lower()}"))
    return changed


def _spell_names(text: str, facts: Sequence[Fact], changes: list[TextChange]) -> str:
    """Spell out names in facts, after the name, if the pronouncing dictionary lacks them."""
    names_to_spell: dict[str, int] = {}
    for start, end in sorted(set(_fact_spans(text, facts))):
        for m in re.finditer(r"[A-Z][a-z]{3,}", text[start:end]):
            at, end_of_name = start + m.start(), start + m.end()
            alone = (
                text[max(at - 1, 0) : at].strip() == ""
                and not text[end_of_name : end_of_name + 1].isalnum()
            )
            if (
                alone
                and m.group() not in names_to_spell
                and not spoken_letters.is_dictionary_word(m.group())
            ):
                names_to_spell[m.group()] = end
    if not names_to_spell:
        return text
    ends: dict[int, list[str]] = {}
    for name in list(names_to_spell)[:_MAX_SPELLED_NAMES]:
        ends.setdefault(names_to_spell[name], []).append(name)
    for end in sorted(ends, reverse=True):
        letters = ", then ".join(" ".join(name.upper()) for name in ends[end])
        after = re.match(r"['’]s\b|[-\w]*", text[end:])
        at = end + (after.end() if after else 0)
        tail = "" if at >= len(text) or text[at] in ".,?!" else ","
        changes.append(
            TextChange("name", _word_index(text, at) - 1, "", f", that's {letters}{tail}")
        )
        text = f"{text[:at]}, that's {letters}{tail}{text[at:]}"
    return text
