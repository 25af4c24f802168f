"""One speech episode to look at: what was said and what was heard, how it sounded, what was asked.

Errors are told apart by shape, not by colour alone: what was heard otherwise stands in a box, what
was not heard is struck through, what nobody said stands in a dashed box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, TypeAlias

import msgspec

from toolmark import svg
from toolmark.perturb.hear import errors, words
from toolmark.stats import figures
from toolmark.types import Audio, Drawing, Table, Task, Trajectory

View: TypeAlias = Table | Drawing | Audio
Turn: TypeAlias = Mapping[str, Any]
Row: TypeAlias = tuple[str | float | int | None, ...]

WIDTH = 680
MOST = 600  # words of one episode that are drawn
_LETTER, _GAP, _LEFT, _PITCH = 7.9, 9.0, 62.0, 50.0
_LONGEST = 40  # letters of one word
_UNITS = {"db": "dB", "s": "s", "ms": "ms", "hz": "Hz"}
_SHARES = ("share", "asked", "heard")
_CSS = (
    "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:currentColor}"
    ".k,.k text{font:11px system-ui,sans-serif;fill-opacity:.75}"
    ".e{fill-opacity:.5}.v{font-weight:700}.u{text-decoration:underline}"
    ".substitute,.insert{font-weight:600}"
    ".delete{text-decoration:line-through}"
    "text.substitute,text.delete,text.insert{fill:var(--bad,#b23c08);fill-opacity:1}"
    "rect{fill:var(--bad,#b23c08);fill-opacity:.1;stroke:var(--bad,#b23c08)}"
    "rect.insert,path{stroke-dasharray:3 2}path{stroke:var(--bad,#b23c08);fill:none}"
)
_LEGEND = {
    "substitute": "heard otherwise",
    "delete": "not heard",
    "insert": "heard, not said",
    "v": "of a value asked for",
}
_COLOURS = {"environment": 1, "talkers": 2, "network": 3, "device": 4}
_BAR_LEFT, _BAR_RIGHT, _BAR_PITCH = 230.0, 590.0, 22.0


class Word(NamedTuple):
    """One place of the alignment; "" where nothing was said, or nothing heard."""

    op: str
    said: str
    heard: str


def views(task: Task, trajectory: Trajectory) -> list[View]:
    """Return the recordings of the user, the transcripts aligned, how it sounded.

    And the clarification dialogue with its rulings. Of a task without sound only the last.
    """
    turns = spoken(task)
    made: list[View] = [*_recordings(turns), *_aligned(task, turns), *_told(task, turns)]
    return [*made, *_timeline(turns), *_effects(turns), *_dialogue(trajectory)]


def spoken(task: Task) -> list[Turn]:
    """Return what is known of each turn's sound; nothing of a task that was asked in writing."""
    reference = task.reference if isinstance(task.reference, dict) else {}
    speech = reference.get("speech")
    turns = speech.get("turns", ()) if isinstance(speech, dict) else ()
    return [turn if isinstance(turn, dict) else {} for turn in turns]


def _recordings(turns: Sequence[Turn]) -> Iterator[Audio]:
    """Go through what the user was recorded saying, turn by turn."""
    for turn in turns:
        if isinstance(turn.get("audio"), dict):
            yield msgspec.convert({"type": "audio", **turn["audio"]}, Audio)


# --- said and heard ---------------------------------------------------------------------


def _aligned(task: Task, turns: Sequence[Turn]) -> Iterator[Drawing]:
    ears = dict.fromkeys(ear for turn in turns for ear in _heard(turn))
    for ear in ears:
        heard = [
            (i, turn, _heard(turn)[ear]) for i, turn in enumerate(turns) if ear in _heard(turn)
        ]
        try:
            lines = [(i, list(_pairs(turn, text)), _values(task, i)) for i, turn, text in heard]
        except ImportError:  # a report can be made where the recognisers' packages are missing
            return
        simulated = ear.startswith("simulated") or any(turn.get("simulated") for turn in turns)
        notes = ["Words as compared: without case, punctuation and fillers, numbers as said."]
        notes += ["The recogniser is simulated."] if simulated else []
        if sum(len(line) for _, line, _ in lines) > MOST:
            notes.append(f"The first {MOST} words of each turn.")
        drawn = draw([(i, line[:MOST], told) for i, line, told in lines], several=len(turns) > 1)
        named = f"What was said, what was heard{f' by {ear}' if len(ears) > 1 else ''}"
        yield Drawing(title=named, svg=drawn, note=" ".join(notes))


