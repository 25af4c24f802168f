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
from typing import NamedTuple

from toolmark.core.records import Image, Message, Part, Text, Turn
from toolmark.suites.multinet.frame_records import (
    ACT_TOOL,
    ACTIONS,
    ANSWER_TOOL,
    CHOOSE_TOOL,
    DISTRIBUTION_TOOL,
    MOVE_TOOL,
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

_TOOL_REQUEST = "Reply with one call of the tool `{tool}` and nothing else."
_KITCHEN_RULES = (
    "Two cooks share a small kitchen and score by serving soups: they fetch ingredients, fill a "
    "pot, wait until the soup is cooked, put it on a plate and take it to the counter where it is "
    "served. A step lasts a moment; in each, both act at the same time."
)
_ACTION_MEANINGS = (
    "NORTH, SOUTH, EAST and WEST turn a cook that way and move it by one tile where that is free; "
    "STAY does nothing; INTERACT uses what the cook faces: takes, puts down, fills, serves."
)
_ROBOT_SYSTEM_MESSAGE = (
    "You control a robot. From what its camera sees and the task it was given, you predict the "
    "action that it takes next, as one vector of numbers."
)


class PromptTemplate(NamedTuple):
    """The prompt of a family.

    `fields` are pairs of a heading and a field, one line each; the lines of `space_lines` follow.
    `question` says what is wanted. `reply` says in which form to answer by text; `tool` says which
    tool to call instead. `space_lines` makes lines from the answer's space.
    """

    system: str
    fields: tuple[tuple[str, str], ...]
    question: str
    reply: str
    tool: str
    space_lines: Callable[[Frame], Iterator[str]] = lambda frame: iter(())


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
    yield f"{_ACTION_MEANINGS} Joint actions are numbered:"
    for k, name in enumerate(ACTIONS):
        second = ", ".join(f"{n * k + j} {other}" for j, other in enumerate(ACTIONS))
        yield f"{n * k}-{n * k + n - 1}: player 0 {name}, and player 1: {second}"


def _joint_action_lines(frame: Frame) -> Iterator[str]:
    yield from (_KITCHEN_RULES, _ACTION_MEANINGS, "The joint actions:")
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


# --- the table --------------------------------------------------------------------------

_GAME_FIELDS = (("Layout", "layout"), ("Time left", "time_left"), ("Time elapsed", "time_elapsed"),
          ("Score", "score"))  # fmt: skip
_KITCHEN_FIELDS = (("The kitchen, a letter for each tile", "grid"), ("What is where", "state"))
_HISTORY_FIELDS = (("What was done in the steps before, oldest first", "history"),)
_ROBOT_TASK_FIELDS = (("Task", "instruction"), ("Environment", "environment"), *_HISTORY_FIELDS)
_BFCL_FIELDS = (("State at the start", "initial_config"), ("Classes", "classes"),
            ("Functions", FUNCTIONS_FIELD))  # fmt: skip
_VECTOR_REPLY = "Reply with {n} numbers in square brackets, separated by commas, and nothing else."
_NEXT_ACTION_QUESTION = "Which action comes next?"

PROMPT_TEMPLATES: Mapping[str, PromptTemplate] = {
    "piqa": PromptTemplate(
        "You judge how everyday things behave. Of two ways to reach a goal, one works better: name "
        "it by its number alone.",
        (("Goal", "goal"),),
        "Which solution reaches the goal?",
        "Reply with 0 or 1 and nothing else.",
        CHOOSE_TOOL,
        _solution_lines,
    ),
    "sqa3d": PromptTemplate(
        "You answer questions about a room that you see from above, from where the situation puts "
        "you. Your answer is one word or a few.",
        (("Situation", "situation"), ("Question", "question")),
        "",
        "Reply with the answer alone, in one word where one will do.",
        ANSWER_TOOL,
    ),
    "robovqa": PromptTemplate(
        "You see what a robot's camera sees. Where you are asked what to do, or what was done, "
        "reply with a short phrase; where you are asked whether something is possible or done, "
        "reply with yes or no.",
        (("Task and Context", "context"), ("Question", "question")),
        "",
        "Reply with the answer alone.",
        ANSWER_TOOL,
    ),
    "odinw": PromptTemplate(
        "You tell what kind of object a picture shows, by the number of one of the options.",
        (),
        "",
        "Reply with the number of one option, from 0 to {last}, and nothing else.",
        CHOOSE_TOOL,
        _class_lines,
    ),
    "bfcl": PromptTemplate(
        "You turn a user's requests into function calls. To each request reply with the calls that "
        "fulfil it, in their order, and nothing else: no words, no results. Calls are not executed "
        "between your replies; go on as if each had worked.",
        _BFCL_FIELDS,
        "",
        "Write each call as name(parameter=value, ...), several in one list: [first(), second()].",
        "",
    ),
    "overcooked": PromptTemplate(
        f"You predict what two people do next in a cooking game. {_KITCHEN_RULES}",
        (*_GAME_FIELDS, *_KITCHEN_FIELDS, *_HISTORY_FIELDS),
        "What do both do in the next step?",
        "Reply with one whole number from 0 to {last} and nothing else.",
        ACT_TOOL,
        _action_group_lines,
    ),
    "overcooked-odds": PromptTemplate(
        "You predict what two people do next in a cooking game, as a probability for each of their "
        "joint actions.",
        (*_GAME_FIELDS, *_KITCHEN_FIELDS, *_HISTORY_FIELDS),
        "How likely is each in the next step?",
        "Reply with a list of {n} numbers from 0 to 1 in the order of the options, that add up to "
        "1, and nothing else.",
        DISTRIBUTION_TOOL,
        _joint_action_lines,
    ),
    "openx": PromptTemplate(
        _ROBOT_SYSTEM_MESSAGE,
        _ROBOT_TASK_FIELDS,
        _NEXT_ACTION_QUESTION,
        _VECTOR_REPLY,
        MOVE_TOOL,
        _dimension_lines,
    ),
    "openx-quadrupedal": PromptTemplate(
        _ROBOT_SYSTEM_MESSAGE,
        _ROBOT_TASK_FIELDS,
        _NEXT_ACTION_QUESTION,
        _VECTOR_REPLY,
        MOVE_TOOL,
        _statistics_lines,
    ),
}


# --- a row as it is asked ---------------------------------------------------------------


def select_prompt(frame: Frame) -> PromptTemplate:
    """Return the prompt template for a row."""
    name: str = frame.family
    if name == "overcooked" and isinstance(frame.space, Distribution):
        name = "overcooked-odds"
    if frame.slices.get("morphology") == "quadrupedal":
        name = "openx-quadrupedal"
    return PROMPT_TEMPLATES[name]


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
    if not frame.turns:
        lines = (*field_lines, *template.space_lines(frame), template.question, request)
        message_text = "\n".join(filter(None, lines))
        return (Turn(messages=(_system_message(template.system), _user_message(message_text))),)
    system = "\n\n".join(filter(None, (template.system, request)))
    first, *later_turns = frame.turns
    opening = Turn(
        messages=(_system_message(system), _user_message("\n\n".join((*field_lines, first))))
    )
    return opening, *(Turn(messages=(_user_message(text),)) for text in later_turns)


def _field_line(head: str, text: str) -> str:
    return f"{head}:{'' if text.startswith(chr(10)) else ' '}{text}"


def _reply_request(frame: Frame, template: PromptTemplate, form: Form) -> str:
    """Return the request that names the form of the answer."""
    if form == "tool":
        return _TOOL_REQUEST.format(tool=template.tool) if template.tool else ""
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
