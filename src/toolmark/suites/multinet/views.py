"""One episode to look at: its pictures, what is right, what was answered, and how far apart.

What is right is a ring, what was answered a filled dot: they are told apart without colour too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark import svg
from toolmark.models.mask import printable
from toolmark.suites.multinet.frame import Answer, Calls, Choice, Motion, Odds, Truth, truth_of
from toolmark.suites.multinet.parse import READINGS, Said
from toolmark.suites.multinet.score import said_of
from toolmark.suites.multinet.tables.measure import MOVES
from toolmark.types import Drawing, Image, Table, Task, Trajectory

View = Table | Drawing

MOST = 8  # options whose probability is drawn
_WIDTH = 320.0
_LONGEST = 400  # letters of an answer in the table
_CSS = (
    "text{font:12px system-ui,sans-serif;fill:currentColor}.k{fill-opacity:.72}"
    ".line{stroke:currentColor;stroke-opacity:.25}.mean{stroke:currentColor;stroke-opacity:.6}"
    ".spot{fill:none;stroke:currentColor;stroke-opacity:.3}"
    ".right{fill:none;stroke:var(--good,#00704d);stroke-width:3}"
    ".said{fill:var(--accent,#0a5a9c)}.on{fill:var(--card,#fff);font-weight:600}"
    ".bar{fill:var(--accent,#0a5a9c);fill-opacity:.75}"
)
_SPOTS = ((0, -1), (0, 1), (1, 0), (-1, 0), (0, 0), (1, 1))
"""Where a player's actions stand: north up, interact in the corner."""


def views(task: Task, trajectory: Trajectory) -> list[View]:
    """Return the pictures, truth and answer beside each other, and a drawing where one helps."""
    truth = truth_of(task)
    if isinstance(truth.space, Calls):
        return [*_pictures(task), *_turns(truth, trajectory)]
    said: dict[str, Said] = {name: said_of(truth, trajectory, name) for name in READINGS}
    told = _measured if isinstance(truth.space, Motion) else _told
    return [*_pictures(task), told(truth, said), *_drawn(truth, said[READINGS[0]].value)]


def _pictures(task: Task) -> Iterator[Drawing]:
    parts = [part for turn in task.turns for message in turn.messages for part in message.parts]
    shown = [part for part in parts if isinstance(part, Image)]
    for at, part in enumerate(shown, 1):
        more = f", {at} of {len(shown)}, oldest first" if len(shown) > 1 else ""
        yield Drawing(title=f"Picture{more}", svg="", over=part)


# --- in words ---------------------------------------------------------------------------


def _told(truth: Truth, said: Mapping[str, Said]) -> Table:
    """Return what is right, what was answered in each reading, and the baselines' answers."""
    rows: list[tuple[str, str]] = [("right", spelled(truth, truth.truth))]
    for name, found in _answers(said):
        told = spelled(truth, found.value) if found.value is not None else _invalid(found)
        rows.append((name, told))
    rows += [(f"baseline {name}", spelled(truth, x)) for name, x in truth.guesses.items()]
    shown = tuple((name, text[:_LONGEST]) for name, text in rows)
    note = "Synthetic: the row is a generated stand-in." if truth.source == "synthetic" else ""
    return Table(title="Truth and answer", head=("", "answer"), rows=shown, note=note)


def _answers(said: Mapping[str, Said]) -> list[tuple[str, Said]]:
    """Return the answers by name, one for readings that read the same."""
    (_, first), *others = said.items()
    if all(other == first for _, other in others):
        return [("answered", first)]
    return [(f"answered ({reading} reading)", found) for reading, found in said.items()]


def _invalid(found: Said) -> str:
    return f"invalid: {found.fault}"


