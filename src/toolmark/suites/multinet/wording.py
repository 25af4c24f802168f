"""How each family is asked: the nine prompts of MultiNet's Table 1, in our own words.

A prompt is a system message and, in the user's, lines from the row's fields, the options or the
dimensions of the answer, and a request that names the form of the answer. Of a field that a row
does not have nothing is said. The form `tool` differs in the request alone, and offers a tool.

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

from toolmark.suites.multinet.frame import (
    ACT,
    ACTIONS,
    ANSWER,
    CHOOSE,
    MOVE,
    ODDS,
    Choice,
    Form,
    Frame,
    Motion,
    Odds,
)
from toolmark.types import Image, Message, Part, Text, Turn

FUNCTIONS = "functions"
"""The field with the docs of functions: told only where these are not offered as tools."""
BLIND = ("grid", "state")
"""Fields that say what a picture shows: told only where none is sent."""

_BY_CALL = "Reply with one call of the tool `{tool}` and nothing else."
_KITCHEN = (
    "Two cooks share a small kitchen and score by serving soups: they fetch ingredients, fill a "
    "pot, wait until the soup is cooked, put it on a plate and take it to the counter where it is "
    "served. A step lasts a moment; in each, both act at the same time."
)
_MEANINGS = (
    "NORTH, SOUTH, EAST and WEST turn a cook that way and move it by one tile where that is free; "
    "STAY does nothing; INTERACT uses what the cook faces: takes, puts down, fills, serves."
)
_ROBOT = (
    "You control a robot. From what its camera sees and the task it was given, you predict the "
    "action that it takes next, as one vector of numbers."
)


class Prompt(NamedTuple):
    """How a family is asked: `fields` are lines by their heading, then come the `more`.

    `question` says what is wanted, `reply` in which form by text; `tool` is called instead. `more`
    are lines that are made of the answer's space.
    """

    system: str
    fields: tuple[tuple[str, str], ...]
    question: str
    reply: str
    tool: str
    more: Callable[[Frame], Iterator[str]] = lambda frame: iter(())


# --- lines from the space of the answer -------------------------------------------------


def _solutions(frame: Frame) -> Iterator[str]:
    yield from (f"Solution {k}: {text}" for k, text in enumerate(_options(frame)))


def _classes(frame: Frame) -> Iterator[str]:
    name = frame.slices.get("subset", frame.group)
    yield f"Which object of the set {name} does the picture show?"
    yield from (f"Option {k}: {text}" for k, text in enumerate(_options(frame)))


def _groups(frame: Frame) -> Iterator[str]:
    """Yield a line for each action of the first cook: with it the second's six."""
    n = len(ACTIONS)
    yield f"{_MEANINGS} Joint actions are numbered:"
    for k, name in enumerate(ACTIONS):
        second = ", ".join(f"{n * k + j} {other}" for j, other in enumerate(ACTIONS))
        yield f"{n * k}-{n * k + n - 1}: player 0 {name}, and player 1: {second}"


def _joint(frame: Frame) -> Iterator[str]:
    yield from (_KITCHEN, _MEANINGS, "The joint actions:")
    yield from (f"{k}: {text}" for k, text in enumerate(_options(frame)))


def _dimensions(frame: Frame) -> Iterator[str]:
    yield "The action's numbers, in this order:"
    for k, (name, low, high, mean) in enumerate(_motion(frame)):
        yield f"{k} {name}: from {low:.6g} to {high:.6g}, on average {mean:.6g}"


def _statistics(frame: Frame) -> Iterator[str]:
    """Yield one list of statistics for all dimensions, as for the legged robot."""
    rows = list(_motion(frame))
    yield f"The action is a list of {len(rows)} numbers: {', '.join(row[0] for row in rows)}."
    for told, at in (("Smallest", 1), ("Largest", 2), ("Mean", 3)):
        listed = ", ".join(f"{row[at]:.6g}" for row in rows)
        yield f"{told} values in training: [{listed}]"


def _motion(frame: Frame) -> Iterator[tuple[str, float, float, float]]:
    space = frame.space
    assert isinstance(space, Motion)
    yield from zip(space.names, space.low, space.high, space.mean, strict=True)


def _options(frame: Frame) -> tuple[str, ...]:
    assert isinstance(frame.space, Choice | Odds)
    return frame.space.options


# --- the table --------------------------------------------------------------------------

_PLACE = (("Layout", "layout"), ("Time left", "time_left"), ("Time elapsed", "time_elapsed"),
          ("Score", "score"))  # fmt: skip
_PLAN = (("The kitchen, a letter for each tile", "grid"), ("What is where", "state"))
_BEFORE = (("What was done in the steps before, oldest first", "history"),)
_TASK = (("Task", "instruction"), ("Environment", "environment"), *_BEFORE)
_SETTING = (("State at the start", "initial_config"), ("Classes", "classes"),
            ("Functions", FUNCTIONS))  # fmt: skip
_SPELT = "Reply with {n} numbers in square brackets, separated by commas, and nothing else."
_NEXT = "Which action comes next?"

