"""One vision episode to look at: the picture with its signs, the queries by their words, the way.

Signs and words are told apart by shape, not by colour alone: boxes by how they are dashed and
named, words by the line below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from toolmark import svg
from toolmark.models.mask import printable
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision import item, modes, varied, words
from toolmark.suites.mfcl.vision.item import Mark, Role, Truth
from toolmark.suites.mfcl.vision.score import truth_of
from toolmark.suites.mfcl.vision.track import Query, Track, follow
from toolmark.suites.mfcl.vision.words import Origin
from toolmark.types import Drawing, Image, Table, Task, Trajectory
from toolmark.worlds.address import place

View: TypeAlias = Table | Drawing
Row: TypeAlias = tuple[str | float | int | None, ...]

WIDTH = 320  # of the queries: as wide as a phone shows them without scrolling
MOST = 40  # queries of one episode that are drawn
_LETTER, _GAP, _PITCH = 7.9, 8.0, 22.0
_LONGEST = 40  # letters of one word, or of a sign's name
_LINE = 50  # letters of a line that says what a query found
_WORDS = 60  # of one query that are drawn
_ROLES: dict[Role, str] = {
    "clutter": "clutter", "foreground": "foreground", "lookalike": "look-alike", "clue": "clue",
}  # fmt: skip
"""In the order in which they are drawn: the clue lies above the others."""
_ORIGINS: dict[Origin, str] = {
    "question": "question", "text": "image text", "visual": "visual feature", "pages": "page read",
    "other": "elsewhere",
}  # fmt: skip
_SIGNS = (
    "rect{fill:none;vector-effect:non-scaling-stroke}"
    ".h{stroke:#000;stroke-opacity:.55;stroke-width:5}"
    ".clue{stroke:#35d6a0;stroke-width:3}"
    ".lookalike{stroke:#ff9a5c;stroke-width:2.5;stroke-dasharray:10 5}"
    ".foreground{stroke:#6cc4f5;stroke-width:2.5;stroke-dasharray:3 4}"
    ".clutter{stroke:#fff;stroke-width:1.5;stroke-dasharray:1 4}"
    "rect.n{fill:#000;fill-opacity:.72;stroke:none}text{fill:#fff;font-family:system-ui,sans-serif}"
)
_QUERIES = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor}"
    ".k{font:11px system-ui,sans-serif;fill-opacity:.75}.stop{fill-opacity:.5}"
    ".text{fill:var(--s3,#00855f);font-weight:700}.visual{fill:var(--s4,#a8559b)}"
    ".pages{fill:var(--s1,#0072b2)}.other{fill:var(--s2,#d55e00)}"
    "path{fill:none;stroke-width:1.6}path.text{stroke:var(--s3,#00855f)}"
    "path.visual{stroke:var(--s4,#a8559b);stroke-dasharray:5 3}"
    "path.pages{stroke:var(--s1,#0072b2);stroke-dasharray:1.5 2.5}"
    "path.other{stroke:var(--s2,#d55e00);stroke-dasharray:8 3 1.5 3}"
)


class Word(NamedTuple):
    """A word of a query as it was written; `origin` is "" of one that carries no sense."""

    text: str
    origin: Origin | str


def views(task: Task, trajectory: Trajectory) -> list[View]:
    """Return the picture with its signs, question and answer, the queries, the way, the pages."""
    truth, track = truth_of(task), follow(trajectory)
    made: list[View] = [*_picture(task, truth), _asked(truth, track), *_queries(truth, track)]
    return [
        *made,
        *_way(truth, track, task.axes.get("kind", "")),
        *_opened(truth, track),
        *_changed(truth),
    ]


# --- the picture ------------------------------------------------------------------------


def _picture(task: Task, truth: Truth) -> Iterator[Drawing]:
    """Return the picture as it was shown, boxes upon it; nothing where there are none."""
    parts = (part for turn in task.turns for message in turn.messages for part in message.parts)
    shown = next((part for part in parts if isinstance(part, Image)), None)
    marks = [(mark, mark.box) for mark in truth.marks if mark.box is not None]
    if shown is None or not marks or min(truth.size) < 1:
        return
    lost = sum(mark.box is None for mark in truth.marks)
    note = "Solid: the clue; dashed: look-alikes; dotted: objects in the foreground and clutter."
    if lost:
        note += f" Signs without a place in this picture: {lost}."
    name = f"The picture as the model saw it ({varied.told(truth.variation)})"
    yield Drawing(title=name, svg=boxes(marks, truth.size), note=note, over=shown)


def boxes(marks: Sequence[tuple[Mark, Box]], size: tuple[int, int]) -> svg.Markup:
    """Draw the boxes of signs in a picture of that size, each with its role and what it says."""
    order = list(_ROLES)
    ranked = sorted(marks, key=lambda pair: order.index(pair[0].role))
    body = [piece for mark, box in ranked for piece in _box(mark, box, size)]
    told = ", ".join(f"{_ROLES[mark.role]} {_said(mark)}" for mark, _ in reversed(ranked))
    return svg.root(*size, *body, label=f"Boxes: {told}", css=_SIGNS)


def _box(mark: Mark, box: Box, size: tuple[int, int]) -> Iterator[svg.Markup]:
    left, top, right, bottom = box
    place = {"x": left, "y": top, "width": max(right - left, 1), "height": max(bottom - top, 1)}
    named = f"{_ROLES[mark.role]}: {_cut(_said(mark))}"
    yield svg.tag("rect", **place, class_="h")
    yield svg.tag("rect", svg.tag("title", named), **place, class_=mark.role)
    if mark.role == "clutter":  # there is much of it, and it leads nowhere
        return
    letter = max(size) / 42
    wide, high = 0.56 * letter * len(named) + letter, 1.5 * letter
    x = min(max(left, 0.0), max(size[0] - wide, 0.0))
    y = min(max(top - high - 2 if top > high + 2 else bottom + 2, 0.0), size[1] - high)
    yield svg.tag("rect", x=x, y=y, width=wide, height=high, class_="n")
    yield svg.tag("text", named, x=x + letter / 2, y=y + 1.1 * letter, font_size=letter)


def _said(mark: Mark) -> str:
    return printable(" ".join((mark.text or mark.symbol).split()))


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


# --- question and answer ----------------------------------------------------------------


def _asked(truth: Truth, track: Track) -> Table:
    """Return the parts of the question, what was right and what was said."""
    asked, final = truth.asked, track.final
    first, *others = truth.answers or ("",)
    forms = {"json": "as JSON", "broken": "as broken JSON", "text": "in plain text"}
    how = f" ({final.kind}{f', {forms[final.form]}' if final.form else ''})"
    rows = (
        ("context", asked.context), ("request", asked.request), ("hint", asked.hint),
        ("form", asked.form), ("right", first), ("also right", "; ".join(others)),
        ("answered", f"{final.answer or 'nothing'}{how}"), ("why", final.context),
    )  # fmt: skip
    kept = tuple((name, text) for name, text in rows if text)
    return Table(title="Question and answer", head=("part", "text"), rows=kept)


# --- queries ----------------------------------------------------------------------------


def _queries(truth: Truth, track: Track) -> Iterator[Drawing]:
    if not track.queries:
        return
    lines = list(spelled(truth, track))
    note = "Words by where they come from; faint ones carry no sense."
    if len(lines) > MOST:
        note += f" The first {MOST} of {len(lines)} queries."
    found = [_found(query, truth, track) for query in track.queries]
    drawn = draw(list(zip(track.queries, lines, found, strict=True))[:MOST])
    yield Drawing(title="Queries", svg=drawn, note=note)


def spelled(truth: Truth, track: Track) -> Iterator[list[Word]]:
    """Go through the queries, each as its words with where they come from."""
    known = {id(query): told for query, told in modes.origins(truth, track)}
    for query in track.queries:
        sources = iter([source for _, source in known.get(id(query), ())])
        yield [Word(text, _source(text, sources)) for text in query.text.split()]


def _source(text: str, sources: Iterator[Origin]) -> Origin | str:
    """Take the origins of what a written word is made of; the first counts."""
    taken = [next(sources, "") for _ in words.split(text)]
    return taken[0] if taken else ""


def _places(truth: Truth, track: Track) -> dict[str, str]:
    """Return what is known of pages by their places: a step of the way, or whose page it is."""
    strays = {
        place(href): f"page of {_ROLES[mark.role]} {_cut(_said(mark))}"
        for mark in truth.marks
        for href in mark.hrefs
        if mark.role != "clue"
    }
    return strays | {at: f"hop {n}" for at, n in modes.Case(truth, track).way.items()}


def _found(query: Query, truth: Truth, track: Track) -> list[str]:
    """Say what a query found, and of the first pages that are known where they stood."""
    if not query.found:
        return ["found nothing"]
    known = _places(truth, track)
    told = [
        f"at {at}: {known[place(href)]}"
        for at, href in enumerate(query.found, 1)
        if place(href) in known
    ]
    count = f"found {len(query.found)} page{'s' * (len(query.found) > 1)}"
    return [count, *told[:4]] if told else [f"{count}, none of them known"]


def draw(lines: Sequence[tuple[Query, Sequence[Word], Sequence[str]]]) -> svg.Markup:
    """Draw queries below each other, every word by its origin, and what each found."""
    present = {word.origin for _, line, _ in lines for word in line}
    legend = [Word(text, origin) for origin, text in _ORIGINS.items() if origin in present]
    body, y = _flow(legend, 16.0, 2 * _GAP)
    for query, line, (first, *others) in lines:
        drawn, y = _flow(line[:_WORDS], y + 2 * _PITCH, _GAP)
        body += drawn
        rest = f"{len(line) - _WORDS} more words · " if len(line) > _WORDS else ""
        for text in (f"step {query.step + 1} · {rest}{first}", *others):
            y += 17
            body.append(svg.tag("text", _cut(text, _LINE), x=0, y=y, class_="k"))
    label = f"{len(lines)} queries, their words by where they come from"
    return svg.root(WIDTH, y + 8, *body, label=label, css=_QUERIES)


def _flow(line: Sequence[Word], y: float, gap: float) -> tuple[list[svg.Markup], float]:
    """Set words one after another, in as many lines as they take; return the height of the last."""
    body: list[svg.Markup] = []
    x = 0.0
    for word in line:
        shown = _cut(printable(word.text))
        wide = len(shown) * _LETTER
        if x > 0 and x + wide > WIDTH:
            x, y = 0.0, y + _PITCH
        body += _word(shown, word.origin, x, y)
        x += wide + gap
    return body, y


def _word(text: str, origin: str, x: float, y: float) -> Iterator[svg.Markup]:
    yield svg.tag("text", text, x=x, y=y, class_=origin or "stop")
    if origin and origin != "question":
        yield svg.tag("path", d=f"M{x:.1f} {y + 4:.1f}h{len(text) * _LETTER:.1f}", class_=origin)


# --- the way ----------------------------------------------------------------------------


def _way(truth: Truth, track: Track, kind: str) -> Iterator[Table]:
    """Return the shortest way to the answer, and what of it was found and opened.

    Who chooses needs the page of every candidate first.
    """
    steps: list[Row] = [
        ("to choose", name, href, "whether it is meant")
        for name, href in item.candidates(truth, kind)
    ]
    steps += [(n, hop.query, hop.href, hop.finds) for n, hop in enumerate(truth.hops, 1)]
    rows: list[Row] = []
    for number, query, href, finds in steps if truth.hops else ():
        at = place(str(href))
        found = next((told for told in _sightings(at, track)), "not found")
        seen = [str(page.step + 1) for page in track.opened if place(page.href) == at]
        told = f"step {', '.join(seen)}" if seen else "not opened"
        rows.append((number, query, href, finds, found, told))
    if rows:
        yield Table(
            title="The shortest way, and what was seen of it",
            head=("hop", "words to search with", "page", "gives", "found by", "opened in"),
            rows=tuple(rows),
        )


def _sightings(at: str, track: Track) -> Iterator[str]:
    for number, query in enumerate(track.queries, 1):
        for position, href in enumerate(query.found, 1):
            if place(href) == at:
                yield f"query {number}, place {position}"


def _opened(truth: Truth, track: Track) -> Iterator[Table]:
    """Return the pages that were opened, and whose they are."""
    known: Mapping[str, str] = _places(truth, track)
    rows = [
        (page.step + 1, page.href, known.get(place(page.href), "another page"),
         "" if page.text else "could not be had")
        for page in track.opened
    ]  # fmt: skip
    if rows:
        yield Table(title="Pages opened", head=("step", "page", "what it is", "outcome"),
                    rows=tuple(rows))  # fmt: skip


def _changed(truth: Truth) -> Iterator[Table]:
    """Return what was done to the picture."""
    size = f"{truth.size[0]} × {truth.size[1]}" if min(truth.size) > 0 else ""
    told = {"size": size, **{name: str(value) for name, value in truth.settings.items()}}
    rows = tuple((name.replace("_", " "), text) for name, text in told.items() if text)
    if rows:
        yield Table(title=f"What was done to the picture: {varied.told(truth.variation)}",
                    head=("setting", "value"), rows=rows, fold=True)  # fmt: skip
