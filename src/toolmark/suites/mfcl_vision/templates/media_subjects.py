"""Media: films, books, bands, albums, radio shows, podcasts."""

from __future__ import annotations

from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

_LEISURE_CONTEXTS = (
    "I snapped this so as not to forget it.",
    "This is from my brother, who never explains anything.",
    "I saw this yesterday evening.",
    "Somebody recommended this to me with nothing but a picture.",
    "I am preparing a talk for our culture club.",
)

MEDIA_SUBJECTS = (
    PictureSubject(
        domain="media", entity_kind="film", noun="film", plural="films",
        scenes=("cinema", "screens"),
        contexts=(*_LEISURE_CONTEXTS, "We are choosing a film for tomorrow."),
    ),
    PictureSubject(
        domain="media", entity_kind="book", noun="book", plural="books",
        scenes=("books",),
        contexts=(*_LEISURE_CONTEXTS, "I am looking for a present."),
    ),
    PictureSubject(
        domain="media", entity_kind="band", noun="band", plural="bands",
        scenes=("records", "posters", "tickets"),
        contexts=(*_LEISURE_CONTEXTS, "My daughter wants to hear them live."),
    ),
    PictureSubject(
        domain="media", entity_kind="album", noun="album", plural="albums",
        scenes=("records",),
        contexts=(*_LEISURE_CONTEXTS, "I collect records."),
    ),
    PictureSubject(
        domain="media", entity_kind="show", noun="radio show", plural="radio shows",
        scenes=("posters", "stage", "tickets"),
        contexts=(*_LEISURE_CONTEXTS, "I am writing a column on radio."),
    ),
    PictureSubject(
        domain="media", entity_kind="podcast", noun="podcast", plural="podcasts",
        scenes=("screens", "posters"),
        contexts=(*_LEISURE_CONTEXTS, "I want something to listen to on the train."),
    ),
)  # fmt: skip