PROMPTS: Mapping[str, Prompt] = {
    "piqa": Prompt(
        "You judge how everyday things behave. Of two ways to reach a goal, one works better: name "
        "it by its number alone.",
        (("Goal", "goal"),),
        "Which solution reaches the goal?",
        "Reply with 0 or 1 and nothing else.",
        CHOOSE,
        _solutions,
    ),
    "sqa3d": Prompt(
        "You answer questions about a room that you see from above, from where the situation puts "
        "you. Your answer is one word or a few.",
        (("Situation", "situation"), ("Question", "question")),
        "",
        "Reply with the answer alone, in one word where one will do.",
        ANSWER,
    ),
    "robovqa": Prompt(
        "You see what a robot's camera sees. Where you are asked what to do, or what was done, "
        "reply with a short phrase; where you are asked whether something is possible or done, "
        "reply with yes or no.",
        (("Task and Context", "context"), ("Question", "question")),
        "",
        "Reply with the answer alone.",
        ANSWER,
    ),
    "odinw": Prompt(
        "You tell what kind of object a picture shows, by the number of one of the options.",
        (),
        "",
        "Reply with the number of one option, from 0 to {last}, and nothing else.",
        CHOOSE,
        _classes,
    ),
    "bfcl": Prompt(
        "You turn a user's requests into function calls. To each request reply with the calls that "
        "fulfil it, in their order, and nothing else: no words, no results. Calls are not executed "
        "between your replies; go on as if each had worked.",
        _SETTING,
        "",
        "Write each call as name(parameter=value, ...), several in one list: [first(), second()].",
        "",
    ),
    "overcooked": Prompt(
        f"You predict what two people do next in a cooking game. {_KITCHEN}",
        (*_PLACE, *_PLAN, *_BEFORE),
        "What do both do in the next step?",
        "Reply with one whole number from 0 to {last} and nothing else.",
        ACT,
        _groups,
    ),
    "overcooked-odds": Prompt(
        "You predict what two people do next in a cooking game, as a probability for each of their "
        "joint actions.",
        (*_PLACE, *_PLAN, *_BEFORE),
        "How likely is each in the next step?",
        "Reply with a list of {n} numbers from 0 to 1 in the order of the options, that add up to "
        "1, and nothing else.",
        ODDS,
        _joint,
    ),
    "openx": Prompt(_ROBOT, _TASK, _NEXT, _SPELT, MOVE, _dimensions),
    "openx-quadrupedal": Prompt(_ROBOT, _TASK, _NEXT, _SPELT, MOVE, _statistics),
}


# --- a row as it is asked ---------------------------------------------------------------


def prompt(frame: Frame) -> Prompt:
    """Return how a row is asked."""
    name: str = frame.family
    if name == "overcooked" and isinstance(frame.space, Odds):
        name = "overcooked-odds"
    if frame.slices.get("morphology") == "quadrupedal":
        name = "openx-quadrupedal"
    return PROMPTS[name]


def turns(frame: Frame, form: Form, *, seen: bool) -> tuple[Turn, ...]:
    """Return the turns in which a row is asked; `seen`: its pictures are sent, and not told."""
    asked = prompt(frame)
    known = (BLIND if seen else ()) + ((FUNCTIONS,) if form == "tool" else ())
    told = [_line(head, frame.fields[key]) for head, key in asked.fields
            if frame.fields.get(key) and key not in known]  # fmt: skip
    request = _request(frame, asked, form)
    if not frame.turns:
        lines = (*told, *asked.more(frame), asked.question, request)
        said = "\n".join(filter(None, lines))
        return (Turn(messages=(_system(asked.system), _user(said))),)
    system = "\n\n".join(filter(None, (asked.system, request)))
    first, *rest = frame.turns
    opening = Turn(messages=(_system(system), _user("\n\n".join((*told, first)))))
    return opening, *(Turn(messages=(_user(text),)) for text in rest)


def _line(head: str, text: str) -> str:
    return f"{head}:{'' if text.startswith(chr(10)) else ' '}{text}"


def _request(frame: Frame, asked: Prompt, form: Form) -> str:
    """Return in which form the answer is wanted."""
    if form == "tool":
        return _BY_CALL.format(tool=asked.tool) if asked.tool else ""
    n = _size(frame)
    return asked.reply.format(n=n, last=n - 1) if n else asked.reply


def _size(frame: Frame) -> int:
    match frame.space:
        case Choice(options=parts) | Odds(options=parts) | Motion(names=parts):
            return len(parts)
        case _:
            return 0


def pictured(turns: Sequence[Turn], pictures: Sequence[Image]) -> tuple[Turn, ...]:
    """Return the turns with pictures before the first words of the user."""
    first, *rest = turns
    *others, last = first.messages
    parts: tuple[Part, ...] = (*pictures, *last.parts)
    said = Message(role="user", parts=parts)
    return Turn(messages=(*others, said), tools=first.tools), *rest


def _system(text: str) -> Message:
    return Message(role="system", parts=(Text(text),))


def _user(text: str) -> Message:
    return Message(role="user", parts=(Text(text),))
