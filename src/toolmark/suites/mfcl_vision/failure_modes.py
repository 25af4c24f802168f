"""Failure modes of vision episodes, by rules on searches, opened pages and the answer (B4).

| mode | evidence |
|---|---|
| 2 avoiding tool use | no search before the answer |
| 5 over-reliance on the question | every query is made of the question's words only |
| 3 poor keywords | no query names anything visible, lettering or appearance |
| 1B ignored text | the clue is lettering, and queries describe appearance, never the lettering |
| 1D myopia | the answer is that of the object in the foreground |
| 1C subset confusion | the answer is that of a look-alike |
| 4 first-hop bias | the first query follows another object, and no later query changes this |
| 6 abandoned lead | a query found a page on the path, and the answer is another |
| 1A visual error | a query names something that is not in the picture: misread, or misjudged |

The table is in order of precedence. An error that the same model also makes on the undamaged
picture is `other`: the damage is not its cause. `forced` and `form` are not errors of this kind:
the episode was ended, or the reply was not in the requested form. An error that no rule explains is
`unexplained`. For items whose clue is unknown, only modes 2, 5 and, if pages are known, 6 can be
detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolmark.core import json_codec
from toolmark.core.records import Cause, Label
from toolmark.environments.page_address import page_key
from toolmark.suites.mfcl_vision import final_answer, query_words
from toolmark.suites.mfcl_vision.episode_actions import EpisodeActions, SearchQuery
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark

OTHER_MODE = "other"
FORCED_MODE = "forced"
FORM_MODE = "form"
UNEXPLAINED_MODE = "unexplained"
MODE_LABELS: dict[str, str] = {
    "1A": "visual reasoning error",
    "1B": "ignored image text",
    "1C": "subset confusion",
    "1D": "myopia",
    "2": "avoiding tool use",
    "3": "poor keyword selection",
    "4": "first-hop bias",
    "5": "over-reliance on the question",
    "6": "abandoning promising leads",
}
FIGURE5_MODES = {"1A": "1", "1B": "1", "1C": "1", "1D": "1", "4": "1", "6": "1"}
"""Figure 5 of the paper shows modes 1, 2, 3 and 5 only; modes 4 and 6 count under 1 there."""
IMAGE_MENTION_MODE = "3 in image"
"""Native class of the label added to mode 3: a query assumes that the tool sees the picture."""
_CAUSE_BY_MODE: dict[str, Cause] = {
    "1A": "perception", "1B": "perception", "1C": "perception", "1D": "perception",
    "2": "missing_call", "3": "retrieval", "4": "retrieval", "5": "retrieval", "6": "retrieval",
}  # fmt: skip
_MAX_QUOTED_CHARS = 160


def figure5_mode(mode: str) -> str:
    """Return the mode under which Figure 5 counts this mode."""
    return FIGURE5_MODES.get(mode, mode)


def find_modes(truth: ItemTruth, actions: EpisodeActions) -> list[Label]:
    """Return the modes of a failed episode in order of precedence; empty if no rule matches.

    Each label's evidence names the query, the sign or the page. The function has no side effects.
    """
    case = FailureCase(truth, actions)
    rules = (
        ("2", _avoids_search),
        ("5", _repeats_question),
        ("3", _uses_poor_keywords),
        ("1B", _ignores_lettering),
        ("1D", _answers_foreground),
        ("1C", _answers_lookalike),
        ("4", _first_hop_bias_evidence),
        ("6", _abandons_lead),
        ("1A", _misreads_picture),
    )
    labels = [_make_label(mode, evidence) for mode, rule in rules if (evidence := rule(case))]
    image_query = next(
        (query for query in actions.queries if query_words.mentions_image(query.text)), None
    )
    if image_query and any(label.suite_cause == "3" for label in labels):
        evidence = f"speaks as if the tool could see: {_quote_query(image_query)}"
        labels.append(
            Label(
                cause="retrieval",
                suite_cause=IMAGE_MENTION_MODE,
                evidence=json_codec.escape_surrogates(evidence),
            )
        )
    return labels


def _make_label(mode: str, evidence: str) -> Label:
    return Label(
        cause=_CAUSE_BY_MODE[mode],
        suite_cause=mode,
        evidence=json_codec.escape_surrogates(evidence[:500]),
    )


@dataclass(frozen=True)
class FailureCase:
    """An episode with the known facts about its item."""

    truth: ItemTruth
    actions: EpisodeActions

    @cached_property
    def item_words(self) -> query_words.ItemWords:
        """The item's words by origin."""
        return query_words.item_words(self.truth)

    @cached_property
    def query_origins(self) -> list[tuple[SearchQuery, list[tuple[str, query_words.Origin]]]]:
        """The queries that have meaningful words, with the origin of each word."""
        return list(query_word_origins(self.truth, self.actions))

    @property
    def clue_is_known(self) -> bool:
        """Whether the text or symbol of the item's clue is known."""
        return any(mark.role == "clue" and (mark.text or mark.symbol) for mark in self.truth.marks)

    def marks_with_roles(self, *roles: str) -> list[SignMark]:
        """Return the signs with these roles."""
        return [mark for mark in self.truth.marks if mark.role in roles]

    @cached_property
    def hop_by_page(self) -> dict[str, int]:
        """The hop number of each page on the path, by page key."""
        hops = {page_key(hop.href): n for n, hop in enumerate(self.truth.hops, 1)}
        clues = (href for mark in self.marks_with_roles("clue") for href in mark.hrefs)
        return {page_key(href): 1 for href in clues} | hops

    @cached_property
    def lettering(self) -> list[str]:
        """The words that can be read in the picture.

        Words of clutter are left out, because any query may contain them.
        """
        marks = self.marks_with_roles("clue", "lookalike", "foreground")
        read = {word for mark in marks for word in query_words.split_content_words(mark.text)}
        return sorted(read & self.item_words.text)

    @cached_property
    def names_whole_clue(self) -> bool:
        """Whether a query has all words of a clue that are not in the question."""
        marks = [
            query_words.sign_words(mark) - self.item_words.question
            for mark in self.marks_with_roles("clue")
        ]
        queries = [
            set(query_words.split_content_words(query.text)) for query in self.actions.queries
        ]
        return any(mark and mark <= query for mark in marks for query in queries)

    def names_something_seen(self, word: str, source: query_words.Origin) -> bool:
        """Tell whether a word names a visible feature or lettering, correctly or nearly read."""
        return source == "visual" or self.is_lettering(word, source)

    def is_lettering(self, word: str, source: query_words.Origin) -> bool:
        """Tell whether a word is visible lettering, correctly or nearly read."""
        # The question's word `sign` is not a misread `signal`.
        if source not in ("text", "other"):
            return False
        return word in self.lettering or bool(query_words.find_similar_word(word, self.lettering))

    def was_followed(self, mark: SignMark) -> bool:
        """Tell whether the episode followed a sign.

        A sign is followed if one of its pages was opened, or if it is the closest sign to a query.
        """
        pages = {page_key(href) for href in mark.hrefs}
        if any(page_key(page.href) in pages for page in self.actions.opened_pages):
            return True
        return any(self.closest_mark(query) == mark for query in self.actions.queries)

    def closest_mark(self, query: SearchQuery) -> SignMark | None:
        """Return the sign with the most words in a query, the clue if several have equally many.

        Returns None if the query has no word of any sign.
        """
        query_terms = set(query_words.split_content_words(query.text))
        shared = {
            n: len(query_terms & query_words.sign_words(mark))
            for n, mark in enumerate(self.truth.marks)
        }
        best = max(
            shared, key=lambda n: (shared[n], self.truth.marks[n].role == "clue"), default=-1
        )
        return self.truth.marks[best] if shared.get(best) else None

    def returns_to_clue(self, query: SearchQuery) -> bool:
        """Tell whether a query names the clue, or names no sign and finds a page on the path."""
        mark = self.closest_mark(query)
        if mark is None:
            return any(page_key(href) in self.hop_by_page for href in query.hrefs)
        return mark.role == "clue"


