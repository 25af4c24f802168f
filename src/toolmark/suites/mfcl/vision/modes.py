"""Failure modes of vision episodes, by rules on what was searched, opened and answered (B4).

| mode | what is seen |
|---|---|
| 2 avoiding tool use | no search before the answer |
| 5 over-reliance on the question | every query is made of the question's words alone |
| 3 poor keywords | no query names anything that is seen, lettering or look |
| 1B ignored text | the clue is lettering, and queries tell how things look, never what is written |
| 1D myopia | the answer is that of the object in the foreground |
| 1C subset confusion | the answer is that of a look-alike |
| 4 first-hop bias | the first query follows something else, and nothing later changes it |
| 6 abandoned lead | a query found a page on the way, and the answer is another |
| 1A visual error | a query names what is not there: misread, or misjudged |

In this order of precedence. An error that the same model makes on the undamaged picture too is
`other`: the damage is not its cause. `forced` and `form` are no errors of this kind: the episode
was ended, or something was written otherwise than asked for. What no rule explains is
`unexplained`. Of items that do not tell their clue only 2, 5 and, where pages are known, 6 can be
told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolmark import codec
from toolmark.suites.mfcl.vision import answer, words
from toolmark.suites.mfcl.vision.item import Mark, Truth
from toolmark.suites.mfcl.vision.track import Query, Track
from toolmark.types import Cause, Label
from toolmark.worlds.address import place

OTHER = "other"
FORCED = "forced"
FORM = "form"
UNEXPLAINED = "unexplained"
MODES: dict[str, str] = {
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
FOLDED = {"1A": "1", "1B": "1", "1C": "1", "1D": "1", "4": "1", "6": "1"}
"""Figure 5 of the paper shows 1, 2, 3 and 5: by this 4 and 6 belong to 1."""
SEES = "3 in image"
"""Native class of the label beside mode 3: a query speaks as if the tool could see."""
_CAUSES: dict[str, Cause] = {
    "1A": "perception", "1B": "perception", "1C": "perception", "1D": "perception",
    "2": "missing_call", "3": "retrieval", "4": "retrieval", "5": "retrieval", "6": "retrieval",
}  # fmt: skip
_CUT = 160


def fold(mode: str) -> str:
    """Return the mode as Figure 5 counts it."""
    return FOLDED.get(mode, mode)


def found(truth: Truth, track: Track) -> list[Label]:
    """Return the modes of a failed episode in the order of precedence; none where no rule holds.

    Pure. Each label's evidence names the query, the sign or the page.
    """
    case = Case(truth, track)
    rules = (
        ("2", _avoided), ("5", _parroted), ("3", _aimless), ("1B", _unread), ("1D", _myopic),
        ("1C", _confused), ("4", _biased), ("6", _abandoned), ("1A", _misjudged),
    )  # fmt: skip
    labels = [_label(mode, told) for mode, rule in rules if (told := rule(case))]
    seeing = next((query for query in track.queries if words.sees(query.text)), None)
    if seeing and any(label.native == "3" for label in labels):
        told = f"speaks as if the tool could see: {_quoted(seeing)}"
        labels.append(Label(cause="retrieval", native=SEES, evidence=codec.escape(told)))
    return labels


def _label(mode: str, evidence: str) -> Label:
    return Label(cause=_CAUSES[mode], native=mode, evidence=codec.escape(evidence[:500]))


@dataclass(frozen=True)
class Case:
    """An episode beside what is known of its item."""

    truth: Truth
    track: Track

    @cached_property
    def known(self) -> words.Known:
        """Where the item's words stand."""
        return words.known(self.truth)

    @cached_property
    def asked(self) -> list[tuple[Query, list[tuple[str, words.Origin]]]]:
        """The queries that have words, with where each word comes from."""
        return list(origins(self.truth, self.track))

    @property
    def told(self) -> bool:
        """Whether the item tells what its clue is."""
        return any(mark.role == "clue" and (mark.text or mark.symbol) for mark in self.truth.marks)

    def marks(self, *roles: str) -> list[Mark]:
        """Return the signs of these roles."""
        return [mark for mark in self.truth.marks if mark.role in roles]

    @cached_property
    def way(self) -> dict[str, int]:
        """The pages on the way by their places, each with the number of its hop."""
        hops = {place(hop.href): n for n, hop in enumerate(self.truth.hops, 1)}
        clues = (href for mark in self.marks("clue") for href in mark.hrefs)
        return {place(href): 1 for href in clues} | hops

    @cached_property
    def lettering(self) -> list[str]:
        """The words that can be read, but those of clutter, which anybody may search with."""
        marks = self.marks("clue", "lookalike", "foreground")
        read = {word for mark in marks for word in words.split(mark.text)}
        return sorted(read & self.known.text)

    @cached_property
    def whole(self) -> bool:
        """Whether a query names all of a clue, but for words that the question says anyway."""
        marks = [words.of(mark) - self.known.question for mark in self.marks("clue")]
        queries = [set(words.split(query.text)) for query in self.track.queries]
        return any(mark and mark <= query for mark in marks for query in queries)

    def named(self, word: str, source: words.Origin) -> bool:
        """Tell whether a word names something that is seen, well read or nearly."""
        return source == "visual" or self.read(word, source)

    def read(self, word: str, source: words.Origin) -> bool:
        """Tell whether a word is lettering that is seen, well read or nearly."""
        if source not in ("text", "other"):  # `sign` of the question is no misread `signal`
            return False
        return word in self.lettering or bool(words.near(word, self.lettering))

    def followed(self, mark: Mark) -> bool:
        """Tell whether a page of a sign was opened, or a query holds more of it than of others."""
        pages = {place(href) for href in mark.hrefs}
        if any(place(page.href) in pages for page in self.track.opened):
            return True
        return any(self.closest(query) == mark for query in self.track.queries)

    def closest(self, query: Query) -> Mark | None:
        """Return the sign of whose words a query holds most, the clue where several do."""
        said = set(words.split(query.text))
        shared = {n: len(said & words.of(mark)) for n, mark in enumerate(self.truth.marks)}
        best = max(
            shared, key=lambda n: (shared[n], self.truth.marks[n].role == "clue"), default=-1
        )
        return self.truth.marks[best] if shared.get(best) else None

    def returned(self, query: Query) -> bool:
        """Tell whether a query names the clue, or names no sign and finds a page on the way."""
        mark = self.closest(query)
        if mark is None:
            return any(place(href) in self.way for href in query.found)
        return mark.role == "clue"


