"""Views of one speech episode: what was said and heard, how it sounded, what was asked.

Errors differ by shape, not by colour alone: a word that was heard differently is in a box, a word
that was not heard is struck through, a word that nobody said is in a dashed box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from toolmark.core import number_format, svg
from toolmark.core.records import Audio, Drawing, Table, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.core.text_excerpt import shorten_text
from toolmark.language import normalised_words
from toolmark.perturb.hearing import transcript_errors
from toolmark.perturb.speech.voice import Voice
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_speech.acoustic_views import (
    WIDTH,
    Row,
    effect_table,
    timeline_drawing,
)
from toolmark.suites.mfcl_speech.speech_task_data import (
    SILENT_TURN,
    SpeechTaskData,
    SpokenTurn,
    turn_whitelist,
)

EpisodeView: TypeAlias = Table | Drawing | Audio

MAX_WORDS = 600  # most words of one episode that are drawn
_LETTER_WIDTH, _WORD_GAP, _LEFT_MARGIN, _LINE_PITCH = 7.9, 9.0, 62.0, 50.0
_MAX_WORD_CHARS = 40  # longest word, in letters
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


class AlignedWord(NamedTuple):
    """One place of the alignment; "" where nothing was said, or nothing heard."""

    op: str
    spoken: str
    heard: str


def episode_views(episode: Episode) -> list[EpisodeView]:
    """Return the user's recordings, the aligned transcripts, the acoustics, the dialogue.

    The dialogue is the clarification dialogue with its rulings. A task without sound has only the
    dialogue.
    """
    task, trajectory = episode.task, episode.trajectory
    data = read_task_data(task, SpeechTaskData)
    turns = data.turns
    results: list[EpisodeView] = [
        *_user_recordings(turns),
        *_alignment_drawings(data),
        *_turn_table(data),
    ]
    return [
        *results,
        *timeline_drawing(turns),
        *effect_table(turns),
        *_dialogue_table(trajectory),
    ]


def _user_recordings(turns: Sequence[SpokenTurn]) -> Iterator[Audio]:
    """Yield the recordings of the user, turn by turn."""
    yield from (turn.audio for turn in turns if turn.audio)


# --- said and heard ---------------------------------------------------------------------


def _alignment_drawings(data: SpeechTaskData) -> Iterator[Drawing]:
    turns = data.turns
    recognisers = dict.fromkeys(
        recogniser for turn in turns for recogniser in _transcripts_of(turn)
    )
    for recogniser in recognisers:
        heard_turns = [
            (i, turn, _transcripts_of(turn)[recogniser])
            for i, turn in enumerate(turns)
            if recogniser in _transcripts_of(turn)
        ]
        try:
            lines = [
                (i, list(_aligned_words(turn, text)), _whitelist_words(data, i))
                for i, turn, text in heard_turns
            ]
        except ImportError:  # a report can be made where the recognisers' packages are missing
            return
        simulated = recogniser.startswith("simulated") or any(turn.simulated for turn in turns)
        notes = ["Words as compared: without case, punctuation and fillers, numbers as said."]
        notes += ["The recogniser is simulated."] if simulated else []
        if sum(len(line) for _, line, _ in lines) > MAX_WORDS:
            notes.append(f"The first {MAX_WORDS} words of each turn.")
        drawing = draw_alignment(
            [(i, line[:MAX_WORDS], value_words) for i, line, value_words in lines],
            several=len(turns) > 1,
        )
        title = (
            f"What was said, what was heard{f' by {recogniser}' if len(recognisers) > 1 else ''}"
        )
        yield Drawing(title=title, svg=drawing, note=" ".join(notes))


def _transcripts_of(turn: SpokenTurn) -> dict[str, str]:
    """Return the transcripts of a turn by recogniser: the one asked, else those stored with it."""
    if turn.transcript is not None:
        return {turn.recogniser: turn.transcript}
    return {recogniser: heard.text for recogniser, heard in turn.transcripts.items()}


def _aligned_words(turn: SpokenTurn, text: str) -> Iterator[AlignedWord]:
    for piece in transcript_errors.align_texts(turn.uttered, text):
        for said, heard in zip_longest(piece.reference, piece.heard, fillvalue=""):
            yield AlignedWord(piece.op, said, heard)


def _whitelist_words(data: SpeechTaskData, turn: int) -> frozenset[str]:
    texts = map(str, turn_whitelist(data, turn).values())
    return frozenset(word for text in texts for word in normalised_words.normalise_words(text))


def draw_alignment(
    lines: Sequence[tuple[int, Sequence[AlignedWord], frozenset[str]]], *, several: bool
) -> svg.Markup:
    """Draw aligned words in two rows, what was said above what was heard, wrapped to the width.

    A line is the number of the turn, its words, and those of them that belong to requested values.
    """
    body = list(_draw_legend(any(values for _, _, values in lines)))
    y = 56.0
    n_wrong = 0
    for number, line, values in lines:
        x = _LEFT_MARGIN
        body += _draw_margin(f"turn {number + 1}" if several else "", y)
        for word in line:
            width = min(max(len(word.spoken), len(word.heard), 1), _MAX_WORD_CHARS) * _LETTER_WIDTH
            if x > _LEFT_MARGIN and x + width > WIDTH:
                x, y = _LEFT_MARGIN, y + _LINE_PITCH
                body += _draw_margin("", y)
            body += _draw_word(word, x, y, width, values)
            n_wrong += word.op != "equal"
            x += width + _WORD_GAP
        y += _LINE_PITCH + 8
    label = f"What was said above what was heard; words wrong: {n_wrong}"
    return svg.svg_element(WIDTH, y - 18, *body, label=label, css=_CSS)


def _draw_margin(name: str, y: float) -> Iterator[svg.Markup]:
    if name:
        yield svg.element("text", name, x=0, y=y - 14, class_="k")
    yield svg.element("text", "said", x=0, y=y, class_="k")
    yield svg.element("text", "heard", x=0, y=y + 19, class_="k")


def _draw_word(
    word: AlignedWord, x: float, y: float, width: float, values: frozenset[str]
) -> Iterator[svg.Markup]:
    wrong = word.op != "equal"
    value = " v" if word.spoken in values else ""
    if word.op in ("substitute", "insert"):
        yield svg.element(
            "rect", x=x - 3, y=y + 6, width=width + 6, height=18, rx=3, class_=word.op
        )
    if word.spoken:
        kind = "delete" if word.op == "delete" else "u" if wrong else ""
        yield svg.element(
            "text", _cut_word(word.spoken), x=x, y=y, class_=f"{kind}{value}".strip() or None
        )
    if word.heard:
        yield svg.element(
            "text", _cut_word(word.heard), x=x, y=y + 19, class_=word.op if wrong else "e"
        )
    if word.op == "delete":
        yield svg.element("path", d=f"M{x:.1f} {y + 15:.1f}h{width:.1f}")


def _draw_legend(values: bool) -> Iterator[svg.Markup]:
    x = _LEFT_MARGIN
    width = len("word") * _LETTER_WIDTH
    for kind, text in _LEGEND.items():
        if kind == "v" and not values:
            return
        if kind in ("substitute", "insert"):
            yield svg.element("rect", x=x - 3, y=3, width=width + 6, height=18, rx=3, class_=kind)
        yield svg.element("text", "word", x=x, y=16, class_=kind)
        yield svg.element("text", text, x=x + width + 8, y=16, class_="k")
        x += width + 8 + len(text) * 5.6 + 22


def _cut_word(word: str) -> str:
    return shorten_text(word, _MAX_WORD_CHARS)


def _turn_table(data: SpeechTaskData) -> Iterator[Table]:
    """Return what happened to each turn from the written text to the transcript."""
    rows: list[Row] = []
    for i, turn in enumerate(data.turns):
        if turn == SILENT_TURN:
            continue
        name = f"{i + 1}" if len(data.turns) > 1 else ""
        text = data.written[i] if i < len(data.written) else ""
        rows += [
            (name, stage, description)
            for stage, description in _turn_facts(text, turn)
            if description
        ]
        tellable = "; ".join(
            f"{topic}: {value}" for topic, value in turn_whitelist(data, i).items()
        )
        rows += [(name, "given when asked", tellable)] if tellable else []
    if rows:
        yield Table(title="From the written to the heard", head=("turn", "", "as recorded"),
                    rows=tuple(rows))  # fmt: skip


def _turn_facts(written: str, turn: SpokenTurn) -> Iterator[tuple[str, str]]:
    yield "written", written
    yield "rewritten", turn.rewritten
    if turn.uttered != turn.rewritten:
        yield "uttered", turn.uttered
    yield "changed", "; ".join(map(_format_change, turn.changes))
    yield "voice", _format_voice(turn.voice) if turn.voice else ""
    yield "heard", turn.transcript or ""
    mark = " (simulated)" if turn.simulated else ""
    yield "recogniser", f"{turn.recogniser}{mark}" if turn.recogniser else ""
    yield "word error rate", _format_number(turn.wer, number_format.format_percent)
    yield "entity error rate", _format_number(turn.entity_wer, number_format.format_percent)
    yield (
        "signal to noise",
        _format_number(turn.snr_db, lambda x: f"{number_format.format_fixed(x, 1)} dB"),
    )
    yield "STOI", _format_number(turn.stoi, lambda x: number_format.format_fixed(x, 2))
    yield "not intelligible", turn.gate
    yield "failed", turn.failed


def _format_change(change: tuple[str, int, str, str]) -> str:
    feature, index, *texts = change
    before, after = (_cut_word(text) or "(nothing)" for text in texts)
    return f"{feature} at word {index}: {before} → {after}"


def _format_voice(voice: Voice) -> str:
    """Return a voice as text; a normal rate, and a pitch that is not set, are left out."""
    labels = [label for label in (voice.engine, voice.name, voice.accent, voice.sex) if label]
    if voice.rate != 1:
        labels.append(f"rate {number_format.format_fixed(voice.rate, 2)}")
    if voice.pitch is not None:
        labels.append(f"pitch {number_format.format_fixed(voice.pitch, 2)}")
    return ", ".join(labels)


def _format_number(value: float | None, format_value: Callable[[float], str]) -> str:
    return "" if value is None else format_value(value)


# --- the dialogue -----------------------------------------------------------------------


def _dialogue_table(trajectory: Trajectory) -> Iterator[Table]:
    """Return the model's questions and the user's rulings and answers."""
    rows: list[Row] = []
    for number, step in enumerate(trajectory.steps, 1):
        ruling = step.ruling
        if ruling is not None:
            outcome = "answered" if ruling.allowed else "refused"
            cells = (ruling.reply, ", ".join(ruling.topics), ruling.reason, ruling.judge)
            rows.append((number, step.reply.text, outcome, *cells))
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
