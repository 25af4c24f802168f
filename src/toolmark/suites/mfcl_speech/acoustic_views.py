"""Views of the acoustics of one speech episode: a timeline of effects, and their table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from toolmark.core import number_format, svg
from toolmark.core.records import Cell, Drawing, Table
from toolmark.perturb.speech.effect_timeline import Effect
from toolmark.suites.mfcl_speech.speech_task_data import SpokenTurn

Row: TypeAlias = tuple[Cell, ...]
WIDTH = 680
_UNITS = {"db": "dB", "s": "s", "ms": "ms", "hz": "Hz"}
_SHARE_KEYS = ("share", "asked", "heard")
_COLOURS = {"environment": 1, "talkers": 2, "network": 3, "device": 4}
_BAR_LEFT, _BAR_RIGHT, _BAR_PITCH = 230.0, 590.0, 22.0


def _timeline_effects(turns: Sequence[SpokenTurn]) -> list[tuple[int, Effect]]:
    return [(i, effect) for i, turn in enumerate(turns) for effect in turn.timeline]


def timeline_drawing(turns: Sequence[SpokenTurn]) -> Iterator[Drawing]:
    """Yield the drawing of the effects over time, if there are any."""
    found = _timeline_effects(turns)
    if not found:
        return
    length = max(max(effect.end_s for _, effect in found), 0.1)
    body = list(_draw_ticks(length, _BAR_PITCH * len(found)))
    for row, (i, effect) in enumerate(found):
        body += _draw_bar(effect, row, length, f"{i + 1}. " if len(turns) > 1 else "")
    css = (
        "text{font:12px system-ui,sans-serif;fill:currentColor}"
        ".k{fill-opacity:.7}line{stroke:currentColor;stroke-opacity:.15}"
    )
    height = 8 + _BAR_PITCH * len(found) + 24
    label = f"{len(found)} effects over {number_format.format_duration(length)}"
    drawing = svg.svg_element(WIDTH, height, *body, label=label, css=css)
    note = "Dots are the severity, of four. Times are those of the clip as it is heard, in seconds."
    yield Drawing(title="What was done to the sound", svg=drawing, note=note)


def _draw_ticks(length: float, height: float) -> Iterator[svg.Markup]:
    step = next(s for s in (0.1, 0.5, 1, 2, 5, 10, 30, 60, 600) if length / s <= 8 or s == 600)
    for i in range(int(length / step + 1e-9) + 1):
        x = _time_to_x(i * step, length)
        yield svg.element("line", x1=x, x2=x, y1=4, y2=height + 8)
        text = number_format.format_short(i * step) + (" s" if i == 0 else "")
        yield svg.element("text", text, x=x, y=height + 22, text_anchor="middle", class_="k")


def _draw_bar(effect: Effect, row: int, length: float, lead: str) -> Iterator[svg.Markup]:
    start, end = effect.start_s, effect.end_s
    y = 8 + _BAR_PITCH * row
    x = _time_to_x(start, length)
    wide = max(_time_to_x(end, length) - x, 3.0)
    label = f"{lead}{effect.module}: {effect.name.replace('_', ' ')}"
    span = f"{_format_time(start)} to {_format_time(end)} s"
    tip = svg.element("title", f"{label}, {span}; {_format_detail(effect)}")
    yield svg.element("text", label if len(label) < 36 else f"{label[:34]}…", x=0, y=y + 13)
    yield svg.element("rect", tip, x=x, y=y + 3, width=wide, height=13, rx=2,
                  style=f"fill:var(--s{_COLOURS[effect.module]},#6f7780)")  # fmt: skip
    severity = min(max(effect.severity, 0), 4)
    pips = "●" * severity + "○" * (4 - severity)
    yield svg.element("text", pips, x=WIDTH - 4, y=y + 13, text_anchor="end")


def _format_time(seconds: float) -> str:
    return number_format.format_fixed(seconds, 2)


def _time_to_x(seconds: float, length: float) -> float:
    share = min(max(seconds / length, 0.0), 1.0)
    return _BAR_LEFT + share * (_BAR_RIGHT - _BAR_LEFT)


def effect_table(turns: Sequence[SpokenTurn]) -> Iterator[Table]:
    """Yield the table of the effects with their settings, if there are any."""
    found = _timeline_effects(turns)
    rows = tuple(
        (str(i + 1) if len(turns) > 1 else "", effect.module,
         effect.name.replace("_", " "), _format_time(effect.start_s),
         _format_time(effect.end_s), effect.severity,
         _format_detail(effect))
        for i, effect in found
    )  # fmt: skip
    if rows:
        head = ("turn", "module", "effect", "from s", "to s", "severity", "detail")
        yield Table(title="Effects one by one", head=head, rows=rows, is_collapsed=True)


def _format_detail(effect: Effect) -> str:
    return ", ".join(_format_measure(*each) for each in effect.detail.items())


def _format_measure(key: str, value: str | float) -> str:
    """Return a detail with its unit, which ends its name: snr_db is "SNR 14.4 dB"."""
    name, _, unit = key.rpartition("_")
    if isinstance(value, str):
        return f"{key.replace('_', ' ')}: {value}"
    if name and unit in _UNITS:
        label = name.replace("_", " ").replace("snr", "SNR")
        return f"{label} {number_format.format_short(value, 3)} {_UNITS[unit]}"
    format_value = (
        number_format.format_percent if key in _SHARE_KEYS else number_format.format_short
    )
    number = format_value(value)
    return f"{key.replace('_', ' ')} {number}"