def _measured(truth: Truth, said: Mapping[str, Said]) -> Table:
    """Return a vector dimension by dimension, the baselines' too."""
    assert isinstance(truth.space, Motion)
    found = _answers(said)
    columns: list[tuple[str, Any]] = [("right", truth.truth)]
    columns += [(name, each.value) for name, each in found]
    columns += list(truth.guesses.items())
    rows = tuple(
        (name, *(None if each is None else f"{float(each[at]):.4g}" for _, each in columns))
        for at, name in enumerate(truth.space.names)
    )
    notes = [f"{name}: {_invalid(each)}." for name, each in found if each.value is None]
    notes += ["Synthetic: the row is a generated stand-in."] * (truth.source == "synthetic")
    return Table(title="Truth and answer", head=("", *(name for name, _ in columns)), rows=rows,
                 note=" ".join(notes))  # fmt: skip


def spelled(truth: Truth, answer: Answer) -> str:
    """Return an answer in the words of its space."""
    match truth.space:
        case Choice(options=options) | Odds(options=options) if isinstance(answer, int):
            return (
                f"{answer}: {joint(answer)}" if _paired(truth) else f"{answer}: {options[answer]}"
            )
        case Odds(options=options) if isinstance(answer, tuple):
            top = max(range(len(options)), key=lambda i: float(answer[i]))  # type: ignore[arg-type]
            shares = f"{float(answer[top]):.3f}"  # type: ignore[arg-type]
            even = len(set(answer)) == 1
            return "even odds" if even else f"{spelled(truth, top)}, with {shares}"
        case _:
            return str(answer)


def joint(index: int) -> str:
    """Return a joint action in words."""
    first, second = divmod(index, len(MOVES))
    return f"player 0 {MOVES[first]}, player 1 {MOVES[second]}"


def _paired(truth: Truth) -> bool:
    return truth.family == "overcooked"


def _turns(truth: Truth, trajectory: Trajectory) -> Iterator[Table]:
    """Return the calls of each turn, those that are right beside what was said."""
    wanted: Any = truth.truth
    said = [
        "\n".join([step.reply.text, *(f"{call.name} {call.arguments}" for call in step.calls)])
        for step in trajectory.steps
    ]
    rows = tuple(
        (at + 1, "\n".join(calls), said[at].strip() if at < len(said) else "not reached")
        for at, calls in enumerate(wanted)
    )
    yield Table(title="Calls by turn", head=("turn", "right", "said"), rows=rows)


# --- drawn ------------------------------------------------------------------------------


def _drawn(truth: Truth, said: Any) -> Iterator[Drawing]:
    match truth.space:
        case Motion() as space:
            yield Drawing(
                title="The vector, dimension by dimension",
                svg=vector(space, truth.truth, said),  # type: ignore[arg-type]
                note="Ring: right; dot: answered; stroke: training mean. Each from its least to "
                "its largest value in training; an arrow points to what lies beyond.",
            )
        case Odds(options=options) if said is not None:
            assert isinstance(truth.truth, int)
            names = [joint(i) for i in range(len(options))] if _paired(truth) else options
            note = f"The {MOST} likeliest options, and the right one (ring)."
            yield Drawing(title="Probabilities", svg=odds(names, said, truth.truth), note=note)
            if _paired(truth):
                yield _players(truth.truth, max(range(len(said)), key=lambda i: float(said[i])))
        case _ if _paired(truth):
            assert isinstance(truth.truth, int)
            yield _players(truth.truth, said)


def _players(truth: int, said: int | None) -> Drawing:
    return Drawing(title="What the two players do", svg=players(truth, said),
                   note="Ring: what they did; filled: what was answered.")  # fmt: skip


def players(truth: int, said: int | None) -> svg.Markup:
    """Draw a joint action, six spots for each player."""
    body: list[svg.Markup] = []
    for player in (0, 1):
        x = 74.0 + 165 * player
        body.append(svg.tag("text", f"player {player}", x=x, y=14, text_anchor="middle"))
        right = divmod(truth, len(MOVES))[player]
        told = None if said is None else divmod(said, len(MOVES))[player]
        for action, (dx, dy) in enumerate(_SPOTS):
            body += _spot(action, x + 46 * dx, 82.0 + 46 * dy, action == right, action == told)
    answer = "nothing valid" if said is None else joint(said)
    label = f"Right: {joint(truth)}; answered: {answer}"
    return svg.root(_WIDTH, 156, *body, label=label, css=_CSS)


