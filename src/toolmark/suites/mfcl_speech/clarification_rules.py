"""The rule-based judge: does a message only check what was heard, and what may be answered?

A question passes if every word of it is explained: by the words with which people check what they
heard, by a topic of the whitelist, by a value or a possible mishearing of it, or by the user's own
request. An unexplained word asks for something else. The rules are those of MFCL (section A6 of our
specification of it); `docs/suites/clarification.md` lists them. English only.
"""

from __future__ import annotations

import re

from toolmark.core.records import Ruling
from toolmark.suites.mfcl_speech import user_answers
from toolmark.suites.mfcl_speech.clarification_phrases import classify_sentence, split_sentences
from toolmark.suites.mfcl_speech.speech_task_data import Whitelist
from toolmark.suites.mfcl_speech.topic_matching import TopicMatcher

JUDGE_NAME = "rules"
MAX_MESSAGE_CHARS = 2000  # longest message, in characters, that can be such a question


_ANTECEDENT_KINDS = ("remark", "trouble")
_BACK_REFERENCE = re.compile(
    r"\b(?:it|that|this|them|those|these)\b|\bthe (?:(?:proper|correct|exact|right|full) )?"
    r"(?:spelling|name|word|number|value)\b"
)
_SPELLING_REQUEST = re.compile(
    r"\bspel\w+|\bwritten\b|\bletter\w*\b|\bcharacters?\b|\bdigits?\b(?! number)|\bone at a time\b"
)


def rule_on_message(message: str, whitelist: Whitelist, request: str) -> Ruling:
    """Return the ruling on a message without calls.

    `whitelist` is what may be revealed, `request` what the user wants: it only explains words of
    the question, and nothing of it is ever revealed. The reply contains the requested values and no
    other word: canonical spelling, then letter by letter where the spelling was asked for.
    """
    if len(message) > MAX_MESSAGE_CHARS:
        return Ruling(allowed=False, reason="too long", judge=JUDGE_NAME)
    listener = TopicMatcher(whitelist, request)
    sorted_sentences = [classify_sentence(sentence) for sentence in split_sentences(message)]
    spelled_by_topic: dict[str, bool] = {}
    has_preference = False
    for index, (kind, sentence) in enumerate(sorted_sentences):
        if kind in ("preference", "remark"):
            has_preference |= kind == "preference"
            continue
        found = listener.match_topics(sentence, is_fragment=kind == "fragment")
        if isinstance(found, str) and kind != "check":
            has_preference |= kind == "fragment"
            continue
        previous = sorted_sentences[index - 1] if index else ("check", "")
        if (
            isinstance(found, str)
            and previous[0] in _ANTECEDENT_KINDS
            and _BACK_REFERENCE.search(sentence)
        ):
            found = listener.match_topics(f"{previous[1]} {sentence}")
        if isinstance(found, str):
            return Ruling(allowed=False, reason=found, judge=JUDGE_NAME)
        is_spelled = _SPELLING_REQUEST.search(sentence) is not None
        spelled_by_topic |= {
            topic: spelled_by_topic.get(topic, False) or is_spelled for topic in found
        }
    if not spelled_by_topic:
        return Ruling(
            allowed=False, reason="preference" if has_preference else "chat", judge=JUDGE_NAME
        )
    topics = tuple(topic for topic in whitelist if topic in spelled_by_topic)
    return Ruling(
        allowed=True,
        reply=user_answers.format_reply(whitelist, spelled_by_topic),
        topics=topics,
        judge=JUDGE_NAME,
    )
