"""Views of one episode: its pictures, the truth, the answer, and the difference between them.

The truth is a ring and the answer a filled dot, so that they differ without colour too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

from toolmark.core import svg
from toolmark.core.media import task_pictures
from toolmark.core.number_format import format_fixed, format_percent, format_short
from toolmark.core.records import Drawing, Table, Task, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.core.text_excerpt import shorten_text
from toolmark.models.secret_mask import escape_control_chars
from toolmark.scoring.brier_errors import likeliest_class
from toolmark.scoring.episode import Episode
from toolmark.suites.multinet.answer_parsing import GRADING_RULES, Prediction
from toolmark.suites.multinet.answer_scoring import parse_prediction
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    Answer,
    Choice,
    Distribution,
    FunctionCalls,
    Truth,
)
from toolmark.suites.multinet.tables.score_columns import ACTION_NAMES

View = Table | Drawing

MAX_DRAWN_OPTIONS = 8  # options whose probability is drawn
_WIDTH = 320.0
_MAX_ANSWER_CHARS = 400  # characters of an answer in the table
_CSS = (
    "text{font:12px system-ui,sans-serif;fill:currentColor}.k{fill-opacity:.72}"
    ".line{stroke:currentColor;stroke-opacity:.25}.mean{stroke:currentColor;stroke-opacity:.6}"
    ".spot{fill:none;stroke:currentColor;stroke-opacity:.3}"
    ".right{fill:none;stroke:var(--good,#00704d);stroke-width:3}"
    ".predicted{fill:var(--accent,#0a5a9c)}.on{fill:var(--card,#fff);font-weight:600}"
    ".bar{fill:var(--accent,#0a5a9c);fill-opacity:.75}"
)
_ACTION_POSITIONS = ((0, -1), (0, 1), (1, 0), (-1, 0), (0, 0), (1, 1))
"""The positions of a player's actions in the drawing: north is up, interact is in the corner."""


def episode_views(episode: Episode) -> list[View]:
    """Return the pictures, truth and answer side by side, and a drawing where one is useful."""
    task, trajectory = episode.task, episode.trajectory
    truth = read_task_data(task, Truth)
    if isinstance(truth.space, FunctionCalls):
        return [*_picture_views(task), *_turn_table(truth, trajectory)]
    predictions: dict[str, Prediction] = {
        name: parse_prediction(truth, trajectory, name) for name in GRADING_RULES
    }
    truth_table = _vector_table if isinstance(truth.space, ActionVector) else _answer_table
    return [
        *_picture_views(task),
        truth_table(truth, predictions),
        *_answer_drawings(truth, predictions[GRADING_RULES[0]].value),
    ]


def _picture_views(task: Task) -> Iterator[Drawing]:
    images = task_pictures(task)
    for at, part in enumerate(images, 1):
        more = f", {at} of {len(images)}, oldest first" if len(images) > 1 else ""
        yield Drawing(title=f"Picture{more}", svg="", background=part)


# --- tables -----------------------------------------------------------------------------


def _answer_table(truth: Truth, predictions: Mapping[str, Prediction]) -> Table:
    """Return the truth, the answer under each grading rule, and the baselines' answers."""
    rows: list[tuple[str, str]] = [("right", format_answer(truth, truth.truth))]
    for name, found in _distinct_answers(predictions):
        label = (
            format_answer(truth, found.value) if found.value is not None else _invalid_text(found)
        )
        rows.append((name, label))
    rows += [
        (f"baseline {name}", format_answer(truth, x)) for name, x in truth.baseline_answers.items()
    ]
    shortened = tuple((name, text[:_MAX_ANSWER_CHARS]) for name, text in rows)
    note = "Synthetic: the row is a generated stand-in." if truth.source == "synthetic" else ""
    return Table(title="Truth and answer", head=("", "answer"), rows=shortened, note=note)


def _distinct_answers(predictions: Mapping[str, Prediction]) -> list[tuple[str, Prediction]]:
    """Return the answers by name, one for grading rules that parse the same."""
    (_, first), *others = predictions.items()
    if all(other == first for _, other in others):
        return [("answered", first)]
    return [(f"answered ({rule} rule)", found) for rule, found in predictions.items()]


def _invalid_text(found: Prediction) -> str:
    return f"invalid: {found.fault}"


