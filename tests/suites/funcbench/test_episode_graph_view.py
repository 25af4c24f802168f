"""The drawing shows every function and call; the listing every call with its class."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from xml.etree import ElementTree

import msgspec
import pytest

import toolmark as tm
from toolmark.baselines.eager_caller import EagerCaller
from toolmark.core.model import Model
from toolmark.core.records import Call, Drawing, Reply, Request, Table, Task, Trajectory
from toolmark.environments.function_graph import GraphIndex, read_graph
from toolmark.reports.episode_block import embed_json
from toolmark.reports.svg_sanitizer import sanitize_svg
from toolmark.scoring.episode import Episode
from toolmark.suites.funcbench import funcbench_controls
from toolmark.suites.funcbench.episode_graph_view import BOX_HEIGHT, BOX_WIDTH
from toolmark.suites.funcbench.funcbench_suite import SCORER
from toolmark.suites.funcbench.graph_layout import MAX_CORE_COLUMNS, MAX_SIDE_COLUMNS, lay_out_graph

Play = Callable[[Iterable[Task], Callable[[Task], Model]], list[tuple[Task, Trajectory]]]
SVG = "{http://www.w3.org/2000/svg}"


def view(task: Task, trajectory: Trajectory) -> tuple[ElementTree.Element, Table, str]:
    assert SCORER.presentation.views is not None
    drawing, listing = SCORER.presentation.views(Episode(task, trajectory))
    assert isinstance(drawing, Drawing)
    assert isinstance(listing, Table)
    assert sanitize_svg(drawing.svg) == drawing.svg
    return ElementTree.fromstring(drawing.svg), listing, drawing.svg


def functions(root: ElementTree.Element) -> list[ElementTree.Element]:
    """Return the boxes of the functions: those that say in a title what they are."""
    groups = [group for group in root.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    return [rect for group in groups for rect in group.findall(f"{SVG}rect")[:1]]


@pytest.mark.parametrize(
    ("core", "depth", "irrelevant"), [(2, 1, 0), (40, 1, 0), (40, 9, 20), (40, 37, 20), (5, 2, 20)]
)
def test_every_function_has_its_own_place_inside_the_drawing(
    core: int, depth: int, irrelevant: int, play: Play
) -> None:
    suite = tm.load(
        "funcbench",
        core=core,
        depth=depth,
        connected=irrelevant,
        disconnected=irrelevant,
        graphs=1,
        seed=2,
    )
    ((task, trajectory),) = play(suite, lambda _: EagerCaller())
    root, _, _ = view(task, trajectory)
    boxes = functions(root)
    corners = [(float(rect.get("x", "")), float(rect.get("y", ""))) for rect in boxes]
    assert len(corners) == core + 2 * irrelevant
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    for x, y in corners:
        assert 0 <= x <= width - BOX_WIDTH
        assert 0 <= y <= height - BOX_HEIGHT
    corners.sort()
    for at, (x, y) in enumerate(corners):
        for a, b in corners[at + 1 :]:
            assert a - x >= BOX_WIDTH or abs(b - y) >= BOX_HEIGHT
    assert width <= 40 + (MAX_CORE_COLUMNS + MAX_SIDE_COLUMNS + 1) * 92


def test_values_flow_downwards() -> None:
    (task,) = tm.load("funcbench", core=30, depth=7, graphs=1, seed=2)
    truth = GraphIndex(read_graph(task))
    places = lay_out_graph(truth, ()).places
    for node in truth.graph.nodes:
        for x in node.inputs:
            if x.source in places:
                assert places[x.source].row < places[node.function].row


def test_calls_are_numbered_and_coloured_by_class(play: Play) -> None:
    suite = tm.load("funcbench", core=6, depth=3, connected=3, graphs=1, cap="none", seed=2)
    options = {"class": "incorrect", "rate": "0.5"}
    ((task, trajectory),) = play(
        suite, lambda task: funcbench_controls.make_faulty(task, 0, options)
    )
    root, listing, _ = view(task, trajectory)
    chips = {}
    for group in root.iter(f"{SVG}g"):
        for rect, text in pairwise(group):
            if rect.get("width"):
                chips[text.text] = rect.get("class")
    wrong = [row[0] for row in listing.rows if row[5] == "4 incorrect value"]
    right = [row[0] for row in listing.rows if row[5] == "correct, core"]
    assert len(wrong) + len(right) == len(listing.rows)
    assert wrong
    assert all(chips.get(f"×{number}", "w") == "w" for number in wrong)
    assert sum(f"×{number}" in chips for number in wrong) >= len(wrong) / 2
    assert all(chips[f"{number}"] == "r" for number in right if f"{number}" in chips)


class Hostile(Model):
    """Calls functions that do not exist, by names that bite."""

    async def __call__(self, request: Request, /) -> Reply:
        if len(request.messages) > 3:
            return Reply(text="x")
        names = ["</svg><script>alert(1)</script>", "func_\x00\x1b", "x" * 100_000, "ab&<>\"'"]
        calls = [Call(name=name, arguments=json.dumps({name: 1})) for name in names]
        calls.append(Call(name=request.tools[0].name, arguments="</script>" * 10_000))
        return Reply(calls=tuple(calls))


def test_hostile_calls_are_shown_as_text_and_cut(play: Play) -> None:
    ((task, trajectory),) = play(
        tm.load("funcbench", core=4, depth=2, graphs=1, seed=2), lambda _: Hostile()
    )
    root, listing, drawn = view(task, trajectory)
    assert "<script" not in drawn
    assert len(drawn) < 20_000
    assert any("No such function" in (text.text or "") for text in root.iter(f"{SVG}text"))
    assert [row[5] for row in listing.rows] == [
        *["1 function not found"] * 4, "2 wrong inputs: unreadable"
    ]  # fmt: skip
    assert all(len(str(cell)) <= 200 for row in listing.rows for cell in row)


def test_a_drawing_asks_for_nothing_outside_itself(play: Play) -> None:
    ((task, trajectory),) = play(
        tm.load("funcbench", core=4, depth=2, graphs=1, seed=2), lambda _: EagerCaller()
    )
    _, _, drawn = view(task, trajectory)
    assert not re.search(r"href|url\(|@import|<image|<foreignObject", drawn)
    assert drawn.count("http") == drawn.count("http://www.w3.org/2000/svg") == 1


def test_an_episode_without_calls_is_drawn(play: Play) -> None:
    class Mute(Model):
        async def __call__(self, request: Request, /) -> Reply:
            return Reply()

    ((task, trajectory),) = play(
        tm.load("funcbench", core=4, depth=2, graphs=1, seed=2), lambda _: Mute()
    )
    root, listing, _ = view(task, trajectory)
    assert listing.rows == ()
    assert any(text.text == "target" for text in root.iter(f"{SVG}text"))


def test_a_graph_without_a_way_to_its_target_is_drawn_all_the_same(play: Play) -> None:
    (task,) = tm.load("funcbench", core=4, depth=2, connected=2, graphs=1, seed=2)
    lost = {"graph": {**task.data["graph"], "known_values": {}}}
    stuck = msgspec.structs.replace(task, data=lost)
    ((_, trajectory),) = play([task], lambda _: EagerCaller())
    root, _, _ = view(stuck, trajectory)
    assert len(functions(root)) == 6


def test_a_drawing_is_small_enough_for_a_page_of_a_thousand(play: Play) -> None:
    for connected in (0, 20, 40):
        rest = 40 - connected
        suite = tm.load(
            "funcbench", core=20, depth=9, connected=connected, disconnected=rest, graphs=1, seed=1
        )
        ((task, trajectory),) = play(suite, lambda _: EagerCaller())
        _, _, drawn = view(task, trajectory)
        assert len(embed_json(str(drawn))) < 22_000
