"""The agents `baseline/ocr-search` and `baseline/blind`: one search, one page, one answer.

`baseline/blind` searches for the words of the question, `baseline/ocr-search` for the words in the
picture too. Both open the first hit. The answer is the value on that page whose label shares most
words with the question. Both see only a Request and store nothing.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolmark.baselines.word_stems import word_stems
from toolmark.core import external_commands, json_codec
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Image, Reply, Request, Text
from toolmark.environments.search_environment import FETCH_TOOL, SEARCH_TOOL
from toolmark.perturb.image import picture_file
from toolmark.suites.mfcl_vision.final_answer import UNKNOWN
from toolmark.suites.mfcl_vision.web_environment import has_split_query

TESSERACT_PACKAGE = "apt-get install tesseract-ocr"
_TIMEOUT_S = 60.0
_SPARSE_TEXT = "11"  # Tesseract's layout analysis for text anywhere in the picture
_MAX_QUERY_WORDS = 40
_WORD = re.compile(r"\w[\w'&-]*")
_LABELLED_LINE = re.compile(r"^\s*[*+-]\s+([^:\n]{1,60}):\s*(\S[^\n]*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]{0,300})\]\([^)\s]{0,2000}\)")


class BlindSearchAgent(Model):
    """Searches for the words of the question and ignores the picture."""

    name = "baseline/blind"
    calls_natively = True
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next call or the answer."""
        return _next_call(request) or _search_call(request, _question(request))


class TextSearchAgent(Model):
    """Searches for the words that Tesseract reads in the picture, and for the question's.

    Raises UsageError if Tesseract is not installed.
    """

    name = "baseline/ocr-search"
    calls_natively = True
    accepts_audio = False

    def __init__(self, media: MediaStore) -> None:
        self._media = media
        self._tesseract = external_commands.find_command("tesseract", TESSERACT_PACKAGE)
        self._free_cores = asyncio.Semaphore(os.cpu_count() or 1)

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next call or the answer. Raises DataError for an unreadable picture."""
        reply = _next_call(request)
        if reply is not None:
            return reply
        pictures = [part for part in _user_parts(request) if isinstance(part, Image)]
        async with self._free_cores:
            read = [await asyncio.to_thread(self._read_words, picture) for picture in pictures]
        return _search_call(request, " ".join([*read, _question(request)]))

    def _read_words(self, picture: Image) -> str:
        """Return the words that Tesseract reads in a picture."""
        name = f"picture {picture.sha256[:12]}"
        decoded = picture_file.decode_picture(self._media.read(picture), name)
        with TemporaryDirectory() as folder:
            # grey: on some coloured edges Tesseract does not end
            decoded.convert("L").save(Path(folder) / "picture.pgm")
            command = [self._tesseract, "picture.pgm", "stdout", "--psm", _SPARSE_TEXT]
            text = external_commands.run_command(
                command, Path(folder), timeout_s=_TIMEOUT_S, env={"OMP_THREAD_LIMIT": "1"}
            )
        # shorter pieces are mostly noise
        return " ".join(word for word in text.split() if len(word) > 2 and word.isalpha())


def _user_parts(request: Request) -> list[Any]:
    user_message = next((each for each in request.messages if each.role == "user"), None)
    return [] if user_message is None else list(user_message.parts)


def _question(request: Request) -> str:
    return "\n".join(part.text for part in _user_parts(request) if isinstance(part, Text))


def _search_call(request: Request, text: str) -> Reply:
    """Return the search for the first words of a text; without tools, that it does not know."""
    if not request.tools:
        return Reply(text=UNKNOWN)
    words = [word for word in _WORD.findall(text) if word_stems(word)]
    parameter = "query_text" if has_split_query(request.tools) else "keywords"
    query = " ".join(words[:_MAX_QUERY_WORDS])
    return _call_reply(SEARCH_TOOL, {parameter: query, "max_results": 1})


def _next_call(request: Request) -> Reply | None:
    """Return the fetch of the first hit, or the answer; None before the search."""
    results = [message.text for message in request.messages if message.role == "tool"]
    match results:
        case []:
            return None
        case [hits]:
            hrefs = [row["href"] for row in json_codec.parse_rows(hits) if row.get("href")]
            if not hrefs:
                return Reply(text=UNKNOWN)
            return _call_reply(FETCH_TOOL, {"url": hrefs[0], "mode": "markdown"})
        case _:
            return Reply(text=best_answer(_page_text(results[1]), _question(request)))


def _call_reply(tool: str, arguments: dict[str, Any]) -> Reply:
    text = json.dumps(arguments, ensure_ascii=False)
    return Reply(calls=(Call(name=tool, arguments=text, id=f"call_{tool}"),))


def _page_text(result: str) -> str:
    """Return the page in the result of a fetch, "" if there is none."""
    try:
        fields = json.loads(result)
    except (ValueError, RecursionError):
        return ""
    content = fields.get("content") if isinstance(fields, dict) else None
    return content if isinstance(content, str) else ""


def best_answer(page: str, question: str) -> str:
    """Return the answer with the value whose label shares most words with the question."""
    stems = word_stems(question)
    best = max(
        _labelled_values(page), key=lambda each: len(word_stems(each[0]) & stems), default=None
    )
    if best is None:
        return UNKNOWN
    label, value = best
    return json.dumps({"answer": value, "context": label}, ensure_ascii=False)


def _labelled_values(page: str) -> Iterator[tuple[str, str]]:
    """Yield the lines "* label: value" of a page in Markdown, links as their text."""
    for label, value in _LABELLED_LINE.findall(_LINK.sub(r"\1", page)):
        yield label.strip(" *"), value.strip(" *")
