"""Views of one vision episode: its picture with signs, its queries by word origin, its path.

Signs and words differ in shape as well as in colour: boxes by dash pattern and caption, words by
the line below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from toolmark.core import svg
from toolmark.core.media import task_pictures
from toolmark.core.records import Cell, Drawing, Table, Task
from toolmark.core.task_data import read_task_data
from toolmark.core.text_excerpt import shorten_text
from toolmark.environments.page_address import page_key
from toolmark.models.secret_mask import escape_control_chars
from toolmark.perturb.image.box_geometry import Box
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_vision import (
    failure_modes,
    item_records,
    query_words,
    variation_statistics,
)
from toolmark.suites.mfcl_vision.episode_actions import EpisodeActions, SearchQuery, extract_actions
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark, SignRole
from toolmark.suites.mfcl_vision.query_words import Origin

View: TypeAlias = Table | Drawing
TableRow: TypeAlias = tuple[Cell, ...]

# Pixels: the width of a phone without scrolling.
QUERIES_WIDTH = 320
# Queries of one episode that are drawn.
MAX_QUERIES = 40
_LETTER_WIDTH, _WORD_GAP, _LINE_PITCH = 7.9, 8.0, 22.0
# Characters of one word, or of a sign's name.
_MAX_LABEL_CHARS = 40
# Characters of a line with the results of a query.
_MAX_LINE_CHARS = 50
# Words of one query that are drawn.
_MAX_QUERY_WORDS = 60
_ROLE_LABELS: dict[SignRole, str] = {
    "clutter": "clutter", "foreground": "foreground", "lookalike": "look-alike", "clue": "clue",
}  # fmt: skip
"""Roles in drawing order: the clue is drawn above the others."""
_ORIGIN_LABELS: dict[Origin, str] = {
    "question": "question", "text": "image text", "visual": "visual feature", "pages": "page read",
    "other": "elsewhere",
}  # fmt: skip
_SIGNS_CSS = (
    "rect{fill:none;vector-effect:non-scaling-stroke}"
    ".h{stroke:#000;stroke-opacity:.55;stroke-width:5}"
    ".clue{stroke:#35d6a0;stroke-width:3}"
    ".lookalike{stroke:#ff9a5c;stroke-width:2.5;stroke-dasharray:10 5}"
    ".foreground{stroke:#6cc4f5;stroke-width:2.5;stroke-dasharray:3 4}"
    ".clutter{stroke:#fff;stroke-width:1.5;stroke-dasharray:1 4}"
    "rect.n{fill:#000;fill-opacity:.72;stroke:none}text{fill:#fff;font-family:system-ui,sans-serif}"
)
_QUERIES_CSS = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor}"
    ".k{font:11px system-ui,sans-serif;fill-opacity:.75}.stop{fill-opacity:.5}"
    ".text{fill:var(--s3,#00855f);font-weight:700}.visual{fill:var(--s4,#a8559b)}"
    ".pages{fill:var(--s1,#0072b2)}.other{fill:var(--s2,#d55e00)}"
    "path{fill:none;stroke-width:1.6}path.text{stroke:var(--s3,#00855f)}"
    "path.visual{stroke:var(--s4,#a8559b);stroke-dasharray:5 3}"
    "path.pages{stroke:var(--s1,#0072b2);stroke-dasharray:1.5 2.5}"
    "path.other{stroke:var(--s2,#d55e00);stroke-dasharray:8 3 1.5 3}"
)


class QueryWord(NamedTuple):
    """A word of a query as written; `origin` is "" for a word without meaning of its own."""

    text: str
    origin: Origin | str


def build_views(episode: Episode) -> list[View]:
    """Return the picture with its signs, question and answer, queries, path, opened pages."""
    task, trajectory = episode.task, episode.trajectory
    truth, actions = read_task_data(task, ItemTruth), extract_actions(trajectory)
    first_views: list[View] = [
        *_picture_drawing(task, truth),
        _question_table(truth, actions),
        *_query_drawing(truth, actions),
    ]
    return [
        *first_views,
        *_path_table(truth, actions, task.axes.get("kind", "")),
        *_opened_pages_table(truth, actions),
        *_settings_table(truth),
    ]


# --- the picture ------------------------------------------------------------------------


def _picture_drawing(task: Task, truth: ItemTruth) -> Iterator[Drawing]:
    """Yield the picture as shown, with boxes; nothing without a picture or boxes."""
    picture = next(iter(task_pictures(task)), None)
    marks = [(mark, mark.box) for mark in truth.marks if mark.box is not None]
    if picture is None or not marks or min(truth.size) < 1:
        return
    n_unplaced = sum(mark.box is None for mark in truth.marks)
    note = "Solid: the clue; dashed: look-alikes; dotted: objects in the foreground and clutter."
    if n_unplaced:
        note += f" Signs without a place in this picture: {n_unplaced}."
    name = (
        f"The picture as the model saw it ({variation_statistics.variation_label(truth.variation)})"
    )
    yield Drawing(title=name, svg=draw_sign_boxes(marks, truth.size), note=note, background=picture)


def draw_sign_boxes(marks: Sequence[tuple[SignMark, Box]], size: tuple[int, int]) -> svg.Markup:
    """Draw the boxes of signs in a picture of this size, each with its role and text."""
    order = list(_ROLE_LABELS)
    ranked = sorted(marks, key=lambda pair: order.index(pair[0].role))
    body = [piece for mark, box in ranked for piece in _draw_sign_box(mark, box, size)]
    descriptions = ", ".join(
        f"{_ROLE_LABELS[mark.role]} {_sign_label(mark)}" for mark, _ in reversed(ranked)
    )
    return svg.svg_element(*size, *body, label=f"Boxes: {descriptions}", css=_SIGNS_CSS)


def _draw_sign_box(mark: SignMark, box: Box, size: tuple[int, int]) -> Iterator[svg.Markup]:
    left, top, right, bottom = box
    rectangle = {"x": left, "y": top, "width": max(right - left, 1), "height": max(bottom - top, 1)}
    caption = f"{_ROLE_LABELS[mark.role]}: {_short_label(mark)}"
    yield svg.element("rect", **rectangle, class_="h")
    yield svg.element("rect", svg.element("title", caption), **rectangle, class_=mark.role)
    # Clutter has no caption: there is much of it, and it leads nowhere.
    if mark.role == "clutter":
        return
    letter = max(size) / 42
    width, height = 0.56 * letter * len(caption) + letter, 1.5 * letter
    x = min(max(left, 0.0), max(size[0] - width, 0.0))
    y = min(max(top - height - 2 if top > height + 2 else bottom + 2, 0.0), size[1] - height)
    yield svg.element("rect", x=x, y=y, width=width, height=height, class_="n")
    yield svg.element("text", caption, x=x + letter / 2, y=y + 1.1 * letter, font_size=letter)


def _sign_label(mark: SignMark) -> str:
    return escape_control_chars(" ".join((mark.text or mark.symbol).split()))


def _short_label(mark: SignMark) -> str:
    return shorten_text(_sign_label(mark), _MAX_LABEL_CHARS)


# --- question and answer ----------------------------------------------------------------


def _question_table(truth: ItemTruth, actions: EpisodeActions) -> Table:
    """Return the parts of the question, the accepted answers and the given answer."""
    question, final = truth.question, actions.final_message
    first_answer, *others = truth.answers or ("",)
    forms = {"json": "as JSON", "broken": "as broken JSON", "text": "in plain text"}
    description = f" ({final.kind}{f', {forms[final.form]}' if final.form else ''})"
    rows = (
        ("context", question.context), ("request", question.request), ("hint", question.hint),
        ("form", question.form), ("right", first_answer), ("also right", "; ".join(others)),
        ("answered", f"{final.answer or 'nothing'}{description}"), ("why", final.context),
    )  # fmt: skip
    filled_rows = tuple((name, text) for name, text in rows if text)
    return Table(title="Question and answer", head=("part", "text"), rows=filled_rows)


# --- queries ----------------------------------------------------------------------------


def _query_drawing(truth: ItemTruth, actions: EpisodeActions) -> Iterator[Drawing]:
    if not actions.queries:
        return
    lines = list(words_with_origins(truth, actions))
    note = "Words by where they come from; faint ones carry no sense."
    if len(lines) > MAX_QUERIES:
        note += f" The first {MAX_QUERIES} of {len(lines)} queries."
    found = [_found_lines(query, truth, actions) for query in actions.queries]
    drawing = draw_queries(list(zip(actions.queries, lines, found, strict=True))[:MAX_QUERIES])
    yield Drawing(title="Queries", svg=drawing, note=note)


def words_with_origins(truth: ItemTruth, actions: EpisodeActions) -> Iterator[list[QueryWord]]:
    """Yield each query as its words with their origins."""
    known = {
        id(query): origins_by_query
        for query, origins_by_query in failure_modes.query_word_origins(truth, actions)
    }
    for query in actions.queries:
        sources = iter([source for _, source in known.get(id(query), ())])
        yield [QueryWord(text, _next_origin(text, sources)) for text in query.text.split()]


def _next_origin(text: str, sources: Iterator[Origin]) -> Origin | str:
    """Consume the origins of the parts of a written word; return the first one."""
    taken = [next(sources, "") for _ in query_words.split_content_words(text)]
    return taken[0] if taken else ""


def _known_pages(truth: ItemTruth, actions: EpisodeActions) -> dict[str, str]:
    """Return what is known of pages by page key: a hop on the path, or the sign they belong to."""
    strays = {
        page_key(href): f"page of {_ROLE_LABELS[mark.role]} {_short_label(mark)}"
        for mark in truth.marks
        for href in mark.hrefs
        if mark.role != "clue"
    }
    return strays | {
        address: f"hop {n}"
        for address, n in failure_modes.FailureCase(truth, actions).hop_by_page.items()
    }


def _found_lines(query: SearchQuery, truth: ItemTruth, actions: EpisodeActions) -> list[str]:
    """Return how many pages a query found, and the ranks of the first known ones."""
    if not query.hrefs:
        return ["found nothing"]
    known = _known_pages(truth, actions)
    sightings = [
        f"at {position}: {known[page_key(href)]}"
        for position, href in enumerate(query.hrefs, 1)
        if page_key(href) in known
    ]
    count = f"found {len(query.hrefs)} page{'s' * (len(query.hrefs) > 1)}"
    return [count, *sightings[:4]] if sightings else [f"{count}, none of them known"]


def draw_queries(
    lines: Sequence[tuple[SearchQuery, Sequence[QueryWord], Sequence[str]]],
) -> svg.Markup:
    """Draw queries below each other, with the origin of every word and the results."""
    present = {word.origin for _, line, _ in lines for word in line}
    legend = [
        QueryWord(text, origin) for origin, text in _ORIGIN_LABELS.items() if origin in present
    ]
    body, y = _flow_words(legend, 16.0, 2 * _WORD_GAP)
    for query, line, (first_line, *others) in lines:
        pieces, y = _flow_words(line[:_MAX_QUERY_WORDS], y + 2 * _LINE_PITCH, _WORD_GAP)
        body += pieces
        omitted = (
            f"{len(line) - _MAX_QUERY_WORDS} more words · " if len(line) > _MAX_QUERY_WORDS else ""
        )
        for text in (f"step {query.step + 1} · {omitted}{first_line}", *others):
            y += 17
            body.append(
                svg.element("text", shorten_text(text, _MAX_LINE_CHARS), x=0, y=y, class_="k")
            )
    label = f"{len(lines)} queries, their words by where they come from"
    return svg.svg_element(QUERIES_WIDTH, y + 8, *body, label=label, css=_QUERIES_CSS)


def _flow_words(line: Sequence[QueryWord], y: float, gap: float) -> tuple[list[svg.Markup], float]:
    """Place words in as many lines as needed; return the height of the last line too."""
    body: list[svg.Markup] = []
    x = 0.0
    for word in line:
        text = shorten_text(escape_control_chars(word.text), _MAX_LABEL_CHARS)
        width = len(text) * _LETTER_WIDTH
        if x > 0 and x + width > QUERIES_WIDTH:
            x, y = 0.0, y + _LINE_PITCH
        body += _draw_word(text, word.origin, x, y)
        x += width + gap
    return body, y


def _draw_word(text: str, origin: str, x: float, y: float) -> Iterator[svg.Markup]:
    yield svg.element("text", text, x=x, y=y, class_=origin or "stop")
    if origin and origin != "question":
        yield svg.element(
            "path", d=f"M{x:.1f} {y + 4:.1f}h{len(text) * _LETTER_WIDTH:.1f}", class_=origin
        )


# --- the way ----------------------------------------------------------------------------


def _path_table(truth: ItemTruth, actions: EpisodeActions, kind: str) -> Iterator[Table]:
    """Yield the shortest path to the answer, and which of its pages were found and opened.

    A question that chooses needs the page of every candidate first.
    """
    steps: list[TableRow] = [
        ("to choose", name, href, "whether it is meant")
        for name, href in item_records.choice_candidates(truth, kind)
    ]
    steps += [(n, hop.query, hop.href, hop.finds) for n, hop in enumerate(truth.hops, 1)]
    rows: list[TableRow] = []
    for number, query, href, finds in steps if truth.hops else ():
        address = page_key(str(href))
        found = next((opened_in for opened_in in _find_in_results(address, actions)), "not found")
        steps_opened = [
            str(page.step + 1) for page in actions.opened_pages if page_key(page.href) == address
        ]
        opened_in = f"step {', '.join(steps_opened)}" if steps_opened else "not opened"
        rows.append((number, query, href, finds, found, opened_in))
    if rows:
        yield Table(
            title="The shortest way, and what was seen of it",
            head=("hop", "words to search with", "page", "gives", "found by", "opened in"),
            rows=tuple(rows),
        )


def _find_in_results(address: str, actions: EpisodeActions) -> Iterator[str]:
    for number, query in enumerate(actions.queries, 1):
        for position, href in enumerate(query.hrefs, 1):
            if page_key(href) == address:
                yield f"query {number}, place {position}"


def _opened_pages_table(truth: ItemTruth, actions: EpisodeActions) -> Iterator[Table]:
    """Yield the opened pages, and the sign or hop that each belongs to."""
    known: Mapping[str, str] = _known_pages(truth, actions)
    rows = [
        (page.step + 1, page.href, known.get(page_key(page.href), "another page"),
         "" if page.text else "could not be had")
        for page in actions.opened_pages
    ]  # fmt: skip
    if rows:
        yield Table(title="Pages opened", head=("step", "page", "what it is", "outcome"),
                    rows=tuple(rows))  # fmt: skip


def _settings_table(truth: ItemTruth) -> Iterator[Table]:
    """Yield the changes made to the picture."""
    size = f"{truth.size[0]} × {truth.size[1]}" if min(truth.size) > 0 else ""
    settings = {"size": size, **{name: str(value) for name, value in truth.settings.items()}}
    rows = tuple((name.replace("_", " "), text) for name, text in settings.items() if text)
    if rows:
        yield Table(
            title=(
                "What was done to the picture: "
                f"{variation_statistics.variation_label(truth.variation)}"
            ),
            head=("setting", "value"),
            rows=rows,
            is_collapsed=True,
        )