def _vector_table(truth: Truth, predictions: Mapping[str, Prediction]) -> Table:
    """Return a vector dimension by dimension, with the baselines' vectors."""
    assert isinstance(truth.space, ActionVector)
    found = _distinct_answers(predictions)
    columns: list[tuple[str, Any]] = [("right", truth.truth)]
    columns += [(name, each.value) for name, each in found]
    columns += list(truth.baseline_answers.items())
    rows = tuple(
        (name, *(None if each is None else format_short(float(each[at])) for _, each in columns))
        for at, name in enumerate(truth.space.names)
    )
    notes = [f"{name}: {_invalid_text(each)}." for name, each in found if each.value is None]
    notes += ["Synthetic: the row is a generated stand-in."] * (truth.source == "synthetic")
    return Table(title="Truth and answer", head=("", *(name for name, _ in columns)), rows=rows,
                 note=" ".join(notes))  # fmt: skip


def format_answer(truth: Truth, answer: Answer) -> str:
    """Return an answer as text in the terms of its space."""
    match truth.space:
        case Choice(options=options) | Distribution(options=options) if isinstance(answer, int):
            return (
                f"{answer}: {describe_joint_action(answer)}"
                if _has_joint_actions(truth)
                else f"{answer}: {options[answer]}"
            )
        case Distribution(options=options) if isinstance(answer, tuple):
            shares = [float(share) for share in answer]  # type: ignore[arg-type]
            if len(set(shares)) == 1 and not isnan(shares[0]):
                return "even odds"
            top = likeliest_class(shares)
            share = "nan" if isnan(shares[top]) else format_fixed(shares[top], 3)
            return f"{format_answer(truth, top)}, with {share}"
        case _:
            return str(answer)


def describe_joint_action(index: int) -> str:
    """Return a joint action as text."""
    first, second = divmod(index, len(ACTION_NAMES))
    return f"player 0 {ACTION_NAMES[first]}, player 1 {ACTION_NAMES[second]}"


def _has_joint_actions(truth: Truth) -> bool:
    return truth.family == "overcooked"


def _turn_table(truth: Truth, trajectory: Trajectory) -> Iterator[Table]:
    """Yield the calls of each turn: the truth next to the answer."""
    expected: Any = truth.truth
    answers = [
        "\n".join([step.reply.text, *(f"{call.name} {call.arguments}" for call in step.calls)])
        for step in trajectory.steps
    ]
    rows = tuple(
        (at + 1, "\n".join(calls), answers[at].strip() if at < len(answers) else "not reached")
        for at, calls in enumerate(expected)
    )
    yield Table(title="Calls by turn", head=("turn", "right", "predicted"), rows=rows)


# --- drawings ---------------------------------------------------------------------------


def _answer_drawings(truth: Truth, answer: Any) -> Iterator[Drawing]:
    match truth.space:
        case ActionVector() as space:
            yield Drawing(
                title="The vector, dimension by dimension",
                svg=draw_vector(space, truth.truth, answer),  # type: ignore[arg-type]
                note="Ring: right; dot: answered; stroke: training mean. Each from its least to "
                "its largest value in training; an arrow points to what lies beyond.",
            )
        case Distribution(options=options) if answer is not None:
            assert isinstance(truth.truth, int)
            names = (
                [describe_joint_action(i) for i in range(len(options))]
                if _has_joint_actions(truth)
                else options
            )
            note = f"The {MAX_DRAWN_OPTIONS} likeliest options, and the right one (ring)."
            yield Drawing(
                title="Probabilities", svg=draw_distribution(names, answer, truth.truth), note=note
            )
            if _has_joint_actions(truth):
                yield _players_view(truth.truth, likeliest_class(answer))
        case _ if _has_joint_actions(truth):
            assert isinstance(truth.truth, int)
            yield _players_view(truth.truth, answer)


def _players_view(truth: int, answer: int | None) -> Drawing:
    return Drawing(title="What the two players do", svg=draw_players(truth, answer),
                   note="Ring: what they did; filled: what was answered.")  # fmt: skip


def draw_players(truth: int, answered: int | None) -> svg.Markup:
    """Draw a joint action, six dots for each player."""
    body: list[svg.Markup] = []
    for player in (0, 1):
        x = 74.0 + 165 * player
        body.append(svg.element("text", f"player {player}", x=x, y=14, text_anchor="middle"))
        correct_action = divmod(truth, len(ACTION_NAMES))[player]
        answered_action = None if answered is None else divmod(answered, len(ACTION_NAMES))[player]
        for action, (dx, dy) in enumerate(_ACTION_POSITIONS):
            body += _draw_action(
                action,
                x + 46 * dx,
                82.0 + 46 * dy,
                action == correct_action,
                action == answered_action,
            )
    answer = "nothing valid" if answered is None else describe_joint_action(answered)
    label = f"Right: {describe_joint_action(truth)}; answered: {answer}"
    return svg.svg_element(_WIDTH, 156, *body, label=label, css=_CSS)


