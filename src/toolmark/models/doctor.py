"""Probes of an endpoint before money is spent: what works, what does not, what to do about it."""

from __future__ import annotations

import io
import math
import re
import struct
import tempfile
import wave
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random, SystemRandom

from msgspec.structs import replace

from toolmark import plugin
from toolmark.errors import EndpointError, Rejected, UsageError, near
from toolmark.media import Media
from toolmark.models.openai import OpenAI
from toolmark.models.resolve import endpoint
from toolmark.types import (
    Check,
    Instrument,
    Message,
    Model,
    Part,
    Reply,
    Request,
    Sampling,
    Text,
    Tool,
)

_SETTINGS = Sampling(max_tokens=2048)  # enough for a model that thinks first
_WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_COLOURS = {
    "red": b"\xff\0\0",
    "green": b"\0\xa0\0",
    "blue": b"\0\0\xff",
    "yellow": b"\xff\xff\0",
    "black": b"\0\0\0",
    "white": b"\xff\xff\xff",
}
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_LOOK = (
    "The picture shows three vertical stripes of different colours. Name the colours from left to "
    f"right, in three words out of: {', '.join(_COLOURS)}."
)
_LISTEN = "How many beeps are in the recording? Reply with the number alone."


async def examine(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = 60.0,
) -> list[Check]:
    """Probe the endpoint that `spec` names. Raises UsageError if it names none."""
    if spec.startswith(("baseline/", "test/")):
        raise UsageError(f"{spec} is no endpoint: there is nothing to probe")
    if plugin.named(spec):
        raise UsageError(
            f"{spec} is code of your own, and doctor probes endpoints; next: try it on one task: "
            f"toolmark run SUITE -m {spec} --limit 1"
        )
    with tempfile.TemporaryDirectory() as folder:
        media = Media(Path(folder))
        model = endpoint(spec, base_url=base_url, headers=headers, timeout_s=timeout_s, media=media)
        try:
            return await probe(model, media)
        finally:
            await model.close()


async def probe(model: OpenAI, media: Media, rng: Random | None = None) -> list[Check]:
    """Probe a model that reads its media from `media`. Each probe fails by itself.

    Ends early where nothing further can work: out of reach, key refused, no such model. What
    the endpoint said is shown without secrets and control characters. `rng` draws what is to be
    seen and heard; by default it is another thing each time, so that no cache knows it.
    """
    checks = await _probes(model, media, rng or SystemRandom())
    return [replace(check, detail=model.mask(check.detail)) for check in checks]


async def _probes(model: OpenAI, media: Media, rng: Random) -> list[Check]:
    checks = await _door(model)
    if any(check.status == "fail" for check in checks):
        return checks
    tools, reply = await _tools(model)
    checks.append(tools)
    if reply is None:
        return checks
    checks.append(await _parallel(model))
    checks.append(await _dots(model))
    checks.append(await _sampling(model))
    checks.append(await _sees(model, media, rng))
    checks.append(await _hears(model, media, rng))
    checks.append(_usage(reply))
    return checks


async def _door(model: OpenAI) -> list[Check]:
    """Check that the endpoint answers, takes the key and knows the model."""
    try:
        names = await model.models()
    except Rejected as error:
        there = Check(name="reachable", status="ok", detail=model.place)
        step = f"set {model.key_name} to a key that this endpoint knows"
        return [there, Check(name="key", status="fail", detail=str(error), step=step)]
    except EndpointError as error:
        step = "is the server up, and is the address (it usually ends in /v1) right?"
        return [Check(name="reachable", status="fail", detail=str(error), step=step)]
    there = Check(name="reachable", status="ok", detail=model.place)
    if names is None:
        detail = "the endpoint does not list its models; the next probe will tell"
        return [there, Check(name="model", status="warn", detail=detail)]
    key = Check(name="key", status="ok", detail="accepted")
    if model.model in names:
        return [there, key, Check(name="model", status="ok", detail=f"{model.model} is offered")]
    detail = f"{model.model!r} is not among the {len(names)} models{near(model.model, names[:50])}"
    # some servers answer to names that they do not list, so this alone is no failure
    step = "mend the name if the next probe fails"
    return [there, key, Check(name="model", status="warn", detail=detail, step=step)]


