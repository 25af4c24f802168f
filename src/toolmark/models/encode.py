"""A Request as the body of a chat completion."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from toolmark import private
from toolmark.codec import restore
from toolmark.errors import DataError, UsageError
from toolmark.media import Media
from toolmark.models import sound
from toolmark.models.profile import Profile
from toolmark.types import Audio, Image, Message, Part, Request, Sampling, Text, Tool

Json = dict[str, Any]

_KITS = 256
_LONGEST = 64
_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_OURS = ("messages", "model", "stream", "tools")

_dump = msgspec.json.Encoder().encode


class Kit(NamedTuple):
    """One tuple of tools as sent: encoded, with the names that had to be changed."""

    tools: tuple[Tool, ...]
    encoded: bytes
    sent: dict[str, str]
    meant: dict[str, str]


class Encoder:
    """Writes requests to one model. Each tuple of tools is encoded once and kept a while."""

    def __init__(self, model: str, profile: Profile, media: Media | None) -> None:
        self.media = media
        self._head = b'{"model":' + _dump(model) + b',"messages":'
        self.profile = profile
        letters = "a-zA-Z0-9_.-" if profile.dots else "a-zA-Z0-9_-"
        self._illegal = re.compile(f"[^{letters}]")
        self._legal = re.compile(f"[{letters}]{{1,{_LONGEST}}}").fullmatch
        self._kits: dict[int, Kit] = {}
        self._drawn: tuple[Sampling | None, bytes] = (None, b"")

    def body(self, request: Request, *, mended: bool = False) -> tuple[bytes, Kit]:
        """Write the request, and return the tools as they went out.

        `mended` is for servers that refuse what a model said before: arguments that are no JSON
        object go as an empty one.
        """
        kit = self.kit(request.tools)
        encoded = _json(self._messages(request.messages, kit, mended))
        return self._head + encoded + kit.encoded + self._tail(request.sampling), kit

    def kit(self, tools: tuple[Tool, ...]) -> Kit:
        """Return the tools as sent. The same tuple object is encoded once."""
        # the kit holds the tuple, so that its id is not given to another one meanwhile
        kit = self._kits.get(id(tools))
        if kit is None:
            if len(self._kits) >= _KITS:
                del self._kits[next(iter(self._kits))]
            kit = self._kits[id(tools)] = self._pack(tools)
        return kit

    def _pack(self, tools: tuple[Tool, ...]) -> Kit:
        sent: dict[str, str] = {}
        odd = [tool.name for tool in tools if not self._legal(tool.name)]
        if odd:
            taken = {tool.name for tool in tools}.difference(odd)
            for name in dict.fromkeys(odd):
                sent[name] = self._free(name, taken)
                taken.add(sent[name])
        listed = [_offered(tool, sent.get(tool.name, tool.name)) for tool in tools]
        meant = {name: tool for tool, name in sent.items()}
        return Kit(tools, b',"tools":' + _json(listed) if tools else b"", sent, meant)

    def _mangle(self, name: str) -> str:
        return self._illegal.sub("_", name)[:_LONGEST] or "_"

    def _free(self, name: str, taken: set[str]) -> str:
        """Return a legal name that is not taken, by a suffix if need be."""
        plain = free = self._mangle(name)
        n = 1
        while free in taken:
            n += 1
            suffix = f"_{n}"
            free = plain[: _LONGEST - len(suffix)] + suffix
        return free

    def _tail(self, sampling: Sampling) -> bytes:
        """Write the settings and close the body; the last ones are remembered."""
        if self._drawn[0] is not sampling:
            self._drawn = (sampling, self._settings(sampling))
        return self._drawn[1]

    def _settings(self, sampling: Sampling) -> bytes:
        named = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self.profile.limit: sampling.max_tokens,
            "reasoning_effort": sampling.reasoning_effort,
        }
        left = self.profile.without
        given = {name: value for name, value in named.items() if value is not None}
        given = {name: value for name, value in given.items() if name not in left}
        _check_extra(sampling.extra)
        settings = given | sampling.extra
        return b"," + _json(settings)[1:] if settings else b"}"

    def _messages(self, messages: tuple[Message, ...], kit: Kit, mended: bool) -> list[Json]:
        out: list[Json] = []
        held: list[Part] = []  # media of tool results, until the last result is out
        for message in messages:
            if held and message.role != "tool":
                out.append({"role": "user", "content": self._parts(held)})
                held = []
            if message.role == "tool":
                content = self._result(message, held)
                id = restore(message.call_id)
                out.append({"role": "tool", "tool_call_id": id, "content": content})
            elif message.calls:
                out.append(self._called(message, kit, mended))
            else:
                out.append({"role": message.role, "content": self._content(message.parts)})
        if held:
            out.append({"role": "user", "content": self._parts(held)})
        return out

    def _called(self, message: Message, kit: Kit, mended: bool) -> Json:
        """Write an assistant's message with its calls."""
        calls = [
            {
                "id": restore(call.id),
                "type": "function",
                "function": {
                    "name": self._sent(call.name, kit),
                    "arguments": _object(call.arguments) if mended else restore(call.arguments),
                },
            }
            for call in message.calls
        ]
        return {
            "role": message.role,
            "content": self._content(message.parts) or None,
            "tool_calls": calls,
        }

    def _sent(self, name: str, kit: Kit) -> str:
        """Return the name as sent; one the model made up is made legal too."""
        if self._legal(name):
            return name
        return kit.sent.get(name) or self._mangle(restore(name))

    def _result(self, message: Message, held: list[Part]) -> str | list[Json]:
        media = [part for part in message.parts if not isinstance(part, Text)]
        if not media or self.profile.media:
            return self._content(message.parts)
        held.extend(media)
        return restore(message.text) or "(shown below)"

    def _content(self, parts: tuple[Part, ...]) -> str | list[Json]:
        if len(parts) == 1 and isinstance(parts[0], Text):
            return restore(parts[0].text)
        if all(isinstance(part, Text) for part in parts):
            return restore("".join(part.text for part in parts if isinstance(part, Text)))
        return self._parts(parts)

    def _parts(self, parts: tuple[Part, ...] | list[Part]) -> list[Json]:
        return [self._part(part) for part in parts]

    def _part(self, part: Part) -> Json:
        match part:
            case Text():
                return {"type": "text", "text": restore(part.text)}
            case Image():
                url = f"data:{part.mime};base64,{_base64(self._read(part))}"
                return {"type": "image_url", "image_url": {"url": url}}
            case Audio():
                kind = _FORMATS.get(part.mime)
                if kind is None:
                    raise DataError(f"audio of type {part.mime!r} cannot be sent: wav or mp3 only")
                held = self._read(part)
                if kind != self.profile.audio == "mp3":
                    kind, held = "mp3", sound.mp3(held)
                data = {"data": _base64(held), "format": kind}
                return {"type": "input_audio", "input_audio": data}

    def _read(self, part: Image | Audio) -> bytes:
        if self.media is None:
            raise UsageError("a message holds media, but the model has no media store")
        return self.media.read(part)