def _draw_action(
    action: int, x: float, y: float, is_correct: bool, is_answered: bool
) -> Iterator[svg.Markup]:
    name = ACTION_NAMES[action]
    kind = "predicted" if is_answered else "spot"
    yield svg.element("circle", svg.element("title", name), cx=x, cy=y, r=17, class_=kind)
    if is_correct:
        yield svg.element("circle", cx=x, cy=y, r=20, class_="right")
    text = "act" if name == "interact" else name if name == "stay" else name[0].upper()
    yield svg.element(
        "text", text, x=x, y=y + 4, text_anchor="middle", class_="on" if is_answered else "k"
    )


def draw_distribution(
    names: Sequence[str], probabilities: Sequence[float], truth: int
) -> svg.Markup:
    """Draw the largest probabilities and that of the correct option as bars."""
    order = sorted(range(len(probabilities)), key=lambda i: -float(probabilities[i]))[
        :MAX_DRAWN_OPTIONS
    ]
    drawn_options = order if truth in order else [*order, truth]
    largest = max((float(probabilities[i]) for i in drawn_options), default=0.0) or 1.0
    body: list[svg.Markup] = []
    for row, i in enumerate(drawn_options):
        y = 36.0 * row
        share = float(probabilities[i])
        body.append(svg.element("text", _label_text(names[i], 44), x=16, y=y + 13, class_="k"))
        body.append(
            svg.element(
                "rect",
                x=16,
                y=y + 18,
                width=max(1.0, 236 * share / largest),
                height=10,
                class_="bar",
            )
        )
        body.append(
            svg.element("text", format_percent(share), x=_WIDTH, y=y + 27, text_anchor="end")
        )
        if i == truth:
            body.append(svg.element("circle", cx=7, cy=y + 9, r=4.5, class_="right"))
    label = (
        f"Probabilities of {len(drawn_options)} options; the right one has "
        f"{format_percent(float(probabilities[truth]))}"
    )
    return svg.svg_element(_WIDTH, 36.0 * len(drawn_options), *body, label=label, css=_CSS)


def draw_vector(
    space: ActionVector, truth: Sequence[float], answer: Sequence[float] | None
) -> svg.Markup:
    """Draw a vector, a line for each dimension from its lowest to its highest value."""
    left, right = 132.0, _WIDTH - 14
    body: list[svg.Markup] = []
    for row, name in enumerate(space.names):
        y = 24.0 * row + 14
        low, high = space.low[row], space.high[row]

        def x_position(value: float, low: float = low, high: float = high) -> float:
            part = (value - low) / (high - low) if high > low else 0.5
            return left + (right - left) * min(max(part, 0.0), 1.0)

        body.append(
            svg.element("text", _label_text(name, 19), x=left - 10, y=y + 4, text_anchor="end")
        )
        body.append(svg.element("line", x1=left, x2=right, y1=y, y2=y, class_="line"))
        at = x_position(space.mean[row])
        body.append(svg.element("line", x1=at, x2=at, y1=y - 6, y2=y + 6, class_="mean"))
        if answer is not None:
            value = float(answer[row])
            body += _draw_answer(value, x_position(value), y, low, high)
        title = svg.element("title", f"right: {format_short(truth[row])}")
        body.append(
            svg.element("circle", title, cx=x_position(truth[row]), cy=y, r=6.5, class_="right")
        )
    label = f"{len(space.names)} dimensions" + ("" if answer is not None else "; nothing valid")
    return svg.svg_element(_WIDTH, 24.0 * len(space.names) + 6, *body, label=label, css=_CSS)


def _draw_answer(value: float, x: float, y: float, low: float, high: float) -> Iterator[svg.Markup]:
    """Draw an answer; a value out of range is an arrow at the end."""
    title = svg.element("title", f"answered: {format_short(value)}")
    if low <= value <= high:
        yield svg.element("circle", title, cx=x, cy=y, r=4, class_="predicted")
        return
    side = 7 if value > high else -7
    yield svg.element("path", title, d=f"M{x:.1f} {y - 6:.1f}v12l{side} -6z", class_="predicted")


def _label_text(text: str, longest: int) -> str:
    return shorten_text(escape_control_chars(" ".join(text.split())), longest)
