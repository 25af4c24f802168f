"""One episode to look at, and the page with several suites: what is drawn, what is said first."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.page_reader import read_page
from tests.suites.multinet import made_tasks

from toolmark.core.media import MediaStore
from toolmark.core.records import Drawing, Reply, Table, Task, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.reports import html_report
from toolmark.scoring.episode import Episode
from toolmark.suites.multinet import answer_scoring, episode_views, report_tables, task_making
from toolmark.suites.multinet.frame_records import Truth

SVG = "{http://www.w3.org/2000/svg}"


def made(task: Task, trajectory: Trajectory) -> dict[str, Table | Drawing]:
    return {each.title: each for each in episode_views.episode_views(Episode(task, trajectory))}


def drawn(view: Table | Drawing) -> ElementTree.Element:
    assert isinstance(view, Drawing)
    return ElementTree.fromstring(view.svg)


def marked(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [each for each in root.iter() if each.get("class") == kind]


def pairs(view: Table | Drawing) -> dict[str, str]:
    assert isinstance(view, Table)
    return {str(row[0]): str(row[1]) for row in view.rows}


# --- the views --------------------------------------------------------------------------


def test_a_joint_action_is_shown_as_two_players() -> None:
    (task,) = made_tasks.tasks("overcooked", 1)
    found = made(task, made_tasks.trajectory(task, [Reply(text="29")]))
    table = pairs(found["Truth and answer"])
    assert table["answered"] == "29: player 0 stay, player 1 interact"
    assert {"right", "baseline stay", "baseline previous"} <= set(table)
    root = drawn(found["What the two players do"])
    assert len(marked(root, "right")) == 2
    titles = [spot.findtext(f"{SVG}title") for spot in marked(root, "predicted")]
    assert titles == ["stay", "interact"]


def test_what_is_invalid_is_said_and_draws_no_answer() -> None:
    (task,) = made_tasks.tasks("overcooked", 1)
    found = made(task, made_tasks.silent(task))
    assert pairs(found["Truth and answer"])["answered"] == "invalid: nothing was said"
    root = drawn(found["What the two players do"])
    assert not marked(root, "predicted") and "nothing valid" in str(root.get("aria-label"))


def test_rules_that_parse_differently_are_distinguished() -> None:
    (task,) = made_tasks.tasks("piqa", 1)
    table = pairs(
        made(task, made_tasks.trajectory(task, [Reply(text="Solution 1")]))["Truth and answer"]
    )
    assert table["answered (paper rule)"].startswith("invalid: ")
    assert table["answered (reference rule)"].startswith("1: ")


def test_probabilities_are_bars_and_the_right_one_is_there_however_small() -> None:
    (task,) = made_tasks.tasks("odds", 1)
    truth = read_task_data(task, Truth)
    shares = [0.0] * 36
    for i in range(10):
        shares[(int(str(truth.truth)) + 1 + i) % 36] = 0.1
    found = made(task, made_tasks.trajectory(task, [Reply(text=str(shares))]))
    root = drawn(found["Probabilities"])
    assert (
        len(marked(root, "bar")) == episode_views.MAX_DRAWN_OPTIONS + 1
        and len(marked(root, "right")) == 1
    )
    assert "has 0.0\xa0%" in str(root.get("aria-label"))


@pytest.mark.parametrize("at", [[0], [7], range(36)])
def test_a_nan_of_the_model_is_shown_as_nan_on_the_option_that_is_scored(at: Sequence[int]) -> None:
    (task,) = made_tasks.tasks("odds", 1)
    shares = [float("nan") if i in at else float(i == 20) for i in range(36)]
    said = made_tasks.trajectory(task, [Reply(text=json.dumps(shares))])
    table = pairs(made(task, said)["Truth and answer"])
    assert (
        answer_scoring.score_episode(Episode(task, said))["reference"].parts["predicted"] == at[0]
    )
    assert table["answered (reference rule)"].startswith(f"{at[0]}: ")
    assert table["answered (reference rule)"].endswith(", with nan")


@given(st.lists(st.floats(-50, 50), min_size=14, max_size=14))
def test_no_answer_of_a_vector_leaves_the_drawing(said: list[float]) -> None:
    root = ElementTree.fromstring(episode_views.draw_vector(made_tasks.ARMS, (0.5,) * 14, said))
    wide = float(root.get("width", ""))
    dots = marked(root, "predicted")
    assert len(dots) == len(marked(root, "right")) == 14
    for value, dot in zip(said, dots, strict=True):
        inside = -1 <= value <= 1
        assert dot.tag == f"{SVG}{'circle' if inside else 'path'}"
        x = float(dot.get("cx") or re.findall(r"M([\d.]+)", dot.get("d", ""))[0])
        assert 0 < x <= wide - 7


def test_calls_stand_turn_by_turn_and_a_turn_not_reached_says_so() -> None:
    (task,) = made_tasks.tasks("bfcl", 1)
    view = made(task, made_tasks.trajectory(task, [Reply(text="[cd(folder='d0')]")]))[
        "Calls by turn"
    ]
    assert isinstance(view, Table)
    assert [row[0] for row in view.rows] == [1, 2, 3]
    assert [row[2] for row in view.rows] == ["[cd(folder='d0')]", "not reached", "not reached"]


def test_pictures_are_shown_first_oldest_first(tmp_path: Path) -> None:
    rows = made_tasks.Shown(made_tasks.frames("sqa3d", 1), False)
    maker = task_making.PictureMaker(rows, MediaStore(tmp_path))
    (task,) = maker.make_item(made_tasks.tasks("sqa3d", 1))
    first, *_ = episode_views.episode_views(Episode(task, made_tasks.silent(task)))
    assert isinstance(first, Drawing) and first.background is not None and not first.svg


@pytest.mark.parametrize(
    "family", ["piqa", "odinw", "overcooked", "odds", "sqa3d", "bfcl", "openx"]
)
def test_whatever_is_said_can_be_shown(family: str) -> None:
    for task in made_tasks.tasks(family, 2, ("text", "tool")):
        for said in (
            made_tasks.answered(task, 0.5), made_tasks.silent(task),
            made_tasks.called(task, "act", '{"player_0": "UP"}'),
            made_tasks.trajectory(task, [Reply(text=made_tasks.HOSTILE)]),
        ):  # fmt: skip
            for view in episode_views.episode_views(Episode(task, said)):
                if isinstance(view, Drawing) and view.svg:
                    assert not [x for x in drawn(view).iter() if x.tag.endswith("script")]


# --- the page ---------------------------------------------------------------------------


def test_a_page_says_that_rows_are_synthetic_before_any_number(tmp_path: Path) -> None:
    run = made_tasks.make(tmp_path, "overcooked", 24, forms=("text", "tool"))
    path = html_report.write_report([run], tmp_path / "one.html")
    page = read_page(path)
    walked = list(page.root.walk())
    (caution,) = page.root.find(kind="caution")
    assert caution.text.startswith(report_tables.SYNTHETIC_CAUTION + " The interval rests on")
    assert walked.index(caution) < walked.index(page.section("headline"))
    assert page.root.find("td", "heat") and any(
        each.startswith("Format against action") for each in page.root.headings
    )
    assert made_tasks.HOSTILE not in path.read_text()


def test_a_page_of_several_suites_has_their_profile_and_names_what_is_compared(
    tmp_path: Path,
) -> None:
    runs = [
        made_tasks.make(tmp_path, "piqa", 16), made_tasks.make(tmp_path, "sqa3d", 16),
        made_tasks.make(tmp_path, "piqa", 16, model="test/other", skill=0.9),
    ]  # fmt: skip
    page = read_page(html_report.write_report(runs, tmp_path / "all.html"))
    profile = "Profile over the families"
    assert profile in page.section("result").headings
    cautions = [each.text for each in page.root.find(kind="caution")]
    assert len(cautions) == 1 and cautions[0].endswith(report_tables.SYNTHETIC_CAUTION)
    compared = [each.text for each in page.section("compare").find("h3", "run")]
    assert compared == ["multinet-piqa"]
    alone = read_page(html_report.write_report(runs[::2], tmp_path / "two.html"))
    assert profile not in alone.root.headings