async def _tools(model: OpenAI) -> tuple[Check, Reply | None]:
    name = "tool calls"
    request = _ask("What is the weather in Paris? Use the tool.", "get_weather")
    try:
        reply = await model(request)
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), step=_next(error)), None
    if [call.name for call in reply.calls] and reply.calls[0].name == "get_weather":
        detail = f"{reply.calls[0].name}({reply.calls[0].arguments[:80]})"
        return Check(name=name, status="ok", detail=detail), reply
    detail = f"no call came back ({reply.stop}): {reply.text[:120]!r}"
    step = (
        "switch on the server's tool parser (vLLM: --enable-auto-tool-choice and"
        " --tool-call-parser; llama.cpp: --jinja), or use a prompt dialect"
    )
    return Check(name=name, status="fail", detail=detail, step=step), reply


async def _parallel(model: OpenAI) -> Check:
    name = "parallel calls"
    text = "What is the weather in Paris and in Rome? Call the tool once for each, at once."
    try:
        reply = await model(_ask(text, "get_weather"))
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), step=_next(error))
    if len(reply.calls) > 1:
        return Check(name=name, status="ok", detail=f"{len(reply.calls)} calls in one reply")
    detail = f"{len(reply.calls)} calls in one reply where two were asked for"
    return Check(name=name, status="warn", detail=detail, step="expect low parallel scores")


async def _dots(model: OpenAI) -> Check:
    """Try a name with a dot as it is; the wire changes such names unless the profile says not."""
    name = "dots in names"
    dotted = model.using(replace(model.quirks, dots=True))
    try:
        reply = await dotted(_ask("What is the weather in Paris? Use the tool.", "weather.get"))
    except Rejected:
        detail = "refused by the endpoint, so weather.get is sent as weather_get and mapped back"
        return Check(name=name, status="ok", detail=detail)
    except EndpointError as error:
        return Check(name=name, status="warn", detail=str(error), step=_next(error))
    if any(call.name == "weather.get" for call in reply.calls):
        return Check(name=name, status="ok", detail="accepted")
    detail = "accepted, but no call came back; they are sent with _ and mapped back"
    return Check(name=name, status="ok", detail=detail)


async def _sampling(model: OpenAI) -> Check:
    """Try what suites ask for; the wire leaves out what the model refuses and remembers it."""
    name = "temperature 0"
    asked = replace(_SETTINGS, temperature=0.0, top_p=1.0)
    request = _ask("What is the weather in Paris? Use the tool.", "get_weather")
    try:
        await model(replace(request, sampling=asked))
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), step=_next(error))
    if "temperature" in model.dropped:
        left = " and ".join(sorted(model.dropped))
        detail = f"refused by the endpoint, so requests go without {left}, at the model's default"
        step = "replies vary from run to run: raise --repeats"
        return Check(name=name, status="warn", detail=detail, step=step)
    left = "; top_p is refused and left out" if "top_p" in model.dropped else ""
    return Check(name=name, status="ok", detail=f"accepted{left}")


async def _sees(model: OpenAI, media: Media, rng: Random) -> Check:
    """Show three stripes; guessing finds their colours once in 120 times."""
    shown = rng.sample(list(_COLOURS), 3)
    reply = await _shown(model, "image", _LOOK, media.image(_png(shown), "image/png"))
    if isinstance(reply, Check):
        return reply
    # the last three: some think aloud first
    named = re.findall(rf"\b({'|'.join(_COLOURS)})\b", reply.text.casefold())[-3:]
    if named == shown:
        return Check(name="image", status="ok", detail=f"seen: {', '.join(shown)}")
    detail = (
        f"accepted, but not seen: the picture shows {', '.join(shown)}; "
        f"it said {reply.text[:120]!r}"
    )
    step = (
        "suites with image input would measure guesses: does the model see, and does the server "
        "pass pictures on (llama.cpp: --mmproj)?"
    )
    return Check(name="image", status="warn", detail=detail, step=step)


