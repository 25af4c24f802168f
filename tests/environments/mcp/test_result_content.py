"""Whatever a server says becomes a Result; nothing it says is an error of ours."""

from __future__ import annotations

import base64
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.servers.mcp_fault import PNG

from toolmark.core import json_codec
from toolmark.core.media import MediaStore
from toolmark.core.records import Audio, Image, Result, Text, Tool
from toolmark.environments.mcp.result_content import convert_result, convert_tool

DATA = base64.b64encode(PNG).decode()


@pytest.fixture
def media(tmp_path: Path) -> MediaStore:
    return MediaStore(tmp_path)


def said(media: MediaStore, *content: Any, **more: Any) -> Result:
    return convert_result({"content": list(content), **more}, media)


def test_pictures_and_sounds_are_stored_as_bytes(media: MediaStore) -> None:
    found = said(
        media,
        {"type": "text", "text": "look"},
        {"type": "image", "data": DATA, "mimeType": "image/png"},
        {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": DATA, "mimeType": "image/png"}},
    )
    text, image, audio, blob = found.parts
    assert text == Text("look") and blob == image
    assert isinstance(image, Image) and media.read(image) == PNG
    assert isinstance(audio, Audio) and media.read(audio) == PNG


def test_resources_and_links_become_text(media: MediaStore) -> None:
    found = said(
        media,
        {"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}},
        {"type": "resource_link", "uri": "file:///b", "name": "b", "mimeType": "text/csv"},
        {"type": "resource", "resource": {"uri": "f:c", "blob": "AAAA", "mimeType": "a/zip"}},
    )
    texts = [part.text for part in found.parts if isinstance(part, Text)]
    assert texts == ["inside", "file:///b: b, text/csv", "[resource f:c: a/zip, 3 bytes]"]


def test_structured_content_is_stored_and_shown_only_where_nothing_else_is(
    media: MediaStore,
) -> None:
    both = said(media, {"type": "text", "text": "three"}, structuredContent={"total": 3})
    assert both == Result(parts=(Text("three"),), structured={"total": 3})
    alone = said(media, structuredContent={"total": 3})
    assert alone.text == '{"total": 3}' and alone.structured == {"total": 3}


@pytest.mark.parametrize("flag", [1, "yes", None, False])
def test_only_true_is_an_error(media: MediaStore, flag: Any) -> None:
    assert not said(media, isError=flag).is_error
    assert said(media, isError=True).is_error


@pytest.mark.parametrize(
    "item",
    [
        {"type": "image", "data": "!!", "mimeType": "image/png"},
        {"type": "image", "data": DATA, "mimeType": "image/png;base64,AAAA"},
        {"type": "image", "data": DATA, "mimeType": "text/html"},
        {"type": "image", "data": "", "mimeType": "image/png"},
        {"type": "video", "data": DATA},
        {"type": ["text"]},
        "text",
        None,
    ],
)
def test_content_that_is_odd_becomes_a_note(media: MediaStore, item: Any) -> None:
    (part,) = said(media, item).parts
    assert isinstance(part, Text) and part.text.startswith("[") and len(part.text) < 200


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
WORDS = st.sampled_from(["content", "type", "text", "image", "data", "mimeType", "resource"])
SAID = st.dictionaries(
    WORDS | st.text(), ODD | st.lists(st.dictionaries(WORDS, WORDS | ODD)), max_size=5
)


@given(SAID)
def test_anything_becomes_a_result_that_the_disk_holds(given: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        found = convert_result(given, MediaStore(Path(folder)))
    json_codec.decode_record(json_codec.encode_record(found), Result)


@given(ODD | st.dictionaries(st.sampled_from(["name", "description", "inputSchema"]), ODD))
def test_any_listed_tool_is_offered_or_reported(given: Any) -> None:
    found = convert_tool("s", given)
    assert isinstance(found, str | Tool)
    if isinstance(found, Tool):
        json_codec.decode_record(json_codec.encode_record(found), Tool)


def test_a_schema_is_offered_as_it_is_if_it_is_an_object() -> None:
    wrong = {"type": "objekt", "properties": 7}
    found = convert_tool("s", {"name": "t", "inputSchema": wrong})
    assert isinstance(found, Tool) and found.name == "s/t" and found.parameters == wrong
    assert "left out" in str(convert_tool("s", {"name": "t", "inputSchema": "object"}))
