"""The words of simulated users: the prompt, the lines that end a conversation, what betrays one."""

from __future__ import annotations

import hashlib
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.records import UserEnding


class UserWording(DataRecord, frozen=True, kw_only=True):
    """The words, see `simulated_user.toml`."""

    role: str
    goal: str
    persona: str
    knows: str
    does_not_know: str
    stop: str
    rules: Annotated[str, Meta(pattern=placeholders("done", "not_possible"))]
    kick_off: str
    done_marker: str
    not_possible_marker: str
    neutral_answer: str
    assistant_phrases: frozenset[str]
    assistant_labels: tuple[str, ...]
    call_marks: frozenset[str]


def user_wording() -> UserWording:
    """Return the words."""
    return read_table(__file__, "simulated_user.toml", UserWording)


def wording_digest() -> str:
    """Return the SHA-256 over all words, in hex."""
    return hashlib.sha256(msgspec.json.encode(user_wording(), order="deterministic")).hexdigest()


class UserProfile(NamedTuple):
    """What the model of a user reads of one task; a text that is "" is left out."""

    goal: str
    persona: str = ""
    knows: str = ""
    does_not_know: str = ""
    stop: str = ""


def write_system_prompt(profile: UserProfile) -> str:
    """Return what the model of a user reads before the conversation."""
    words = user_wording()
    headings = {
        words.goal: profile.goal,
        words.persona: profile.persona,
        words.knows: profile.knows,
        words.does_not_know: profile.does_not_know,
        words.stop: profile.stop,
    }
    parts = [f"{heading}\n{text}" for heading, text in headings.items() if text.strip()]
    # no format: a goal may have braces
    rules = words.rules.replace("{done}", words.done_marker)
    rules = rules.replace("{not_possible}", words.not_possible_marker)
    return "\n\n".join([words.role.strip(), *parts, rules.strip()])


def split_ending(text: str) -> tuple[str, UserEnding]:
    """Return what a user says, and how it ends the conversation, "" where it does not.

    It ends it by a marker that is alone on the last line; a marker elsewhere is text.
    """
    words = user_wording()
    text = text.strip()
    said, _, last = text.rpartition("\n")
    match last.strip():
        case words.done_marker:
            return said.strip(), "done"
        case words.not_possible_marker:
            return said.strip(), "not_possible"
    return text, ""
