"""Pictures and sounds that a wire carries, and what becomes of those that it does not.

In a message of the user they are refused: without them the task is another one. In the result of a
tool a note takes their place, because the model, not the user, asked for them.
"""

from __future__ import annotations

import base64
from typing import NamedTuple

from toolmark.core.errors import DataError, Rejected
from toolmark.core.failure import Subject
from toolmark.core.media import MediaStore
from toolmark.core.records import Adaptation, Audio, Image, Part, Text
from toolmark.models import audio_encoding
from toolmark.models.wires.request_parts import read_media

PDF_TYPE = "application/pdf"
PDF_NAME = "document.pdf"
WAV_TYPES = ("audio/wav", "audio/x-wav", "audio/wave")
MP3_TYPES = ("audio/mpeg", "audio/mp3")
MEDIA_MOVED = Adaptation(
    kind="media_moved",
    detail="pictures and sounds of results follow in a message of the user after the last result",
)


class MediaTypes(NamedTuple):
    """The types of pictures and sounds that a wire carries; None for any, () for none."""

    wire: str
    pictures: tuple[str, ...] | None = None
    sounds: tuple[str, ...] | None = None

    def carries(self, part: Image | Audio) -> bool:
        """Return whether a part can be sent."""
        types = self.sounds if isinstance(part, Audio) else self.pictures
        return types is None or part.mime in types

    def describe_refusal(self, part: Image | Audio) -> str:
        """Return why a part cannot be sent, and the next step."""
        types = self.sounds if isinstance(part, Audio) else self.pictures
        kind = "sound" if isinstance(part, Audio) else "pictures"
        if not types:
            return (
                f"the {self.wire} wire takes no {kind}; next: --wire chat, if the endpoint offers "
                "that"
            )
        known = ", ".join(dict.fromkeys(each.partition("/")[2] for each in types))
        return f"the {self.wire} wire takes no {kind} of type {part.mime!r}; known: {known}"

    def refuse_part(self, part: Image | Audio) -> Rejected:
        """Return the error for a part of the user that cannot be sent."""
        subject = media_subject(part)
        return Rejected(self.describe_refusal(part), kind="rejected.unsupported", subject=subject)

    def replace_unsent(
        self, parts: tuple[Part, ...], changes: list[Adaptation]
    ) -> tuple[Part, ...]:
        """Return the parts of a result, with a note for each that cannot be sent."""
        if all(isinstance(part, Text) or self.carries(part) for part in parts):
            return parts
        found: list[Part] = []
        for part in parts:
            if isinstance(part, Text) or self.carries(part):
                found.append(part)
                continue
            kind = "sound" if isinstance(part, Audio) else "picture"
            found.append(Text(f"[a {kind} of type {part.mime} is left out]"))
            detail = f"a {kind} of type {part.mime} in a result is left out, and a note says so"
            changes.append(Adaptation(kind="content", detail=detail))
        return tuple(found)


def media_subject(part: Image | Audio) -> Subject:
    """Return what an endpoint refuses that refuses a part."""
    return "sound" if isinstance(part, Audio) else "pictures"


def read_mp3(part: Audio, media: MediaStore | None) -> str:
    """Return a WAV file as the base64 of an MP3. Raises Rejected where it is no WAV."""
    content = read_media(part, media)
    try:
        return base64.b64encode(audio_encoding.encode_mp3(content)).decode()
    except DataError as error:
        raise Rejected(str(error), kind="rejected.unsupported", subject="sound") from None
