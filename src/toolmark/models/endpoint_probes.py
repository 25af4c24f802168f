"""Probes of an endpoint before money is spent: what works, what fails, and the next step."""

from __future__ import annotations

import io
import math
import re
import struct
import tempfile
import wave
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.core import user_modules
from toolmark.core.errors import DataError, EndpointError, Rejected, UsageError, suggest_names
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, Model
from toolmark.core.number_format import format_count
from toolmark.core.records import Check, Message, Part, Reply, Request, Sampling, Text, Tool
from toolmark.models import installed_wires
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.model_resolver import make_endpoint_model
from toolmark.models.wire_names import WireName

TextExplainer: TypeAlias = Callable[[Reply, str], tuple[str, str] | None]
"""Takes a reply and the name of a tool: says what call stands in the text, and the next step."""

_VARYING_STEP = "replies vary from run to run: raise --repeats"
_PROBE_SAMPLING = Sampling(max_tokens=2048)  # enough for a model that thinks first
_WEATHER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
_COLOUR_BYTES = {
    "red": b"\xff\0\0",
    "green": b"\0\xa0\0",
    "blue": b"\0\0\xff",
    "yellow": b"\xff\xff\0",
    "black": b"\0\0\0",
    "white": b"\xff\xff\xff",
}
_NUMBER_WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)
_IMAGE_QUESTION = (
    "The picture shows three vertical stripes of different colours. Name the colours from left to "
    f"right, in three words out of: {', '.join(_COLOUR_BYTES)}."
)
_AUDIO_QUESTION = "How many beeps are in the recording? Reply with the number alone."


async def probe_endpoint(
    spec: str,
    *,
    base_url: str | None = None,
    headers: Sequence[tuple[str, str]] = (),
    timeout_s: float = 60.0,
    explain_text: TextExplainer | None = None,
    wire: WireName | None = None,
    stream: bool = False,
) -> list[Check]:
    """Probe the endpoint that `spec` names; raises UsageError if it names none.

    `explain_text` reads a call that came back as text. `wire` and `stream` are as a run's.
    """
    if spec.startswith(("baseline/", "control/")):
        raise UsageError(f"{spec} is no endpoint: there is nothing to probe")
    entry = installed_wires.find_wire(spec)
    if entry or user_modules.is_code_spec(spec):
        owner = f"of package {entry.source}" if entry else "your code"
        raise UsageError(
            f"{spec} is {owner}, and doctor probes endpoints; next: try it on one task: "
            f"toolmark run SUITE -m {spec} --limit 1"
        )
    with tempfile.TemporaryDirectory() as folder:
        media = MediaStore(Path(folder))
        model = make_endpoint_model(
            spec,
            base_url=base_url,
            headers=headers,
            timeout_s=timeout_s,
            media=media,
            wire=wire,
            stream=stream,
        )
        try:
            return await probe_model(model, media, explain_text=explain_text)
        finally:
            await model.close()


async def probe_model(
    model: EndpointModel,
    media: MediaStore,
    rng: Random | None = None,
    *,
    explain_text: TextExplainer | None = None,
) -> list[Check]:
    """Probe a model that reads its media from `media`; each probe fails independently.

    Stops early if nothing further can work: endpoint not reachable, key refused, no such model. The
    endpoint's messages are shown without secrets and control characters. `rng` draws the contents
    of the pictures and sounds; by default they differ each time, so that no cache knows them.
    """
    checks = await _run_probes(model, media, rng or SystemRandom(), explain_text)
    return [replace(check, detail=model.mask(check.detail)) for check in checks]


async def _run_probes(
    model: EndpointModel, media: MediaStore, rng: Random, explain_text: TextExplainer | None
) -> list[Check]:
    checks = await _probe_connection(model)
    if any(check.status == "fail" for check in checks):
        return checks
    tools, reply = await _probe_tool_calls(model, explain_text)
    checks.append(tools)
    if reply is None:
        return checks
    checks.append(await _probe_parallel_calls(model))
    checks.append(await _probe_dotted_names(model))
    checks.append(await _probe_sampling(model))
    checks.append(await _probe_image(model, media, rng))
    checks.append(await _probe_audio(model, media, rng))
    checks.append(_check_usage(reply))
    return checks


async def _probe_connection(model: EndpointModel) -> list[Check]:
    """Check that the endpoint answers, accepts the key and knows the model."""
    try:
        names = await model.list_models()
    except Rejected as error:
        reachable = Check(name="reachable", status="ok", detail=model.public_url)
        step = f"set {model.key_name} to a key that this endpoint knows"
        return [reachable, Check(name="key", status="fail", detail=str(error), next_step=step)]
    except EndpointError as error:
        step = "is the server up, and is the address (it usually ends in /v1) right?"
        return [Check(name="reachable", status="fail", detail=str(error), next_step=step)]
    reachable = Check(name="reachable", status="ok", detail=model.public_url)
    if names is None:
        detail = (
            "the endpoint does not list its models; the next probe shows whether it has this one"
        )
        return [reachable, Check(name="model", status="warn", detail=detail)]
    key = Check(name="key", status="ok", detail="accepted")
    if model.model in names:
        return [
            reachable,
            key,
            Check(name="model", status="ok", detail=f"{model.model} is offered"),
        ]
    detail = (
        f"{model.model!r} is not among the {format_count(len(names))} "
        f"models{suggest_names(model.model, names)}"
    )
    # some servers accept names that they do not list, so this alone is not a failure
    step = "correct the name if the next probe fails"
    return [reachable, key, Check(name="model", status="warn", detail=detail, next_step=step)]


