"""Whether an answer withdraws a value, leaves it unconfirmed, or excludes it after it.

Each guard looks at a bounded number of tokens around a value, as those of `statement_guards` do.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolmark.language.value_tokens import ValueToken, is_glued, text_at
from toolmark.scoring.comparators.guard_words import guard_words, phrases

DENIED = "it is denied"
RULED_OUT = "it is ruled out"
_WINDOW = 24  # tokens of a sentence before and after a value
_MAX_REFERENCE_GAP = 8  # tokens between a value and "that is wrong"
_MAX_MARK_GAP = 8  # tokens of a line between a value and a cross
_REFERENCES = frozenset({"that", "this", "which", "it"})
_SHORT_REFERENCES = frozenset({"that's", "it's", "this's"})
_CONDITIONALS = frozenset({"would", "might", "may"})
_PLURALS = frozenset({"are", "were", "have"})
_CLAUSE_OPENERS = frozenset({"and", "but", "though", "although", "yet", "because", "however"})
_CROSSES = frozenset("✘✗✕❌✖")
_SENTENCE_ENDS = frozenset(".!?;")
_PARTS = _SENTENCE_ENDS | {":"}


def sentence_start(tokens: Sequence[ValueToken], at: int, ends: frozenset[str] = _PARTS) -> int:
    """Return where the sentence of a token begins, or the tokens before it that are looked at."""
    low = max(at - _WINDOW, 0)
    start = at
    while start > low and not tokens[start].new_line:
        if tokens[start - 1].text in ends and not is_glued(tokens, start):
            break
        start -= 1
    return start


def sentence_end(
    tokens: Sequence[ValueToken], at: int, ends: frozenset[str] = _SENTENCE_ENDS
) -> int:
    """Return where the sentence of the token before `at` ends, at most a window further."""
    high = min(at + _WINDOW, len(tokens))
    while at < high and not tokens[at].new_line:
        if tokens[at].text in ends and not is_glued(tokens, at + 1):
            break
        at += 1
    return at


def find_withdrawal(
    tokens: Sequence[ValueToken], first: int, last: int, following: int, *, has_other: bool
) -> str:
    """Return why a value is withdrawn or unconfirmed, "" where it is neither.

    `following` is where the next value begins, `has_other` whether that is another value.
    """
    if (
        _is_withdrawn(tokens, first, last, has_other)
        or _is_replaced(tokens, last)
        or _is_likeness(tokens, first, last)
        or _is_denied_later(tokens, last, following)
    ):
        return "it is taken back"
    return "it is not confirmed" if _is_unconfirmed(tokens, first, last) else ""


def _is_replaced(tokens: Sequence[ValueToken], last: int) -> bool:
    """Return whether the value was only a proposal: 15 had been considered, but it is 16."""
    copula = phrases("copulas").end_at(tokens, last)
    proposed = phrases("proposals").end_at(tokens, skip_adverb(tokens, copula)) if copula else 0
    end = sentence_end(tokens, last)
    return bool(proposed) and phrases("contrasts").find_in(tokens, proposed, end) >= 0


def _is_likeness(tokens: Sequence[ValueToken], first: int, last: int) -> bool:
    """Return whether something only looks like the value: it looks like oak but is beech."""
    first -= text_at(tokens, first - 1) in {"a", "an", "the"}
    alike = any(
        phrases("likenesses").end_at(tokens, at) == first for at in range(max(first - 2, 0), first)
    )
    end = sentence_end(tokens, last)
    contrast = phrases("contrasts").find_in(tokens, last, end) if alike else -1
    return contrast >= 0 and bool(phrases("copulas").end_at(tokens, contrast + 1))


def _is_withdrawn(tokens: Sequence[ValueToken], first: int, last: int, has_other: bool) -> bool:
    """Return whether a first reading is followed by another: I considered 15, but it is 16."""
    opener = phrases("first_readings").find_in(tokens, sentence_start(tokens, first), first)
    if opener >= 0 and tokens[opener].folded in _CONDITIONALS:
        opener = -1 if text_at(tokens, opener - 1) in {"i", "we"} else opener  # I would say 15
    if opener < 0 or phrases("turns").find_in(tokens, opener, first) >= 0:
        return False
    end = sentence_end(tokens, last)
    after = end + (end < len(tokens) and tokens[end].kind == "sign")
    turned = phrases("contrasts").find_in(tokens, last, end) >= 0
    return turned or has_other or bool(phrases("contrasts").end_at(tokens, after))


def _is_denied_later(tokens: Sequence[ValueToken], last: int, following: int) -> bool:
    """Return whether a word that refers to the value denies it: 15, but that's wrong."""
    end = sentence_end(tokens, last)
    for at in range(last, min(last + _MAX_REFERENCE_GAP, following, len(tokens))):
        before = tokens[at - 1]
        opens = at == last or before.kind == "sign" or before.folded in _CLAUSE_OPENERS
        opens = opens or tokens[at].folded == "but"
        if tokens[at].folded == "but" and at > end:
            return False  # it belongs to what another sentence names
        if opens and _denies_from(tokens, at):
            return True
    return False


