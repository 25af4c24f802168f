"""Ids of calls in the form that an endpoint takes."""

from __future__ import annotations

import hashlib
import string

from msgspec.structs import replace

from toolmark.core.records import Adaptation, Call, Message
from toolmark.models.endpoint_profile import CallIdForm

_LETTERS = string.digits + string.ascii_letters
_N_CHARS = 9


def rename_calls(
    messages: tuple[Message, ...], form: CallIdForm, changes: list[Adaptation]
) -> tuple[Message, ...]:
    """Return the messages with ids of that form; what was changed is added to `changes`.

    An id that has the form stays, unless an earlier call has it; so the ids of earlier messages do
    not depend on later ones. A result gets the id of the last call that had its id.
    """
    renamed: dict[str, str] = {}
    taken: set[str] = set()
    found: list[Message] = []
    n_calls = n_changed = 0
    for message in messages:
        if message.calls:
            calls: list[Call] = []
            for call in message.calls:
                new_id = _formed_id(call, form, n_calls, taken)
                taken.add(new_id)
                n_calls += 1
                n_changed += new_id != call.id
                renamed[call.id] = new_id
                calls.append(call if new_id == call.id else replace(call, id=new_id))
            message = replace(message, calls=tuple(calls))
        elif message.call_id in renamed:
            message = replace(message, call_id=renamed[message.call_id])
        found.append(message)
    if not n_changed:
        return messages
    changes.append(Adaptation(kind="call_id", detail=f"{n_changed} ids in the form {form!r}"))
    return tuple(found)


def _formed_id(call: Call, form: CallIdForm, n_before: int, taken: set[str]) -> str:
    if form == "nine":
        return call.id if _is_nine(call.id) else _hash_id(call.id)
    start, _, number = call.id.rpartition(":")
    has_form = start == f"functions.{call.name}" and number.isascii() and number.isdigit()
    if has_form and call.id not in taken:
        return call.id
    while (new_id := f"functions.{call.name}:{n_before}") in taken:
        n_before += 1
    return new_id


def _is_nine(id: str) -> bool:
    return len(id) == _N_CHARS and id.isascii() and id.isalnum()


def _hash_id(id: str) -> str:
    """Return nine letters and digits, always the same for an id."""
    number = int.from_bytes(hashlib.sha256(id.encode("utf-8", "surrogatepass")).digest()[:8])
    digits: list[str] = []
    for _ in range(_N_CHARS):
        number, digit = divmod(number, len(_LETTERS))
        digits.append(_LETTERS[digit])
    return "".join(digits)