def check_sampling(sampling: Sampling) -> None:
    """Raise UsageError for settings that no request can hold, before anything is asked."""
    _check_extra(sampling.extra)
    temperature, top_p, most = sampling.temperature, sampling.top_p, sampling.max_tokens
    if temperature is not None and not 0 <= temperature < math.inf:
        raise UsageError(f"temperature must be a number from 0; got {temperature}")
    if top_p is not None and not 0 <= top_p <= 1:
        raise UsageError(f"top-p must be from 0 to 1; got {top_p}")
    if most is not None and most < 1:
        raise UsageError(f"max-tokens must be at least 1; got {most}")


def _check_extra(extra: Mapping[str, Any]) -> None:
    for name in _OURS:
        if name in extra:
            raise UsageError(f"the extra body may not set {name!r}: toolmark sets it")
    try:
        json.dumps(dict(extra), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the extra body is not JSON: {error}") from None
    for place in private.in_body(extra):
        raise UsageError(
            f"the extra body holds what looks like a key, at {place!r}, and is stored with the "
            "run: give it by --header, by TOOLMARK_HEADER or by the provider's variable"
        )


def _offered(tool: Tool, name: str) -> Json:
    """Write one tool. What is empty is left out: {} is no schema to a strict server."""
    function: Json = {"name": name}
    if tool.description:
        function["description"] = tool.description
    if tool.parameters:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}


def _object(arguments: str) -> str:
    """Return the arguments if they are a JSON object that any server can read, else {}."""
    try:
        msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return "{}"
    return arguments


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _json(value: Any) -> bytes:
    """Write JSON; what msgspec cannot (huge integers, lone surrogates), the standard library."""
    try:
        return _dump(value)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(value).encode()