def _heard(turn: Turn) -> dict[str, str]:
    """Return the transcripts of a turn by recogniser: of what was asked, else of what was kept."""
    if turn.get("transcript") is not None:
        return {str(turn.get("recogniser") or ""): str(turn["transcript"])}
    held = turn.get("transcripts")
    return {ear: str(each.get("text", "")) for ear, each in held.items()} if held else {}


def _pairs(turn: Turn, text: str) -> Iterator[Word]:
    for piece in errors.align(str(turn.get("said", "")), text):
        for said, heard in zip_longest(piece.said, piece.heard, fillvalue=""):
            yield Word(piece.op, said, heard)


def _whitelist(task: Task, turn: int) -> Mapping[str, Any]:
    """Return what the user may tell in a turn when asked; lists are by turn, or one for all."""
    held = task.reference.get("whitelist", {}) if isinstance(task.reference, dict) else {}
    if isinstance(held, list):
        held = held[turn] if turn < len(held) else {}
    return held if isinstance(held, dict) else {}


def _values(task: Task, turn: int) -> frozenset[str]:
    texts = map(str, _whitelist(task, turn).values())
    return frozenset(word for text in texts for word in words.words(text))


def draw(
    lines: Sequence[tuple[int, Sequence[Word], frozenset[str]]], *, several: bool
) -> svg.Markup:
    """Draw aligned words in two rows, what was said above what was heard, broken to the width.

    A line is the number of the turn, its words, and those of them that are of values asked for.
    """
    body = list(_legend(any(values for _, _, values in lines)))
    y = 56.0
    n_wrong = 0
    for number, line, values in lines:
        x = _LEFT
        body += _margin(f"turn {number + 1}" if several else "", y)
        for word in line:
            wide = min(max(len(word.said), len(word.heard), 1), _LONGEST) * _LETTER
            if x > _LEFT and x + wide > WIDTH:
                x, y = _LEFT, y + _PITCH
                body += _margin("", y)
            body += _word(word, x, y, wide, values)
            n_wrong += word.op != "equal"
            x += wide + _GAP
        y += _PITCH + 8
    label = f"What was said above what was heard; words wrong: {n_wrong}"
    return svg.root(WIDTH, y - 18, *body, label=label, css=_CSS)


def _margin(name: str, y: float) -> Iterator[svg.Markup]:
    if name:
        yield svg.tag("text", name, x=0, y=y - 14, class_="k")
    yield svg.tag("text", "said", x=0, y=y, class_="k")
    yield svg.tag("text", "heard", x=0, y=y + 19, class_="k")


def _word(
    word: Word, x: float, y: float, wide: float, values: frozenset[str]
) -> Iterator[svg.Markup]:
    wrong = word.op != "equal"
    value = " v" if word.said in values else ""
    if word.op in ("substitute", "insert"):
        yield svg.tag("rect", x=x - 3, y=y + 6, width=wide + 6, height=18, rx=3, class_=word.op)
    if word.said:
        kind = "delete" if word.op == "delete" else "u" if wrong else ""
        yield svg.tag("text", _cut(word.said), x=x, y=y, class_=f"{kind}{value}".strip() or None)
    if word.heard:
        yield svg.tag("text", _cut(word.heard), x=x, y=y + 19, class_=word.op if wrong else "e")
    if word.op == "delete":
        yield svg.tag("path", d=f"M{x:.1f} {y + 15:.1f}h{wide:.1f}")


def _legend(values: bool) -> Iterator[svg.Markup]:
    x = _LEFT
    wide = len("word") * _LETTER
    for kind, text in _LEGEND.items():
        if kind == "v" and not values:
            return
        if kind in ("substitute", "insert"):
            yield svg.tag("rect", x=x - 3, y=3, width=wide + 6, height=18, rx=3, class_=kind)
        yield svg.tag("text", "word", x=x, y=16, class_=kind)
        yield svg.tag("text", text, x=x + wide + 8, y=16, class_="k")
        x += wide + 8 + len(text) * 5.6 + 22