async def _probe_tool_calls(
    model: EndpointModel, explain_text: TextExplainer | None
) -> tuple[Check, Reply | None]:
    name = "tool calls"
    request = _make_request("What is the weather in Paris? Use the tool.", "get_weather")
    try:
        reply = await model(request)
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), next_step=_next_step(error)), None
    if [call.name for call in reply.calls] and reply.calls[0].name == "get_weather":
        detail = f"{reply.calls[0].name}({reply.calls[0].arguments[:80]})"
        return Check(name=name, status="ok", detail=detail), reply
    if explain_text and (explained := explain_text(reply, "get_weather")):
        found, step = explained
        return Check(name=name, status="fail", detail=found, next_step=step), reply
    detail = f"no call came back ({reply.stop}): {reply.text[:120]!r}"
    step = (
        "switch on the server's tool parser (vLLM: --enable-auto-tool-choice and"
        " --tool-call-parser; llama.cpp: --jinja), or use --tool-format prompt"
    )
    return Check(name=name, status="fail", detail=detail, next_step=step), reply


async def _probe_parallel_calls(model: EndpointModel) -> Check:
    name = "parallel calls"
    text = "What is the weather in Paris and in Rome? Call the tool once for each, at once."
    try:
        reply = await model(_make_request(text, "get_weather"))
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), next_step=_next_step(error))
    if len(reply.calls) > 1:
        return Check(name=name, status="ok", detail=f"{len(reply.calls)} calls in one reply")
    detail = f"{len(reply.calls)} calls in one reply where two were asked for"
    return Check(name=name, status="warn", detail=detail, next_step="expect low parallel scores")


async def _probe_dotted_names(model: EndpointModel) -> Check:
    """Try a tool name with a dot unchanged; the wire changes it unless the profile allows dots."""
    name = "dots in names"
    dotted = model.with_profile(replace(model.profile, allows_dots=True))
    try:
        reply = await dotted(
            _make_request("What is the weather in Paris? Use the tool.", "weather.get")
        )
    except Rejected:
        detail = "refused by the endpoint, so weather.get is sent as weather_get and mapped back"
        return Check(name=name, status="ok", detail=detail)
    except EndpointError as error:
        return Check(name=name, status="warn", detail=str(error), next_step=_next_step(error))
    if any(call.name == "weather.get" for call in reply.calls):
        return Check(name=name, status="ok", detail="accepted")
    detail = "accepted, but no call came back; they are sent with _ and mapped back"
    return Check(name=name, status="ok", detail=detail)


async def _probe_sampling(model: EndpointModel) -> Check:
    """Try the settings that suites use; the wire then leaves out what the model refuses."""
    name = "temperature 0"
    sampling = replace(_PROBE_SAMPLING, temperature=0.0, top_p=1.0)
    request = _make_request("What is the weather in Paris? Use the tool.", "get_weather")
    try:
        await model(replace(request, sampling=sampling))
    except EndpointError as error:
        return Check(name=name, status="fail", detail=str(error), next_step=_next_step(error))
    if "temperature" in model.unsent_settings:
        omitted = " and ".join(sorted(model.unsent_settings))
        detail = f"not sent: this provider's profile leaves out {omitted}, at the model's default"
        return Check(name=name, status="warn", detail=detail, next_step=_VARYING_STEP)
    if "temperature" in model.refused_settings:
        omitted = " and ".join(sorted(model.refused_settings))
        detail = (
            f"refused by the endpoint, so requests go without {omitted}, at the model's default"
        )
        return Check(name=name, status="warn", detail=detail, next_step=_VARYING_STEP)
    omitted = "; top_p is refused and left out" if "top_p" in model.refused_settings else ""
    if "top_p" in model.unsent_settings:
        omitted = "; top_p is not sent: this provider's profile leaves it out"
    return Check(name=name, status="ok", detail=f"accepted{omitted}")


async def _probe_image(model: EndpointModel, media: MediaStore, rng: Random) -> Check:
    """Show three stripes; a guess gets their colours right once in 120 times."""
    colours = rng.sample(list(_COLOUR_BYTES), 3)
    reply = await _ask_about_media(
        model, "image", _IMAGE_QUESTION, media.add_image(_draw_stripes(colours), "image/png")
    )
    if isinstance(reply, Check):
        return reply
    # the last three: some models reason in the reply first
    named_colours = re.findall(rf"\b({'|'.join(_COLOUR_BYTES)})\b", reply.text.casefold())[-3:]
    if named_colours == colours:
        return Check(name="image", status="ok", detail=f"seen: {', '.join(colours)}")
    detail = (
        f"accepted, but not seen: the picture shows {', '.join(colours)}; "
        f"it said {reply.text[:120]!r}"
    )
    step = (
        "suites with image input would measure guesses: does the model see, and does the server "
        "pass pictures on (llama.cpp: --mmproj)?"
    )
    return Check(name="image", status="warn", detail=detail, next_step=step)