def origins(truth: Truth, track: Track) -> Iterator[tuple[Query, list[tuple[str, words.Origin]]]]:
    """Go through the queries with words that carry sense, each word with where it comes from."""
    known = words.known(truth)
    for query in track.queries:
        before = (page.text for page in track.opened if page.step < query.step)
        pages = frozenset(word for text in before for word in words.split(text))
        told = [(word, words.origin(word, known, pages)) for word in words.split(query.text)]
        if told:
            yield query, told


# --- the rules, each with its evidence or "" --------------------------------------------


def _avoided(case: Case) -> str:
    if case.track.queries or case.track.lost:
        return ""
    said = case.track.final.answer
    return f"no search; {f'answered {said[:_CUT]!r}' if said else 'no answer either'}"


def _parroted(case: Case) -> str:
    if not case.asked or not all(o == "question" for _, told in case.asked for _, o in told):
        return ""
    return f"only words of the question: {_all(query for query, _ in case.asked)}"


def _aimless(case: Case) -> str:
    if not case.told or not case.track.queries:
        return ""
    for _, told in case.asked:
        if any(case.named(word, source) for word, source in told):
            return ""
    return f"nothing of {_clue(case)} in {_all(case.track.queries)}"


def _unread(case: Case) -> str:
    lettered = [mark for mark in case.marks("clue") if mark.text]
    if not lettered or any(case.read(*each) for _, told in case.asked for each in told):
        return ""
    looks = sorted({word for _, told in case.asked for word, o in told if o == "visual"})
    if not looks:
        return ""
    return f"told how it looks ({', '.join(looks)}), never that it reads {_clue(case)}"


