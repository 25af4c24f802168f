"""How each family is asked: the nine prompts of MultiNet's Table 1, in our own words.

A prompt is a system message and a user message. The user message has lines made from the row's
fields and from the options or dimensions of the answer, and a request that names the form of the
answer. A field that a row does not have is omitted. The form `tool` differs only in the request,
and offers a tool.

| prompt | lines of the user's message |
|---|---|
| piqa | goal, solutions 0 and 1 |
| sqa3d | situation, question |
| robovqa | task and context, question |
| odinw | the sub-set's name, a line for each class |
| bfcl | first turn: configuration, classes and function docs; then the turns, one by one |
| overcooked | layout, times, score, the six groups of actions |
| overcooked-odds | mechanics, what actions mean, layout, times, score, all options |
| openx | task, environment, a line for each dimension with its range and mean |
| openx-quadrupedal | the same in one list of statistics |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.records import Image, Message, Part, Text, Turn
from toolmark.suites.multinet.frame_records import (
    ACTIONS,
    ActionVector,
    Choice,
    Distribution,
    Form,
    Frame,
)

FUNCTIONS_FIELD = "functions"
"""The field with the function docs; shown only if the functions are not offered as tools."""
PICTURE_SUBSTITUTE_FIELDS = ("grid", "state")
"""Fields that describe a picture; shown only if no picture is sent."""

ListedLines: TypeAlias = Literal[
    "solutions", "classes", "action_groups", "joint_actions", "dimensions", "statistics"
]
"""What is listed of an answer's space, line by line."""


class PromptTemplate(DataRecord, frozen=True, kw_only=True):
    """The prompt of a family.

    `fields` are pairs of a heading and a field, one line each; the `lines` follow, made from the
    answer's space. `question` says what is wanted. `reply` says in which form to answer by text,
    `tool` which tool to call instead.
    """

    system: Annotated[str, Meta(pattern=placeholders("kitchen_rules"))]
    fields: tuple[tuple[str, str], ...] = ()
    lines: ListedLines | Literal[""] = ""
    question: str = ""
    reply: Annotated[str, Meta(pattern=placeholders("n", "last"))]
    tool: str = ""


class TaskPromptWording(DataRecord, frozen=True):
    """The data file: texts that several prompts use, and the prompts."""

    tool_request: Annotated[str, Meta(pattern=placeholders("tool"))]
    kitchen_rules: str
    action_meanings: str
    prompts: dict[str, PromptTemplate]


def task_prompt_wording() -> TaskPromptWording:
    """Return the content of the data file."""
    return read_table(__file__, "task_prompt_wording.toml", TaskPromptWording)


# --- lines from the answer's space ------------------------------------------------------


def _solution_lines(frame: Frame) -> Iterator[str]:
    yield from (f"Solution {k}: {text}" for k, text in enumerate(_space_options(frame)))


def _class_lines(frame: Frame) -> Iterator[str]:
    name = frame.slices.get("subset", frame.group)
    yield f"Which object of the set {name} does the picture show?"
    yield from (f"Option {k}: {text}" for k, text in enumerate(_space_options(frame)))


def _action_group_lines(frame: Frame) -> Iterator[str]:
    """Yield a line for each action of the first cook, with the second cook's six actions."""
    n = len(ACTIONS)
    yield f"{task_prompt_wording().action_meanings} Joint actions are numbered:"
    for k, name in enumerate(ACTIONS):
        second = ", ".join(f"{n * k + j} {other}" for j, other in enumerate(ACTIONS))
        yield f"{n * k}-{n * k + n - 1}: player 0 {name}, and player 1: {second}"


def _joint_action_lines(frame: Frame) -> Iterator[str]:
    wording = task_prompt_wording()
    yield from (wording.kitchen_rules, wording.action_meanings, "The joint actions:")
    yield from (f"{k}: {text}" for k, text in enumerate(_space_options(frame)))


def _dimension_lines(frame: Frame) -> Iterator[str]:
    yield "The action's numbers, in this order:"
    for k, (name, low, high, mean) in enumerate(_dimension_rows(frame)):
        yield f"{k} {name}: from {low:.6g} to {high:.6g}, on average {mean:.6g}"


