"""Pictures and sounds on each wire: their form, and what becomes of those that it does not carry.

Those are a note in a result, and a refusal of a user's.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from toolmark.core.errors import Rejected, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Image, Message, Part, Request, Sampling, Text
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings
from toolmark.models.wires.wire_registry import wire_by_name

DATA = b"the content of a file"
DATA_TEXT = base64.b64encode(DATA).decode()
Json = dict[str, Any]
PICTURES = ("image/png", "image/bmp")
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3"}
URL = f"data:{{}};base64,{DATA_TEXT}".format
SOURCE = {"type": "base64", "data": DATA_TEXT}
FORMS: dict[WireName, dict[str, Json | None]] = {
    "chat": {
        **{mime: {"type": "image_url", "image_url": {"url": URL(mime)}} for mime in PICTURES},
        "application/pdf": {"type": "file", "file": {
            "filename": "document.pdf", "file_data": URL("application/pdf")}},
        **{mime: {"type": "input_audio", "input_audio": {"data": DATA_TEXT, "format": form}}
           for mime, form in SOUNDS.items()},
        "audio/flac": None,
    },
    "responses": {
        **{mime: {"type": "input_image", "image_url": URL(mime), "detail": "auto"}
           for mime in PICTURES},
        "application/pdf": {"type": "input_file", "filename": "document.pdf",
                            "file_data": URL("application/pdf")},
        "audio/wav": None, "audio/flac": None,
    },
    "anthropic": {
        "image/png": {"type": "image", "source": SOURCE | {"media_type": "image/png"}},
        "image/bmp": None,
        "application/pdf": {
            "type": "document", "source": SOURCE | {"media_type": "application/pdf"}},
        "audio/wav": None, "audio/flac": None,
    },
    "gemini": {
        mime: {"inlineData": {"mimeType": mime.replace("mpeg", "mp3"), "data": DATA_TEXT}}
        for mime in (*PICTURES, "application/pdf", "audio/wav", "audio/mpeg", "audio/flac")
    },
}  # fmt: skip
"""The part that a picture or a sound becomes, None where the wire does not carry it."""
CASES = [(wire, mime) for wire in WIRE_NAMES for mime in FORMS[wire]]
USER = Message(role="user", parts=(Text("go"),))


def part(media: MediaStore, mime: str) -> Part:
    is_sound = mime.startswith("audio/")
    return media.add_audio(DATA, mime) if is_sound else media.add_image(DATA, mime)


def encode(
    wire: WireName, media: MediaStore | None, *messages: Message, **profile: Any
) -> EncodedRequest:
    settings = EncoderSettings("m", EndpointProfile(**profile), media, "here")
    request = Request(messages=messages, sampling=Sampling(max_tokens=9))
    return wire_by_name(wire).make_encoder(settings).encode_request(request)


def step(*parts: Part, n: int = 1) -> tuple[Message, ...]:
    """Return a step of `n` calls, whose first result holds the parts."""
    calls = tuple(Call(name="look", id=f"c{i}") for i in range(n))
    results = [Message(role="tool", call_id=call.id, parts=(Text("seen"),)) for call in calls]
    results[0] = Message(role="tool", call_id="c0", parts=(Text("seen"), *parts))
    return (Message(role="assistant", calls=calls), *results)


def parts_of(value: Any) -> list[Json]:
    """Return all objects of a body."""
    if isinstance(value, list):
        return [part for each in value for part in parts_of(each)]
    return [value, *parts_of([*value.values()])] if isinstance(value, dict) else []


@pytest.mark.parametrize(("wire", "mime"), CASES)
def test_what_a_wire_does_not_carry_of_a_result_is_a_note(
    wire: WireName, mime: str, tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    sent = encode(wire, media, USER, *step(part(media, mime)))
    form = FORMS[wire][mime]
    assert (DATA_TEXT in sent.body.decode()) is (form is not None)
    assert form is None or form in parts_of(json.loads(sent.body))
    kind = "sound" if mime.startswith("audio/") else "picture"
    note = f"[a {kind} of type {mime} is left out]"
    assert (note in sent.body.decode()) is (form is None)
    kinds = [each.kind for each in sent.adaptations]
    is_moved = wire == "chat" and form is not None
    assert kinds == (["media_moved"] if is_moved else [] if form else ["content"])
    assert "seen" in sent.body.decode()


@pytest.mark.parametrize(("wire", "mime"), CASES)
def test_what_a_wire_does_not_carry_of_the_user_is_refused_with_its_kind(
    wire: WireName, mime: str, tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    message = Message(role="user", parts=(Text("see"), part(media, mime), Text("and say")))
    if form := FORMS[wire][mime]:
        body = json.loads(encode(wire, media, message).body)
        found = next(each for each in body.values() if isinstance(each, list))[0]
        shown = found["parts" if wire == "gemini" else "content"]
        assert shown[1] == form
        assert [each["text"] for each in (shown[0], shown[2])] == ["see", "and say"]
        return
    with pytest.raises(Rejected) as caught:
        encode(wire, media, message)
    is_sound = mime.startswith("audio/")
    subject = "sound" if is_sound else "pictures"
    assert (caught.value.kind, caught.value.subject) == ("rejected.unsupported", subject)
    words = "; next: --wire chat" if is_sound and wire != "chat" else mime
    assert words in str(caught.value)


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_media_without_a_store_are_a_mistake_of_the_caller(wire: WireName) -> None:
    picture = Image(sha256="0" * 64, mime="image/png", size_bytes=1)
    with pytest.raises(UsageError, match="media store"):
        encode(wire, None, Message(role="user", parts=(picture,)))


def test_moved_media_are_always_at_the_same_place(tmp_path: Path) -> None:
    """After the last result of their step, whatever the conversation goes on with."""
    media = MediaStore(tmp_path)
    messages = (USER, *step(part(media, "image/png"), n=2))
    shown = json.loads(encode("chat", media, *messages).body)["messages"]
    assert [each["role"] for each in shown] == ["user", "assistant", "tool", "tool", "user"]
    for following in ((USER,), step(), (Message(role="assistant", parts=(Text("so"),)), USER)):
        longer = json.loads(encode("chat", media, *messages, *following).body)["messages"]
        assert longer[: len(shown)] == shown


def test_an_endpoint_that_takes_media_in_results_gets_them_there(tmp_path: Path) -> None:
    media = MediaStore(tmp_path)
    sent = encode("chat", media, USER, *step(part(media, "image/png")), takes_media_in_results=True)
    shown = json.loads(sent.body)["messages"]
    assert [each["type"] for each in shown[-1]["content"]] == ["text", "image_url"]
    assert sent.adaptations == ()
