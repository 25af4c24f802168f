"""Endpoints for the doctor: well by a provider's rule, or with something wrong."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import wave
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from PIL import Image
from tests.servers import fake, planning_endpoint, streams
from tests.servers.strict_chat import StrictEndpoint

from toolmark.core.records import Call, Reply, Request
from toolmark.models.probes import media_probes

Json = dict[str, Any]
_CITIES = re.compile("Paris|Rome")
_HUMIDITY = re.compile(r"humidity (\d+) %")


def looked(said: list[Json]) -> str:
    """Name the stripes of the picture, after some thoughts in the open."""
    url = next(part["image_url"]["url"] for part in said if part["type"] == "image_url")
    picture = Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")
    third = picture.width // 3
    pixels = [picture.getpixel((third * at + third // 2, 90)) for at in range(3)]
    names = {tuple(value): name for name, value in media_probes.COLOUR_BYTES.items()}
    seen = [name.title() for pixel in pixels for value, name in names.items() if value == pixel]
    return f"Is it red or blue? {', '.join(seen)}."


def listened(said: list[Json]) -> str:
    """Count the stretches of sound."""
    data = next(part["input_audio"]["data"] for part in said if part["type"] == "input_audio")
    with wave.open(io.BytesIO(base64.b64decode(data))) as sound:
        frames = memoryview(sound.readframes(sound.getnframes())).cast("h")
    loud = [any(frames[at : at + 800]) for at in range(0, len(frames), 800)]
    return str(sum(now and not before for before, now in pairwise([False, *loud])))


async def answer_probe(request: Request) -> Reply:
    """Call for each city that is asked about, and answer from the results."""
    results = [each.text for each in request.messages if each.role == "tool"]
    if results:
        found = [number for text in results for number in _HUMIDITY.findall(text)]
        return Reply(text=f"Clear; humidity {' and '.join(found)} %.")
    asked = request.messages[-1].text
    if not request.tools:
        return Reply(text="ok")
    return Reply(
        calls=tuple(
            Call(name=request.tools[0].name, arguments=json.dumps({"city": city}), id=f"call_{n}")
            for n, city in enumerate(_CITIES.findall(asked))
        )
    )


def _same(parts: list[Json]) -> list[Json]:
    return parts


@dataclass
class Patient(StrictEndpoint):
    """A chat endpoint that answers probes by the rule of a provider.

    `max_calls`: how many calls it makes at once. `counts_state`: whether thoughts that came back
    count as tokens. `spoil` changes the chunks of a stream, `is_cut` ends it early. `is_strict`:
    whether the rule is checked.
    """

    max_calls: int = 9
    is_strict: bool = True
    counts_state: bool = True
    is_cut: bool = False
    spoil: Callable[[list[Json]], list[Json]] = _same
    alter: Callable[[Json], None] | None = None
    """Changes an answer on its way back."""

    async def behave(self, asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        """Answer a question about models, or one request."""
        if asked.target.endswith("/models"):
            writer.write(fake.raw(200, json.dumps({"data": [{"id": self.rule.model}]}).encode()))
            return
        if not asked.target.endswith("/chat/completions"):
            writer.write(fake.raw(404, b'{"detail":"Not Found"}'))
            return
        body = asked.json
        if self.damage is not None:
            self.damage(body)
        if self.is_strict and (complaint := self._check(body["messages"])):
            self.refused.append(complaint)
            writer.write(fake.raw(400, json.dumps({"error": {"message": complaint}}).encode()))
            return
        self.think = self._answer_body(body)
        answer = await self._answer(body)
        if self.alter is not None:
            self.alter(answer)
        if not body.get("stream"):
            writer.write(fake.raw(200, json.dumps(answer).encode()))
            return
        parts = self.spoil(streams.chunks(answer))
        data = streams.events(parts[:-2] if self.is_cut else parts, done=not self.is_cut)
        writer.write(streams.chunked([data]))

    def _answer_body(self, body: Json) -> Any:
        async def think(plain: Json) -> Json:
            said = body["messages"][-1]["content"]
            kinds = {part.get("type") for part in said} if isinstance(said, list) else set()
            if "image_url" in kinds:
                return fake.says(looked(said))
            if "input_audio" in kinds:
                return fake.says(listened(said))
            reply = await answer_probe(planning_endpoint._request(plain))
            calls = reply.calls[: self.max_calls]
            made = [(call.name, call.arguments) for call in calls]
            answer = fake.calls(*made) if made else fake.says(reply.text)
            counted = body["messages"]
            if not self.counts_state:
                counted = [
                    {name: each.get(name) for name in ("role", "tool_calls")} for each in counted
                ]
            answer["usage"]["prompt_tokens"] = len(json.dumps(counted)) // 4
            return answer

        return think
