"""The agents `baseline/ocr-search`, which reads the picture, and `baseline/blind`.

Both see only a Request and store nothing. They replay their previous steps from the results in the
messages.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence

from msgspec.structs import replace

from toolmark.baselines.desk_agent import results_by_round
from toolmark.baselines.desk_tools import Toolkit
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Image, Message, Reply, Request, Text
from toolmark.suites.mfcl_vision.baselines import question_analysis as asking
from toolmark.suites.mfcl_vision.baselines import sign_candidates
from toolmark.suites.mfcl_vision.baselines.fact_search import (
    FoundAnswer,
    SearchLead,
    search_for_fact,
)
from toolmark.suites.mfcl_vision.baselines.question_analysis import AnalysedQuestion
from toolmark.suites.mfcl_vision.baselines.sign_candidates import SignCandidate
from toolmark.suites.mfcl_vision.baselines.text_recognition import (
    RecognisedText,
    Tesseract,
    TextRecogniser,
)

UNKNOWN_ANSWER = "I do not know"
# Words of the question in a query.
_MAX_QUERY_WORDS = 12


class TextSearchAgent(Model):
    """Reads the words of the picture with Tesseract, searches for them, and reads pages.

    Without tools it answers with text from the picture. Raises UsageError if Tesseract is not
    installed.
    """

    name = "baseline/ocr-search"
    accepts_audio = False

    def __init__(self, media: MediaStore, recogniser: TextRecogniser | None = None) -> None:
        self._media = media
        self._recogniser = recogniser or Tesseract()
        self._semaphore = asyncio.Semaphore(os.cpu_count() or 1)

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next calls or the answer. Raises DataError for an unreadable picture."""
        question = _read_question(request.messages)
        pictures = [part for message in request.messages if message.role == "user"
                    for part in message.parts if isinstance(part, Image)]  # fmt: skip
        pages = [await self._recognise(picture) for picture in pictures]
        found = [sign for page in pages for sign in sign_candidates.find_candidates(page)]
        if not request.tools:
            return Reply(text=_answer_text(_answer_from_picture(question, found)))
        return _replay_search(request, question, _first_leads(question, found))

    async def _recognise(self, picture: Image) -> RecognisedText:
        async with self._semaphore:
            data = self._media.read(picture)
            return await asyncio.to_thread(
                self._recogniser.read, data, f"picture {picture.sha256[:12]}"
            )


class BlindSearchAgent(Model):
    """Searches with the words of the question and ignores the picture."""

    name = "baseline/blind"
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next calls or the answer."""
        question = _read_question(request.messages)
        return _replay_search(request, question, _first_leads(question, []))


def _answer_from_picture(
    question: AnalysedQuestion, found: Sequence[SignCandidate]
) -> FoundAnswer | None:
    """Return the sign at the position that the question states, if its text may be the answer."""
    fitting = [sign for sign in found if asking.is_of_kind(sign.text, question.answer_kind)]
    best = max(
        fitting,
        key=lambda sign: sign.plain + 2 * sign_candidates.position_fit(sign, question.text),
        default=None,
    )
    return None if best is None else FoundAnswer(best.text, ("the picture",), best.plain)


def _read_question(messages: Sequence[Message]) -> AnalysedQuestion:
    user_message = next((message for message in messages if message.role == "user"), None)
    parts = (
        []
        if user_message is None
        else [part.text for part in user_message.parts if isinstance(part, Text)]
    )
    return asking.analyse_question("\n".join(parts))


def _first_leads(question: AnalysedQuestion, found: Sequence[SignCandidate]) -> list[SearchLead]:
    """Return the first leads: the words of each sign, or without signs those of the question."""
    if not found:
        content_words = [word for word in question.text.split() if asking.word_stems(word)]
        return [
            SearchLead(
                " ".join(content_words[:_MAX_QUERY_WORDS]), 0.0, question.stems, min_likeness=0.0
            )
        ]
    return [
        SearchLead(
            sign.text,
            sign.plain + 2 * sign_candidates.position_fit(sign, question.text),
            question.stems,
        )
        for sign in found
    ]


def _replay_search(
    request: Request, question: AnalysedQuestion, leads: Sequence[SearchLead]
) -> Reply:
    """Replay the search up to the current messages; return the next reply."""
    search = search_for_fact(question, leads, Toolkit(request.tools))
    try:
        calls = next(search)
        for results in results_by_round(request.messages):
            calls = search.send(results)
    except StopIteration as end:
        return Reply(text=_answer_text(end.value))
    round_number = sum(bool(message.calls) for message in request.messages)
    numbered_calls = [replace(call, id=f"call_{round_number}_{n}") for n, call in enumerate(calls)]
    return Reply(calls=tuple(numbered_calls))


def _answer_text(find: FoundAnswer | None) -> str:
    if find is None:
        return UNKNOWN_ANSWER
    path = " > ".join(name for name in find.names if name)
    return json.dumps({"answer": find.value, "context": path}, ensure_ascii=False)