def query_word_origins(
    truth: ItemTruth, actions: EpisodeActions
) -> Iterator[tuple[SearchQuery, list[tuple[str, query_words.Origin]]]]:
    """Yield the queries with meaningful words, each word with its origin."""
    known = query_words.item_words(truth)
    for query in actions.queries:
        before = (page.text for page in actions.opened_pages if page.step < query.step)
        pages = frozenset(word for text in before for word in query_words.split_content_words(text))
        term_origins = [
            (word, query_words.word_origin(word, known, pages))
            for word in query_words.split_content_words(query.text)
        ]
        if term_origins:
            yield query, term_origins


# --- the rules, each with its evidence or "" --------------------------------------------


def _avoids_search(case: FailureCase) -> str:
    if case.actions.queries or case.actions.failed_calls:
        return ""
    given_answer = case.actions.final_message.answer
    answered = f"answered {given_answer[:_MAX_QUOTED_CHARS]!r}" if given_answer else ""
    return f"no search; {answered or 'no answer either'}"


def _repeats_question(case: FailureCase) -> str:
    if not case.query_origins or not all(
        o == "question" for _, term_origins in case.query_origins for _, o in term_origins
    ):
        return ""
    return f"only words of the question: {_quote_queries(query for query, _ in case.query_origins)}"


def _uses_poor_keywords(case: FailureCase) -> str:
    if not case.clue_is_known or not case.actions.queries:
        return ""
    for _, term_origins in case.query_origins:
        if any(case.names_something_seen(word, source) for word, source in term_origins):
            return ""
    return f"nothing of {_quote_clues(case)} in {_quote_queries(case.actions.queries)}"