def _myopic(case: Case) -> str:
    return _swapped(case, "foreground", "the object in the foreground")


def _confused(case: Case) -> str:
    return _swapped(case, "lookalike", "a look-alike")


def _swapped(case: Case, role: str, told: str) -> str:
    final = case.track.final
    given = [
        mark
        for mark in case.marks("lookalike", "foreground")
        if final.kind == "answer" and mark.answer and answer.fair(final.answer, [mark.answer])
    ]
    # two may lead to one answer: then it is that of the one that was followed
    meant = [mark for mark in given if case.followed(mark)] or given
    found = next((mark for mark in meant if mark.role == role), None)
    return f"{found.answer!r} is the answer of {told}, {_shown(found)}" if found else ""


def _biased(case: Case) -> str:
    first = case.track.queries[0] if case.track.queries else None
    if first is None or any(place(page.href) in case.way for page in case.track.opened):
        return ""
    if any(map(case.returned, case.track.queries)):
        return ""
    followed = case.closest(first)
    if followed is not None and followed.role != "clue":
        return f"the first query {_quoted(first)} follows {_shown(followed)}{_role(followed)}"
    others = case.marks("lookalike", "foreground", "clutter")
    strays = {place(href): mark for mark in others for href in mark.hrefs}
    opened = next((place(page.href) for page in case.track.opened), "")
    if opened in strays:
        mark = strays[opened]
        return f"the first page opened is that of {_shown(mark)}{_role(mark)}: {opened}"
    return ""


def _abandoned(case: Case) -> str:
    best: tuple[int, str] = (0, "")
    for number, query in enumerate(case.track.queries, 1):
        for at, href in enumerate(query.found, 1):
            hop = case.way.get(place(href), 0)
            if hop > best[0]:
                best = hop, f"query {number} {_quoted(query)} found {href} at place {at}"
    for page in case.track.opened:
        hop = case.way.get(place(page.href), 0)
        if page.text and hop >= max(best[0], 1):
            best = hop, f"it opened {page.href}"
    if not best[0]:
        return ""
    total = len(case.truth.hops)
    said = case.track.final.answer
    told = f"answered {said[:_CUT]!r}" if said else "no answer"
    return f"{best[1]}, step {best[0]} of {total} on the way; {told}"


def _misjudged(case: Case) -> str:
    if not case.told:
        return ""
    clue = {word for mark in case.marks("clue") for word in words.of(mark)}
    lettered = any(mark.text for mark in case.marks("clue"))
    if case.whole and lettered:  # it was read right, whatever else was searched with it
        return ""
    for query, told in case.asked:
        if not any(case.named(word, source) for word, source in told):
            continue
        for word, source in told:
            if source == "other" and (meant := words.near(word, case.lettering)):
                return f"{word!r} in {_quoted(query)}: the picture reads {meant!r}"
            strange = source == "visual" and word not in clue
            if strange or (source == "other" and not case.whole):
                return f"{word!r} in {_quoted(query)} is nothing of {_clue(case)}"
    return ""


# --- evidence ---------------------------------------------------------------------------


def _quoted(query: Query) -> str:
    return repr(query.text[:_CUT])


def _all(queries: Iterable[Query]) -> str:
    shown: Sequence[str] = [_quoted(query) for query in queries]
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    return f"{', '.join(shown[:3])}{more}"


def _clue(case: Case) -> str:
    return " or ".join(_shown(mark) for mark in case.marks("clue")) or "the clue"


def _shown(mark: Mark) -> str:
    return repr((mark.text or mark.symbol)[:_CUT])


def _role(mark: Mark) -> str:
    named = {"lookalike": ", a look-alike", "foreground": ", in the foreground"}
    return named.get(mark.role, ", beside the clue")
