"""Pictures and sounds that a wire does not carry: a note in a result, a refusal of a user's."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from toolmark.core.errors import Rejected
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Part, Request, Sampling, Text
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings
from toolmark.models.wires.wire_registry import wire_by_name

DATA = b"the content of a file"
ENCODED = base64.b64encode(DATA)
CARRIED: dict[WireName, dict[str, bool]] = {
    "chat": {"image/png": True, "image/bmp": True, "application/pdf": True, "audio/wav": True,
             "audio/flac": False},
    "responses": {"image/png": True, "image/bmp": True, "application/pdf": True,
                  "audio/wav": False, "audio/flac": False},
    "anthropic": {"image/png": True, "image/bmp": False, "application/pdf": True,
                  "audio/wav": False, "audio/flac": False},
    "gemini": {"image/png": True, "image/bmp": True, "application/pdf": True, "audio/wav": True,
               "audio/flac": True},
}  # fmt: skip
CASES = [(wire, mime) for wire in WIRE_NAMES for mime in CARRIED[wire]]
USER = Message(role="user", parts=(Text("go"),))


def part(media: MediaStore, mime: str) -> Part:
    is_sound = mime.startswith("audio/")
    return media.add_audio(DATA, mime) if is_sound else media.add_image(DATA, mime)


def encode(wire: WireName, media: MediaStore, *messages: Message, **profile: Any) -> EncodedRequest:
    settings = EncoderSettings("m", EndpointProfile(**profile), media, "here")
    request = Request(messages=messages, sampling=Sampling(max_tokens=9))
    return wire_by_name(wire).make_encoder(settings).encode_request(request)


def step(*parts: Part, n: int = 1) -> tuple[Message, ...]:
    """Return a step of `n` calls, whose first result holds the parts."""
    calls = tuple(Call(name="look", id=f"c{i}") for i in range(n))
    results = [Message(role="tool", call_id=call.id, parts=(Text("seen"),)) for call in calls]
    results[0] = Message(role="tool", call_id="c0", parts=(Text("seen"), *parts))
    return (Message(role="assistant", calls=calls), *results)


@pytest.mark.parametrize(("wire", "mime"), CASES)
def test_what_a_wire_does_not_carry_of_a_result_is_a_note(
    wire: WireName, mime: str, tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    sent = encode(wire, media, USER, *step(part(media, mime)))
    assert (ENCODED in sent.body) is CARRIED[wire][mime]
    kind = "sound" if mime.startswith("audio/") else "picture"
    note = f"[a {kind} of type {mime} is left out]"
    assert (note in sent.body.decode()) is not CARRIED[wire][mime]
    kinds = [each.kind for each in sent.adaptations]
    is_moved = wire == "chat" and CARRIED[wire][mime]
    assert kinds == (["media_moved"] if is_moved else [] if CARRIED[wire][mime] else ["content"])


@pytest.mark.parametrize(("wire", "mime"), CASES)
def test_what_a_wire_does_not_carry_of_the_user_is_refused_with_its_kind(
    wire: WireName, mime: str, tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    message = Message(role="user", parts=(part(media, mime),))
    if CARRIED[wire][mime]:
        assert ENCODED in encode(wire, media, message).body
        return
    with pytest.raises(Rejected) as caught:
        encode(wire, media, message)
    subject = "sound" if mime.startswith("audio/") else "pictures"
    assert (caught.value.kind, caught.value.subject) == ("rejected.unsupported", subject)


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


@pytest.mark.parametrize(
    ("wire", "shape"),
    [
        ("chat", {"type": "file"}),
        ("responses", {"type": "input_file"}),
        ("anthropic", {"type": "document"}),
        ("gemini", {}),
    ],
)
def test_a_document_has_the_form_of_documents(
    wire: WireName, shape: dict[str, str], tmp_path: Path
) -> None:
    media = MediaStore(tmp_path)
    message = Message(role="user", parts=(Text("read"), part(media, "application/pdf")))
    body = json.loads(encode(wire, media, message).body)
    place = {"responses": "input", "gemini": "contents"}.get(wire, "messages")
    found = body[place][0]["parts" if wire == "gemini" else "content"][1]
    assert found.items() >= shape.items()
    assert "application/pdf" in json.dumps(found)
