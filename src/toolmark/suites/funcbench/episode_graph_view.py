"""Views of one episode: the graph with numbered calls, and a list of the calls.

The drawing has the colours of Figs. 9, 11 and 12 of arXiv 2509.26553, the list follows Fig. 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from toolmark.core import svg
from toolmark.core.json_codec import escape_surrogates
from toolmark.core.records import Drawing, Result, Table, Trajectory
from toolmark.core.text_excerpt import shorten_text
from toolmark.environments.function_graph import GraphIndex, Node, read_graph
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench.call_classes import JudgedCall, class_label, classify_calls
from toolmark.suites.funcbench.graph_layout import GraphLayout, GridCell, lay_out_graph

Point: TypeAlias = tuple[float, float]
PITCH_X, PITCH_Y = 92, 68  # the pitch of the grid
BOX_WIDTH, BOX_HEIGHT = 80, 42  # a function's box
MARGIN, TOP_MARGIN = 14, 40
CORE_GAP = 26  # between the core and the irrelevant functions
MAX_CHIPS = 3  # call numbers shown on one function
# A page has hundreds of drawings, so their common properties are in the style. It has no scope, as
# the page shows each drawing in a shadow root. Classes: e edge, l loose, b what hides edges behind
# a box; r right, a aside, w wrong; t target, v value, q quiet, k legend. A rect that has a width is
# the label of a call, any other a function's box.
_CSS = (
    "text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor;"
    "text-anchor:middle}"
    ".v,.k{font-size:10px}.k{text-anchor:start}.v,.q>*{opacity:.55}"
    ".e{fill:none;stroke:currentColor;stroke-opacity:.32}.l{stroke-dasharray:4 3}"
    # boxes without their corners, which a round stroke adds
    ".b{fill:var(--card,Canvas);stroke:var(--card,Canvas);stroke-width:10;stroke-linejoin:round}"
    "rect{height:42px;rx:5px;fill:currentColor;fill-opacity:.04;stroke:currentColor;"
    "stroke-opacity:.45}"
    "rect:not([width]){width:80px}"
    ".r{color:#1b7f4d}.a{color:#2468b4}.w{color:#c0392b}"
    ".r,.a,.w{fill-opacity:.16;stroke-opacity:.9}.t{stroke-width:3}"
    "rect[width]{height:15px;rx:4px;fill-opacity:1;stroke:none}"
    ".r[width]{rx:7.5px}.a[width]{rx:2px}"
    "[width]+text{font-size:10px;font-weight:600;fill:#fff}"
)
_LEGEND = (
    ("r", "1", "right"),
    ("a", "2", "right, irrelevant"),
    ("w", "×3", "wrong"),
)


def make_views(episode: Episode) -> Sequence[Table | Drawing]:
    """Return the drawn graph and the list of the calls."""
    task, trajectory = episode.task, episode.trajectory
    truth = GraphIndex(read_graph(task))
    calls = list(classify_calls(truth, trajectory))
    return _graph_drawing(truth, calls), _call_table(calls, trajectory)


def _call_table(calls: list[JudgedCall], trajectory: Trajectory) -> Table:
    results = [result for step in trajectory.steps for result in step.results]
    rows = [
        (
            judged.number,
            judged.step,
            _label_text(judged.call.name, 40),
            _label_text(judged.call.arguments, 200),
            _result_text(result),
            class_label(judged) or f"correct, {judged.node.kind if judged.node else ''}",
            judged.reason,
        )
        for judged, result in zip(calls, results, strict=True)
    ]
    return Table(
        title="Calls one by one",
        head=("call", "step", "function", "arguments", "returned", "class", "why"),
        rows=tuple(rows),
    )


def _result_text(result: Result) -> str:
    return _label_text(result.text.partition("\n")[0], 80)


def _graph_drawing(truth: GraphIndex, calls: list[JudgedCall]) -> Drawing:
    by_node: dict[str, list[JudgedCall]] = {}
    unknown_calls: list[JudgedCall] = []
    for judged in calls:
        if judged.node is None:
            unknown_calls.append(judged)
        else:
            by_node.setdefault(judged.node.function, []).append(judged)
    grid = lay_out_graph(truth, tuple(by_node))
    body = [
        *_draw_legend(),
        *_draw_edges(truth, grid, by_node),
        _mask_edges(grid),
        *(
            _draw_box(truth, grid, node, by_node.get(node.function, []))
            for node in truth.graph.nodes
        ),
    ]
    width = max(_box_left(grid, GridCell(grid.columns, 0)) - PITCH_X + BOX_WIDTH + MARGIN, 560)
    height = TOP_MARGIN + grid.rows * PITCH_Y + MARGIN
    if unknown_calls:
        body.append(_draw_unknown_calls(unknown_calls, height))
        height += 24
    drawn = svg.svg_element(
        width,
        height,
        *body,
        label=f"Graph of {len(grid.places)} functions; numbered calls: {len(calls)}",
        css=_CSS,
    )
    return Drawing(
        title="The graph and the calls",
        svg=drawn,
        note="Values flow downwards to the target (heavy outline). Numbers are calls in order."
        " Irrelevant functions stand to the right, dashed lines lead to those that were called.",
    )


def _box_left(grid: GraphLayout, place: GridCell) -> float:
    return MARGIN + place.column * PITCH_X + (CORE_GAP if place.column >= grid.core_columns else 0)


def _box_top(place: GridCell) -> float:
    return TOP_MARGIN + place.row * PITCH_Y


def _draw_legend() -> Iterator[svg.Markup]:
    x = float(MARGIN)
    for kind, number, text in _LEGEND:
        chip, width = _draw_chip(kind, number, x, 10)
        yield chip
        yield svg.element("text", text, x=x + width + 5, y=21, class_="k")
        x += width + 5 + 6.2 * len(text) + 18
    yield svg.element("rect", x=x, y=10, style="width:22px;height:15px;rx:3px;opacity:.55")
    yield svg.element("text", "not called", x=x + 27, y=21, class_="k")


def _draw_edges(
    truth: GraphIndex, grid: GraphLayout, by_node: Mapping[str, list[JudgedCall]]
) -> Iterator[svg.Markup]:
    """Draw the inputs of the core, then, dashed, those of irrelevant functions that were called."""
    nodes = truth.graph.nodes
    core = [node for node in nodes if node.kind == "core"]
    loose = [node for node in nodes if node.kind != "core" and node.function in by_node]
    for classes, consumers in (("e", core), ("e l", loose)):
        lines = [
            _draw_edge(grid, x.source, node)
            for node in consumers
            for x in node.inputs
            if x.source in truth.nodes
        ]
        yield svg.element("g", *lines, class_=classes)


def _mask_edges(grid: GraphLayout) -> svg.Markup:
    """Hide the edges that pass behind boxes."""
    corners = ((_box_left(grid, place) + 5, _box_top(place) + 5) for place in grid.places.values())
    width, height = BOX_WIDTH - 10, BOX_HEIGHT - 10
    path = "".join(f"M{x:g} {y:g}h{width}v{height}h-{width}z" for x, y in corners)
    return svg.element("path", d=path, class_="b")


def _draw_edge(grid: GraphLayout, source: str, node: Node) -> svg.Markup:
    start, end = grid.places[source], grid.places[node.function]
    x1, y1 = _box_left(grid, start) + BOX_WIDTH / 2, _box_top(start) + BOX_HEIGHT
    x2, y2 = _box_left(grid, end) + BOX_WIDTH / 2, _box_top(end)
    is_side = end.column >= grid.core_columns
    if is_side and (start.column < grid.core_columns or start.row == end.row):
        # from the side of the source that faces the function
        direction = 1 if x1 < x2 else -1
        x1, y1, x2, y2 = (
            x1 + direction * BOX_WIDTH / 2,
            y1 - BOX_HEIGHT / 2,
            x2 - direction * BOX_WIDTH / 2,
            y2 + BOX_HEIGHT / 2,
        )
        bend = direction * max(12.0, abs(x2 - x1) / 3)
        return _draw_curve((x1, y1), (x1 + bend, y1), (x2 - bend, y2), (x2, y2))
    if start.row > end.row:
        y1, y2 = y1 - BOX_HEIGHT, y2 + BOX_HEIGHT
    bend = max(14.0, abs(y2 - y1) / 2) * (1 if y1 < y2 else -1)
    return _draw_curve((x1, y1), (x1, y1 + bend), (x2, y2 - bend), (x2, y2))


def _draw_curve(start: Point, *points: Point) -> svg.Markup:
    """Draw a curve by two control points and its end, relative to the start to save bytes."""
    x, y = map(round, start)
    steps = " ".join(f"{round(a) - x} {round(b) - y}" for a, b in points)
    return svg.element("path", d=f"M{x} {y}c{steps}".replace(" -", "-"))


def _draw_box(
    truth: GraphIndex, grid: GraphLayout, node: Node, calls: list[JudgedCall]
) -> svg.Markup:
    place = grid.places[node.function]
    x, y = _box_left(grid, place), _box_top(place)
    is_target = node.output.name == truth.graph.target
    classes = [_node_class(calls), "t" if is_target else ""]
    is_faded = not calls and node.kind != "core"
    return svg.element(
        "g",
        svg.element("title", f"{node.function}: {node.output.name} = {node.output.value}"),
        svg.element("rect", x=x, y=y, class_=" ".join(filter(None, classes)) or None),
        svg.element("text", _label_text(node.function, 12), x=x + BOX_WIDTH / 2, y=y + 15),
        *(_draw_chips(calls, x, y + 22) if calls else [_draw_value_name(node, is_target, x, y)]),
        class_="q" if is_faded else None,
    )


def _draw_value_name(node: Node, is_target: bool, x: float, y: float) -> svg.Markup:
    """Write, under a function that was never called, the name of its output."""
    text = "target" if is_target else _label_text(node.output.name, 11)
    return svg.element("text", text, x=x + BOX_WIDTH / 2, y=y + 32, class_="v")


def _node_class(calls: list[JudgedCall]) -> str:
    kinds = [_call_class(judged) for judged in calls]
    return next((kind for kind in ("r", "a", "w") if kind in kinds), "")


def _call_class(judged: JudgedCall) -> str:
    if judged.call_class != "correct":
        return "w"
    return "r" if judged.node and judged.node.kind == "core" else "a"


def _draw_chips(calls: list[JudgedCall], x: float, y: float) -> Iterator[svg.Markup]:
    """Draw the numbers of the calls: the first ones, and how many more there are."""
    shown = calls if len(calls) <= MAX_CHIPS else calls[: MAX_CHIPS - 1]
    labels = [(_call_class(c), f"{'×' if _call_class(c) == 'w' else ''}{c.number}") for c in shown]
    if len(shown) < len(calls):
        hidden_calls = calls[len(shown) :]
        labels.append((_node_class(hidden_calls), f"+{len(hidden_calls)}"))
    left = x + (BOX_WIDTH - sum(_chip_width(text) + 2 for _, text in labels) + 2) / 2
    for kind, text in labels:
        chip, width = _draw_chip(kind, text, left, y)
        left += width + 2
        yield chip


def _draw_chip(kind: str, text: str, x: float, y: float) -> tuple[svg.Markup, float]:
    width = _chip_width(text)
    # shape as well as colour: round is right, square irrelevant, wrong has a cross
    box = svg.element("rect", x=x, y=y, width=width, class_=kind)
    return svg.join_children((box, svg.element("text", text, x=x + width / 2, y=y + 11))), width


def _chip_width(text: str) -> float:
    return max(16.0, 6.1 * len(text) + 7)


def _draw_unknown_calls(unknown_calls: list[JudgedCall], y: float) -> svg.Markup:
    listed = ", ".join(f"×{c.number} {_label_text(c.call.name, 24)}" for c in unknown_calls[:4])
    more = f" and {len(unknown_calls) - 4} more" if len(unknown_calls) > 4 else ""
    text = f"No such function: {listed}{more}"
    return svg.element("text", text, x=MARGIN, y=y + 6, class_="k")


def _label_text(text: str, most: int) -> str:
    return escape_surrogates(shorten_text(text, most))