async def _hears(model: OpenAI, media: Media, rng: Random) -> Check:
    """Play three to seven beeps; guessing finds their number once in five times."""
    n = rng.randint(3, 7)
    reply = await _shown(model, "audio", _LISTEN, media.audio(_wav(n), "audio/wav"))
    if isinstance(reply, Check):
        return reply
    counted = re.findall(rf"\b(\d+|{'|'.join(_NUMBERS)})\b", reply.text.casefold())[-1:]
    if counted in ([str(n)], [_NUMBERS[n]]):
        return Check(name="audio", status="ok", detail=f"heard: {n} beeps")
    told = f"the recording has {n} beeps; it said {reply.text[:120]!r}"
    detail = f"accepted, but perhaps not heard: {told}"
    step = "models made for speech may not count tones: try one task of a suite with speech"
    return Check(name="audio", status="warn", detail=detail, step=step)


async def listen(model: Model | Instrument, media: Media, *, ask: bool) -> None:
    """Raise UsageError if a model that is to be asked by sound takes none.

    With `ask` a beep is played to it; else it says so itself, by `hears`. What an endpoint fails
    in otherwise is left to the run, which knows what to do about it.
    """
    deaf = "asks by sound, which this model does not take"
    part = media.audio(_wav(1), "audio/wav")
    said = Message(role="user", parts=(Text(_LISTEN), part))
    if getattr(model, "hears", True):
        if not ask or isinstance(model, Instrument):
            return
        try:
            await model(Request(messages=(said,), sampling=_SETTINGS))
            return
        except Rejected as error:
            if error.final:
                raise
            deaf += f" ({error})"
        except EndpointError:
            return
    raise UsageError(f"the suite {deaf}; mfcl-transcripts asks the same by text, and "
                     "baseline/listener hears")  # fmt: skip


async def _shown(model: OpenAI, name: str, words: str, part: Part) -> Reply | Check:
    """Ask about a picture or a sound; a Check where that is not accepted."""
    said = Message(role="user", parts=(Text(words), part))
    try:
        return await model(Request(messages=(said,), sampling=_SETTINGS))
    except Rejected as error:
        step = f"suites with {name} input cannot run on this model"
        return Check(name=name, status="warn", detail=str(error), step=step)
    except EndpointError as error:
        return Check(name=name, status="warn", detail=str(error), step=_next(error))


def _usage(reply: Reply) -> Check:
    used = reply.usage
    if used.input and used.output:
        detail = f"{used.input} tokens in, {used.output} out in the first probe"
        return Check(name="usage", status="ok", detail=detail)
    detail = "the endpoint does not count tokens"
    step = "a run will say that no tokens were told"
    return Check(name="usage", status="warn", detail=detail, step=step)


def _ask(text: str, tool: str) -> Request:
    return Request(
        messages=(Message(role="user", parts=(Text(text),)),),
        tools=(Tool(name=tool, description="Tell the weather in a city.", parameters=_WEATHER),),
        sampling=_SETTINGS,
    )


def _next(error: EndpointError) -> str:
    return "" if isinstance(error, Rejected) else "try again; raise --timeout if it was too slow"


def _png(colours: Sequence[str], side: int = 192) -> bytes:
    """Draw stripes from left to right; vision encoders refuse pictures smaller than a patch."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    width = side // len(colours)
    head = struct.pack(">IIBBBBB", width * len(colours), side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"".join(_COLOURS[colour] * width for colour in colours)) * side
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _wav(n: int, rate_hz: int = 16_000) -> bytes:
    """Record n beeps of 440 Hz, each 0.2 s long with 0.3 s of silence after it."""
    long, whole = rate_hz // 5, rate_hz // 2
    beep = [round(8000 * math.sin(2 * math.pi * 440 * i / rate_hz)) for i in range(long)]
    samples = (beep + [0] * (whole - long)) * n
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return file.getvalue()