def _ignores_lettering(case: FailureCase) -> str:
    lettered = [mark for mark in case.marks_with_roles("clue") if mark.text]
    if not lettered or any(
        case.is_lettering(*pair) for _, term_origins in case.query_origins for pair in term_origins
    ):
        return ""
    looks = sorted(
        {
            word
            for _, term_origins in case.query_origins
            for word, o in term_origins
            if o == "visual"
        }
    )
    if not looks:
        return ""
    return f"described how it looks ({', '.join(looks)}), never that it reads {_quote_clues(case)}"


def _answers_foreground(case: FailureCase) -> str:
    return _answers_other_sign(case, "foreground", "the object in the foreground")


def _answers_lookalike(case: FailureCase) -> str:
    return _answers_other_sign(case, "lookalike", "a look-alike")


def _answers_other_sign(case: FailureCase, role: str, description: str) -> str:
    final = case.actions.final_message
    answered_marks = [
        mark
        for mark in case.marks_with_roles("lookalike", "foreground")
        if final.kind == "answer"
        and mark.answer
        and final_answer.is_right_by_fair_rule(final.answer, [mark.answer])
    ]
    # Two signs may have the same answer: then the one that was followed counts.
    candidates = [mark for mark in answered_marks if case.was_followed(mark)] or answered_marks
    found = next((mark for mark in candidates if mark.role == role), None)
    return f"{found.answer!r} is the answer of {description}, {_quote_mark(found)}" if found else ""


def _first_hop_bias_evidence(case: FailureCase) -> str:
    first_query = case.actions.queries[0] if case.actions.queries else None
    if first_query is None or any(
        page_key(page.href) in case.hop_by_page for page in case.actions.opened_pages
    ):
        return ""
    if any(map(case.returns_to_clue, case.actions.queries)):
        return ""
    followed = case.closest_mark(first_query)
    if followed is not None and followed.role != "clue":
        return (
            f"the first query {_quote_query(first_query)} follows "
            f"{_quote_mark(followed)}{_role_suffix(followed)}"
        )
    others = case.marks_with_roles("lookalike", "foreground", "clutter")
    strays = {page_key(href): mark for mark in others for href in mark.hrefs}
    opened = next((page_key(page.href) for page in case.actions.opened_pages), "")
    if opened in strays:
        mark = strays[opened]
        return f"the first page opened is that of {_quote_mark(mark)}{_role_suffix(mark)}: {opened}"
    return ""


def _abandons_lead(case: FailureCase) -> str:
    best: tuple[int, str] = (0, "")
    for number, query in enumerate(case.actions.queries, 1):
        for position, href in enumerate(query.hrefs, 1):
            hop = case.hop_by_page.get(page_key(href), 0)
            if hop > best[0]:
                best = hop, f"query {number} {_quote_query(query)} found {href} at place {position}"
    for page in case.actions.opened_pages:
        hop = case.hop_by_page.get(page_key(page.href), 0)
        if page.text and hop >= max(best[0], 1):
            best = hop, f"it opened {page.href}"
    if not best[0]:
        return ""
    total = len(case.truth.hops)
    given_answer = case.actions.final_message.answer
    outcome = f"answered {given_answer[:_MAX_QUOTED_CHARS]!r}" if given_answer else "no answer"
    return f"{best[1]}, step {best[0]} of {total} on the way; {outcome}"


def _misreads_picture(case: FailureCase) -> str:
    if not case.clue_is_known:
        return ""
    clue = {word for mark in case.marks_with_roles("clue") for word in query_words.sign_words(mark)}
    lettered = any(mark.text for mark in case.marks_with_roles("clue"))
    # The clue was read correctly; other words of the query do not matter.
    if case.names_whole_clue and lettered:
        return ""
    for query, term_origins in case.query_origins:
        if not any(case.names_something_seen(word, source) for word, source in term_origins):
            continue
        for word, source in term_origins:
            if source == "other" and (meant := query_words.find_similar_word(word, case.lettering)):
                return f"{word!r} in {_quote_query(query)}: the picture reads {meant!r}"
            is_unrelated = source == "visual" and word not in clue
            if is_unrelated or (source == "other" and not case.names_whole_clue):
                return f"{word!r} in {_quote_query(query)} is nothing of {_quote_clues(case)}"
    return ""


# --- evidence ---------------------------------------------------------------------------


def _quote_query(query: SearchQuery) -> str:
    return repr(query.text[:_MAX_QUOTED_CHARS])


def _quote_queries(queries: Iterable[SearchQuery]) -> str:
    quoted: Sequence[str] = [_quote_query(query) for query in queries]
    more = f" and {len(quoted) - 3} more" if len(quoted) > 3 else ""
    return f"{', '.join(quoted[:3])}{more}"


def _quote_clues(case: FailureCase) -> str:
    return " or ".join(_quote_mark(mark) for mark in case.marks_with_roles("clue")) or "the clue"


def _quote_mark(mark: SignMark) -> str:
    return repr((mark.text or mark.symbol)[:_MAX_QUOTED_CHARS])


def _role_suffix(mark: SignMark) -> str:
    suffixes = {"lookalike": ", a look-alike", "foreground": ", in the foreground"}
    return suffixes.get(mark.role, ", next to the clue")
