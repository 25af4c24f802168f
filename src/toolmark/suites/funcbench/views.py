"""One episode to look at: the graph with numbered calls, and the calls one by one.

The drawing has the colours of Figs. 9, 11 and 12 of arXiv 2509.26553, the listing is Fig. 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from toolmark import svg
from toolmark.codec import escape
from toolmark.suites.funcbench.layout import Place, Plan, plan
from toolmark.suites.funcbench.score import Judged, audit, name
from toolmark.types import Drawing, Result, Table, Task, Trajectory
from toolmark.worlds.dag import Node, Truth, graph

Point: TypeAlias = tuple[float, float]
X, Y = 92, 68  # the pitch of the grid
WIDE, HIGH = 80, 42  # a function's box
MARGIN, TOP = 14, 40
GAP = 26  # between the core and the irrelevant functions
CHIPS = 3  # call numbers shown on one function
# A page holds hundreds of drawings, so what elements have in common stands in the style. It has
# no scope, as the page shows each drawing in a shadow root. Classes: e edge, l loose, b what
# hides edges behind a box; r right, a aside, w wrong; t target, v value, q quiet, k legend. A rect
# that has a width is the chip of a call, any other a function's box.
_CSS = (
    "text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor;"
    "text-anchor:middle}"
    ".v,.k{font-size:10px}.k{text-anchor:start}.v,.q>*{opacity:.55}"
    ".e{fill:none;stroke:currentColor;stroke-opacity:.32}.l{stroke-dasharray:4 3}"
    # boxes less their corners, which a round stroke adds
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


def views(task: Task, trajectory: Trajectory) -> Sequence[Table | Drawing]:
    """Return the drawn graph and the listing of the calls."""
    truth = Truth(graph(task))
    calls = list(audit(truth, trajectory))
    return _drawing(truth, calls), _listing(calls, trajectory)


def _listing(calls: list[Judged], trajectory: Trajectory) -> Table:
    results = [result for step in trajectory.steps for result in step.results]
    rows = [
        (
            judged.number,
            judged.step,
            _cut(judged.call.name, 40),
            _cut(judged.call.arguments, 200),
            _returned(result),
            name(judged) or f"correct, {judged.node.kind if judged.node else ''}",
            judged.why,
        )
        for judged, result in zip(calls, results, strict=True)
    ]
    return Table(
        title="Calls one by one",
        head=("call", "step", "function", "arguments", "returned", "class", "why"),
        rows=tuple(rows),
    )


def _returned(result: Result) -> str:
    return _cut(result.text.partition("\n")[0], 80)


def _drawing(truth: Truth, calls: list[Judged]) -> Drawing:
    by_node: dict[str, list[Judged]] = {}
    lost: list[Judged] = []
    for judged in calls:
        if judged.node is None:
            lost.append(judged)
        else:
            by_node.setdefault(judged.node.function, []).append(judged)
    grid = plan(truth, tuple(by_node))
    body = [
        *_legend(),
        *_edges(truth, grid, by_node),
        _base(grid),
        *(_box(truth, grid, node, by_node.get(node.function, [])) for node in truth.graph.nodes),
    ]
    width = max(_left(grid, Place(grid.columns, 0)) - X + WIDE + MARGIN, 560)
    height = TOP + grid.rows * Y + MARGIN
    if lost:
        body.append(_lost(lost, height))
        height += 24
    drawn = svg.root(
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


def _left(grid: Plan, place: Place) -> float:
    return MARGIN + place.column * X + (GAP if place.column >= grid.core_columns else 0)


def _top(place: Place) -> float:
    return TOP + place.row * Y


def _legend() -> Iterator[svg.Markup]:
    x = float(MARGIN)
    for kind, number, text in _LEGEND:
        chip, wide = _chip(kind, number, x, 10)
        yield chip
        yield svg.tag("text", text, x=x + wide + 5, y=21, class_="k")
        x += wide + 5 + 6.2 * len(text) + 18
    yield svg.tag("rect", x=x, y=10, style="width:22px;height:15px;rx:3px;opacity:.55")
    yield svg.tag("text", "not called", x=x + 27, y=21, class_="k")


def _edges(truth: Truth, grid: Plan, by_node: Mapping[str, list[Judged]]) -> Iterator[svg.Markup]:
    """Draw what the core takes, then dashed what called irrelevant functions take."""
    nodes = truth.graph.nodes
    core = [node for node in nodes if node.kind == "core"]
    loose = [node for node in nodes if node.kind != "core" and node.function in by_node]
    for classes, consumers in (("e", core), ("e l", loose)):
        lines = [
            _edge(grid, x.source, node)
            for node in consumers
            for x in node.inputs
            if x.source in truth.nodes
        ]
        yield svg.tag("g", *lines, class_=classes)


def _base(grid: Plan) -> svg.Markup:
    """Hide the edges that pass behind boxes."""
    corners = ((_left(grid, place) + 5, _top(place) + 5) for place in grid.places.values())
    wide, high = WIDE - 10, HIGH - 10
    path = "".join(f"M{x:g} {y:g}h{wide}v{high}h-{wide}z" for x, y in corners)
    return svg.tag("path", d=path, class_="b")


def _edge(grid: Plan, source: str, node: Node) -> svg.Markup:
    start, end = grid.places[source], grid.places[node.function]
    x1, y1 = _left(grid, start) + WIDE / 2, _top(start) + HIGH
    x2, y2 = _left(grid, end) + WIDE / 2, _top(end)
    beside = end.column >= grid.core_columns
    if beside and (start.column < grid.core_columns or start.row == end.row):
        # from the side of the source that faces the function
        way = 1 if x1 < x2 else -1
        x1, y1, x2, y2 = x1 + way * WIDE / 2, y1 - HIGH / 2, x2 - way * WIDE / 2, y2 + HIGH / 2
        bend = way * max(12.0, abs(x2 - x1) / 3)
        return _curve((x1, y1), (x1 + bend, y1), (x2 - bend, y2), (x2, y2))
    if start.row > end.row:
        y1, y2 = y1 - HIGH, y2 + HIGH
    bend = max(14.0, abs(y2 - y1) / 2) * (1 if y1 < y2 else -1)
    return _curve((x1, y1), (x1, y1 + bend), (x2, y2 - bend), (x2, y2))


def _curve(start: Point, *points: Point) -> svg.Markup:
    """Draw a curve by two control points and its end, which are shorter as seen from its start."""
    x, y = map(round, start)
    steps = " ".join(f"{round(a) - x} {round(b) - y}" for a, b in points)
    return svg.tag("path", d=f"M{x} {y}c{steps}".replace(" -", "-"))


def _box(truth: Truth, grid: Plan, node: Node, calls: list[Judged]) -> svg.Markup:
    place = grid.places[node.function]
    x, y = _left(grid, place), _top(place)
    is_target = node.output.name == truth.graph.target
    classes = [_state(calls), "t" if is_target else ""]
    quiet = not calls and node.kind != "core"
    return svg.tag(
        "g",
        svg.tag("title", f"{node.function}: {node.output.name} = {node.output.value}"),
        svg.tag("rect", x=x, y=y, class_=" ".join(filter(None, classes)) or None),
        svg.tag("text", _cut(node.function, 12), x=x + WIDE / 2, y=y + 15),
        *(_chips(calls, x, y + 22) if calls else [_value(node, is_target, x, y)]),
        class_="q" if quiet else None,
    )


def _value(node: Node, is_target: bool, x: float, y: float) -> svg.Markup:
    """Under the name of a function that was never called: what it would have been."""
    text = "target" if is_target else _cut(node.output.name, 11)
    return svg.tag("text", text, x=x + WIDE / 2, y=y + 32, class_="v")


def _state(calls: list[Judged]) -> str:
    kinds = [_kind(judged) for judged in calls]
    return next((kind for kind in ("r", "a", "w") if kind in kinds), "")


def _kind(judged: Judged) -> str:
    if judged.found != "correct":
        return "w"
    return "r" if judged.node and judged.node.kind == "core" else "a"


def _chips(calls: list[Judged], x: float, y: float) -> Iterator[svg.Markup]:
    """Number the calls; of many the first ones are shown, and how many more there are."""
    shown = calls if len(calls) <= CHIPS else calls[: CHIPS - 1]
    labels = [(_kind(c), f"{'×' if _kind(c) == 'w' else ''}{c.number}") for c in shown]
    if len(shown) < len(calls):
        rest = calls[len(shown) :]
        labels.append((_state(rest), f"+{len(rest)}"))
    left = x + (WIDE - sum(_wide(text) + 2 for _, text in labels) + 2) / 2
    for kind, text in labels:
        chip, wide = _chip(kind, text, left, y)
        left += wide + 2
        yield chip


def _chip(kind: str, text: str, x: float, y: float) -> tuple[svg.Markup, float]:
    wide = _wide(text)
    # shape as well as colour: round is right, square irrelevant, wrong has a cross
    box = svg.tag("rect", x=x, y=y, width=wide, class_=kind)
    return svg.join((box, svg.tag("text", text, x=x + wide / 2, y=y + 11))), wide


def _wide(text: str) -> float:
    return max(16.0, 6.1 * len(text) + 7)


def _lost(lost: list[Judged], y: float) -> svg.Markup:
    listed = ", ".join(f"×{c.number} {_cut(c.call.name, 24)}" for c in lost[:4])
    more = f" and {len(lost) - 4} more" if len(lost) > 4 else ""
    text = f"No such function: {listed}{more}"
    return svg.tag("text", text, x=MARGIN, y=y + 6, class_="k")


def _cut(text: str, most: int) -> str:
    return escape(text if len(text) <= most else text[: most - 1] + "…")
