"""What a model is told about its place and its answer (after MFCL, in our own words)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolmark import seeds
from toolmark.suites.mfcl.vision.item import Asked
from toolmark.types import Image, Message, Part, Text, Turn

SYSTEM = """You answer questions about a picture. What is asked for is told neither by the picture \
nor by what you know: work out what the picture shows, then look it up with the tools, in as many \
steps as it takes.

When you are done, reply with one JSON object and nothing else:
{"answer": "short and precise, no more than what is asked for", "context": "in a few words, why"}

If you have searched and cannot find the answer, reply: I do not know
If the question cannot be answered at all, reply: I cannot answer this question"""

REPLY = "I do not know."
"""What the user says who is asked back: nothing that is not in the question."""


def question(asked: Asked) -> str:
    """Return a question as it is asked: context, request, hint and form, those there are."""
    return " ".join(filter(None, (asked.context, asked.request, asked.hint, asked.form)))


def parted(asked: Asked, parts: Mapping[str, Sequence[bool]], seed: int, item: str) -> Asked:
    """Return a question with some of its parts; of several choices the item draws one.

    What else an item is hangs not on them, so that questions with and without a part are pairs.
    """
    dropped = {
        part: ""
        for part, levels in parts.items()
        if not seeds.choice(seeds.of(seed, item, 0, f"question {part}"), levels)
    }
    return replace(asked, **dropped)


def turn(asked: Asked, picture: Image | None) -> Turn:
    """Return the first turn: who the model is; then picture and question, if they are made yet."""
    system = Message(role="system", parts=(Text(SYSTEM),))
    if not asked.request:
        return Turn(messages=(system,))
    shown: tuple[Part, ...] = (picture,) if picture else ()
    return Turn(messages=(system, Message(role="user", parts=(*shown, Text(question(asked))))))