def _denies_from(tokens: Sequence[ValueToken], at: int) -> bool:
    if tokens[at].folded in _SHORT_REFERENCES:
        return bool(phrases("denials_after").end_at(tokens, skip_adverb(tokens, at + 1)))
    refers = tokens[at].folded in _REFERENCES or tokens[at].folded == "but"
    return refers and is_denied_from(tokens, at + 1, may_count=True)


def is_denied_from(tokens: Sequence[ValueToken], at: int, *, may_count: bool = False) -> bool:
    """Return whether a form of to be and a denial follow: is wrong, has to be ruled out.

    `may_count`: the value may count what is excluded, as in "12 were rejected".
    """
    copula = phrases("copulas").end_at(tokens, at)
    after = skip_adverb(tokens, copula) if copula else 0
    if copula and phrases("denials_after").end_at(tokens, after):
        return True
    counts = may_count and text_at(tokens, at) in _PLURALS
    if copula and not counts and phrases("exclusions").end_at(tokens, after):
        return True
    negative = phrases("negative_copulas").end_at(tokens, at)
    return bool(negative and phrases("denied_after").end_at(tokens, skip_adverb(tokens, negative)))


def skip_adverb(tokens: Sequence[ValueToken], at: int) -> int:
    """Return where a clause goes on after an adverb."""
    return at + (text_at(tokens, at).endswith("ly") or text_at(tokens, at) in {"just", "also"})


def is_excluded(tokens: Sequence[ValueToken], last: int) -> bool:
    """Return whether what follows a value excludes it: fails, drops out, a cross."""
    at = last + (text_at(tokens, last) == ":")
    if phrases("exclusions_after").end_at(tokens, at):
        return True
    is_relative = text_at(tokens, at) == "," and text_at(tokens, at + 1) in {"which", "who"}
    if is_relative and phrases("relative_exclusions").end_at(tokens, at + 2):
        return True
    for i in range(last, min(last + _MAX_MARK_GAP, len(tokens))):
        if tokens[i].new_line:
            return False
        if tokens[i].text in _CROSSES:
            return i + 1 == len(tokens) or tokens[i + 1].new_line
    return False


def _is_unconfirmed(tokens: Sequence[ValueToken], first: int, last: int) -> bool:
    """Return whether the sentence goes on to leave the value open: ..., which I can't confirm.

    "It is 15, though I could not verify it" states 15.
    """
    end = sentence_end(tokens, last)
    at = phrases("unconfirmed").find_in(tokens, last, end)
    if at < 0:
        return False
    return not any(token.folded in _CLAUSE_OPENERS for token in tokens[last:at])


def is_bare_end(tokens: Sequence[ValueToken], first: int, last: int, following: int) -> bool:
    """Return whether a date or time is one of two of which the other is written in short.

    The 27th or 28th of February; from 3 to 4 pm; 4 pm or 5.
    """
    at = first if tokens[first].new_line else _skip_back(tokens, first - 1)
    if tokens[at].new_line:
        at = -1
    if text_at(tokens, at) in _PAIR_SIGNS and _is_bare_number(tokens, _skip_back(tokens, at - 1)):
        return phrases("changes").find_in(tokens, max(at - 6, 0), at) < 0
    if text_at(tokens, at) == "and":
        low = max(at - 6, 0)
        other = _skip_back(tokens, at - 1)
        is_range = phrases("range_openers").find_in(tokens, low, other) >= 0
        return is_range and _is_bare_number(tokens, other)
    mark = text_at(tokens, last) if last < len(tokens) else ""
    after = last + 1 + (text_at(tokens, last + 1) == "the")
    if mark not in _PAIR_SIGNS or following <= after or after >= len(tokens):
        return False
    ends = after + 1 >= len(tokens) or not is_glued(tokens, after + 1)
    is_short = tokens[after].kind == "number" and len(tokens[after].text) < 3
    rank = text_at(tokens, after + 1) in _ORDINAL_ENDS
    return is_short and (ends or rank or tokens[after + 1].text in ".,;!?)")


_PAIR_SIGNS = frozenset({"or", "/", "to", "till", "until", "through", "-", "–", "—", "‐", "‑"})
_ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th"})
_LEADS = frozenset({"the", "a", "an", "maybe", "perhaps", "possibly", "probably", "on", "at", ","})


def _skip_back(tokens: Sequence[ValueToken], at: int) -> int:
    for _ in range(4):
        if text_at(tokens, at) not in _LEADS:
            break
        at -= 1
    return at


def _is_bare_number(tokens: Sequence[ValueToken], at: int) -> bool:
    if at < 0:
        return False
    at -= text_at(tokens, at) in _ORDINAL_ENDS and is_glued(tokens, at)
    if at < 0 or (is_glued(tokens, at) and tokens[at - 1].kind != "sign"):
        return False
    text = tokens[at].text
    return (text.isdigit() and len(text) < 3) or text_at(tokens, at) in guard_words().short_numbers
