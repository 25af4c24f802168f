"""What a reader must know of who answered: that it changed, lost its thoughts, or was cut."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from toolmark.core.number_format import format_count, pluralize
from toolmark.core.text_excerpt import shorten_text
from toolmark.runs.reply_facts import AnsweredName, AnsweredNames, ReplyFacts

MAX_NAMED = 3  # names that a caution lists
MAX_NAME_CHARS = 60
MAX_OVERLAP = 0.05  # of all replies: so far episodes at the same time mix two names, one after one
MIN_CUT_SHARE = 0.01  # of the replies, from which it is said that they were cut
NAME_KINDS = {
    "models": "model version",
    "fingerprints": "system fingerprint",
    "upstreams": "upstream provider",
}
"""What readers call the kinds of names, by the fields of `ReplyFacts`."""
LOSSES = {
    "state_dropped": "the model did not get back its thoughts",
    "state_patched": "what the model got back of its thoughts was completed",
}


def list_cautions(facts: ReplyFacts, max_tokens: int | None = None) -> Iterator[str]:
    """Yield a sentence on each kind of name that changed, on lost thoughts, and on cut replies.

    `max_tokens` is the limit of a reply in the settings of the run, None for none.
    """
    for field, label in NAME_KINDS.items():
        names: AnsweredNames = getattr(facts, field)
        if names.n_names > 1:
            yield describe_change(names, label)
    for kind, label in LOSSES.items():
        if (found := facts.adaptations.get(kind)) is not None:
            n = f"{format_count(found.n_replies)} of {pluralize(facts.n_replies, 'request')}"
            yield f"{label} in {n}: {next(iter(found.examples), kind)}"
    if facts.n_cut and facts.n_cut >= MIN_CUT_SHARE * facts.n_replies:
        yield _describe_cut(facts, max_tokens)


def _describe_cut(facts: ReplyFacts, max_tokens: int | None) -> str:
    """Return that replies were cut, at which limit, and what to do."""
    n = f"{format_count(facts.n_cut)} of {pluralize(facts.n_replies, 'reply', 'replies')}"
    limit = (
        "that of the endpoint or of its wire, as --max-tokens sets none"
        if max_tokens is None
        else f"max_tokens {max_tokens}"
    )
    were = "was" if facts.n_cut == 1 else "were"
    return f"{n} {were} cut at the limit of tokens ({limit}); next: a higher --max-tokens"


def describe_change(names: AnsweredNames, label: str) -> str:
    """Return that several names of a kind answered: how many replies each, and until when.

    Names whose replies lie among those of another one have no end.
    """
    takes_turns = any(
        earlier.last_reply - later.first_reply > MAX_OVERLAP * _last_reply(names)
        for earlier, later in pairwise(names.names)
    )
    shown = sorted(names.names, key=lambda each: -each.n_replies)[:MAX_NAMED]
    listed = [
        _name_text(each, has_end=not takes_turns and each.last_reply < _last_reply(names))
        for each in names.names
        if each in shown
    ]
    if names.n_names > MAX_NAMED:
        listed.append(f"and {format_count(names.n_names - MAX_NAMED)} more")
    how = " by turns" if takes_turns else ""
    return f"{pluralize(names.n_names, label)} answered{how}: {', '.join(listed)}"


def _last_reply(names: AnsweredNames) -> int:
    return max(each.last_reply for each in names.names)


def _name_text(found: AnsweredName, *, has_end: bool) -> str:
    text = pluralize(found.n_replies, "reply", "replies")
    if found.n_from_cache == found.n_replies:
        text += " from the cache"
    elif found.n_from_cache:
        text += f", {format_count(found.n_from_cache)} of them from the cache"
    end = f", until {found.last_episode}" if has_end else ""
    return f"{shorten_text(found.name, MAX_NAME_CHARS)} ({text}{end})"