async def _probe_audio(model: EndpointModel, media: MediaStore, rng: Random) -> Check:
    """Play three to seven beeps; a guess gets their number right once in five times."""
    n = rng.randint(3, 7)
    reply = await _ask_about_media(
        model, "audio", _AUDIO_QUESTION, media.add_audio(_synthesize_beeps(n), "audio/wav")
    )
    if isinstance(reply, Check):
        return reply
    counts = re.findall(rf"\b(\d+|{'|'.join(_NUMBER_WORDS)})\b", reply.text.casefold())[-1:]
    if counts in ([str(n)], [_NUMBER_WORDS[n]]):
        return Check(name="audio", status="ok", detail=f"heard: {n} beeps")
    comparison = f"the recording has {n} beeps; it said {reply.text[:120]!r}"
    detail = f"accepted, but perhaps not heard: {comparison}"
    step = "models made for speech may not count tones: try one task of a suite with speech"
    return Check(name="audio", status="warn", detail=detail, next_step=step)


async def check_audio_input(
    model: Model, media: MediaStore, *, send_probe: bool, next_step: str = ""
) -> None:
    """Raise UsageError if a model for a suite with sound does not accept sound.

    With `send_probe` a beep is sent to the model. Without it the model's `accepts_audio` decides.
    Other errors of the endpoint are left to the run, which handles them. `next_step` says what else
    the user can do.
    """
    message = "asks by sound, which this model does not take"
    part = media.add_audio(_synthesize_beeps(1), "audio/wav")
    question = Message(role="user", parts=(Text(_AUDIO_QUESTION), part))
    if model.accepts_audio:
        if not send_probe or isinstance(model, Control):
            return
        try:
            await model(Request(messages=(question,), sampling=_PROBE_SAMPLING))
            return
        except Rejected as error:
            if error.is_final:
                raise
            message += f" ({error})"
        except EndpointError:
            return
    raise UsageError(f"the suite {message}" + (f"; {next_step}" if next_step else ""))


async def _ask_about_media(
    model: EndpointModel, name: str, question: str, part: Part
) -> Reply | Check:
    """Ask about a picture or a sound; returns a Check if that is not accepted."""
    message = Message(role="user", parts=(Text(question), part))
    try:
        return await model(Request(messages=(message,), sampling=_PROBE_SAMPLING))
    except DataError as error:  # the wire does not carry it; the error says what does
        return Check(name=name, status="warn", detail=str(error))
    except Rejected as error:
        step = f"suites with {name} input cannot run on this model"
        return Check(name=name, status="warn", detail=str(error), next_step=step)
    except EndpointError as error:
        return Check(name=name, status="warn", detail=str(error), next_step=_next_step(error))


def _check_usage(reply: Reply) -> Check:
    used = reply.usage
    if used.input and used.output:
        detail = f"{used.input} tokens in, {used.output} out in the first probe"
        return Check(name="usage", status="ok", detail=detail)
    detail = "the endpoint does not count tokens"
    step = "a run will show no token counts"
    return Check(name="usage", status="warn", detail=detail, next_step=step)


def _make_request(text: str, tool: str) -> Request:
    return Request(
        messages=(Message(role="user", parts=(Text(text),)),),
        tools=(
            Tool(name=tool, description="Tell the weather in a city.", parameters=_WEATHER_SCHEMA),
        ),
        sampling=_PROBE_SAMPLING,
    )


def _next_step(error: EndpointError) -> str:
    return "" if isinstance(error, Rejected) else "try again; raise --timeout if it was too slow"


def _draw_stripes(colours: Sequence[str], side: int = 192) -> bytes:
    """Draw stripes from left to right; vision encoders refuse pictures smaller than a patch."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    width = side // len(colours)
    header = struct.pack(">IIBBBBB", width * len(colours), side, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"".join(_COLOUR_BYTES[colour] * width for colour in colours)) * side
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def _synthesize_beeps(n_beeps: int, rate_hz: int = 16_000) -> bytes:
    """Return a recording of n beeps of 440 Hz, each 0.2 s with 0.3 s of silence after it."""
    n_beep, n_period = rate_hz // 5, rate_hz // 2
    beep = [round(8000 * math.sin(2 * math.pi * 440 * i / rate_hz)) for i in range(n_beep)]
    samples = (beep + [0] * (n_period - n_beep)) * n_beeps
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate_hz)
        out.writeframes(struct.pack(f"<{len(samples)}h", *samples))
    return file.getvalue()