def _statistics_lines(frame: Frame) -> Iterator[str]:
    """Yield one list of statistics for all dimensions, as for the legged robot."""
    rows = list(_dimension_rows(frame))
    yield f"The action is a list of {len(rows)} numbers: {', '.join(row[0] for row in rows)}."
    for statistic, at in (("Smallest", 1), ("Largest", 2), ("Mean", 3)):
        listed = ", ".join(f"{row[at]:.6g}" for row in rows)
        yield f"{statistic} values in training: [{listed}]"


def _dimension_rows(frame: Frame) -> Iterator[tuple[str, float, float, float]]:
    space = frame.space
    assert isinstance(space, ActionVector)
    yield from zip(space.names, space.low, space.high, space.mean, strict=True)


def _space_options(frame: Frame) -> tuple[str, ...]:
    assert isinstance(frame.space, Choice | Distribution)
    return frame.space.options


_LINE_WRITERS: Mapping[ListedLines, Callable[[Frame], Iterator[str]]] = {
    "solutions": _solution_lines,
    "classes": _class_lines,
    "action_groups": _action_group_lines,
    "joint_actions": _joint_action_lines,
    "dimensions": _dimension_lines,
    "statistics": _statistics_lines,
}


# --- a row as it is asked ---------------------------------------------------------------


def select_prompt(frame: Frame) -> PromptTemplate:
    """Return the prompt template for a row."""
    name: str = frame.family
    if name == "overcooked" and isinstance(frame.space, Distribution):
        name = "overcooked-odds"
    if frame.slices.get("morphology") == "quadrupedal":
        name = "openx-quadrupedal"
    return task_prompt_wording().prompts[name]


def build_turns(frame: Frame, form: Form, *, with_pictures: bool) -> tuple[Turn, ...]:
    """Return the turns in which a row is asked.

    `with_pictures`: its pictures are sent, so the fields that describe them are omitted.
    """
    template = select_prompt(frame)
    omitted = (PICTURE_SUBSTITUTE_FIELDS if with_pictures else ()) + (
        (FUNCTIONS_FIELD,) if form == "tool" else ()
    )
    field_lines = [_field_line(head, frame.fields[key]) for head, key in template.fields
            if frame.fields.get(key) and key not in omitted]  # fmt: skip
    request = _reply_request(frame, template, form)
    system = template.system.format(kitchen_rules=task_prompt_wording().kitchen_rules)
    if not frame.turns:
        lines = (*field_lines, *_listed_lines(frame, template), template.question, request)
        message_text = "\n".join(filter(None, lines))
        return (Turn(messages=(_system_message(system), _user_message(message_text))),)
    system = "\n\n".join(filter(None, (system, request)))
    first, *later_turns = frame.turns
    opening = Turn(
        messages=(_system_message(system), _user_message("\n\n".join((*field_lines, first))))
    )
    return opening, *(Turn(messages=(_user_message(text),)) for text in later_turns)


def _listed_lines(frame: Frame, template: PromptTemplate) -> Iterator[str]:
    return _LINE_WRITERS[template.lines](frame) if template.lines else iter(())


def _field_line(head: str, text: str) -> str:
    return f"{head}:{'' if text.startswith(chr(10)) else ' '}{text}"


def _reply_request(frame: Frame, template: PromptTemplate, form: Form) -> str:
    """Return the request that names the form of the answer."""
    if form == "tool":
        return (
            task_prompt_wording().tool_request.format(tool=template.tool) if template.tool else ""
        )
    n = _n_answer_parts(frame)
    return template.reply.format(n=n, last=n - 1) if n else template.reply


def _n_answer_parts(frame: Frame) -> int:
    match frame.space:
        case Choice(options=parts) | Distribution(options=parts) | ActionVector(names=parts):
            return len(parts)
        case _:
            return 0


def insert_pictures(turns: Sequence[Turn], pictures: Sequence[Image]) -> tuple[Turn, ...]:
    """Return the turns with pictures placed before the first text of the user."""
    first, *later_turns = turns
    *others, last = first.messages
    parts: tuple[Part, ...] = (*pictures, *last.parts)
    user_message = Message(role="user", parts=parts)
    return Turn(messages=(*others, user_message), tools=first.tools), *later_turns


def _system_message(text: str) -> Message:
    return Message(role="system", parts=(Text(text),))


def _user_message(text: str) -> Message:
    return Message(role="user", parts=(Text(text),))