def _cut(word: str) -> str:
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _told(task: Task, turns: Sequence[Turn]) -> Iterator[Table]:
    """Return what became of each turn on its way from paper to transcript."""
    written = task.reference.get("written", ()) if turns else ()
    rows: list[Row] = []
    for i, turn in enumerate(turns):
        if not turn:  # the user says nothing there
            continue
        name = f"{i + 1}" if len(turns) > 1 else ""
        text = written[i] if i < len(written) else ""
        rows += [(name, what, told) for what, told in _facts(text, turn) if told]
        may = "; ".join(f"{topic}: {value}" for topic, value in _whitelist(task, i).items())
        rows += [(name, "told when asked", may)] if may else []
    if rows:
        yield Table(title="From the written to the heard", head=("turn", "", "as recorded"),
                    rows=tuple(rows))  # fmt: skip


def _facts(written: str, turn: Turn) -> Iterator[tuple[str, str]]:
    yield "written", written
    yield "spoken", str(turn.get("spoken", ""))
    if turn.get("said") != turn.get("spoken"):
        yield "said", str(turn.get("said", ""))
    yield "changed", "; ".join(map(_change, turn.get("changes") or ()))
    yield "voice", _voice(turn.get("voice") or {})
    yield "heard", str(turn.get("transcript") or "")
    mark = " (simulated)" if turn.get("simulated") else ""
    yield "recogniser", f"{turn['recogniser']}{mark}" if turn.get("recogniser") else ""
    for key, name in (("wer", "word error rate"), ("entity_wer", "entity error rate")):
        yield name, _number(turn.get(key), figures.percent)
    yield "signal to noise", _number(turn.get("snr_db"), lambda x: f"{x:.1f} dB")
    yield "STOI", _number(turn.get("stoi"), lambda x: f"{x:.2f}")
    yield "not intelligible", str(turn.get("gate") or "")
    yield "failed", str(turn.get("failed") or "")


def _change(change: Sequence[Any] | Mapping[str, Any]) -> str:
    held = change.values() if isinstance(change, Mapping) else change
    feature, at, before, after = (*held, *("",) * 4)[:4]
    before, after = (_cut(str(text)) or "(nothing)" for text in (before, after))
    return f"{feature} at word {at}: {before} → {after}"


def _voice(voice: Mapping[str, Any]) -> str:
    named = [str(voice[key]) for key in ("engine", "name", "accent", "sex") if voice.get(key)]
    drawn = [f"{key} {voice[key]:.2f}" for key in ("rate", "pitch")
             if isinstance(voice.get(key), int | float)]  # fmt: skip
    return ", ".join([*named, *drawn])


def _number(value: Any, told: Any) -> str:
    return str(told(value)) if isinstance(value, int | float) else ""


# --- acoustics --------------------------------------------------------------------------


def _happened(turns: Sequence[Turn]) -> list[tuple[int, Mapping[str, Any]]]:
    return [(i, effect) for i, turn in enumerate(turns) for effect in turn.get("timeline") or ()]


def _timeline(turns: Sequence[Turn]) -> Iterator[Drawing]:
    found = _happened(turns)
    if not found:
        return
    length = max(max(float(effect["end_s"]) for _, effect in found), 0.1)
    body = list(_ticks(length, _BAR_PITCH * len(found)))
    for row, (i, effect) in enumerate(found):
        body += _bar(effect, row, length, f"{i + 1}. " if len(turns) > 1 else "")
    css = (
        "text{font:12px system-ui,sans-serif;fill:currentColor}"
        ".k{fill-opacity:.7}line{stroke:currentColor;stroke-opacity:.15}"
    )
    height = 8 + _BAR_PITCH * len(found) + 24
    label = f"{len(found)} effects over {length:.1f} s"
    drawn = svg.root(WIDTH, height, *body, label=label, css=css)
    note = "Dots are the severity, of four. Times are those of the clip as it is heard, in seconds."
    yield Drawing(title="What was done to the sound", svg=drawn, note=note)


