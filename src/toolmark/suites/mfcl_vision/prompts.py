"""The system prompt and the question text of vision tasks (after MFCL, reworded)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.records import Image, Message, Part, Text, Turn
from toolmark.suites.mfcl_vision.item_records import QuestionParts

SYSTEM_PROMPT = """You answer questions about a picture. What is asked for is told neither by the \
picture nor by what you know: work out what the picture shows, then look it up with the tools, in \
as many steps as it takes.

When you are done, reply with one JSON object and nothing else:
{"answer": "short and precise, no more than what is asked for", "context": "in a few words, why"}

If you have searched and cannot find the answer, reply: I do not know
If the question cannot be answered at all, reply: I cannot answer this question"""

USER_REPLY = "I do not know."
"""The user's reply to a question of the model: it adds no information."""


def question_text(parts: QuestionParts) -> str:
    """Return a question as asked: its context, request, hint and form, as far as present."""
    return " ".join(filter(None, (parts.context, parts.request, parts.hint, parts.form)))


def select_question_parts(
    question: QuestionParts, parts: Mapping[str, Sequence[bool]], seed: int, item: str
) -> QuestionParts:
    """Return a question with some of its parts; where both levels are allowed, the item draws one.

    Nothing else of the item depends on the parts, so questions with and without a part are pairs.
    """
    dropped = {
        part: ""
        for part, levels in parts.items()
        if not seeds.draw_one(seeds.make_rng(seed, item, 0, f"question {part}"), levels)
    }
    return replace(question, **dropped)


def make_first_turn(question: QuestionParts, picture: Image | None) -> Turn:
    """Return the first turn: system prompt, then picture and question once the item is made."""
    system = Message(role="system", parts=(Text(SYSTEM_PROMPT),))
    if not question.request:
        return Turn(messages=(system,))
    picture_parts: tuple[Part, ...] = (picture,) if picture else ()
    return Turn(
        messages=(
            system,
            Message(role="user", parts=(*picture_parts, Text(question_text(question)))),
        )
    )