def _spot(action: int, x: float, y: float, right: bool, told: bool) -> Iterator[svg.Markup]:
    name = MOVES[action]
    kind = "said" if told else "spot"
    yield svg.tag("circle", svg.tag("title", name), cx=x, cy=y, r=17, class_=kind)
    if right:
        yield svg.tag("circle", cx=x, cy=y, r=20, class_="right")
    text = "act" if name == "interact" else name if name == "stay" else name[0].upper()
    yield svg.tag("text", text, x=x, y=y + 4, text_anchor="middle", class_="on" if told else "k")


def odds(names: Sequence[str], said: Sequence[float], truth: int) -> svg.Markup:
    """Draw the largest probabilities as bars, and that of the right option."""
    order = sorted(range(len(said)), key=lambda i: -float(said[i]))[:MOST]
    shown = order if truth in order else [*order, truth]
    most = max((float(said[i]) for i in shown), default=0.0) or 1.0
    body: list[svg.Markup] = []
    for row, i in enumerate(shown):
        y = 36.0 * row
        share = float(said[i])
        body.append(svg.tag("text", _cut(names[i], 44), x=16, y=y + 13, class_="k"))
        body.append(svg.tag("rect", x=16, y=y + 18, width=max(1.0, 236 * share / most), height=10,
                            class_="bar"))  # fmt: skip
        body.append(svg.tag("text", f"{100 * share:.1f} %", x=_WIDTH, y=y + 27, text_anchor="end"))
        if i == truth:
            body.append(svg.tag("circle", cx=7, cy=y + 9, r=4.5, class_="right"))
    label = (
        f"Probabilities of {len(shown)} options; the right one has {100 * float(said[truth]):.1f} %"
    )
    return svg.root(_WIDTH, 36.0 * len(shown), *body, label=label, css=_CSS)


def vector(space: Motion, truth: Sequence[float], said: Sequence[float] | None) -> svg.Markup:
    """Draw a vector, a line for each dimension from its least to its largest value."""
    left, right = 132.0, _WIDTH - 14
    body: list[svg.Markup] = []
    for row, name in enumerate(space.names):
        y = 24.0 * row + 14
        low, high = space.low[row], space.high[row]

        def place(value: float, low: float = low, high: float = high) -> float:
            part = (value - low) / (high - low) if high > low else 0.5
            return left + (right - left) * min(max(part, 0.0), 1.0)

        body.append(svg.tag("text", _cut(name, 19), x=left - 10, y=y + 4, text_anchor="end"))
        body.append(svg.tag("line", x1=left, x2=right, y1=y, y2=y, class_="line"))
        at = place(space.mean[row])
        body.append(svg.tag("line", x1=at, x2=at, y1=y - 6, y2=y + 6, class_="mean"))
        if said is not None:
            value = float(said[row])
            body += _dot(value, place(value), y, low, high)
        told = svg.tag("title", f"right: {truth[row]:.4g}")
        body.append(svg.tag("circle", told, cx=place(truth[row]), cy=y, r=6.5, class_="right"))
    label = f"{len(space.names)} dimensions" + ("" if said is not None else "; nothing valid")
    return svg.root(_WIDTH, 24.0 * len(space.names) + 6, *body, label=label, css=_CSS)


def _dot(value: float, x: float, y: float, low: float, high: float) -> Iterator[svg.Markup]:
    """Draw an answer; beyond the ends it is an arrow."""
    told = svg.tag("title", f"answered: {value:.4g}")
    if low <= value <= high:
        yield svg.tag("circle", told, cx=x, cy=y, r=4, class_="said")
        return
    side = 7 if value > high else -7
    yield svg.tag("path", told, d=f"M{x:.1f} {y - 6:.1f}v12l{side} -6z", class_="said")


def _cut(text: str, longest: int) -> str:
    text = printable(" ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