def _ticks(length: float, height: float) -> Iterator[svg.Markup]:
    step = next(s for s in (0.1, 0.5, 1, 2, 5, 10, 30, 60, 600) if length / s <= 8 or s == 600)
    for i in range(int(length / step + 1e-9) + 1):
        x = _at(i * step, length)
        yield svg.tag("line", x1=x, x2=x, y1=4, y2=height + 8)
        text = f"{i * step:g}" + (" s" if i == 0 else "")
        yield svg.tag("text", text, x=x, y=height + 22, text_anchor="middle", class_="k")


def _bar(effect: Mapping[str, Any], row: int, length: float, lead: str) -> Iterator[svg.Markup]:
    module, name = str(effect.get("module", "")), str(effect.get("name", ""))
    start, end = float(effect["start_s"]), float(effect["end_s"])
    y = 8 + _BAR_PITCH * row
    x = _at(start, length)
    wide = max(_at(end, length) - x, 3.0)
    told = f"{lead}{module}: {name.replace('_', ' ')}"
    tip = svg.tag("title", f"{told}, {start:.2f} to {end:.2f} s; {_detail(effect)}")
    yield svg.tag("text", told if len(told) < 36 else f"{told[:34]}…", x=0, y=y + 13)
    yield svg.tag("rect", tip, x=x, y=y + 3, width=wide, height=13, rx=2,
                  style=f"fill:var(--s{_COLOURS.get(module, 7)},#6f7780)")  # fmt: skip
    severity = min(max(int(effect.get("severity", 0)), 0), 4)
    pips = "●" * severity + "○" * (4 - severity)
    yield svg.tag("text", pips, x=WIDTH - 4, y=y + 13, text_anchor="end")


def _at(seconds: float, length: float) -> float:
    share = min(max(seconds / length, 0.0), 1.0)
    return _BAR_LEFT + share * (_BAR_RIGHT - _BAR_LEFT)


def _effects(turns: Sequence[Turn]) -> Iterator[Table]:
    found = _happened(turns)
    rows = tuple(
        (str(i + 1) if len(turns) > 1 else "", str(effect.get("module", "")),
         str(effect.get("name", "")).replace("_", " "), f"{float(effect['start_s']):.2f}",
         f"{float(effect['end_s']):.2f}", int(effect.get("severity", 0)), _detail(effect))
        for i, effect in found
    )  # fmt: skip
    if rows:
        head = ("turn", "module", "effect", "from s", "to s", "severity", "detail")
        yield Table(title="Effects one by one", head=head, rows=rows, fold=True)


def _detail(effect: Mapping[str, Any]) -> str:
    return ", ".join(_measured(*each) for each in (effect.get("detail") or {}).items())


def _measured(key: str, value: Any) -> str:
    """Write a detail with its unit, which ends its name: snr_db is "SNR 14.4 dB"."""
    name, _, unit = key.rpartition("_")
    if not isinstance(value, int | float):
        return f"{key.replace('_', ' ')}: {value}"
    if name and unit in _UNITS:
        return f"{name.replace('_', ' ').replace('snr', 'SNR')} {value:.3g} {_UNITS[unit]}"
    told = figures.percent(value) if key in _SHARES else f"{value:.4g}"
    return f"{key.replace('_', ' ')} {told}"


# --- the dialogue -----------------------------------------------------------------------


def _dialogue(trajectory: Trajectory) -> Iterator[Table]:
    """Return what the model asked and what the user made of it."""
    rows: list[Row] = []
    for number, step in enumerate(trajectory.steps, 1):
        ruling = step.ruling
        if ruling is not None:
            told = "answered" if ruling.allowed else "refused"
            cells = (ruling.reply, ", ".join(ruling.topics), ruling.reason, ruling.judge)
            rows.append((number, step.reply.text, told, *cells))
    if rows:
        yield Table(
            title="Clarification dialogue",
            head=(
                "step",
                "the model said",
                "ruling",
                "the user answered",
                "topics",
                "why",
                "judge",
            ),
            rows=tuple(rows),
            note="Questions never score by themselves; one that is refused ends the turn.",
        )
